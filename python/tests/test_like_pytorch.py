"""What people who come from PyTorch write, compared with NumPy and JAX, whose results are PyTorch's here."""
import pickle

import numpy as np
import pytest

import wick
import wick.nn.functional as F
from wick import nn, optim

jax = pytest.importorskip("jax")
jnp = jax.numpy
RNG = np.random.default_rng(5)
X = RNG.standard_normal((2, 3, 4)).astype(np.float32)


def same(x, wanted, tolerance=1e-5):
    got, wanted = x.detach().numpy(), np.asarray(wanted)
    assert got.shape == wanted.shape
    np.testing.assert_allclose(got, wanted, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16", "int32", "int64", "bool"])
def test_sums_and_products_of_integers_do_not_wrap(dtype):
    a = RNG.integers(0, 2 if dtype == "bool" else 120, (300, 500)).astype(dtype)
    x = wick.tensor(a)
    for dim in (None, 0, 1, (0, 1)):
        got = x.sum(dim)
        assert got.dtype == wick.i64
        np.testing.assert_array_equal(got.numpy(), a.sum(dim, dtype=np.int64))
    np.testing.assert_array_equal(x.sum(axis=1, keepdims=True).numpy(), a.sum(1, dtype=np.int64, keepdims=True))
    np.testing.assert_array_equal(x.cumsum(1).numpy(), a.cumsum(1, dtype=np.int64))
    few = a[:6, :9]
    np.testing.assert_array_equal(wick.tensor(few).prod(1).numpy(), few.prod(1, dtype=np.int64))
    np.testing.assert_array_equal(wick.tensor(few).cumprod(1).numpy(), few.cumprod(1, dtype=np.int64))
    assert x.sum(dtype="f32").dtype == wick.f32 and x.to("u32").sum().dtype == wick.u32


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16", "int32", "int64"])
def test_matrix_products_of_integers_are_exact(dtype):
    limits = np.iinfo(dtype)
    a = RNG.integers(limits.min, limits.max, (5, 60), dtype=dtype, endpoint=True)
    b = RNG.integers(limits.min, limits.max, (2, 60, 7), dtype=dtype, endpoint=True)
    np.testing.assert_array_equal((wick.tensor(a) @ wick.tensor(b)).numpy(), a @ b)


def test_rounding_clamping_and_division():
    halves = np.array([0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 0.3, -0.7, 1e9 + 0.5, np.inf, -np.inf, np.nan])
    np.testing.assert_array_equal(wick.tensor(halves).round().numpy(), np.round(halves))
    same(wick.tensor(halves[:8] * 1.234).round(2), np.round(halves[:8] * 1.234, 2), 1e-12)
    bytes_ = wick.tensor(np.array([1, 200], np.uint8))
    assert bytes_.clamp(-5, 300).tolist() == [1, 200] and bytes_.clamp(-5, 300).dtype == wick.u8
    assert bytes_.clamp(1.5, 7).tolist() == [1.5, 7] and (bytes_ / -2).tolist() == [-0.5, -100]
    assert wick.tensor([True, False]).clamp(0, 1).tolist() == [1, 0]
    np.testing.assert_array_equal(wick.tensor(halves).nan_to_num(1, 2, 3).numpy(), np.nan_to_num(halves, nan=1, posinf=2, neginf=3))
    same(wick.tensor(X).gelu(), jax.nn.gelu(X, approximate=False))
    same(wick.tensor(X).gelu("tanh"), jax.nn.gelu(X, approximate=True))


def test_the_largest_of_a_dimension_come_with_their_places():
    x = wick.tensor(X)
    values, places = x.max(1)
    np.testing.assert_array_equal(values.numpy(), X.max(1))
    np.testing.assert_array_equal(places.numpy(), X.argmax(1))
    least = x.min(dim=-1, keepdim=True)
    np.testing.assert_array_equal(least.values.numpy(), X.min(-1, keepdims=True))
    np.testing.assert_array_equal(least.indices.numpy(), X.argmin(-1)[..., None])
    for only in (x.max((0, 2)), x.amax((0, 2)), x.max(axis=(0, 2))):
        np.testing.assert_array_equal(only.numpy(), X.max((0, 2)))
    np.testing.assert_array_equal(x.max(axis=1).numpy(), X.max(1))
    np.testing.assert_array_equal(x.max(x * 2).numpy(), np.maximum(X, X * 2))
    np.testing.assert_array_equal(np.max(x, axis=1), X.max(1))
    assert x.max().item() == X.max() and x.sort(0).indices.shape == x.topk(1, 0).values.shape[:0] + (2, 3, 4)
    v = wick.Var(np.array([[1.0, 3.0, 3.0]]))
    v.max(1).values.sum().backward()
    np.testing.assert_array_equal(v.grad.numpy(), [[0, 1, 0]])


def test_what_is_no_view_in_pytorch_has_memory_of_its_own():
    for make in (lambda x: x.flip(0), lambda x: x.roll(0, 0), lambda x: x.roll(3, 0), lambda x: x[:1].prod(0), lambda x: x.rot90(),
                 lambda x: (x > 0).to("u8"), lambda x: x.sign(), lambda x: x[:1].sum(0), lambda x: x[:1].amax(0), lambda x: x[:1].cumsum(0)):
        x = wick.tensor(np.arange(9, dtype=np.int64).reshape(3, 3))
        made = make(x)
        before = x.clone()
        made.fill_(77)
        assert (x == before).all()
    mask = wick.tensor([True, False])
    mask.to("u8").fill_(3)
    assert mask.tolist() == [True, False]


def test_bool_stays_bool_or_becomes_i64():
    x = wick.tensor([True, False])
    assert x.sign().dtype == x.sgn().dtype == wick.bool_ and x.square().dtype == wick.i64
    assert x.masked_fill(x, 0.5).tolist() == [True, False] and x.masked_fill(~x, -2).tolist() == [True, True]
    x.fill_(-2)
    assert x.tolist() == [True, True] and x.sum().item() == 2


def test_empty_and_scalar_tensors():
    empty = wick.zeros(2, 0)
    assert np.isnan(empty.std(1).numpy()).all() and np.isnan(empty.var(1, correction=0).numpy()).all() and np.isnan(wick.zeros(0).var().item())
    np.testing.assert_array_equal(empty.logsumexp(1).numpy(), [-np.inf, -np.inf])
    same(wick.tensor([1, 2, 3]).logsumexp(0), np.log(np.exp([1.0, 2, 3]).sum()))
    one = wick.tensor(2.5)
    assert one.softmax(0).item() == 1 and one.log_softmax(-1).item() == 0 and one.sum(0).item() == one.mean(-1).item() == one.amax(0).item() == 2.5
    with pytest.raises(wick.IndexOutOfRangeError):
        one.sum(1)
    spread = wick.tensor([1.0]).masked_fill(wick.tensor([[True, False], [False, True]]), 7)
    assert spread.tolist() == [[7, 1], [1, 7]]


def test_signs_of_zeros_and_infinite_sides():
    zeros = wick.tensor([0.0, -0.0])
    for x in (zeros * 0.5, zeros.round(), zeros - 0.0, zeros * zeros.new_tensor([1.0, 1.0])):
        assert np.signbit(x.numpy()).tolist() == [False, True]
    assert np.signbit((zeros * -2.0).numpy()).tolist() == [True, False] and np.signbit(wick.tensor([-0.4]).round().numpy()).all()
    assert wick.tensor([np.inf, np.nan, -np.inf]).hypot(wick.tensor([np.nan, np.inf, 1.0])).tolist() == [np.inf] * 3
    v = wick.Var(np.array([0.25, 0.5]))
    v.logit().sum().backward()
    same(v.grad, [1 / (0.25 * 0.75), 4])


def test_gradients_are_zero_where_norms_and_deviations_are():
    for function in (lambda v: v.norm(), lambda v: v.norm(2.0, 1).sum(), lambda v: v.std(), lambda v: v.std(1).sum(),
                     lambda v: v.std(1, correction=0).sum()):
        v = wick.Var(np.zeros((2, 3)))
        function(v).backward()
        np.testing.assert_array_equal(v.grad.numpy(), np.zeros((2, 3)))
    for function in (lambda v: v.norm(3.0), lambda v: v.atan2(v).sum(), lambda v: v.clamp(0, 1).sum()):
        v = wick.Var(np.zeros((2, 3)))
        function(v).backward()
        np.testing.assert_array_equal(v.grad.numpy(), np.zeros((2, 3)))
    v = wick.Var(X)
    v.norm().backward()
    same(v.grad, X / np.sqrt((X * X).sum()))
    for p in (0.0, 1.0, 2.0, 3.0, np.inf, -np.inf):
        same(wick.tensor(X).norm(p, 1, True), np.linalg.norm(X.astype(np.float64), p, 1, True), 1e-5)


def test_shapes_as_arguments_and_views():
    assert wick.zeros(2, 3).shape == (2, 3) and wick.ones(2, 3, dtype="i32").dtype == wick.i32 and wick.randn(2, 1, 4).shape == (2, 1, 4)
    x = wick.tensor(X)
    assert x[:, :1].expand(2, -1, 4).shape == (2, 1, 4) and x.expand(5, -1, -1, -1).shape == (5, 2, 3, 4)
    with pytest.raises(wick.ShapeError, match=r"^expand: shape \[-1, 2, 3, 4\]: extent -1 is negative"):
        x.expand(-1, 2, 3, 4)
    assert [part.shape for part in x.split([1, 2], 1)] == [(2, 1, 4), (2, 2, 4)]
    with pytest.raises(ValueError, match="add up to 3"):
        x.split([1, 2], 2)
    same(x.diagonal(), np.diagonal(X))
    same(x.repeat_interleave(2, 1), X.repeat(2, 1))
    same(x.repeat_interleave(wick.tensor([1, 0, 3]), 1), X.repeat([1, 0, 3], 1))
    assert len(x.unbind(1)) == 3 and x.numel() == 24 and x.view(6, 4).shape == (6, 4)
    with pytest.raises(ValueError, match="use reshape"):
        x.transpose(0, 2).view(24)
    assert wick.arange(2**60, 2**60 + 3).tolist() == [2**60, 2**60 + 1, 2**60 + 2] and wick.arange(10, -5, -4).tolist() == [10, 6, 2, -2]
    assert f"{wick.tensor(3.14159):.2f}" == "3.14"
    with pytest.raises(TypeError):
        f"{x:.2f}"


def test_changes_in_place_are_seen_by_views():
    a, x = X.copy(), wick.tensor(X)
    row = x[0]
    a += 1
    x += 1
    a *= 2
    x.mul_(2)
    np.testing.assert_array_equal(row.numpy(), a[0])
    for index in ([0], (slice(None), [0, 2]), (1, [0, 1], 2), (Ellipsis, [1])):
        a[index] = x[index] = 7.0
        np.testing.assert_array_equal(x.numpy(), a)
    x[x > 0] = -1.0
    a[a > 0] = -1
    x.transpose(0, 2)[[0, 1]] = 9.0
    a.transpose(2, 1, 0)[[0, 1]] = 9
    np.testing.assert_array_equal(x.numpy(), a)
    assert row.copy_(5.0).tolist() == np.full((3, 4), 5.0).tolist() and x[0].zero_().sum().item() == 0
    with pytest.raises(TypeError, match="cannot be stored"):
        wick.tensor([1, 2]).add_(0.5)
    with pytest.raises(ValueError, match="does not fit"):
        wick.tensor([1.0]).add_(wick.ones(3))
    with pytest.raises(wick.InvalidArgumentError):
        wick.ones(1).expand(3).add_(1)
    weight = wick.Var([1.0, 2.0])
    with wick.no_grad():
        weight -= 0.5
    assert isinstance(weight, wick.Var) and weight.tolist() == [0.5, 1.5]


def test_numpys_functions_give_tensors():
    x = wick.tensor(X)
    for got, wanted in ((np.sin(x), np.sin(X)), (X + x, X + X), (np.maximum(x, 0.0), np.maximum(X, 0)), (np.float32(2) * x, 2 * X),
                        (np.add.reduce(x), np.add.reduce(X)), (np.sum(x), np.sum(X)), (np.mean(x, axis=1), X.mean(1))):
        assert isinstance(got, wick.Tensor)
        same(got, wanted)
    weight = wick.Var(X)
    (X * weight).sum().backward()
    same(weight.grad, X)


def test_functions_of_the_module():
    same(wick.exp(X), np.exp(X))
    same(wick.softmax(wick.tensor(X), 1), jax.nn.softmax(X, 1))
    assert sorted(wick.randperm(50).tolist()) == list(range(50))
    drawn = wick.randint(3, 7, (1000,))
    assert (drawn.min().item(), drawn.max().item(), drawn.dtype) == (3, 6, wick.i64)
    assert sorted(wick.multinomial(wick.tensor([1.0, 3.0, 0.0, 2.0]), 3).tolist()) == [0, 1, 3]
    assert abs((wick.multinomial(wick.tensor([1.0, 3.0]), 4000, True) == 1).to("f32").mean().item() - 0.75) < 0.04
    with pytest.raises(ValueError, match="without replacement"):
        wick.multinomial(wick.tensor([1.0, 0.0]), 2)


LOGITS, PROBABILITIES = RNG.standard_normal((6, 5)).astype(np.float32), RNG.random((6, 5)).astype(np.float32)
CLASSES, WEIGHTS = np.array([0, 1, -100, 3, 4, 2]), RNG.random(5).astype(np.float32)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_cross_entropy_has_pytorchs_options(reduction, smoothing, weights):
    scale = np.ones(5, np.float32) if weights is None else weights
    kept, ids = CLASSES != -100, np.maximum(CLASSES, 0)

    def loss(x):
        log_p = jax.nn.log_softmax(x) * scale
        each = -((1 - smoothing) * log_p[jnp.arange(6), ids] + smoothing / 5 * log_p.sum(1)) * kept
        return each if reduction == "none" else each.sum() / ((scale[ids] * kept).sum() if reduction == "mean" else 1)

    variable = wick.Var(LOGITS)
    got = F.cross_entropy(variable, wick.tensor(CLASSES), None if weights is None else wick.tensor(weights), reduction=reduction,
                          label_smoothing=smoothing)
    same(got, loss(LOGITS))
    got.sum().backward()
    same(variable.grad, jax.grad(lambda x: loss(x).sum())(LOGITS))


def test_layers_with_kernels_of_two_extents():
    images = RNG.standard_normal((2, 4, 9, 8)).astype(np.float32)
    for options, padding in (({"padding": (1, 2)}, [(1, 1), (2, 2)]), ({"padding": "same"}, [(1, 1), (1, 2)]), ({}, [(0, 0), (0, 0)])):
        layer = nn.Conv2d(4, 6, (3, 4), **options)
        wanted = jax.lax.conv_general_dilated(images, layer.weight.detach().numpy(), (1, 1), padding) + layer.bias.detach().numpy()[:, None, None]
        same(layer(wick.tensor(images)), wanted, 1e-4)
    windows = images[:, :, :8].reshape(2, 4, 4, 2, 4, 2)
    same(nn.MaxPool2d(2)(wick.tensor(images)), windows.max((3, 5)))
    same(nn.AvgPool2d(2)(wick.tensor(images)), windows.mean((3, 5)))
    same(nn.AdaptiveAvgPool2d(1)(wick.tensor(images)), images.mean((2, 3), keepdims=True))
    same(F.pad(wick.tensor(images), (1, 2, 0, 3), value=2.0), np.pad(images, [(0, 0), (0, 0), (0, 3), (1, 2)], constant_values=2))
    with pytest.raises(ValueError, match="stride of 1"):
        nn.Conv2d(4, 6, 3, stride=2, padding="same")


def test_a_recurrent_layer_in_both_directions_is_two_layers():
    x = wick.tensor(RNG.standard_normal((3, 5, 4)).astype(np.float32))
    for cls in (nn.LSTM, nn.GRU):
        both = cls(4, 6, 2, bidirectional=True)
        assert both(x)[0].shape == (3, 5, 12)
        first, second = cls(4, 6), cls(4, 6)
        weights = both.state_dict()
        names = list(first.state_dict())
        first.load_state_dict({name: weights[name] for name in names})
        second.load_state_dict({name: weights[name + "_reverse"] for name in names})
        one = cls(4, 6, 1, bidirectional=True)
        one.load_state_dict({name: weights[name] for name in one.state_dict()})
        wanted = wick.cat([first(x)[0], second(x.flip(1))[0].flip(1)], -1)
        same(one(x)[0], wanted.detach().numpy())


def test_attention_of_the_first_positions():
    query, key = (wick.tensor(RNG.standard_normal((1, 2, n, 4)).astype(np.float32)) for n in (3, 6))
    got = F.scaled_dot_product_attention(query, key, key, causal="upper_left")
    scores = query.numpy() @ key.numpy().swapaxes(2, 3) / 2 + np.where(np.tril(np.ones((3, 6))), 0, -np.inf)
    same(got, jax.nn.softmax(scores, -1) @ key.numpy())


def test_norms_of_doubles_have_an_epsilon_of_doubles():
    x = RNG.standard_normal((3, 4)) * 1e-3
    centred = x - x.mean(1, keepdims=True)
    same(F.layer_norm(wick.tensor(x), (4,)), centred / np.sqrt((centred ** 2).mean(1, keepdims=True) + 1e-5), 1e-13)
    same(F.rms_norm(wick.tensor(x), (4,), eps=1e-5), x / np.sqrt((x ** 2).mean(1, keepdims=True) + 1e-5), 1e-13)


def test_modules_are_converted_and_loaded_in_part():
    net = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm(4))
    net.half()
    assert {p.dtype for p in net.parameters()} == {wick.f16}
    net.register_buffer("places", wick.tensor([1, 2]))
    assert net.float().places.dtype == wick.i64 and "places" in net.state_dict()
    found = net.load_state_dict({"0.weight": wick.ones(4, 3), "other": wick.ones(1)}, strict=False)
    assert "0.bias" in found.missing_keys and found.unexpected_keys == ["other"]
    assert net[0].weight.tolist() == np.ones((4, 3)).tolist()
    seen = []
    net.apply(lambda module: seen.append(type(module).__name__))
    assert seen == ["Linear", "BatchNorm", "Sequential"]
    layers = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16), 2, nn.LayerNorm(8))
    assert len(layers.parameters()) == 2 * 16 + 2 and layers.eval()(wick.randn(2, 5, 8)).shape == (2, 5, 8)


