"""Functions of layers, by PyTorch's names and with its arguments."""
from __future__ import annotations

from collections.abc import Sequence

from .. import _wick
from .._wick import _nn
from .._wick import DType, Tensor
from .._wick._nn import (
    hard_sigmoid as hardsigmoid,
    hard_swish as hardswish,
    leaky_relu,
    linear,
    mish,
    scaled_dot_product_attention,
    softplus,
)
from .losses import (
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
    cross_entropy,
    huber_loss,
    kl_div,
    l1_loss,
    mse_loss,
    nll_loss,
    smooth_l1_loss,
)

__all__ = [
    "adaptive_avg_pool2d", "avg_pool2d", "binary_cross_entropy", "binary_cross_entropy_with_logits", "conv1d", "conv2d", "conv_transpose2d",
    "cosine_similarity", "cross_entropy", "dropout", "elu", "embedding", "gelu", "group_norm", "hardsigmoid", "hardswish", "huber_loss",
    "kl_div", "l1_loss", "layer_norm", "leaky_relu", "linear", "log_softmax", "max_pool2d", "mish", "mse_loss", "nll_loss", "normalize",
    "one_hot", "pad", "relu", "rms_norm", "scaled_dot_product_attention", "sigmoid", "silu", "smooth_l1_loss", "softmax", "softplus", "tanh",
]

Extents = int | Sequence[int]


def relu(x: Tensor) -> Tensor:
    return x.relu()


def gelu(x: Tensor, approximate: str = "none") -> Tensor:
    return x.gelu(approximate)


def silu(x: Tensor) -> Tensor:
    return x.silu()


def elu(x: Tensor, alpha: float = 1.0) -> Tensor:
    return x.elu(alpha)


def sigmoid(x: Tensor) -> Tensor:
    return x.sigmoid()


def tanh(x: Tensor) -> Tensor:
    return x.tanh()


def softmax(x: Tensor, dim: int, dtype: DType | str | None = None) -> Tensor:
    return (x if dtype is None else x.to(dtype=dtype)).softmax(dim)


def log_softmax(x: Tensor, dim: int, dtype: DType | str | None = None) -> Tensor:
    return (x if dtype is None else x.to(dtype=dtype)).log_softmax(dim)


def dropout(x: Tensor, p: float = 0.5, training: bool = True) -> Tensor:
    return _nn.dropout(x, p) if training and p > 0 else x


def embedding(ids: Tensor, weight: Tensor) -> Tensor:
    return weight.embedding(ids)


def one_hot(ids: Tensor, num_classes: int = -1) -> Tensor:
    """i64 [..., num_classes]; by default one more than the largest id."""
    count = int(ids.max()) + 1 if num_classes < 0 else num_classes
    if ids.size and not (0 <= int(ids.min()) and int(ids.max()) < count):
        raise ValueError(f"one_hot: ids from {int(ids.min())} to {int(ids.max())} are not all in 0 to {count - 1}")
    return (ids.unsqueeze(-1) == _wick.arange(count, dtype=ids.dtype, device=ids.device)).to("i64")


def _of_last(function: str, x: Tensor, shape: Extents) -> tuple[Tensor, int]:
    extents = (shape,) if isinstance(shape, int) else tuple(shape)
    if not extents or x.shape[-len(extents):] != extents:
        raise ValueError(f"{function}: the last dimensions of {x.shape} are not {extents}")
    size = 1
    for extent in extents:
        size *= extent
    return x.reshape(*x.shape[:x.ndim - len(extents)], size), size


def layer_norm(x: Tensor, normalized_shape: Extents, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5) -> Tensor:
    rows, size = _of_last("layer_norm", x, normalized_shape)
    scale = _wick.ones((size,), x.dtype, x.device) if weight is None else weight.reshape(size)
    shift = _wick.zeros((size,), x.dtype, x.device) if bias is None else bias.reshape(size)
    return _nn.layer_norm(rows, scale, shift, eps).reshape(x.shape)


