"""candle.typing."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

CPU = "cpu"
CUDA = "cuda"
Device: TypeAlias = str
Scalar: TypeAlias = "int | float"
Index: TypeAlias = "int | slice | None | Any"
Shape: TypeAlias = "int | Sequence[int]"
