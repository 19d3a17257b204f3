"""The file format of the golden values and the generator of their inputs.

A case names an op, its parameters and its inputs; inputs are not stored but drawn from a counter-based generator that
tests/goldens/inputs.cpp implements too. Stored are only the results, computed in f64 (PyTorch) or exactly (integers, casts) from the
inputs as the dtype holds them, and rounded once to the result's dtype.

<family>.json holds one case a line, <family>.safetensors one flat array per dtype:

  name    unique; the seed of input i is FNV-1a of "<name>#<i>", that of the upstream gradient of output i of "<name>#up<i>"
  op, p   the op and its parameters, as tests/goldens/ops_*.cpp reads them
  in      [dtype, shape, values, view]: an input of that shape, then the steps of the view, each one call of the Tensor API
          values  ["grid", low, high, e]  k * 2^e, k drawn from low ... high - 1
                  ["odd", low, high, e]   (2 * k + 1) * 2^e: never 0 and, for e < -1, never between two integers
                  ["distinct", first, e]  the numbers (first + i) * 2^e in an order drawn by Fisher and Yates' shuffle
                  ["list", [...]]         these, over and over; "nan", "inf", "-inf", "-0" as strings
                  ["bits", first, step]   the bit patterns first + i * step
          view    ["reshape", shape] ["narrow", dim, start, length] ["transpose", a, b] ["permute", order] ["flip", dim]
                  ["broadcast", shape] ["squeeze", dim]
  out     [dtype, shape, first element in the flat array]
  grad    per input: none, or the gradient of sum(upstream * output) with respect to the input before its view, stored as out
  grad2   per input: the gradient of sum(#second<i> * grad i) over the inputs i with respect to that input
  terms   how many terms the longest sum of the op has: part of the tolerance (tests/goldens/tolerance.h)
  exact   every bit counts
"""

import json
import struct
from pathlib import Path

import numpy
import torch

numpy.seterr(all="ignore")
BITS = {"f64": 40, "f32": 20, "f16": 11, "bf16": 8, "f8e4m3": 4}
FLOATS = ("f32", "f64", "bf16", "f16")
NUMPY = {"u8": numpy.uint8, "u32": numpy.uint32, "i16": numpy.int16, "i32": numpy.int32, "i64": numpy.int64,
         "f16": numpy.float16, "f32": numpy.float32, "f64": numpy.float64}
SAFETENSORS = {"u8": "U8", "u32": "U32", "i16": "I16", "i32": "I32", "i64": "I64", "f16": "F16", "bf16": "BF16", "f32": "F32",
               "f64": "F64", "f8e4m3": "F8_E4M3"}
SIZES = {"u8": 1, "u32": 4, "i16": 2, "i32": 4, "i64": 8, "f16": 2, "bf16": 2, "f32": 4, "f64": 8, "f8e4m3": 1}
MASK = (1 << 64) - 1


def is_float(dtype):
    return dtype in BITS


def fnv1a(text):
    value = 0xCBF29CE484222325
    for byte in text.encode():
        value = ((value ^ byte) * 0x100000001B3) & MASK
    return value


def draws(seed, count):
    """SplitMix64 (Steele, Lea & Flood 2014): the number of counter i is mix(seed + (i + 1) * golden ratio)."""
    with numpy.errstate(over="ignore"):
        z = numpy.uint64(seed) + numpy.arange(1, count + 1, dtype=numpy.uint64) * numpy.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> numpy.uint64(30))) * numpy.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> numpy.uint64(27))) * numpy.uint64(0x94D049BB133111EB)
        return z ^ (z >> numpy.uint64(31))


# ---- Rounding -------------------------------------------------------------------------------------------------------------------

def _f8_values():
    values = []
    for code in range(127):
        exponent, mantissa = code >> 3, code & 7
        values.append(mantissa * 2.0**-9 if exponent == 0 else (1 + mantissa / 8) * 2.0 ** (exponent - 7))
    return numpy.array(values)


F8_VALUES = _f8_values()


def to_f8_bits(values):
    """Nearest, ties to the even code; saturates at 448, NaN stays NaN (OCP OFP8, SatFinite)."""
    values = numpy.asarray(values, dtype=numpy.float64)
    magnitude = numpy.minimum(numpy.abs(values), 448.0)
    high = numpy.clip(numpy.searchsorted(F8_VALUES, magnitude), 0, 126)
    low = numpy.maximum(high - 1, 0)
    to_low, to_high = magnitude - F8_VALUES[low], F8_VALUES[high] - magnitude
    code = numpy.where((to_low < to_high) | ((to_low == to_high) & (low % 2 == 0)), low, high)
    code = numpy.where(numpy.isnan(values), 127, code)
    return (code | numpy.where(numpy.signbit(values), 128, 0)).astype(numpy.uint8)


