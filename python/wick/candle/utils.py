"""candle.utils: files, and what the module was built with."""
from __future__ import annotations

import os
from typing import Any, NoReturn

from .. import _wick
from ._tensor import QTensor, Tensor


def cuda_is_available() -> bool:
    return bool(_wick.HAS_CUDA) and _wick.is_available("cuda:0")


def get_num_threads() -> int:
    """The host's processors that this process may use."""
    return len(os.sched_getaffinity(0))


def has_accelerate() -> bool:
    return False


def has_mkl() -> bool:
    return False


def load_ggml(path: str | os.PathLike[str], device: str | None = None) -> NoReturn:
    raise NotImplementedError(f"load_ggml: {os.fspath(path)}: Wick reads GGUF, which followed GGML's files in 2023; convert the file")


def load_gguf(path: str | os.PathLike[str], device: str | None = None) -> tuple[dict[str, QTensor], dict[str, Any]]:
    tensors, metadata = _wick.load_gguf(path, device)
    return {name: QTensor(tensor) for name, tensor in tensors.items()}, metadata


def save_gguf(path: str | os.PathLike[str], tensors: dict[str, QTensor], metadata: dict[str, Any]) -> None:
    _wick.save_gguf({name: tensor._tensor for name, tensor in tensors.items()}, path, metadata)


def load_safetensors(path: str | os.PathLike[str]) -> dict[str, Tensor]:
    return {name: Tensor.of(tensor) for name, tensor in _wick.load_tensors(path).items()}


def save_safetensors(path: str | os.PathLike[str], tensors: dict[str, Tensor]) -> None:
    _wick.save_tensors({name: tensor._tensor for name, tensor in tensors.items()}, path)
