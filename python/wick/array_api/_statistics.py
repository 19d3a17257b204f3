"""Reductions, running sums, and products of matrices."""
from __future__ import annotations

import builtins
from collections.abc import Sequence

from .. import _wick
from .._wick import DType, Tensor
from ._data_types import BOOL, DEFAULT_INT, isdtype, result_type
from ._types import Axis, DTypeLike, axes_of


def all(x: Tensor, /, *, axis: Axis = None, keepdims: builtins.bool = False) -> Tensor:
    return x.all(axes_of(axis, x.ndim), keepdims)


def any(x: Tensor, /, *, axis: Axis = None, keepdims: builtins.bool = False) -> Tensor:
    return x.any(axes_of(axis, x.ndim), keepdims)


def _kind_of_sums(x: Tensor, dtype: DTypeLike | None) -> DType:
    """The dtype that elements are summed in: of integers at least the default one. Wick has no uint64."""
    if dtype is not None:
        return DType(dtype)
    return DEFAULT_INT if x.dtype == BOOL or isdtype(x.dtype, "integral") else x.dtype


def _of_sums(x: Tensor, dtype: DTypeLike | None) -> Tensor:
    return x.to(_kind_of_sums(x, dtype))


def cumulative_prod(x: Tensor, /, *, axis: builtins.int | None = None, dtype: DTypeLike | None = None,
                    include_initial: builtins.bool = False) -> Tensor:
    return _running("cumulative_prod", x, axis, dtype, include_initial)


def cumulative_sum(x: Tensor, /, *, axis: builtins.int | None = None, dtype: DTypeLike | None = None,
                   include_initial: builtins.bool = False) -> Tensor:
    return _running("cumulative_sum", x, axis, dtype, include_initial)


def _running(function: str, x: Tensor, axis: builtins.int | None, dtype: DTypeLike | None, include_initial: builtins.bool) -> Tensor:
    if axis is None:
        if x.ndim != 1:
            raise ValueError(f"{function}: {x.ndim} dimensions need an axis")
        axis = 0
    place = axes_of(axis, x.ndim)[0]
    whole = _of_sums(x, dtype)
    product = function == "cumulative_prod"
    made = (whole.cumprod(place) if product else whole.cumsum(place)) if x.size else whole
    if include_initial:
        shape = [1 if axis_ == place else extent for axis_, extent in enumerate(x.shape)]
        first = (_wick.ones if product else _wick.zeros)(shape, dtype=made.dtype, device=made.device)
        made = _wick.cat([first, made], place)
    return made


def diff(x: Tensor, /, *, axis: builtins.int = -1, n: builtins.int = 1, prepend: Tensor | None = None, append: Tensor | None = None) -> Tensor:
    """Differences of neighbours, n times over."""
    place = axes_of(axis, x.ndim)[0]
    parts = [part for part in (prepend, x, append) if part is not None]
    dtype = result_type(*parts)
    made = _wick.cat([part.to(dtype) for part in parts], place) if len(parts) > 1 else x
    for _ in range(n):
        extent = made.shape[place]
        if extent <= 1:
            return made.narrow(place, 0, 0)
        upper, lower = made.narrow(place, 1, extent - 1), made.narrow(place, 0, extent - 1)
        made = upper.logical_xor(lower) if made.dtype == BOOL else upper - lower
    return made


def max(x: Tensor, /, *, axis: Axis = None, keepdims: builtins.bool = False) -> Tensor:
    return x.amax(axes_of(axis, x.ndim), keepdims)


def mean(x: Tensor, /, *, axis: Axis = None, keepdims: builtins.bool = False) -> Tensor:
    return x.mean(axes_of(axis, x.ndim), keepdims)


def min(x: Tensor, /, *, axis: Axis = None, keepdims: builtins.bool = False) -> Tensor:
    return x.amin(axes_of(axis, x.ndim), keepdims)


def prod(x: Tensor, /, *, axis: Axis = None, dtype: DTypeLike | None = None, keepdims: builtins.bool = False) -> Tensor:
    return _of_sums(x, dtype).prod(axes_of(axis, x.ndim), keepdims)


def std(x: Tensor, /, *, axis: Axis = None, correction: builtins.int | builtins.float = 0.0, keepdims: builtins.bool = False) -> Tensor:
    return var(x, axis=axis, correction=correction, keepdims=keepdims).sqrt()


def sum(x: Tensor, /, *, axis: Axis = None, dtype: DTypeLike | None = None, keepdims: builtins.bool = False) -> Tensor:
    return x.sum(axes_of(axis, x.ndim), keepdims, dtype=_kind_of_sums(x, dtype))


def var(x: Tensor, /, *, axis: Axis = None, correction: builtins.int | builtins.float = 0.0, keepdims: builtins.bool = False) -> Tensor:
    """Σ (x - mean)² / (n - correction)."""
    axes = axes_of(axis, x.ndim)
    count = 1
    for one in axes:
        count *= x.shape[one]
    total = (x - x.mean(axes, True)).sqr().sum(axes, keepdims)
    return total / _wick.full((), float(count - correction), dtype=total.dtype, device=total.device)


# --- Products ---

def matmul(x1: Tensor, x2: Tensor, /) -> Tensor:
    dtype = result_type(x1, x2)
    return x1.to(dtype) @ x2.to(dtype)


def tensordot(x1: Tensor, x2: Tensor, /, *, axes: builtins.int | tuple[Sequence[builtins.int], Sequence[builtins.int]] = 2) -> Tensor:
    """Products summed over the last axes of x1 and the first ones of x2, or over two lists of axes."""
    dtype = result_type(x1, x2)
    if isinstance(axes, int):
        left, right = tuple(range(x1.ndim - axes, x1.ndim)), tuple(range(axes))
    else:
        left, right = axes_of(tuple(axes[0]), x1.ndim), axes_of(tuple(axes[1]), x2.ndim)
    if [x1.shape[a] for a in left] != [x2.shape[b] for b in right]:
        raise ValueError(f"tensordot: the axes {left} of {x1.shape} and {right} of {x2.shape} are not equally long")
    rows = [axis for axis in range(x1.ndim) if axis not in left]
    columns = [axis for axis in range(x2.ndim) if axis not in right]
    inner = 1
    for axis in left:
        inner *= x1.shape[axis]
    row_shape, column_shape = [x1.shape[a] for a in rows], [x2.shape[b] for b in columns]
    a = _ordered(x1.to(dtype), [*rows, *left]).reshape(_product(row_shape), inner)
    b = _ordered(x2.to(dtype), [*right, *columns]).reshape(inner, _product(column_shape))
    return (a @ b).reshape(row_shape + column_shape)


def _ordered(x: Tensor, order: list[builtins.int]) -> Tensor:
    return x.permute(order) if order else x


def _product(extents: list[builtins.int]) -> builtins.int:
    made = 1
    for extent in extents:
        made *= extent
    return made


def vecdot(x1: Tensor, x2: Tensor, /, *, axis: builtins.int = -1) -> Tensor:
    """Σ x1 · x2 along an axis of both, counted from the end."""
    if not -builtins.min(x1.ndim, x2.ndim) <= axis < 0:
        raise ValueError(f"vecdot: axis must be in [-{builtins.min(x1.ndim, x2.ndim)}, -1], not {axis}")
    if x1.shape[axis] != x2.shape[axis]:
        raise ValueError(f"vecdot: {x1.shape[axis]} and {x2.shape[axis]} elements along axis {axis}")
    dtype = result_type(x1, x2)
    return (x1.to(dtype) * x2.to(dtype)).sum(axis).to(dtype)
