"""What pickles of tensors name: a function that unpickling calls."""
from __future__ import annotations

from . import _wick


def rebuild(data: bytes, shape: list[int], dtype: str, device: str) -> _wick.Tensor:
    """The tensor of these row-major bytes."""
    return _wick._unpickle(data, shape, dtype, device)