@pytest.mark.parametrize("make", [lambda p: optim.SGD(p, 0.05, momentum=0.9), lambda p: optim.Adam(p, 0.1), lambda p: optim.AdamW(p, 0.1),
                                  lambda p: optim.RMSprop(p, 0.05, momentum=0.5, centered=True), lambda p: optim.RMSprop(p, 0.05), lambda p: optim.Lion(p, 0.05), lambda p: optim.Muon(p, 0.1, 0.0)])
def test_optimizers_descend_and_resume(make):
    wanted = wick.tensor(RNG.standard_normal((4, 3)).astype(np.float32))

    def steps(variable, optimizer, count):
        for _ in range(count):
            optimizer.zero_grad()
            (variable - wanted).sqr().sum().backward()
            nn.utils.clip_grad_norm_([variable], 1.0)
            optimizer.step()

    variable = wick.Var(np.zeros((4, 3), np.float32))
    optimizer = make([variable])
    steps(variable, optimizer, 40)
    assert (variable - wanted).norm().item() < wanted.norm().item() / 2
    again = wick.Var(variable.detach().numpy())
    resumed = make([again])
    resumed.load_state_dict(pickle.loads(pickle.dumps(optimizer.state_dict())))
    steps(variable, optimizer, 3)
    steps(again, resumed, 3)
    np.testing.assert_array_equal(variable.detach().numpy(), again.detach().numpy())