def from_f8_bits(bits):
    code = bits & 127
    values = numpy.where(code == 127, numpy.nan, F8_VALUES[numpy.minimum(code, 126)])
    return numpy.where(bits & 128, -values, values)


def to_bf16_bits(values):
    """From f64 with one rounding: f32 rounded to odd, then to nearest even (Boldo & Melquiond 2008)."""
    values = numpy.asarray(values, dtype=numpy.float64)
    with numpy.errstate(over="ignore"):
        nearest = values.astype(numpy.float32)
    word = nearest.view(numpy.uint32).astype(numpy.int64)
    back = nearest.astype(numpy.float64)
    inexact = (back != values) & ~numpy.isnan(values) & (word & 1 == 0)
    word = numpy.where(inexact, numpy.where((back < values) == (values > 0), word + 1, word - 1), word)
    rounded = (word + 0x7FFF + ((word >> 16) & 1)) >> 16
    return numpy.where(numpy.isnan(values), (word >> 16) | 0x40, rounded).astype(numpy.uint16)


def from_bf16_bits(bits):
    return (bits.astype(numpy.uint32) << 16).view(numpy.float32).astype(numpy.float64)


def pack(dtype, values):
    """Floats are rounded once from f64; integers must fit. Returns the array whose bytes are stored."""
    values = numpy.asarray(values).reshape(-1)
    if dtype == "f8e4m3":
        return to_f8_bits(values)
    if dtype == "bf16":
        return to_bf16_bits(values)
    if is_float(dtype):
        with numpy.errstate(over="ignore"):
            return values.astype(numpy.float64).astype(NUMPY[dtype])
    packed = values.astype(NUMPY[dtype])
    assert (packed.astype(object) == values.astype(object)).all(), f"{dtype} does not hold {values}"
    return packed


def unpack(dtype, stored):
    """As f64 for floats, as Python's or NumPy's integers otherwise."""
    if dtype == "f8e4m3":
        return from_f8_bits(stored)
    if dtype == "bf16":
        return from_bf16_bits(stored)
    return stored.astype(numpy.float64) if is_float(dtype) else stored


def rounded(dtype, values):
    values = numpy.asarray(values)
    return unpack(dtype, pack(dtype, values)).reshape(values.shape)


# ---- Inputs ---------------------------------------------------------------------------------------------------------------------

def grid(low, high, dtype):
    """Multiples of a power of two in [low, high] that the dtype holds exactly."""
    if not is_float(dtype):
        return ["grid", int(low), int(high) + 1, 0]
    exponent = int(numpy.ceil(numpy.log2(max(abs(low), abs(high))))) - BITS[dtype]
    step = 2.0**exponent
    return ["odd", int(numpy.ceil(low / step / 2)), int(numpy.floor(high / step / 2)), exponent]


def distinct(dtype, count, low=-2.0, span=4.0):
    """`count` different numbers evenly spread over about [low, low + span], exact in the dtype."""
    exponent = int(numpy.floor(numpy.log2(span / max(count, 1)))) if is_float(dtype) else 0
    return ["distinct", int(low / 2.0**exponent), exponent]


def special(text):
    return {"nan": numpy.nan, "inf": numpy.inf, "-inf": -numpy.inf, "-0": -0.0}[text] if isinstance(text, str) else text


def values_of(dtype, spec, count, seed):
    kind = spec[0]
    if kind in ("grid", "odd"):
        _, low, high, exponent = spec
        k = (draws(seed, count) % numpy.uint64(high - low)).astype(numpy.int64) + low
        k = 2 * k + 1 if kind == "odd" else k
        return pack(dtype, k * 2.0**exponent if is_float(dtype) else k)
    if kind == "distinct":
        _, first, exponent = spec
        order = list(range(count))
        numbers = draws(seed, count)
        for i in range(count - 1, 0, -1):
            j = int(numbers[i]) % (i + 1)
            order[i], order[j] = order[j], order[i]
        k = numpy.array(order, dtype=numpy.int64) + first
        return pack(dtype, k * 2.0**exponent if is_float(dtype) else k)
    if kind == "list":
        items = [special(x) for x in spec[1]]
        repeated = [items[i % len(items)] for i in range(count)]
        return pack(dtype, numpy.array(repeated, dtype=numpy.float64 if is_float(dtype) else object))
    if kind == "bits":
        _, first, step = spec
        width = SIZES[dtype] * 8
        patterns = [(first + i * step) % (1 << width) for i in range(count)]
        stored = NUMPY.get(dtype, {1: numpy.uint8, 2: numpy.uint16}[SIZES[dtype]] if dtype not in NUMPY else None)
        return numpy.array(patterns, dtype=f"uint{width}").view(stored)
    raise ValueError(spec)


