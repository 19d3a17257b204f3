#!/usr/bin/env python3
"""Writes numpy_layouts.safetensors: a small matrix in each layout whose published formula is computed here in NumPy, and its values.

    venv/bin/pip install numpy
    venv/bin/python tests/data/formats/quantized/make_numpy_layouts.py

LAYOUT.m.PART are the parts as the layout's program stores them, LAYOUT.want the values (f32): 4-bit floats by the OCP Microscaling
specification and NVIDIA's modelopt, compressed-tensors divides by its global scale; MLX: scale · code + bias; bitsandbytes: quant_map[code] ·
absmax, and int8 · SCB / 127; HQQ: (code - zero) · scale; BitNet: (code - 1) · weight_scale, or divided by it ("bitlinear").
"""
import json
import pathlib
import struct

import numpy

HERE = pathlib.Path(__file__).parent
ROWS = 8
random = numpy.random.default_rng(60)
f32 = numpy.float32
tensors = {}  # name: (dtype, shape, bytes)
NAMES = {"uint8": "U8", "int8": "I8", "int32": "I32", "uint32": "U32", "int64": "I64", "float16": "F16", "float32": "F32"}


def bf16(values):
    """Values cut to bf16, as f32."""
    return (numpy.asarray(values, f32).view(numpy.uint32) & 0xFFFF0000).view(f32)


def add(layout, parts, want):
    for name, value in {**{f"m.{key}": part for key, part in parts.items()}, "want": numpy.asarray(want, f32)}.items():
        kind = None
        if isinstance(value, tuple):
            kind, value = value
        value = numpy.ascontiguousarray(value)
        shape = list(value.shape)
        if kind == "BF16":
            value = (value.view(numpy.uint32) >> 16).astype(numpy.uint16)
        tensors[f"{layout}.{name}"] = (kind or NAMES[value.dtype.name], shape, value.tobytes())


def e2m1(codes):
    """1 bit of sign, 2 of exponent (bias 1), 1 of mantissa."""
    exponent, mantissa = codes >> 1 & 3, codes & 1
    magnitude = numpy.where(exponent == 0, mantissa * 0.5, (1 + mantissa * 0.5) * 2.0 ** (exponent - 1.0))
    return numpy.where(codes & 8, -magnitude, magnitude).astype(f32)


def e4m3(codes):
    """4 bits of exponent (bias 7), 3 of mantissa, without a sign."""
    exponent, mantissa = codes >> 3, codes & 7
    return numpy.where(exponent == 0, mantissa * 2.0**-9, (1 + mantissa / 8) * 2.0 ** (exponent - 7.0)).astype(f32)


