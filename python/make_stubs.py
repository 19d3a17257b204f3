#!/usr/bin/env python3
"""Writes the stubs of the extension module, from the signatures that the module itself has.

    make_stubs.py PACKAGE_FOLDER     the folder that holds wick/; writes wick/_wick/__init__.pyi, _ir.pyi and _nn.pyi there
"""
import inspect
import pathlib
import re
import sys

from nanobind.stubgen import StubGen

PREFIX = '''import builtins
import collections.abc
import os
import typing
import wick._wick
from wick._results import ValuesAndIndices

# What operators and functions take beside tensors: numbers, NumPy's arrays, and whatever has DLPack or a buffer.
TensorLike: typing.TypeAlias = "Tensor | builtins.float | typing.Any"

'''
OPERAND = '''# What expressions of a kernel take: values, variables, and numbers, which take the type of what is beside them.
Operand: typing.TypeAlias = "Value | Variable | builtins.float"

'''
# Types without their arguments, as the bindings name them.
BARE = [(r"\btuple\b(?!\[)", "tuple[typing.Any, ...]"), (r"\blist\b(?!\[)", "list[typing.Any]"), (r"\bdict\b(?!\[)", "dict[str, typing.Any]"),
        (r"\bos\.PathLike\b(?!\[)", "os.PathLike[str]"), (r"\*args\)", "*args: typing.Any)")]
EXACT = {
    "sampling_parameters: tuple = ...": "sampling_parameters: tuple[builtins.str, ...]",
    "def __eq__(self, other: TensorLike, /) -> Tensor: ...": "def __eq__(self, other: TensorLike, /) -> Tensor: ...  # type: ignore[override]",
    "def __ne__(self, other: TensorLike, /) -> Tensor: ...": "def __ne__(self, other: TensorLike, /) -> Tensor: ...  # type: ignore[override]",
    "def __eq__(self, other: Operand, /) -> Value: ...": "def __eq__(self, other: Operand, /) -> Value: ...  # type: ignore[override]",
    "def __ne__(self, other: Operand, /) -> Value: ...": "def __ne__(self, other: Operand, /) -> Value: ...  # type: ignore[override]",
    "def next(self) -> object: ...": "def next(self) -> tuple[typing.Any, ...] | None: ...",
    "def poll(self) -> object: ...": "def poll(self) -> tuple[typing.Any, ...] | None: ...",
    "def __exit__(self, *args: typing.Any) -> None: ...": "def __exit__(self, *args: object) -> None: ...",
}


def error_classes(module):
    """The exceptions, which the generator takes for imports from the package."""
    errors = [value for value in vars(module).values() if isinstance(value, type) and issubclass(value, Exception)]
    errors.sort(key=lambda cls: (cls is not module.Error, cls.__name__))
    lines = []
    for cls in errors:
        bases = ", ".join(base.__name__ for base in cls.__bases__)
        lines += [f"class {cls.__name__}({bases}):", f'    """{cls.__doc__}"""', "" if cls is module.Error else f"    code: builtins.str = {cls.code!r}\n"]
    return "\n".join(lines) + "\n\n"


def fix_line(line):
    head, bracket, rest = line.partition("(")
    if "def " in head and bracket:
        # Tensor has methods, and the module dtypes, that are called as the built-in types.
        rest = re.sub(r"-> ([^:]*\W|)(bool|int|float):", r"-> \1builtins.\2:", rest)
        rest = re.sub(r"(?<![\w.'])(bool|int|float)(?![\w'(:])", r"builtins.\1", rest)
        rest = rest.replace("typing.builtins.", "builtins.")
        for pattern, replacement in BARE:
            rest = re.sub(pattern, replacement, rest)
        line = head + bracket + rest
    line = re.sub(r"^(HAS_\w+): bool\b", r"\1: builtins.bool", line)
    indent = line[: len(line) - len(line.lstrip())]
    return indent + EXACT.get(line.strip(), line.strip()) if line.strip() in EXACT else line


def stub_of(module, prefix):
    generator = StubGen(module, include_private=True, quiet=True)
    generator.put(module)
    text = re.sub(r"from wick import \((?:[^)]*)\)\n", "", generator.get())
    lines = [fix_line(line) for line in text.split("\n")]
    end = 0
    while end < len(lines) and not re.match(r"(class|def|[A-Za-z_0-9]+:|@)", lines[end]):
        end += 1
    return "\n".join(lines[:end]) + "\n" + prefix + "\n".join(lines[end:])


def methods_of(composed):
    """The lines of the methods that Python attaches to Tensor."""
    lines = []
    for name, function in composed.attached.items():
        signature = "(self, *arguments: typing.Any, **options: typing.Any) -> Tensor"
        if name in composed.methods():
            parameters = list(inspect.signature(function).parameters.values())
            given = inspect.signature(function).replace(parameters=[parameters[0].replace(name="self", annotation=inspect.Parameter.empty), *parameters[1:]])
            signature = str(given).replace("'", "")
        for short, whole in ((r"\bAny\b", "typing.Any"), (r"\bSequence\b", "collections.abc.Sequence"), (r"\bCallable\b", "collections.abc.Callable"),
                             (r"\btyping\.typing\.", "typing.")):
            signature = re.sub(short, whole, signature)
        lines += [f"    def {name}{signature}: ...", ""]
    return lines


def without_attached(composed, tensor):
    """Takes the attached methods from Tensor, so that the generator sees the module's own."""
    for name in composed.attached:
        if name in composed.replaced:
            setattr(tensor, name, composed.replaced[name])
        else:
            delattr(tensor, name)


def main():
    package = pathlib.Path(sys.argv[1])
    sys.path.insert(0, str(package))
    from wick import _wick, composed

    methods = "\n".join(fix_line(line) for line in methods_of(composed))
    without_attached(composed, _wick.Tensor)
    folder = package / "wick/_wick"
    folder.mkdir(exist_ok=True)
    text = stub_of(_wick, PREFIX + error_classes(_wick))
    for name in composed.replaced:
        text = re.sub(rf'    def {name}\(self, ids[^\n]*(\.\.\.|:\n        """.*?""")\n+', "", text, flags=re.DOTALL)
    head, start, rest = text.partition("class Tensor:\n")
    opening, property_mark, rest = rest.partition("    @property\n")
    (folder / "__init__.pyi").write_text(head + start + opening + methods + "\n" + property_mark + rest)
    (folder / "_ir.pyi").write_text(stub_of(_wick._ir, PREFIX.split("# What")[0] + OPERAND))
    (folder / "_nn.pyi").write_text(stub_of(_wick._nn, PREFIX.split("# What")[0]))


main()
