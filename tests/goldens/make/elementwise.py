"""Unary and binary ops, comparisons and choice."""

import numpy
import torch
import torch.nn.functional as F

from golden import FLOATS, SHAPES, VIEWS, Family, Input, grid

INTEGERS = ("u8", "u32", "i16", "i32", "i64")
WIDTH = {"u8": 8, "u32": 32, "i16": 16, "i32": 32, "i64": 64}


def wrap(dtype, values):
    """The low bits, as two's complement has them."""
    width = WIDTH[dtype]
    if width == 64:
        return values
    low = values & ((1 << width) - 1)
    return torch.where(low >= 1 << (width - 1), low - (1 << width), low) if dtype[0] == "i" else low


def round_away(x):
    return torch.sign(x) * torch.floor(torch.abs(x) + 0.5)


def hard_sigmoid(x):
    """PyTorch's own has no second derivative in version 1.13."""
    return ((x + 3) / 6).clamp(0, 1)


POSITIVE, WIDE, UNIT = (0.25, 4), (-5, 5), (-2, 2)
UNARY = {
    "neg": (torch.neg, UNIT), "abs": (torch.abs, UNIT), "exp": (torch.exp, UNIT), "log": (torch.log, POSITIVE),
    "sin": (torch.sin, WIDE), "cos": (torch.cos, WIDE), "tanh": (torch.tanh, UNIT), "sqr": (torch.square, UNIT),
    "sqrt": (torch.sqrt, POSITIVE), "rsqrt": (torch.rsqrt, POSITIVE), "recip": (torch.reciprocal, POSITIVE),
    "gelu": (lambda x: F.gelu(x, approximate="tanh"), WIDE), "gelu_erf": (F.gelu, WIDE), "erf": (torch.erf, UNIT),
    "relu": (F.relu, UNIT), "silu": (F.silu, WIDE), "sigmoid": (torch.sigmoid, WIDE), "mish": (F.mish, WIDE),
    "softplus": (F.softplus, WIDE), "hard_sigmoid": (hard_sigmoid, WIDE), "hard_swish": (lambda x: x * hard_sigmoid(x), WIDE), "relu6": (lambda x: x.clamp(0, 6), (-3, 9)),
    "selu": (F.selu, UNIT),
}
STEPS = {"ceil": torch.ceil, "floor": torch.floor, "round": round_away, "sign": torch.sign}
PARAMETRIC = [
    ("leaky_relu", {"slope": 0.01}, lambda x: F.leaky_relu(x, 0.01), UNIT),
    ("leaky_relu", {"slope": 0.25}, lambda x: F.leaky_relu(x, 0.25), UNIT),
    ("elu", {"alpha": 1.0}, F.elu, UNIT),
    ("elu", {"alpha": 0.5}, lambda x: F.elu(x, 0.5), UNIT),
    ("powf", {"exponent": 2.0}, lambda x: x**2.0, UNIT),
    ("powf", {"exponent": 3.0}, lambda x: x**3.0, UNIT),
    ("powf", {"exponent": 0.5}, lambda x: x**0.5, POSITIVE),
    ("powf", {"exponent": -1.5}, lambda x: x**-1.5, POSITIVE),
    ("powf", {"exponent": 0.0}, lambda x: x**0.0, UNIT),
    ("affine", {"mul": 1.5, "add": -0.25}, lambda x: x * 1.5 - 0.25, UNIT),
    ("affine", {"mul": -2.0, "add": 0.0}, lambda x: x * -2.0, UNIT),
    ("clamp", {"min": -0.75, "max": 1.25}, lambda x: x.clamp(-0.75, 1.25), UNIT),
]
COMBINATIONS = [("f32", s, v) for s, v in zip(range(11), range(11))] + [
    ("f32", 2, 1), ("f32", 5, 7), ("f32", 2, 8), ("f64", 2, 7), ("f64", 0, 8), ("f64", 5, 4), ("bf16", 0, 1), ("bf16", 8, 2), ("f16", 2, 5),
    ("f16", 0, 9)]


