"""Matrix products, contractions, convolutions, pooling and interpolation."""

import torch
import torch.nn.functional as F

from golden import VIEWS, Family, Input, distinct


def products():
    family = Family("product")
    matmuls = [([3, 4], [4, 2]), ([1, 1], [1, 1]), ([5, 1], [1, 3]), ([2, 3, 4], [2, 4, 3]), ([2, 2, 3, 2], [2, 2, 2, 4]), ([3, 0], [0, 2]),
               ([0, 3], [3, 2]), ([2, 17], [17, 3]), ([1, 33], [33, 1]), ([9, 5], [5, 9]), ([0, 2, 3], [0, 3, 2])]
    broadcasts = [([2, 3, 4], [4, 2]), ([3, 4], [2, 4, 2]), ([2, 1, 3, 2], [3, 2, 2]), ([1, 3, 4], [5, 4, 1])]
    views = ("plain", "transpose", "offset", "narrow", "step", "flip", "mixed", "broadcast_last", "flip0")
    for op, pairs in (("matmul", matmuls), ("broadcast_matmul", broadcasts)):
        for k, (left, right) in enumerate(pairs):
            for n, dtype in enumerate(("f32", "f64", ("bf16", "f16")[k % 2], "f32")):
                a, b = views[(k + n) % 9], views[(2 * k + 3 * n) % 9]
                if 0 in left + right:
                    a = b = "plain"
                family.add(f"{dtype}_{left}_{a}_{right}_{b}", op, [Input(dtype, left, None, a), Input(dtype, right, None, b)], torch.matmul,
                           grad=[0, 1], second=dtype == "f64", terms=left[-1] + 8)
    for left, right in matmuls[:5] + matmuls[7:8]:
        family.add(f"f8e4m3_{left}_{right}", "matmul", [Input("f8e4m3", left, None, "transpose"), Input("f8e4m3", right, None, "narrow")], torch.matmul,
                   terms=left[-1])
    for k, n in enumerate((1, 4, 37, 0)):
        for dtype in ("f32", "f64"):
            view = ("step", "flip", "offset", "plain")[k]
            family.add(f"{dtype}_{n}", "dot", [Input(dtype, [n], None, view), Input(dtype, [n])], torch.dot, grad=[0, 1], second=dtype == "f64", terms=n + 4)
            family.add(f"{dtype}_{n}", "mv", [Input(dtype, [3, n], None, view if n else "plain"), Input(dtype, [n], None, view)], torch.mv, grad=[0, 1],
                       second=dtype == "f64", terms=n + 4)
    equations = [("ij,jk->ik", [3, 4], [4, 2]), ("bij,bjk->bik", [2, 3, 4], [2, 4, 2]), ("ij->ji", [3, 4]), ("ij->", [3, 4]), ("ij->i", [3, 4]), ("ii->i", [3, 3]),
                 ("ii->", [4, 4]), ("i,j->ij", [3], [4]), ("i,i->", [5], [5]), ("ijk,jil->kl", [2, 3, 4], [3, 2, 5]), ("bhqd,bhkd->bhqk", [2, 2, 3, 4], [2, 2, 5, 4]),
                 ("ij,kj", [3, 4], [2, 4]), ("ba", [2, 3]), ("ij,ij->ij", [2, 3], [2, 3]), ("ij,jk,kl->il", [2, 3], [3, 4], [4, 2]), ("...ij,jk->...ik", [2, 3, 4], [4, 2]),
                 ("b...i,b...i->b...", [2, 3, 4], [2, 3, 4])]
    for k, (equation, *shapes) in enumerate(equations):
        for dtype in ("f32", "f64"):
            inputs = [Input(dtype, s, None, views[(k + i) % 5]) for i, s in enumerate(shapes)]
            family.add(f"{dtype}_{equation}", "einsum", inputs, lambda *t: torch.einsum(equation, *t), {"equation": equation},
                       grad=list(range(len(shapes))), second=dtype == "f64", terms=24)
    return family


CONV1D = [([1, 1, 5], [1, 1, 3], 0, 1, 1, 1), ([2, 3, 7], [4, 3, 3], 1, 1, 1, 1), ([3, 2, 8], [2, 2, 2], 0, 2, 1, 1), ([2, 4, 9], [4, 2, 3], 2, 1, 2, 2),
          ([1, 4, 6], [4, 1, 3], 1, 2, 1, 4), ([2, 2, 5], [3, 2, 1], 0, 1, 1, 1), ([1, 2, 10], [2, 2, 3], 3, 3, 2, 1), ([2, 6, 5], [3, 2, 5], 2, 1, 1, 3),
          ([0, 2, 5], [3, 2, 2], 0, 1, 1, 1)]
