"""Wick: tensors, neural networks and language models on CPUs and GPUs."""
from ._wick import *  # noqa: F403