def unary():
    family = Family("unary")
    plain = [(name, {}, f, span) for name, (f, span) in UNARY.items()]
    for number, (name, parameters, f, span) in enumerate(plain + PARAMETRIC):
        label = "".join(f"{k}{v}_" for k, v in parameters.items())
        for dtype, shape, view in COMBINATIONS:
            shape, view = SHAPES[(shape + number) % len(SHAPES)] if dtype == "f32" else SHAPES[shape], VIEWS[view]
            family.add(f"{label}{dtype}_{shape}_{view}", name, [Input(dtype, shape, grid(*span, dtype), view)], f, parameters,
                       grad=[0], second=dtype == "f64")
        family.add(f"{label}f8e4m3", name, [Input("f8e4m3", [40], grid(*span, "f8e4m3"), "step")], f, parameters)
    for number, (name, f) in enumerate(STEPS.items()):
        for dtype, shape, view in COMBINATIONS:
            shape, view = SHAPES[(shape + number) % len(SHAPES)] if dtype == "f32" else SHAPES[shape], VIEWS[view]
            family.add(f"{dtype}_{shape}_{view}", name, [Input(dtype, shape, grid(-5, 5, dtype), view)], f, exact=True)
        family.add("f8e4m3", name, [Input("f8e4m3", [40], grid(-5, 5, "f8e4m3"))], f, exact=True)
        for dtype in ("f64", "f32", "f16", "bf16"):
            values = ["list", [0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 0.0, 3.0, "inf", "-inf"]]
            family.add(f"{dtype}_halves", name, [Input(dtype, [10], values)], f, exact=True)
    for dtype in FLOATS:
        ends = ["list", ["nan", "inf", "-inf", 0.0, "-0", 1.0]]
        for name in ("neg", "abs", "exp", "log", "tanh", "sqr", "sqrt", "recip", "erf", "sigmoid", "ceil", "floor", "round", "sin", "cos", "relu", "softplus",
                     "rsqrt"):
            f = STEPS.get(name) or UNARY[name][0]
            family.add(f"{dtype}_ends", name, [Input(dtype, [6], ends)], f)
    whole = {"neg": torch.neg, "abs": torch.abs, "sqr": torch.square, "relu": F.relu, "sign": torch.sign}
    for name, f in whole.items():
        for dtype in INTEGERS:
            if name == "neg" and dtype[0] == "u":
                continue
            for shape, view in (([3, 4], "transpose"), ([2, 3, 4], "offset"), ([19], "flip")):
                family.add(f"{dtype}_{shape}_{view}", name, [Input(dtype, shape, None, view)], f, exact=True)
    for dtype in INTEGERS:
        for mul, add in ((3, 2), (1, 5)):
            family.add(f"mul{mul}_add{add}_{dtype}", "affine", [Input(dtype, [3, 5], grid(0, 20, dtype), "transpose")],
                       lambda x: x * mul + add, {"mul": mul, "add": add}, exact=True)
        family.add(f"{dtype}", "clamp", [Input(dtype, [3, 5], grid(0, 20, dtype), "flip")], lambda x: x.clamp(4, 11), {"min": 4, "max": 11},
                   exact=True)
    return family


