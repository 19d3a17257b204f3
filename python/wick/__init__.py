"""Wick: tensors, neural networks and language models on CPUs and GPUs.

    x = wick.randn((2, 3))
    print(x @ x.T)
    print(wick.load("model.gguf").generate("Once upon a time").text)
"""
from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from ._wick import *  # noqa: F403

if TYPE_CHECKING:
    from . import array_api as array_api, candle as candle, ir as ir, llm as llm, nn as nn
    from .llm import Model as Model, load as load

# What few programs use is imported when it is asked for.
_MODULES = ("array_api", "candle", "ir", "llm", "nn")
_NAMES = {"load": "llm", "Model": "llm"}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f".{name}", __name__)
    if name in _NAMES:
        return getattr(importlib.import_module(f".{_NAMES[name]}", __name__), name)
    raise AttributeError(f"module 'wick' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES, *_NAMES})
