"""The extension linalg. Decompositions are computed on the host in f64; their results have the operand's dtype and device."""
from __future__ import annotations

import builtins
import functools
import importlib.util
import math
import pathlib
from typing import Literal, NamedTuple

from .. import _wick
from .._wick import Tensor
from ._creation import eye
from ._data_types import finfo, isdtype, result_type
from ._elementwise import abs as _abs
from ._elementwise import maximum as _maximum
from ._manipulation import _common_shape, matrix_transpose
from ._statistics import matmul, tensordot, vecdot
from ._statistics import sum as _sum
from ._types import Axis, DTypeLike, axes_of

__all__ = ["cholesky", "cross", "det", "diagonal", "eigh", "eigvalsh", "inv", "matmul", "matrix_norm", "matrix_power", "matrix_rank",
           "matrix_transpose", "outer", "pinv", "qr", "slogdet", "solve", "svd", "svdvals", "tensordot", "trace", "vecdot", "vector_norm"]


class EighResult(NamedTuple):
    eigenvalues: Tensor
    eigenvectors: Tensor


class QRResult(NamedTuple):
    Q: Tensor
    R: Tensor


class SlogdetResult(NamedTuple):
    sign: Tensor
    logabsdet: Tensor


class SVDResult(NamedTuple):
    U: Tensor
    S: Tensor
    Vh: Tensor


def _floats(function: str, *arrays: Tensor) -> None:
    for array in arrays:
        if not isdtype(array.dtype, "real floating"):
            raise TypeError(f"{function}: expected a floating-point dtype, got {array.dtype}")


def _on_host(x: Tensor) -> Tensor:
    return x.to("cpu").to(_wick.float64)


def _for_lapack(x: Tensor) -> Tensor:
    """f32 stays so."""
    lapack()
    return x.to("cpu") if x.dtype == _wick.float32 else _on_host(x)


def _as(made: Tensor, x: Tensor) -> Tensor:
    return made.to(x.dtype).to(x.device)


@functools.cache
def lapack() -> str | None:
    """The library that eigh and svd call: OpenBLAS, that of NumPy too, or another LAPACK; None where there is none: then Wick's own code
    decomposes, which takes 40 times as long at 200 × 200."""
    numpy = importlib.util.find_spec("numpy")
    folder = pathlib.Path(numpy.origin).parent.parent / "numpy.libs" if numpy and numpy.origin else None
    own = sorted(str(path) for path in folder.glob("libscipy_openblas*.so")) if folder else []
    return _wick._open_lapack(["libopenblas.so.0", *own, "liblapack.so.3"])


# --- Decompositions ---

def cholesky(x: Tensor, /, *, upper: builtins.bool = False) -> Tensor:
    """The lower triangle L with L Lᵀ = x, or the upper one. Raises ValueError where x is not positive definite."""
    _floats("cholesky", x)
    made = _as(_wick._cholesky(_on_host(x)), x)
    return made.mT if upper else made


def det(x: Tensor, /) -> Tensor:
    _floats("det", x)
    return _as(_wick._determinant(_on_host(x))[0], x)


def slogdet(x: Tensor, /) -> SlogdetResult:
    """The determinant's sign, and the natural logarithm of its size: -infinity for a singular matrix."""
    _floats("slogdet", x)
    _, sign, size = _wick._determinant(_on_host(x))
    return SlogdetResult(_as(sign, x), _as(size, x))


def eigh(x: Tensor, /) -> EighResult:
    """Of symmetric matrices, of which the lower triangle is read: eigenvalues from the least on, vectors as columns."""
    _floats("eigh", x)
    values, vectors = _wick._eigh(_for_lapack(x))
    return EighResult(_as(values, x), _as(vectors, x))


def eigvalsh(x: Tensor, /) -> Tensor:
    return eigh(x).eigenvalues


def inv(x: Tensor, /) -> Tensor:
    """Raises ValueError for a singular matrix."""
    _floats("inv", x)
    unit = eye(x.shape[-1], dtype=x.dtype, device=x.device)
    return solve(x, unit.broadcast_to(x.shape) if x.ndim > 2 else unit)


