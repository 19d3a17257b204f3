"""Optimizers and schedules of the learning rate, by PyTorch's names.

    optimizer = optim.AdamW(model.parameters(), lr=1e-3)
    schedule = optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=100)
"""
from __future__ import annotations

import math
import threading
from collections.abc import Iterable, Mapping
from typing import Any

from . import _wick, lr_scheduler
from ._wick import Gradients, Tensor, Var
from ._wick._nn import adam_step, sgd_step

__all__ = ["SGD", "Adadelta", "Adagrad", "Adam", "AdamW", "Adamax", "Lion", "Muon", "NAdam", "Optimizer", "RAdam", "RMSprop", "lr_scheduler"]

# A group of variables that are moved alike: "params", "lr" and the optimizer's other settings.
Group = dict[str, Any]
Parameters = Iterable[Var] | Iterable[Mapping[str, Any]]


class Optimizer:
    """Moves variables against their gradients.

    params: variables, or groups of them with settings of their own, as in PyTorch: [{"params": biases, "weight_decay": 0}, …].
    master_weights: of variables in bf16 and other narrow floats the optimizer keeps the weights in f32, moves those and rounds them into the
    variables, so that small steps are not lost; what else it keeps of them is f32, too.
    A subclass defines _moved.
    """

    def __init__(self, params: Parameters, *, master_weights: bool = False, **defaults: Any) -> None:
        self.defaults = {**defaults, "master_weights": master_weights}
        self.param_groups: list[Group] = []
        # What is kept of each variable, in the order of the groups.
        self.state: list[dict[str, Tensor]] = []
        self._busy = threading.Lock()
        if isinstance(params, Tensor):
            raise TypeError(f"{type(self).__name__}: params: expected a list of variables, got one tensor")
        given: list[Any] = list(params)
        for group in given if given and isinstance(given[0], Mapping) else [{"params": given}]:
            self.add_param_group(group)

    def add_param_group(self, group: Mapping[str, Any]) -> None:
        """More variables; settings that the group has not are the optimizer's."""
        name = type(self).__name__
        if not isinstance(group, Mapping) or "params" not in group:
            raise TypeError(f"{name}: a group is a dict with \"params\"")
        unknown = sorted(set(group) - {"params", *self.defaults})
        if unknown:
            raise TypeError(f"{name}: no setting {unknown[0]!r}; there are {', '.join(self.defaults)}")
        variables = [group["params"]] if isinstance(group["params"], Var) else list(group["params"])
        for variable in variables:
            if not isinstance(variable, Var):
                raise TypeError(f"{name}: expected variables, got {type(variable).__name__} among the parameters")
        known = {id(variable) for variable in self.variables}
        if any(id(variable) in known for variable in variables):
            raise ValueError(f"{name}: a variable of the new group is in another group already")
        made: Group = {**self.defaults, **group, "params": variables}
        self._check(made)
        with self._busy:
            self.param_groups.append(made)
            self.state.extend({} for _ in variables)

    def _check(self, group: Group) -> None:
        """Raises ValueError for settings out of range."""
        name = type(self).__name__
        for key in ("lr", "eps", "weight_decay", "momentum"):
            if key in group and not group[key] >= 0:
                raise ValueError(f"{name}: {key} must be 0 or more, got {group[key]}")
        for beta in group.get("betas", ()):
            if not 0 <= beta < 1:
                raise ValueError(f"{name}: betas must be from 0 to below 1, got {beta}")

    @property
    def variables(self) -> list[Var]:
        return [variable for group in self.param_groups for variable in group["params"]]

    @property
    def learning_rate(self) -> float:
        """The first group's; setting it sets every group's."""
        return float(self.param_groups[0]["lr"])

    @learning_rate.setter
    def learning_rate(self, rate: float) -> None:
        if not rate >= 0:
            raise ValueError(f"{type(self).__name__}: lr must be 0 or more, got {rate}")
        for group in self.param_groups:
            group["lr"] = rate

    def step(self, gradients: Gradients | None = None) -> None:
        """Moves the variables by what backward returned, or by their grad. One without a gradient stays as it is."""
        if gradients is not None and not isinstance(gradients, Gradients):
            raise TypeError(f"step: gradients: expected what backward returned, got {type(gradients).__name__}")
        with self._busy, _wick.no_grad():
            states = iter(self.state)
            for group in self.param_groups:
                for variable, state in zip(group["params"], states):
                    gradient = variable.grad if gradients is None else gradients.get(variable)
                    if gradient is None:
                        continue
                    if _has_master(variable, group):
                        self._move_master(variable, gradient.detach(), state, group)
                    else:
                        variable.set(self._moved(variable.detach(), gradient.detach(), state, group))

    def _move_master(self, variable: Var, gradient: Tensor, state: dict[str, Tensor], group: Group) -> None:
        x, master = variable.detach(), state.get("master")
        exact = x.to(_wick.float32)
        if master is not None:  # a variable that was set since the last step counts as it is
            exact = (master.to(x.dtype) == x).where(master, exact)
        state["master"] = self._moved(exact, gradient.to(_wick.float32), state, group)
        variable.set(state["master"].to(x.dtype))

    def _moved(self, x: Tensor, gradient: Tensor, state: dict[str, Tensor], group: Group) -> Tensor:
        """The values of a variable after a step; what is kept of it is updated in state."""
        raise NotImplementedError

    def zero_grad(self, set_to_none: bool = True) -> None:
        for variable in self.variables:
            variable.grad = None if set_to_none or variable.grad is None else _wick.zeros_like(variable)

    def state_dict(self) -> dict[str, Any]:
        """What a training that goes on needs beside the variables, in PyTorch's form; pickle writes it."""
        first = 0
        groups = []
        for group in self.param_groups:
            groups.append({**group, "params": list(range(first, first + len(group["params"])))})
            first += len(group["params"])
        return {"state": {index: dict(state) for index, state in enumerate(self.state) if state}, "param_groups": groups}

    def load_state_dict(self, values: Mapping[str, Any]) -> None:
        """Takes a state_dict of an optimizer over the same variables; PyTorch's, its tensors converted, is one. Raises ValueError, and
        changes nothing, where it is of other variables."""
        groups, states = values["param_groups"], values["state"]
        lengths, own = [len(group["params"]) for group in groups], [len(group["params"]) for group in self.param_groups]
        if lengths != own:
            raise ValueError(f"load_state_dict: the state is of groups of {lengths} variables, the optimizer has {own}")
        for group in groups:
            for key in ("amsgrad", "maximize"):
                if group.get(key):
                    raise ValueError(f"load_state_dict: {key} is not supported")
        changed = [{**group, **{key: new[key] for key in self.defaults if key in new}} for group, new in zip(self.param_groups, groups)]
        for group in changed:
            self._check(group)
        made: list[dict[str, Tensor]] = []
        for index, (variable, exact) in enumerate((v, _has_master(v, group)) for group in changed for v in group["params"]):
            kept = {}
            for name, value in states.get(index, {}).items():
                if value is None:
                    continue
                tensor = _wick.tensor(value) if not isinstance(value, Tensor) else value.detach()
                if tensor.ndim and tensor.shape != variable.shape:
                    raise ValueError(f"load_state_dict: {name} of variable {index} is {tensor.shape}, the variable {variable.shape}")
                dtype = _wick.float32 if exact else variable.dtype
                kept[name] = (tensor.to(dtype=dtype, device=variable.device) if tensor.ndim == variable.ndim != 0 else tensor).clone()
            made.append(kept)
        with self._busy:
            for group, new in zip(self.param_groups, changed):
                group.update(new)
            self.state = made


