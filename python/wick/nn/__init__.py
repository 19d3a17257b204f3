"""Neural networks: modules, layers, losses, optimizers and batches, in the manner of PyTorch.

    model = nn.Sequential(nn.Linear(784, 100), nn.ReLU(), nn.Linear(100, 10))
    optimizer = nn.AdamW(model.parameters(), lr=1e-3)
    for inputs, targets in nn.DataLoader(x, y, batch_size=64, shuffle=True):
        optimizer.zero_grad()
        nn.cross_entropy(model(inputs), targets).backward()
        optimizer.step()
"""
from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from .. import _wick
from .._wick import Device, DType, Tensor, Var
from .._wick._nn import (
    batch_norm,
    checkpoint as _checkpoint,
    dropout,
    group_norm,
    hard_sigmoid,
    hard_swish,
    layer_norm,
    leaky_relu,
    linear,
    load_mnist,
    mish,
    rms_norm,
    rope,
    scaled_dot_product_attention,
    softplus,
    swiglu,
)
from ..optim import SGD, Adam, AdamW, Optimizer
from ..composed import unflatten
from .losses import (
    BCELoss,
    BCEWithLogitsLoss,
    CosineEmbeddingLoss,
    CrossEntropyLoss,
    GaussianNLLLoss,
    HingeEmbeddingLoss,
    HuberLoss,
    KLDivLoss,
    L1Loss,
    MSELoss,
    MarginRankingLoss,
    NLLLoss,
    PoissonNLLLoss,
    SmoothL1Loss,
    SoftMarginLoss,
    TripletMarginLoss,
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
from .module import Module, ModuleDict, ModuleList, Sequential

__all__ = [
    "Adam", "AdamW", "AdaptiveAvgPool1d", "AdaptiveAvgPool2d", "AvgPool1d", "AvgPool2d", "BCELoss", "BCEWithLogitsLoss",
    "BatchNorm", "BatchNorm1d", "BatchNorm2d", "CELU", "ChannelShuffle", "ConstantPad2d", "Conv1d", "Conv2d", "ConvTranspose2d",
    "CosineEmbeddingLoss", "CosineSimilarity", "CrossEntropyLoss", "DataLoader", "Dropout", "ELU", "Embedding", "Flatten", "GELU",
    "GLU", "GRU", "GaussianNLLLoss", "GroupNorm", "Hardshrink", "Hardsigmoid", "Hardswish", "Hardtanh", "HingeEmbeddingLoss",
    "HuberLoss", "Identity", "InstanceNorm1d", "InstanceNorm2d", "KLDivLoss", "L1Loss", "LSTM", "LayerNorm", "LeakyReLU", "Linear",
    "LogSigmoid", "LogSoftmax", "MSELoss", "MarginRankingLoss", "MaxPool1d", "MaxPool2d", "Mish", "Module", "ModuleDict",
    "ModuleList", "MultiheadAttention", "NLLLoss", "Optimizer", "PReLU", "PairwiseDistance", "Parameter", "PixelShuffle",
    "PixelUnshuffle", "PoissonNLLLoss", "RMSNorm", "ReLU", "ReLU6", "ReplicationPad2d", "SELU", "SGD", "Sequential", "SiLU",
    "Sigmoid", "SmoothL1Loss", "SoftMarginLoss", "Softmax", "Softmin", "Softplus", "Softshrink", "Softsign", "Tanh", "Tanhshrink",
    "Threshold", "TransformerEncoder", "TransformerEncoderLayer", "TripletMarginLoss", "Unflatten", "Upsample", "ZeroPad2d",
    "batch_norm", "binary_cross_entropy", "binary_cross_entropy_with_logits", "checkpoint", "collate", "cross_entropy", "dropout", "functional",
    "group_norm", "hard_sigmoid", "hard_swish", "huber_loss", "init", "kl_div", "l1_loss", "layer_norm", "leaky_relu", "linear",
    "load_mnist", "mish", "mse_loss", "nll_loss", "rms_norm", "rope", "scaled_dot_product_attention", "smooth_l1_loss", "softplus",
    "swiglu", "utils",
]

# A variable of a module, by PyTorch's name.
Parameter = Var


def checkpoint(function: Callable[..., Tensor], *args: Any) -> Tensor:
    """function(*args), whose intermediate tensors are not kept for backward: backward runs the function again (Chen et al. 2016).

    Gradients are those of function(*args), of its arguments and of the variables that it uses. It returns one tensor, and computes the same
    from the same arguments; dropout drops the same. Gradients of gradients are not supported.
    """
    places = [place for place, value in enumerate(args) if isinstance(value, Tensor)]

    def run(*tensors: Tensor) -> Tensor:
        given = list(args)
        for place, tensor in zip(places, tensors):
            given[place] = tensor
        return function(*given)

    return _checkpoint(run, [args[place] for place in places])


def _uniform(shape: tuple[int, ...], bound: float, dtype: DType | str | None, device: Device | str | None) -> Var:
    return Var(_wick.rand(shape, dtype, device, low=-bound, high=bound))


def _check_sizes(layer: str, **sizes: object) -> None:
    for name, size in sizes.items():
        if not hasattr(size, "__index__"):
            raise TypeError(f"{layer}: {name} must be an int, got {type(size).__name__}")
        if operator.index(size) < 1:
            raise ValueError(f"{layer}: {name} must be at least 1, got {size}")


def _check_count(layer: str, layers: int) -> None:
    if not 1 <= operator.index(layers) <= 1024:
        raise ValueError(f"{layer}: num_layers must be from 1 to 1024, got {layers}")


class Linear(Module):
    """x · weightᵀ + bias: [..., in_features] to [..., out_features]. Drawn as PyTorch draws it: uniform in ±1/√in_features."""

    def __init__(self, in_features: int, out_features: int, bias: bool = True, *, dtype: DType | str | None = None,
                 device: Device | str | None = None) -> None:
        _check_sizes("Linear", in_features=in_features, out_features=out_features)
        bound = 1 / math.sqrt(in_features)
        self.weight = _uniform((out_features, in_features), bound, dtype, device)
        self.bias = _uniform((out_features,), bound, dtype, device) if bias else None

    def forward(self, x: Tensor) -> Tensor:
        return linear(x, self.weight, self.bias)


# What a kernel, stride, padding or dilation is given as: a number for every dimension, or one for each.
Extents = int | tuple[int, ...]


def _extents(value: Extents, dims: int, name: str) -> tuple[int, ...]:
    made = (value,) * dims if hasattr(value, "__index__") else tuple(value)
    if len(made) != dims:
        raise ValueError(f"{name}: expected one number or {dims}, got {len(made)}")
    return tuple(operator.index(extent) for extent in made)


def _equal(extents: tuple[int, ...], name: str) -> int:
    if len(set(extents)) != 1:
        raise ValueError(f"{name}: {extents} must be equal in every dimension")
    return extents[0]


class _Conv(Module):
    def __init__(self, channels: tuple[int, int], kernel: tuple[int, ...], padding: Extents | str, stride: Extents, dilation: Extents,
                 groups: int, bias: bool, dtype: DType | str | None, device: Device | str | None) -> None:
        name, dims = type(self).__name__, len(kernel)
        self.stride = _equal(_extents(stride, dims, f"{name}: stride"), f"{name}: stride")
        self.dilation = _equal(_extents(dilation, dims, f"{name}: dilation"), f"{name}: dilation")
        _check_sizes(name, in_channels=channels[0], out_channels=channels[1], kernel_size=min(kernel), stride=self.stride,
                     dilation=self.dilation, groups=groups)
        if channels[0] % groups or channels[1] % groups:
            raise ValueError(f"{name}: channels {channels[0]} and {channels[1]} must be multiples of groups {groups}")
        # How many zeros stand before and after the elements, for each dimension.
        if isinstance(padding, str):
            if padding not in ("same", "valid"):
                raise ValueError(f"{name}: padding is a number, 'same' or 'valid', not {padding!r}")
            if padding == "same" and self.stride != 1:
                raise ValueError(f"{name}: padding='same' needs a stride of 1, not {self.stride}")
            total = tuple(self.dilation * (extent - 1) if padding == "same" else 0 for extent in kernel)
            self.padding = tuple((extent // 2, extent - extent // 2) for extent in total)
        else:
            self.padding = tuple((extent, extent) for extent in _extents(padding, dims, f"{name}: padding"))
        shape = (channels[1], channels[0] // groups, *kernel)
        bound = 1 / math.sqrt(math.prod(shape[1:]))
        self.weight = _uniform(shape, bound, dtype, device)
        self.bias = _uniform(shape[:1], bound, dtype, device) if bias else None
        self.groups = groups

    def _padded(self, x: Tensor) -> tuple[Tensor, int]:
        """The input, and how many zeros the convolution itself adds on every side."""
        sides = {extent for pair in self.padding for extent in pair}
        if len(sides) == 1:
            return x, sides.pop()
        for dim, (before, after) in enumerate(self.padding):
            if before or after:
                x = x.pad_with_zeros(x.ndim - len(self.padding) + dim, before, after)
        return x, 0

    def _biased(self, x: Tensor) -> Tensor:
        return x if self.bias is None else x + self.bias.reshape(-1, *[1] * (x.ndim - 2))


class Conv1d(_Conv):
    """[batch, in_channels, length] to [batch, out_channels, length']."""

    def __init__(self, in_channels: int, out_channels: int, kernel_size: Extents, stride: Extents = 1, padding: Extents | str = 0,
                 dilation: Extents = 1, groups: int = 1, bias: bool = True, *, dtype: DType | str | None = None,
                 device: Device | str | None = None) -> None:
        kernel = _extents(kernel_size, 1, "Conv1d: kernel_size")
        super().__init__((in_channels, out_channels), kernel, padding, stride, dilation, groups, bias, dtype, device)

    def forward(self, x: Tensor) -> Tensor:
        padded, padding = self._padded(x)
        return self._biased(padded.conv1d(self.weight, padding, self.stride, self.dilation, self.groups))


class Conv2d(_Conv):
    """[batch, in_channels, h, w] to [batch, out_channels, h', w']."""

    def __init__(self, in_channels: int, out_channels: int, kernel_size: Extents, stride: Extents = 1, padding: Extents | str = 0,
                 dilation: Extents = 1, groups: int = 1, bias: bool = True, *, dtype: DType | str | None = None,
                 device: Device | str | None = None) -> None:
        kernel = _extents(kernel_size, 2, "Conv2d: kernel_size")
        super().__init__((in_channels, out_channels), kernel, padding, stride, dilation, groups, bias, dtype, device)

    def forward(self, x: Tensor) -> Tensor:
        padded, padding = self._padded(x)
        return self._biased(padded.conv2d(self.weight, padding, self.stride, self.dilation, self.groups))


class ConvTranspose2d(Module):
    """[batch, in_channels, h, w] to [batch, out_channels, h', w'], h' = (h - 1) stride - 2 padding + dilation (k - 1) + output_padding + 1."""

    def __init__(self, in_channels: int, out_channels: int, kernel_size: Extents, stride: int = 1, padding: int = 0, output_padding: int = 0,
                 groups: int = 1, bias: bool = True, dilation: int = 1, *, dtype: DType | str | None = None,
                 device: Device | str | None = None) -> None:
        kernel = _extents(kernel_size, 2, "ConvTranspose2d: kernel_size")
        _check_sizes("ConvTranspose2d", in_channels=in_channels, out_channels=out_channels, kernel_size=min(kernel), stride=stride,
                     dilation=dilation, groups=groups)
        shape = (in_channels, out_channels // groups, *kernel)
        bound = 1 / math.sqrt(math.prod(shape[1:]))
        self.weight = _uniform(shape, bound, dtype, device)
        self.bias = _uniform((out_channels,), bound, dtype, device) if bias else None
        self.stride, self.padding, self.output_padding, self.groups, self.dilation = stride, padding, output_padding, groups, dilation

    def forward(self, x: Tensor) -> Tensor:
        made = x.conv_transpose2d(self.weight, self.padding, self.output_padding, self.stride, self.dilation, self.groups)
        return made if self.bias is None else made + self.bias.reshape(-1, 1, 1)


class _Pool2d(Module):
    def __init__(self, kernel_size: Extents, stride: Extents | None = None, padding: Extents = 0) -> None:
        self.kernel_size = _extents(kernel_size, 2, f"{type(self).__name__}: kernel_size")
        self.stride = self.kernel_size if stride is None else _extents(stride, 2, f"{type(self).__name__}: stride")
        self.padding = padding


class MaxPool2d(_Pool2d):
    def forward(self, x: Tensor) -> Tensor:
        return functional.max_pool2d(x, self.kernel_size, self.stride, self.padding)


class AvgPool2d(_Pool2d):
    def forward(self, x: Tensor) -> Tensor:
        return functional.avg_pool2d(x, self.kernel_size, self.stride, self.padding)


class _Pool1d(Module):
    def __init__(self, kernel_size: int, stride: int | None = None, padding: int = 0) -> None:
        self.kernel_size, self.stride, self.padding = kernel_size, kernel_size if stride is None else stride, padding


class MaxPool1d(_Pool1d):
    def forward(self, x: Tensor) -> Tensor:
        return functional.max_pool1d(x, self.kernel_size, self.stride, self.padding)


class AvgPool1d(_Pool1d):
    def forward(self, x: Tensor) -> Tensor:
        return functional.avg_pool1d(x, self.kernel_size, self.stride, self.padding)


class AdaptiveAvgPool1d(Module):
    def __init__(self, output_size: int) -> None:
        self.output_size = output_size

    def forward(self, x: Tensor) -> Tensor:
        return functional.adaptive_avg_pool1d(x, self.output_size)


class AdaptiveAvgPool2d(Module):
    """[..., h, w] to [..., output_size]: means of parts that are as equal as they can be."""

    def __init__(self, output_size: Extents) -> None:
        self.output_size = _extents(output_size, 2, "AdaptiveAvgPool2d: output_size")

    def forward(self, x: Tensor) -> Tensor:
        for dim, parts in zip((-2, -1), self.output_size):
            extent = x.shape[dim]
            bounds = [(part * extent // parts, -(-(part + 1) * extent // parts)) for part in range(parts)]
            x = _wick.cat([x.narrow(x.ndim + dim, first, last - first).mean(dim, True) for first, last in bounds], x.ndim + dim)
        return x


class Upsample(Module):
    """[batch, channels, h, w] to `size`, or `scale_factor` as large. mode: "nearest" or "bilinear"."""

    def __init__(self, size: Extents | None = None, scale_factor: float | None = None, mode: str = "nearest",
                 align_corners: bool = False) -> None:
        if mode not in ("nearest", "bilinear"):
            raise ValueError(f"Upsample: mode is 'nearest' or 'bilinear', not {mode!r}")
        if (size is None) == (scale_factor is None):
            raise ValueError("Upsample: give size or scale_factor")
        self.size = None if size is None else _extents(size, 2, "Upsample: size")
        self.scale_factor, self.mode, self.align_corners = scale_factor, mode, align_corners

    def forward(self, x: Tensor) -> Tensor:
        if self.size is not None:
            height, width = self.size
        else:
            height, width = (int(extent * (self.scale_factor or 1)) for extent in x.shape[-2:])
        return x.upsample_nearest2d(height, width) if self.mode == "nearest" else x.upsample_bilinear2d(height, width, self.align_corners)


class ZeroPad2d(Module):
    """Zeros on the four sides of [..., h, w]: left, right, top, bottom, or one number for all."""

    def __init__(self, padding: Extents) -> None:
        self.padding = _extents(padding, 4, "ZeroPad2d: padding")

    def forward(self, x: Tensor) -> Tensor:
        left, right, top, bottom = self.padding
        return x.pad_with_zeros(x.ndim - 1, left, right).pad_with_zeros(x.ndim - 2, top, bottom)


class Embedding(Module):
    """Rows of a table by number: ids of any shape to [..., width]."""

    def __init__(self, rows: int, width: int, *, dtype: DType | str | None = None, device: Device | str | None = None) -> None:
        self.weight = Var(_wick.randn((rows, width), dtype, device))

    def forward(self, ids: Tensor) -> Tensor:
        return self.weight.embedding(ids)


class LayerNorm(Module):
    """(x - mean) / √(variance + eps) · weight + bias along the last dimension."""

    def __init__(self, size: int, eps: float = 1e-5, *, dtype: DType | str | None = None, device: Device | str | None = None) -> None:
        self.weight = Var(_wick.ones((size,), dtype, device))
        self.bias = Var(_wick.zeros((size,), dtype, device))
        self.eps = eps

    def forward(self, x: Tensor) -> Tensor:
        return layer_norm(x, self.weight, self.bias, self.eps)


class RMSNorm(Module):
    """x / √(mean(x²) + eps) · weight along the last dimension."""

    def __init__(self, size: int, eps: float = 1e-5, *, dtype: DType | str | None = None, device: Device | str | None = None) -> None:
        self.weight = Var(_wick.ones((size,), dtype, device))
        self.eps = eps

    def forward(self, x: Tensor) -> Tensor:
        return rms_norm(x, self.weight, self.eps)


class GroupNorm(Module):
    """Channels in groups, each normalised over its channels and places: [batch, channels, ...]."""

    def __init__(self, groups: int, channels: int, eps: float = 1e-5, *, dtype: DType | str | None = None,
                 device: Device | str | None = None) -> None:
        _check_sizes("GroupNorm", groups=groups, channels=channels)
        self.weight = Var(_wick.ones((channels,), dtype, device))
        self.bias = Var(_wick.zeros((channels,), dtype, device))
        self.groups, self.eps = groups, eps

    def forward(self, x: Tensor) -> Tensor:
        return group_norm(x, self.groups, self.weight, self.bias, self.eps)


class BatchNorm(Module):
    """Each channel of [batch, channels, ...] normalised over the batch in training, by running statistics in evaluation."""

    _buffers = ("running_mean", "running_var")

    def __init__(self, channels: int, eps: float = 1e-5, momentum: float = 0.1, *, dtype: DType | str | None = None,
                 device: Device | str | None = None) -> None:
        self.weight = Var(_wick.ones((channels,), dtype, device))
        self.bias = Var(_wick.zeros((channels,), dtype, device))
        self.running_mean = Var(_wick.zeros((channels,), dtype, device))
        self.running_var = Var(_wick.ones((channels,), dtype, device))
        self.eps, self.momentum = eps, momentum

    def forward(self, x: Tensor) -> Tensor:
        return batch_norm(x, self.running_mean, self.running_var, self.weight, self.bias, training=self.training, momentum=self.momentum,
                          eps=self.eps)


BatchNorm1d = BatchNorm2d = BatchNorm


class Dropout(Module):
    """In training elements become 0 with probability p, and the others grow so that the expectation stays."""

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        if not 0 <= p < 1:
            raise ValueError(f"Dropout: p must be at least 0 and below 1, got {p}")
        self.p = p

    def forward(self, x: Tensor) -> Tensor:
        return dropout(x, self.p) if self.training and self.p > 0 else x


class Identity(Module):
    def forward(self, x: Tensor) -> Tensor:
        return x


class ReLU(Module):
    """inplace is taken for programs written for PyTorch and has no effect, here and in other activations."""

    def __init__(self, inplace: bool = False) -> None:
        pass

    def forward(self, x: Tensor) -> Tensor:
        return x.relu()


class GELU(Module):
    """x / 2 · (1 + erf(x / √2)); with approximate="tanh" its approximation."""

    def __init__(self, approximate: str = "none") -> None:
        self.approximate = approximate

    def forward(self, x: Tensor) -> Tensor:
        return x.gelu(self.approximate)


class SiLU(Module):
    def __init__(self, inplace: bool = False) -> None:
        pass

    def forward(self, x: Tensor) -> Tensor:
        return x.silu()


class LeakyReLU(Module):
    def __init__(self, negative_slope: float = 0.01, inplace: bool = False) -> None:
        self.negative_slope = negative_slope

    def forward(self, x: Tensor) -> Tensor:
        return leaky_relu(x, self.negative_slope)


class ELU(Module):
    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        self.alpha = alpha

    def forward(self, x: Tensor) -> Tensor:
        return x.elu(self.alpha)


class Softplus(Module):
    def forward(self, x: Tensor) -> Tensor:
        return softplus(x)


class Mish(Module):
    def __init__(self, inplace: bool = False) -> None:
        pass

    def forward(self, x: Tensor) -> Tensor:
        return mish(x)


class ReLU6(Module):
    def forward(self, x: Tensor) -> Tensor:
        return functional.relu6(x)


class Hardtanh(Module):
    def __init__(self, min_val: float = -1.0, max_val: float = 1.0) -> None:
        self.min_val, self.max_val = min_val, max_val

    def forward(self, x: Tensor) -> Tensor:
        return functional.hardtanh(x, self.min_val, self.max_val)


class Hardsigmoid(Module):
    def forward(self, x: Tensor) -> Tensor:
        return functional.hardsigmoid(x)


class Hardswish(Module):
    def forward(self, x: Tensor) -> Tensor:
        return functional.hardswish(x)


class CELU(Module):
    def __init__(self, alpha: float = 1.0) -> None:
        self.alpha = alpha

    def forward(self, x: Tensor) -> Tensor:
        return functional.celu(x, self.alpha)


class SELU(Module):
    def forward(self, x: Tensor) -> Tensor:
        return functional.selu(x)


class GLU(Module):
    def __init__(self, dim: int = -1) -> None:
        self.dim = dim

    def forward(self, x: Tensor) -> Tensor:
        return functional.glu(x, self.dim)


class Threshold(Module):
    def __init__(self, threshold: float, value: float) -> None:
        self.threshold, self.value = threshold, value

    def forward(self, x: Tensor) -> Tensor:
        return functional.threshold(x, self.threshold, self.value)


class Hardshrink(Module):
    def __init__(self, lambd: float = 0.5) -> None:
        self.lambd = lambd

    def forward(self, x: Tensor) -> Tensor:
        return functional.hardshrink(x, self.lambd)


class Softshrink(Module):
    def __init__(self, lambd: float = 0.5) -> None:
        self.lambd = lambd

    def forward(self, x: Tensor) -> Tensor:
        return functional.softshrink(x, self.lambd)


class Tanhshrink(Module):
    def forward(self, x: Tensor) -> Tensor:
        return functional.tanhshrink(x)


class Softsign(Module):
    def forward(self, x: Tensor) -> Tensor:
        return functional.softsign(x)


class LogSigmoid(Module):
    def forward(self, x: Tensor) -> Tensor:
        return functional.logsigmoid(x)


class Softmin(Module):
    def __init__(self, dim: int = -1) -> None:
        self.dim = dim

    def forward(self, x: Tensor) -> Tensor:
        return functional.softmin(x, self.dim)


class PixelShuffle(Module):
    def __init__(self, upscale_factor: int) -> None:
        self.upscale_factor = upscale_factor

    def forward(self, x: Tensor) -> Tensor:
        return functional.pixel_shuffle(x, self.upscale_factor)


class PixelUnshuffle(Module):
    def __init__(self, downscale_factor: int) -> None:
        self.downscale_factor = downscale_factor

    def forward(self, x: Tensor) -> Tensor:
        return functional.pixel_unshuffle(x, self.downscale_factor)


class ChannelShuffle(Module):
    def __init__(self, groups: int) -> None:
        self.groups = groups

    def forward(self, x: Tensor) -> Tensor:
        return functional.channel_shuffle(x, self.groups)


class PReLU(Module):
    """x, and below 0 times a weight that is trained: one for all channels or one for each."""

    def __init__(self, num_parameters: int = 1, init: float = 0.25, dtype: DType | str | None = None, device: Device | str | None = None) -> None:
        self.weight = Var(_wick.full((num_parameters,), init, dtype, device))

    def forward(self, x: Tensor) -> Tensor:
        return functional.prelu(x, self.weight)


class CosineSimilarity(Module):
    def __init__(self, dim: int = 1, eps: float = 1e-8) -> None:
        self.dim, self.eps = dim, eps

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return functional.cosine_similarity(x1, x2, self.dim, self.eps)


class PairwiseDistance(Module):
    def __init__(self, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> None:
        self.p, self.eps, self.keepdim = p, eps, keepdim

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return functional.pairwise_distance(x1, x2, self.p, self.eps, self.keepdim)


class Unflatten(Module):
    def __init__(self, dim: int, unflattened_size: Sequence[int]) -> None:
        self.dim, self.unflattened_size = dim, tuple(unflattened_size)

    def forward(self, x: Tensor) -> Tensor:
        return unflatten(x, self.dim, self.unflattened_size)


class _InstanceNorm(Module):
    """Each channel of each sample normalized over the rest; without weights by default, as in PyTorch."""

    def __init__(self, num_features: int, eps: float = 1e-5, affine: bool = False, dtype: DType | str | None = None,
                 device: Device | str | None = None) -> None:
        self.num_features, self.eps = num_features, eps
        self.weight = Var(_wick.ones((num_features,), dtype, device)) if affine else None
        self.bias = Var(_wick.zeros((num_features,), dtype, device)) if affine else None

    def forward(self, x: Tensor) -> Tensor:
        if x.ndim < 2 or x.shape[1] != self.num_features:
            raise ValueError(f"{type(self).__name__}: expected {self.num_features} channels, got a tensor {x.shape}")
        return functional.instance_norm(x, self.weight, self.bias, self.eps)


class InstanceNorm1d(_InstanceNorm):
    pass


class InstanceNorm2d(_InstanceNorm):
    pass


class ConstantPad2d(Module):
    """A value on the four sides of [..., h, w]: left, right, top, bottom, or one number for all."""

    def __init__(self, padding: Extents, value: float) -> None:
        self.padding, self.value = _extents(padding, 4, f"{type(self).__name__}: padding"), value

    def forward(self, x: Tensor) -> Tensor:
        return functional.pad(x, self.padding, value=self.value)


class ReplicationPad2d(Module):
    """The edges repeated on the four sides of [..., h, w]."""

    def __init__(self, padding: Extents) -> None:
        self.padding = _extents(padding, 4, f"{type(self).__name__}: padding")

    def forward(self, x: Tensor) -> Tensor:
        return functional.pad(x, self.padding, "replicate")


class Softmax(Module):
    def __init__(self, dim: int = -1) -> None:
        self.dim = dim

    def forward(self, x: Tensor) -> Tensor:
        return x.softmax(self.dim)


class LogSoftmax(Module):
    def __init__(self, dim: int = -1) -> None:
        self.dim = dim

    def forward(self, x: Tensor) -> Tensor:
        return x.log_softmax(self.dim)


class Sigmoid(Module):
    def forward(self, x: Tensor) -> Tensor:
        return x.sigmoid()


class Tanh(Module):
    def forward(self, x: Tensor) -> Tensor:
        return x.tanh()


class Flatten(Module):
    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, x: Tensor) -> Tensor:
        return x.flatten(self.start_dim, self.end_dim)


class _Recurrent(Module):
    gates = 1

    def __init__(self, features: int, hidden: int, num_layers: int = 1, *, bidirectional: bool = False, dropout: float = 0.0,
                 dtype: DType | str | None = None, device: Device | str | None = None) -> None:
        _check_sizes(type(self).__name__, features=features, hidden=hidden, num_layers=num_layers)
        _check_count(type(self).__name__, num_layers)
        bound = 1 / math.sqrt(hidden)
        directions = ("", "_reverse") if bidirectional else ("",)
        for layer in range(num_layers):
            inputs = features if layer == 0 else hidden * len(directions)
            for direction in directions:
                for name, shape in (("weight_ih", (self.gates * hidden, inputs)), ("weight_hh", (self.gates * hidden, hidden)),
                                    ("bias_ih", (self.gates * hidden,)), ("bias_hh", (self.gates * hidden,))):
                    setattr(self, f"{name}_l{layer}{direction}", _uniform(shape, bound, dtype, device))
        self.hidden, self.num_layers, self.directions, self.dropout = hidden, num_layers, directions, dropout

    def _weights(self, name: str) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        return (getattr(self, f"weight_ih_{name}"), getattr(self, f"weight_hh_{name}"), getattr(self, f"bias_ih_{name}"),
                getattr(self, f"bias_hh_{name}"))

    def _step(self, inputs: Tensor, state: tuple[Tensor, ...], weight: Tensor, bias: Tensor) -> tuple[Tensor, ...]:
        """The state after a step; the first part is the output."""
        raise NotImplementedError

    def _run(self, x: Tensor, states: list[tuple[Tensor, ...]]) -> tuple[Tensor, list[tuple[Tensor, ...]]]:
        """All layers and directions; a state for each, in PyTorch's order."""
        last = []
        for layer in range(self.num_layers):
            outputs = []
            for place, direction in enumerate(self.directions):
                weight_ih, weight_hh, bias_ih, bias_hh = self._weights(f"l{layer}{direction}")
                inputs = linear(x, weight_ih, bias_ih)
                state = states[layer * len(self.directions) + place]
                order = range(x.shape[1])
                made = []
                for step in reversed(order) if direction else order:
                    state = self._step(inputs[:, step], state, weight_hh, bias_hh)
                    made.append(state[0])
                outputs.append(_wick.stack(made[::-1] if direction else made, 1))
                last.append(state)
            x = outputs[0] if len(outputs) == 1 else _wick.cat(outputs, -1)
            if self.dropout and self.training and layer + 1 < self.num_layers:
                x = dropout(x, self.dropout)
        return x, last

    def _first(self, x: Tensor, given: tuple[Tensor, ...] | None, parts: int) -> list[tuple[Tensor, ...]]:
        count = self.num_layers * len(self.directions)
        if given is None:
            zeros = _wick.zeros((x.shape[0], self.hidden), x.dtype, x.device)
            return [(zeros,) * parts] * count
        if count == 1 and given[0].ndim == 2:
            return [given]
        return [tuple(part[place] for part in given) for place in range(count)]

    def _last(self, states: list[tuple[Tensor, ...]]) -> tuple[Tensor, ...]:
        return states[0] if len(states) == 1 else tuple(_wick.stack(list(parts), 0) for parts in zip(*states))


class LSTM(_Recurrent):
    """x [batch, steps, features] to ([batch, steps, hidden × directions], (h, c)). Gates and weights as PyTorch has them; h and c are
    [batch, hidden], with several layers or directions [layers × directions, batch, hidden]."""

    gates = 4

    def _step(self, inputs: Tensor, state: tuple[Tensor, ...], weight: Tensor, bias: Tensor) -> tuple[Tensor, ...]:
        h, c = state
        i, f, g, o = (inputs + linear(h, weight, bias)).chunk(4, -1)
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        return o.sigmoid() * c.tanh(), c

    def forward(self, x: Tensor, state: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        made, states = self._run(x, self._first(x, state, 2))
        h, c = self._last(states)
        return made, (h, c)


class GRU(_Recurrent):
    """x [batch, steps, features] to ([batch, steps, hidden × directions], h). Gates and weights as PyTorch has them."""

    gates = 3

    def _step(self, inputs: Tensor, state: tuple[Tensor, ...], weight: Tensor, bias: Tensor) -> tuple[Tensor, ...]:
        (h,) = state
        from_input, from_state = inputs.chunk(3, -1), linear(h, weight, bias).chunk(3, -1)
        r, z = ((a + b).sigmoid() for a, b in zip(from_input[:2], from_state[:2]))
        n = (from_input[2] + r * from_state[2]).tanh()
        return ((1.0 - z) * n + z * h,)

    def forward(self, x: Tensor, state: Tensor | None = None) -> tuple[Tensor, Tensor]:
        made, states = self._run(x, self._first(x, None if state is None else (state,), 1))
        return made, self._last(states)[0]


class MultiheadAttention(Module):
    """Self-attention of x [batch, tokens, width] with `heads` heads; `kv_heads` of keys and values may be fewer."""

    def __init__(self, width: int, heads: int, kv_heads: int | None = None, bias: bool = True, *, causal: bool = False,
                 dtype: DType | str | None = None, device: Device | str | None = None) -> None:
        kv = heads if kv_heads is None else kv_heads
        _check_sizes("MultiheadAttention", width=width, heads=heads, kv_heads=kv)
        if width % heads or heads % kv:
            raise ValueError(f"MultiheadAttention: width {width} must be a multiple of heads {heads}, and heads of kv_heads {kv}")
        self.heads, self.kv_heads, self.head_dim, self.causal = heads, kv, width // heads, causal
        self.q_proj = Linear(width, width, bias, dtype=dtype, device=device)
        self.k_proj = Linear(width, kv * self.head_dim, bias, dtype=dtype, device=device)
        self.v_proj = Linear(width, kv * self.head_dim, bias, dtype=dtype, device=device)
        self.o_proj = Linear(width, width, bias, dtype=dtype, device=device)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        batch, tokens, width = x.shape

        def split(projected: Tensor, heads: int) -> Tensor:
            return projected.reshape(batch, tokens, heads, self.head_dim).transpose(1, 2)

        mixed = scaled_dot_product_attention(split(self.q_proj(x), self.heads), split(self.k_proj(x), self.kv_heads),
                                             split(self.v_proj(x), self.kv_heads), causal=self.causal, mask=mask)
        made: Tensor = self.o_proj(mixed.transpose(1, 2).reshape(batch, tokens, width))
        return made


class TransformerEncoderLayer(Module):
    """Self-attention and two linear layers, each with a residual connection and a LayerNorm: x [batch, tokens, d_model].

    norm_first: the norms stand before attention and linear layers, not after the sums. activation: "relu" or "gelu".
    """

    def __init__(self, d_model: int, nhead: int, dim_feedforward: int = 2048, dropout: float = 0.1, activation: str = "relu",
                 layer_norm_eps: float = 1e-5, norm_first: bool = False, bias: bool = True, *, causal: bool = False,
                 dtype: DType | str | None = None, device: Device | str | None = None) -> None:
        if activation not in ("relu", "gelu"):
            raise ValueError(f"TransformerEncoderLayer: activation is 'relu' or 'gelu', not {activation!r}")
        self.self_attn = MultiheadAttention(d_model, nhead, bias=bias, causal=causal, dtype=dtype, device=device)
        self.linear1 = Linear(d_model, dim_feedforward, bias, dtype=dtype, device=device)
        self.linear2 = Linear(dim_feedforward, d_model, bias, dtype=dtype, device=device)
        self.norm1 = LayerNorm(d_model, layer_norm_eps, dtype=dtype, device=device)
        self.norm2 = LayerNorm(d_model, layer_norm_eps, dtype=dtype, device=device)
        self.dropout = Dropout(dropout)
        self.activation, self.norm_first = activation, norm_first

    def _feed_forward(self, x: Tensor) -> Tensor:
        hidden = self.linear1(x)
        hidden = hidden.relu() if self.activation == "relu" else hidden.gelu()
        made: Tensor = self.dropout(self.linear2(self.dropout(hidden)))
        return made

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        made: Tensor
        if self.norm_first:
            made = x + self.dropout(self.self_attn(self.norm1(x), mask))
            return made + self._feed_forward(self.norm2(made))
        made = self.norm1(x + self.dropout(self.self_attn(x, mask)))
        last: Tensor = self.norm2(made + self._feed_forward(made))
        return last


class TransformerEncoder(Module):
    """num_layers layers with weights of their own, made as the one that is given, and a norm after the last where one is given."""

    def __init__(self, encoder_layer: Module, num_layers: int, norm: Module | None = None) -> None:
        import copy

        _check_count("TransformerEncoder", num_layers)
        self.layers = ModuleList(copy.deepcopy(encoder_layer) for _ in range(num_layers))
        self.norm = norm

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        for layer in self.layers:
            x = layer(x, mask)
        return x if self.norm is None else self.norm(x)


# --- Batches ---


def collate(samples: list[Any]) -> Any:
    """A batch of samples: tensors, arrays and numbers are stacked, tuples, lists and dicts by their parts, anything else is a list.
    PyTorch's DataLoader takes it as collate_fn."""
    try:
        return _collated(samples)
    except RecursionError:
        raise ValueError("collate: a sample holds itself") from None


def _collated(samples: list[Any]) -> Any:
    first = samples[0]
    if isinstance(first, Tensor):
        return _wick.stack(samples)
    if isinstance(first, Mapping):
        return {key: _collated([sample[key] for sample in samples]) for key in first}
    if isinstance(first, (tuple, list)):
        if any(len(sample) != len(first) for sample in samples):
            raise ValueError("collate: samples of a batch have the same number of parts")
        return tuple(_collated(list(parts)) for parts in zip(*samples))
    if isinstance(first, (bool, int, float)):
        return _wick.tensor(samples)
    return _wick.stack([_wick.asarray(sample) for sample in samples]) if hasattr(first, "__array__") else samples


class DataLoader:
    """Batches of a dataset: for inputs, targets in DataLoader(x, y, batch_size=64, shuffle=True).

    data: tensors that agree in their first dimension; or one object with samples, which has __len__ and __getitem__, as PyTorch's
    datasets have.
    seed: of the order; by default each loader draws one, which manual_seed determines. collate_fn: makes a batch of a list of samples.
    """

    def __init__(self, *data: Any, batch_size: int = 64, shuffle: bool = False, seed: int | None = None, drop_last: bool = False,
                 collate_fn: Callable[[list[Any]], Any] = collate) -> None:
        if batch_size < 1:
            raise ValueError(f"DataLoader: batch_size must be at least 1, got {batch_size}")
        self.dataset = data[0] if len(data) == 1 and not isinstance(data[0], Tensor) else None
        if self.dataset is not None and not (hasattr(self.dataset, "__len__") and hasattr(self.dataset, "__getitem__")):
            raise TypeError(f"DataLoader: {type(self.dataset).__name__} has no __len__ and __getitem__; give tensors, or a list of samples")
        if self.dataset is None and (not data or any(not isinstance(x, Tensor) or x.ndim == 0 or len(x) != len(data[0]) for x in data)):
            raise ValueError("DataLoader: give tensors that agree in their first dimension")
        self.tensors, self.batch_size, self.shuffle, self.drop_last = data, batch_size, shuffle, drop_last
        self.collate_fn = collate_fn
        self._seed, self._pass = _wick.draw_seed() if seed is None and shuffle else seed or 0, 0

    def _size(self) -> int:
        return len(self.tensors[0] if self.dataset is None else self.dataset)

    def __len__(self) -> int:
        size = self._size()
        return size // self.batch_size if self.drop_last else -(-size // self.batch_size)

    def __iter__(self) -> Iterator[Any]:
        size = self._size()
        numbers: Sequence[int] = range(size)
        if self.shuffle:
            import random

            numbers = list(numbers)
            random.Random(self._seed + self._pass).shuffle(numbers)
            self._pass += 1
        order = _wick.tensor(numbers, "i64", self.tensors[0].device) if self.shuffle and self.dataset is None else None
        for batch in range(len(self)):
            first = batch * self.batch_size
            last = min(first + self.batch_size, size)
            if self.dataset is not None:
                yield self.collate_fn([self.dataset[index] for index in numbers[first:last]])
            elif order is None:
                yield tuple(x[first:last] for x in self.tensors)
            else:
                ids = order[first:last]
                yield tuple(x.index_select(ids, 0) for x in self.tensors)


from . import functional, init, utils  # noqa: E402
