"""Losses with PyTorch's options. reduction: "mean", "sum" or "none"."""
from __future__ import annotations

import math

from .. import _wick
from .._wick import Tensor
from .._wick import _nn
from .module import Module


def _reduced(loss: Tensor, reduction: str) -> Tensor:
    if reduction == "mean":
        return loss.mean()
    if reduction == "sum":
        return loss.sum()
    if reduction == "none":
        return loss
    raise ValueError(f"reduction is 'mean', 'sum' or 'none', not {reduction!r}")


def _check_shapes(name: str, x: Tensor, target: Tensor) -> None:
    if x.shape != target.shape:
        raise ValueError(f"{name}: the input is {x.shape}, the target {target.shape}; they must be equal")


def _classes_last(x: Tensor) -> Tensor:
    """[batch, classes, ...] as [batch and places, classes]; [classes] as [1, classes]."""
    if x.ndim == 1:
        return x.unsqueeze(0)
    if x.ndim > 2:
        x = x.permute(0, *range(2, x.ndim), 1)
    return x.reshape(-1, x.shape[-1])


def _is_float(x: Tensor) -> bool:
    return x.dtype.name.startswith(("f", "bf"))


def _log_likelihood(name: str, log_p: Tensor, target: Tensor, weight: Tensor | None, ignore_index: int, reduction: str,
                    label_smoothing: float) -> Tensor:
    """Of log-probabilities [n, classes]; target [n] of classes, or [n, classes] of probabilities."""
    classes = log_p.shape[1]
    each = log_p if weight is None else log_p * weight
    if target.ndim == 2:
        if label_smoothing:
            target = target * (1.0 - label_smoothing) + label_smoothing / classes
        loss = -(each * target).sum(1)
        return loss.mean() if reduction == "mean" else _reduced(loss, reduction)
    kept = target != ignore_index
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"{name}: reduction is 'mean', 'sum' or 'none', not {reduction!r}")
    ids = kept.where(target, target.detach() * 0).to("i64")
    share = kept.to(log_p.dtype)
    scale = share if weight is None else weight.index_select(ids, 0) * share
    loss = -each.gather(ids.unsqueeze(1), 1).squeeze(1) * share
    if label_smoothing:
        loss = loss * (1.0 - label_smoothing) - each.sum(1) * share * (label_smoothing / classes)
    return loss.sum() / scale.sum() if reduction == "mean" else _reduced(loss, reduction)


def cross_entropy(x: Tensor, target: Tensor, weight: Tensor | None = None, *, ignore_index: int = -100, reduction: str = "mean",
                  label_smoothing: float = 0.0) -> Tensor:
    """-log softmax(x)[target] of logits [batch, classes, ...]; target [batch, ...] of classes, or of probabilities in the logits' shape.

    Targets that are ignore_index count for nothing; the mean is that of the others, weighted where there are weights.
    """
    plain = weight is None and reduction == "mean" and label_smoothing == 0
    if plain and x.ndim == 2 and target.ndim == 1 and target.size and not _is_float(target):
        if ignore_index < 0 and not target.dtype.name.startswith("i"):
            return _nn.cross_entropy(x, target)
        if not (target == ignore_index).any():
            return _nn.cross_entropy(x, target)
    shape = x.shape
    rows = _classes_last(x)
    if _is_float(target):
        _check_shapes("cross_entropy", x, target)
        wanted = _classes_last(target)
    else:
        wanted = target.reshape(-1)
        if wanted.shape[0] != rows.shape[0]:
            raise ValueError(f"cross_entropy: the input is {shape}, the target {target.shape}")
    loss = _log_likelihood("cross_entropy", rows.log_softmax(1), wanted, weight, ignore_index, reduction, label_smoothing)
    return loss.reshape(shape[:1] + shape[2:] if len(shape) > 1 else ()) if reduction == "none" else loss


