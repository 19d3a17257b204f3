"""candle.functional."""
from __future__ import annotations

from ._tensor import Tensor


def avg_pool2d(tensor: Tensor, ksize: int, stride: int = 1) -> Tensor:
    return Tensor.of(tensor._tensor.avg_pool2d((ksize, ksize), (stride, stride)))


def gelu(tensor: Tensor) -> Tensor:
    return Tensor.of(tensor._tensor.gelu("tanh"))


def max_pool2d(tensor: Tensor, ksize: int, stride: int = 1) -> Tensor:
    return Tensor.of(tensor._tensor.max_pool2d((ksize, ksize), (stride, stride)))


def relu(tensor: Tensor) -> Tensor:
    return Tensor.of(tensor._tensor.relu())


def silu(tensor: Tensor) -> Tensor:
    return Tensor.of(tensor._tensor.silu())


def softmax(tensor: Tensor, dim: int) -> Tensor:
    return Tensor.of(tensor._tensor.softmax(dim))


def tanh(tensor: Tensor) -> Tensor:
    return Tensor.of(tensor._tensor.tanh())
