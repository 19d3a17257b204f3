"""A conversation in the terminal.

    python python/examples/chat.py MODEL [QUESTION]
"""
from __future__ import annotations

import sys
from typing import Any

import wick


def main() -> None:
    with wick.load(sys.argv[1], chat_template="" if len(sys.argv) < 4 else sys.argv[3]) as model:
        messages: list[dict[str, Any]] = []
        questions = sys.argv[2:3] or iter(lambda: input("> "), "")
        for question in questions:
            messages.append({"role": "user", "content": question})
            stream = model.chat(messages, stream=True, max_tokens=200)
            for piece in stream:
                if piece.kind == "content":
                    print(piece, end="", flush=True)
            print()
            messages.append({"role": "assistant", "content": stream.result.text})


main()
