"""Gather, scatter and their relatives, and the ops that only move elements."""

import torch

from elementwise import INTEGERS
from golden import FLOATS, VIEWS, Family, Input, grid

IDS = ("u8", "u32", "i64")
DTYPES = FLOATS + INTEGERS + ("f8e4m3",)


def numbers(dtype, shape, extent, view="plain"):
    return Input(dtype, shape, ["grid", 0, max(extent, 1), 0], view)


def unique_numbers(dtype, count):
    """Each of 0 ... count - 1 once."""
    return Input(dtype, [count], ["distinct", 0, 0])


def scatter(x, ids, source, dim):
    """Where an element is written more than once, the last in row-major order stays: written one by one, gradients included."""
    return x.scatter(dim, ids, source)


def selections():
    family = Family("select")
    for k, dtype in enumerate(DTYPES):
        gradient, exact = dtype in FLOATS, dtype not in FLOATS
        grads = [0] if gradient else []
        for n, (shape, dim, count) in enumerate((([5], 0, 3), ([3, 4], 0, 7), ([3, 4], 1, 2), ([2, 3, 4], 1, 5), ([2, 3, 2, 3], 2, 4), ([3, 4], 0, 0),
                                                 ([0, 3], 1, 2), ([2, 70], 1, 30))):
            ids = IDS[(k + n) % 3]
            views = VIEWS[(k + n) % 11], VIEWS[(2 * k + n) % 6]
            family.add(f"{dtype}_{ids}_{shape}_{dim}_{count}_{views[0]}_{views[1]}", "index_select",
                       [Input(dtype, shape, None, views[0]), numbers(ids, [count], shape[dim], "plain" if count == 0 else views[1])],
                       lambda x, i: torch.index_select(x, dim, i), {"dim": dim}, grad=grads, terms=count, second=dtype == "f64")
        for n, (shape, ids_shape, dim) in enumerate((([5], [3], 0), ([3, 4], [2, 4], 0), ([3, 4], [3, 6], 1), ([2, 3, 4], [2, 5, 4], 1), ([2, 3, 4], [1, 2, 6], 2),
                                                     ([3, 4], [0, 4], 0), ([2, 2, 3, 2], [2, 1, 2, 2], 2))):
            ids = IDS[(k + n + 1) % 3]
            views = VIEWS[(k + n + 3) % 11], VIEWS[(k + 2 * n) % 6]
            label = f"{dtype}_{ids}_{shape}_{ids_shape}_{dim}_{views[0]}_{views[1]}"
            family.add(label, "gather", [Input(dtype, shape, None, views[0]), numbers(ids, ids_shape, shape[dim], views[1])],
                       lambda x, i: torch.gather(x, dim, i), {"dim": dim}, grad=grads, terms=8, second=dtype == "f64")
            if dtype != "f8e4m3":
                source = Input(dtype, ids_shape, None, VIEWS[(k + n) % 6])
                gradients = [0, 2] if gradient else []
                x = Input(dtype, shape, grid(20, 40, dtype) if dtype[0] == "u" else None, views[0])
                if dtype != "u8" or n % 2:
                    family.add(label, "scatter_add", [x, numbers(ids, ids_shape, shape[dim], views[1]), source],
                               lambda x, i, s: torch.scatter_add(x, dim, i, s), {"dim": dim}, grad=gradients, terms=8, second=dtype == "f64", exact=exact)
        # A permutation along dim writes each element once, so that the order of writes is no matter.
        for n, (shape, dim) in enumerate((([6], 0), ([1, 5], 1), ([4, 1, 1], 0))):
            ids = IDS[(k + n) % 3]
            count = max(shape) - 1
            family.add(f"{dtype}_{ids}_{shape}", "scatter",
                       [Input(dtype, shape, None, VIEWS[(k + n) % 9]), Input(ids, [count if i == dim else e for i, e in enumerate(shape)], ["distinct", 1, 0]),
                        Input(dtype, [count if i == dim else e for i, e in enumerate(shape)], None, VIEWS[(k + n + 1) % 9])],
                       lambda x, i, s: torch.scatter(x, dim, i, s), {"dim": dim}, grad=[0, 2] if gradient else [], second=dtype == "f64", exact=exact)
        for n, (shape, dim, count) in enumerate((([5], 0, 3), ([3, 4], 0, 7), ([3, 4], 1, 2), ([2, 3, 4], 1, 5), ([2, 3, 2, 3], 2, 4), ([3, 4], 0, 0))):
            if dtype == "f8e4m3":
                continue
            ids = IDS[(k + n) % 3]
            source = shape[:dim] + [count] + shape[dim + 1:]
            views = VIEWS[(k + n) % 11], VIEWS[(2 * k + n) % 6], VIEWS[(k + 3 * n) % 9]
            views = views if count else (views[0], "plain", "plain")
            family.add(f"{dtype}_{ids}_{shape}_{dim}_{count}_{views[0]}_{views[2]}", "index_add",
                       [Input(dtype, shape, None, views[0]), numbers(ids, [count], shape[dim], views[1]), Input(dtype, source, None, views[2])],
                       lambda x, i, s: torch.index_add(x, dim, i, s), {"dim": dim}, grad=[0, 2] if gradient else [], terms=count + 1,
                       second=dtype == "f64", exact=exact)
        for n, ids_shape in enumerate(([4], [2, 3], [], [0])):
            ids = IDS[(k + n) % 3]
            family.add(f"{dtype}_{ids}_{ids_shape}", "embedding", [Input(dtype, [5, 3], None, VIEWS[(k + n) % 6]), numbers(ids, ids_shape, 5)],
                       lambda x, i: x[i], {}, grad=grads, terms=8, second=dtype == "f64")
    return family


