"""candle.nn: modules whose attributes that are tensors are buffers."""
from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from .. import _wick, nn as _nn
from .._wick import DType
from ._tensor import QTensor, Tensor


class StateDict(OrderedDict[str, Any]):
    """Buffers by their paths."""

    _metadata: dict[str, Any]


class Module:
    """A function with buffers and modules of its own."""

    def __init__(self) -> None:
        object.__setattr__(self, "_modules", OrderedDict())
        object.__setattr__(self, "_buffers", OrderedDict())
        object.__setattr__(self, "_quantizable_buffers", set())

    def __call__(self, *arguments: Any) -> Any:
        return self.forward(*arguments)

    def forward(self, *arguments: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} has no forward")

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, Module):
            self._modules[name] = value
        elif isinstance(value, QTensor):
            # Only who says so takes quantized tensors, and of these no plain ones.
            is_quantized = value._tensor.dtype.is_quantized
            self._buffers[name] = value if name in self._quantizable_buffers and is_quantized else _dequantized(value)
        elif isinstance(value, Tensor):
            self._buffers[name] = value
        else:
            object.__setattr__(self, name, value)

    def __getattr__(self, name: str) -> Any:
        for kind in ("_modules", "_buffers"):
            members = self.__dict__.get(kind, {})
            if name in members:
                return members[name]
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")

    def __delattr__(self, name: str) -> None:
        for members in (self._modules, self._buffers):
            if name in members:
                del members[name]
                return
        object.__delattr__(self, name)

    def register_module(self, name: str, module: Module) -> None:
        self._modules[name] = module

    add_module = register_module

    def children(self) -> Iterator[Module]:
        yield from self._modules.values()

    def named_children(self) -> Iterator[tuple[str, Module]]:
        yield from self._modules.items()

    def modules(self) -> Iterator[Module]:
        for _, module in self.named_modules():
            yield module

    def named_modules(self, prefix: str = "") -> Iterator[tuple[str, Module]]:
        yield prefix, self
        for name, module in self._modules.items():
            yield from module.named_modules(f"{prefix}.{name}" if prefix else name)

    def named_buffers(self, prefix: str = "", recurse: bool = True) -> Iterator[tuple[str, Any]]:
        for path, module in self.named_modules(prefix) if recurse else [(prefix, self)]:
            for name, buffer in module._buffers.items():
                yield f"{path}.{name}" if path else name, buffer

    def buffers(self, recurse: bool = True) -> Iterator[Any]:
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    def state_dict(self, prefix: str = "") -> StateDict:
        made = StateDict((prefix + name, buffer) for name, buffer in self.named_buffers())
        made._metadata = {name: {} for name, _ in self.named_modules()}
        return made

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True) -> tuple[list[str], list[str]]:
        """(missing keys, unexpected keys). Raises RuntimeError for shapes that differ, and with strict for either."""
        own = dict(self.named_buffers())
        missing, unexpected = [key for key in own if key not in state_dict], [key for key in state_dict if key not in own]
        faults = [f"size mismatch for {key}: {state_dict[key].shape} in the state, {own[key].shape} in the model"
                  for key in own if key in state_dict and state_dict[key].shape != own[key].shape]
        if strict and missing:
            faults.append("Missing key(s) in state_dict: " + ", ".join(f'"{key}"' for key in missing) + ".")
        if strict and unexpected:
            faults.append("Unexpected key(s) in state_dict: " + ", ".join(f'"{key}"' for key in unexpected) + ".")
        if faults:
            raise RuntimeError(f"loading {type(self).__name__}: " + "; ".join(faults))
        for path, module in self.named_modules():
            for name in list(module._buffers):
                key = f"{path}.{name}" if path else name
                if key in state_dict:
                    setattr(module, name, state_dict[key])
        return missing, unexpected

    def _apply(self, target: str | DType) -> Module:
        for _, module in self.named_modules():
            for name, buffer in module._buffers.items():
                if isinstance(buffer, QTensor):
                    raise NotImplementedError(f"{name}: a quantized buffer stays where it is, and what it is")
                module._buffers[name] = buffer.to(target)
        return self

    def device(self) -> str:
        for buffer in self.buffers():
            return buffer.device if isinstance(buffer, Tensor) else "cpu"
        return "cpu"

    def cuda(self) -> Module:
        return self._apply("cuda:0")

    def cpu(self) -> Module:
        return self._apply("cpu")

    def type(self, dst_type: DType | str) -> Module:
        return self._apply(dst_type)

    def to(self, *targets: DType | str, device: str | None = None, dtype: DType | str | None = None) -> Module:
        for target in (*targets, device, dtype):
            if target is not None:
                self._apply(target)
        return self


