"""Kernels of your own: written in Python, compiled while the program runs, launched on tensors of any device.

    k = ir.KernelBuilder("scale", group_size=64)
    x, y = k.buffer("x", "f32"), k.output("y", "f32")
    n, factor = k.parameter("n", "u32"), k.parameter("factor", "f32")
    i = k.group_id() * 64 + k.local_id()

    @k.when(i < n)
    def _():
        y[i] = x[i] * factor

    scale = wick.Device("cpu").compile(k.finish())
    scale.launch(groups, [tensor_x, tensor_y], [n, 2.0])

Each lane of a group computes the kernel once. Statements are stores (memory[i] = x), assignments (variable.set(x)), conditions and loops,
whose bodies are functions that they decorate, and barriers. A number takes the type of the value beside it.
"""
from __future__ import annotations

from ._wick._ir import (
    Kernel,
    KernelBuilder,
    Memory,
    Value,
    Variable,
    abs,
    bitcast,
    cast,
    dot4,
    exp,
    exp2,
    fma,
    log,
    log2,
    logical_not,
    max,
    min,
    select,
    sin,
    sqrt,
    subgroup_broadcast,
    subgroup_reduce,
    subgroup_shuffle_xor,
    trunc,
    unpack_half,
)

__all__ = ["Kernel", "KernelBuilder", "Memory", "Value", "Variable", "abs", "bitcast", "cast", "dot4", "exp", "exp2", "fma", "log", "log2",
           "logical_not", "max", "min", "select", "sin", "sqrt", "subgroup_broadcast", "subgroup_reduce", "subgroup_shuffle_xor", "trunc",
           "unpack_half"]