def moves():
    family = Family("move")

    def add(label, op, inputs, f, parameters, differentiable):
        dtype = inputs[0].dtype
        family.add(f"{dtype}_{label}", op, inputs, f, parameters, grad=list(range(len(inputs))) if differentiable and dtype in FLOATS else [],
                   terms=8, second=dtype == "f64" and differentiable, exact=dtype not in FLOATS, out=None)

    for k, dtype in enumerate(DTYPES):
        v = lambda n: VIEWS[(k + n) % 9]
        for n, (shapes, dim) in enumerate((([[2, 3], [1, 3], [2, 3]], 0), ([[2, 3], [2, 1]], 1), ([[2, 3, 2], [2, 0, 2], [2, 1, 2]], 1), ([[4], [3]], 0),
                                           ([[2, 1, 3, 2], [2, 1, 3, 4]], 3), ([[0, 3], [2, 3]], 0))):
            inputs = [Input(dtype, s, None, v(n + i)) for i, s in enumerate(shapes)]
            add(f"{shapes}_{dim}", "cat", inputs, lambda *t: torch.cat(t, dim), {"dim": dim}, True)
        for shape, dim in (([3], 0), ([3], 1), ([2, 3], 1), ([], 0), ([2, 0], 2)):
            inputs = [Input(dtype, shape, None, v(i + dim)) for i in range(3)]
            add(f"{shape}_{dim}", "stack", inputs, lambda *t: torch.stack(t, dim), {"dim": dim}, True)
        for shape, count, dim in (([7], 3, 0), ([4, 6], 2, 1), ([5, 2], 5, 0)):
            family.add(f"{dtype}_{shape}_{count}_{dim}", "chunk", [Input(dtype, shape, None, v(count))], lambda x: torch.tensor_split(x, count, dim),
                       {"count": count, "dim": dim}, out=[dtype] * count, grad=[0] if dtype in FLOATS else [])
        for shape, dim, left, right in (([3], 0, 1, 2), ([2, 3], 1, 0, 2), ([2, 3, 2], 1, 3, 0), ([0, 2], 0, 1, 1)):
            one = [Input(dtype, shape, None, v(left))]
            pad = [0, 0] * (len(shape) - 1 - dim) + [left, right]
            add(f"{shape}_{dim}_{left}_{right}", "pad_with_zeros", one, lambda x: torch.nn.functional.pad(x, pad), {"dim": dim, "left": left, "right": right}, True)
            if 0 not in shape:
                def same(x):
                    n = x.shape[dim]
                    return torch.cat([x.narrow(dim, 0, 1)] * left + [x] + [x.narrow(dim, n - 1, 1)] * right, dim)
                add(f"{shape}_{dim}_{left}_{right}", "pad_with_same", [Input(dtype, shape, None, v(right))], same, {"dim": dim, "left": left, "right": right}, True)
        for shape, shift, dim in (([5], 2, 0), ([5], -1, 0), ([3, 4], 7, 1), ([2, 3, 4], 1, 1)):
            add(f"{shape}_{shift}_{dim}", "roll", [Input(dtype, shape, None, v(shift))], lambda x: torch.roll(x, shift, dim), {"shift": shift, "dim": dim}, True)
        for shape, dims in (([5], [0]), ([3, 4], [1]), ([3, 4], [0, 1]), ([2, 3, 2], [0, 2])):
            add(f"{shape}_{dims}", "flip", [Input(dtype, shape, None, v(len(dims)))], lambda x: torch.flip(x, dims), {"dims": dims}, True)
        for shape, dim, size, step in (([7], 0, 3, 2), ([3, 5], 1, 2, 1), ([6, 2], 0, 2, 3), ([2, 4, 3], 1, 4, 1)):
            add(f"{shape}_{dim}_{size}_{step}", "unfold", [Input(dtype, shape, None, v(size))], lambda x: x.unfold(dim, size, step),
                {"dim": dim, "size": size, "step": step}, True)
        for shape, times in (([3], [2]), ([2, 3], [2, 1]), ([2, 3], [3, 1, 2]), ([], [4])):
            add(f"{shape}_{times}", "repeat", [Input(dtype, shape, None, v(len(times)))], lambda x: x.repeat(times), {"times": times}, True)
        for shape, diagonal in (([3, 4], 0), ([4, 3], 1), ([2, 3, 3], -1), ([3, 3], 2)):
            for name, f in (("tril", torch.tril), ("triu", torch.triu)):
                add(f"{shape}_{diagonal}", name, [Input(dtype, shape, None, v(diagonal + 2))], lambda x: f(x, diagonal), {"diagonal": diagonal}, True)
        for indexing in ("ij", "xy"):
            family.add(f"{dtype}_{indexing}", "meshgrid", [Input(dtype, [3], None, v(1)), Input(dtype, [4], None, v(2))],
                       lambda a, b: torch.meshgrid(a, b, indexing=indexing), {"xy": indexing == "xy"}, out=[dtype] * 2, grad=[0, 1] if dtype in FLOATS else [],
                       terms=4)
        for shape, target in (([2, 6], [3, 4]), ([2, 3, 2], [12]), ([], [1, 1]), ([0, 3], [3, 0])):
            add(f"{shape}_{target}", "reshape", [Input(dtype, shape, None, v(len(target)))], lambda x: x.reshape(target), {"shape": target}, True)
        for shape in ([3, 4], [2, 3, 4], [], [2, 1, 3, 2]):
            add(f"{shape}", "contiguous", [Input(dtype, shape, None, v(len(shape)))], lambda x: x.clone(), {}, True)
    return family


