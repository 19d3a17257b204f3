"""Functions of layers, by PyTorch's names and with its arguments."""
from __future__ import annotations

import math
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
from ..composed import channel_shuffle, pixel_shuffle, pixel_unshuffle
from .losses import (
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
    cosine_embedding_loss,
    cross_entropy,
    gaussian_nll_loss,
    hinge_embedding_loss,
    huber_loss,
    kl_div,
    l1_loss,
    margin_ranking_loss,
    mse_loss,
    nll_loss,
    poisson_nll_loss,
    smooth_l1_loss,
    soft_margin_loss,
    triplet_margin_loss,
)

__all__ = [
    "adaptive_avg_pool1d", "adaptive_avg_pool2d", "avg_pool1d", "avg_pool2d", "binary_cross_entropy",
    "binary_cross_entropy_with_logits", "celu", "channel_shuffle", "conv1d", "conv2d", "conv_transpose2d", "cosine_embedding_loss",
    "cosine_similarity", "cross_entropy", "dropout", "elu", "embedding", "gaussian_nll_loss", "gelu", "glu", "group_norm",
    "gumbel_softmax", "hardshrink", "hardsigmoid", "hardswish", "hardtanh", "hinge_embedding_loss", "huber_loss", "instance_norm",
    "interpolate", "kl_div", "l1_loss", "layer_norm", "leaky_relu", "linear", "log_softmax", "logsigmoid", "margin_ranking_loss",
    "max_pool1d", "max_pool2d", "mish", "mse_loss", "nll_loss", "normalize", "one_hot", "pad", "pairwise_distance", "pixel_shuffle",
    "pixel_unshuffle", "poisson_nll_loss", "prelu", "relu", "relu6", "rms_norm", "scaled_dot_product_attention", "selu", "sigmoid",
    "silu", "smooth_l1_loss", "soft_margin_loss", "softmax", "softmin", "softplus", "softshrink", "softsign", "tanh", "tanhshrink",
    "threshold", "triplet_margin_loss",
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


def relu6(x: Tensor) -> Tensor:
    return x.clamp(0.0, 6.0)


def hardtanh(x: Tensor, min_val: float = -1.0, max_val: float = 1.0) -> Tensor:
    return x.clamp(min_val, max_val)


def celu(x: Tensor, alpha: float = 1.0) -> Tensor:
    """x, and below 0 alpha · (exp(x / alpha) - 1)."""
    made: Tensor = x.relu() + ((x.clamp(max=0.0) / alpha).expm1() * alpha)
    return made


def selu(x: Tensor) -> Tensor:
    """Klambauer et al. 2017."""
    made: Tensor = (x.relu() + x.clamp(max=0.0).expm1() * 1.6732632423543772) * 1.0507009873554805
    return made


def prelu(x: Tensor, weight: Tensor) -> Tensor:
    """x, and below 0 times a weight: one for all, or one for each channel, the second dimension."""
    slope = weight if weight.numel() == 1 or x.ndim < 2 else weight.reshape(-1, *(1,) * (x.ndim - 2))
    made: Tensor = x.relu() + x.clamp(max=0.0) * slope
    return made


def glu(x: Tensor, dim: int = -1) -> Tensor:
    """The first half of a dimension times the sigmoid of the second."""
    if x.shape[dim] % 2:
        raise ValueError(f"glu: dimension {dim} of {x.shape} must be even")
    half = x.shape[dim] // 2
    made: Tensor = x.narrow(dim, 0, half) * x.narrow(dim, half, half).sigmoid()
    return made


def threshold(x: Tensor, threshold: float, value: float) -> Tensor:
    """x where it is above the threshold, else the value."""
    return (x > threshold).where(x, _wick.full(x.shape, value, x.dtype, x.device))


def hardshrink(x: Tensor, lambd: float = 0.5) -> Tensor:
    return (x.abs() > lambd).where(x, _wick.zeros_like(x))


def softshrink(x: Tensor, lambd: float = 0.5) -> Tensor:
    made: Tensor = (x - lambd).relu() - (-x - lambd).relu()
    return made


def tanhshrink(x: Tensor) -> Tensor:
    made: Tensor = x - x.tanh()
    return made


def softsign(x: Tensor) -> Tensor:
    made: Tensor = x / (x.abs() + 1)
    return made


def logsigmoid(x: Tensor) -> Tensor:
    return -softplus(-x)


def softmin(x: Tensor, dim: int) -> Tensor:
    return (-x).softmax(dim)


def gumbel_softmax(logits: Tensor, tau: float = 1.0, hard: bool = False, dim: int = -1) -> Tensor:
    """A softmax of logits with Gumbel noise (Jang et al. 2017). hard: 1 at its largest value and 0 elsewhere, with the softmax's gradient."""
    noise = -(-_wick.rand(logits.shape, logits.dtype, logits.device).clamp(min=1e-30).log()).log()
    soft = ((logits + noise) / tau).softmax(dim)
    if not hard:
        return soft
    best = soft.detach().argmax(dim).unsqueeze(dim)
    one = _wick.zeros_like(soft.detach()).scatter(best, _wick.ones(best.shape, soft.dtype, soft.device), dim)
    made: Tensor = one - soft.detach() + soft
    return made


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


def max_pool2d(x: Tensor, kernel_size: Extents, stride: Extents | None = None, padding: Extents = 0) -> Tensor:
    return (x if padding == 0 else pad(x, _sides(padding), value=-math.inf)).max_pool2d(kernel_size, stride)


def avg_pool2d(x: Tensor, kernel_size: Extents, stride: Extents | None = None, padding: Extents = 0) -> Tensor:
    """The padding's zeros count."""
    return (x if padding == 0 else pad(x, _sides(padding))).avg_pool2d(kernel_size, stride)


def _sides(padding: Extents) -> tuple[int, int, int, int]:
    height, width = (padding, padding) if isinstance(padding, int) else padding
    return (width, width, height, height)


def max_pool1d(x: Tensor, kernel_size: int, stride: int | None = None, padding: int = 0) -> Tensor:
    return max_pool2d(x.unsqueeze(-2), (1, kernel_size), None if stride is None else (1, stride), (0, padding)).squeeze(-2)


def avg_pool1d(x: Tensor, kernel_size: int, stride: int | None = None, padding: int = 0) -> Tensor:
    return avg_pool2d(x.unsqueeze(-2), (1, kernel_size), None if stride is None else (1, stride), (0, padding)).squeeze(-2)


def adaptive_avg_pool1d(x: Tensor, output_size: int) -> Tensor:
    return adaptive_avg_pool2d(x.unsqueeze(-2), (1, output_size)).squeeze(-2)


def interpolate(x: Tensor, size: Extents | None = None, scale_factor: float | None = None, mode: str = "nearest",
                align_corners: bool = False) -> Tensor:
    """[batch, channels, h, w] to `size`, or `scale_factor` as large. mode: "nearest" or "bilinear"."""
    from . import Upsample

    return Upsample(tuple(size) if isinstance(size, Sequence) else size, scale_factor, mode, align_corners).forward(x)


def instance_norm(x: Tensor, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5) -> Tensor:
    """Each channel of each sample normalized over the rest."""
    return group_norm(x, x.shape[1], weight, bias, eps)


def pairwise_distance(x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Tensor:
    return (x1 - x2 + eps).norm(p, -1, keepdim)


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