def solve(x1: Tensor, x2: Tensor, /) -> Tensor:
    """The b with x1 b = x2: of a vector, or of stacks of matrices. Raises ValueError for a singular matrix."""
    _floats("solve", x1, x2)
    right = x2.unsqueeze(-1) if x2.ndim == 1 else x2
    if x1.shape[-1] != right.shape[-2]:
        raise ValueError(f"solve: {x1.shape[-1]} unknowns, but {right.shape[-2]} rows on the right")
    stacks = _common_shape(x1.shape[:-2], right.shape[:-2])
    like = x1.to(result_type(x1, x2))
    made = _as(_wick._solve(_on_host(x1.broadcast_to(stacks + x1.shape[-2:])), _on_host(right.broadcast_to(stacks + right.shape[-2:]))), like)
    return made.squeeze(-1) if x2.ndim == 1 else made


def qr(x: Tensor, /, *, mode: Literal["reduced", "complete"] = "reduced") -> QRResult:
    _floats("qr", x)
    if mode not in ("reduced", "complete"):
        raise ValueError(f"qr: mode must be 'reduced' or 'complete', not {mode!r}")
    q, r = _wick._qr(_on_host(x), mode == "complete")
    return QRResult(_as(q, x), _as(r, x))


def svd(x: Tensor, /, *, full_matrices: builtins.bool = True) -> SVDResult:
    _floats("svd", x)
    u, s, vh = _wick._svd(_for_lapack(x), full_matrices)
    return SVDResult(_as(u, x), _as(s, x), _as(vh, x))


def svdvals(x: Tensor, /) -> Tensor:
    return svd(x, full_matrices=False).S


def _limit(s: Tensor, x: Tensor, rtol: builtins.float | Tensor | None) -> Tensor:
    """Singular values that count as 0 are at most this share of the largest one."""
    if rtol is None:
        rtol = builtins.max(x.shape[-2:]) * finfo(x.dtype).eps
    share = rtol.to(s.dtype) if isinstance(rtol, Tensor) else _wick.full((), rtol, dtype=s.dtype, device=s.device)
    return s[..., :1] * (share.unsqueeze(-1) if share.ndim else share)


def matrix_rank(x: Tensor, /, *, rtol: builtins.float | Tensor | None = None) -> Tensor:
    if x.ndim < 2:
        raise ValueError(f"matrix_rank: {x.ndim} dimensions, but a matrix has two")
    s = svdvals(x)
    return (s > _limit(s, x, rtol)).to("i64").sum(-1)


def pinv(x: Tensor, /, *, rtol: builtins.float | Tensor | None = None) -> Tensor:
    """The Moore-Penrose inverse: V S⁺ Uᵀ."""
    u, s, vh = svd(x, full_matrices=False)
    kept = s > _limit(s, x, rtol)
    one = _wick.ones((), dtype=s.dtype, device=s.device)
    inverse = kept.to(s.dtype) / kept.where(s, one)
    return vh.mT @ (inverse.unsqueeze(-1) * u.mT)


# --- Products and norms ---

