"""Reductions, scans, sorting, softmax and the normalizations."""

import torch
import torch.nn.functional as F

from elementwise import INTEGERS
from golden import FLOATS, VIEWS, Family, Input, distinct, grid

CASES = [([3, 4], [0]), ([3, 4], [1]), ([3, 4], [0, 1]), ([2, 3, 4], [1]), ([2, 3, 4], [0, 2]), ([2, 3, 4], [2]), ([5], [0]), ([], []),
         ([2, 1, 3, 2], [1, 2]), ([2, 2, 1, 3, 2], [0, 3]), ([2, 2, 3, 1, 2], [1, 2, 4]), ([37], [0]), ([1, 70], [1]), ([4, 1], [1]), ([3, 5, 2], [0])]
EMPTY = [([0, 3], [0]), ([0, 3], [1]), ([2, 0, 3], [1]), ([2, 0, 3], [2])]


def product(shape, dims):
    count = 1
    for d in dims:
        count *= shape[d]
    return count


def dims_of(shape):
    return list(range(len(shape)))


def reduced(f, dims, keep):
    """f(x, dims, keepdim) where PyTorch reads an empty list as all dimensions."""
    return lambda x: f(x, dims, keep) if dims else x.clone()


def extremum(f):
    def over(x, dims, keep):
        return f(x, dims, keep)
    return over


def arg_extremum(f):
    """The first one where several are equal."""
    def over(x, dims, keep):
        (d,) = dims
        best = f(x, dim=d, keepdim=True)
        n = x.shape[d]
        shape = [1] * x.dim()
        shape[d] = n
        number = torch.arange(n).reshape(shape).expand(x.shape)
        first = torch.where(x == best, number, torch.full_like(number, n)).amin(dim=d, keepdim=keep)
        return first
    return over


def reductions():
    family = Family("reduce")
    ops = {"sum": torch.sum, "mean": torch.mean, "max": extremum(torch.amax), "min": extremum(torch.amin),
           "var": lambda x, d, k: torch.var(x, d, unbiased=True, keepdim=k), "argmax": arg_extremum(torch.amax), "argmin": arg_extremum(torch.amin),
           "log_sum_exp": lambda x, d, k: torch.logsumexp(x, d, k)}
    for number, (name, f) in enumerate(ops.items()):
        ordered = name in ("max", "min", "argmax", "argmin")
        one = name in ("var", "argmax", "argmin")
        for k, (shape, dims) in enumerate(CASES + (EMPTY if name == "sum" else EMPTY[1:2] if not one else [])):
            if (one and (len(dims) != 1 or (name == "var" and shape[dims[0]] < 2))) or (name == "log_sum_exp" and not dims):
                continue
            if name in ("max", "min", "mean", "log_sum_exp") and product(shape, dims) == 0:
                continue
            for dtype in ["f32", ("f64", "bf16", "f16")[k % 3], ("f32", "f64")[k % 2]]:
                view = VIEWS[(k + number + len(dtype)) % len(VIEWS)]
                keep = (k + len(dtype) + number) % 2 == 0
                label = f"{dtype}_{shape}_{dims}_{view}_{'keep' if keep else 'drop'}"
                if ordered and view.startswith("broadcast"):  # equal elements: more than one gradient
                    view = "mixed"
                values = distinct(dtype, product(shape, dims_of(shape)) * 2 + 24) if ordered and dtype != "bf16" else None
                gradient = not name.startswith("arg") and not (ordered and dtype == "bf16")
                family.add(label, name, [Input(dtype, shape, values, view)], reduced(f, dims, keep), {"dims": dims, "keepdim": keep},
                           out=["u32"] if name.startswith("arg") else None, grad=[0] if gradient else [],
                           second=dtype == "f64" and name in ("sum", "mean", "var", "log_sum_exp"), terms=product(shape, dims),
                           exact=not gradient)
        if name in ("sum", "max", "min", "argmax", "argmin"):
            for k, dtype in enumerate(INTEGERS):
                for shape, dims in CASES[k % 2::2]:
                    if one and len(dims) != 1:
                        continue
                    view = VIEWS[(k + number + len(shape)) % len(VIEWS)]
                    values = grid(0 if dtype[0] == "u" else -9, 3, dtype)
                    if dtype != "u8" or name != "sum" or product(shape, dims) < 50:  # the sum must fit
                        family.add(f"{dtype}_{shape}_{dims}_{view}", name, [Input(dtype, shape, values, view)], reduced(f, dims, False),
                                   {"dims": dims, "keepdim": False}, out="u32" if name.startswith("arg") else dtype, exact=True)
            family.add("f8e4m3", name, [Input("f8e4m3", [3, 6], None, "transpose")], reduced(f, [1], False), {"dims": [1], "keepdim": False},
                       out="u32" if name.startswith("arg") else "f8e4m3", exact=name != "sum")
    for dtype in FLOATS:
        ends = ["list", [1.0, "nan", -2.0, "inf", 0.5, "-inf", 1.0, 2.0, "nan"]]
        for name in ("sum", "mean", "max", "min"):
            family.add(f"{dtype}_ends", name, [Input(dtype, [5, 3], ends)], reduced(ops[name], [1], False), {"dims": [1], "keepdim": False})
        for name, best in (("argmax", torch.argmax), ("argmin", torch.argmin)):  # NaN is both the largest and the smallest
            family.add(f"{dtype}_ends", name, [Input(dtype, [5, 3], ends)], lambda x: best(x, 1), {"dims": [1], "keepdim": False}, out="u32", exact=True)
    for k, (shape, dims) in enumerate(CASES):
        for dtype in ("f32", "f64"):
            view = VIEWS[(k + 2) % len(VIEWS)]
            family.add(f"{dtype}_{shape}_{view}", "norm", [Input(dtype, shape, None, view)], lambda x: x.square().sum().sqrt(), {}, grad=[0],
                       second=dtype == "f64", terms=product(shape, dims_of(shape)))
    for k, (shape, dims) in enumerate(CASES):
        if not shape:
            continue
        for dtype in ("f32", ("f64", "f16", "bf16")[k % 3]):
            view = VIEWS[(k + 4) % len(VIEWS)]
            family.add(f"{dtype}_{shape}_{dims[-1]}_{view}", "cumsum", [Input(dtype, shape, None, view)], lambda x: torch.cumsum(x, dims[-1]),
                       {"dim": dims[-1]}, grad=[0], second=dtype == "f64", terms=shape[dims[-1]])
    for dtype in ("i64", "i32", "i16", "u32", "u8"):
        for shape, dim in (([3, 4], 0), ([2, 3, 5], 1), ([20], 0)):
            family.add(f"{dtype}_{shape}_{dim}", "cumsum", [Input(dtype, shape, None, "step")], lambda x: torch.cumsum(x, dim), {"dim": dim}, exact=True)
    return family


