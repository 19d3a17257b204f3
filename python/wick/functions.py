"""Functions of the module: the tensor's methods as functions, and random numbers and samples."""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from . import _wick
from ._wick import Device, DType, Tensor

# Tensor's methods that are functions of the module too: wick.exp(x) is x.exp().
METHODS = """
abs acos acosh all amax amin any argmax argmin argsort asin asinh atan atan2 atanh avg_pool2d broadcast_to ceil chunk clamp clip conv1d conv2d
conv_transpose2d cos cosh cumprod cumsum diag diagonal div erf exp exp2 expm1 flatten flip floor floor_divide fmod gather index_add
index_select isfinite isinf isnan log log10 log1p log2 log_softmax logical_and logical_not logical_or logical_xor logsumexp masked_fill
masked_select matmul max max_pool2d maximum mean median min minimum mul nan_to_num narrow neg nonzero norm permute pow prod reciprocal relu
remainder repeat_interleave reshape roll round rsqrt scatter scatter_add sigmoid sign sin sinh softmax sort split sqrt square squeeze std sub
sum tan tanh topk transpose tril triu trunc unbind unique unsqueeze var
""".split()


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
