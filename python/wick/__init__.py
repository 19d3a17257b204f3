"""Wick: tensors, neural networks and language models on CPUs and GPUs.

    x = wick.randn((2, 3))
    print(x @ x.T)
    print(wick.load("model.gguf").generate("Once upon a time").text)
"""
from __future__ import annotations

import importlib
import os
from typing import TYPE_CHECKING, Any

from . import composed as _composed, functions as _functions
from ._wick import *  # noqa: F403
from ._wick import _version as __version__

if TYPE_CHECKING:
    from . import array_api as array_api, candle as candle, ir as ir, linalg as linalg, llm as llm, nn as nn, optim as optim, ray as ray
    from .composed import *  # noqa: F403
    from .functions import *  # noqa: F403
    from .llm import Model as Model, load as load


def _seed_from_environment() -> None:
    text = os.environ.get("WICK_SEED", "")
    if not text:
        return
    if not (text.isascii() and text.isdigit() and int(text) < 2**64):
        raise InvalidArgumentError(f"WICK_SEED '{text}': must be a whole number from 0 to {2**64 - 1}")  # noqa: F405
    manual_seed(int(text))  # noqa: F405


_seed_from_environment()
_composed.attach()

# What few programs use is imported when it is asked for.
_MODULES = ("array_api", "candle", "ir", "linalg", "llm", "nn", "optim", "ray")
_NAMES = {"load": "llm", "Model": "llm"}
_FUNCTIONS = frozenset(_functions.names())


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f".{name}", __name__)
    if name in _NAMES:
        return getattr(importlib.import_module(f".{_NAMES[name]}", __name__), name)
    if name in _FUNCTIONS:
        globals()[name] = _functions.find(name)
        return globals()[name]
    raise AttributeError(f"module 'wick' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES, *_NAMES, *_FUNCTIONS})