def ordered(x, ascending):
    """Stable in both directions; NaN after every number when ascending, before every number when descending."""
    return torch.sort(x, dim=-1, descending=not ascending, stable=True)


def sorts():
    family = Family("sort")
    shapes = [[7], [3, 5], [2, 3, 8], [4, 1], [0], [2, 0], [3, 0, 2], [1, 33], [2, 2, 70], [1, 300]]
    for k, shape in enumerate(shapes):
        for ascending in (True, False):
            for dtype in ("f32", ("f64", "bf16", "f16", "f8e4m3")[k % 4], INTEGERS[k % 5]):
                view = VIEWS[(k + ascending * 3 + len(dtype)) % 9]
                family.add(f"{dtype}_{shape}_{view}_{'asc' if ascending else 'desc'}_ties", "sort",
                           [Input(dtype, shape, ["grid", 0 if dtype[0] == "u" else -3, 4, 0], view)], lambda x: list(ordered(x, ascending)),
                           {"ascending": ascending}, out=[dtype, "u32"], exact=True)
            for dtype in ("f32", "f64"):
                view = VIEWS[(k + ascending * 5 + len(dtype)) % 7]
                view = "mixed" if view == "broadcast" else view
                family.add(f"{dtype}_{shape}_{view}_{'asc' if ascending else 'desc'}", "sort",
                           [Input(dtype, shape, distinct(dtype, 1200), view)], lambda x: list(ordered(x, ascending)),
                           {"ascending": ascending}, out=[dtype, "u32"], grad=[0])
    ends = ["list", [1.0, "nan", "-inf", 0.0, "inf", "-0", "nan", -1.0, 0.0, 2.0]]
    for dtype in FLOATS:
        for ascending in (True, False):
            family.add(f"{dtype}_ends_{'asc' if ascending else 'desc'}", "argsort", [Input(dtype, [2, 10], ends)],
                       lambda x: ordered(x, ascending)[1], {"ascending": ascending}, out="u32", exact=True)
    for k, (shape, n) in enumerate((([7], 3), ([3, 5], 5), ([2, 3, 8], 1), ([2, 40], 10))):
        for dtype in ("f32", "f64", "i32"):
            for largest in (True, False):
                values = distinct(dtype, 200, low=-3) if dtype != "i32" else ["distinct", -50, 0]
                family.add(f"{dtype}_{shape}_{n}_{'largest' if largest else 'smallest'}", "topk", [Input(dtype, shape, values, VIEWS[k + 1])],
                           lambda x: [t.narrow(-1, 0, n) for t in ordered(x, not largest)], {"k": n, "largest": largest}, out=[dtype, "u32"],
                           grad=[0] if dtype != "i32" else [], exact=dtype == "i32")
    return family


