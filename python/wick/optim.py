"""Optimizers and schedules of the learning rate, by PyTorch's names.

    optimizer = optim.AdamW(model.parameters(), lr=1e-3)
    schedule = optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=100)
"""
from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from . import _wick, lr_scheduler
from ._wick import Gradients, Tensor, Var
from .nn import SGD, Adam, AdamW

__all__ = ["SGD", "Adam", "AdamW", "Lion", "Muon", "RMSprop", "lr_scheduler"]


class _Optimizer:
    """An optimizer written in Python. Its state is a list of tensors by name for each variable."""

    def __init__(self, parameters: Iterable[Var], lr: float, **settings: float) -> None:
        if lr < 0:
            raise ValueError(f"{type(self).__name__}: lr must be 0 or more, got {lr}")
        self.variables = list(parameters)
        self.learning_rate = lr
        self.settings = settings
        self.state: list[dict[str, Tensor]] = [{} for _ in self.variables]

    def step(self, gradients: Gradients | None = None) -> None:
        """Moves the variables by what backward returned, or by their grad."""
        with _wick.no_grad():
            for variable, state in zip(self.variables, self.state):
                gradient = variable.grad if gradients is None else gradients.get(variable)
                if gradient is not None:
                    variable.set(self._moved(variable.detach(), gradient.detach(), state))

    def _moved(self, x: Tensor, gradient: Tensor, state: dict[str, Tensor]) -> Tensor:
        raise NotImplementedError

    def zero_grad(self) -> None:
        for variable in self.variables:
            variable.grad = None

    def state_dict(self) -> dict[str, Any]:
        return {"learning_rate": self.learning_rate, "settings": dict(self.settings), "state": [dict(state) for state in self.state]}

    def load_state_dict(self, values: dict[str, Any]) -> None:
        if len(values["state"]) != len(self.variables):
            raise ValueError(f"load_state_dict: the state is of {len(values['state'])} variables, the optimizer has {len(self.variables)}")
        self.learning_rate, self.settings = values["learning_rate"], dict(values["settings"])
        self.state = [{name: tensor.clone() for name, tensor in state.items()} for state in values["state"]]


class RMSprop(_Optimizer):
    """Gradients divided by the root of their running mean square (Hinton 2012), as PyTorch defines it."""

    def __init__(self, parameters: Iterable[Var], lr: float = 1e-2, alpha: float = 0.99, eps: float = 1e-8, weight_decay: float = 0,
                 momentum: float = 0, centered: bool = False) -> None:
        super().__init__(parameters, lr, alpha=alpha, eps=eps, weight_decay=weight_decay, momentum=momentum, centered=float(centered))

    def _moved(self, x: Tensor, gradient: Tensor, state: dict[str, Tensor]) -> Tensor:
        alpha, momentum = self.settings["alpha"], self.settings["momentum"]
        if self.settings["weight_decay"]:
            gradient = gradient + x * self.settings["weight_decay"]
        squares = state.get("square_avg", _wick.zeros_like(x)) * alpha + gradient.sqr() * (1 - alpha)
        state["square_avg"] = squares
        if self.settings["centered"]:
            state["grad_avg"] = state.get("grad_avg", _wick.zeros_like(x)) * alpha + gradient * (1 - alpha)
            squares = squares - state["grad_avg"].sqr()
        step = gradient / (squares.sqrt() + self.settings["eps"])
        if momentum:
            step = state["momentum"] = state.get("momentum", _wick.zeros_like(x)) * momentum + step
        return x - step * self.learning_rate


class Lion(_Optimizer):
    """The sign of a running mean of gradients (Chen et al. 2023)."""

    def __init__(self, parameters: Iterable[Var], lr: float = 1e-4, betas: tuple[float, float] = (0.9, 0.99), weight_decay: float = 0) -> None:
        super().__init__(parameters, lr, beta1=betas[0], beta2=betas[1], weight_decay=weight_decay)

    def _moved(self, x: Tensor, gradient: Tensor, state: dict[str, Tensor]) -> Tensor:
        beta1, beta2 = self.settings["beta1"], self.settings["beta2"]
        mean = state.get("exp_avg", _wick.zeros_like(x))
        state["exp_avg"] = mean * beta2 + gradient * (1 - beta2)
        direction = (mean * beta1 + gradient * (1 - beta1)).sign()
        return x * (1 - self.learning_rate * self.settings["weight_decay"]) - direction * self.learning_rate


class Muon(_Optimizer):
    """The running mean of a matrix's gradients made orthogonal by Newton and Schulz's iteration (Jordan et al. 2024).

    For weights of two dimensions; train the others by AdamW.
    """

    def __init__(self, parameters: Iterable[Var], lr: float = 1e-3, weight_decay: float = 0.1, momentum: float = 0.95, nesterov: bool = True,
                 eps: float = 1e-7, ns_steps: int = 5) -> None:
        super().__init__(parameters, lr, weight_decay=weight_decay, momentum=momentum, nesterov=float(nesterov), eps=eps, ns_steps=ns_steps)
        for variable in self.variables:
            if variable.ndim != 2:
                raise ValueError(f"Muon: a variable is {variable.shape}; Muon trains matrices, the others need another optimizer")

    def _moved(self, x: Tensor, gradient: Tensor, state: dict[str, Tensor]) -> Tensor:
        momentum = self.settings["momentum"]
        mean = state.get("momentum", _wick.zeros_like(x)) * momentum + gradient * (1 - momentum)
        state["momentum"] = mean
        wide = gradient * (1 - momentum) + mean * momentum if self.settings["nesterov"] else mean
        turned = wide.shape[0] > wide.shape[1]
        matrix = wide.T if turned else wide
        matrix = matrix / matrix.norm().clamp(min=self.settings["eps"])
        for _ in range(int(self.settings["ns_steps"])):
            square = matrix @ matrix.T
            matrix = matrix * 3.4445 + (square * -4.7750 + (square @ square) * 2.0315) @ matrix
        matrix = matrix.T if turned else matrix
        rate = self.learning_rate * math.sqrt(max(1.0, x.shape[0] / x.shape[1]))
        return x * (1 - self.learning_rate * self.settings["weight_decay"]) - matrix * rate