def _has_master(variable: Var, group: Group) -> bool:
    return bool(group["master_weights"]) and variable.dtype in (_wick.float16, _wick.bfloat16, _wick.float8_e4m3fn)


class SGD(Optimizer):
    """Gradient descent."""

    def __init__(self, params: Parameters, lr: float = 1e-2, momentum: float = 0, dampening: float = 0, weight_decay: float = 0,
                 nesterov: bool = False, *, master_weights: bool = False) -> None:
        super().__init__(params, lr=lr, momentum=momentum, dampening=dampening, weight_decay=weight_decay, nesterov=nesterov,
                         master_weights=master_weights)

    def _check(self, group: Group) -> None:
        super()._check(group)
        if group["nesterov"] and (group["momentum"] == 0 or group["dampening"] != 0):
            raise ValueError(f"SGD: Nesterov's momentum needs a momentum and no dampening, not {group['momentum']} and {group['dampening']}")

    def _moved(self, x: Tensor, gradient: Tensor, state: dict[str, Tensor], group: Group) -> Tensor:
        made, momentum = sgd_step(x, gradient, state.get("momentum_buffer"), group["lr"], group["momentum"], group["dampening"],
                                  group["weight_decay"], group["nesterov"])
        if momentum is not None:
            state["momentum_buffer"] = momentum
        return made


