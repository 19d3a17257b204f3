"""Functions that make arrays."""
from __future__ import annotations

import builtins
from typing import Any

from .. import _wick
from .._wick import DType, Tensor
from ._data_types import DEFAULT_FLOAT, DEFAULT_INT
from ._types import DeviceLike, DTypeLike, Number

Shape = builtins.int | tuple[builtins.int, ...] | list[builtins.int]


def arange(start: builtins.int | builtins.float, /, stop: builtins.int | builtins.float | None = None,
           step: builtins.int | builtins.float = 1, *, dtype: DTypeLike | None = None, device: DeviceLike | None = None) -> Tensor:
    """start, start + step, … before stop. Whole numbers are exact."""
    if stop is None:
        start, stop = 0, start
    if step == 0:
        raise ValueError("arange: step must not be 0")
    if isinstance(start, int) and isinstance(stop, int) and isinstance(step, int):
        count = len(range(start, stop, step))
        wanted = DEFAULT_INT if dtype is None else DType(dtype)
        whole = _wick.arange(0, count, dtype=DEFAULT_INT, device=device)
        return (whole * step + start).to(wanted) if -2**63 <= start < 2**63 else whole.to(wanted) * float(step) + float(start)
    if (stop - start) / step <= 0:
        return empty(0, dtype=DEFAULT_FLOAT if dtype is None else dtype, device=device)
    made = _wick.arange(start, stop, step, dtype="f64", device=device)
    return made.to(DEFAULT_FLOAT if dtype is None else DType(dtype))


def asarray(obj: Any, /, *, dtype: DTypeLike | None = None, device: DeviceLike | None = None, copy: builtins.bool | None = None) -> Tensor:
    """A tensor of numbers, nested lists, or another library's array. copy=False raises ValueError where memory cannot be shared."""
    if copy is False and isinstance(obj, (builtins.bool, int, float, list, tuple)):
        raise ValueError("asarray: Python's numbers cannot be shared; leave copy out")
    made = _wick.asarray(obj, dtype=dtype, device=device, copy=copy)
    if copy is False and isinstance(obj, Tensor) and (made.dtype != obj.dtype or made.device != obj.device):
        raise ValueError("asarray: another dtype or device needs a copy")
    return made


def empty(shape: Shape, *, dtype: DTypeLike | None = None, device: DeviceLike | None = None) -> Tensor:
    return _wick.empty(shape, dtype=dtype, device=device)


def empty_like(x: Tensor, /, *, dtype: DTypeLike | None = None, device: DeviceLike | None = None) -> Tensor:
    return _wick.empty(x.shape, dtype=dtype or x.dtype, device=device or x.device)


def eye(n_rows: builtins.int, n_cols: builtins.int | None = None, /, *, k: builtins.int = 0, dtype: DTypeLike | None = None,
        device: DeviceLike | None = None) -> Tensor:
    """Ones on diagonal k, zeros elsewhere."""
    columns = n_rows if n_cols is None else n_cols
    row = _wick.arange(0, n_rows, dtype=DEFAULT_INT, device=device).unsqueeze(1)
    column = _wick.arange(0, columns, dtype=DEFAULT_INT, device=device).unsqueeze(0)
    wanted = DEFAULT_FLOAT if dtype is None else DType(dtype)
    if n_rows == 0 or columns == 0:
        return zeros((n_rows, columns), dtype=wanted, device=device)
    offset = max(-n_rows, min(columns, k))  # there is no diagonal farther away
    return (column - row == offset).to(wanted)


def full(shape: Shape, fill_value: Number, *, dtype: DTypeLike | None = None, device: DeviceLike | None = None) -> Tensor:
    return _wick.full(shape, fill_value, dtype=dtype, device=device)


def full_like(x: Tensor, /, fill_value: Number, *, dtype: DTypeLike | None = None, device: DeviceLike | None = None) -> Tensor:
    return _wick.full(x.shape, fill_value, dtype=dtype or x.dtype, device=device or x.device)


def linspace(start: builtins.int | builtins.float, stop: builtins.int | builtins.float, /, num: builtins.int, *,
             dtype: DTypeLike | None = None, device: DeviceLike | None = None, endpoint: builtins.bool = True) -> Tensor:
    """num numbers from start to stop, which is the last one with endpoint."""
    if num < 0:
        raise ValueError("linspace: num must be 0 or more")
    steps = num - 1 if endpoint else num
    places = _wick.arange(0, num, dtype="f64", device=device)
    step = (stop - start) / steps if steps > 0 else 0.0
    made = places * step + float(start)
    if endpoint and num > 1:
        made = _wick.cat([made[:-1], _wick.full((1,), float(stop), dtype="f64", device=device)])
    return made.to(DEFAULT_FLOAT if dtype is None else DType(dtype))


def meshgrid(*arrays: Tensor, indexing: str = "xy") -> list[Tensor]:
    if indexing not in ("xy", "ij"):
        raise ValueError(f"meshgrid: indexing must be 'xy' or 'ij', not {indexing!r}")
    place = list(range(len(arrays)))
    if indexing == "xy" and len(arrays) > 1:
        place[:2] = [1, 0]
    shape = [0] * len(arrays)
    for index, array in enumerate(arrays):
        shape[place[index]] = array.size
    grids = []
    for index, array in enumerate(arrays):
        ones_shape = [1] * len(arrays)
        ones_shape[place[index]] = array.size
        grids.append(array.reshape(ones_shape).broadcast_to(shape).contiguous())
    return grids


def ones(shape: Shape, *, dtype: DTypeLike | None = None, device: DeviceLike | None = None) -> Tensor:
    return _wick.ones(shape, dtype=dtype, device=device)


def ones_like(x: Tensor, /, *, dtype: DTypeLike | None = None, device: DeviceLike | None = None) -> Tensor:
    return _wick.ones(x.shape, dtype=dtype or x.dtype, device=device or x.device)


def tril(x: Tensor, /, *, k: builtins.int = 0) -> Tensor:
    """Zeros above diagonal k of the last two dimensions."""
    return _triangle("tril", x, k, False)


def triu(x: Tensor, /, *, k: builtins.int = 0) -> Tensor:
    """Zeros below diagonal k of the last two dimensions."""
    return _triangle("triu", x, k, True)


def _triangle(function: str, x: Tensor, k: builtins.int, upper: builtins.bool) -> Tensor:
    if x.ndim < 2:
        raise ValueError(f"{function}: {x.ndim} dimensions, but a matrix has two")
    rows, columns = x.shape[-2], x.shape[-1]
    if x.size == 0:
        return x.copy()
    row = _wick.arange(0, rows, dtype=DEFAULT_INT, device=x.device).unsqueeze(1)
    column = _wick.arange(0, columns, dtype=DEFAULT_INT, device=x.device).unsqueeze(0)
    kept = column - row >= k if upper else column - row <= k
    return _wick.where(kept.broadcast_to(x.shape), x, _wick.zeros((), dtype=x.dtype, device=x.device))


def zeros(shape: Shape, *, dtype: DTypeLike | None = None, device: DeviceLike | None = None) -> Tensor:
    return _wick.zeros(shape, dtype=dtype, device=device)


def zeros_like(x: Tensor, /, *, dtype: DTypeLike | None = None, device: DeviceLike | None = None) -> Tensor:
    return _wick.zeros(x.shape, dtype=dtype or x.dtype, device=device or x.device)
