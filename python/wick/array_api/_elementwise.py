"""Functions of each element. Operands broadcast; a Python number beside a tensor takes its dtype."""
from __future__ import annotations

import builtins
import math

from .. import _wick
from .._wick import Tensor
from ._data_types import iinfo
from ._types import Operand, as_tensor, pair


def _is_integral(x: Tensor) -> builtins.bool:
    return not x.dtype.is_floating_point


def _where_zero(x: Tensor, otherwise: Tensor, value: builtins.float) -> Tensor:
    return _wick.where(x.eq(0), value, otherwise) if x.size else otherwise


def abs(x: Tensor, /) -> Tensor:
    return x.abs()


def acos(x: Tensor, /) -> Tensor:
    return x.acos()


def acosh(x: Tensor, /) -> Tensor:
    return x.acosh()


def add(x1: Operand, x2: Operand, /) -> Tensor:
    a, b = pair("add", x1, x2)
    return a + b


def asin(x: Tensor, /) -> Tensor:
    return x.asin()


def asinh(x: Tensor, /) -> Tensor:
    return x.asinh()


def atan(x: Tensor, /) -> Tensor:
    return x.atan()


def atan2(x1: Operand, x2: Operand, /) -> Tensor:
    """The angle of the point (x2, x1), in [-π, π]."""
    return _wick._float_function("atan2", *pair("atan2", x1, x2))


def atanh(x: Tensor, /) -> Tensor:
    return x.atanh()


def bitwise_and(x1: Operand, x2: Operand, /) -> Tensor:
    a, b = pair("bitwise_and", x1, x2)
    return a & b


def bitwise_invert(x: Tensor, /) -> Tensor:
    return ~x


def bitwise_left_shift(x1: Operand, x2: Operand, /) -> Tensor:
    a, b = pair("bitwise_left_shift", x1, x2)
    return a << b


def bitwise_or(x1: Operand, x2: Operand, /) -> Tensor:
    a, b = pair("bitwise_or", x1, x2)
    return a | b


def bitwise_right_shift(x1: Operand, x2: Operand, /) -> Tensor:
    a, b = pair("bitwise_right_shift", x1, x2)
    return a >> b


def bitwise_xor(x1: Operand, x2: Operand, /) -> Tensor:
    a, b = pair("bitwise_xor", x1, x2)
    return a ^ b


def ceil(x: Tensor, /) -> Tensor:
    return x if _is_integral(x) else x.ceil()


def clip(x: Tensor, /, min: Operand | None = None, max: Operand | None = None) -> Tensor:
    """min where x is less, max where it is greater. The dtype is that of x."""
    made = x
    if min is not None:
        made = _bounded(made, min, x, largest=True)
    if max is not None:
        made = _bounded(made, max, x, largest=False)
    return made.copy() if made is x else made


def _bounded(x: Tensor, bound: Operand, like: Tensor, largest: builtins.bool) -> Tensor:
    limit = as_tensor(_number_within(bound, like), like.dtype, like.device)
    return x.maximum(limit) if largest else x.minimum(limit)


def _number_within(bound: Operand, like: Tensor) -> Operand:
    """A bound that an integer dtype does not hold, as the nearest number that it holds."""
    if like.dtype.is_floating_point or isinstance(bound, Tensor):
        return bound
    limits = iinfo(like.dtype)
    if isinstance(bound, float) and math.isinf(bound):
        return limits.max if bound > 0 else limits.min
    return builtins.max(limits.min, builtins.min(limits.max, int(bound)))


def conj(x: Tensor, /) -> Tensor:
    return x


def copysign(x1: Operand, x2: Operand, /) -> Tensor:
    """The magnitude of x1 with the sign of x2."""
    return _wick._float_function("copysign", *pair("copysign", x1, x2))


def cos(x: Tensor, /) -> Tensor:
    """The standard wants cos(0) = 1 exactly, where a device may be off by a unit in the last place."""
    return _where_zero(x, x.cos(), 1.0)


def cosh(x: Tensor, /) -> Tensor:
    return x.cosh()


def divide(x1: Operand, x2: Operand, /) -> Tensor:
    a, b = pair("divide", x1, x2)
    return a / b


def equal(x1: Operand, x2: Operand, /) -> Tensor:
    a, b = pair("equal", x1, x2)
    return a.eq(b)


def exp(x: Tensor, /) -> Tensor:
    return x.exp()


def expm1(x: Tensor, /) -> Tensor:
    return x.expm1()


def floor(x: Tensor, /) -> Tensor:
    return x if _is_integral(x) else x.floor()


def floor_divide(x1: Operand, x2: Operand, /) -> Tensor:
    a, b = pair("floor_divide", x1, x2)
    return a // b


def greater(x1: Operand, x2: Operand, /) -> Tensor:
    a, b = pair("greater", x1, x2)
    return a.gt(b)


