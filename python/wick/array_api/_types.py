"""What the modules of the namespace share: types, and operands that are tensors or Python's numbers."""
from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import TypeAlias

from .._wick import Device, DType, Tensor

Number: TypeAlias = "builtins.bool | builtins.int | builtins.float"
Operand: TypeAlias = "Tensor | Number"
DTypeLike: TypeAlias = "DType | str"
DeviceLike: TypeAlias = "Device | str"
Axis: TypeAlias = "builtins.int | Sequence[builtins.int] | None"


def pair(function: str, x1: Operand, x2: Operand) -> tuple[Tensor, Tensor]:
    """Both operands as tensors of one dtype; a number takes the dtype of the tensor beside it."""
    from ._data_types import result_type

    if not isinstance(x1, Tensor) and not isinstance(x2, Tensor):
        raise TypeError(f"{function}: one of the operands must be a tensor")
    dtype = result_type(x1, x2)
    if isinstance(x1, Tensor):
        return x1.to(dtype), as_tensor(x2, dtype, x1.device)
    assert isinstance(x2, Tensor)
    return as_tensor(x1, dtype, x2.device), x2.to(dtype)


def as_tensor(x: Operand, dtype: DType, device: Device) -> Tensor:
    from .._wick import asarray

    return x.to(dtype) if isinstance(x, Tensor) else asarray(x, dtype=dtype, device=device)


def axes_of(axis: Axis, ndim: int) -> tuple[builtins.int, ...]:
    """The axes from 0 on; None is all of them. Raises IndexError."""
    if axis is None:
        return tuple(range(ndim))
    given = (axis,) if isinstance(axis, int) else tuple(axis)
    for one in given:
        if not -ndim <= one < ndim:
            raise IndexError(f"axis {one} is out of range for {ndim} dimensions")
    found = tuple(one % ndim for one in given)
    if len(set(found)) != len(found):
        raise ValueError(f"the axes {given} name a dimension twice")
    return found
