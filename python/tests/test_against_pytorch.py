"""Functions, layers, losses, optimizers and schedules beside PyTorch's own, where it is installed."""
import warnings

import numpy as np
import pytest

import wick
from wick import composed, nn, optim

torch = pytest.importorskip("torch")
warnings.filterwarnings("ignore", category=UserWarning, module="torch")

RNG = np.random.default_rng(0)


def floats(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def whole(high, *shape):
    return RNG.integers(0, high, shape)


def converted(value, convert):
    if isinstance(value, np.ndarray):
        return convert(value)
    if isinstance(value, list) or (isinstance(value, tuple) and any(isinstance(part, np.ndarray) for part in value)):
        return type(value)(converted(part, convert) for part in value)
    return value


def parts_of(value):
    if isinstance(value, (torch.Tensor, wick.Tensor)):
        return [value.detach().numpy()]
    if isinstance(value, (tuple, list)):
        return [part for each in value for part in parts_of(each)]
    return [np.asarray(value)]


def expect_same(ours, theirs, tolerance=2e-5):
    ours, theirs = parts_of(ours), parts_of(theirs)
    assert len(ours) == len(theirs)
    for x, y in zip(ours, theirs):
        assert x.shape == y.shape and x.dtype == y.dtype
        np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance / 10)