LARGEST = {"u8": 255, "u32": 2**32 - 1, "i64": 2**63 - 1}


def absences():
    """The largest number of an id's dtype, where it lies outside, names nothing: zeros are read there and nothing is written."""
    family = Family("absent")

    def with_spare(x, dim):
        return torch.cat([x, torch.zeros_like(x.narrow(dim, 0, 1))], dim)

    def spare(ids, x, dim):
        return torch.where(ids >= x.shape[dim], x.shape[dim], ids)

    for ids, none in LARGEST.items():
        for dtype in ("f32", "f64", "i32", "bf16"):
            grads = [0] if dtype in FLOATS else []
            both = [0, 2] if dtype in FLOATS else []
            exact = dtype not in FLOATS
            row = Input(ids, [4], ["list", [2, none, 0, none]])
            grid_ids = Input(ids, [2, 4], ["list", [1, none, 0, 2, none]])
            x = Input(dtype, [3, 4], None, "transpose")
            for dim in (0, 1):
                family.add(f"{dtype}_{ids}_{dim}", "index_select", [x, row], lambda t, i: with_spare(t, dim).index_select(dim, spare(i, t, dim)),
                           {"dim": dim}, grad=grads, terms=8)
                source = Input(dtype, [4, 4] if dim == 0 else [3, 4])
                family.add(f"{dtype}_{ids}_{dim}", "index_add", [x, row, source],
                           lambda t, i, s: with_spare(t, dim).index_add(dim, spare(i, t, dim), s).narrow(dim, 0, t.shape[dim]), {"dim": dim}, grad=both,
                           terms=8, exact=exact)
            family.add(f"{dtype}_{ids}", "embedding", [x, grid_ids], lambda t, i: with_spare(t, 0)[spare(i, t, 0)], {}, grad=grads, terms=8)
            family.add(f"{dtype}_{ids}", "gather", [x, grid_ids], lambda t, i: with_spare(t, 0).gather(0, spare(i, t, 0)), {"dim": 0}, grad=grads, terms=8)
            source = Input(dtype, [2, 4], None, "flip")
            family.add(f"{dtype}_{ids}", "scatter_add", [x, grid_ids, source],
                       lambda t, i, s: with_spare(t, 0).scatter_add(0, spare(i, t, 0), s).narrow(0, 0, 3), {"dim": 0}, grad=both, terms=8, exact=exact)
            unique = Input(ids, [2, 4], ["list", [1, none, 0, 2, 0, none, 2, none]])
            family.add(f"{dtype}_{ids}", "scatter", [x, unique, source], lambda t, i, s: with_spare(t, 0).scatter(0, spare(i, t, 0), s).narrow(0, 0, 3),
                       {"dim": 0}, grad=both, terms=4, exact=exact)
    family.add("u8_255_is_there", "index_select", [Input("f32", [300]), Input("u8", [3], ["list", [255, 3, 254]])],
               lambda t, i: t.index_select(0, i), {"dim": 0}, grad=[0])
    return family