def rms_norm(x: Tensor, normalized_shape: Extents, weight: Tensor | None = None, eps: float | None = None) -> Tensor:
    """eps: by default the distance from 1 to the next number of the dtype."""
    rows, size = _of_last("rms_norm", x, normalized_shape)
    least = {"f64": 2.0**-52, "f32": 2.0**-23, "f16": 2.0**-10, "bf16": 2.0**-7}.get(x.dtype.name, 2.0**-23) if eps is None else eps
    scale = _wick.ones((size,), x.dtype, x.device) if weight is None else weight.reshape(size)
    return _nn.rms_norm(rows, scale, least).reshape(x.shape)


def group_norm(x: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5) -> Tensor:
    channels = x.shape[1]
    scale = _wick.ones((channels,), x.dtype, x.device) if weight is None else weight
    shift = _wick.zeros((channels,), x.dtype, x.device) if bias is None else bias
    return _nn.group_norm(x, num_groups, scale, shift, eps)


def normalize(x: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12) -> Tensor:
    """x divided by its norm along dim, or by eps where the norm is less."""
    return x / x.norm(p, dim, True).clamp(min=eps)


def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    return (normalize(x1, 2.0, dim, eps) * normalize(x2, 2.0, dim, eps)).sum(dim)


def conv1d(x: Tensor, weight: Tensor, bias: Tensor | None = None, stride: int = 1, padding: int = 0, dilation: int = 1,
           groups: int = 1) -> Tensor:
    made = x.conv1d(weight, padding, stride, dilation, groups)
    return made if bias is None else made + bias.reshape(-1, 1)


def conv2d(x: Tensor, weight: Tensor, bias: Tensor | None = None, stride: int = 1, padding: int = 0, dilation: int = 1,
           groups: int = 1) -> Tensor:
    made = x.conv2d(weight, padding, stride, dilation, groups)
    return made if bias is None else made + bias.reshape(-1, 1, 1)


def conv_transpose2d(x: Tensor, weight: Tensor, bias: Tensor | None = None, stride: int = 1, padding: int = 0, output_padding: int = 0,
                     groups: int = 1, dilation: int = 1) -> Tensor:
    made = x.conv_transpose2d(weight, padding, output_padding, stride, dilation, groups)
    return made if bias is None else made + bias.reshape(-1, 1, 1)


def max_pool2d(x: Tensor, kernel_size: Extents, stride: Extents | None = None) -> Tensor:
    return x.max_pool2d(kernel_size, stride)


def avg_pool2d(x: Tensor, kernel_size: Extents, stride: Extents | None = None) -> Tensor:
    return x.avg_pool2d(kernel_size, stride)


def adaptive_avg_pool2d(x: Tensor, output_size: int | tuple[int, ...]) -> Tensor:
    from . import AdaptiveAvgPool2d

    return AdaptiveAvgPool2d(output_size).forward(x)


def pad(x: Tensor, pad: Sequence[int], mode: str = "constant", value: float = 0.0) -> Tensor:
    """Elements before and after, the last dimension first: (left, right, top, bottom, ...). mode: "constant" or "replicate"."""
    if mode not in ("constant", "replicate"):
        raise ValueError(f"pad: mode is 'constant' or 'replicate', not {mode!r}")
    if len(pad) % 2 or len(pad) > 2 * x.ndim:
        raise ValueError(f"pad: expected two numbers for each of up to {x.ndim} dimensions, got {len(pad)}")
    for place in range(len(pad) // 2):
        dim, before, after = x.ndim - 1 - place, pad[2 * place], pad[2 * place + 1]
        first, last = max(-before, 0), x.shape[dim] - max(-after, 0)  # negative numbers cut
        if first or last < x.shape[dim]:
            x = x.narrow(dim, first, last - first)
        before, after = max(before, 0), max(after, 0)
        if before or after:
            if mode == "replicate":
                x = x.pad_with_same(dim, before, after)
            elif value == 0:
                x = x.pad_with_zeros(dim, before, after)
            else:
                def filled(count: int, x: Tensor = x, dim: int = dim) -> Tensor:
                    return _wick.full((*x.shape[:dim], count, *x.shape[dim + 1:]), value, x.dtype, x.device)
                x = _wick.cat([part for part in (filled(before), x, filled(after)) if part.size], dim)
    return x