class _Counting(Optimizer):
    """An optimizer whose steps depend on how many there were."""

    @staticmethod
    def _next_step(state: dict[str, Tensor]) -> int:
        """The number of this step, from 1."""
        step = int(state["step"].item()) + 1 if "step" in state else 1
        state["step"] = _wick.tensor(float(step), "f32", "cpu")
        return step

    @staticmethod
    def _decayed(x: Tensor, gradient: Tensor, group: Group) -> Tensor:
        made: Tensor = gradient + x * group["weight_decay"] if group["weight_decay"] else gradient
        return made

    @staticmethod
    def _mean(name: str, value: Tensor, beta: float, state: dict[str, Tensor]) -> Tensor:
        """The running mean of that name, with a new value."""
        state[name] = state.get(name, _wick.zeros_like(value)) * beta + value * (1 - beta)
        return state[name]


class Adam(_Counting):
    """Adam (Kingma & Ba 2015)."""

    _decoupled = False

    def __init__(self, params: Parameters, lr: float = 1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
                 weight_decay: float = 0, *, master_weights: bool = False) -> None:
        super().__init__(params, lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, master_weights=master_weights)

    def _moved(self, x: Tensor, gradient: Tensor, state: dict[str, Tensor], group: Group) -> Tensor:
        step = self._next_step(state)
        made, state["exp_avg"], state["exp_avg_sq"] = adam_step(x, gradient, state.get("exp_avg"), state.get("exp_avg_sq"), step - 1, group["lr"],
                                                                tuple(group["betas"]), group["eps"], group["weight_decay"], self._decoupled)
        return made


class AdamW(Adam):
    """Adam with a weight decay of its own (Loshchilov & Hutter 2019)."""

    _decoupled = True

    def __init__(self, params: Parameters, lr: float = 1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
                 weight_decay: float = 1e-2, *, master_weights: bool = False) -> None:
        super().__init__(params, lr, betas, eps, weight_decay, master_weights=master_weights)


class Adagrad(_Counting):
    """Duchi et al. 2011."""

    def __init__(self, params: Parameters, lr: float = 1e-2, lr_decay: float = 0, weight_decay: float = 0, initial_accumulator_value: float = 0,
                 eps: float = 1e-10, *, master_weights: bool = False) -> None:
        super().__init__(params, lr=lr, lr_decay=lr_decay, weight_decay=weight_decay, initial_accumulator_value=initial_accumulator_value, eps=eps,
                         master_weights=master_weights)

    def _moved(self, x: Tensor, gradient: Tensor, state: dict[str, Tensor], group: Group) -> Tensor:
        gradient, step = self._decayed(x, gradient, group), self._next_step(state)
        before = state.get("sum", _wick.zeros_like(x) + group["initial_accumulator_value"])
        state["sum"] = before + gradient.sqr()
        made: Tensor = x - gradient / (state["sum"].sqrt() + group["eps"]) * (group["lr"] / (1 + (step - 1) * group["lr_decay"]))
        return made


