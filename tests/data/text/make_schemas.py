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
    ({"$schema": "http://json-schema.org/draft-07/schema#", "type": "array", "items": [{"type": "string"}, {"type": "integer"}], "additionalItems": False},
     [[], ["a"], ["a", 1], ["a", 1, 2], [1]]),
    ({"$schema": "http://json-schema.org/draft-07/schema#", "type": "array", "items": [{"type": "string"}], "additionalItems": {"type": "null"}, "minItems": 2},
     [["a"], ["a", None], ["a", None, None], ["a", 1]]),
    ({"$schema": "http://json-schema.org/draft-07/schema#", "type": "array", "items": [{"type": "boolean"}]}, [[], [True], [True, "x", {}], ["x"]]),
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
    # Conditions at the beginning of a pattern.
    ({"type": "string", "pattern": "^(?!^[-+.]*$)[+-]?0*\\d*\\.?\\d*$"}, ["1", "-1.5", "00.5", ".", "-", "", "1.", "a", "+.7"]),
    ({"type": "string", "pattern": "^(?=.*[a-z])(?=.*[A-Z])(?=.*\\d)\\S{4,}$"}, ["aB1x", "aB1", "aaaa", "AB12", "xxxxA9", "a B1xx"]),
    ({"type": "string", "pattern": "^(?!foo|ba(r|z))[a-z]+$"}, ["foo", "food", "ba", "bar", "bazz", "fo", "x(|)"]),
    ({"type": "string", "not": {"pattern": "^(?=a)[a-z]*z"}}, ["az", "a", "abz", "bz"]),
    ({"type": "object", "patternProperties": {"^(?!x_)": {"type": "integer"}}, "additionalProperties": False}, [{"a": 1}, {"x_a": 1}, {"a": ""}, {}]),
    ({"type": "string", "maxLength": 5000000}, ["", "abc"]),
    # Conditions, and what must not hold.
    ({"type": "object", "properties": {"kind": {"enum": ["a", "b"]}, "x": {"type": "integer"}}, "required": ["kind"], **CLOSED,
      "if": {"properties": {"kind": {"const": "a"}}, "required": ["kind"]}, "then": {"required": ["x"]}, "else": {"properties": {"x": {"minimum": 5}}}},
     [{"kind": "a", "x": 1}, {"kind": "a"}, {"kind": "b"}, {"kind": "b", "x": 4}, {"kind": "b", "x": 5}, {"kind": "c"}]),
    ({"if": {"type": "string"}, "then": {"minLength": 1}}, ["", "a", 1, None, [1]]),
    ({"if": {"type": "integer", "minimum": 3}, "else": {"type": "number", "multipleOf": 0.5}}, [3, 4, 2, 2.5, 2.25, "x"]),
    ({"not": {"type": "integer"}}, [1, 1.5, -7, "a", None, [], {}]),
    ({"type": "number", "not": {"type": "integer"}}, [1, 0, 0.5, -2.25, 10.0001]),
    ({"type": "string", "not": {"pattern": "^a+$"}}, ["a", "aaa", "", "ab", "ba"]),
    ({"type": "string", "not": {"enum": ["on", "off", 3]}}, ["on", "off", "of", "offf", "", "\"on"]),
    ({"type": "number", "not": {"enum": [1, 2.5]}}, [1, 2.5, 2.50, 2, 1.1, 25, -1]),
    ({"type": ["array", "null", "boolean"], "not": {"enum": [None, True, [], [1, 2]]}}, [None, True, False, [], [1], [1, 2], [1, 3], [2, 2], [1, 2, 3]]),
    ({"type": "object", "not": {"const": {"a": 1}}}, [{}, {"a": 1}, {"a": 2}, {"a": 1, "b": 1}, {"b": 1}]),
    ({"type": "object", "not": {"required": ["a", "b"]}, "additionalProperties": {"type": "integer"}}, [{}, {"a": 1}, {"b": 1}, {"a": 1, "b": 2}, {"c": 3}]),
    ({"type": "array", "not": {"items": {"type": "integer"}}}, [[], [1], ["a"], [1, "a", 2], [1, 2]]),
    ({"type": "array", "not": {"contains": {"const": 7}}}, [[], [7], [1, 7], [1, 2]]),
    ({"type": "array", "not": {"prefixItems": [{"const": 1}, {"const": 2}]}}, [[], [1], [1, 2], [2], [1, 3], [2, 2]]),
    ({"not": {"anyOf": [{"type": "string"}, {"minimum": 3}]}}, ["a", 3, 2, None]),
    ({"not": {"not": {"type": "string", "maxLength": 2}}}, ["a", "abc", 1]),
    ({"not": {"allOf": [{"type": "integer"}, {"maximum": 3}]}}, [3, 4, "a", 3.5]),
    ({"not": {"$ref": "#/$defs/short"}, "type": "string", "$defs": {"short": {"maxLength": 2}}}, ["", "ab", "abc"]),
    ({"oneOf": [{"type": "integer"}, {"minimum": 2}]}, [1, 2, 3, 2.5, 1.5, "a"]),
    ({"oneOf": [{"multipleOf": 3}, {"multipleOf": 5}], "type": "integer"}, [3, 5, 15, 7, 9, 30]),
    ({"enum": [1, 2, 3], "oneOf": [{"minimum": 2}, {"maximum": 2}]}, [1, 2, 3]),
    ({"oneOf": [{"required": ["a"]}, {"required": ["b"]}], "type": "object", "properties": {"a": {"type": "null"}, "b": {"type": "null"}}, **CLOSED},
     [{}, {"a": None}, {"b": None}, {"a": None, "b": None}]),
    ({"type": "object", "properties": {"a": {"type": "null"}, "b": {"type": "null"}, "c": {"type": "null"}}, **CLOSED, "dependentRequired": {"a": ["b"], "b": ["c"]}},
     [{}, {"a": None}, {"b": None}, {"c": None}, {"a": None, "b": None}, {"b": None, "c": None}, {"a": None, "b": None, "c": None}]),
    ({"type": "object", "properties": {"a": {"type": "null"}, "b": {"type": "integer"}}, **CLOSED, "dependentSchemas": {"a": {"properties": {"b": {"minimum": 3}}}}},
     [{}, {"a": None}, {"b": 1}, {"a": None, "b": 1}, {"a": None, "b": 3}]),
    # Elements that are counted, and that differ.
    ({"type": "array", "contains": {"const": 1}}, [[], [1], [2, 1], [2, 3], [1, 1], ["1"]]),
    ({"type": "array", "items": {"type": "integer"}, "contains": {"minimum": 5}, "minContains": 2, "maxContains": 3, "maxItems": 5},
     [[], [5], [5, 6], [1, 5, 2, 6], [5, 6, 7, 8], [5, 6, 7, 1, 2], [5, 6, 1, 2, 3, 4], [5, 6, "a"]]),
    ({"type": "array", "allOf": [{"contains": {"const": 1}}, {"contains": {"const": 2}}]}, [[1, 2], [2, 3, 1], [1, 1], [2]]),
    ({"type": "array", "prefixItems": [{"type": "string"}], "contains": {"type": "integer"}, "minItems": 3}, [["a", 1, None], ["a", 1], ["a", None, None], [1, 1, 1]]),
    ({"type": "array", "items": {"enum": ["x", "y", "z", 1]}, "uniqueItems": True}, [[], ["x"], ["y", "x"], ["x", "x"], ["z", 1, "y", "x"], ["w"]]),
    ({"type": "array", "items": {"type": "boolean"}, "uniqueItems": True, "minItems": 2}, [[True], [True, False], [False, True], [True, True]]),
    # What nobody has evaluated.
    ({"type": "object", "properties": {"a": {"type": "integer"}}, "allOf": [{"properties": {"b": {"type": "string"}}, "additionalProperties": True}],
      "unevaluatedProperties": False}, [{"a": 1}, {"a": 1, "b": "x"}, {"a": 1, "c": 1}]),
    ({"$defs": {"base": {"properties": {"id": {"type": "integer"}}, "required": ["id"]}}, "$ref": "#/$defs/base", "type": "object",
      "properties": {"name": {"type": "string"}}, "unevaluatedProperties": False},
     [{"id": 1}, {"name": "x", "id": 1}, {"name": "x"}, {"id": 1, "more": 2}, {"id": "x"}]),
    ({"type": "object", "anyOf": [{"properties": {"a": {"const": 1}}, "required": ["a"]}, {"properties": {"b": {"const": 2}}, "required": ["b"]}],
      "unevaluatedProperties": False}, [{}, {"a": 1}, {"b": 2}, {"a": 1, "b": 2}, {"a": 1, "b": 3}, {"a": 1, "c": 1}]),
    ({"type": "array", "prefixItems": [{"type": "integer"}], "allOf": [{"prefixItems": [True, {"type": "string"}]}], "unevaluatedItems": False},
     [[1], [1, "a"], [1, "a", 2], ["a"], [1, 2]]),
    ({"type": "array", "contains": {"type": "string"}, "unevaluatedItems": {"type": "integer"}}, [["a"], [1, "a", 2], [1], ["a", None]]),
    ({"type": "object", "propertyNames": {"anyOf": [{"maxLength": 1}, {"enum": ["long", "longer"]}]}, "additionalProperties": {"type": "null"}},
     [{}, {"a": None}, {"long": None}, {"lo": None}]),
    ({"type": "object", "propertyNames": {"not": {"pattern": "^x"}}, "additionalProperties": {"type": "null"}}, [{}, {"a": None}, {"x": None}, {"ax": None}]),
]


def main():
    for schema, instances in CASES:
        dialect = jsonschema.validators.validator_for(schema, default=jsonschema.Draft202012Validator)
        dialect.check_schema(schema)
        validator = dialect(schema, format_checker=jsonschema.FormatChecker())
        for instance in instances:
            valid = validator.is_valid(instance)
            print(f"{int(valid)}\t{json.dumps(schema)}\t{json.dumps(instance, ensure_ascii=False)}")


main()
