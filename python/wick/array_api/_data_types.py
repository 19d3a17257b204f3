"""Dtypes: their kinds, bounds, and what they become together."""
from __future__ import annotations

import builtins
from typing import NamedTuple

from .._wick import DType, Tensor, float32, float64, int8, int16, int32, int64, promote_types, uint8, uint32
from ._types import DeviceLike, DTypeLike, Operand

BOOL = DType("bool")
SIGNED = {"int8": int8, "int16": int16, "int32": int32, "int64": int64}
UNSIGNED = {"uint8": uint8, "uint32": uint32}
FLOATS = {"float32": float32, "float64": float64}
DEFAULT_FLOAT, DEFAULT_INT = float32, int64

KINDS: dict[str, dict[str, DType]] = {
    "bool": {"bool": BOOL},
    "signed integer": SIGNED,
    "unsigned integer": UNSIGNED,
    "integral": {**SIGNED, **UNSIGNED},
    "real floating": FLOATS,
    "complex floating": {},
    "numeric": {**SIGNED, **UNSIGNED, **FLOATS},
}


class finfo_object(NamedTuple):
    """Bounds of a floating-point dtype."""

    bits: builtins.int
    eps: builtins.float
    max: builtins.float
    min: builtins.float
    smallest_normal: builtins.float
    dtype: DType


class iinfo_object(NamedTuple):
    """Bounds of an integer dtype."""

    bits: builtins.int
    max: builtins.int
    min: builtins.int
    dtype: DType


def astype(x: Tensor, dtype: DTypeLike, /, *, copy: builtins.bool = True, device: DeviceLike | None = None) -> Tensor:
    """The elements in another dtype; itself where the dtype is that already and no copy is wanted."""
    made = x.to(DType(dtype))
    if device is not None:
        made = made.to_device(device)
    shares = made.dtype == x.dtype and made.device == x.device
    return made.copy() if copy and shares else made


def can_cast(from_: DType | Tensor, to: DType, /) -> builtins.bool:
    """Whether promotion takes from_ to that dtype."""
    source = from_.dtype if isinstance(from_, Tensor) else DType(from_)
    target = DType(to)
    if source == target:
        return True
    if isdtype(source, "bool") or isdtype(target, "bool"):
        return False
    if isdtype(source, "real floating") != isdtype(target, "real floating"):
        return False
    return promote_types(source, target) == target


def finfo(type: DType | Tensor, /) -> finfo_object:
    """Bounds of float32, float64, float16 or bfloat16."""
    dtype = type.dtype if isinstance(type, Tensor) else DType(type)
    # (bits of the fraction, smallest exponent of a normal number, largest exponent)
    parts = {"f64": (52, -1022, 1023), "f32": (23, -126, 127), "f16": (10, -14, 15), "bf16": (7, -126, 127)}.get(dtype.name)
    if parts is None:
        raise TypeError(f"finfo: {dtype!r} is not a floating-point dtype")
    fraction, lowest, highest = parts
    largest = (2 - 2.0**-fraction) * 2.0**highest
    return finfo_object(8 * dtype.itemsize, 2.0**-fraction, largest, -largest, 2.0**lowest, dtype)


def iinfo(type: DType | Tensor, /) -> iinfo_object:
    """Bounds of an integer dtype."""
    dtype = type.dtype if isinstance(type, Tensor) else DType(type)
    bits = 8 * dtype.itemsize
    if isdtype(dtype, "signed integer"):
        return iinfo_object(bits, 2 ** (bits - 1) - 1, -(2 ** (bits - 1)), dtype)
    if isdtype(dtype, "unsigned integer"):
        return iinfo_object(bits, 2**bits - 1, 0, dtype)
    raise TypeError(f"iinfo: {dtype!r} is not an integer dtype")


def isdtype(dtype: DType, kind: DType | str | tuple[DType | str, ...]) -> builtins.bool:
    """Whether a dtype is another one, of a kind ('integral', 'real floating' …), or of one of several."""
    if isinstance(kind, tuple):
        return builtins.any(isdtype(dtype, one) for one in kind)
    if isinstance(kind, str):
        if kind not in KINDS:
            raise ValueError(f"isdtype: there is no kind '{kind}'; there are {', '.join(KINDS)}")
        return dtype in KINDS[kind].values()
    if not isinstance(kind, DType):
        raise TypeError(f"isdtype: expected a dtype, a kind or a tuple of them, got {builtins.type(kind).__name__}")
    return dtype == kind


def result_type(*arrays_and_dtypes: Operand | DType) -> DType:
    """The dtype that all of them are promoted to. A Python number has the dtype of the others where that holds its kind."""
    dtypes = [one.dtype if isinstance(one, Tensor) else one for one in arrays_and_dtypes if isinstance(one, (Tensor, DType))]
    numbers = [one for one in arrays_and_dtypes if not isinstance(one, (Tensor, DType))]
    if not dtypes:
        raise ValueError("result_type: at least one tensor or dtype is needed")
    found = dtypes[0]
    for dtype in dtypes[1:]:
        if (dtype == BOOL) != (found == BOOL):
            raise TypeError(f"result_type: {found!r} and {dtype!r} are of different kinds")
        found = promote_types(found, dtype)
    for number in numbers:
        if isinstance(number, builtins.bool):
            continue
        if not isinstance(number, (int, float)):
            raise TypeError(f"result_type: expected tensors, dtypes and numbers, got {builtins.type(number).__name__}")
        if found == BOOL or (isinstance(number, float) and not found.is_floating_point):
            raise TypeError(f"result_type: {found!r} does not hold {number!r}")
    return found