def test_groups_of_parameters_have_settings_of_their_own():
    weights, bias, late = wick.Var([1.0]), wick.Var([1.0]), wick.Var([1.0])
    optimizer = optim.SGD([{"params": [weights]}, {"params": bias, "weight_decay": 2.0}], lr=0.25)
    optimizer.add_param_group({"params": [late], "lr": 0.0})
    (weights + bias + late).sum().backward()
    optimizer.step()
    assert [weights.item(), bias.item(), late.item()] == [1 - 0.25, 1 - 0.25 * 3, 1]
    schedule = optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
    optimizer.param_groups[2]["lr"] = 8.0
    schedule.step()
    assert schedule.get_last_lr() == [0.125, 0.125, 0]
    assert [group["params"] for group in optimizer.state_dict()["param_groups"]] == [[0], [1], [2]]
    for call, said in ((lambda: optimizer.add_param_group({"params": [bias]}), "in another group"), (lambda: optim.SGD([wick.ones(2)]), "got Tensor"),
                       (lambda: optim.SGD([{"params": [late], "speed": 1}]), "no setting 'speed'"), (lambda: optim.SGD([late], lr=-1), "0 or more"),
                       (lambda: optim.Adam([late], betas=(1, 0.9)), "below 1"), (lambda: optim.SGD([late], nesterov=True), "Nesterov"),
                       (lambda: optim.Adam(late), "one tensor")):
        with pytest.raises((ValueError, TypeError), match=said):
            call()


