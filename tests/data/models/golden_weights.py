"""The weights of the small models here, which no file stores; tests/model/golden_models.h has the same ones."""
import sys

import numpy


def weight(name, shape):
    """Uniform numbers of splitmix64, of variance 1 / columns; norms are around 1, biases small."""
    state = 0xCBF29CE484222325
    for byte in name.encode():
        state = (state ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    count = int(numpy.prod(shape))
    with numpy.errstate(over="ignore"):
        x = numpy.uint64(state) + numpy.arange(1, count + 1, dtype=numpy.uint64) * numpy.uint64(0x9E3779B97F4A7C15)
        x = (x ^ (x >> numpy.uint64(30))) * numpy.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> numpy.uint64(27))) * numpy.uint64(0x94D049BB133111EB)
        x = x ^ (x >> numpy.uint64(31))
    uniform = (x >> numpy.uint64(40)).astype(numpy.float64) / 2**23 - 1
    if len(shape) > 1:
        values = uniform * numpy.sqrt(3 / shape[-1])
    elif "norm" in name or "ln_" in name:
        values = uniform * 0.25 + (0 if name.endswith("bias") else 1)
    else:
        values = uniform * 0.25
    return values.astype(numpy.float32).reshape(shape)


def make_each(make, models):
    """Calls make(name) for the names that the command line gives, or all; ends with exit code 1 if one failed."""
    failed = False
    for name in sys.argv[1:] or models:
        try:
            make(name)
        except Exception as error:  # the next one may work
            failed = True
            print(name, "failed:", error)
    sys.exit(failed)