def softmaxes():
    family = Family("softmax")
    for name, f in (("softmax", torch.softmax), ("log_softmax", torch.log_softmax)):
        for k, (shape, dims) in enumerate(CASES + [([3, 65], [1]), ([65, 3], [0]), ([2, 257], [1]), ([0, 3], [1]), ([2, 0, 3], [2])]):
            if not shape:
                continue
            dim = dims[0]
            for dtype in ("f32", ("f64", "bf16", "f16")[k % 3]):
                view = VIEWS[(k + len(dtype)) % len(VIEWS)]
                label = f"{dtype}_{shape}_{dim}_{view}"
                family.add(label, name, [Input(dtype, shape, grid(-5, 5, dtype), view)], lambda x: f(x, dim), {"dim": dim}, grad=[0],
                           second=dtype == "f64", terms=shape[dim] + 8)
        family.add("f8e4m3", name, [Input("f8e4m3", [3, 7], grid(-3, 3, "f8e4m3"), "transpose")], lambda x: f(x, 1), {"dim": 1}, terms=8)
        for dtype in FLOATS:
            large = ["list", [60000.0, -60000.0, 59904.0, "-inf"]]
            family.add(f"{dtype}_large", name, [Input(dtype, [3, 4], large)], lambda x: f(x, 1), {"dim": 1}, terms=8)
    return family


def rms_norm(x, weight, epsilon):
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + epsilon) * weight


EPSILON = 2.0**-17  # the same number in f32 and f64


def norms():
    family = Family("norm")
    widths = [1, 2, 3, 8, 31, 32, 33, 65, 70]
    for k, width in enumerate(widths):
        for dtype in ("f32", ("f64", "bf16", "f16")[k % 3]):
            rows = ([2], [2, 3], [1], [2, 1, 2])[k % 4]
            shape, view = rows + [width], VIEWS[(k + len(dtype)) % 9]
            x, weight, bias = Input(dtype, shape, None, view), Input(dtype, [width], grid(0.5, 1.5, dtype)), Input(dtype, [width])
            label, second = f"{dtype}_{shape}_{view}", dtype == "f64"
            family.add(label, "rms_norm", [x, weight], lambda x, w: rms_norm(x, w, EPSILON), {"epsilon": EPSILON}, grad=[0, 1], second=second, terms=width)
            if width > 2:
                family.add(label, "layer_norm", [x, weight, bias], lambda x, w, b: F.layer_norm(x, [width], w, b, EPSILON), {"epsilon": EPSILON},
                           grad=[0, 1, 2], second=second, terms=width)
    x, weight, bias = Input("f8e4m3", [3, 6], None, "step"), Input("f8e4m3", [6], grid(0.5, 1.5, "f8e4m3")), Input("f8e4m3", [6])
    family.add("f8e4m3", "rms_norm", [x, weight], lambda x, w: rms_norm(x, w, EPSILON), {"epsilon": EPSILON}, terms=6)
    family.add("f8e4m3", "layer_norm", [x, weight, bias], lambda x, w, b: F.layer_norm(x, [6], w, b, EPSILON), {"epsilon": EPSILON}, terms=6)
    family.add("f8e4m3", "cumsum", [Input("f8e4m3", [3, 6], None, "flip")], lambda x: torch.cumsum(x, 1), {"dim": 1}, terms=6)
    for k, (shape, groups) in enumerate((([2, 4, 3], 2), ([1, 6, 2, 2], 3), ([3, 4, 5], 1), ([2, 4, 2, 3], 4), ([2, 6, 3], 2))):
        for dtype in ("f32", "f64"):
            channels = shape[1]
            view = VIEWS[(k + 1) % 9]
            family.add(f"{dtype}_{shape}_{groups}", "group_norm",
                       [Input(dtype, shape, None, view), Input(dtype, [channels], grid(0.5, 1.5, dtype)), Input(dtype, [channels])],
                       lambda x, w, b: F.group_norm(x, groups, w, b, EPSILON), {"groups": groups, "epsilon": EPSILON}, grad=[0, 1, 2],
                       second=dtype == "f64", terms=32)
    for k, shape in enumerate(([4, 3], [2, 3, 4], [3, 2, 2, 3], [2, 5, 1, 3])):
        for dtype in ("f32", "f64"):
            channels = shape[1]
            inputs = [Input(dtype, shape, None, VIEWS[(k + 1) % 6]), Input(dtype, [channels], grid(0.5, 1.5, dtype)), Input(dtype, [channels]),
                      Input(dtype, [channels]), Input(dtype, [channels], grid(0.5, 1.5, dtype))]

            def evaluate(x, w, b, mean, var):
                return F.batch_norm(x, mean, var, w, b, False, 0.1, EPSILON)

            def train(x, w, b, mean, var):
                mean, var = mean.clone(), var.clone()
                return [F.batch_norm(x, mean, var, w, b, True, 0.1, EPSILON), mean, var]

            family.add(f"{dtype}_{shape}", "batch_norm", inputs, evaluate, {"epsilon": EPSILON}, grad=[0, 1, 2], terms=8)
            family.add(f"{dtype}_{shape}", "batch_norm_train", inputs, train, {"epsilon": EPSILON, "momentum": 0.1}, out=[dtype] * 3,
                       grad=[0, 1, 2], terms=32)
    return family
