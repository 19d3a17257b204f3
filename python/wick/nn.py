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
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from . import _wick
from ._wick import Device, DType, Tensor, Var
from ._wick._nn import (
    Optimizer,
    adam as _adam,
    batch_norm,
    binary_cross_entropy_with_logits,
    cross_entropy,
    dropout,
    group_norm,
    hard_sigmoid,
    hard_swish,
    huber_loss,
    layer_norm,
    leaky_relu,
    linear,
    load_mnist,
    mish,
    mse_loss,
    nll_loss,
    rms_norm,
    rope,
    scaled_dot_product_attention,
    sgd as _sgd,
    softplus,
    swiglu,
)

__all__ = [
    "Adam", "AdamW", "BatchNorm", "Conv1d", "Conv2d", "DataLoader", "Dropout", "Embedding", "Flatten", "GELU", "GRU", "GroupNorm", "Identity",
    "LSTM", "LayerNorm", "Linear", "Module", "ModuleList", "MultiheadAttention", "Optimizer", "RMSNorm", "ReLU", "SGD", "Sequential", "SiLU",
    "Sigmoid", "Tanh", "batch_norm", "binary_cross_entropy_with_logits", "cross_entropy", "dropout", "group_norm", "hard_sigmoid",
    "hard_swish", "huber_loss", "layer_norm", "leaky_relu", "linear", "load_mnist", "mish", "mse_loss", "nll_loss", "rms_norm", "rope",
    "scaled_dot_product_attention", "softplus", "swiglu",
]


class Module:
    """A function of tensors with variables of its own. Attributes that are a Var or a Module belong to it."""

    training: bool = True

    def forward(self, *arguments: Any, **options: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} has no forward")

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        return self.forward(*arguments, **options)

    # Names of variables that are saved and loaded, but not trained.
    _buffers: tuple[str, ...] = ()

    def children(self) -> Iterator[tuple[str, Module]]:
        """The modules right below this one, by name."""
        for name, value in vars(self).items():
            if isinstance(value, Module):
                yield name, value

    def named_tensors(self, prefix: str = "") -> Iterator[tuple[str, Var, bool]]:
        """Every variable with its name, and whether it is trained."""
        for name, value in vars(self).items():
            if isinstance(value, Var):
                yield prefix + name, value, name not in self._buffers
        for name, child in self.children():
            yield from child.named_tensors(f"{prefix}{name}.")

    def named_parameters(self) -> Iterator[tuple[str, Var]]:
        for name, value, trained in self.named_tensors():
            if trained:
                yield name, value

    def parameters(self) -> list[Var]:
        """The variables that are trained, each once."""
        return list({id(value): value for _, value in self.named_parameters()}.values())

    def state_dict(self) -> dict[str, Tensor]:
        """Variables and buffers by name. They share the module's memory: copy what must outlive the next step."""
        return {name: value.detach() for name, value, _ in self.named_tensors()}

    def load_state_dict(self, values: Mapping[str, Tensor]) -> None:
        """Overwrites all variables and buffers. Raises KeyError for names that are missing or too many, ValueError for shapes."""
        own = {name: value for name, value, _ in self.named_tensors()}
        missing, foreign = sorted(set(own) - set(values)), sorted(set(values) - set(own))
        if missing or foreign:
            raise KeyError(f"load_state_dict: missing: {missing or 'none'}; not of this module: {foreign or 'none'}")
        for name, variable in own.items():
            if variable.shape != values[name].shape:
                raise ValueError(f"load_state_dict: {name} is {variable.shape}, the value {values[name].shape}")
        for name, variable in own.items():
            variable.set(values[name].detach().to(dtype=variable.dtype, device=variable.device))

    def train(self, mode: bool = True) -> Module:
        """Sets the mode of this module and of all below it."""
        self.training = mode
        for _, child in self.children():
            child.train(mode)
        return self

    def eval(self) -> Module:
        return self.train(False)

    def zero_grad(self) -> None:
        for variable in self.parameters():
            variable.grad = None

    def __repr__(self) -> str:
        inner = ", ".join(f"{name}={child!r}" for name, child in self.children())
        return f"{type(self).__name__}({inner})"


def _uniform(shape: tuple[int, ...], bound: float, dtype: DType | str | None, device: Device | str | None) -> Var:
    return Var(_wick.rand(shape, dtype, device, low=-bound, high=bound))


def _check_sizes(layer: str, **sizes: object) -> None:
    for name, size in sizes.items():
        if not hasattr(size, "__index__"):
            raise TypeError(f"{layer}: {name} must be an int, got {type(size).__name__}")
        if operator.index(size) < 1:
            raise ValueError(f"{layer}: {name} must be at least 1, got {size}")


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


