"""Schedules: each sets an optimizer's learning rate when it is made and at every step()."""
from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

__all__ = ["ConstantLR", "CosineAnnealingLR", "CosineAnnealingWarmRestarts", "ExponentialLR", "LRScheduler", "LambdaLR", "LinearLR",
           "MultiStepLR", "OneCycleLR", "PolynomialLR", "ReduceLROnPlateau", "SequentialLR", "StepLR"]


class Scheduled(Protocol):
    """What a schedule changes: every optimizer."""

    param_groups: list[dict[str, Any]]


class _Schedule:
    """What sets the learning rates of an optimizer's groups."""

    optimizer: Scheduled

    def get_last_lr(self) -> list[float]:
        return [float(group["lr"]) for group in self.optimizer.param_groups]


class LRScheduler(_Schedule):
    """Each group's first learning rate times factor(last_epoch). last_epoch counts the calls of step."""

    def __init__(self, optimizer: Scheduled) -> None:
        self.optimizer, self.last_epoch = optimizer, 0
        self.base_lrs = [float(group["lr"]) for group in optimizer.param_groups]
        self._set()

    def factor(self, epoch: int) -> float:
        raise NotImplementedError

    def rate(self, base: float, epoch: int) -> float:
        """The learning rate of a group whose first was base."""
        return base * self.factor(epoch)

    def _set(self) -> None:
        for group, base in zip(self.optimizer.param_groups, self.base_lrs):
            group["lr"] = self.rate(base, self.last_epoch)

    def step(self) -> None:
        self.last_epoch += 1
        self._set()

    def state_dict(self) -> dict[str, Any]:
        return {"base_lrs": list(self.base_lrs), "last_epoch": self.last_epoch}

    def load_state_dict(self, values: Mapping[str, Any]) -> None:
        self.base_lrs, self.last_epoch = list(values["base_lrs"]), int(values["last_epoch"])
        self._set()


class LambdaLR(LRScheduler):
    def __init__(self, optimizer: Scheduled, lr_lambda: Callable[[int], float]) -> None:
        self.lr_lambda = lr_lambda
        super().__init__(optimizer)

    def factor(self, epoch: int) -> float:
        return self.lr_lambda(epoch)


class StepLR(LRScheduler):
    """gamma times as much every step_size steps."""

    def __init__(self, optimizer: Scheduled, step_size: int, gamma: float = 0.1) -> None:
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer)

    def factor(self, epoch: int) -> float:
        return self.gamma ** (epoch // self.step_size)


class MultiStepLR(LRScheduler):
    """gamma times as much at each of the milestones."""

    def __init__(self, optimizer: Scheduled, milestones: Iterable[int], gamma: float = 0.1) -> None:
        self.milestones, self.gamma = sorted(milestones), gamma
        super().__init__(optimizer)

    def factor(self, epoch: int) -> float:
        return self.gamma ** sum(milestone <= epoch for milestone in self.milestones)


class ExponentialLR(LRScheduler):
    def __init__(self, optimizer: Scheduled, gamma: float) -> None:
        self.gamma = gamma
        super().__init__(optimizer)

    def factor(self, epoch: int) -> float:
        return self.gamma ** epoch


class ConstantLR(LRScheduler):
    """factor times the rate for total_iters steps, then the rate itself."""

    def __init__(self, optimizer: Scheduled, factor: float = 1 / 3, total_iters: int = 5) -> None:
        self.first, self.total_iters = factor, total_iters
        super().__init__(optimizer)

    def factor(self, epoch: int) -> float:
        return self.first if epoch < self.total_iters else 1.0


class LinearLR(LRScheduler):
    """From start_factor to end_factor in total_iters steps: warming up."""

    def __init__(self, optimizer: Scheduled, start_factor: float = 1 / 3, end_factor: float = 1.0, total_iters: int = 5) -> None:
        self.start, self.end, self.total_iters = start_factor, end_factor, total_iters
        super().__init__(optimizer)

    def factor(self, epoch: int) -> float:
        return self.start + (self.end - self.start) * min(epoch, self.total_iters) / self.total_iters


class CosineAnnealingLR(LRScheduler):
    """Along a half wave of the cosine from the rate down to eta_min in T_max steps, and back up after it."""

    def __init__(self, optimizer: Scheduled, T_max: int, eta_min: float = 0.0) -> None:
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer)

    def rate(self, base: float, epoch: int) -> float:
        return self.eta_min + (base - self.eta_min) * (1 + math.cos(math.pi * epoch / self.T_max)) / 2


class OneCycleLR(LRScheduler):
    """From max_lr / div_factor up to max_lr in pct_start of the steps, then down to max_lr / (div_factor · final_div_factor), each along a
    half wave of the cosine (Smith & Topin 2019)."""

    def __init__(self, optimizer: Scheduled, max_lr: float, total_steps: int, pct_start: float = 0.3, div_factor: float = 25.0,
                 final_div_factor: float = 1e4) -> None:
        self.total_steps, self.pct_start, self.div_factor, self.final_div_factor = total_steps, pct_start, div_factor, final_div_factor
        for group in optimizer.param_groups:
            group["lr"] = max_lr
        super().__init__(optimizer)

    def factor(self, epoch: int) -> float:
        first, last = 1 / self.div_factor, 1 / (self.div_factor * self.final_div_factor)
        top = self.pct_start * self.total_steps - 1
        if epoch <= top:
            begin, end, share = first, 1.0, epoch / top
        else:
            begin, end, share = 1.0, last, (epoch - top) / (self.total_steps - 1 - top)
        return end + (begin - end) / 2 * (1 + math.cos(math.pi * share))


