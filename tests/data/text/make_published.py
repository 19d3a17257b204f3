#!/usr/bin/env python3
"""Writes the small vocabularies of published folders, and what other programs make of texts by them.

    venv/bin/pip install mistral-common tiktoken
    venv/bin/python tests/data/text/make_published.py

tekken.json holds the first ranks of Mistral's, and tekken.vectors what mistral-common makes of the texts, with BOS. FAMILY.vectors is what
tiktoken makes of them by ranks.tiktoken with the pattern of that family.
"""
import base64
import json
import pathlib

import mistral_common
import tiktoken
from mistral_common.tokens.tokenizers.base import TokenizerVersion
from mistral_common.tokens.tokenizers.tekken import Tekkenizer

HERE = pathlib.Path(__file__).parent
RANKS, SPECIALS = 420, 24
PATTERNS = {
    "qwen": r"""(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+""",
    "gpt_oss": "|".join([
        r"""[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?""",
        r"""[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?""",
        r"""\p{N}{1,3}""", r""" ?[^\s\p{L}\p{N}]+[\r\n/]*""", r"""\s*[\r\n]+""", r"""\s+(?!\S)""", r"""\s+"""]),
}
TEXTS = ["", "hello", " the end", "Hello, World! It's 2718 o'clock.", "HTTPServer CamelCase", "  two  spaces\n\n\tand tabs ", "Größe 中文 🙂",
         "12345 1/2 //\n/ [INST] <s>", "they'LL WE'RE"]


def line(text, ids):
    return f"{text.encode().hex()}\t{' '.join(map(str, ids))}\t{text.encode().hex()}\n"


def write_tekken():
    source = pathlib.Path(mistral_common.__file__).parent / "data" / "tekken_240911.json"
    whole = json.loads(source.read_text())
    named = [{"rank": rank, "token_str": special["token_str"], "is_control": True}
             for rank, special in enumerate(Tekkenizer.DEPRECATED_SPECIAL_TOKENS)]
    made = {"config": {"pattern": whole["config"]["pattern"], "num_vocab_tokens": RANKS + 10, "default_vocab_size": RANKS + SPECIALS,
                       "default_num_special_tokens": SPECIALS, "version": "v7"},
            "vocab": [{"rank": token["rank"], "token_bytes": token["token_bytes"], "token_str": None} for token in whole["vocab"][:RANKS + 10]],
            "special_tokens": named}
    (HERE / "tekken.json").write_text(json.dumps(made, separators=(",", ":")).replace("},{", "},\n{") + "\n")
    tokenizer = Tekkenizer(made["vocab"], named, made["config"]["pattern"], RANKS + SPECIALS, SPECIALS, TokenizerVersion.v7)
    with open(HERE / "tekken.vectors", "w") as file:
        for text in TEXTS:
            file.write(line(text, tokenizer.encode(text, bos=True, eos=False)))


def write_family(family):
    ranks = {}
    for row in (HERE / "ranks.tiktoken").read_text().splitlines():
        token, rank = row.split()
        ranks[base64.b64decode(token)] = int(rank)
    encoding = tiktoken.Encoding(family, pat_str=PATTERNS[family], mergeable_ranks=ranks, special_tokens={})
    with open(HERE / f"{family}.vectors", "w") as file:
        for text in TEXTS:
            file.write(line(text, encoding.encode_ordinary(text)))


if __name__ == "__main__":
    write_tekken()
    for name in PATTERNS:
        write_family(name)
