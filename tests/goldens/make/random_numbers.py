"""Random numbers: Philox 4x32-10 and what device/philox.h makes of its words, in exact arithmetic."""

import math
from fractions import Fraction

import numpy
import torch

from golden import Family, Input, pack, unpack

MULTIPLIERS, WEYL = (0xD2511F53, 0xCD9E8D57), (0x9E3779B9, 0xBB67AE85)
BITS = {"f32": 24, "f16": 11, "bf16": 8, "f8e4m3": 4}


def philox(counter, key):
    """Salmon, Moraes, Dror & Shaw 2011: ten rounds of multiply and exclusive-or."""
    c, k = list(counter), list(key)
    for _ in range(10):
        p, q = MULTIPLIERS[0] * c[0], MULTIPLIERS[1] * c[2]
        c = [(q >> 32) ^ c[1] ^ k[0], q & 0xFFFFFFFF, (p >> 32) ^ c[3] ^ k[1], p & 0xFFFFFFFF]
        k = [(k[i] + WEYL[i]) & 0xFFFFFFFF for i in range(2)]
    return c


# The vectors that Random123 publishes (kat_vectors, philox4x32 10).
assert philox((0, 0, 0, 0), (0, 0)) == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]
assert philox((0xFFFFFFFF,) * 4, (0xFFFFFFFF,) * 2) == [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]
assert philox((0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344), (0xA4093822, 0x299F31D0)) == [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1]


def words(seed, first, count):
    found = []
    for block in range(first // 4, (first + count + 3) // 4):
        found += philox((block & 0xFFFFFFFF, block >> 32, 0, 0), (seed & 0xFFFFFFFF, seed >> 32))
    return found[first % 4:first % 4 + count]


def nearest(value, digits, smallest):
    """A fraction as a binary number of so many digits, ties to even."""
    if value == 0:
        return 0.0
    exponent = math.floor(math.log2(abs(value)))
    while abs(value) >= Fraction(2) ** (exponent + 1):
        exponent += 1
    while abs(value) < Fraction(2) ** exponent:
        exponent -= 1
    quantum = Fraction(2) ** max(exponent - digits + 1, smallest)
    return float(round(value / quantum) * quantum)


def rounded(dtype, value):
    return float(unpack(dtype, pack(dtype, numpy.array([value])))[0])


def below(dtype, high, low):
    """The largest number of the dtype under high, but not under low."""
    stored = pack(dtype, numpy.array([high]))
    bits = stored.view(f"uint{stored.dtype.itemsize * 8}").astype(object)[0]
    value = rounded(dtype, high)
    while value >= high:
        bits = bits - 1 if value > 0 else bits + 1
        value = float(unpack(dtype, numpy.array([bits], dtype=f"uint{stored.dtype.itemsize * 8}").view(stored.dtype))[0])
    return max(value, low)


def uniform(dtype, seed, offset, count, low, high):
    found = []
    for i in range(count):
        if dtype == "f64":
            w0, w1 = words(seed, offset + 2 * i, 2)
            u = Fraction(((w1 << 32) + w0) >> 11, 1 << 53)
            value = nearest(u * Fraction(high - low) + Fraction(low), 53, -1074)
        else:
            u = Fraction(words(seed, offset + i, 1)[0] >> (32 - BITS[dtype]), 1 << BITS[dtype])
            span = float(numpy.float32(high - low))
            value = rounded(dtype, nearest(u * Fraction(span) + Fraction(float(numpy.float32(low))), 24, -149))
        found.append(value if value < high else below(dtype, high, low))
    return found


def normal(dtype, seed, offset, count, mean, deviation):
    found = []
    for i in range(0, count, 2):
        if dtype == "f64":
            w = words(seed, offset + 2 * i, 4)
            a, b, p = ((w[1] << 32) + w[0]) >> 11, ((w[3] << 32) + w[2]) >> 11, 53
        else:
            (a, b), p = words(seed, offset + i, 2), 32
        r, angle = math.sqrt(-2 * math.log((a + 1) / 2**p)), 2 * math.pi * (b / 2**p)
        found += [mean + deviation * r * math.cos(angle), mean + deviation * r * math.sin(angle)]
    return found[:count]


def random_numbers():
    family = Family("random")
    for seed in (0, 1, 299792458, 2**64 - 1):
        for dtype in ("f32", "f64", "f16", "bf16", "f8e4m3"):
            # The draw before takes f32 numbers of the same stream.
            for before, count, low, high in ((0, 9, 0.0, 1.0), (5, 6, -2.0, 3.0), (0, 33, 0.1, 0.3)):
                offset = (before + 3) // 4 * 4
                family.add(f"{dtype}_{seed}_{before}_{count}", "rand", [Input(dtype, [1])],
                           lambda _: torch.tensor(uniform(dtype, seed, offset, count, low, high), dtype=torch.float64),
                           {"seed": seed, "before": before, "count": count, "low": low, "high": high}, exact=True)
                if dtype != "f8e4m3":
                    family.add(f"{dtype}_{seed}_{before}_{count}", "randn", [Input(dtype, [1])],
                               lambda _: torch.tensor(normal(dtype, seed, offset, count, low, high), dtype=torch.float64),
                               {"seed": seed, "before": before, "count": count, "mean": low, "deviation": high}, terms=8)
    return family
