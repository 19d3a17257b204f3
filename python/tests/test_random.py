"""Random numbers: seeds, and what holds where no tensor and no Device is alive."""
import json
import os
import pathlib
import subprocess
import sys

import pytest

import wick

# Each in a process of its own, as modules of tests keep tensors alive.
SEEDS = {
    "print([wick.randn((1,)).item() for _ in range(6)])": "six",
    "for seed in (1, 2, 1): wick.Device('cpu').set_seed(seed); print(wick.rand((2,)).tolist())": "seeds",
    "for seed in (1, 2, 1): wick.manual_seed(seed); print(wick.rand((2,)).tolist())": "seeds",
    "for seed in (1, 2, 1): wick.manual_seed(seed); print(nn.Linear(2, 2).weight.tolist())": "seeds",
    "for seed in (1, 2, 1): wick.manual_seed(seed); print([b.tolist() for b, in nn.DataLoader(wick.arange(64), shuffle=True)])": "seeds",
}


def lines_of(code, **environment):
    done = subprocess.run([sys.executable, "-c", f"import os, wick\nfrom wick import nn\n{code}"], capture_output=True, text=True, timeout=60,
                          env={**os.environ, "PYTHONPATH": str(pathlib.Path(wick._wick.__file__).resolve().parents[1]), **environment})
    return done.stdout.splitlines() or done.stderr.splitlines()[-1:]


@pytest.mark.parametrize("code", SEEDS)
def test_random_numbers_with_nothing_alive(code):
    lines = lines_of(code)
    if SEEDS[code] == "six":
        assert len(set(json.loads(lines[0]))) == 6
    else:
        assert len(lines) == 3 and lines[0] == lines[2] != lines[1]


def test_each_process_has_its_own_seed_unless_one_is_set():
    code = "print(wick.rand((4,)).tolist(), wick.draw_seed(), wick.initial_seed(), wick.Device('cpu').seed)"
    assert len({lines_of(code)[0] for _ in range(3)}) == 3
    seven = lines_of(code, WICK_SEED="7")
    assert seven == lines_of("wick.manual_seed(7)\n" + code) and seven[0].endswith(" 7 7") and seven != lines_of(code, WICK_SEED="8")
    assert lines_of(code, WICK_SEED="") != seven
    for bad in ["seven", "-1", "1.5", str(2**64), "\u0663"]:
        assert "InvalidArgumentError" in lines_of(code, WICK_SEED=bad)[0] and "WICK_SEED" in lines_of(code, WICK_SEED=bad)[0]


def test_a_forked_process_draws_its_own_numbers():
    fork = """
def draw():
    print(wick.rand((4,)).tolist(), wick.draw_seed(), flush=True)
draw()
for _ in range(2):
    pid = os.fork()
    if pid == 0:
        draw()
        os._exit(0)
    os.waitpid(pid, 0)
draw()
"""
    assert len(set(lines_of(fork))) == 4
