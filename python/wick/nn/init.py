"""First values of variables, as PyTorch draws them. Each overwrites the tensor and returns it."""
from __future__ import annotations

import math

from .. import _wick
from .._wick import Tensor, Var


def _overwritten(tensor: Tensor, values: Tensor) -> Tensor:
    if isinstance(tensor, Var):
        tensor.set(values)
    else:
        tensor.copy_(values)
    return tensor


def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0) -> Tensor:
    return _overwritten(tensor, _wick.rand(tensor.shape, tensor.dtype, tensor.device, low=a, high=b))


def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0) -> Tensor:
    return _overwritten(tensor, _wick.randn(tensor.shape, tensor.dtype, tensor.device, mean=mean, std=std))


def constant_(tensor: Tensor, val: float) -> Tensor:
    return _overwritten(tensor, _wick.full(tensor.shape, val, tensor.dtype, tensor.device))


def zeros_(tensor: Tensor) -> Tensor:
    return constant_(tensor, 0.0)


def ones_(tensor: Tensor) -> Tensor:
    return constant_(tensor, 1.0)


def _fans(tensor: Tensor) -> tuple[int, int]:
    """How many inputs and outputs a weight [out, in, ...] connects."""
    if tensor.ndim < 2:
        raise ValueError(f"init: a weight needs two dimensions or more, not {tensor.shape}")
    field = math.prod(tensor.shape[2:])
    return tensor.shape[1] * field, tensor.shape[0] * field


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    gains = {"linear": 1.0, "conv1d": 1.0, "conv2d": 1.0, "sigmoid": 1.0, "tanh": 5 / 3, "relu": math.sqrt(2), "selu": 0.75}
    if nonlinearity == "leaky_relu":
        return math.sqrt(2 / (1 + (0.01 if param is None else param) ** 2))
    if nonlinearity not in gains:
        raise ValueError(f"calculate_gain: {nonlinearity!r} is not one of {', '.join([*gains, 'leaky_relu'])}")
    return gains[nonlinearity]


def xavier_uniform_(tensor: Tensor, gain: float = 1.0) -> Tensor:
    """Glorot & Bengio 2010."""
    bound = gain * math.sqrt(6 / sum(_fans(tensor)))
    return uniform_(tensor, -bound, bound)


def xavier_normal_(tensor: Tensor, gain: float = 1.0) -> Tensor:
    return normal_(tensor, 0.0, gain * math.sqrt(2 / sum(_fans(tensor))))


def _kaiming(tensor: Tensor, a: float, mode: str, nonlinearity: str) -> float:
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"kaiming: mode is 'fan_in' or 'fan_out', not {mode!r}")
    return calculate_gain(nonlinearity, a) / math.sqrt(_fans(tensor)[mode == "fan_out"])


def kaiming_uniform_(tensor: Tensor, a: float = 0.0, mode: str = "fan_in", nonlinearity: str = "leaky_relu") -> Tensor:
    """He et al. 2015."""
    bound = math.sqrt(3) * _kaiming(tensor, a, mode, nonlinearity)
    return uniform_(tensor, -bound, bound)


def kaiming_normal_(tensor: Tensor, a: float = 0.0, mode: str = "fan_in", nonlinearity: str = "leaky_relu") -> Tensor:
    return normal_(tensor, 0.0, _kaiming(tensor, a, mode, nonlinearity))


def eye_(tensor: Tensor) -> Tensor:
    """1 on the diagonal of a matrix, 0 elsewhere."""
    if tensor.ndim != 2:
        raise ValueError(f"eye_: expected a matrix, got {tensor.shape}")
    rows, columns = (_wick.arange(extent, dtype="i64", device=tensor.device) for extent in tensor.shape)
    return _overwritten(tensor, (rows.unsqueeze(1) == columns).to(dtype=tensor.dtype))


def trunc_normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0) -> Tensor:
    """Normal numbers, drawn again where they are not from a to b."""
    values = _wick.randn(tensor.shape, tensor.dtype, tensor.device, mean=mean, std=std)
    for _ in range(1000):
        outside = (values < a).logical_or(values > b)
        if not bool(outside.any()):
            return _overwritten(tensor, values)
        values = outside.where(_wick.randn(tensor.shape, tensor.dtype, tensor.device, mean=mean, std=std), values)
    raise ValueError(f"trunc_normal_: numbers of mean {mean} and deviation {std} are hardly ever from {a} to {b}")


def orthogonal_(tensor: Tensor, gain: float = 1.0) -> Tensor:
    """Rows or columns, whichever are fewer, orthogonal and of length gain (Saxe et al. 2013)."""
    from ..array_api import linalg

    if tensor.ndim < 2:
        raise ValueError(f"orthogonal_: expected two dimensions or more, got {tensor.shape}")
    rows, columns = tensor.shape[0], math.prod(tensor.shape[1:])
    noise = _wick.randn((max(rows, columns), min(rows, columns)), "f64", "cpu")
    q, r = linalg.qr(noise)
    q = q * r.diagonal().sign()
    q = q if rows >= columns else q.transpose(0, 1)
    return _overwritten(tensor, (q * gain).reshape(tensor.shape).to(dtype=tensor.dtype, device=tensor.device))
