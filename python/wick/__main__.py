"""The program wick: python -m wick run --model model.gguf."""
from __future__ import annotations

import signal
import sys


def main() -> int:
    """Runs the command line; the exit code."""
    if sys.argv[1:2] == ["batch"] and any(word == "--ray" or word.startswith("--ray=") for word in sys.argv):
        from . import _ray_batch

        return _ray_batch.command(sys.argv[2:])
    if sys.argv[1:2] == ["serve"] and any(word == "--ray" or word.startswith("--ray=") for word in sys.argv):
        from . import _ray_serve

        return _ray_serve.command(sys.argv[2:])
    from . import _wick

    signal.signal(signal.SIGINT, signal.SIG_DFL)  # the program has a handler of its own
    sys.stdout.flush()
    return _wick._run_command(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
