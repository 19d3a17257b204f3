"""Modules: functions of tensors with variables of their own."""
from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from .._wick import Device, DType, Tensor, Var


class IncompatibleKeys(NamedTuple):
    """Names that load_state_dict(strict=False) found on one side only."""

    missing_keys: list[str]
    unexpected_keys: list[str]


class HookHandle:
    """A hook of a module, until remove is called."""

    def __init__(self, module: Module, name: str, hook: Callable[..., Any]) -> None:
        self._module, self._name = module, name
        setattr(module, name, {**getattr(module, name), id(self): hook})

    def remove(self) -> None:
        setattr(self._module, self._name, {key: hook for key, hook in getattr(self._module, self._name).items() if key != id(self)})

    def __enter__(self) -> HookHandle:
        return self

    def __exit__(self, *exception: object) -> None:
        self.remove()


class Module:
    """A function of tensors with variables of its own. Attributes that are a Var or a Module belong to it."""

    training: bool = True

    def forward(self, *arguments: Any, **options: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} has no forward")

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        for before in list(self._forward_pre_hooks.values()):
            changed = before(self, arguments)
            if changed is not None:
                arguments = changed if isinstance(changed, tuple) else (changed,)
        result = self.forward(*arguments, **options)
        for after in list(self._forward_hooks.values()):
            changed = after(self, arguments, result)
            if changed is not None:
                result = changed
        return result

    _forward_pre_hooks: Mapping[int, Callable[..., Any]] = {}
    _forward_hooks: Mapping[int, Callable[..., Any]] = {}

    def register_forward_pre_hook(self, hook: Callable[[Any, tuple[Any, ...]], Any]) -> HookHandle:
        """Calls hook(module, arguments) before forward; what it returns, if anything, takes the place of the arguments."""
        return HookHandle(self, "_forward_pre_hooks", hook)

    def register_forward_hook(self, hook: Callable[[Any, tuple[Any, ...], Any], Any]) -> HookHandle:
        """Calls hook(module, arguments, result) after forward; what it returns, if anything, takes the place of the result."""
        return HookHandle(self, "_forward_hooks", hook)

    # Names of variables that are saved and loaded, but not trained.
    _buffers: tuple[str, ...] = ()

    def children(self) -> Iterator[tuple[str, Module]]:
        """The modules right below this one, by name."""
        for name, value in vars(self).items():
            if isinstance(value, Module):
                yield name, value

    def named_modules(self, prefix: str = "") -> Iterator[tuple[str, Module]]:
        """This module and all below it, by name; its own name is empty."""
        yield prefix, self
        for name, child in self.children():
            yield from child.named_modules(f"{prefix}.{name}" if prefix else name)

    def modules(self) -> Iterator[Module]:
        """This module and all below it."""
        for _, module in self.named_modules():
            yield module

    def named_tensors(self, prefix: str = "") -> Iterator[tuple[str, Tensor, bool]]:
        """Every variable and buffer with its name, and whether it is trained."""
        for name, value in vars(self).items():
            if isinstance(value, Var) or (isinstance(value, Tensor) and name in self._buffers):
                yield prefix + name, value, name not in self._buffers
        for name, child in self.children():
            yield from child.named_tensors(f"{prefix}{name}.")

    def named_parameters(self) -> Iterator[tuple[str, Var]]:
        for name, value, trained in self.named_tensors():
            if trained and isinstance(value, Var):
                yield name, value

    def parameters(self) -> list[Var]:
        """The variables that are trained, each once."""
        return list({id(value): value for _, value in self.named_parameters()}.values())

    def named_buffers(self) -> Iterator[tuple[str, Tensor]]:
        for name, value, trained in self.named_tensors():
            if not trained:
                yield name, value

    def buffers(self) -> list[Tensor]:
        return [value for _, value in self.named_buffers()]

    def register_buffer(self, name: str, tensor: Tensor) -> None:
        """An attribute that is saved, loaded and converted with the module, but not trained."""
        self._buffers = (*self._buffers, name)
        setattr(self, name, tensor)

    def state_dict(self) -> dict[str, Tensor]:
        """Variables and buffers by name. They share the module's memory: copy what must outlive the next step."""
        return {name: value.detach() for name, value, _ in self.named_tensors()}

    def load_state_dict(self, values: Mapping[str, Tensor], strict: bool = True) -> IncompatibleKeys:
        """Overwrites variables and buffers. Raises ValueError for shapes, and KeyError for names that are missing or too many; with
        strict=False these are returned."""
        own = {name: value for name, value, _ in self.named_tensors()}
        missing, foreign = sorted(set(own) - set(values)), sorted(set(values) - set(own))
        if strict and (missing or foreign):
            raise KeyError(f"load_state_dict: missing: {missing or 'none'}; not of this module: {foreign or 'none'}")
        found = {name: value for name, value in own.items() if name in values}
        for name, tensor in found.items():
            if tensor.shape != values[name].shape:
                raise ValueError(f"load_state_dict: {name} is {tensor.shape}, the value {values[name].shape}")
        for name, tensor in found.items():
            value = values[name].detach().to(dtype=tensor.dtype, device=tensor.device)
            if isinstance(tensor, Var):
                tensor.set(value)
            else:
                tensor.copy_(value)
        return IncompatibleKeys(missing, foreign)

    def to(self, target: DType | Device | str | None = None, *, dtype: DType | str | None = None,
           device: Device | str | None = None) -> Module:
        """Converts floats to a dtype, and moves all variables and buffers to a device. The variables are new ones: make the optimizer
        afterwards."""
        made: dict[int, Tensor] = {}
        for module in self.modules():
            for name, value in list(vars(module).items()):
                if not isinstance(value, Tensor) or not (isinstance(value, Var) or name in module._buffers):
                    continue
                if id(value) not in made:
                    probe = value.detach()
                    if isinstance(value, Var) or probe.dtype.name.startswith(("f", "bf")):
                        moved = probe.to(target, dtype=dtype, device=device)
                    else:
                        moved = probe.to(device=device) if target is None else probe
                    made[id(value)] = Var(moved) if isinstance(value, Var) else moved
                setattr(module, name, made[id(value)])
        return self

    def half(self) -> Module:
        return self.to(dtype="f16")

    def float(self) -> Module:
        return self.to(dtype="f32")

    def double(self) -> Module:
        return self.to(dtype="f64")

    def bfloat16(self) -> Module:
        return self.to(dtype="bf16")

    def apply(self, function: Callable[[Module], Any]) -> Module:
        """Calls function with every module below this one, and last with this one."""
        for _, child in self.children():
            child.apply(function)
        function(self)
        return self

    def requires_grad_(self, requires_grad: bool = True) -> Module:
        """With False: the variables become buffers, which are not trained."""
        for module in self.modules():
            names = tuple(name for name, value in vars(module).items() if isinstance(value, Var))
            module._buffers = type(module)._buffers if requires_grad else tuple(dict.fromkeys((*module._buffers, *names)))
        return self

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


