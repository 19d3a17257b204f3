"""NumPy's functions of tensors: np.sin(x) and array + x give a Tensor."""
from __future__ import annotations

from typing import Any

import numpy as np

from . import _wick
from ._wick import Tensor

# The tensor's own operators by the names of NumPy's functions: with the array on the right, and on the left.
_OPERATORS = {
    "add": ("__add__", "__radd__"), "subtract": ("__sub__", "__rsub__"), "multiply": ("__mul__", "__rmul__"),
    "divide": ("__truediv__", "__rtruediv__"), "true_divide": ("__truediv__", "__rtruediv__"),
    "floor_divide": ("__floordiv__", "__rfloordiv__"), "remainder": ("__mod__", "__rmod__"), "power": ("__pow__", "__rpow__"),
    "matmul": ("__matmul__", "__rmatmul__"), "equal": ("__eq__", "__eq__"), "not_equal": ("__ne__", "__ne__"),
    "less": ("__lt__", "__gt__"), "less_equal": ("__le__", "__ge__"), "greater": ("__gt__", "__lt__"),
    "greater_equal": ("__ge__", "__le__"), "bitwise_and": ("__and__", "__rand__"), "bitwise_or": ("__or__", "__ror__"),
    "bitwise_xor": ("__xor__", "__rxor__"), "left_shift": ("__lshift__", "__rlshift__"), "right_shift": ("__rshift__", "__rrshift__"),
}


def _tensors(made: Any) -> Any:
    if isinstance(made, tuple):
        return tuple(_tensors(part) for part in made)
    return _wick.asarray(made) if isinstance(made, (np.ndarray, np.generic)) else made


def array_ufunc(tensor: Tensor, ufunc: Any, method: str, inputs: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """What NumPy calls for a ufunc one of whose operands is a tensor. An array given as `out` is written."""
    out = options.get("out")
    if method == "__call__" and not options and len(inputs) == 2 and ufunc.__name__ in _OPERATORS:
        forward, reflected = _OPERATORS[ufunc.__name__]
        left, right = inputs
        made = getattr(left, forward)(right) if isinstance(left, Tensor) else getattr(right, reflected)(left)
        if made is not NotImplemented:
            return made
    if out is not None and any(isinstance(part, Tensor) for part in out):
        return NotImplemented
    arrays = [part.detach().numpy() if isinstance(part, Tensor) else part for part in inputs]
    made = getattr(ufunc, method)(*arrays, **options)
    return made if out is not None else _tensors(made)