def cross(x1: Tensor, x2: Tensor, /, *, axis: builtins.int = -1) -> Tensor:
    """Of vectors of three elements along an axis of both, counted from the end."""
    if not -builtins.min(x1.ndim, x2.ndim) <= axis < 0:
        raise ValueError(f"cross: axis must be in [-{builtins.min(x1.ndim, x2.ndim)}, -1], not {axis}")
    if x1.shape[axis] != 3 or x2.shape[axis] != 3:
        raise ValueError(f"cross: {x1.shape[axis]} and {x2.shape[axis]} elements along axis {axis}, not three")
    dtype = result_type(x1, x2)
    a, b = ([x.to(dtype).narrow(axis % x.ndim, place, 1) for place in range(3)] for x in (x1, x2))
    parts = [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
    return _wick.cat(parts, axis % parts[0].ndim)


def diagonal(x: Tensor, /, *, offset: builtins.int = 0) -> Tensor:
    """A copy of the elements [..., i, i + offset]."""
    rows, columns = x.shape[-2:]
    first, right = builtins.max(-offset, 0), builtins.max(offset, 0)
    count = builtins.max(builtins.min(rows - first, columns - right), 0)
    places = [(first + step) * columns + right + step for step in range(count)]
    flat = x.reshape((*x.shape[:-2], rows * columns))
    return flat.index_select(_wick.tensor(places, dtype="i64", device=x.device).reshape(count), x.ndim - 2)


def trace(x: Tensor, /, *, offset: builtins.int = 0, dtype: DTypeLike | None = None) -> Tensor:
    return _sum(diagonal(x, offset=offset), axis=-1, dtype=dtype)


def outer(x1: Tensor, x2: Tensor, /) -> Tensor:
    if x1.ndim != 1 or x2.ndim != 1:
        raise ValueError(f"outer: {x1.ndim} and {x2.ndim} dimensions, not one each")
    dtype = result_type(x1, x2)
    return x1.to(dtype).unsqueeze(1) * x2.to(dtype).unsqueeze(0)


def matrix_power(x: Tensor, n: builtins.int, /) -> Tensor:
    """x · x · …, n times; with n < 0 of the inverse."""
    _floats("matrix_power", x)
    if x.shape[-1] != x.shape[-2]:
        raise ValueError(f"matrix_power: a matrix of {x.shape[-2]} × {x.shape[-1]} is not square")
    made: Tensor | None = None
    square = inv(x) if n < 0 else x
    for bit in reversed(bin(builtins.abs(n))[2:]):
        if bit == "1":
            made = square if made is None else made @ square
        square = square @ square
    if made is None:
        made = eye(x.shape[-1], dtype=x.dtype, device=x.device).broadcast_to(x.shape).copy()
    return made


def vector_norm(x: Tensor, /, *, axis: Axis = None, keepdims: builtins.bool = False, ord: builtins.int | builtins.float = 2) -> Tensor:
    """(Σ |x|^ord)^(1 / ord) over the axes; their largest or least size for ±infinity, how many are not 0 for 0."""
    _floats("vector_norm", x)
    axes = axes_of(axis, x.ndim)
    size = _abs(x)
    if ord == math.inf:
        return size.amax(axes, keepdims)
    if ord == -math.inf:
        return size.amin(axes, keepdims)
    if ord == 0:
        return (x != 0).to(x.dtype).sum(axes, keepdims)
    if ord == 1:
        return size.sum(axes, keepdims)
    if ord == 2:
        # Of quotients, whose squares do not overflow.
        most = size.amax(axes, True) if size.size else size.sum(axes, True)
        divisor = _maximum(most, _wick.full((), finfo(x.dtype).smallest_normal, dtype=x.dtype, device=x.device))
        finite = (divisor < math.inf).where(divisor, _wick.ones((), dtype=x.dtype, device=x.device))
        root = (size / finite).sqr().sum(axes, True).sqrt() * finite
        return root if keepdims else root.reshape([extent for place, extent in enumerate(x.shape) if place not in axes])
    return size.pow(float(ord)).sum(axes, keepdims).pow(1.0 / ord)


def matrix_norm(x: Tensor, /, *, keepdims: builtins.bool = False, ord: builtins.int | builtins.float | Literal["fro", "nuc"] | None = "fro") -> Tensor:
    """Frobenius'; for ±1 and ±infinity the largest or least sum of a column or row; for ±2 and "nuc" of singular values."""
    _floats("matrix_norm", x)
    if ord == "fro" or ord is None:
        made = vector_norm(x, axis=(-2, -1), keepdims=True)
    elif ord in (1, -1, math.inf, -math.inf):
        sums = _abs(x).sum(-2 if ord in (1, -1) else -1, True)
        made = sums.amax((-2, -1), True) if ord > 0 else sums.amin((-2, -1), True)
    elif ord in (2, -2, "nuc"):
        s = svdvals(x)
        made = (s.sum(-1, True) if ord == "nuc" else s.amax(-1, True) if ord == 2 else s.amin(-1, True)).unsqueeze(-1)
    else:
        raise ValueError(f"matrix_norm: ord must be 'fro', 'nuc', ±1, ±2 or ±infinity, not {ord!r}")
    return made if keepdims else made.reshape(x.shape[:-2])