def kinks():
    """Gradients where a function has no slope, or two: PyTorch's choice."""
    family = Family("kink")
    at = ["list", [-0.0, 0.0, 1.0, -1.0, 3.0, -3.0, 6.0, 2.0]]
    cases = [("relu", {}, F.relu), ("abs", {}, torch.abs), ("sign", {}, torch.sign), ("sqr", {}, torch.square), ("hard_sigmoid", {}, lambda x: F.relu6(x + 3) / 6),
             ("clamp", {"min": -1.0, "max": 2.0}, lambda x: x.clamp(-1, 2)),
             ("elu", {"alpha": 2.0}, lambda x: F.elu(x, 2.0)), ("leaky_relu", {"slope": 0.25}, lambda x: F.leaky_relu(x, 0.25)), ("selu", {}, F.selu),
             ("powf", {"exponent": 1.0}, lambda x: x**1.0), ("powf", {"exponent": 2.0}, lambda x: x**2.0), ("powf", {"exponent": 0.0}, lambda x: x**0.0),
             ("powf", {"exponent": 3.0}, lambda x: x**3.0), ("floor", {}, torch.floor), ("ceil", {}, torch.ceil), ("round", {}, lambda x: torch.round(x)),
             ("silu", {}, F.silu), ("gelu_erf", {}, F.gelu), ("softplus", {}, F.softplus)]
    for name, parameters, f in cases:
        for dtype in ("f32", "f64"):
            label = "".join(f"{v}_" for v in parameters.values())
            family.add(f"{label}{dtype}_kinks", name, [Input(dtype, [8], at)], f, parameters, grad=[0])
    a, b = ["list", [1.0, 2.0, 0.0, -1.0, 3.0]], ["list", [1.0, 1.0, -0.0, -1.0, 4.0]]
    for name in ("minimum", "maximum"):
        for dtype in ("f32", "f64"):
            family.add(f"{dtype}_kinks", name, [Input(dtype, [5], a), Input(dtype, [5], b)], BINARY[name], grad=[0, 1])
    base, exponent = ["list", [0.0, 0.0, 0.0, 2.0, -2.0, -2.0]], ["list", [2.0, 1.0, 0.0, 0.0, 2.0, 3.0]]
    for dtype in ("f32", "f64"):
        family.add(f"{dtype}_kinks", "pow", [Input(dtype, [6], base), Input(dtype, [6], exponent)], torch.pow, grad=[0])
        ties = ["list", [3.0, 1.0, 3.0, 2.0, 2.0, 2.0, 1.0, 1.0]]
        for name, f in (("max", torch.amax), ("min", torch.amin)):
            family.add(f"{dtype}_ties", name, [Input(dtype, [3, 4], ties)], lambda x: f(x, 1), {"dims": [1], "keepdim": False}, grad=[0])
            family.add(f"{dtype}_ties_all", name, [Input(dtype, [3, 4], ties)], lambda x: f(x, [0, 1]), {"dims": [0, 1], "keepdim": False}, grad=[0])
    return family


BINARY = {"add": torch.add, "sub": torch.sub, "mul": torch.mul, "div": torch.div, "minimum": torch.minimum, "maximum": torch.maximum,
          "pow": torch.pow}
PAIRS = [([3, 4], [3, 4]), ([2, 3, 4], [3, 4]), ([2, 3, 4], [2, 1, 4]), ([5], [1]), ([4, 1], [1, 3]), ([], [2, 3]), ([2, 3], []), ([], []),
         ([1, 7], [4, 1, 7]), ([0, 3], [1, 3]), ([2, 1, 3, 2], [2, 3, 1, 1]), ([2, 2, 1, 3, 2], [3, 1]), ([17], [17])]
DIFFERENT = {"minimum", "maximum"}


def truncated_quotient(a, b):
    return torch.div(a, b, rounding_mode="trunc")


def integer_pow(a, b):
    return a**b