def greater_equal(x1: Operand, x2: Operand, /) -> Tensor:
    a, b = pair("greater_equal", x1, x2)
    return a.ge(b)


def hypot(x1: Operand, x2: Operand, /) -> Tensor:
    """√(x1² + x2²), without overflow in between."""
    return _wick._float_function("hypot", *pair("hypot", x1, x2))


def imag(x: Tensor, /) -> Tensor:
    raise TypeError(f"imag: {x.dtype!r} is not complex; Wick has no complex dtypes")


def isfinite(x: Tensor, /) -> Tensor:
    return x.isfinite()


def isinf(x: Tensor, /) -> Tensor:
    return x.isinf()


def isnan(x: Tensor, /) -> Tensor:
    return x.isnan()


def less(x1: Operand, x2: Operand, /) -> Tensor:
    a, b = pair("less", x1, x2)
    return a.lt(b)


def less_equal(x1: Operand, x2: Operand, /) -> Tensor:
    a, b = pair("less_equal", x1, x2)
    return a.le(b)


def log(x: Tensor, /) -> Tensor:
    return x.log()


def log1p(x: Tensor, /) -> Tensor:
    return x.log1p()


def log2(x: Tensor, /) -> Tensor:
    return x.log2()


def log10(x: Tensor, /) -> Tensor:
    return x.log10()


def logaddexp(x1: Operand, x2: Operand, /) -> Tensor:
    """log(e^x1 + e^x2), without overflow in between."""
    return _wick._float_function("logaddexp", *pair("logaddexp", x1, x2))


def logical_and(x1: Operand, x2: Operand, /) -> Tensor:
    a, b = pair("logical_and", x1, x2)
    return a.logical_and(b)


def logical_not(x: Tensor, /) -> Tensor:
    return x.logical_not()


def logical_or(x1: Operand, x2: Operand, /) -> Tensor:
    a, b = pair("logical_or", x1, x2)
    return a.logical_or(b)


def logical_xor(x1: Operand, x2: Operand, /) -> Tensor:
    a, b = pair("logical_xor", x1, x2)
    return a.logical_xor(b)


def maximum(x1: Operand, x2: Operand, /) -> Tensor:
    a, b = pair("maximum", x1, x2)
    return a.maximum(b)


def minimum(x1: Operand, x2: Operand, /) -> Tensor:
    a, b = pair("minimum", x1, x2)
    return a.minimum(b)


def multiply(x1: Operand, x2: Operand, /) -> Tensor:
    a, b = pair("multiply", x1, x2)
    return a * b


def negative(x: Tensor, /) -> Tensor:
    return -x


def nextafter(x1: Operand, x2: Operand, /) -> Tensor:
    """The next number that the dtype holds after x1, toward x2."""
    return _wick._float_function("nextafter", *pair("nextafter", x1, x2))


def not_equal(x1: Operand, x2: Operand, /) -> Tensor:
    a, b = pair("not_equal", x1, x2)
    return a.ne(b)


def positive(x: Tensor, /) -> Tensor:
    return x.copy()


def pow(x1: Operand, x2: Operand, /) -> Tensor:
    a, b = pair("pow", x1, x2)
    return a.pow(b)


def real(x: Tensor, /) -> Tensor:
    return x


def reciprocal(x: Tensor, /) -> Tensor:
    return x.recip()


def remainder(x1: Operand, x2: Operand, /) -> Tensor:
    """What a division toward minus infinity leaves: its sign is that of x2."""
    a, b = pair("remainder", x1, x2)
    rest = a % b
    if _is_integral(rest) or not rest.size:
        return rest
    return _wick.where(rest.eq(0), b.sign() * _wick.zeros_like(b), rest)


def round(x: Tensor, /) -> Tensor:
    """To the nearest whole number, halves to the even one."""
    return x if _is_integral(x) else x.round()


def sign(x: Tensor, /) -> Tensor:
    return x.sign()


def signbit(x: Tensor, /) -> Tensor:
    """Whether the sign bit is set: also that of -0 and of NaN."""
    one = _wick.ones((), dtype=x.dtype, device=x.device)
    return _wick._float_function("copysign", one, x).lt(0)


def sin(x: Tensor, /) -> Tensor:
    """The standard wants sin(-0) = -0."""
    return _wick.where(x.eq(0), x, x.sin()) if x.size else x


def sinh(x: Tensor, /) -> Tensor:
    return x.sinh()


def sqrt(x: Tensor, /) -> Tensor:
    return x.sqrt()


def square(x: Tensor, /) -> Tensor:
    return x.sqr()


def subtract(x1: Operand, x2: Operand, /) -> Tensor:
    a, b = pair("subtract", x1, x2)
    return a - b


def tan(x: Tensor, /) -> Tensor:
    return x.tan()


def tanh(x: Tensor, /) -> Tensor:
    return x.tanh()


def trunc(x: Tensor, /) -> Tensor:
    return x if _is_integral(x) else x.trunc()
