"""Functions that look for elements, order them, or take them by number."""
from __future__ import annotations

import builtins
from typing import NamedTuple

from .. import _wick
from .._wick import Tensor
from ._types import Axis, Operand, axes_of, pair


class UniqueAll(NamedTuple):
    """The different elements, where each is found first, where each element's own is, and how often each occurs."""

    values: Tensor
    indices: Tensor
    inverse_indices: Tensor
    counts: Tensor


class UniqueCounts(NamedTuple):
    values: Tensor
    counts: Tensor


class UniqueInverse(NamedTuple):
    values: Tensor
    inverse_indices: Tensor


def argmax(x: Tensor, /, *, axis: builtins.int | None = None, keepdims: builtins.bool = False) -> Tensor:
    return x.argmax(axis, keepdims)


def argmin(x: Tensor, /, *, axis: builtins.int | None = None, keepdims: builtins.bool = False) -> Tensor:
    return x.argmin(axis, keepdims)


def argsort(x: Tensor, /, *, axis: builtins.int = -1, descending: builtins.bool = False, stable: builtins.bool = True) -> Tensor:
    """Always stable; NaN counts as largest."""
    return x.argsort(axis, descending)


def count_nonzero(x: Tensor, /, *, axis: Axis = None, keepdims: builtins.bool = False) -> Tensor:
    return x.ne(0).to("i64").sum(axes_of(axis, x.ndim), keepdims)


def nonzero(x: Tensor, /) -> tuple[Tensor, ...]:
    """For each dimension the places of the elements that are not 0."""
    if x.ndim == 0:
        raise ValueError("nonzero: an array without dimensions has no places")
    places = x.nonzero()
    return tuple(places[:, axis].contiguous() for axis in range(x.ndim))


def searchsorted(x1: Tensor, x2: Tensor, /, *, side: str = "left", sorter: Tensor | None = None) -> Tensor:
    """Where elements of x2 belong in the sorted vector x1: before equal ones, or behind them ('right')."""
    if side not in ("left", "right"):
        raise ValueError(f"searchsorted: side must be 'left' or 'right', not {side!r}")
    ordered = x1 if sorter is None else take(x1, sorter)
    known, wanted = pair("searchsorted", ordered, x2)
    count = wanted.size
    if count == 0 or known.size == 0:
        return _wick.zeros(x2.shape, dtype="i64", device=x2.device)
    flat = wanted.reshape(count)
    # A stable sort of both puts an element behind those of x1 that belong before it, and behind the wanted ones that are less.
    parts = [flat, known] if side == "left" else [known, flat]
    rank = _ranks(_wick.cat(parts))
    own = rank[:count] if side == "left" else rank[known.size:]
    return (own - _ranks(flat)).reshape(x2.shape)


def _ranks(x: Tensor) -> Tensor:
    """Of a vector: the place of each element in sorted order."""
    return x.argsort().argsort()


def sort(x: Tensor, /, *, axis: builtins.int = -1, descending: builtins.bool = False, stable: builtins.bool = True) -> Tensor:
    """Always stable; NaN counts as largest."""
    return x.sort(axis, descending)[0]


def take(x: Tensor, indices: Tensor, /, *, axis: builtins.int | None = None) -> Tensor:
    """Slices of an axis by number."""
    if axis is None:
        if x.ndim != 1:
            raise ValueError(f"take: {x.ndim} dimensions need an axis")
        axis = 0
    place = axes_of(axis, x.ndim)[0]
    return x[(slice(None),) * place + (indices,)]


def take_along_axis(x: Tensor, indices: Tensor, /, *, axis: builtins.int = -1) -> Tensor:
    """The element of each line of an axis whose number indices has there; the other dimensions broadcast."""
    if x.ndim != indices.ndim:
        raise ValueError(f"take_along_axis: {x.ndim} dimensions, but the indices have {indices.ndim}")
    place = axes_of(axis, x.ndim)[0]
    common = [1 if d == place else builtins.max(a, b) for d, (a, b) in enumerate(zip(x.shape, indices.shape))]
    for d, (a, b) in enumerate(zip(x.shape, indices.shape)):
        if d != place:
            common[d] = b if a == 1 else a
    source_shape = [x.shape[d] if d == place else extent for d, extent in enumerate(common)]
    ids_shape = [indices.shape[d] if d == place else extent for d, extent in enumerate(common)]
    extent = x.shape[place]
    ids = _wick.where(indices < 0, indices + extent, indices) if indices.size else indices
    if ids.size == 0 or 0 in ids_shape:
        return _wick.empty(ids_shape, dtype=x.dtype, device=x.device)
    return x.broadcast_to(source_shape).contiguous().gather(ids.to("i64").broadcast_to(ids_shape).contiguous(), place)


def _unique(x: Tensor) -> UniqueAll:
    flat = x.reshape(x.size)
    if x.size == 0:
        none = _wick.zeros(0, dtype="i64", device=x.device)
        return UniqueAll(flat, none, none.reshape(x.shape), none)
    order = flat.argsort()
    ordered = flat.index_select(order, 0)
    first = _wick.ones(1, dtype="bool", device=x.device)
    begins = _wick.cat([first, ordered[1:].ne(ordered[:-1])]) if x.size > 1 else first
    group = begins.to("i64").cumsum(0) - 1
    inverse = _wick.zeros(x.size, dtype="i64", device=x.device).scatter(order, group, 0)
    starts = begins.nonzero()[:, 0].contiguous()
    end = _wick.full((1,), x.size, device=x.device)
    ends = _wick.cat([starts[1:], end]) if starts.size > 1 else end
    return UniqueAll(ordered.index_select(starts, 0), order.index_select(starts, 0), inverse.reshape(x.shape), ends - starts)


def unique_all(x: Tensor, /) -> UniqueAll:
    """In ascending order; each NaN is different."""
    return _unique(x)


def unique_counts(x: Tensor, /) -> UniqueCounts:
    found = _unique(x)
    return UniqueCounts(found.values, found.counts)


def unique_inverse(x: Tensor, /) -> UniqueInverse:
    found = _unique(x)
    return UniqueInverse(found.values, found.inverse_indices)


def unique_values(x: Tensor, /) -> Tensor:
    return _unique(x).values


def where(condition: Tensor, x1: Operand, x2: Operand, /) -> Tensor:
    """x1 where the condition holds, else x2."""
    a, b = pair("where", x1, x2)
    return _wick.where(condition, a, b)