class ModuleList(Module):
    """Modules by number: their tensors are called 0.weight, 1.weight …"""

    def __init__(self, modules: Iterable[Module] = ()) -> None:
        self._list = list(modules)

    def children(self) -> Iterator[tuple[str, Module]]:
        for index, module in enumerate(self._list):
            yield str(index), module

    def append(self, module: Module) -> None:
        self._list.append(module)

    def extend(self, modules: Iterable[Module]) -> None:
        self._list.extend(modules)

    def __len__(self) -> int:
        return len(self._list)

    def __iter__(self) -> Iterator[Module]:
        return iter(self._list)

    def __getitem__(self, index: int) -> Module:
        return self._list[index]


class ModuleDict(Module):
    """Modules by name."""

    def __init__(self, modules: Mapping[str, Module] | None = None) -> None:
        self._dict = dict(modules or {})

    def children(self) -> Iterator[tuple[str, Module]]:
        yield from self._dict.items()

    def __setitem__(self, name: str, module: Module) -> None:
        self._dict[name] = module

    def __getitem__(self, name: str) -> Module:
        return self._dict[name]

    def __contains__(self, name: object) -> bool:
        return name in self._dict

    def __len__(self) -> int:
        return len(self._dict)

    def __iter__(self) -> Iterator[str]:
        return iter(self._dict)

    def keys(self) -> Iterable[str]:
        return self._dict.keys()

    def values(self) -> Iterable[Module]:
        return self._dict.values()

    def items(self) -> Iterable[tuple[str, Module]]:
        return self._dict.items()


class Sequential(ModuleList):
    """Each module is given what the one before it gave."""

    def __init__(self, *modules: Module) -> None:
        super().__init__(modules)

    def forward(self, x: Any) -> Any:
        for module in self._list:
            x = module(x)
        return x