class _Conv(Module):
    def __init__(self, channels: tuple[int, int], kernel: tuple[int, ...], padding: int, stride: int, dilation: int, groups: int, bias: bool,
                 dtype: DType | str | None, device: Device | str | None) -> None:
        name = type(self).__name__
        _check_sizes(name, in_channels=channels[0], out_channels=channels[1], kernel_size=kernel[0], stride=stride, dilation=dilation, groups=groups)
        if channels[0] % groups or channels[1] % groups:
            raise ValueError(f"{name}: channels {channels[0]} and {channels[1]} must be multiples of groups {groups}")
        shape = (channels[1], channels[0] // groups, *kernel)
        bound = 1 / math.sqrt(math.prod(shape[1:]))
        self.weight = _uniform(shape, bound, dtype, device)
        self.bias = _uniform(shape[:1], bound, dtype, device) if bias else None
        self.padding, self.stride, self.dilation, self.groups = padding, stride, dilation, groups

    def _biased(self, x: Tensor) -> Tensor:
        return x if self.bias is None else x + self.bias.reshape(-1, *[1] * (x.ndim - 2))


class Conv1d(_Conv):
    """[batch, in_channels, length] to [batch, out_channels, length']."""

    def __init__(self, in_channels: int, out_channels: int, kernel_size: int, stride: int = 1, padding: int = 0, dilation: int = 1,
                 groups: int = 1, bias: bool = True, *, dtype: DType | str | None = None, device: Device | str | None = None) -> None:
        super().__init__((in_channels, out_channels), (kernel_size,), padding, stride, dilation, groups, bias, dtype, device)

    def forward(self, x: Tensor) -> Tensor:
        return self._biased(x.conv1d(self.weight, self.padding, self.stride, self.dilation, self.groups))


class Conv2d(_Conv):
    """[batch, in_channels, h, w] to [batch, out_channels, h', w']; the kernel is square."""

    def __init__(self, in_channels: int, out_channels: int, kernel_size: int, stride: int = 1, padding: int = 0, dilation: int = 1,
                 groups: int = 1, bias: bool = True, *, dtype: DType | str | None = None, device: Device | str | None = None) -> None:
        super().__init__((in_channels, out_channels), (kernel_size, kernel_size), padding, stride, dilation, groups, bias, dtype, device)

    def forward(self, x: Tensor) -> Tensor:
        return self._biased(x.conv2d(self.weight, self.padding, self.stride, self.dilation, self.groups))


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


class Dropout(Module):
    """In training elements become 0 with probability p, and the others grow so that the expectation stays."""

    def __init__(self, p: float = 0.5) -> None:
        if not 0 <= p < 1:
            raise ValueError(f"Dropout: p must be at least 0 and below 1, got {p}")
        self.p = p

    def forward(self, x: Tensor) -> Tensor:
        return dropout(x, self.p) if self.training and self.p > 0 else x


class Identity(Module):
    def forward(self, x: Tensor) -> Tensor:
        return x


class ReLU(Module):
    def forward(self, x: Tensor) -> Tensor:
        return x.relu()


class GELU(Module):
    """x / 2 · (1 + erf(x / √2)); with approximate="tanh" its approximation."""

    def __init__(self, approximate: str = "none") -> None:
        self.approximate = approximate

    def forward(self, x: Tensor) -> Tensor:
        return x.gelu() if self.approximate == "tanh" else x.gelu_erf()


class SiLU(Module):
    def forward(self, x: Tensor) -> Tensor:
        return x.silu()


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


class ModuleList(Module):
    """Modules by number: their tensors are called 0.weight, 1.weight …"""

    def __init__(self, modules: Iterable[Module] = ()) -> None:
        self._list = list(modules)

    def children(self) -> Iterator[tuple[str, Module]]:
        for index, module in enumerate(self._list):
            yield str(index), module

    def append(self, module: Module) -> None:
        self._list.append(module)

    def __len__(self) -> int:
        return len(self._list)

    def __iter__(self) -> Iterator[Module]:
        return iter(self._list)

    def __getitem__(self, index: int) -> Module:
        return self._list[index]


class Sequential(ModuleList):
    """Each module is given what the one before it gave."""

    def __init__(self, *modules: Module) -> None:
        super().__init__(modules)

    def forward(self, x: Any) -> Any:
        for module in self._list:
            x = module(x)
        return x


class _Recurrent(Module):
    gates = 1

    def __init__(self, features: int, hidden: int, *, dtype: DType | str | None = None, device: Device | str | None = None) -> None:
        _check_sizes(type(self).__name__, features=features, hidden=hidden)
        bound = 1 / math.sqrt(hidden)
        self.weight_ih_l0 = _uniform((self.gates * hidden, features), bound, dtype, device)
        self.weight_hh_l0 = _uniform((self.gates * hidden, hidden), bound, dtype, device)
        self.bias_ih_l0 = _uniform((self.gates * hidden,), bound, dtype, device)
        self.bias_hh_l0 = _uniform((self.gates * hidden,), bound, dtype, device)
        self.hidden = hidden

    def _zeros(self, x: Tensor) -> Tensor:
        return _wick.zeros((x.shape[0], self.hidden), x.dtype, x.device)


class LSTM(_Recurrent):
    """x [batch, steps, features] to ([batch, steps, hidden], (h, c)). Gates and weights as PyTorch has them."""

    gates = 4

    def forward(self, x: Tensor, state: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        h, c = state if state is not None else (self._zeros(x), self._zeros(x))
        inputs = linear(x, self.weight_ih_l0, self.bias_ih_l0)
        outputs = []
        for step in range(x.shape[1]):
            i, f, g, o = (inputs[:, step] + linear(h, self.weight_hh_l0, self.bias_hh_l0)).chunk(4, -1)
            c = f.sigmoid() * c + i.sigmoid() * g.tanh()
            h = o.sigmoid() * c.tanh()
            outputs.append(h)
        return _wick.stack(outputs, 1), (h, c)


class GRU(_Recurrent):
    """x [batch, steps, features] to ([batch, steps, hidden], h). Gates and weights as PyTorch has them."""

    gates = 3

    def forward(self, x: Tensor, state: Tensor | None = None) -> tuple[Tensor, Tensor]:
        h = state if state is not None else self._zeros(x)
        inputs = linear(x, self.weight_ih_l0, self.bias_ih_l0)
        outputs = []
        for step in range(x.shape[1]):
            from_input = inputs[:, step].chunk(3, -1)
            from_state = linear(h, self.weight_hh_l0, self.bias_hh_l0).chunk(3, -1)
            r, z = ((a + b).sigmoid() for a, b in zip(from_input[:2], from_state[:2]))
            n = (from_input[2] + r * from_state[2]).tanh()
            h = (1.0 - z) * n + z * h
            outputs.append(h)
        return _wick.stack(outputs, 1), h


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


# --- Optimizers: classes whose objects are the library's own ---


def SGD(parameters: Iterable[Var], lr: float = 1e-2, momentum: float = 0, dampening: float = 0, weight_decay: float = 0,
        nesterov: bool = False) -> Optimizer:
    """Gradient descent, as PyTorch defines it. `step` takes what backward returned, or the variables' grad."""
    return _sgd(list(parameters), lr, momentum, dampening, weight_decay, nesterov)


def Adam(parameters: Iterable[Var], lr: float = 1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
         weight_decay: float = 0) -> Optimizer:
    """Adam (Kingma & Ba 2015)."""
    return _adam(list(parameters), lr, betas, eps, weight_decay, False)


def AdamW(parameters: Iterable[Var], lr: float = 1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
          weight_decay: float = 1e-2) -> Optimizer:
    """Adam with a weight decay of its own (Loshchilov & Hutter 2019)."""
    return _adam(list(parameters), lr, betas, eps, weight_decay, True)


class DataLoader:
    """Batches of tensors that agree in their first dimension: for inputs, targets in DataLoader(x, y, batch_size=64, shuffle=True).

    seed: of the order; by default each loader draws one, which manual_seed determines.
    """

    def __init__(self, *tensors: Tensor, batch_size: int = 64, shuffle: bool = False, seed: int | None = None,
                 drop_last: bool = False) -> None:
        if batch_size < 1:
            raise ValueError(f"DataLoader: batch_size must be at least 1, got {batch_size}")
        if not tensors or any(x.ndim == 0 or x.shape[0] != tensors[0].shape[0] for x in tensors):
            raise ValueError("DataLoader: give tensors that agree in their first dimension")
        self.tensors, self.batch_size, self.shuffle, self.drop_last = tensors, batch_size, shuffle, drop_last
        self._seed, self._pass = _wick.draw_seed() if seed is None and shuffle else seed or 0, 0

    def __len__(self) -> int:
        size = self.tensors[0].shape[0]
        return size // self.batch_size if self.drop_last else -(-size // self.batch_size)

    def __iter__(self) -> Iterator[tuple[Tensor, ...]]:
        size = self.tensors[0].shape[0]
        order: Tensor | None = None
        if self.shuffle:
            import random

            numbers = list(range(size))
            random.Random(self._seed + self._pass).shuffle(numbers)
            self._pass += 1
            order = _wick.tensor(numbers, "i64", self.tensors[0].device)
        for batch in range(len(self)):
            first = batch * self.batch_size
            last = min(first + self.batch_size, size)
            if order is None:
                yield tuple(x[first:last] for x in self.tensors)
            else:
                ids = order[first:last]
                yield tuple(x.index_select(ids, 0) for x in self.tensors)