INF, NAN = np.inf, np.nan
F32 = lambda *values: np.array(values, np.float32)  # noqa: E731
HOLES = floats(3, 4)
HOLES[1, 2] = NAN
SQUARE = floats(3, 3)
# (name, arguments, options): as a method and as a function; "f": as a function alone, "m": as a method alone.
CASES = [
    *(("", name, [np.abs(floats(3, 4)) % 0.9 + (1.1 if name == "arccosh" else 0)], {}) for name in composed.ALIASES
      if name not in ("argwhere", "swapaxes", "swapdims", "ndimension", "moveaxis", "reshape_as", "vdot", "divide", "true_divide", "multiply", "subtract", "arctan2", "greater",
                      "greater_equal", "less", "less_equal", "not_equal")),
    *(("", name, [floats(3, 4), floats(3, 4)], {}) for name in ("divide", "true_divide", "multiply", "subtract", "arctan2", "greater", "greater_equal",
                                                                "less", "less_equal", "not_equal", "add", "eq", "ge", "gt", "le", "lt", "ne")),
    ("", "argwhere", [floats(3, 4) > 0], {}), ("", "swapaxes", [floats(2, 3, 4), 0, 2], {}), ("", "clone", [floats(3)], {}),
    ("", "mm", [floats(2, 3), floats(3, 4)], {}), ("", "mm", [whole(9, 2, 3), whole(9, 3, 2)], {}), ("", "bmm", [floats(2, 3, 4), floats(2, 4, 5)], {}),
    ("", "mv", [floats(2, 3), floats(3)], {}), ("", "dot", [floats(5), floats(5)], {}), ("", "dot", [whole(9, 5), whole(9, 5)], {}),
    ("", "inner", [floats(2, 3), floats(4, 3)], {}), ("", "outer", [floats(3), floats(4)], {}), ("", "kron", [floats(2, 3), floats(3, 2)], {}),
    ("", "kron", [floats(2), floats(3, 2)], {}), ("f", "tensordot", [floats(2, 3, 4), floats(3, 4, 5)], {}),
    ("f", "tensordot", [floats(2, 3, 4), floats(4, 3, 5)], {"dims": ([1, 2], [1, 0])}), ("", "addmm", [floats(4), floats(2, 3), floats(3, 4)], {}),
    ("", "addmm", [floats(2, 4), floats(2, 3), floats(3, 4)], {"beta": 0.5, "alpha": 2}), ("", "addmv", [floats(2), floats(2, 3), floats(3)], {}),
    ("", "addr", [floats(3, 4), floats(3), floats(4)], {}), ("", "baddbmm", [floats(2, 3, 5), floats(2, 3, 4), floats(2, 4, 5)], {}),
    ("", "addbmm", [floats(3, 5), floats(2, 3, 4), floats(2, 4, 5)], {"beta": 2}), ("", "addcmul", [floats(3), floats(3), floats(3)], {"value": 0.5}),
    ("", "addcdiv", [floats(3), floats(3), np.abs(floats(3)) + 1], {"value": 0.5}), ("", "cross", [floats(4, 3), floats(4, 3)], {"dim": 1}),
    ("", "trace", [whole(9, 3, 4)], {}), ("", "matrix_power", [SQUARE, 3], {}), ("", "det", [SQUARE], {}), ("", "slogdet", [SQUARE], {}),
    ("", "logdet", [SQUARE @ SQUARE.T], {}), ("", "inverse", [SQUARE], {}), ("", "pinverse", [floats(3, 2)], {}),
    ("", "lerp", [floats(3), floats(3), 0.3], {}), ("", "lerp", [floats(3), floats(3), floats(3)], {}), ("", "frac", [floats(9) * 5], {}),
    ("", "deg2rad", [floats(3)], {}), ("", "rad2deg", [floats(3)], {}), ("", "logit", [F32(0.1, 0.5, 0.9)], {}),
    ("", "logit", [F32(-0.1, 0.5, 1.9), 1e-3], {}), ("", "sinc", [F32(0, 0.5, 1, -2.3)], {}), ("", "xlogy", [F32(0, 0, 1, 2), F32(0, NAN, 3, 0.5)], {}),
    ("", "xlogy", [F32(0, 1, 2), 2.0], {}), ("", "hypot", [F32(3, 0, 1e30, INF), F32(4, 0, 1e30, 1)], {}), ("", "signbit", [F32(-0.0, 0, -1, INF, -INF)], {}),
    ("", "copysign", [F32(INF, NAN, 1, 2), F32(-1, -1, -0.0, 0)], {}), ("", "heaviside", [F32(-1, 0, 2), F32(0.5, 0.5, 0.5)], {}),
    ("", "logaddexp", [F32(1, -INF, 1000, INF), F32(2, -INF, 1000, INF)], {}), ("", "logaddexp2", [floats(3), floats(3)], {}),
    ("", "float_power", [floats(3), 2], {}), ("", "fmax", [F32(1, NAN, 3), F32(NAN, NAN, 1)], {}), ("", "fmin", [F32(1, NAN, 3), F32(NAN, NAN, 1)], {}),
    *(("", "bitwise_" + name, [whole(9, 5), whole(4, 5)], {}) for name in ("and", "or", "xor", "left_shift", "right_shift")),
    ("", "bitwise_not", [whole(9, 5)], {}), ("", "isneginf", [F32(1, -INF, INF)], {}), ("", "isposinf", [F32(1, -INF, INF)], {}),
    ("", "isclose", [F32(INF, NAN, 1, 1), F32(INF, NAN, INF, 1.000001)], {"equal_nan": True}), ("", "allclose", [F32(1, 2), F32(1, 2.000001)], {}),
    ("", "allclose", [F32(1, 2), F32(1, 3)], {}), ("", "equal", [F32(1, 2), F32(1, 2)], {}), ("", "equal", [F32(1, 2), F32(1, 3)], {}),
    ("f", "isin", [whole(9, 6), whole(9, 3)], {}), ("", "count_nonzero", [floats(3, 4) > 0], {}), ("", "count_nonzero", [floats(3, 4) > 0], {"dim": 1}),
    ("", "aminmax", [floats(3, 4)], {"dim": 1, "keepdim": True}), ("", "nansum", [HOLES, 1], {}), ("", "nanmean", [HOLES, 0, True], {}),
    ("", "quantile", [floats(3, 5), 0.3], {}), ("", "quantile", [floats(3, 5), F32(0.25, 0.5), 0, True], {}), ("", "quantile", [HOLES, 0.5, 1], {}),
    ("", "quantile", [floats(3, 5, 2), 0.4, 1, True], {}), ("", "kthvalue", [floats(3, 5), 2], {}), ("", "kthvalue", [floats(3, 5), 2, 0, True], {}),
    ("", "msort", [floats(4, 3)], {}), ("f", "std_mean", [floats(3, 4)], {}), ("f", "var_mean", [floats(3, 4), 1], {}),
    ("", "logcumsumexp", [floats(3, 4), 1], {}), ("", "diff", [floats(3, 5), 2, 0], {}), ("f", "trapz", [floats(3, 5)], {}),
    ("", "bincount", [whole(6, 10), np.abs(floats(10)), 9], {}), ("", "bincount", [whole(6, 10)], {}), ("", "cov", [floats(3, 5)], {}),
    ("", "cov", [floats(5)], {}), ("", "corrcoef", [floats(3, 5)], {}), ("", "dist", [floats(5), floats(5), 1], {}),
    ("f", "cdist", [floats(2, 4, 3), floats(2, 5, 3)], {"p": 1.0}), ("", "ravel", [floats(2, 3)], {}), ("m", "view_as", [floats(2, 3), floats(3, 2)], {}),
    ("m", "reshape_as", [floats(2, 3), floats(3, 2)], {}), ("", "vdot", [floats(5), floats(5)], {}),
    ("m", "expand_as", [floats(1, 3), floats(2, 3)], {}), ("", "adjoint", [floats(2, 3)], {}), ("", "movedim", [floats(2, 3, 4, 5), (0, -1), (2, 0)], {}),
    ("", "moveaxis", [floats(2, 3, 4), 1, 0], {}), ("", "unflatten", [floats(2, 12), 1, (3, -1)], {}), ("", "tile", [floats(2, 3), (2, 1, 2)], {}),
    ("", "fliplr", [floats(2, 3)], {}), ("", "flipud", [floats(2, 3)], {}), *(("", "rot90", [floats(2, 3, 2), turns, [0, 1]], {}) for turns in range(-1, 5)),
    ("", "select", [floats(2, 3, 4), 1, -1], {}), *(("", "diag_embed", [floats(2, 3), offset], {}) for offset in range(-2, 3)),
    ("", "diagflat", [floats(2, 2), 1], {}), ("", "tensor_split", [floats(7, 2), 3], {}), ("", "tensor_split", [floats(7, 2), (1, 5)], {}),
    ("", "hsplit", [floats(4, 6), 3], {}), ("", "vsplit", [floats(4, 6), 2], {}), ("", "dsplit", [floats(2, 2, 4), 2], {}),
    ("", "take", [floats(3, 4), whole(12, 2, 2)], {}), ("", "take_along_dim", [floats(3, 4), whole(3, 3, 4), 0], {}),
    ("", "index_fill", [floats(3, 4), 1, whole(4, 2), 5.0], {}), ("f", "pixel_shuffle", [floats(2, 8, 3, 4), 2], {}),
    ("f", "pixel_unshuffle", [floats(2, 2, 6, 4), 2], {}), ("f", "channel_shuffle", [floats(2, 6, 3, 3), 3], {}), ("m", "element_size", [floats(2)], {}),
    ("m", "new_zeros", [floats(2), (2, 3)], {}), ("m", "new_full", [floats(2), (2, 3), 4.0], {}), ("f", "full_like", [floats(2, 3), 4.0], {}),
    ("f", "hstack", [[floats(2, 3), floats(2, 1)]], {}), ("f", "hstack", [[floats(2), floats(1)]], {}), ("f", "vstack", [[floats(3), floats(2, 3)]], {}),
    ("f", "dstack", [[floats(2, 3), floats(2, 3)]], {}), ("f", "column_stack", [[floats(2), floats(2, 3)]], {}), ("f", "row_stack", [[floats(3), floats(3)]], {}),
    ("f", "concat", [[floats(3), floats(3)]], {}), ("f", "block_diag", [floats(2, 3), floats(1, 2), floats(2)], {}),
    ("f", "broadcast_tensors", [floats(2, 1), floats(3)], {}), ("f", "cartesian_prod", [floats(2), floats(3)], {}), ("f", "tril_indices", [3, 4], {}),
    ("f", "triu_indices", [3, 4, 1], {}), ("f", "logspace", [0, 2, 5], {}), ("f", "vander", [floats(3), 4, True], {}), ("f", "atleast_3d", [floats(3, 2)], {}),
    ("", "gather", [floats(3, 4), 1, whole(4, 3, 2)], {}), ("", "gather", [floats(3, 4)], {"dim": 1, "index": whole(4, 3, 2)}),
    ("", "scatter_add", [floats(3, 4), 0, whole(3, 2, 4), floats(2, 4)], {}), ("", "scatter", [floats(3, 4), 1, np.array([[0, 1], [2, 3]]), 5.0], {}),
    ("", "scatter", [floats(3, 4)], {"dim": 1, "index": np.array([[0, 1], [2, 3]]), "src": floats(2, 2)}),
    ("", "scatter", [floats(3, 4), 1, np.array([[0, 1], [2, 3]])], {"value": 5.0}), ("", "index_select", [floats(3, 4), 1, whole(4, 2)], {}),
    ("", "index_add", [floats(3, 4), 0, whole(3, 2), floats(2, 4)], {}), ("m", "scatter_", [floats(3, 4), 1, np.array([[0, 1], [2, 3]]), 2.0], {}),
]