class Adadelta(_Counting):
    """Zeiler 2012."""

    def __init__(self, params: Parameters, lr: float = 1.0, rho: float = 0.9, eps: float = 1e-6, weight_decay: float = 0, *,
                 master_weights: bool = False) -> None:
        super().__init__(params, lr=lr, rho=rho, eps=eps, weight_decay=weight_decay, master_weights=master_weights)

    def _moved(self, x: Tensor, gradient: Tensor, state: dict[str, Tensor], group: Group) -> Tensor:
        gradient, _ = self._decayed(x, gradient, group), self._next_step(state)
        rho, eps = group["rho"], group["eps"]
        square = self._mean("square_avg", gradient.sqr(), rho, state)
        delta = (state.get("acc_delta", _wick.zeros_like(x)) + eps).sqrt() / (square + eps).sqrt() * gradient
        self._mean("acc_delta", delta.sqr(), rho, state)
        made: Tensor = x - delta * group["lr"]
        return made


class Adamax(_Counting):
    """Adam by the largest gradient instead of the mean square (Kingma & Ba 2015)."""

    def __init__(self, params: Parameters, lr: float = 2e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
                 weight_decay: float = 0, *, master_weights: bool = False) -> None:
        super().__init__(params, lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, master_weights=master_weights)

    def _moved(self, x: Tensor, gradient: Tensor, state: dict[str, Tensor], group: Group) -> Tensor:
        gradient, step = self._decayed(x, gradient, group), self._next_step(state)
        beta1, beta2 = group["betas"]
        mean = self._mean("exp_avg", gradient, beta1, state)
        state["exp_inf"] = (state.get("exp_inf", _wick.zeros_like(x)) * beta2).maximum(gradient.abs() + group["eps"])
        made: Tensor = x - mean / state["exp_inf"] * (group["lr"] / (1 - beta1**step))
        return made


class NAdam(_Counting):
    """Adam with Nesterov's momentum (Dozat 2016)."""

    def __init__(self, params: Parameters, lr: float = 2e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
                 weight_decay: float = 0, momentum_decay: float = 4e-3, *, master_weights: bool = False) -> None:
        super().__init__(params, lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, momentum_decay=momentum_decay, master_weights=master_weights)

    def _moved(self, x: Tensor, gradient: Tensor, state: dict[str, Tensor], group: Group) -> Tensor:
        gradient, step = self._decayed(x, gradient, group), self._next_step(state)
        beta1, beta2 = group["betas"]
        now = beta1 * (1 - 0.5 * 0.96 ** (step * group["momentum_decay"]))
        following = beta1 * (1 - 0.5 * 0.96 ** ((step + 1) * group["momentum_decay"]))
        product = (float(state["mu_product"].item()) if "mu_product" in state else 1.0) * now
        state["mu_product"] = _wick.tensor(product, "f64", "cpu")
        mean, square = self._mean("exp_avg", gradient, beta1, state), self._mean("exp_avg_sq", gradient.sqr(), beta2, state)
        spread = (square / (1 - beta2**step)).sqrt() + group["eps"]
        made: Tensor = x - gradient / spread * (group["lr"] * (1 - now) / (1 - product))
        made = made - mean / spread * (group["lr"] * following / (1 - product * following))
        return made


class RAdam(_Counting):
    """Adam whose first steps have no adaptive rate (Liu et al. 2020)."""

    def __init__(self, params: Parameters, lr: float = 1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
                 weight_decay: float = 0, *, master_weights: bool = False) -> None:
        super().__init__(params, lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, master_weights=master_weights)

    def _moved(self, x: Tensor, gradient: Tensor, state: dict[str, Tensor], group: Group) -> Tensor:
        gradient, step = self._decayed(x, gradient, group), self._next_step(state)
        beta1, beta2 = group["betas"]
        mean, square = self._mean("exp_avg", gradient, beta1, state), self._mean("exp_avg_sq", gradient.sqr(), beta2, state)
        mean, left = mean / (1 - beta1**step), 1 - beta2**step
        longest = 2 / (1 - beta2) - 1
        length = longest - 2 * step * beta2**step / left
        made: Tensor
        if length <= 5:
            made = x - mean * group["lr"]
            return made
        rectified = math.sqrt((length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length))
        made = x - mean / (square.sqrt() + group["eps"]) * (group["lr"] * rectified * math.sqrt(left))
        return made