def nll_loss(x: Tensor, target: Tensor, weight: Tensor | None = None, *, ignore_index: int = -100, reduction: str = "mean") -> Tensor:
    """The same of log-probabilities [batch, classes, ...]."""
    shape = x.shape
    loss = _log_likelihood("nll_loss", _classes_last(x), target.reshape(-1), weight, ignore_index, reduction, 0.0)
    return loss.reshape(shape[:1] + shape[2:] if len(shape) > 1 else ()) if reduction == "none" else loss


def mse_loss(x: Tensor, target: Tensor, *, reduction: str = "mean") -> Tensor:
    """(x - target)²; the shapes must be equal."""
    if reduction == "mean":
        return _nn.mse_loss(x, target)
    _check_shapes("mse_loss", x, target)
    return _reduced((x - target).sqr(), reduction)


def l1_loss(x: Tensor, target: Tensor, *, reduction: str = "mean") -> Tensor:
    """|x - target|"""
    _check_shapes("l1_loss", x, target)
    return _reduced((x - target).abs(), reduction)


def huber_loss(x: Tensor, target: Tensor, delta: float = 1.0, *, reduction: str = "mean") -> Tensor:
    """d² / 2 of differences d up to delta, and delta (|d| - delta / 2) beyond."""
    if reduction == "mean":
        return _nn.huber_loss(x, target, delta)
    _check_shapes("huber_loss", x, target)
    size = (x - target).abs()
    return _reduced((size <= delta).where(size.sqr() * 0.5, (size - 0.5 * delta) * delta), reduction)


def smooth_l1_loss(x: Tensor, target: Tensor, beta: float = 1.0, *, reduction: str = "mean") -> Tensor:
    """huber_loss divided by beta; with beta 0, l1_loss."""
    if beta == 0:
        return l1_loss(x, target, reduction=reduction)
    return huber_loss(x, target, beta, reduction=reduction) / beta


def binary_cross_entropy_with_logits(x: Tensor, target: Tensor, weight: Tensor | None = None, *, pos_weight: Tensor | None = None,
                                     reduction: str = "mean") -> Tensor:
    """Targets are in [0, 1]. pos_weight: of the term of the target 1."""
    if weight is None and pos_weight is None and reduction == "mean":
        return _nn.binary_cross_entropy_with_logits(x, target)
    _check_shapes("binary_cross_entropy_with_logits", x, target)
    negative = _nn.softplus(-x)  # -log sigmoid(x)
    share = target if pos_weight is None else target * pos_weight
    loss = (1.0 - target) * (x + negative) + share * negative
    return _reduced(loss if weight is None else loss * weight, reduction)


def binary_cross_entropy(x: Tensor, target: Tensor, weight: Tensor | None = None, *, reduction: str = "mean") -> Tensor:
    """Of probabilities; logarithms are at least -100."""
    _check_shapes("binary_cross_entropy", x, target)
    loss = -(target * x.log().clamp(min=-100.0) + (1.0 - target) * (1.0 - x).log().clamp(min=-100.0))
    return _reduced(loss if weight is None else loss * weight, reduction)


def kl_div(x: Tensor, target: Tensor, *, reduction: str = "mean", log_target: bool = False) -> Tensor:
    """target · (log target - x) of log-probabilities x. reduction "batchmean": the sum divided by the batch."""
    _check_shapes("kl_div", x, target)
    if log_target:
        loss = target.exp() * (target - x)
    else:
        positive = target > 0
        loss = positive.where(target * (positive.where(target, _wick.ones_like(target)).log() - x), target.detach() * 0)
    return loss.sum() / x.shape[0] if reduction == "batchmean" else _reduced(loss, reduction)


def margin_ranking_loss(x1: Tensor, x2: Tensor, target: Tensor, margin: float = 0.0, *, reduction: str = "mean") -> Tensor:
    """max(0, margin - target · (x1 - x2)); a target is 1 or -1."""
    return _reduced((margin - target * (x1 - x2)).relu(), reduction)


