"""Functions of the module: the tensor's methods as functions, and random numbers and samples."""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from . import _wick, composed
from ._wick import Device, DType, Tensor

# Tensor's methods that are functions of the module too: wick.exp(x) is x.exp().
METHODS = """
abs acos acosh add all amax amin any argmax argmin argsort asin asinh atan atan2 atanh avg_pool2d broadcast_to ceil chunk clamp clip clone conv1d conv2d
conv_transpose2d cos cosh cumprod cumsum diag diagonal div eq erf exp exp2 expm1 flatten flip floor floor_divide fmod gather ge gt index_add
index_select isfinite isinf isnan le log log10 log1p log2 log_softmax logical_and logical_not logical_or logical_xor logsumexp lt masked_fill
masked_select matmul max max_pool2d maximum mean median min minimum mul nan_to_num narrow ne neg nonzero norm numel permute pow prod reciprocal relu
remainder repeat_interleave reshape roll round rsqrt scatter scatter_add sigmoid sign sin sinh softmax sort split sqrt square squeeze std sub
sum t tan tanh topk transpose tril triu trunc unbind unique unsqueeze var
""".split()


# Other names of functions.
ALIASES = {"concat": "cat", "concatenate": "cat", "row_stack": "vstack", "trapz": "trapezoid"}


def names() -> list[str]:
    """The functions of the module that are made here, or by find."""
    own = [name for name, value in globals().items() if callable(value) and getattr(value, "__module__", "") == __name__ and name[0] != "_"]
    return sorted({*own, *METHODS, *ALIASES, *composed.ALIASES, *composed.methods()} - {"find", "function_of", "names"})


def find(name: str) -> Any:
    name = ALIASES.get(name, name)
    if name in composed.ALIASES or name in METHODS:
        return function_of(name)
    if name in composed.methods():
        return composed.methods()[name]
    return globals()[name] if name in globals() else getattr(_wick, name)


def function_of(name: str) -> Callable[..., Any]:
    """The method as a function, whose first argument may be an array or a list."""

    def function(x: Any, *arguments: Any, **options: Any) -> Any:
        return getattr(x if isinstance(x, Tensor) else _wick.asarray(x), name)(*arguments, **options)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Tensor.{name} as a function."
    return function


def _shape(shape: tuple[Any, ...]) -> tuple[int, ...]:
    return tuple(shape[0]) if len(shape) == 1 and isinstance(shape[0], Sequence) else shape


def randint(low: int, high: int | Sequence[int] | None = None, *shape: int | Sequence[int], size: Sequence[int] | None = None,
            dtype: DType | str | None = None, device: Device | str | None = None) -> Tensor:
    """Whole numbers from low to high - 1, uniform: randint(low, high, shape), or randint(high, shape). i64 by default."""
    if size is not None:
        shape = (tuple(size),)
    if high is None:
        low, high = 0, low
    elif isinstance(high, Sequence):
        shape = (tuple(high),)
        low, high = 0, low
    extents = _shape(shape)
    if high <= low:
        raise ValueError(f"randint: there is no number from {low} to {high - 1}")
    if high - low > 2**53:
        raise ValueError(f"randint: {high} - {low} is more than 2**53")
    places = _wick.rand(extents, "f64", device, low=0.0, high=float(high - low)).floor().clamp(max=float(high - low - 1))
    return (places.to("i64") + low).to("i64" if dtype is None else dtype)


def randperm(n: int, dtype: DType | str | None = None, device: Device | str | None = None) -> Tensor:
    """The numbers from 0 to n - 1 in a random order. i64 by default."""
    return _wick.rand((n,), "f64", device).argsort().to("i64" if dtype is None else dtype)


def rand_like(x: Tensor) -> Tensor:
    return _wick.rand(x.shape, x.dtype, x.device)


def randn_like(x: Tensor) -> Tensor:
    return _wick.randn(x.shape, x.dtype, x.device)


def bernoulli(p: Tensor) -> Tensor:
    """1 with probability p, else 0, in p's dtype."""
    if p.size and not (0 <= float(p.min()) and float(p.max()) <= 1):
        raise ValueError("bernoulli: probabilities must be in [0, 1]")
    return (_wick.rand(p.shape, "f64", p.device) < p.to("f64")).to(p.dtype)


def multinomial(weights: Tensor, num_samples: int, replacement: bool = False) -> Tensor:
    """Places [..., num_samples] i64 drawn by weights [..., n], which need not add up to 1.

    Without replacement: the largest of log weight + Gumbel noise (Kool et al. 2019).
    """
    if weights.ndim not in (1, 2):
        raise ValueError(f"multinomial: weights have one or two dimensions, not {weights.shape}")
    exact = weights.detach().to("f64")
    least = int((exact > 0).sum(-1).min())
    if float(exact.min()) < 0 or least == 0 or not bool(exact.isfinite().all()):
        raise ValueError("multinomial: weights must be finite and 0 or more, and one of a row more than 0")
    if not replacement and num_samples > least:
        raise ValueError(f"multinomial: {num_samples} samples without replacement from {least} places")
    log_weights = (exact > 0).where(exact, exact * 0 + 1).log().masked_fill(exact <= 0, -math.inf)
    if not replacement:
        noise = -(-_wick.rand(weights.shape, "f64", weights.device).clamp(min=1e-300).log()).log()
        return (log_weights + noise).topk(num_samples, -1)[1]
    noise = -(-_wick.rand((num_samples, *weights.shape), "f64", weights.device).clamp(min=1e-300).log()).log()
    drawn = (log_weights + noise).argmax(-1)
    return drawn.transpose(0, 1).contiguous() if drawn.ndim == 2 else drawn