def _dequantized(value: QTensor) -> Tensor:
    return Tensor.of(value._tensor) if value.ggml_dtype == "F16" else value.dequantize()


class Sequential(Module):
    """Modules one after another."""

    def __init__(self, *modules: Module) -> None:
        super().__init__()
        given = modules[0].items() if len(modules) == 1 and isinstance(modules[0], Mapping) else ((str(i), m) for i, m in enumerate(modules))
        for name, module in given:
            self.register_module(name, module)

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Module]:
        return self.children()

    def __getitem__(self, index: int) -> Module:
        return list(self.children())[index]

    def append(self, module: Module) -> Sequential:
        self.register_module(str(len(self)), module)
        return self

    def forward(self, x: Any) -> Any:
        for module in self:
            x = module(x)
        return x


class ModuleList(Module):
    """A list of modules."""

    def __init__(self, modules: Iterable[Module] = ()) -> None:
        super().__init__()
        for module in modules:
            self.append(module)

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Module]:
        return self.children()

    def __getitem__(self, index: int) -> Module:
        return list(self.children())[index]

    def append(self, module: Module) -> ModuleList:
        self.register_module(str(len(self)), module)
        return self

    def extend(self, modules: Iterable[Module]) -> ModuleList:
        for module in modules:
            self.append(module)
        return self


class ModuleDict(Module):
    """Modules by names."""

    def __init__(self, modules: Mapping[str, Module] | None = None) -> None:
        super().__init__()
        for name, module in (modules or {}).items():
            self.register_module(name, module)

    def __getitem__(self, name: str) -> Module:
        found: Module = self._modules[name]
        return found

    def __setitem__(self, name: str, module: Module) -> None:
        self.register_module(name, module)

    def __len__(self) -> int:
        return len(self._modules)

    def __contains__(self, name: str) -> bool:
        return name in self._modules

    def keys(self) -> Iterable[str]:
        return list(self._modules)

    def items(self) -> Iterable[tuple[str, Module]]:
        return list(self._modules.items())


class Linear(Module):
    """x · weightᵀ + bias. The weight [out, in] may be quantized."""

    def __init__(self, in_features: int, out_features: int, bias: bool = True, device: str | None = None, dtype: DType | str | None = None) -> None:
        super().__init__()
        self._quantizable_buffers.add("weight")
        bound = in_features**-0.5
        self.weight = Tensor.of(_wick.rand((out_features, in_features), dtype, device, low=-bound, high=bound))
        self.bias = Tensor.of(_wick.rand((out_features,), dtype, device, low=-bound, high=bound)) if bias else None

    def forward(self, x: Tensor) -> Tensor:
        y = Tensor.of(_nn.linear(x._tensor, self.weight._tensor))
        return y if self.bias is None else y + self.bias


class Embedding(Module):
    """Rows of a table [num_embeddings, embedding_dim] by number."""

    def __init__(self, num_embeddings: int, embedding_dim: int, device: str | None = None) -> None:
        super().__init__()
        self.weight = Tensor.of(_wick.randn((num_embeddings, embedding_dim), device=device))

    def forward(self, indexes: Tensor) -> Tensor:
        return Tensor.of(self.weight._tensor.embedding(indexes._tensor))


class LayerNorm(Module):
    """(x - mean) / √(variance + eps) · weight + bias along the last dimension."""

    def __init__(self, normalized_shape: int | tuple[int, ...], eps: float = 1e-5, bias: bool = True, device: str | None = None,
                 dtype: DType | str | None = None) -> None:
        super().__init__()
        shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        self.eps = eps
        self.weight = Tensor.of(_wick.ones(shape, dtype, device))
        self.bias = Tensor.of(_wick.zeros(shape, dtype, device)) if bias else None

    def forward(self, x: Tensor) -> Tensor:
        centred = x._tensor - x._tensor.mean(-1, True)
        y = Tensor.of(centred / (centred.sqr().mean(-1, True) + self.eps).sqrt()) * self.weight
        return y if self.bias is None else y + self.bias