class RMSprop(Optimizer):
    """Gradients divided by the root of their running mean square (Hinton 2012), as PyTorch defines it."""

    def __init__(self, params: Parameters, lr: float = 1e-2, alpha: float = 0.99, eps: float = 1e-8, weight_decay: float = 0,
                 momentum: float = 0, centered: bool = False, *, master_weights: bool = False) -> None:
        super().__init__(params, lr=lr, alpha=alpha, eps=eps, weight_decay=weight_decay, momentum=momentum, centered=centered,
                         master_weights=master_weights)

    def _moved(self, x: Tensor, gradient: Tensor, state: dict[str, Tensor], group: Group) -> Tensor:
        alpha, momentum = group["alpha"], group["momentum"]
        if group["weight_decay"]:
            gradient = gradient + x * group["weight_decay"]
        squares = state.get("square_avg", _wick.zeros_like(x)) * alpha + gradient.sqr() * (1 - alpha)
        state["square_avg"] = squares
        if group["centered"]:
            state["grad_avg"] = state.get("grad_avg", _wick.zeros_like(x)) * alpha + gradient * (1 - alpha)
            squares = squares - state["grad_avg"].sqr()
        step = gradient / (squares.sqrt() + group["eps"])
        if momentum:
            step = state["momentum_buffer"] = state.get("momentum_buffer", _wick.zeros_like(x)) * momentum + step
        made: Tensor = x - step * group["lr"]
        return made


class Lion(Optimizer):
    """The sign of a running mean of gradients (Chen et al. 2023)."""

    def __init__(self, params: Parameters, lr: float = 1e-4, betas: tuple[float, float] = (0.9, 0.99), weight_decay: float = 0, *,
                 master_weights: bool = False) -> None:
        super().__init__(params, lr=lr, betas=betas, weight_decay=weight_decay, master_weights=master_weights)

    def _moved(self, x: Tensor, gradient: Tensor, state: dict[str, Tensor], group: Group) -> Tensor:
        beta1, beta2 = group["betas"]
        rate: float = group["lr"]
        mean = state.get("exp_avg", _wick.zeros_like(x))
        state["exp_avg"] = mean * beta2 + gradient * (1 - beta2)
        direction = (mean * beta1 + gradient * (1 - beta1)).sign()
        made: Tensor = x * (1 - rate * group["weight_decay"]) - direction * rate
        return made


class Muon(Optimizer):
    """The running mean of a matrix's gradients made orthogonal by Newton and Schulz's iteration (Jordan et al. 2024).

    For weights of two dimensions; train the others by AdamW.
    """

    def __init__(self, params: Parameters, lr: float = 1e-3, weight_decay: float = 0.1, momentum: float = 0.95, nesterov: bool = True,
                 eps: float = 1e-7, ns_steps: int = 5, *, master_weights: bool = False) -> None:
        super().__init__(params, lr=lr, weight_decay=weight_decay, momentum=momentum, nesterov=nesterov, eps=eps, ns_steps=ns_steps,
                         master_weights=master_weights)

    def _check(self, group: Group) -> None:
        super()._check(group)
        for variable in group["params"]:
            if variable.ndim != 2:
                raise ValueError(f"Muon: a variable is {variable.shape}; Muon trains matrices, the others need another optimizer")

    def _moved(self, x: Tensor, gradient: Tensor, state: dict[str, Tensor], group: Group) -> Tensor:
        momentum = group["momentum"]
        mean = state.get("momentum_buffer", _wick.zeros_like(x)) * momentum + gradient * (1 - momentum)
        state["momentum_buffer"] = mean
        wide = gradient * (1 - momentum) + mean * momentum if group["nesterov"] else mean
        turned = wide.shape[0] > wide.shape[1]
        matrix = wide.T if turned else wide
        matrix = matrix / matrix.norm().clamp(min=group["eps"])
        for _ in range(group["ns_steps"]):
            square = matrix @ matrix.T
            matrix = matrix * 3.4445 + (square * -4.7750 + (square @ square) * 2.0315) @ matrix
        matrix = matrix.T if turned else matrix
        rate: float = group["lr"]
        made: Tensor = x * (1 - rate * group["weight_decay"]) - matrix * (rate * math.sqrt(max(1.0, x.shape[0] / x.shape[1])))
        return made