def test_a_state_of_pytorch_is_taken():
    variable = wick.Var([1.0, 2.0])
    optimizer = optim.AdamW([variable])
    # What torch.optim.AdamW([p], lr=0.5).state_dict() gives after a step with the gradient [1, -1], its tensors as arrays.
    optimizer.load_state_dict({"state": {0: {"step": np.float32(1), "exp_avg": np.float32([0.1, -0.1]), "exp_avg_sq": np.float32([1e-3, 1e-3])}},
                               "param_groups": [{"lr": 0.5, "betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 0.0, "amsgrad": False,
                                                 "foreach": None, "maximize": False, "capturable": False, "params": [0]}]})
    variable.sum().backward()
    optimizer.step()
    # m = 0.9 · [0.1, -0.1] + 0.1, v = 0.999 · 1e-3 + 1e-3; the step is 0.5 · m / (1 - 0.9²) / √(v / (1 - 0.999²)).
    m, v = np.array([0.19, 0.01]), 0.001999
    np.testing.assert_allclose(variable.detach().numpy(), [1, 2] - 0.5 * m / 0.19 / np.sqrt(v / 0.001999), rtol=1e-5)
    for wrong, said in (({"state": {}, "param_groups": [{"params": [0, 1]}]}, "of groups of"), (
            {"state": {0: {"exp_avg": wick.ones(3)}}, "param_groups": [{"params": [0]}]}, "exp_avg of variable 0"),
            ({"state": {}, "param_groups": [{"params": [0], "amsgrad": True}]}, "amsgrad")):
        with pytest.raises(ValueError, match=said):
            optimizer.load_state_dict(wrong)