class PolynomialLR(LRScheduler):
    """(1 - step / total_iters)^power of the rate, 0 at the end."""

    def __init__(self, optimizer: Scheduled, total_iters: int = 5, power: float = 1.0) -> None:
        self.total_iters, self.power = total_iters, power
        super().__init__(optimizer)

    def factor(self, epoch: int) -> float:
        return math.pow(1 - min(epoch, self.total_iters) / self.total_iters, self.power)


class CosineAnnealingWarmRestarts(LRScheduler):
    """From the rate down to eta_min along half a wave of the cosine in T_0 steps, and again, each time T_mult as long (Loshchilov & Hutter
    2017)."""

    def __init__(self, optimizer: Scheduled, T_0: int, T_mult: int = 1, eta_min: float = 0.0) -> None:
        if T_0 < 1 or T_mult < 1:
            raise ValueError(f"CosineAnnealingWarmRestarts: T_0 and T_mult must be at least 1, got {T_0} and {T_mult}")
        self.T_0, self.T_mult, self.eta_min = T_0, T_mult, eta_min
        super().__init__(optimizer)

    def rate(self, base: float, epoch: int) -> float:
        length = self.T_0
        while epoch >= length:
            epoch -= length
            if self.T_mult == 1:
                epoch %= length
            length *= self.T_mult
        return self.eta_min + (base - self.eta_min) * (1 + math.cos(math.pi * epoch / length)) / 2


class SequentialLR(_Schedule):
    """One schedule after the other: the next one begins at each of the milestones."""

    def __init__(self, optimizer: Scheduled, schedulers: Sequence[LRScheduler], milestones: Sequence[int]) -> None:
        if len(milestones) != len(schedulers) - 1:
            raise ValueError(f"SequentialLR: {len(schedulers)} schedules need {len(schedulers) - 1} milestones, got {len(milestones)}")
        self.optimizer, self.schedulers, self.milestones, self.last_epoch = optimizer, list(schedulers), list(milestones), 0
        # The schedules have set the rate one after the other; each is to begin from the first one's.
        for schedule in self.schedulers:
            schedule.base_lrs = list(self.schedulers[0].base_lrs)
        self._set()

    def _set(self) -> None:
        place = sum(milestone <= self.last_epoch for milestone in self.milestones)
        schedule = self.schedulers[place]
        schedule.last_epoch = self.last_epoch - (self.milestones[place - 1] if place else 0)
        schedule._set()

    def step(self) -> None:
        self.last_epoch += 1
        self._set()

    def state_dict(self) -> dict[str, Any]:
        return {"last_epoch": self.last_epoch, "schedulers": [schedule.state_dict() for schedule in self.schedulers]}

    def load_state_dict(self, values: Mapping[str, Any]) -> None:
        for schedule, state in zip(self.schedulers, values["schedulers"]):
            schedule.load_state_dict(state)
        self.last_epoch = int(values["last_epoch"])
        self._set()


class ReduceLROnPlateau(_Schedule):
    """factor times the rate when a metric has not become better for more than patience steps."""

    def __init__(self, optimizer: Scheduled, mode: str = "min", factor: float = 0.1, patience: int = 10, threshold: float = 1e-4,
                 threshold_mode: str = "rel", cooldown: int = 0, min_lr: float = 0.0, eps: float = 1e-8) -> None:
        if mode not in ("min", "max") or threshold_mode not in ("rel", "abs"):
            raise ValueError(f"ReduceLROnPlateau: mode is 'min' or 'max' and threshold_mode 'rel' or 'abs', not {mode!r} and {threshold_mode!r}")
        if factor >= 1:
            raise ValueError(f"ReduceLROnPlateau: factor must be below 1, got {factor}")
        self.optimizer, self.mode, self.reduction, self.patience = optimizer, mode, factor, patience
        self.threshold, self.threshold_mode, self.cooldown, self.min_lr, self.eps = threshold, threshold_mode, cooldown, min_lr, eps
        self.best = math.inf if mode == "min" else -math.inf
        self.num_bad_epochs = self.cooldown_counter = self.last_epoch = 0

    def _is_better(self, value: float) -> bool:
        sign = 1 if self.mode == "min" else -1
        gap = self.threshold * (abs(self.best) if self.threshold_mode == "rel" and math.isfinite(self.best) else 1)
        return sign * value < sign * self.best - (gap if math.isfinite(self.best) else 0)

    def step(self, metrics: Any) -> None:
        value = float(metrics)
        self.last_epoch += 1
        if self._is_better(value):
            self.best, self.num_bad_epochs = value, 0
        else:
            self.num_bad_epochs += 1
        if self.cooldown_counter > 0:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            for group in self.optimizer.param_groups:
                lower = max(group["lr"] * self.reduction, self.min_lr)
                if group["lr"] - lower > self.eps:
                    group["lr"] = lower
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0

    def state_dict(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("best", "num_bad_epochs", "cooldown_counter", "last_epoch")}

    def load_state_dict(self, values: Mapping[str, Any]) -> None:
        for name in ("best", "num_bad_epochs", "cooldown_counter", "last_epoch"):
            setattr(self, name, values[name])
