"""Methods of Tensor that are made of others, by PyTorch's names and with its definitions. They are functions of the module too.

Every function here becomes a method: x.addmm(a, b) is addmm(x, a, b).
"""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from . import _wick
from ._wick import DType, Tensor

# Other names of methods.
ALIASES = {
    "absolute": "abs", "arccos": "acos", "arccosh": "acosh", "arcsin": "asin", "arcsinh": "asinh", "arctan": "atan", "arctan2": "atan2",
    "arctanh": "atanh", "argwhere": "nonzero", "divide": "div", "fix": "trunc", "greater": "gt", "greater_equal": "ge", "less": "lt",
    "less_equal": "le", "moveaxis": "movedim", "multiply": "mul", "ndimension": "dim", "negative": "neg", "not_equal": "ne",
    "reshape_as": "view_as", "sgn": "sign", "subtract": "sub", "swapaxes": "transpose", "swapdims": "transpose", "true_divide": "div",
    "vdot": "dot",
}
# Methods that have an in-place variant, made here: x.sin_() is x.copy_(x.sin()). The others have their own in the library.
IN_PLACE = """
acos acosh addcdiv addcmul addmm asin asinh atan atan2 atanh bitwise_and bitwise_not bitwise_or bitwise_xor ceil copysign cos cosh cumprod
cumsum deg2rad erf exp2 expm1 fix float_power floor fmod frac ge gt hypot index_fill le lerp log10 log1p log2 logical_and logical_not
logical_or logical_xor logit lt nan_to_num ne rad2deg reciprocal rsqrt sign sin sinc sinh square tan tril triu trunc xlogy
""".split()


def _paired(x: Tensor, other: Any) -> tuple[Tensor, Tensor]:
    y = other if isinstance(other, Tensor) else _wick.tensor(other, x.dtype, x.device)
    dtype = _wick.promote_types(x.dtype, y.dtype)
    return x.to(dtype=dtype), y.to(dtype=dtype)


def _joint(x: Tensor, other: Any) -> tuple[Tensor, Tensor]:
    """Both in one dtype and one shape."""
    a, b = _paired(x, other)
    shape = (a == b).shape
    return a.broadcast_to(shape), b.broadcast_to(shape)


def _is_float(x: Tensor) -> bool:
    return x.dtype.name.startswith(("f", "bf"))


def _as_float(x: Tensor) -> Tensor:
    return x if _is_float(x) else x.to(dtype="f32")


def _check_rank(function: str, x: Tensor, rank: int) -> None:
    if x.ndim != rank:
        raise ValueError(f"{function}: expected {rank} dimensions, got a tensor {x.shape}")


def _place(function: str, x: Tensor, dim: int) -> int:
    """A dimension counted from the front."""
    if not -x.ndim <= dim < x.ndim:
        raise IndexError(f"{function}: dimension {dim} is out of range for a tensor {x.shape}")
    return dim % x.ndim


# More parts than any program means.
_MOST_PARTS = 1 << 20

# --- Products ---


def mm(x: Tensor, mat2: Tensor) -> Tensor:
    """[n, k] and [k, m] give [n, m]."""
    _check_rank("mm", x, 2)
    _check_rank("mm", mat2, 2)
    return x.matmul(mat2)


def bmm(x: Tensor, mat2: Tensor) -> Tensor:
    """[b, n, k] and [b, k, m] give [b, n, m]."""
    _check_rank("bmm", x, 3)
    _check_rank("bmm", mat2, 3)
    return x.matmul(mat2)


def mv(x: Tensor, vec: Tensor) -> Tensor:
    """[n, k] and [k] give [n]."""
    _check_rank("mv", x, 2)
    _check_rank("mv", vec, 1)
    return x.matmul(vec.unsqueeze(1)).squeeze(1)


def dot(x: Tensor, tensor: Tensor) -> Tensor:
    """The sum of the products of two vectors."""
    _check_rank("dot", x, 1)
    _check_rank("dot", tensor, 1)
    if x.shape != tensor.shape:
        raise ValueError(f"dot: {x.shape} and {tensor.shape} differ")
    return (x * tensor).sum().to(dtype=x.dtype)


