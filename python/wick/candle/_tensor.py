"""candle's Tensor and QTensor over wick.Tensor: its names, its dtypes of results (comparisons are u8) and its errors."""
from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from typing import Any

from .. import _wick
from .._wick import Device, DType

# Methods that give a tensor, with tensors or numbers as arguments.
_METHODS = """abs contiguous copy cos detach exp flatten_all flatten_from flatten_to gather get index_select log matmul mean_all narrow powf recip
sin sqr sqrt squeeze t transpose unsqueeze tanh relu silu neg erf floor ceil log_sum_exp softmax max_keepdim min_keepdim
argmax_keepdim argmin_keepdim mean_keepdim broadcast_left where_cond affine maximum minimum scatter_add index_add""".split()
_KEEPDIM = {"argmax_keepdim": "argmax", "argmin_keepdim": "argmin", "max_keepdim": "amax", "min_keepdim": "amin"}


def _plain(x: Any) -> Any:
    """Arguments with wick's tensors instead of these."""
    if isinstance(x, Tensor):
        return x._tensor
    if isinstance(x, tuple):
        return tuple(_plain(one) for one in x)
    if isinstance(x, list):
        return [_plain(one) for one in x]
    return x


def _device_name(device: Device) -> str:
    """'cuda' for the first device of a kind, as candle has it."""
    return device.kind if device.index == 0 else str(device)


def _target(word: Any) -> DType | Device:
    """What an argument of to() names. Raises TypeError."""
    if isinstance(word, (DType, Device)):
        return word
    if isinstance(word, str):
        try:
            return DType(word)
        except TypeError:
            pass
        try:
            return Device(word)
        except _wick.InvalidArgumentError:
            pass
    raise TypeError(f"to: {word!r} is neither a dtype nor a device")


def shape_of(extents: tuple[Any, ...]) -> tuple[builtins.int, ...]:
    """(2, 3) or ((2, 3),). Raises TypeError, and OverflowError for negative extents."""
    given = extents[0] if len(extents) == 1 and isinstance(extents[0], (tuple, list)) else extents
    for extent in given:
        if isinstance(extent, builtins.bool) or not isinstance(extent, builtins.int):
            raise TypeError(f"an extent is an int, not {extent!r}")
        if extent < 0:
            raise OverflowError(f"an extent cannot be negative: {extent}")
    return tuple(given)


