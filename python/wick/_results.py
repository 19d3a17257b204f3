"""What methods return that have two results."""
from __future__ import annotations

import typing

if typing.TYPE_CHECKING:
    from ._wick import Tensor


class ValuesAndIndices(typing.NamedTuple):
    """Of max, min, sort, topk and median over a dimension: elements, and where they are, as i64."""

    values: Tensor
    indices: Tensor