def hinge_embedding_loss(x: Tensor, target: Tensor, margin: float = 1.0, *, reduction: str = "mean") -> Tensor:
    """x where the target is 1, max(0, margin - x) where it is -1."""
    return _reduced((target == 1).where(x, (margin - x).relu()), reduction)


def soft_margin_loss(x: Tensor, target: Tensor, *, reduction: str = "mean") -> Tensor:
    """log(1 + exp(-target · x))"""
    _check_shapes("soft_margin_loss", x, target)
    return _reduced(_nn.softplus(-(target * x)), reduction)


def cosine_embedding_loss(x1: Tensor, x2: Tensor, target: Tensor, margin: float = 0.0, *, reduction: str = "mean") -> Tensor:
    """1 - cos where the target is 1, max(0, cos - margin) where it is -1."""
    product = (x1 * x2).sum(-1)
    cosine = product / ((x1.sqr().sum(-1) + 1e-12) * (x2.sqr().sum(-1) + 1e-12)).sqrt()
    return _reduced((target == 1).where(1.0 - cosine, (cosine - margin).relu()), reduction)


def triplet_margin_loss(anchor: Tensor, positive: Tensor, negative: Tensor, margin: float = 1.0, p: float = 2.0, eps: float = 1e-6, *,
                        reduction: str = "mean") -> Tensor:
    """max(0, margin + |anchor - positive| - |anchor - negative|)"""
    near, far = (anchor - positive + eps).norm(p, -1), (anchor - negative + eps).norm(p, -1)
    return _reduced((near - far + margin).relu(), reduction)


def gaussian_nll_loss(x: Tensor, target: Tensor, var: Tensor, full: bool = False, eps: float = 1e-6, *, reduction: str = "mean") -> Tensor:
    """-log of normal densities with means x and variances var, which are at least eps; full: with the constant."""
    # The floor has no part in the gradient, as in PyTorch.
    spread = var + (var.detach().clamp(min=eps) - var.detach())
    loss = (spread.log() + (x - target).sqr() / spread) * 0.5
    return _reduced(loss + 0.5 * math.log(2 * math.pi) if full else loss, reduction)


def poisson_nll_loss(x: Tensor, target: Tensor, log_input: bool = True, eps: float = 1e-8, *, reduction: str = "mean") -> Tensor:
    """-log of Poisson's probabilities, without the target's factorial; x is the rate or its logarithm."""
    return _reduced(x.exp() - target * x if log_input else x - target * (x + eps).log(), reduction)


class _Loss(Module):
    def __init__(self, reduction: str = "mean") -> None:
        self.reduction = reduction


class MSELoss(_Loss):
    def forward(self, x: Tensor, target: Tensor) -> Tensor:
        return mse_loss(x, target, reduction=self.reduction)


class L1Loss(_Loss):
    def forward(self, x: Tensor, target: Tensor) -> Tensor:
        return l1_loss(x, target, reduction=self.reduction)


class HuberLoss(Module):
    def __init__(self, reduction: str = "mean", delta: float = 1.0) -> None:
        self.reduction, self.delta = reduction, delta

    def forward(self, x: Tensor, target: Tensor) -> Tensor:
        return huber_loss(x, target, self.delta, reduction=self.reduction)


class SmoothL1Loss(Module):
    def __init__(self, reduction: str = "mean", beta: float = 1.0) -> None:
        self.reduction, self.beta = reduction, beta

    def forward(self, x: Tensor, target: Tensor) -> Tensor:
        return smooth_l1_loss(x, target, self.beta, reduction=self.reduction)


class KLDivLoss(Module):
    def __init__(self, reduction: str = "mean", log_target: bool = False) -> None:
        self.reduction, self.log_target = reduction, log_target

    def forward(self, x: Tensor, target: Tensor) -> Tensor:
        return kl_div(x, target, reduction=self.reduction, log_target=self.log_target)


