"""Gradients of several variables together."""
from __future__ import annotations

from collections.abc import Iterable

from .. import _wick
from .._wick import Tensor, Var


def clip_grad_norm_(parameters: Iterable[Var], max_norm: float, norm_type: float = 2.0) -> Tensor:
    """Scales the gradients so that their norm is at most max_norm. Returns the norm before."""
    variables = [variable for variable in parameters if variable.grad is not None]
    if not variables:
        return _wick.tensor(0.0)
    norms = [variable.grad.norm(norm_type).to(dtype="f32") for variable in variables if variable.grad is not None]
    total = _wick.stack(norms).norm(norm_type)
    scale = min(1.0, max_norm / (float(total) + 1e-6))
    if scale < 1:
        for variable in variables:
            if variable.grad is not None:
                variable.grad = variable.grad * scale
    return total


def clip_grad_value_(parameters: Iterable[Var], clip_value: float) -> None:
    """Cuts every gradient to [-clip_value, clip_value]."""
    for variable in parameters:
        if variable.grad is not None:
            variable.grad = variable.grad.clamp(-clip_value, clip_value)