CONV2D = [([1, 1, 4, 4], [1, 1, 3, 3], 0, 1, 1, 1), ([2, 3, 5, 4], [4, 3, 3, 2], 1, 1, 1, 1), ([3, 2, 6, 5], [2, 2, 2, 3], 0, 2, 1, 1),
          ([2, 4, 7, 6], [4, 2, 3, 3], 2, 1, 2, 2), ([1, 4, 5, 5], [4, 1, 3, 3], 1, 2, 1, 4), ([2, 2, 3, 3], [3, 2, 1, 1], 0, 1, 1, 1),
          ([1, 2, 8, 7], [2, 2, 3, 3], 3, 3, 2, 1), ([2, 6, 4, 4], [3, 2, 3, 3], 1, 1, 1, 3), ([1, 3, 9, 9], [5, 3, 3, 3], 1, 1, 1, 1)]
TRANSPOSED1D = [([1, 1, 4], [1, 1, 3], 0, 0, 1, 1, 1), ([2, 3, 5], [3, 2, 3], 1, 0, 1, 1, 1), ([3, 2, 4], [2, 3, 2], 0, 1, 2, 1, 1), ([2, 4, 4], [4, 2, 3], 1, 1, 3, 2, 2),
                ([1, 4, 3], [4, 1, 3], 1, 1, 2, 1, 4), ([3, 2, 6], [2, 2, 1], 0, 0, 1, 1, 1)]
TRANSPOSED2D = [([1, 1, 3, 3], [1, 1, 3, 3], 0, 0, 1, 1, 1), ([2, 3, 3, 4], [3, 2, 3, 2], 1, 0, 1, 1, 1), ([3, 2, 3, 2], [2, 3, 2, 3], 0, 1, 2, 1, 1),
                ([2, 4, 3, 3], [4, 2, 3, 3], 1, 1, 3, 2, 2), ([1, 4, 3, 3], [4, 1, 3, 3], 1, 1, 2, 1, 4), ([2, 2, 4, 4], [2, 2, 1, 1], 0, 0, 1, 1, 1)]


def convolutions():
    family = Family("convolution")
    for op, f, cases in (("conv1d", F.conv1d, CONV1D), ("conv2d", F.conv2d, CONV2D)):
        for k, (shape, kernel, padding, stride, dilation, groups) in enumerate(cases):
            for n, dtype in enumerate(("f32", "f64", ("bf16", "f16")[k % 2])):
                a, b = VIEWS[(k + n) % 11], VIEWS[(2 * k + n) % 7]
                if 0 in shape:
                    a = "plain"
                family.add(f"{dtype}_{shape}_{kernel}_{padding}_{stride}_{dilation}_{groups}_{a}_{b}", op,
                           [Input(dtype, shape, None, a), Input(dtype, kernel, None, b)],
                           lambda x, w: f(x, w, None, stride, padding, dilation, groups),
                           {"padding": padding, "stride": stride, "dilation": dilation, "groups": groups}, grad=[0, 1], second=dtype == "f64",
                           terms=max(len(shape) * 8, kernel[1] * kernel[-1] ** (len(kernel) - 2)))
    for op, f, (shape, kernel, padding, stride, dilation, groups) in (("conv1d", F.conv1d, CONV1D[3]), ("conv2d", F.conv2d, CONV2D[3])):
        family.add("f8e4m3", op, [Input("f8e4m3", shape, None, "step"), Input("f8e4m3", kernel)],
                   lambda x, w: f(x, w, None, stride, padding, dilation, groups),
                   {"padding": padding, "stride": stride, "dilation": dilation, "groups": groups}, terms=32)
    for op, f, cases in (("conv_transpose1d", F.conv_transpose1d, TRANSPOSED1D), ("conv_transpose2d", F.conv_transpose2d, TRANSPOSED2D)):
        for k, (shape, kernel, padding, output_padding, stride, dilation, groups) in enumerate(cases):
            for n, dtype in enumerate(("f32", "f64", ("bf16", "f16")[k % 2])):
                a, b = VIEWS[(k + n) % 11], VIEWS[(2 * k + n) % 7]
                family.add(f"{dtype}_{shape}_{kernel}_{padding}_{output_padding}_{stride}_{dilation}_{groups}_{a}_{b}", op,
                           [Input(dtype, shape, None, a), Input(dtype, kernel, None, b)],
                           lambda x, w: f(x, w, None, stride, padding, output_padding, groups, dilation),
                           {"padding": padding, "output_padding": output_padding, "stride": stride, "dilation": dilation, "groups": groups},
                           grad=[0, 1], second=dtype == "f64", terms=40)
    return family


def nearest(x, size):
    """Output i is input floor(i * in / out): in whole numbers, where PyTorch multiplies by a rounded quotient."""
    for dim, extent in zip(range(2, x.dim()), size):
        number = torch.arange(extent) * x.shape[dim] // extent
        x = x.index_select(dim, number)
    return x