def inner(x: Tensor, other: Tensor) -> Tensor:
    """Sums of products over the last dimensions."""
    if x.ndim == 0 or other.ndim == 0:
        made: Tensor = x * other
        return made
    flat = x.reshape(-1, x.shape[-1]).matmul(other.reshape(-1, other.shape[-1]).transpose(0, 1))
    return flat.reshape(*x.shape[:-1], *other.shape[:-1])


def outer(x: Tensor, vec2: Tensor) -> Tensor:
    """[n] and [m] give [n, m]."""
    _check_rank("outer", x, 1)
    _check_rank("outer", vec2, 1)
    made: Tensor = x.unsqueeze(1) * vec2.unsqueeze(0)
    return made


def kron(x: Tensor, other: Tensor) -> Tensor:
    """Kronecker's product."""
    rank = max(x.ndim, other.ndim)
    first, second = (1,) * (rank - x.ndim) + x.shape, (1,) * (rank - other.ndim) + other.shape
    wide = x.reshape(tuple(part for extent in first for part in (extent, 1))) * other.reshape(tuple(part for extent in second for part in (1, extent)))
    made: Tensor = wide.reshape(tuple(a * b for a, b in zip(first, second)))
    return made


def tensordot(x: Tensor, other: Tensor, dims: int | tuple[Sequence[int], Sequence[int]] = 2) -> Tensor:
    """Sums of products over pairs of dimensions: over the last `dims` of x and the first of other, or over the two lists."""
    if isinstance(dims, int):
        left, right = list(range(x.ndim - dims, x.ndim)), list(range(dims))
    else:
        left = [_place("tensordot", x, dim) for dim in dims[0]]
        right = [_place("tensordot", other, dim) for dim in dims[1]]
    if len(left) != len(right) or any(x.shape[a] != other.shape[b] for a, b in zip(left, right)):
        raise ValueError(f"tensordot: dimensions {left} of {x.shape} and {right} of {other.shape} do not agree")
    kept_left, kept_right = [dim for dim in range(x.ndim) if dim not in left], [dim for dim in range(other.ndim) if dim not in right]
    size = math.prod(x.shape[dim] for dim in left)
    a = x.permute(*kept_left, *left).reshape(math.prod(x.shape[dim] for dim in kept_left), size)
    b = other.permute(*right, *kept_right).reshape(size, math.prod(other.shape[dim] for dim in kept_right))
    return a.matmul(b).reshape(tuple(x.shape[dim] for dim in kept_left) + tuple(other.shape[dim] for dim in kept_right))


