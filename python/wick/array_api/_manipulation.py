"""Functions that change shapes and the order of elements."""
from __future__ import annotations

import builtins
from collections.abc import Sequence

from .. import _wick
from .._wick import Tensor
from ._data_types import result_type
from ._types import Axis, axes_of

Ints = builtins.int | tuple[builtins.int, ...]


def broadcast_arrays(*arrays: Tensor) -> list[Tensor]:
    shape = _common_shape(*(array.shape for array in arrays))
    return [array.broadcast_to(shape) for array in arrays]


def _common_shape(*shapes: Sequence[builtins.int]) -> tuple[builtins.int, ...]:
    rank = max((len(shape) for shape in shapes), default=0)
    made = []
    for axis in range(rank):
        extents = {shape[axis - rank + len(shape)] for shape in shapes if axis - rank + len(shape) >= 0} - {1}
        if len(extents) > 1:
            raise ValueError(f"broadcast: the shapes {', '.join(str(tuple(shape)) for shape in shapes)} do not fit together")
        made.append(extents.pop() if extents else 1)
    return tuple(made)


def broadcast_to(x: Tensor, /, shape: tuple[builtins.int, ...]) -> Tensor:
    return x.broadcast_to(tuple(shape))


def concat(arrays: tuple[Tensor, ...] | list[Tensor], /, *, axis: builtins.int | None = 0) -> Tensor:
    """One after another along an axis; with None, of all elements."""
    dtype = result_type(*arrays)
    parts = [array.to(dtype) for array in arrays]
    if axis is None:
        return _wick.cat([part.reshape(-1) if part.size else part.reshape(0) for part in parts])
    return _wick.cat(parts, axis)


def expand_dims(x: Tensor, /, axis: Ints = 0) -> Tensor:
    """A new axis of extent 1."""
    given = (axis,) if isinstance(axis, int) else axis
    for place in sorted(axes_of(given, x.ndim + len(given))):
        x = x.unsqueeze(place)
    return x


def flip(x: Tensor, /, *, axis: Axis = None) -> Tensor:
    axes = axes_of(axis, x.ndim)
    return x.flip(axes) if axes else x.copy()


def matrix_transpose(x: Tensor, /) -> Tensor:
    if x.ndim < 2:
        raise ValueError(f"matrix_transpose: {x.ndim} dimensions, but a matrix has two")
    return x.mT


def moveaxis(x: Tensor, source: Ints, destination: Ints, /) -> Tensor:
    moved, targets = axes_of(source, x.ndim), axes_of(destination, x.ndim)
    if len(moved) != len(targets):
        raise ValueError(f"moveaxis: {len(moved)} axes, but {len(targets)} destinations")
    order = [axis for axis in range(x.ndim) if axis not in moved]
    for target, axis in sorted(zip(targets, moved)):
        order.insert(target, axis)
    return permute_dims(x, tuple(order))


def permute_dims(x: Tensor, /, axes: tuple[builtins.int, ...]) -> Tensor:
    if len(axes) != x.ndim:
        raise ValueError(f"permute_dims: {len(axes)} axes for {x.ndim} dimensions")
    return x.permute(axes_of(tuple(axes), x.ndim)) if x.ndim else x


def repeat(x: Tensor, repeats: builtins.int | Tensor, /, *, axis: builtins.int | None = None) -> Tensor:
    """Each element, or slice of the axis, that many times one after another."""
    if axis is None:
        x, axis = x.reshape(x.size), 0
    axis = axes_of(axis, x.ndim)[0]
    extent = x.shape[axis]
    counts = repeats.broadcast_to((extent,)).tolist() if isinstance(repeats, Tensor) else [repeats] * extent
    places = [place for place, count in enumerate(counts) for _ in range(count)]
    return x.index_select(_wick.tensor(places, dtype="i64", device=x.device), axis)


def reshape(x: Tensor, /, shape: tuple[builtins.int, ...], *, copy: builtins.bool | None = None) -> Tensor:
    """A view where the strides allow it. copy=True: of memory of its own; False raises ValueError where there must be a copy."""
    made = x.reshape(tuple(shape))
    if copy is False and not x.is_contiguous():
        raise ValueError("reshape: these strides need a copy")
    return made.copy() if copy else made


def roll(x: Tensor, /, shift: Ints, *, axis: Axis = None) -> Tensor:
    if axis is None:
        if not isinstance(shift, int):
            raise ValueError("roll: several shifts need as many axes")
        return x.reshape(x.size).roll(shift, 0).reshape(x.shape) if x.size else x.copy()
    given = (axis,) if isinstance(axis, int) else tuple(axis)
    shifts = (shift,) * len(given) if isinstance(shift, int) else shift
    if len(shifts) != len(given):
        raise ValueError(f"roll: {len(shifts)} shifts for {len(given)} axes")
    made = x
    for one, by in zip(given, shifts):
        place = axes_of(one, x.ndim)[0]
        if made.size:
            made = made.roll(by, place)
    return made.copy() if made is x else made


def squeeze(x: Tensor, /, axis: Ints) -> Tensor:
    """Without these axes, whose extents must be 1."""
    axes = axes_of(axis, x.ndim)
    for one in axes:
        if x.shape[one] != 1:
            raise ValueError(f"squeeze: the extent of axis {one} is {x.shape[one]}, not 1")
    return x.reshape([extent for place, extent in enumerate(x.shape) if place not in axes])


def stack(arrays: tuple[Tensor, ...] | list[Tensor], /, *, axis: builtins.int = 0) -> Tensor:
    dtype = result_type(*arrays)
    return _wick.stack([array.to(dtype) for array in arrays], axis)


def tile(x: Tensor, repetitions: tuple[builtins.int, ...], /) -> Tensor:
    rank = max(x.ndim, len(repetitions))
    times = (1,) * (rank - len(repetitions)) + tuple(repetitions)
    shape = (1,) * (rank - x.ndim) + x.shape
    if 0 in times or 0 in shape:
        return _wick.empty([extent * count for extent, count in zip(shape, times)], dtype=x.dtype, device=x.device)
    return x.reshape(shape).repeat(times) if rank else x.copy()


def unstack(x: Tensor, /, *, axis: builtins.int = 0) -> tuple[Tensor, ...]:
    place = axes_of(axis, x.ndim)[0]
    return tuple(x.narrow(place, index, 1).reshape(x.shape[:place] + x.shape[place + 1:]) for index in range(x.shape[place]))