class Tensor:
    """candle.Tensor. `wick.asarray(x._tensor)` is the tensor inside."""

    _tensor: _wick.Tensor

    def __init__(self, data: Any) -> None:
        self._tensor = _wick.tensor(_plain(data))

    @classmethod
    def of(cls, tensor: _wick.Tensor) -> Tensor:
        made = cls.__new__(cls)
        made._tensor = tensor
        return made

    @property
    def shape(self) -> tuple[builtins.int, ...]:
        return self._tensor.shape

    @property
    def stride(self) -> tuple[builtins.int, ...]:
        return self._tensor.strides

    @property
    def dtype(self) -> DType:
        return self._tensor.dtype

    @property
    def device(self) -> str:
        return _device_name(self._tensor.device)

    @property
    def rank(self) -> builtins.int:
        return self._tensor.ndim

    @property
    def nelement(self) -> builtins.int:
        return self._tensor.size

    def is_contiguous(self) -> builtins.bool:
        return self._tensor.is_contiguous()

    def is_fortran_contiguous(self) -> builtins.bool:
        return self._tensor.is_fortran_contiguous()

    def values(self) -> Any:
        """The elements as nested lists; of a scalar, a number."""
        return self._tensor.tolist()

    def __repr__(self) -> str:
        return repr(self._tensor)

    def __hash__(self) -> builtins.int:
        return id(self) >> 4

    def __getitem__(self, index: Any) -> Tensor:
        return Tensor.of(self._tensor[_plain(index)])

    def __getattr__(self, name: str) -> Callable[..., Tensor]:
        if name not in _METHODS:
            raise AttributeError(f"candle.Tensor has no attribute {name!r}")
        method = getattr(self._tensor, _KEEPDIM.get(name, name))

        def call(*arguments: Any, **options: Any) -> Tensor:
            if name in _KEEPDIM:
                options["keepdim"] = True
            return Tensor.of(method(*_plain(arguments), **{key: _plain(value) for key, value in options.items()}))

        return call

    # --- What the package computes as PyTorch does, and candle otherwise ---

    def sum_all(self) -> Tensor:
        return Tensor.of(self._tensor.sum(dtype=self._tensor.dtype))

    def sum_keepdim(self, dims: Any) -> Tensor:
        return Tensor.of(self._tensor.sum(dims, True, dtype=self._tensor.dtype))

    def gelu(self) -> Tensor:
        """By the approximation with tanh."""
        return Tensor.of(self._tensor.gelu("tanh"))

    def round(self) -> Tensor:
        """Halves away from zero."""
        return Tensor.of(self._tensor._round_half_away())

    # --- Operators: they broadcast ---

    def __add__(self, other: Any) -> Tensor:
        return Tensor.of(self._tensor + _plain(other))

    def __radd__(self, other: Any) -> Tensor:
        return Tensor.of(_plain(other) + self._tensor)

    def __sub__(self, other: Any) -> Tensor:
        return Tensor.of(self._tensor - _plain(other))

    def __rsub__(self, other: Any) -> Tensor:
        return Tensor.of(_plain(other) - self._tensor)

    def __mul__(self, other: Any) -> Tensor:
        return Tensor.of(self._tensor * _plain(other))

    def __rmul__(self, other: Any) -> Tensor:
        return Tensor.of(_plain(other) * self._tensor)

    def __truediv__(self, other: Any) -> Tensor:
        return Tensor.of(self._tensor / _plain(other))

    def __neg__(self) -> Tensor:
        return Tensor.of(-self._tensor)

    broadcast_add, broadcast_sub, broadcast_mul, broadcast_div = __add__, __sub__, __mul__, __truediv__

    def _compared(self, name: str, other: Any) -> Tensor:
        return Tensor.of(getattr(self._tensor, name)(_plain(other)).to("u8"))

    def __eq__(self, other: object) -> Tensor:  # type: ignore[override]
        return self._compared("eq", other)

    def __ne__(self, other: object) -> Tensor:  # type: ignore[override]
        return self._compared("ne", other)

    def __lt__(self, other: Any) -> Tensor:
        return self._compared("lt", other)

    def __le__(self, other: Any) -> Tensor:
        return self._compared("le", other)

    def __gt__(self, other: Any) -> Tensor:
        return self._compared("gt", other)

    def __ge__(self, other: Any) -> Tensor:
        return self._compared("ge", other)

    # --- Shapes, dtypes, devices ---

    def reshape(self, *shape: Any) -> Tensor:
        given = shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
        return Tensor.of(self._tensor.reshape(tuple(given)))

    def broadcast_as(self, *shape: Any) -> Tensor:
        return Tensor.of(self._tensor.broadcast_to(shape_of(shape)))

    def to_dtype(self, dtype: DType | str) -> Tensor:
        return Tensor.of(self._tensor.to(DType(dtype)))

    def to_device(self, device: Device | str) -> Tensor:
        return Tensor.of(self._tensor.to_device(device))

    def to(self, *arguments: Any, dtype: Any = None, device: Any = None, other: Tensor | None = None) -> Tensor:
        """to(dtype), to(device), to(device, dtype), to(other)."""
        wanted: dict[type, DType | Device] = {}
        words = [word for word in (*arguments, dtype, device) if word is not None]
        for word in [*words, *([other] if other is not None else [])]:
            targets: list[DType | Device] = [word._tensor.dtype, word._tensor.device] if isinstance(word, Tensor) else [_target(word)]
            for target in targets:
                if type(target) in wanted:
                    raise ValueError(f"to: {'a dtype' if isinstance(target, DType) else 'a device'} was given twice")
                wanted[type(target)] = target
        if not wanted:
            raise TypeError("to: give a dtype, a device or a tensor")
        made = self._tensor
        for target in wanted.values():
            made = made.to(target)
        return Tensor.of(made)

    def to_torch(self) -> Any:
        import torch  # type: ignore[import-not-found,unused-ignore]

        return torch.from_dlpack(self._tensor)

    def quantize(self, quantized_dtype: str) -> QTensor:
        """In a format of GGUF files: 'q4_0', 'q6k' …"""
        return QTensor(self._tensor.quantize(quantized_dtype))


class QTensor:
    """A tensor as GGUF files hold it: quantized, or f32 and f16."""

    def __init__(self, tensor: _wick.Tensor) -> None:
        self._tensor = tensor

    @property
    def ggml_dtype(self) -> str:
        """'Q4_0', 'Q6K', 'F32'."""
        return self._tensor.dtype.name.upper().replace("_K", "K")

    @property
    def shape(self) -> tuple[builtins.int, ...]:
        return self._tensor.shape

    @property
    def rank(self) -> builtins.int:
        return self._tensor.ndim

    def __repr__(self) -> str:
        return f"QTensor[{self.ggml_dtype}; {list(self.shape)}]"

    def dequantize(self) -> Tensor:
        return Tensor.of(self._tensor.to("f32"))

    def matmul_t(self, lhs: Tensor) -> Tensor:
        """lhs · this tensor transposed, without dequantizing the whole of it."""
        from .. import nn

        return Tensor.of(nn.linear(lhs._tensor, self._tensor))


def tensors_of(tensors: Sequence[Tensor]) -> list[_wick.Tensor]:
    return [one._tensor for one in tensors]
