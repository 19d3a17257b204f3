#!/usr/bin/env python3
"""Writes layouts.safetensors: a small matrix in each layout of quantized checkpoints, and its values.

    venv/bin/pip install torch numpy safetensors compressed-tensors
    venv/bin/python tests/data/formats/quantized/make_layouts.py

LAYOUT.m.PART are the parts as the layout's program stores them, LAYOUT.want the values (f32). Those of compressed-tensors are packed and made
by that package; GPTQ's and AWQ's by the formulas of their papers' programs, value = scale · (code - zero); 8-bit floats by torch.
"""
import pathlib

import numpy
import torch
from compressed_tensors.compressors.pack_quantized.helpers import pack_to_int32
from safetensors.torch import save_file

HERE = pathlib.Path(__file__).parent
ROWS, COLUMNS, GROUP = 8, 64, 32
random = numpy.random.default_rng(59)
tensors = {}


def pack(codes, bits, axis):
    """Unsigned codes into i32 words along an axis, the first in the lowest bits."""
    codes = numpy.moveaxis(codes.astype(numpy.uint32), axis, -1)
    words = codes.reshape(*codes.shape[:-1], -1, 32 // bits) << (numpy.arange(32 // bits, dtype=numpy.uint32) * bits)
    words = numpy.bitwise_or.reduce(words, axis=-1)
    return torch.from_numpy(numpy.ascontiguousarray(numpy.moveaxis(words, -1, axis)).view(numpy.int32))


def add(layout, parts, want):
    for name, value in parts.items():
        tensors[f"{layout}.m.{name}"] = value.contiguous()
    tensors[f"{layout}.want"] = torch.from_numpy(numpy.ascontiguousarray(want.astype(numpy.float32)))


def gptq(layout, bits, symmetric, less_one, act_order):
    groups = COLUMNS // GROUP
    codes = random.integers(0, 2**bits, (ROWS, COLUMNS))
    zeros = numpy.full((groups, ROWS), 2 ** (bits - 1)) if symmetric else random.integers(less_one, 2**bits, (groups, ROWS))
    scales = random.uniform(0.001, 0.02, (groups, ROWS)).astype(numpy.float16)
    group_of = numpy.arange(COLUMNS) // GROUP
    if act_order:
        group_of = random.permutation(group_of)
    parts = {"qweight": pack(codes.T, bits, 0), "qzeros": pack(zeros - less_one, bits, 1), "scales": torch.from_numpy(scales),
             "g_idx": torch.from_numpy(group_of.astype(numpy.int32))}
    add(layout, parts, scales.astype(numpy.float32).T[:, group_of] * (codes - zeros.T[:, group_of]))


def awq():
    groups, order = COLUMNS // GROUP, [0, 2, 4, 6, 1, 3, 5, 7]
    codes, zeros = random.integers(0, 16, (ROWS, COLUMNS)), random.integers(0, 16, (groups, ROWS))
    scales = random.uniform(0.001, 0.02, (groups, ROWS)).astype(numpy.float16)

    def ordered(values):
        return values.reshape(values.shape[0], -1, 8)[:, :, order].reshape(values.shape)

    group_of = numpy.arange(COLUMNS) // GROUP
    parts = {"qweight": pack(ordered(codes.T), 4, 1), "qzeros": pack(ordered(zeros), 4, 1), "scales": torch.from_numpy(scales)}
    add("awq", parts, scales.astype(numpy.float32).T[:, group_of] * (codes - zeros.T[:, group_of]))


def packed(layout, bits, symmetric):
    groups = COLUMNS // GROUP
    codes = torch.from_numpy(random.integers(-(2 ** (bits - 1)), 2 ** (bits - 1), (ROWS, COLUMNS)).astype(numpy.int8))
    scales = torch.from_numpy(random.uniform(0.001, 0.02, (ROWS, groups))).to(torch.bfloat16)
    zeros = torch.from_numpy(random.integers(-(2 ** (bits - 1)), 2 ** (bits - 1), (ROWS, groups)).astype(numpy.int8))
    if symmetric:
        zeros = torch.zeros_like(zeros)
    parts = {"weight_packed": pack_to_int32(codes, bits), "weight_scale": scales, "weight_shape": torch.tensor([ROWS, COLUMNS])}
    if not symmetric:
        parts["weight_zero_point"] = pack_to_int32(zeros, bits, packed_dim=0)
    group_of = numpy.arange(COLUMNS) // GROUP
    add(layout, parts, scales.float().numpy()[:, group_of] * (codes.numpy().astype(int) - zeros.numpy().astype(int)[:, group_of]))


def channel_int8():
    codes = torch.from_numpy(random.integers(-128, 128, (ROWS, COLUMNS)).astype(numpy.int8))
    scales = torch.from_numpy(random.uniform(0.001, 0.02, (ROWS, 1))).to(torch.bfloat16)
    add("int8", {"weight": codes, "weight_scale": scales}, scales.float().numpy() * codes.numpy())


def float8(layout, name, shape, block):
    codes = torch.from_numpy(random.normal(0, 1, (ROWS, COLUMNS)).astype(numpy.float32)).to(torch.float8_e4m3fn)
    scales = torch.from_numpy(random.uniform(0.001, 0.02, shape).astype(numpy.float32))
    wide = numpy.kron(scales.numpy().reshape(shape if len(shape) == 2 else (1, 1)), numpy.ones(block))[:ROWS, :COLUMNS]
    add(layout, {"weight": codes, name: scales}, (codes.float().numpy() * wide.astype(numpy.float32)))


gptq("gptq4", 4, True, 1, False)
gptq("gptq4-asymmetric", 4, False, 1, False)
gptq("gptq4-act-order", 4, True, 1, True)
gptq("gptq4-v2", 4, False, 0, False)
gptq("gptq8", 8, True, 1, False)
awq()
packed("int4", 4, True)
packed("int4-asymmetric", 4, False)
channel_int8()
float8("fp8-block", "weight_scale_inv", (2, 2), (6, 48))
float8("fp8-channel", "weight_scale", (ROWS, 1), (1, COLUMNS))
float8("fp8-tensor", "weight_scale", (1,), (ROWS, COLUMNS))
save_file(tensors, HERE / "layouts.safetensors")