def nvfp4(layout, columns, compressed):
    codes = random.integers(0, 16, (ROWS, columns), dtype=numpy.uint8)
    scales = random.integers(0, 0x7F, (ROWS, columns // 16), dtype=numpy.uint8)
    packed = codes[:, 0::2] | codes[:, 1::2] << 4
    wide = numpy.repeat(e4m3(scales), 16, axis=1)
    if compressed:
        divisor = f32(random.uniform(1000, 3000))
        parts = {"weight_packed": packed, "weight_scale": ("F8_E4M3", scales), "weight_global_scale": numpy.array([divisor])}
        add(layout, {**parts, "input_global_scale": numpy.array([f32(1)])}, e2m1(codes) * (wide / divisor))
        return
    factor = f32(random.uniform(0.0001, 0.001))
    parts = {"weight": packed, "weight_scale": ("F8_E4M3", scales), "weight_scale_2": numpy.array(factor), "input_scale": numpy.array(f32(1))}
    add(layout, parts, e2m1(codes) * wide * factor)


def mxfp4():
    codes = random.integers(0, 16, (ROWS, 64), dtype=numpy.uint8)
    scales = random.integers(100, 140, (ROWS, 2), dtype=numpy.uint8)
    wide = numpy.repeat(2.0 ** (scales.astype(f32) - 127), 32, axis=1)
    add("mxfp4", {"weight_packed": codes[:, 0::2] | codes[:, 1::2] << 4, "weight_scale": scales}, e2m1(codes) * wide)


def mlx(layout, bits, group, brain):
    codes = random.integers(0, 2**bits, (ROWS, 64), dtype=numpy.uint8)
    stream = numpy.unpackbits(codes[:, :, None], axis=2, bitorder="little")[:, :, :bits].reshape(ROWS, -1)
    words = numpy.packbits(stream, axis=1, bitorder="little").view(numpy.uint32)
    scales, biases = random.uniform(-0.02, 0.02, (2, ROWS, 64 // group)).astype(f32)
    # A group of equal numbers has the least scale, no f16 number, and codes of 0.
    if layout == "mlx4":
        codes[3, :group] = 0
        words[3, : group * bits // 32] = 0
        scales[3, 0] = 1e-7
    if brain:
        scales, biases = bf16(scales), bf16(biases)
        stored = {"scales": ("BF16", scales), "biases": ("BF16", biases)}
    else:
        stored = {"scales": scales.astype(numpy.float16), "biases": biases.astype(numpy.float16)}
        scales, biases = stored["scales"].astype(f32), stored["biases"].astype(f32)
    add(layout, {"weight": words, **stored}, numpy.repeat(scales, group, axis=1) * codes + numpy.repeat(biases, group, axis=1))


NF4 = [-1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453, -0.28444138169288635, -0.18477343022823334,
       -0.09105003625154495, 0.0, 0.07958029955625534, 0.16093020141124725, 0.24611230194568634, 0.33791524171829224,
       0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1.0]


def codebook4(layout, kind, columns, nested):
    table = numpy.array(NF4, f32) if kind == "nf4" else random.uniform(-1, 1, 16).astype(f32)
    codes = random.integers(0, 16, ROWS * columns, dtype=numpy.uint8)
    blocks = -(-codes.size // 64)
    state = {"quant_type": kind, "blocksize": 64, "dtype": "bfloat16", "shape": [ROWS, columns]}
    parts = {"weight": (codes[0::2] << 4 | codes[1::2]).reshape(-1, 1), "weight.quant_map": table}
    if nested:
        outer, offset = numpy.sort(random.uniform(-1, 1, 256)).astype(f32), f32(0.75)
        small, large = random.integers(0, 256, blocks, dtype=numpy.uint8), random.uniform(0.1, 0.5, -(-blocks // 4)).astype(f32)
        state |= {"nested_blocksize": 4, "nested_dtype": "float32", "nested_offset": float(offset)}
        parts |= {"weight.absmax": small, "weight.nested_absmax": large, "weight.nested_quant_map": outer}
        absmax = outer[small] * numpy.repeat(large, 4)[:blocks] + offset
    else:
        absmax = parts["weight.absmax"] = random.uniform(0.01, 0.2, blocks).astype(f32)
    parts[f"weight.quant_state.bitsandbytes__{kind}"] = numpy.frombuffer(json.dumps(state).encode(), numpy.uint8)
    add(layout, parts, (table[codes] * numpy.repeat(absmax, 64)[: codes.size]).reshape(ROWS, columns))


def int8_rows():
    codes, scales = random.integers(-127, 128, (ROWS, 64), dtype=numpy.int8), random.uniform(0.1, 1, ROWS).astype(f32)
    parts = {"weight": codes, "SCB": scales, "weight_format": numpy.array(0, numpy.uint8)}
    add("bnb8", parts, codes.astype(f32) * scales[:, None] * f32(7.874015718698502e-3))


def hqq(layout, bits, axis, rounded):
    group, per_byte = 32, 8 // bits
    table = (ROWS * 64 // group, group) if axis == 1 else (group, ROWS * 64 // group)
    codes = random.integers(0, 2**bits, table, dtype=numpy.uint8)
    step = table[0] // per_byte
    packed = sum(codes[part * step : (part + 1) * step] << (8 - bits * (part + 1)) for part in range(per_byte)).astype(numpy.uint8)
    along = (table[0], 1) if axis == 1 else (1, table[1])
    scales = random.uniform(0.005, 0.02, along).astype(f32)
    if rounded:
        scales, zeros = bf16(scales), random.integers(0, 8, along).astype(f32)
        parts = {"scale": ("BF16", scales), "zero": ("BF16", zeros)}
    else:
        parts = {"scale": scales.astype(numpy.float16), "zero": random.uniform(0, 2**bits - 1, along).astype(numpy.float16)}
        scales, zeros = parts["scale"].astype(f32), parts["zero"].astype(f32)
    settings = {"nbits": bits, "axis": axis, "group_size": group}
    parts |= {name: numpy.array(value, numpy.int32) for name, value in settings.items()}
    parts |= {"W_q": packed, "shape": numpy.array([ROWS, 64]), "view_as_float": numpy.array(0, numpy.uint8),
              "packing": numpy.frombuffer(f"{bits}bit_u8".encode(), numpy.uint8)}
    add(layout, parts, ((codes - zeros) * scales).reshape(ROWS, 64))


def bitnet(layout, columns, divides):
    codes = random.integers(0, 3, (ROWS, columns), dtype=numpy.uint8)
    part = ROWS // 4
    packed = sum(codes[i * part : (i + 1) * part] << 2 * i for i in range(4)).astype(numpy.uint8)
    scale = bf16(random.uniform(0.5, 2, 1))
    values = codes.astype(f32) - 1
    add(layout, {"weight": packed, "weight_scale": ("BF16", scale)}, values * (f32(1) / scale if divides else scale))


nvfp4("nvfp4", 64, False)
nvfp4("nvfp4-narrow", 48, False)
nvfp4("nvfp4-compressed", 128, True)
mxfp4()
mlx("mlx4", 4, 32, False)
mlx("mlx4-bf16", 4, 64, True)
for width in (2, 3, 5, 6, 8):
    mlx(f"mlx{width}", width, 64, False)
codebook4("nf4", "nf4", 64, False)
codebook4("nf4-nested", "nf4", 72, True)
codebook4("fp4", "fp4", 64, False)
int8_rows()
hqq("hqq4", 4, 1, False)
hqq("hqq4-round", 4, 1, True)
hqq("hqq4-axis0", 4, 0, False)
hqq("hqq2", 2, 1, False)
hqq("hqq8", 8, 1, False)
bitnet("bitnet", 256, False)
bitnet("bitnet-narrow", 64, False)
bitnet("bitnet-divided", 128, True)

header, data = {}, b""
for name, (kind, shape, content) in sorted(tensors.items(), key=lambda entry: entry[1][0] in ("U8", "I8", "F8_E4M3", "F16", "BF16")):
    header[name] = {"dtype": kind, "shape": shape, "data_offsets": [len(data), len(data) + len(content)]}
    data += content
text = json.dumps(header, separators=(",", ":")).encode()
text += b" " * (-len(text) % 8)
(HERE / "numpy_layouts.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + data)