def addmm(x: Tensor, mat1: Tensor, mat2: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """beta · x + alpha · mat1 @ mat2."""
    product: Tensor = mm(mat1, mat2)
    return _weighted_sum(x, product, beta, alpha)


def addmv(x: Tensor, mat: Tensor, vec: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    return _weighted_sum(x, mv(mat, vec), beta, alpha)


def addr(x: Tensor, vec1: Tensor, vec2: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    return _weighted_sum(x, outer(vec1, vec2), beta, alpha)


def baddbmm(x: Tensor, batch1: Tensor, batch2: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    return _weighted_sum(x, bmm(batch1, batch2), beta, alpha)


def addbmm(x: Tensor, batch1: Tensor, batch2: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    return _weighted_sum(x, bmm(batch1, batch2).sum(0), beta, alpha)


def _weighted_sum(x: Tensor, product: Tensor, beta: float, alpha: float) -> Tensor:
    if beta == 0:  # then x may hold anything
        made: Tensor = product * alpha
        return made
    made = (x if beta == 1 else x * beta) + (product if alpha == 1 else product * alpha)
    return made


def addcmul(x: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: float = 1) -> Tensor:
    made: Tensor = x + (tensor1 * tensor2 if value == 1 else tensor1 * tensor2 * value)
    return made


def addcdiv(x: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: float = 1) -> Tensor:
    if not isinstance(tensor1, Tensor) or not isinstance(tensor2, Tensor):
        raise TypeError(f"addcdiv: expected tensors, got {type(tensor1).__name__} and {type(tensor2).__name__}")
    made: Tensor = x + (tensor1 / tensor2 if value == 1 else tensor1 / tensor2 * value)
    return made


def cross(x: Tensor, other: Tensor, dim: int = -1) -> Tensor:
    from .array_api import linalg

    return linalg.cross(x, other, axis=dim - x.ndim if dim >= 0 else dim)


def trace(x: Tensor) -> Tensor:
    _check_rank("trace", x, 2)
    return x.diagonal().sum()


def matrix_power(x: Tensor, n: int) -> Tensor:
    from .array_api import linalg

    return linalg.matrix_power(x, n)


def det(x: Tensor) -> Tensor:
    from .array_api import linalg

    return linalg.det(x)


def slogdet(x: Tensor) -> tuple[Tensor, Tensor]:
    """The determinant's sign and the logarithm of its size."""
    from .array_api import linalg

    return linalg.slogdet(x)


def logdet(x: Tensor) -> Tensor:
    sign, size = slogdet(x)
    return (sign < 0).where(_wick.full(size.shape, math.nan, size.dtype, size.device), size)


def inverse(x: Tensor) -> Tensor:
    from .array_api import linalg

    return linalg.inv(x)


def pinverse(x: Tensor) -> Tensor:
    from .array_api import linalg

    return linalg.pinv(x)


# --- Elements ---


def lerp(x: Tensor, end: Tensor, weight: Tensor | float) -> Tensor:
    """x + weight · (end - x)."""
    made: Tensor = x + (end - x) * weight
    return made


def frac(x: Tensor) -> Tensor:
    made: Tensor = x - x.trunc()
    return made


def deg2rad(x: Tensor) -> Tensor:
    made: Tensor = _as_float(x) * (math.pi / 180)
    return made


def rad2deg(x: Tensor) -> Tensor:
    made: Tensor = _as_float(x) * (180 / math.pi)
    return made


def logit(x: Tensor, eps: float | None = None) -> Tensor:
    """log(x / (1 - x)); with eps, x is clamped to [eps, 1 - eps] first."""
    x = _as_float(x) if eps is None else _as_float(x).clamp(eps, 1 - eps)
    made: Tensor = x.log() - (-x).log1p()
    return made


def sinc(x: Tensor) -> Tensor:
    """sin(πx) / (πx), and 1 at 0."""
    angle = _as_float(x) * math.pi
    is_zero = angle == 0
    safe = is_zero.where(_wick.ones_like(angle), angle)
    return is_zero.where(_wick.ones_like(angle), safe.sin() / safe)


def xlogy(x: Tensor, other: Tensor | float) -> Tensor:
    """x · log(other), 0 where x is 0 and other is no NaN."""
    a, b = _joint(_as_float(x), other)
    is_zero = (a == 0).logical_and(b.isnan().logical_not())
    made: Tensor = a * is_zero.where(_wick.ones_like(b), b).log()
    return made


def hypot(x: Tensor, other: Tensor) -> Tensor:
    """√(x² + other²), without overflow between."""
    a, b = _paired(_as_float(x), other)
    large, small = a.abs().maximum(b.abs()), a.abs().minimum(b.abs())
    ratio = (large == 0).logical_or(large.isinf()).where(_wick.zeros_like(large), small / large)
    return a.isinf().logical_or(b.isinf()).where(_wick.full(large.shape, math.inf, large.dtype, large.device), large * (ratio * ratio + 1).sqrt())


def signbit(x: Tensor) -> Tensor:
    """Whether the sign bit is set: of -0.0, too."""
    return ((1 / x) < 0).logical_or(x < 0) if _is_float(x) else x < 0


def copysign(x: Tensor, other: Tensor | float) -> Tensor:
    a, b = _joint(_as_float(x), other)
    size = a.abs()
    return signbit(b).where(-size, size)


def heaviside(x: Tensor, values: Tensor) -> Tensor:
    """0 below 0, 1 above, values at 0."""
    a, b = _paired(x, values)
    step: Tensor = (a > 0).to(dtype=a.dtype)
    made: Tensor = (a == 0).to(dtype=a.dtype) * b + step
    return made


def logaddexp(x: Tensor, other: Tensor) -> Tensor:
    """log(exp(x) + exp(other)), without overflow between."""
    a, b = _paired(x, other)
    top = a.maximum(b)
    gap = (a - b).abs()
    made: Tensor = top + (-gap.isnan().where(_wick.zeros_like(gap), gap)).exp().log1p()
    return top.isinf().where(top, made)


def logaddexp2(x: Tensor, other: Tensor) -> Tensor:
    made: Tensor = logaddexp(x * math.log(2), other * math.log(2)) * (1 / math.log(2))
    return made


def float_power(x: Tensor, exponent: Tensor | float) -> Tensor:
    """In f64."""
    made: Tensor = x.to(dtype="f64") ** (exponent.to(dtype="f64") if isinstance(exponent, Tensor) else exponent)
    return made


def fmax(x: Tensor, other: Tensor) -> Tensor:
    """The larger; where one is NaN, the other."""
    a, b = _joint(x, other)
    top = a.maximum(b)
    return a.isnan().where(b, b.isnan().where(a, top))


def fmin(x: Tensor, other: Tensor) -> Tensor:
    """The smaller; where one is NaN, the other."""
    a, b = _joint(x, other)
    low = a.minimum(b)
    return a.isnan().where(b, b.isnan().where(a, low))


def positive(x: Tensor) -> Tensor:
    return x


def bitwise_and(x: Tensor, other: Tensor | int) -> Tensor:
    made: Tensor = x & other
    return made


def bitwise_or(x: Tensor, other: Tensor | int) -> Tensor:
    made: Tensor = x | other
    return made


def bitwise_xor(x: Tensor, other: Tensor | int) -> Tensor:
    made: Tensor = x ^ other
    return made


def bitwise_not(x: Tensor) -> Tensor:
    made: Tensor = ~x
    return made


def bitwise_left_shift(x: Tensor, other: Tensor | int) -> Tensor:
    made: Tensor = x << other
    return made


def bitwise_right_shift(x: Tensor, other: Tensor | int) -> Tensor:
    made: Tensor = x >> other
    return made


def isneginf(x: Tensor) -> Tensor:
    return x.isinf().logical_and(x < 0)


def isposinf(x: Tensor) -> Tensor:
    return x.isinf().logical_and(x > 0)


def isclose(x: Tensor, other: Tensor, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Tensor:
    """|x - other| ≤ atol + rtol · |other|; equal infinities are close."""
    near = (x == other).logical_or(((x - other).abs() <= other.abs() * rtol + atol).logical_and(other.isfinite()))
    return near.logical_or(x.isnan().logical_and(other.isnan())) if equal_nan else near


def allclose(x: Tensor, other: Tensor, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> bool:
    return bool(isclose(x, other, rtol, atol, equal_nan).all())


def equal(x: Tensor, other: Tensor) -> bool:
    """Whether shape and every element are the same."""
    return x.shape == other.shape and bool((x == other).all())


def isin(x: Tensor, test_elements: Tensor | Sequence[float], *, invert: bool = False) -> Tensor:
    """Whether each element is one of those; compares with each of them."""
    given = test_elements if isinstance(test_elements, Tensor) else _wick.tensor(test_elements, x.dtype, x.device)
    found = (x.unsqueeze(-1) == given.flatten()).any(-1)
    return found.logical_not() if invert else found


# --- Reductions and order ---


def count_nonzero(x: Tensor, dim: int | None = None) -> Tensor:
    made: Tensor = (x != 0).sum() if dim is None else (x != 0).sum(dim)
    return made


def aminmax(x: Tensor, *, dim: int | None = None, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    return (x.amin(), x.amax()) if dim is None else (x.amin(dim, keepdim), x.amax(dim, keepdim))


def nansum(x: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    """Sums in which a NaN counts as 0."""
    kept = x.isnan().where(_wick.zeros_like(x), x) if _is_float(x) else x
    return kept.sum() if dim is None else kept.sum(dim, keepdim)


def nanmean(x: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    present = x.isnan().logical_not()
    count: Tensor = present.sum() if dim is None else present.sum(dim, keepdim)
    made: Tensor = nansum(x, dim, keepdim) / count.to(dtype=x.dtype)
    return made


def quantile(x: Tensor, q: Tensor | float, dim: int | None = None, keepdim: bool = False) -> Tensor:
    """The value that a share q of the elements does not exceed, between two of them by linear interpolation; NaN where one is NaN."""
    rows = x.flatten() if dim is None else x
    axis = 0 if dim is None else dim
    ordered = rows.sort(axis)[0].transpose(axis, -1)
    shares = [float(share) for share in (q.flatten().tolist() if isinstance(q, Tensor) else [q])]
    if any(not 0 <= share <= 1 for share in shares):
        raise ValueError(f"quantile: q must be from 0 to 1, got {q}")
    size = ordered.shape[-1]
    if size == 0:
        raise ValueError(f"quantile: no elements along dimension {axis} of {x.shape}")
    has_nan = ordered.isnan().any(-1)
    parts = []
    for share in shares:
        place = share * (size - 1)
        low = int(place)
        first, second = ordered.narrow(-1, low, 1).squeeze(-1), ordered.narrow(-1, min(low + 1, size - 1), 1).squeeze(-1)
        made: Tensor = first + (second - first) * (place - low) if place > low else first
        made = has_nan.where(_wick.full(made.shape, math.nan, made.dtype, made.device), made)
        # The transposed dimension takes its place again.
        if dim is None:
            made = made.reshape((1,) * x.ndim) if keepdim else made
        else:
            made = made.unsqueeze(-1).transpose(axis, -1)
            made = made if keepdim else made.squeeze(axis)
        parts.append(made)
    return _wick.stack(parts) if isinstance(q, Tensor) and q.ndim else parts[0]


def kthvalue(x: Tensor, k: int, dim: int = -1, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    """The k-th smallest value, counted from 1, and its place."""
    if x.ndim and not 1 <= k <= x.shape[dim]:
        raise ValueError(f"kthvalue: k must be from 1 to {x.shape[dim]}, got {k}")
    values, places = x.sort(dim)
    value, place = values.narrow(dim, k - 1, 1), places.narrow(dim, k - 1, 1)
    return (value, place) if keepdim else (value.squeeze(dim), place.squeeze(dim))


def msort(x: Tensor) -> Tensor:
    return x.sort(0)[0]


def std_mean(x: Tensor, dim: int | None = None, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    return (x.std(), x.mean()) if dim is None else (x.std(dim, keepdim=keepdim), x.mean(dim, keepdim))


def var_mean(x: Tensor, dim: int | None = None, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    return (x.var(), x.mean()) if dim is None else (x.var(dim, keepdim=keepdim), x.mean(dim, keepdim))


def logcumsumexp(x: Tensor, dim: int) -> Tensor:
    """log of the running sums of exp(x)."""
    top = x.amax(dim, True).detach()
    made: Tensor = (x - top).exp().cumsum(dim).log() + top
    return made


def diff(x: Tensor, n: int = 1, dim: int = -1) -> Tensor:
    """Differences of neighbours, n times."""
    for _ in range(n):
        size = x.shape[dim]
        x = x.narrow(dim, 1, size - 1) - x.narrow(dim, 0, size - 1)
    return x


def trapezoid(x: Tensor, dx: float = 1, dim: int = -1) -> Tensor:
    """The integral along a dimension, by the trapezoidal rule."""
    size = x.shape[dim]
    made: Tensor = (x.narrow(dim, 1, size - 1) + x.narrow(dim, 0, size - 1)).sum(dim) * (dx / 2)
    return made


def bincount(x: Tensor, weights: Tensor | None = None, minlength: int = 0) -> Tensor:
    """How often each number occurs: [max + 1], i64; with weights, their sums."""
    _check_rank("bincount", x, 1)
    if x.numel() and int(x.min()) < 0:
        raise ValueError(f"bincount: numbers must be 0 or more, got {int(x.min())}")
    size = max(minlength, int(x.max()) + 1 if x.numel() else 0)
    ones = _wick.ones(x.shape, "i64", x.device) if weights is None else weights
    made = _wick.zeros((size,), ones.dtype, x.device)
    return made.scatter_add(x.to(dtype="i64"), ones, 0) if x.numel() else made


def cov(x: Tensor, *, correction: int = 1) -> Tensor:
    """The covariances of variables in rows."""
    rows = x if x.ndim == 2 else x.reshape(1, -1)
    centered = rows - rows.mean(1, True)
    made: Tensor = centered.matmul(centered.transpose(0, 1)) / (rows.shape[1] - correction)
    return made if x.ndim == 2 else made.reshape(())


def corrcoef(x: Tensor) -> Tensor:
    if x.ndim < 2:
        return _wick.ones((), x.dtype, x.device)
    covariances = cov(x)
    spread = covariances.diagonal().sqrt()
    made: Tensor = covariances / spread.unsqueeze(0) / spread.unsqueeze(1)
    return made


def dist(x: Tensor, other: Tensor, p: float = 2) -> Tensor:
    return (x - other).flatten().norm(p)


def cdist(x: Tensor, x2: Tensor, p: float = 2) -> Tensor:
    """Distances of rows [..., n, d] and [..., m, d]: [..., n, m]."""
    return (x.unsqueeze(-2) - x2.unsqueeze(-3)).norm(p, -1)


# --- Shapes ---


def ravel(x: Tensor) -> Tensor:
    return x.reshape(-1)


def view_as(x: Tensor, other: Tensor) -> Tensor:
    return x.reshape(other.shape)


def expand_as(x: Tensor, other: Tensor) -> Tensor:
    return x.broadcast_to(other.shape)


def adjoint(x: Tensor) -> Tensor:
    return x.transpose(-2, -1)


def movedim(x: Tensor, source: int | Sequence[int], destination: int | Sequence[int]) -> Tensor:
    sources = [source] if isinstance(source, int) else list(source)
    places = [destination] if isinstance(destination, int) else list(destination)
    if len(sources) != len(places) or any(not -x.ndim <= dim < x.ndim for dim in sources + places):
        raise ValueError(f"movedim: cannot move dimensions {sources} of {x.shape} to {places}")
    sources, places = [dim % x.ndim for dim in sources], [dim % x.ndim for dim in places]
    order = [dim for dim in range(x.ndim) if dim not in sources]
    for place, dim in sorted(zip(places, sources)):
        order.insert(place, dim)
    return x.permute(*order)


def unflatten(x: Tensor, dim: int, sizes: Sequence[int]) -> Tensor:
    """One dimension becomes several."""
    place = _place("unflatten", x, dim)
    known = math.prod(size for size in sizes if size != -1)
    extents = tuple(x.shape[place] // known if size == -1 and known else size for size in sizes)
    if math.prod(extents) != x.shape[place]:
        raise ValueError(f"unflatten: {tuple(sizes)} does not fit {x.shape[place]} elements, dimension {dim} of {x.shape}")
    return x.reshape(*x.shape[:place], *extents, *x.shape[place + 1:])


def tile(x: Tensor, *dims: Any) -> Tensor:
    repeats = tuple(dims[0]) if len(dims) == 1 and isinstance(dims[0], Sequence) else dims
    return x.repeat((1,) * (x.ndim - len(repeats)) + tuple(repeats))


def fliplr(x: Tensor) -> Tensor:
    return x.flip(1)


def flipud(x: Tensor) -> Tensor:
    return x.flip(0)


def rot90(x: Tensor, k: int = 1, dims: Sequence[int] = (0, 1)) -> Tensor:
    """Turned by 90° k times, from the first of two dimensions toward the second."""
    a, b = dims
    turns = k % 4
    if turns == 1:
        return x.flip(b).transpose(a, b)
    if turns == 2:
        return x.flip(a).flip(b)
    return x.flip(a).transpose(a, b) if turns == 3 else x.clone()


def select(x: Tensor, dim: int, index: int) -> Tensor:
    """The slice at one index; the dimension goes."""
    size = x.shape[dim]
    if not -size <= index < size:
        raise IndexError(f"select: index {index} is out of range for dimension {dim} of {x.shape}")
    return x.narrow(dim, index % size, 1).squeeze(dim)


def diag_embed(x: Tensor, offset: int = 0) -> Tensor:
    """Matrices with the last dimension's elements on a diagonal."""
    size = x.shape[-1] + abs(offset)
    row = _wick.arange(size, dtype="i64", device=x.device)
    is_diagonal = (row.unsqueeze(0) - row.unsqueeze(1)) == offset
    # An element's column if the diagonal is above the main one, else its row, is its place behind the padding.
    padded = x.pad_with_zeros(x.ndim - 1, abs(offset), 0) if offset else x
    wide = (padded.unsqueeze(-2) if offset >= 0 else padded.unsqueeze(-1)).broadcast_to((*x.shape[:-1], size, size))
    return is_diagonal.broadcast_to(wide.shape).where(wide, _wick.zeros_like(wide))


def diagflat(x: Tensor, offset: int = 0) -> Tensor:
    return diag_embed(x.flatten(), offset)


def tensor_split(x: Tensor, indices_or_sections: int | Sequence[int], dim: int = 0) -> tuple[Tensor, ...]:
    """Parts of nearly equal size, or the parts between the given places."""
    size = x.shape[dim]
    if isinstance(indices_or_sections, int):
        count = indices_or_sections
        if not 1 <= count <= _MOST_PARTS:
            raise ValueError(f"tensor_split: the number of sections must be from 1 to {_MOST_PARTS}, got {count}")
        ends = [size // count * part + min(part, size % count) for part in range(count + 1)]
    else:
        inside = [min(max(place + size if place < 0 else place, 0), size) for place in indices_or_sections]
        ends = [0, *inside, size]
    return tuple(x.narrow(dim, first, max(last - first, 0)) for first, last in zip(ends, ends[1:]))


def hsplit(x: Tensor, indices_or_sections: int | Sequence[int]) -> tuple[Tensor, ...]:
    return tensor_split(x, indices_or_sections, 0 if x.ndim == 1 else 1)


def vsplit(x: Tensor, indices_or_sections: int | Sequence[int]) -> tuple[Tensor, ...]:
    return tensor_split(x, indices_or_sections, 0)


def dsplit(x: Tensor, indices_or_sections: int | Sequence[int]) -> tuple[Tensor, ...]:
    return tensor_split(x, indices_or_sections, 2)


def take(x: Tensor, index: Tensor) -> Tensor:
    """Elements of the flat tensor."""
    return x.flatten().index_select(index.flatten(), 0).reshape(index.shape)


def take_along_dim(x: Tensor, indices: Tensor, dim: int | None = None) -> Tensor:
    return take(x, indices.flatten()) if dim is None else x.gather(indices, dim)


def index_fill(x: Tensor, dim: int, index: Tensor, value: float) -> Tensor:
    """The slices at these places filled."""
    place = _place("index_fill", x, dim)
    size = x.shape[place]
    if size == 0:
        return x.clone()
    hit = (_wick.arange(size, dtype="i64", device=x.device).unsqueeze(1) == (index.to(dtype="i64") + size) % size).any(1)
    return x.masked_fill(hit.reshape(size, *(1,) * (x.ndim - 1 - place)).broadcast_to(x.shape), value)


def pixel_shuffle(x: Tensor, upscale_factor: int) -> Tensor:
    """[..., c · r², h, w] becomes [..., c, h · r, w · r]."""
    r = upscale_factor
    *front, channels, height, width = x.shape
    if channels % (r * r):
        raise ValueError(f"pixel_shuffle: {channels} channels are no multiple of {r}²")
    rank = len(front)
    wide = x.reshape(*front, channels // (r * r), r, r, height, width)
    return wide.permute(*range(rank), rank, rank + 3, rank + 1, rank + 4, rank + 2).reshape(*front, channels // (r * r), height * r, width * r)


def pixel_unshuffle(x: Tensor, downscale_factor: int) -> Tensor:
    """[..., c, h · r, w · r] becomes [..., c · r², h, w]."""
    r = downscale_factor
    *front, channels, height, width = x.shape
    if height % r or width % r:
        raise ValueError(f"pixel_unshuffle: {height} × {width} is no multiple of {r}")
    rank = len(front)
    wide = x.reshape(*front, channels, height // r, r, width // r, r)
    return wide.permute(*range(rank), rank, rank + 2, rank + 4, rank + 1, rank + 3).reshape(*front, channels * r * r, height // r, width // r)


def channel_shuffle(x: Tensor, groups: int) -> Tensor:
    """Channels of all groups in turns."""
    batch, channels, *rest = x.shape
    if channels % groups:
        raise ValueError(f"channel_shuffle: {channels} channels are no multiple of {groups} groups")
    return x.reshape(batch, groups, channels // groups, *rest).transpose(1, 2).reshape(x.shape)


# --- What a tensor is, and others like it ---


def is_floating_point(x: Tensor) -> bool:
    return _is_float(x)


def element_size(x: Tensor) -> int:
    """Bytes of an element."""
    return x.nbytes // x.numel() if x.numel() else _wick.zeros((1,), x.dtype).nbytes


def new_zeros(x: Tensor, *size: Any, dtype: DType | str | None = None) -> Tensor:
    return _wick.zeros(_shape_of(size), x.dtype if dtype is None else dtype, x.device)


def new_ones(x: Tensor, *size: Any, dtype: DType | str | None = None) -> Tensor:
    return _wick.ones(_shape_of(size), x.dtype if dtype is None else dtype, x.device)


def new_empty(x: Tensor, *size: Any, dtype: DType | str | None = None) -> Tensor:
    return _wick.empty(_shape_of(size), x.dtype if dtype is None else dtype, x.device)


def new_full(x: Tensor, size: Sequence[int], fill_value: float, dtype: DType | str | None = None) -> Tensor:
    return _wick.full(tuple(size), fill_value, x.dtype if dtype is None else dtype, x.device)


def new_tensor(x: Tensor, data: Any, dtype: DType | str | None = None) -> Tensor:
    return _wick.tensor(data, x.dtype if dtype is None else dtype, x.device)


def _shape_of(size: tuple[Any, ...]) -> tuple[int, ...]:
    return tuple(size[0]) if len(size) == 1 and isinstance(size[0], Sequence) else size


def _in_place(name: str) -> Callable[..., Tensor]:
    def method(self: Tensor, *arguments: Any, **options: Any) -> Tensor:
        try:
            return self.copy_(getattr(self, name)(*arguments, **options))
        except (TypeError, ValueError) as error:
            if str(error).startswith("copy_: "):
                raise type(error)(f"{name}_: {str(error)[7:]}") from None
            raise

    method.__name__, method.__doc__ = name + "_", f"{name}, and the result takes the place of the elements."
    return method


def _of_either_order(name: str) -> Callable[..., Tensor]:
    """The method with the arguments of PyTorch, x.gather(1, ids), beside candle's, x.gather(ids, 1)."""
    original = getattr(Tensor, name)

    def method(self: Tensor, *arguments: Any, **options: Any) -> Tensor:
        for theirs, ours in (("index", "ids"), ("src", "source"), ("value", "source")):
            if theirs in options:
                options[ours] = options.pop(theirs)
        if arguments and isinstance(arguments[0], int):
            arguments = (*arguments[1:], *(() if "dim" in options else arguments[:1]))
            if "ids" in options or "source" in options:
                options["dim"] = arguments[-1]
                arguments = arguments[:-1]
        ids = options["ids"] if "ids" in options else arguments[0] if arguments else None
        source = options.get("source", arguments[1] if len(arguments) > 1 else None)
        if name == "scatter" and isinstance(source, (int, float)) and isinstance(ids, Tensor) and len(arguments) + len(options) == 3:
            filled = _wick.full(ids.shape, source, self.dtype, self.device)
            if "source" in options:
                options["source"] = filled
            else:
                arguments = (arguments[0], filled, *arguments[2:])
        made: Tensor = original(self, *arguments, **options)
        return made

    method.__name__, method.__doc__ = name, original.__doc__
    return method


# Functions that are not methods in PyTorch either.
FUNCTIONS_ALONE = frozenset(("bilinear", "cdist", "channel_shuffle", "pixel_shuffle", "pixel_unshuffle", "std_mean", "tensordot", "trapezoid", "var_mean"))


def methods() -> dict[str, Callable[..., Any]]:
    """Every public function of this file by its name."""
    return {name: value for name, value in globals().items()
            if callable(value) and not name.startswith("_") and getattr(value, "__module__", "") == __name__ and name not in ("attach", "methods")}


# Methods that are attached to Tensor, and those whose place they took.
attached: dict[str, Callable[..., Any]] = {}
replaced: dict[str, Callable[..., Any]] = {}


def attach() -> None:
    """Makes methods of the functions, their other names and their in-place variants."""
    for name in ("gather", "index_add", "index_select", "scatter", "scatter_add"):
        replaced[name] = getattr(Tensor, name)
        attached[name] = _of_either_order(name)
    attached.update({name: function for name, function in methods().items() if name not in FUNCTIONS_ALONE})
    attached.update({alias: attached.get(name) or getattr(Tensor, name) for alias, name in ALIASES.items()})
    attached.update({name + "_": _in_place(name) for name in IN_PLACE})
    for name, function in attached.items():
        setattr(Tensor, name, function)