def apply_view(tensor, steps):
    for step in steps:
        kind, arguments = step[0], step[1:]
        if kind == "reshape":
            tensor = tensor.reshape(arguments[0])
        elif kind == "narrow":
            tensor = tensor.narrow(*arguments)
        elif kind == "transpose":
            tensor = tensor.transpose(*arguments)
        elif kind == "permute":
            tensor = tensor.permute(arguments[0])
        elif kind == "flip":
            tensor = tensor.flip(arguments[0])
        elif kind == "broadcast":
            tensor = tensor.expand(arguments[0])
        elif kind == "squeeze":
            tensor = tensor.squeeze(arguments[0])
        else:
            raise ValueError(step)
    return tensor


class Input:
    """shape: the one that the op sees; the view decides the shape of the values beneath."""

    def __init__(self, dtype, shape, values=None, view="plain"):
        self.dtype = dtype
        self.base, self.steps = view_of(list(shape), view)
        self.values = grid(-2, 2, dtype) if values is None and is_float(dtype) else values or grid(-9 if dtype[0] == "i" else 0, 9, dtype)

    def spec(self):
        entry = [self.dtype, self.base, self.values]
        return entry + [self.steps] if self.steps else entry

    def leaf(self, seed):
        count = int(numpy.prod(self.base, dtype=numpy.int64))
        numbers = unpack(self.dtype, values_of(self.dtype, self.values, count, seed))
        if is_float(self.dtype):
            return torch.tensor(numbers, dtype=torch.float64).reshape(self.base)
        return torch.tensor(numbers.astype(numpy.int64), dtype=torch.int64).reshape(self.base)


def view_of(shape, view):
    """(shape beneath, steps) of a layout by name."""
    rank = len(shape)
    last = rank - 1
    if view == "plain" or rank == 0:
        return shape, []
    if view == "offset":
        return [shape[0] + 3] + shape[1:], [["narrow", 0, 2, shape[0]]]
    if view == "narrow":
        return shape[:-1] + [shape[-1] + 3], [["narrow", last, 1, shape[-1]]]
    if view == "step":
        base = shape[:-1] + [shape[-1] * 2]
        return base, [["reshape", shape + [2]], ["narrow", rank, 1, 1], ["squeeze", rank]]
    if view == "flip":
        return shape, [["flip", last]]
    if view == "flip0":
        return shape, [["flip", 0]]
    if view == "transpose":
        if rank < 2:
            return view_of(shape, "step")
        return shape[:-2] + [shape[-1], shape[-2]], [["transpose", rank - 2, last]]
    if view == "permute":
        if rank < 3:
            return view_of(shape, "transpose")
        return [shape[-1]] + shape[:-1], [["permute", list(range(1, rank)) + [0]]]
    if view == "broadcast":
        return [1] + shape[1:], [["broadcast", shape]]
    if view == "broadcast_last":
        return shape[:-1] + [1], [["broadcast", shape]]
    if view == "mixed":
        if rank < 2:
            return view_of(shape, "flip")
        base = shape[:-2] + [shape[-1] + 2, shape[-2]]
        return base, [["narrow", rank - 2, 1, shape[-1]], ["transpose", rank - 2, last], ["flip", rank - 2]]
    raise ValueError(view)


VIEWS = ("plain", "transpose", "offset", "narrow", "step", "flip", "broadcast", "permute", "mixed", "broadcast_last", "flip0")
SHAPES = ([3, 4], [5], [2, 3, 4], [], [1, 7], [2, 1, 3, 2], [0, 3], [2, 2, 1, 3, 2], [17], [4, 1], [2, 0, 3])


# ---- Files ----------------------------------------------------------------------------------------------------------------------

