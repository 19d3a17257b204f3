"""Wick: tensors, neural networks and language models on CPUs and GPUs.

    x = wick.randn((2, 3))
    print(x @ x.T)
    print(wick.load("model.gguf").generate("Once upon a time").text)
"""
from __future__ import annotations

import importlib
import os
from typing import TYPE_CHECKING, Any

from ._wick import *  # noqa: F403
from .functions import (
    METHODS as _METHODS,
    bernoulli as bernoulli,
    function_of as _function_of,
    multinomial as multinomial,
    rand_like as rand_like,
    randint as randint,
    randn_like as randn_like,
    randperm as randperm,
)

if TYPE_CHECKING:
    from . import array_api as array_api, candle as candle, ir as ir, llm as llm, nn as nn, optim as optim
    from .llm import Model as Model, load as load


def _seed_from_environment() -> None:
    text = os.environ.get("WICK_SEED", "")
    if not text:
        return
    if not (text.isascii() and text.isdigit() and int(text) < 2**64):
        raise InvalidArgumentError(f"WICK_SEED '{text}': must be a whole number from 0 to {2**64 - 1}")  # noqa: F405
    manual_seed(int(text))  # noqa: F405


_seed_from_environment()

# What few programs use is imported when it is asked for.
_MODULES = ("array_api", "candle", "ir", "llm", "nn", "optim")
_NAMES = {"load": "llm", "Model": "llm"}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f".{name}", __name__)
    if name in _NAMES:
        return getattr(importlib.import_module(f".{_NAMES[name]}", __name__), name)
    if name in _METHODS:
        globals()[name] = _function_of(name)
        return globals()[name]
    raise AttributeError(f"module 'wick' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES, *_NAMES, *_METHODS})
