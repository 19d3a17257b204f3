"""Conversions between all dtypes, in exact arithmetic: floats round to nearest even (f8e4m3 saturates); from a float to an integer
what is beyond its range saturates, the rest is truncated toward zero, and NaN becomes 0; from an integer to an integer the low bits stay."""

import numpy

from golden import BITS, NUMPY, SIZES, Family, Input, is_float, pack, unpack, values_of, fnv1a

RANGES = {d: (int(numpy.iinfo(t).min), int(numpy.iinfo(t).max)) for d, t in NUMPY.items() if not is_float(d)}
DTYPES = tuple(RANGES) + tuple(BITS)
EDGES = {
    "u8": [0, 1, 2, 127, 128, 200, 254, 255],
    "u32": [0, 1, 255, 256, 257, 32767, 32768, 65504, 65535, 65536, 2**24, 2**24 + 1, 2**24 + 3, 2**31 - 1, 2**31, 2**32 - 1],
    "i16": [0, 1, -1, 127, 128, 255, 256, 257, 449, 464, 480, -128, -129, 2049, 2051, 32767, -32768],
    "i32": [0, -1, 255, 256, 32767, 32768, -32769, 65519, 65520, 2**24 + 1, 2**24 + 3, 2**31 - 1, -(2**31), 2**31 - 64, 2**31 - 65],
    "i64": [0, -1, 255, 256, 2**31, -(2**31) - 1, 2**32 - 1, 2**32, 2**53 + 1, 2**53 + 3, 2**63 - 1, -(2**63), 2**63 - 512, 2**63 - 513, 65520, 2**40 + 2**16,
            2**24 + 1 + 2**50, (1 << 62) + (1 << 38) + 1,
            (1 << 62) + (1 << 54) + 1, (1 << 62) - (1 << 53) - 1],
}
FLOAT_EDGES = [0.0, "-0", 0.5, -0.5, 0.999, -0.999, 1.5, -1.5, 2.5, 127.5, 128.0, 255.0, 255.9, 256.0, -1.0, 448.0, 464.0, 465.0, 480.0, 1e4, 32767.5, 32768.0, -32768.9,
               -32769.0, 65504.0, 65519.0, 65520.0, 65536.0, 2147483520.0, 2147483648.0, -2147483648.0, 4294967040.0, 4294967296.0, 9.2e18, 9223372036854775808.0,
               -9223372036854775808.0, 1e19, 3.4e38, -3.4e38, 1e-3, 2.0**-6, 2.0**-7, 2.0**-9, 2.0**-10, 1.5 * 2.0**-10, 2.0**-14, 2.0**-24, 2.0**-25, 1.5 * 2.0**-25,
               2.0**-126, 2.0**-133, 2.0**-149, "inf", "-inf", "nan", 0.1, 1 / 3, 1.0625, 1.1875, 1.0 + 2.0**-8, 1.0 + 3 * 2.0**-8, 1.0 + 2.0**-11, 1.0 + 3 * 2.0**-11]
WIDE_EDGES = [1e300, -1e300, 1e-300, 1 + 2.0**-24, 1 + 2.0**-24 + 2.0**-50, 1 + 3 * 2.0**-24, 1 + 2.0**-11 + 2.0**-40, 1 + 2.0**-8 + 2.0**-40, 3.4028235677973366e38,
              65519.99999999999, 1.0625 + 2.0**-40, 2.0**-25 + 2.0**-60]


def integer_to_float(dtype, value):
    """One rounding, ties to even, of any whole number: more digits than the dtype has are dropped by hand, so that f64 is exact."""
    width = abs(value).bit_length()
    keep = {"f64": 53, "f32": 24, "f16": 11, "bf16": 8, "f8e4m3": 4}[dtype]
    if width > keep:
        drop = width - keep
        half, low = 1 << (drop - 1), abs(value) & ((1 << drop) - 1)
        kept = abs(value) >> drop
        kept += low > half or (low == half and kept & 1)
        value = (kept << drop) * (1 if value > 0 else -1)
    return float(value)


def converted(source, target, values):
    if is_float(target):
        return [float(v) if is_float(source) else integer_to_float(target, int(v)) for v in values]
    low, high = RANGES[target]
    if is_float(source):
        return [0 if v != v else high if v >= high + 1 else low if v <= low - 1 else int(v) for v in map(float, values)]
    return [wrapped(int(v), target) for v in values]


def wrapped(value, target):
    width = SIZES[target] * 8
    value &= (1 << width) - 1
    return value - (1 << width) if target[0] == "i" and value >> (width - 1) else value


def casts():
    family = Family("cast")
    for source in DTYPES:
        for target in DTYPES:
            if is_float(source):
                edges = FLOAT_EDGES + (WIDE_EDGES if source == "f64" else [])
                values = {"f8e4m3": (["bits", 0, 1], 256)}.get(source, (["list", edges], len(edges)))
            else:
                values = (["list", EDGES[source]], len(EDGES[source]))
            sets = [(values[0], [values[1]], "flip"), (values[0], [2, values[1]], "transpose")]
            if SIZES[source] == 2 and source != target:
                sets.append((["bits", 7, 127], [516], "step"))
            for spec, shape, view in sets:
                spec = spec if not (is_float(source) and spec[0] == "list") else ["list", held(source, spec[1])]
                x = Input(source, shape, spec, view)
                family.add_exact(f"{source}_{target}_{shape}_{view}", "to_dtype", x, {"dtype": target}, target, lambda v: converted(source, target, v))
    return family


def held(dtype, values):
    """Only what the dtype holds, so that inputs need no rounding of their own: 17 digits of JSON are read exactly."""
    kept = []
    for v in values:
        number = float(v) if not isinstance(v, str) else float("-0.0" if v == "-0" else v)
        back = unpack(dtype, pack(dtype, numpy.array([number])))[0]
        text = "nan" if back != back else "inf" if back == numpy.inf else "-inf" if back == -numpy.inf else float(back)
        kept.append("-0" if back == 0 and numpy.signbit(back) else text)
    return kept