class CrossEntropyLoss(Module):
    def __init__(self, weight: Tensor | None = None, *, ignore_index: int = -100, reduction: str = "mean",
                 label_smoothing: float = 0.0) -> None:
        self.weight, self.ignore_index, self.reduction, self.label_smoothing = weight, ignore_index, reduction, label_smoothing

    def forward(self, x: Tensor, target: Tensor) -> Tensor:
        return cross_entropy(x, target, self.weight, ignore_index=self.ignore_index, reduction=self.reduction,
                             label_smoothing=self.label_smoothing)


class NLLLoss(Module):
    def __init__(self, weight: Tensor | None = None, *, ignore_index: int = -100, reduction: str = "mean") -> None:
        self.weight, self.ignore_index, self.reduction = weight, ignore_index, reduction

    def forward(self, x: Tensor, target: Tensor) -> Tensor:
        return nll_loss(x, target, self.weight, ignore_index=self.ignore_index, reduction=self.reduction)


class BCELoss(Module):
    def __init__(self, weight: Tensor | None = None, reduction: str = "mean") -> None:
        self.weight, self.reduction = weight, reduction

    def forward(self, x: Tensor, target: Tensor) -> Tensor:
        return binary_cross_entropy(x, target, self.weight, reduction=self.reduction)


class BCEWithLogitsLoss(Module):
    def __init__(self, weight: Tensor | None = None, reduction: str = "mean", pos_weight: Tensor | None = None) -> None:
        self.weight, self.reduction, self.pos_weight = weight, reduction, pos_weight

    def forward(self, x: Tensor, target: Tensor) -> Tensor:
        return binary_cross_entropy_with_logits(x, target, self.weight, pos_weight=self.pos_weight, reduction=self.reduction)


class MarginRankingLoss(Module):
    def __init__(self, margin: float = 0.0, reduction: str = "mean") -> None:
        self.margin, self.reduction = margin, reduction

    def forward(self, x1: Tensor, x2: Tensor, target: Tensor) -> Tensor:
        return margin_ranking_loss(x1, x2, target, self.margin, reduction=self.reduction)


class HingeEmbeddingLoss(Module):
    def __init__(self, margin: float = 1.0, reduction: str = "mean") -> None:
        self.margin, self.reduction = margin, reduction

    def forward(self, x: Tensor, target: Tensor) -> Tensor:
        return hinge_embedding_loss(x, target, self.margin, reduction=self.reduction)


class SoftMarginLoss(_Loss):
    def forward(self, x: Tensor, target: Tensor) -> Tensor:
        return soft_margin_loss(x, target, reduction=self.reduction)


class CosineEmbeddingLoss(Module):
    def __init__(self, margin: float = 0.0, reduction: str = "mean") -> None:
        self.margin, self.reduction = margin, reduction

    def forward(self, x1: Tensor, x2: Tensor, target: Tensor) -> Tensor:
        return cosine_embedding_loss(x1, x2, target, self.margin, reduction=self.reduction)


class TripletMarginLoss(Module):
    def __init__(self, margin: float = 1.0, p: float = 2.0, eps: float = 1e-6, reduction: str = "mean") -> None:
        self.margin, self.p, self.eps, self.reduction = margin, p, eps, reduction

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        return triplet_margin_loss(anchor, positive, negative, self.margin, self.p, self.eps, reduction=self.reduction)


class GaussianNLLLoss(Module):
    def __init__(self, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> None:
        self.full, self.eps, self.reduction = full, eps, reduction

    def forward(self, x: Tensor, target: Tensor, var: Tensor) -> Tensor:
        return gaussian_nll_loss(x, target, var, self.full, self.eps, reduction=self.reduction)


class PoissonNLLLoss(Module):
    def __init__(self, log_input: bool = True, eps: float = 1e-8, reduction: str = "mean") -> None:
        self.log_input, self.eps, self.reduction = log_input, eps, reduction

    def forward(self, x: Tensor, target: Tensor) -> Tensor:
        return poisson_nll_loss(x, target, self.log_input, self.eps, reduction=self.reduction)