def binary():
    family = Family("binary")
    for number, (name, f) in enumerate(BINARY.items()):
        low = 0.25 if name == "pow" else -2
        for k, (left, right) in enumerate(PAIRS):
            for dtype in ("f32", "f64") if k % 2 else ("f32", "bf16") if k % 4 else ("f32", "f16"):
                views = VIEWS[(k + number) % 6], VIEWS[(k * 3 + 1 + number) % 6]
                # Neighbours on a coarse and on a shifted grid are never equal, so that minimum and maximum have one gradient.
                lhs = Input(dtype, left, grid(low, 2, dtype), views[0])
                rhs = Input(dtype, right, grid(0.5, 3, dtype) if name == "div" else ["grid", -2, 3, 0] if name in DIFFERENT else grid(-2, 2, dtype),
                            views[1])
                family.add(f"{dtype}_{left}_{views[0]}_{right}_{views[1]}", name, [lhs, rhs], f, grad=[0, 1], second=dtype == "f64",
                           terms=16)
        for view in ("broadcast", "permute", "mixed", "broadcast_last"):
            family.add(f"f32_{view}", name, [Input("f32", [3, 2, 4], grid(low, 2, "f32"), view), Input("f32", [3, 2, 4], grid(0.5, 3, "f32"), "plain")],
                       f, grad=[0, 1], terms=16)
        family.add("f8e4m3", name, [Input("f8e4m3", [5, 6], grid(0.5, 2, "f8e4m3")), Input("f8e4m3", [6], grid(0.5, 2, "f8e4m3"))], f)
        for dtype in FLOATS:
            if name not in ("pow", "minimum", "maximum"):
                a, b = ["list", [1.0, "inf", "-inf", "nan", 0.0, "inf", 1.0]], ["list", [0.0, "inf", "inf", 1.0, 0.0, 0.0, "nan"]]
                family.add(f"{dtype}_ends", name, [Input(dtype, [7], a), Input(dtype, [7], b)], f)
        for dtype in INTEGERS:
            g = {"div": truncated_quotient}.get(name, f)
            if name == "pow":
                family.add(f"{dtype}", name, [Input(dtype, [4, 3], grid(1, 3, dtype)), Input(dtype, [3], grid(0, 4, dtype))], integer_pow, exact=True)
                continue
            for left, right, view in (([3, 4], [3, 4], "transpose"), ([2, 3, 4], [3, 1], "narrow"), ([6], [1], "step")):
                lhs = Input(dtype, left, grid(-100 if dtype[0] == "i" else 0, 100, dtype), view)
                rhs = Input(dtype, right, grid(1, 9, dtype))
                family.add(f"{dtype}_{left}_{right}", name, [lhs, rhs], lambda a, b: wrap(dtype, g(a, b)), exact=True)
        if name in ("add", "sub", "mul"):
            tops = {"u8": [255, 250, 3], "u32": [2**32 - 1, 7, 2**31], "i16": [32767, -32768, 300], "i32": [2**31 - 1, -(2**31), 70000],
                    "i64": [2**63 - 1, -(2**63), 2**40]}
            for dtype, values in tops.items():
                family.add(f"{dtype}_wraps", name, [Input(dtype, [3], ["list", values]), Input(dtype, [3], ["list", values[::-1]])],
                           lambda a, b: wrap(dtype, f(a, b)), exact=True)
    negative = ["list", [-2.0, -1.5, -1.0, 2.0, 0.0, 3.0]]
    family.add("f32_of_negative_numbers", "pow", [Input("f32", [6], negative), Input("f32", [6], ["list", [2.0, 3.0, -1.0, -2.0, 3.0, 0.0]])],
               torch.pow)
    return family


COMPARE = {"eq": torch.eq, "ne": torch.ne, "lt": torch.lt, "le": torch.le, "gt": torch.gt, "ge": torch.ge}


def compare():
    family = Family("compare")
    for number, (name, f) in enumerate(COMPARE.items()):
        for k, dtype in enumerate(FLOATS + INTEGERS + ("f8e4m3",)):
            values = ["grid", 0 if dtype[0] == "u" else -2, 3, 0]
            for left, right in PAIRS[(k + number) % 3::3]:
                views = VIEWS[(k + len(left)) % 6], VIEWS[(number + len(right)) % 6]
                family.add(f"{dtype}_{left}_{views[0]}_{right}_{views[1]}", name,
                           [Input(dtype, left, values, views[0]), Input(dtype, right, values, views[1])], f, out="u8", exact=True)
            if dtype in FLOATS:
                a, b = ["list", [1.0, "inf", "nan", "nan", 0.0, "-inf"]], ["list", ["nan", "inf", "nan", 1.0, "-0", "inf"]]
                family.add(f"{dtype}_ends", name, [Input(dtype, [6], a), Input(dtype, [6], b)], f, out="u8", exact=True)
        tops = ["list", [2**53, 2**53 + 1, -(2**63), 2**63 - 1]]
        family.add("i64_beyond_f64", name, [Input("i64", [4], tops), Input("i64", [4], ["list", [2**53 + 1, 2**53 + 1, 2**63 - 1, 2**63 - 2]])], f,
                   out="u8", exact=True)
    for k, dtype in enumerate(FLOATS + INTEGERS + ("f8e4m3",)):
        for n, condition in enumerate(("u8", "u32", "i64")):
            for shape in ([3, 4], [2, 3, 4], [], [0, 2], [11])[(k + n) % 2::2]:
                views = [VIEWS[(k + i + n) % 9] for i in range(3)]
                differentiable = dtype in FLOATS
                family.add(f"{condition}_{dtype}_{shape}_{'_'.join(views)}", "where_cond",
                           [Input(condition, shape, ["grid", 0, 3, 0], views[0]), Input(dtype, shape, None, views[1]), Input(dtype, shape, None, views[2])],
                           lambda c, a, b: torch.where(c != 0, a, b), out=[dtype], grad=[1, 2] if differentiable else [], exact=not differentiable)
    return family