def test_hooks_see_and_change_what_a_module_computes():
    net = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
    seen = []
    with net[0].register_forward_hook(lambda module, arguments, result: seen.append((type(module).__name__, arguments[0].shape, result.shape))):
        net(wick.ones(3, 2))
    net(wick.ones(3, 2))
    assert seen == [("Linear", (3, 2), (3, 2))]
    before = net[1].register_forward_pre_hook(lambda module, arguments: wick.full((2,), -1.0))
    after = net[1].register_forward_hook(lambda module, arguments, result: result + 5)
    assert net(wick.ones(2)).tolist() == [5, 5]
    before.remove()
    after.remove()
    assert (net(wick.ones(2)).detach() < 5).all()


def test_a_loader_takes_any_dataset():
    class Squares:
        def __len__(self):
            return 5

        def __getitem__(self, index):
            return wick.full((2,), float(index)), index * index, {"name": f"sample {index}"}

    batches = list(nn.DataLoader(Squares(), batch_size=2))
    assert len(batches) == 3 and batches[1][0].tolist() == [[2, 2], [3, 3]] and batches[1][1].tolist() == [4, 9]
    assert batches[2][2] == {"name": ["sample 4"]}
    shuffled = [number for batch in nn.DataLoader(Squares(), batch_size=2, shuffle=True, seed=1, drop_last=True) for number in batch[1].tolist()]
    assert len(set(shuffled)) == 4 and set(shuffled) <= {0, 1, 4, 9, 16}
    assert [batch for batch in nn.DataLoader([np.zeros(3)] * 2, batch_size=2, collate_fn=len)] == [2]
    with pytest.raises(TypeError, match="no __len__"):
        nn.DataLoader(iter([1]))


def test_schedules_set_the_learning_rate():
    optimizer = optim.SGD([wick.Var([1.0])], lr=0.1)
    schedule = optim.lr_scheduler.CosineAnnealingLR(optimizer, 4)
    rates = []
    for _ in range(5):
        rates.append(optimizer.learning_rate)
        schedule.step()
    np.testing.assert_allclose(rates, 0.05 * (1 + np.cos(np.pi * np.arange(5) / 4)), atol=1e-12)


def test_files_of_other_formats_are_refused(tmp_path):
    with pytest.raises(ValueError, match="PyTorch files are read, not written"):
        wick.save_tensors({"x": wick.ones(2)}, tmp_path / "x.pt")
    with pytest.raises(ValueError, match="holds one tensor"):
        wick.save_tensors({"x": wick.ones(2), "y": wick.ones(2)}, tmp_path / "x.npy")
    wick.save_tensors({"x": wick.ones(2)}, tmp_path / "x.npy")
    np.testing.assert_array_equal(np.load(tmp_path / "x.npy"), np.ones(2))