@pytest.mark.parametrize("ways, name, arguments, options", CASES, ids=[f"{number}-{case[1]}" for number, case in enumerate(CASES)])
def test_functions(ways, name, arguments, options):
    def called(module, convert, way):
        given = [converted(value, convert) for value in arguments]
        named = {key: converted(value, convert) for key, value in options.items()}
        return getattr(given[0], name)(*given[1:], **named) if way == "m" else getattr(module, name)(*given, **named)

    for way in ways or "mf":
        expect_same(called(wick, wick.tensor, way), called(torch, torch.tensor, way))


def arguments_in_place(name):
    base = np.abs(floats(3, 3)) % 0.8 + 0.05
    if name in ("atan2", "copysign", "fmod", "hypot", "ge", "gt", "le", "lt", "ne", "logical_and", "logical_or", "logical_xor", "xlogy"):
        return [base, np.abs(floats(3, 3)) + 0.1]
    special = {"acosh": [base + 1.1], "addcdiv": [base, floats(3, 3), floats(3, 3)], "bitwise_not": [whole(9, 3, 3)], "cumprod": [base, 0], "cumsum": [base, 0],
               "float_power": [base.astype(np.float64), 2.0], "index_fill": [base, 0, whole(3, 1), 2.0], "lerp": [base, floats(3, 3), 0.5]}
    special["addcmul"] = special["addmm"] = special["addcdiv"]
    special["bitwise_and"] = special["bitwise_or"] = special["bitwise_xor"] = [whole(9, 3, 3), whole(9, 3, 3)]
    return special.get(name, [base])


