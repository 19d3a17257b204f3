"""Tensors as PyTorch prints them, as bytes."""

import numpy
import torch

from golden import Family, Input, distinct, grid

TORCH = {"f32": torch.float32, "f64": torch.float64, "f16": torch.float16, "bf16": torch.bfloat16, "u8": torch.uint8, "i16": torch.int16, "i32": torch.int32,
         "i64": torch.int64}


def display():
    family = Family("display")
    values = {
        "whole": lambda d: ["grid", -9 if d != "u8" else 0, 100, 0],
        "fractions": lambda d: grid(-3, 3, d),
        "hundreds": lambda d: grid(-900, 900, d),
        "tiny": lambda d: ["grid", -100, 100, -20],
        "huge": lambda d: ["grid", -100, 100, 40 if d != "f16" else 9],
        "apart": lambda d: ["list", [0.001, 1.0, 5000.0, -0.25, 0.0]],
        "far": lambda d: ["list", [0.0001, 1.0, 12345678.0 if d != "f16" else 12344.0, 3.0]],
        "ends": lambda d: ["list", ["nan", 1.0, "inf", "-inf", 0.5]],
        "whole_ends": lambda d: ["list", ["nan", 1.0, "inf", 20.0]],
        "zeros": lambda d: ["list", [0.0, "-0"]],
        "distinct": lambda d: distinct(d, 50),
    }
    shapes = ([5], [3, 4], [2, 3, 4], [0], [2, 0], [1, 1, 3], [50], [1, 30], [2, 1, 2, 2], [1001], [40, 30], [7, 11, 14], [1], [2, 3, 0])
    n = 0
    for name, spec in values.items():
        for dtype in ("f32", "f64", "f16", "bf16") if name not in ("whole",) else tuple(TORCH):
            for shape in shapes[n % 3::3] if dtype in ("f32", "f64") else shapes[n % 5::5]:
                def text(t):
                    printed = torch._tensor_str._tensor_str(t.to(TORCH[dtype]), 0)
                    return torch.tensor(numpy.frombuffer(printed.encode(), dtype=numpy.uint8).astype(numpy.int64))
                family.add(f"{name}_{dtype}_{shape}", "display", [Input(dtype, shape, spec(dtype), "plain")], text, {}, out="u8", exact=True)
            n += 1
    return family