def windows():
    family = Family("window")
    pools = [([1, 1, 4, 4], [2, 2], [2, 2]), ([2, 3, 5, 6], [2, 3], [1, 2]), ([3, 2, 7, 5], [3, 2], [2, 1]), ([1, 2, 3, 3], [3, 3], [1, 1]), ([2, 1, 6, 6], [1, 1], [2, 3]),
             ([0, 1, 4, 4], [2, 2], [2, 2])]
    for op, f in (("avg_pool2d", F.avg_pool2d), ("max_pool2d", F.max_pool2d)):
        for k, (shape, kernel, stride) in enumerate(pools):
            for n, dtype in enumerate(("f32", "f64", ("bf16", "f16")[k % 2])):
                view = ("plain", "transpose", "narrow", "step", "flip", "permute", "offset", "mixed")[(k + n) % 8]
                if 0 in shape:
                    if op == "max_pool2d":
                        continue
                    view = "plain"
                count = shape[0] * shape[1] * shape[2] * shape[3]
                wide = dtype in ("f32", "f64") or (dtype == "f16" and count < 1000) or count < 120
                values = distinct(dtype, count * 3, span=256.0 if dtype == "bf16" else 4.0) if op == "max_pool2d" else None
                family.add(f"{dtype}_{shape}_{kernel}_{stride}_{view}", op, [Input(dtype, shape, values, view)], lambda x: f(x, kernel, stride),
                           {"kernel": kernel, "stride": stride}, grad=[0] if wide else [], second=dtype == "f64", terms=kernel[0] * kernel[1] * 2)
    for op, f in (("avg_pool2d", F.avg_pool2d), ("max_pool2d", F.max_pool2d)):
        family.add("f8e4m3", op, [Input("f8e4m3", [2, 3, 5, 6], None, "flip")], lambda x: f(x, [2, 3], [1, 2]), {"kernel": [2, 3], "stride": [1, 2]}, terms=6)
    family.add("f8e4m3", "upsample_nearest2d", [Input("f8e4m3", [1, 2, 3, 2], None, "transpose")], lambda x: nearest(x, [5, 4]), {"size": [5, 4]})
    family.add("f8e4m3", "upsample_bilinear2d", [Input("f8e4m3", [1, 2, 3, 2], None, "transpose")],
               lambda x: F.interpolate(x, size=[5, 4], mode="bilinear", align_corners=False), {"size": [5, 4], "align_corners": False}, terms=8)
    for k, (shape, size) in enumerate((([1, 1, 3], [6]), ([2, 3, 4], [7]), ([2, 2, 5], [3]), ([1, 2, 3], [3]))):
        for dtype in ("f32", "f64", "f16"):
            family.add(f"{dtype}_{shape}_{size}", "upsample_nearest1d", [Input(dtype, shape, None, VIEWS[k + 1])], lambda x: nearest(x, size), {"size": size},
                       grad=[0], second=dtype == "f64", terms=8)
    for k, (shape, size) in enumerate((([1, 1, 2, 3], [4, 6]), ([2, 3, 3, 4], [7, 5]), ([2, 2, 5, 5], [3, 2]), ([1, 2, 3, 3], [3, 3]), ([2, 1, 1, 2], [3, 5]))):
        for dtype in ("f32", "f64", "bf16"):
            family.add(f"{dtype}_{shape}_{size}", "upsample_nearest2d", [Input(dtype, shape, None, VIEWS[k + 1])], lambda x: nearest(x, size), {"size": size},
                       grad=[0], second=dtype == "f64", terms=16)
        for corners in (False, True):
            for dtype in ("f32", "f64", "f16"):
                family.add(f"{dtype}_{shape}_{size}_{corners}", "upsample_bilinear2d", [Input(dtype, shape, None, VIEWS[k + 2])],
                           lambda x: F.interpolate(x, size=size, mode="bilinear", align_corners=corners), {"size": size, "align_corners": corners}, grad=[0],
                           second=dtype == "f64", terms=16)
    for k, (shape, scales) in enumerate((([1, 1, 2, 3], [2.0, 2.0]), ([2, 2, 4, 5], [1.5, 2.5]), ([1, 2, 6, 6], [0.5, 0.75]))):
        for corners in (False, True):
            for dtype in ("f32", "f64"):
                family.add(f"{dtype}_{shape}_{scales}_{corners}", "upsample_bilinear2d_with_scale", [Input(dtype, shape, None, VIEWS[k + 2])],
                           lambda x: F.interpolate(x, scale_factor=scales, mode="bilinear", align_corners=corners, recompute_scale_factor=False),
                           {"scales": scales, "align_corners": corners}, grad=[0], second=dtype == "f64", terms=16)
    return family