@pytest.mark.parametrize("name", composed.IN_PLACE)
def test_in_place_methods(name):
    arguments = arguments_in_place(name)
    ours, theirs = [[converted(value, convert) for value in arguments] for convert in (wick.tensor, torch.tensor)]
    getattr(ours[0], name + "_")(*ours[1:])
    getattr(theirs[0], name + "_")(*theirs[1:])
    expect_same(ours[0], theirs[0])


@pytest.mark.parametrize("name, arguments, options", [
    ("norm", [floats(3, 4)], {}), ("norm", [floats(3, 4)], {"ord": 1}), ("norm", [floats(3, 4)], {"ord": 2, "dim": 1}),
    ("vector_norm", [floats(3, 4)], {"ord": 3.0, "dim": (0, 1), "keepdim": True}), ("matrix_norm", [floats(3, 4, 2)], {"ord": 1, "dim": (0, 2)}),
    ("matrix_norm", [floats(3, 4, 2)], {"ord": "nuc", "dim": (0, 2), "keepdim": True}), ("multi_dot", [[floats(2, 3), floats(3, 9), floats(9, 2), floats(2)]], {}),
    ("diagonal", [floats(2, 3, 3)], {"offset": 1}), ("vecdot", [floats(2, 3), floats(2, 3)], {}), ("svdvals", [floats(3, 2)], {}),
    ("solve", [SQUARE, floats(3, 2)], {}), ("cross", [floats(4, 3), floats(4, 3)], {})])
