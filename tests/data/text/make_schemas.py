#!/usr/bin/env python3
"""Writes schemas.tsv: schemas, texts, and whether Python's jsonschema finds each valid.

    python3 tests/data/text/make_schemas.py > tests/data/text/schemas.tsv     (needs the package jsonschema)

A line: 1 or 0, a tab, the schema, a tab, the text. All texts are written as Wick writes JSON: properties in the schema's order.
"""
import json

import jsonschema

CLOSED = {"additionalProperties": False}
CASES = [
    ({"type": "integer"}, [0, -1, 12, 1.5, "1", None]),
    ({"type": "integer", "minimum": -12, "maximum": 107}, [-13, -12, -9, -1, 0, 7, 99, 100, 107, 108, 1000]),
    ({"type": "integer", "exclusiveMinimum": 9, "maximum": 1000}, [9, 10, 99, 1000, 1001]),
    ({"type": "number", "minimum": 1.25, "exclusiveMaximum": 20.5}, [1.2, 1.25, 1.3, 2, 19.99, 20.4999, 20.5, 21, -3]),
    ({"type": "number", "maximum": -0.5}, [-0.4, -0.5, -0.51, -10, 0, 1]),
    ({"type": "integer", "multipleOf": 7}, [0, 7, 14, 15, 700, -49, -50]),
    ({"type": "number", "multipleOf": 0.25, "minimum": 0}, [0, 0.25, 0.5, 0.3, 12.75, 12.7, 3]),
    ({"type": "string", "minLength": 2, "maxLength": 4}, ["a", "ab", "éé日", "abcd", "abcde", "🙂🙂", "🙂"]),
    ({"type": "string", "pattern": "^[a-c]+$"}, ["abc", "", "abd", "a"]),
    ({"type": "string", "pattern": "b+c"}, ["xxbcx", "bbb", "bc", "", "\"bc\\"]),
    ({"type": "string", "pattern": "^(foo|ba[rz])\\d{2,3}$", "maxLength": 5}, ["foo12", "foo123", "bar99", "baz1", "bax11"]),
    ({"type": "string", "pattern": "^\\S+\\s\\S+$"}, ["a b", "ab", "a\tb", "a  b"]),
    ({"enum": ["red", "green", 3, None, {"a": [1, 2]}]}, ["red", "blue", 3, None, {"a": [1, 2]}, {"a": [1]}, "gree"]),
    ({"const": "x\"y\\z\n"}, ["x\"y\\z\n", "x"]),
    ({"enum": [1, "ab", "abc", 22], "type": "string", "minLength": 3}, [1, "ab", "abc", 22]),
    ({"type": "array", "items": {"type": "boolean"}, "minItems": 1, "maxItems": 3}, [[], [True], [True, False, True], [True] * 4, [1]]),
    ({"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}], "items": False}, [[], ["a"], ["a", 1], ["a", 1, 2], [1]]),
    ({"type": "array", "prefixItems": [{"type": "string"}], "items": {"type": "null"}, "minItems": 2}, [["a"], ["a", None], ["a", None, None], ["a", 1]]),
    ({"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "string"}, "c": {"type": "null"}}, "required": ["b"], **CLOSED},
     [{"b": "x"}, {"a": 1, "b": "x"}, {"a": 1, "b": "x", "c": None}, {"a": 1}, {}, {"b": "x", "c": None}, {"b": 1}, {"b": "", "d": 1}]),
    ({"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "string"}}, **CLOSED}, [{}, {"a": 1}, {"b": "x"}, {"a": 1, "b": ""}, {"c": 1}]),
    ({"type": "object", "properties": {k: {"type": "integer"} for k in "abcdefg"}, **CLOSED}, [{}, {"a": 1, "g": 1}, {"g": 1}, {"c": 1, "d": 2, "f": 3}, {"h": 1}]),
    ({"type": "object", "properties": {"a": True}, "additionalProperties": {"type": "integer"}},
     [{"a": "x", "b": 1}, {"b": 1, "c": 2}, {"b": "x"}, {"a": 1}, {"ab": 1}, {"": 1}, {"é\"": 1}]),
    ({"type": "object", "patternProperties": {"^n_": {"type": "integer"}, "s$": {"minimum": 5}}, **CLOSED},
     [{"n_a": 1}, {"n_s": 7}, {"n_s": 3}, {"xs": "any"}, {"xs": 3}, {"x": 1}, {"n_a": "x"}]),
    ({"type": "object", "propertyNames": {"pattern": "^[a-z]{2,3}$"}, "additionalProperties": {"type": "null"}}, [{"ab": None}, {"abcd": None}, {"A": None}, {}]),
    ({"type": "object", "minProperties": 2, "properties": {"a": {"type": "null"}, "b": {"type": "null"}, "c": {"type": "null"}}, **CLOSED},
     [{}, {"a": None}, {"a": None, "c": None}, {"a": None, "b": None, "c": None}]),
    ({"type": "object", "maxProperties": 1, "additionalProperties": {"type": "null"}}, [{}, {"x": None}, {"x": None, "y": None}]),
    ({"anyOf": [{"type": "string", "maxLength": 1}, {"type": "integer", "minimum": 5}]}, ["a", "ab", 5, 4, None]),
    ({"type": "object", "properties": {"k": {"type": "string"}}, "required": ["k"],
      "anyOf": [{"properties": {"k": {"const": "a"}}}, {"properties": {"k": {"const": "b"}}}]}, [{"k": "a"}, {"k": "b"}, {"k": "c"}]),
    ({"oneOf": [{"type": "object", "properties": {"t": {"const": 1}, "v": {"type": "string"}}, "required": ["t", "v"], **CLOSED},
                {"type": "object", "properties": {"t": {"const": 2}, "v": {"type": "integer"}}, "required": ["t", "v"], **CLOSED}]},
     [{"t": 1, "v": "x"}, {"t": 2, "v": 3}, {"t": 2, "v": "x"}, {"t": 3, "v": 1}]),
    ({"allOf": [{"type": "object", "properties": {"a": {"type": "integer", "minimum": 3}}, "required": ["a"]},
                {"properties": {"a": {"maximum": 5}}, "required": ["b"]}, {"properties": {"b": {"type": "boolean"}}}]},
     [{"a": 4, "b": True}, {"a": 2, "b": True}, {"a": 6, "b": True}, {"a": 4}, {"a": 4, "b": 1}]),
    ({"$defs": {"tree": {"type": "object", "properties": {"v": {"type": "integer"}, "l": {"$ref": "#/$defs/tree"}, "r": {"$ref": "#/$defs/tree"}}, "required": ["v"], **CLOSED}},
      "$ref": "#/$defs/tree"}, [{"v": 1}, {"v": 1, "l": {"v": 2, "r": {"v": 3}}}, {"l": {"v": 1}}, {"v": 1, "r": {}}]),
    ({"type": ["string", "null"]}, ["x", None, 1]),
    ({"not": {"type": "string"}, "type": ["string", "boolean"]}, [True, "x"]),
    ({"type": "object", "properties": {"x": {"$ref": "#/$defs/a~1b%25"}}, "required": ["x"], **CLOSED, "$defs": {"a/b%": {"type": "integer"}}}, [{"x": 1}, {"x": ""}]),
    ({"$id": "https://example.com/root.json", "$defs": {"n": {"$anchor": "num", "type": "integer"}, "o": {"$id": "other.json", "type": "array", "items": {"$ref": "root.json#num"}}},
      "$ref": "other.json"}, [[1, 2], ["a"], 1]),
    ({"format": "date", "type": "string"}, ["2024-02-29", "2023-02-29", "2023-13-01", "1999-12-31", "x"]),
    ({"format": "ipv4", "type": "string"}, ["1.2.3.4", "256.1.1.1", "1.2.3", "01.2.3.4"]),
    ({"format": "uuid", "type": "string"}, ["01234567-89ab-cdef-0123-456789abcdef", "01234567-89ab-cdef-0123-456789abcde"]),
]


def main():
    for schema, instances in CASES:
        jsonschema.Draft202012Validator.check_schema(schema)
        validator = jsonschema.Draft202012Validator(schema, format_checker=jsonschema.FormatChecker())
        for instance in instances:
            valid = validator.is_valid(instance)
            print(f"{int(valid)}\t{json.dumps(schema)}\t{json.dumps(instance, ensure_ascii=False)}")


main()
