"""candle's Python interface over Wick, for programs that were written for it.

    import wick.candle as candle
    candle.rand((2, 3)).matmul(candle.ones((3, 2))).values()

`install()` makes `import candle` mean this package. What follows candle: names, arguments, dtypes of results, and errors of shapes.
"""
from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from .. import _wick
from .._wick import Device, DType, bf16, f16, f32, f64, i64, u32, u8
from ._tensor import QTensor, Tensor, shape_of, tensors_of

__all__ = ["DType", "QTensor", "Tensor", "bf16", "cat", "f16", "f32", "f64", "i64", "install", "ones", "rand", "randn", "stack", "tensor", "u32",
           "u8", "zeros"]


def rand(*shape: Any, device: Device | str | None = None) -> Tensor:
    """Uniform in [0, 1)."""
    return Tensor.of(_wick.rand(shape_of(shape), device=device))


def randn(*shape: Any, device: Device | str | None = None) -> Tensor:
    return Tensor.of(_wick.randn(shape_of(shape), device=device))


def ones(*shape: Any, dtype: DType | str | None = None, device: Device | str | None = None) -> Tensor:
    return Tensor.of(_wick.ones(shape_of(shape), dtype, device))


def zeros(*shape: Any, dtype: DType | str | None = None, device: Device | str | None = None) -> Tensor:
    return Tensor.of(_wick.zeros(shape_of(shape), dtype, device))


def tensor(data: Any) -> Tensor:
    return Tensor(data)


def cat(tensors: Sequence[Tensor], dim: int) -> Tensor:
    return Tensor.of(_wick.cat(tensors_of(tensors), dim))


def stack(tensors: Sequence[Tensor], dim: int) -> Tensor:
    return Tensor.of(_wick.stack(tensors_of(tensors), dim))


def install() -> None:
    """From here on `import candle` gives this package, in the whole process."""
    from . import functional, nn, testing, typing, utils

    sys.modules["candle"] = sys.modules[__name__]
    for module in (functional, nn, testing, typing, utils):
        sys.modules["candle." + module.__name__.rpartition(".")[2]] = module