def test_linear_algebra(name, arguments, options):
    ours, theirs = [getattr(module, name)(*converted(arguments, convert), **options)
                    for module, convert in ((wick.linalg, wick.tensor), (torch.linalg, torch.tensor))]
    expect_same(ours, theirs, 1e-4)


LAYERS = [("ReLU6", (), (3, 4)), ("Hardtanh", (), (3, 4)), ("Hardsigmoid", (), (3, 4)), ("Hardswish", (), (3, 4)), ("CELU", (1.5,), (3, 4)),
          ("SELU", (), (3, 4)), ("GLU", (1,), (3, 4)), ("Threshold", (0.1, 7.0), (3, 4)), ("Hardshrink", (), (3, 4)), ("Softshrink", (), (3, 4)),
          ("Tanhshrink", (), (3, 4)), ("Softsign", (), (3, 4)), ("LogSigmoid", (), (3, 4)), ("Softmin", (1,), (3, 4)), ("PixelShuffle", (2,), (2, 8, 3, 3)),
          ("PixelUnshuffle", (2,), (2, 2, 4, 6)), ("ChannelShuffle", (2,), (2, 4, 3, 3)), ("PReLU", (4,), (3, 4)), ("PReLU", (), (3, 4, 2)),
          ("Unflatten", (1, (2, 2)), (3, 4)), ("InstanceNorm1d", (4,), (3, 4, 5)), ("InstanceNorm2d", (4,), (3, 4, 5, 2)),
          ("ConstantPad2d", ((1, 2, 0, 1), 3.0), (2, 3, 4)), ("ReplicationPad2d", ((1, 2, 0, 1),), (2, 3, 4)), ("AdaptiveAvgPool1d", (3,), (2, 3, 7)),
          ("AvgPool1d", (3, 2, 1), (2, 3, 8)), ("MaxPool1d", (3, 2, 1), (2, 3, 8)), ("MaxPool2d", (3, 2, 1), (2, 3, 8, 9)),
          ("AvgPool2d", (3, 2, 1), (2, 3, 8, 9)), ("MaxPool2d", ((2, 3),), (2, 3, 8, 9))]
SIGNS = np.array([1, -1, 1, 1, -1, -1], np.int8)
LOSSES = [("MarginRankingLoss", {"margin": 0.3}, [floats(6), floats(6), SIGNS]), ("HingeEmbeddingLoss", {"margin": 0.7}, [floats(6), SIGNS]),
          ("SoftMarginLoss", {}, [floats(6), SIGNS]), ("CosineEmbeddingLoss", {"margin": 0.1}, [floats(6, 4), floats(6, 4), SIGNS]),
          ("TripletMarginLoss", {}, [floats(6, 4), floats(6, 4), floats(6, 4)]),
          ("GaussianNLLLoss", {"full": True}, [floats(6), floats(6), np.abs(floats(6)) + 0.1]), ("PoissonNLLLoss", {}, [floats(6), np.abs(floats(6))]),
          ("PoissonNLLLoss", {"log_input": False}, [np.abs(floats(6)) + 0.1, np.abs(floats(6))])]


