"""What the namespace can do, as the standard has programs ask."""
from __future__ import annotations

from .._wick import DType, devices as _devices
from ._data_types import DEFAULT_FLOAT, DEFAULT_INT, KINDS
from ._types import DeviceLike

MAX_RANK = 8


class Info:
    """Capabilities, devices and dtypes."""

    def capabilities(self) -> dict[str, bool | int]:
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": MAX_RANK}

    def default_device(self) -> str:
        return str(_zeros_device())

    def default_dtypes(self, *, device: DeviceLike | None = None) -> dict[str, DType]:
        """Those of results without a dtype; without uint64 and complex dtypes there is none of a complex number."""
        return {"real floating": DEFAULT_FLOAT, "integral": DEFAULT_INT, "indexing": DEFAULT_INT}

    def dtypes(self, *, device: DeviceLike | None = None, kind: str | tuple[str, ...] | None = None) -> dict[str, DType]:
        """By name; of one kind or of several."""
        kinds = ("bool", "numeric") if kind is None else (kind,) if isinstance(kind, str) else kind
        found: dict[str, DType] = {}
        for one in kinds:
            if one not in KINDS:
                raise ValueError(f"dtypes: there is no kind '{one}'; there are {', '.join(KINDS)}")
            found.update(KINDS[one])
        return found

    def devices(self) -> list[str]:
        """The names of this machine's devices, which every function takes as a device."""
        return [str(row["device"]) for row in _devices()]


def _zeros_device() -> object:
    from .._wick import zeros

    return zeros(()).device


def __array_namespace_info__() -> Info:
    return Info()
