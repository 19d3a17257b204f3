"""Search by meaning: the sentences whose embeddings are nearest to a question's.

    python python/examples/search.py MODEL [QUESTION]
"""
from __future__ import annotations

import sys

import wick

SENTENCES = ["The ship left the harbour at dawn.", "She opened the letter by the window.", "The accounts were settled on Monday.",
             "A storm came up from the west.", "He asked for her hand in marriage."]


def main() -> None:
    question = sys.argv[2] if len(sys.argv) > 2 else "bad weather at sea"
    with wick.load(sys.argv[1]) as model:
        table = model.embed(SENTENCES)
        scores = table @ model.embed(question)
        values, places = scores.topk(3)
        for score, place in zip(values.tolist(), places.tolist()):
            print(f"{score:.3f}  {SENTENCES[place]}")


main()