# --- Functions of several tensors, and tensors from numbers ---


def full_like(x: Tensor, fill_value: float, dtype: DType | str | None = None) -> Tensor:
    return _wick.full(x.shape, fill_value, x.dtype if dtype is None else dtype, x.device)


def randint_like(x: Tensor, low: int, high: int | None = None) -> Tensor:
    return randint(low, high, size=x.shape, dtype=x.dtype, device=x.device)


def as_tensor(data: Any, dtype: DType | str | None = None, device: Device | str | None = None) -> Tensor:
    made = _wick.asarray(data)
    return made if dtype is None and device is None else made.to(dtype=dtype, device=device)


def is_tensor(value: Any) -> bool:
    return isinstance(value, Tensor)


def atleast_1d(x: Tensor) -> Tensor:
    return x.reshape(1) if x.ndim == 0 else x


def atleast_2d(x: Tensor) -> Tensor:
    return x.reshape(1, -1) if x.ndim < 2 else x


def atleast_3d(x: Tensor) -> Tensor:
    return atleast_2d(x).unsqueeze(-1) if x.ndim < 3 else x


def hstack(tensors: Sequence[Tensor]) -> Tensor:
    """Joined along the second dimension, vectors along their own."""
    parts = [atleast_1d(x) for x in tensors]
    return _wick.cat(parts, 0 if parts[0].ndim == 1 else 1)


def vstack(tensors: Sequence[Tensor]) -> Tensor:
    """Joined along the first dimension; vectors are rows."""
    return _wick.cat([atleast_2d(x) for x in tensors], 0)


def dstack(tensors: Sequence[Tensor]) -> Tensor:
    """Joined along the third dimension."""
    return _wick.cat([atleast_3d(x) for x in tensors], 2)


def column_stack(tensors: Sequence[Tensor]) -> Tensor:
    """Joined along the second dimension; vectors are columns."""
    return _wick.cat([x.reshape(-1, 1) if x.ndim < 2 else x for x in tensors], 1)


def block_diag(*tensors: Tensor) -> Tensor:
    """The matrices along a diagonal, zeros elsewhere."""
    parts = [atleast_2d(x) for x in tensors]
    width, before, rows = sum(x.shape[1] for x in parts), 0, []
    for x in parts:
        rows.append(x.pad_with_zeros(1, before, width - before - x.shape[1]))
        before += x.shape[1]
    return _wick.cat(rows, 0)


def broadcast_shapes(*shapes: Sequence[int]) -> tuple[int, ...]:
    """The shape of a result of operands of these shapes."""
    made: list[int] = []
    for shape in shapes:
        sizes = list(shape)
        made, sizes = [1] * (len(sizes) - len(made)) + made, [1] * (len(made) - len(sizes)) + sizes
        for place, (a, b) in enumerate(zip(made, sizes)):
            if a != b and 1 not in (a, b):
                raise ValueError(f"broadcast_shapes: {', '.join(str(tuple(each)) for each in shapes)} do not go together")
            made[place] = b if a == 1 else a
    return tuple(made)


def broadcast_tensors(*tensors: Tensor) -> tuple[Tensor, ...]:
    shape = broadcast_shapes(*(x.shape for x in tensors))
    return tuple(x.broadcast_to(shape) for x in tensors)


def cartesian_prod(*tensors: Tensor) -> Tensor:
    """Every choice of an element of each vector: a row."""
    if len(tensors) == 1:
        return tensors[0]
    return _wick.stack([x.flatten() for x in _wick.meshgrid(*tensors, indexing="ij")], 1)


def tril_indices(row: int, col: int, offset: int = 0) -> Tensor:
    """Rows and columns of a matrix's elements on and below a diagonal: [2, n], i64."""
    return _wick.ones((row, col)).tril(offset).nonzero().transpose(0, 1).contiguous()


def triu_indices(row: int, col: int, offset: int = 0) -> Tensor:
    """Rows and columns of a matrix's elements on and above a diagonal: [2, n], i64."""
    return _wick.ones((row, col)).triu(offset).nonzero().transpose(0, 1).contiguous()


def logspace(start: float, end: float, steps: int, base: float = 10.0, dtype: DType | str | None = None) -> Tensor:
    """Powers of base, whose exponents go from start to end in even steps."""
    made: Tensor = base ** _wick.linspace(start, end, steps, "f64")
    return made.to(dtype="f32" if dtype is None else dtype)


def vander(x: Tensor, N: int | None = None, increasing: bool = False) -> Tensor:
    """Powers of a vector's elements: [n, N], the highest first."""
    count = x.shape[0] if N is None else N
    if x.ndim != 1 or not 0 <= count <= 1 << 20:
        raise ValueError(f"vander: expected a vector and up to {1 << 20} powers, got a tensor {x.shape} and {count}")
    powers = _wick.stack([x**power if power else _wick.ones_like(x) for power in range(count)], 1)
    return powers if increasing else powers.flip(1)