class Family:
    """The cases of one pair of files."""

    def __init__(self, name):
        self.name = name
        self.lines = []
        self.names = set()
        self.arrays = {}

    def store(self, dtype, values, shape):
        stored = pack(dtype, values)
        assert stored.size == int(numpy.prod(shape, dtype=numpy.int64))
        parts = self.arrays.setdefault(dtype, [])
        first = sum(part.size for part in parts)
        parts.append(stored)
        return [dtype, list(shape), first]

    def add(self, name, op, inputs, compute, parameters=None, out=None, grad=(), second=False, terms=0, exact=False):
        """compute(*tensors) gives one tensor or several: f64 for float inputs, i64 for integer ones. out: the dtypes of the results,
        the first input's if left out. grad: the numbers of the inputs that have a gradient."""
        name = f"{op}/{name}"
        if name in self.names:
            name += f"_{len(self.names)}"
        self.names.add(name)
        leaves = [x.leaf(fnv1a(f"{name}#{i}")) for i, x in enumerate(inputs)]
        for i in grad:
            leaves[i].requires_grad_(True)
        results = compute(*(apply_view(leaf, x.steps).contiguous() for leaf, x in zip(leaves, inputs)))
        results = list(results) if isinstance(results, (list, tuple)) else [results]
        out = out or [inputs[0].dtype] * len(results)
        out = [out] if isinstance(out, str) else out
        case = {"name": name, "op": op}
        if parameters:
            case["p"] = parameters
        case["in"] = [x.spec() for x in inputs]
        case["out"] = [self.store(d, r.detach().numpy(), list(r.shape)) for d, r in zip(out, results)]
        if grad:
            self.add_gradients(case, inputs, leaves, results, out, grad, second)
        if terms:
            case["terms"] = int(terms)
        if exact:
            case["exact"] = True
        self.lines.append(json.dumps(case, separators=(",", ":")))

    def add_exact(self, name, op, x, parameters, out, compute):
        """As add, of one input, on its numbers as NumPy's or Python's own, so that no integer passes through f64."""
        name = f"{op}/{name}"
        self.names.add(name)
        count = int(numpy.prod(x.base, dtype=numpy.int64))
        values = unpack(x.dtype, values_of(x.dtype, x.values, count, fnv1a(f"{name}#0")))
        places = apply_view(torch.arange(count).reshape(x.base), x.steps)
        results = compute(values[places.reshape(-1).numpy()])
        results = numpy.array(results, dtype=numpy.float64 if is_float(out) else object)
        case = {"name": name, "op": op, "p": parameters, "in": [x.spec()], "out": [self.store(out, results, list(places.shape))], "exact": True}
        self.lines.append(json.dumps(case, separators=(",", ":")))

    def add_gradients(self, case, inputs, leaves, results, out, grad, second):
        def drawn(label, dtype, shape):
            count = int(numpy.prod(shape, dtype=numpy.int64))
            stored = values_of(dtype, grid(-1, 1, dtype), count, fnv1a(f"{case['name']}#{label}"))
            return torch.tensor(unpack(dtype, stored)).reshape(list(shape))

        loss = sum((r * drawn(f"up{i}", d, r.shape)).sum()
                   for i, (r, d) in enumerate(zip(results, out)) if is_float(d) and r.requires_grad)
        firsts = torch.autograd.grad(loss, [leaves[i] for i in grad], create_graph=second, allow_unused=True)
        firsts = [torch.zeros_like(leaves[i]) if g is None else g for i, g in zip(grad, firsts)]
        case["grad"] = self.per_input(inputs, grad, firsts)
        if not second:
            return
        loss = sum((g * drawn(f"second{i}", inputs[i].dtype, g.shape)).sum() for i, g in zip(grad, firsts))
        leaf_list = [leaves[i] for i in grad]
        seconds = torch.autograd.grad(loss, leaf_list, allow_unused=True) if loss.requires_grad else [None] * len(leaf_list)
        seconds = [torch.zeros_like(leaves[i]) if g is None else g for i, g in zip(grad, seconds)]
        case["grad2"] = self.per_input(inputs, grad, seconds)

    def per_input(self, inputs, grad, tensors):
        entries = [None] * len(inputs)
        for i, tensor in zip(grad, tensors):
            dense = torch.zeros(tensor.shape, dtype=torch.float64) + tensor.detach()  # PyTorch has zeros without memory
            entries[i] = self.store(inputs[i].dtype, dense.numpy(), list(tensor.shape))
        return entries

    def write(self, folder):
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        text = '{"cases":[\n' + ",\n".join(self.lines) + "\n]}\n"
        (folder / f"{self.name}.json").write_text(text)
        header, data = {}, b""
        for dtype in sorted(self.arrays, key=lambda d: -SIZES[d]):
            raw = numpy.concatenate(self.arrays[dtype]).tobytes()
            header[dtype] = {"dtype": SAFETENSORS[dtype], "shape": [len(raw) // SIZES[dtype]], "data_offsets": [len(data), len(data) + len(raw)]}
            data += raw
        encoded = json.dumps(header, separators=(",", ":")).encode()
        encoded += b" " * (-len(encoded) % 8)
        (folder / f"{self.name}.safetensors").write_bytes(struct.pack("<Q", len(encoded)) + encoded + data)
        return len(self.lines), len(text), len(data)
