"""Linear algebra by PyTorch's names. Decompositions are computed on the host in f64 and have no gradients; results have the operand's dtype
and device."""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ._wick import Tensor
from .array_api import linalg as _standard
from .array_api.linalg import cholesky, det, eigh, eigvalsh, inv, lapack, matmul, matrix_power, matrix_rank, pinv, qr, slogdet, solve, svd, svdvals
from .composed import cross
from .functions import vander

__all__ = ["cholesky", "cross", "det", "diagonal", "eigh", "eigvalsh", "inv", "lapack", "lstsq", "matmul", "matrix_norm", "matrix_power",
           "matrix_rank", "multi_dot", "norm", "pinv", "qr", "slogdet", "solve", "svd", "svdvals", "vander", "vecdot", "vector_norm"]

Dims = int | Sequence[int] | None


def _axes(dim: Dims) -> Any:
    return tuple(dim) if isinstance(dim, Sequence) else dim


def diagonal(A: Tensor, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    return A.diagonal(offset, dim1, dim2)


def vector_norm(x: Tensor, ord: float = 2, dim: Dims = None, keepdim: bool = False) -> Tensor:
    return _standard.vector_norm(x, axis=_axes(dim), keepdims=keepdim, ord=ord)


def matrix_norm(A: Tensor, ord: Any = "fro", dim: Sequence[int] = (-2, -1), keepdim: bool = False) -> Tensor:
    """Of the last two dimensions, or of two others."""
    first, second = (place % A.ndim for place in dim)
    if (first, second) == (A.ndim - 2, A.ndim - 1):
        return _standard.matrix_norm(A, keepdims=keepdim, ord=ord)
    rest = [place for place in range(A.ndim) if place not in (first, second)]
    made = _standard.matrix_norm(A.permute(*rest, first, second), ord=ord)
    for place in sorted((first, second)) if keepdim else ():
        made = made.unsqueeze(place)
    return made


def norm(A: Tensor, ord: Any = None, dim: Dims = None, keepdim: bool = False) -> Tensor:
    """Of all elements' squares by default; of a matrix if dim has two dimensions, or ord is given and A has two."""
    if ord is None:
        return vector_norm(A, 2, dim, keepdim)
    if (isinstance(dim, Sequence) and len(dim) == 2) or (dim is None and A.ndim == 2):
        return matrix_norm(A, ord, dim if isinstance(dim, Sequence) else (-2, -1), keepdim)
    return vector_norm(A, ord, dim, keepdim)


def vecdot(x: Tensor, y: Tensor, *, dim: int = -1) -> Tensor:
    made: Tensor = (x * y).sum(dim)
    return made


def multi_dot(tensors: Sequence[Tensor]) -> Tensor:
    """The product of several matrices, of which the first and the last may be vectors, in the order that needs the fewest operations."""
    if len(tensors) < 2:
        raise ValueError("multi_dot: expected two tensors or more")
    first, last = tensors[0], tensors[-1]
    parts = [first.unsqueeze(0) if first.ndim == 1 else first, *tensors[1:-1], last.unsqueeze(1) if last.ndim == 1 else last]
    sizes = [parts[0].shape[0], *(part.shape[1] for part in parts)]
    best: dict[tuple[int, int], tuple[float, int]] = {(place, place): (0.0, place) for place in range(len(parts))}
    for length in range(1, len(parts)):
        for begin in range(len(parts) - length):
            end = begin + length
            best[begin, end] = min((best[begin, cut][0] + best[cut + 1, end][0] + math.prod((sizes[begin], sizes[cut + 1], sizes[end + 1])), cut)
                                   for cut in range(begin, end))

    def product(begin: int, end: int) -> Tensor:
        cut = best[begin, end][1]
        return parts[begin] if begin == end else product(begin, cut).matmul(product(cut + 1, end))

    made = product(0, len(parts) - 1)
    made = made.squeeze(0) if first.ndim == 1 else made
    return made.squeeze(-1) if last.ndim == 1 else made


def lstsq(A: Tensor, B: Tensor) -> Tensor:
    """The X of least norm that makes A @ X nearest to B."""
    return pinv(A).matmul(B)
