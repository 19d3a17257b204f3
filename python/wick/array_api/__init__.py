"""The Python array API standard, version 2024.12, over wick.Tensor.

    xp = wick.array_api            # or x.__array_namespace__()
    xp.sum(xp.asarray([1.0, 2.0]))

Arrays are tensors of every device. Not there: the dtypes that Wick has not (uint16, uint64, complex64, complex128), and with them the
extension fft.
"""
from __future__ import annotations

import math as _math

from .._wick import (bool, float32, float64, from_dlpack, int8, int16, int32, int64, uint8, uint32)
from . import linalg
from ._creation import (arange, asarray, empty, empty_like, eye, full, full_like, linspace, meshgrid, ones, ones_like, tril, triu, zeros,
                        zeros_like)
from ._data_types import astype, can_cast, finfo, iinfo, isdtype, result_type
from ._elementwise import (abs, acos, acosh, add, asin, asinh, atan, atan2, atanh, bitwise_and, bitwise_invert, bitwise_left_shift, bitwise_or,
                           bitwise_right_shift, bitwise_xor, ceil, clip, conj, copysign, cos, cosh, divide, equal, exp, expm1, floor,
                           floor_divide, greater, greater_equal, hypot, imag, isfinite, isinf, isnan, less, less_equal, log, log1p, log2,
                           log10, logaddexp, logical_and, logical_not, logical_or, logical_xor, maximum, minimum, multiply, negative,
                           nextafter, not_equal, positive, pow, real, reciprocal, remainder, round, sign, signbit, sin, sinh, sqrt, square,
                           subtract, tan, tanh, trunc)
from ._info import __array_namespace_info__
from ._manipulation import (broadcast_arrays, broadcast_to, concat, expand_dims, flip, matrix_transpose, moveaxis, permute_dims, repeat,
                            reshape, roll, squeeze, stack, tile, unstack)
from ._searching import (argmax, argmin, argsort, count_nonzero, nonzero, searchsorted, sort, take, take_along_axis, unique_all,
                         unique_counts, unique_inverse, unique_values, where)
from ._statistics import (all, any, cumulative_prod, cumulative_sum, diff, matmul, max, mean, min, prod, std, sum, tensordot, var, vecdot)

__array_api_version__ = "2024.12"

e = _math.e
inf = _math.inf
nan = _math.nan
newaxis = None
pi = _math.pi

__all__ = [name for name in dir() if not name.startswith("_") and name != "annotations"]
