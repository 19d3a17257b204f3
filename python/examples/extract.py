"""Structured extraction: what the model writes fits a JSON Schema, whatever the model.

    python python/examples/extract.py MODEL
"""
from __future__ import annotations

import sys

import wick

SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string", "maxLength": 20}, "age": {"type": "integer", "minimum": 0, "maximum": 120}},
    "required": ["name", "age"],
    "additionalProperties": False,
}


def main() -> None:
    with wick.load(sys.argv[1]) as model:
        result = model.generate("Mr Bennet was a man of fifty.\nAs JSON: ", response_format=SCHEMA, temperature=0, max_tokens=80)
        print(result.parsed)


main()