def expect_same_with_gradients(ours, theirs, arrays):
    xs = [wick.Var(array) if array.dtype.kind == "f" else wick.tensor(array) for array in arrays]
    ys = [torch.tensor(array, requires_grad=array.dtype.kind == "f") for array in arrays]
    x, y = ours(*xs), theirs(*ys)
    expect_same(x, y)
    x.sum().backward()
    y.sum().backward()
    for a, b in zip(xs, ys):
        if b.grad is not None:
            np.testing.assert_allclose(a.grad.numpy(), b.grad.numpy(), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name, arguments, shape", LAYERS, ids=[f"{number}-{case[0]}" for number, case in enumerate(LAYERS)])
def test_layers(name, arguments, shape):
    expect_same_with_gradients(getattr(nn, name)(*arguments), getattr(torch.nn, name)(*arguments), [floats(*shape) * 3])


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("name, options, arrays", LOSSES, ids=[f"{number}-{case[0]}" for number, case in enumerate(LOSSES)])
def test_losses(name, options, arrays, reduction):
    expect_same_with_gradients(getattr(nn, name)(**options, reduction=reduction), getattr(torch.nn, name)(**options, reduction=reduction), arrays)


@pytest.mark.parametrize("name, options", [
    ("SGD", {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.01, "nesterov": True}), ("Adam", {"lr": 0.05, "weight_decay": 0.1}), ("AdamW", {"lr": 0.05}),
    ("RMSprop", {"lr": 0.01, "momentum": 0.5, "centered": True}), ("Adagrad", {"lr": 0.1, "lr_decay": 0.01, "weight_decay": 0.01}),
    ("Adadelta", {"lr": 0.5, "weight_decay": 0.1}), ("Adamax", {"lr": 0.05}), ("NAdam", {"lr": 0.05, "weight_decay": 0.1}),
    ("RAdam", {"lr": 0.05, "weight_decay": 0.01})])
def test_optimizers_and_their_states(name, options):
    first, goal = floats(3, 4), floats(3, 4)
    x, y = wick.Var(first), torch.nn.Parameter(torch.tensor(first))
    ours, theirs = getattr(optim, name)([x], **options), getattr(torch.optim, name)([y], **options)
    for step in range(12):
        for optimizer, loss in ((ours, ((x - wick.tensor(goal)) ** 2).sum()), (theirs, ((y - torch.tensor(goal)) ** 2).sum())):
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        if step == 5:  # the state of PyTorch is taken over
            state = theirs.state_dict()
            state["state"] = {index: {key: value.numpy() if isinstance(value, torch.Tensor) else value for key, value in kept.items()}
                              for index, kept in state["state"].items()}
            ours = getattr(optim, name)([x])
            ours.load_state_dict(state)
    np.testing.assert_allclose(x.detach().numpy(), y.detach().numpy(), atol=1e-5)


@pytest.mark.parametrize("make", [
    lambda m, o: m.PolynomialLR(o, 6, 2.0), lambda m, o: m.CosineAnnealingWarmRestarts(o, 3, 2, 0.01), lambda m, o: m.CosineAnnealingWarmRestarts(o, 3),
    lambda m, o: m.SequentialLR(o, [m.LinearLR(o, 0.1, 1.0, 4), m.CosineAnnealingLR(o, 8)], [4]),
    lambda m, o: m.ReduceLROnPlateau(o, patience=2, factor=0.5, cooldown=1), lambda m, o: m.ReduceLROnPlateau(o, "max", patience=1)])
def test_schedules(make):
    theirs, ours = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=0.5), optim.SGD([wick.Var([0.0])], lr=0.5)
    schedules = make(torch.optim.lr_scheduler, theirs), make(optim.lr_scheduler, ours)
    for metric in [5, 4, 4, 4, 4, 3, 3, 3, 3, 3, 3, 3, 3, 3]:
        assert abs(ours.param_groups[0]["lr"] - theirs.param_groups[0]["lr"]) < 1e-9
        theirs.step()
        for schedule in schedules:
            schedule.step(metric) if "Plateau" in type(schedule).__name__ else schedule.step()


def test_its_loader_takes_our_datasets():
    class Squares(torch.utils.data.Dataset):
        def __len__(self):
            return 5

        def __getitem__(self, index):
            return wick.full((2,), float(index)), index * index

    batches = list(torch.utils.data.DataLoader(Squares(), batch_size=2, collate_fn=nn.collate))
    assert [batch[0].shape for batch in batches] == [(2, 2), (2, 2), (1, 2)] and batches[1][1].tolist() == [4, 9]
    assert nn.DataLoader(Squares(), batch_size=5).__iter__().__next__()[1].tolist() == [0, 1, 4, 9, 16]
