"""Gradients against JAX, optimizers and layers against their formulas, and training loops."""
import gc

import numpy as np
import pytest

import wick
from wick import nn

jax = pytest.importorskip("jax")
jnp = jax.numpy

RNG = np.random.default_rng(3)
X = RNG.standard_normal((4, 6)).astype(np.float32)
W = RNG.standard_normal((6, 6)).astype(np.float32)
IDS = np.array([2, 0, 1, 2])

# Functions written once, of an array module and of methods that both libraries have.
CASES = {
    "arithmetic": (lambda x, w: ((x @ w) * 2.5 - x / (1.5 + x * x)).sum(), lambda x, w: ((x @ w) * 2.5 - x / (1.5 + x * x)).sum()),
    "mean and powers": (lambda x, w: ((x ** 2).mean(1) ** 1.5).sum() + (w ** 3).mean(),
                        lambda x, w: ((x ** 2).mean(1) ** 1.5).sum() + (w ** 3).mean()),
    "functions": (lambda x, w: (x.tanh() * w[:4].exp().log1p() + x.sigmoid()).sum(),
                  lambda x, w: (jnp.tanh(x) * jnp.log1p(jnp.exp(w[:4])) + jax.nn.sigmoid(x)).sum()),
    "indexing": (lambda x, w: (x[:, ::-2] * w[1, [0, 3, 5]]).sum() + x[wick.tensor(IDS)].sqr().sum() + x[-1, None, 2:].exp().sum(),
                 lambda x, w: (x[:, ::-2] * w[1, jnp.array([0, 3, 5])]).sum() + (x[IDS] ** 2).sum() + jnp.exp(x[-1, None, 2:]).sum()),
    "softmax": (lambda x, w: (x.softmax(1) * w[:4]).sum() + x.log_softmax(0).max(),
                lambda x, w: (jax.nn.softmax(x, 1) * w[:4]).sum() + jax.nn.log_softmax(x, 0).max()),
    "shapes": (lambda x, w: (wick.cat([x.T, w], 1).reshape(5, -1).cumsum(1) * 0.1).sin().sum(),
               lambda x, w: jnp.sin(jnp.cumsum(jnp.concatenate([x.T, w], 1).reshape(5, -1), 1) * 0.1).sum()),
    "where": (lambda x, w: wick.where(x > 0, x * w[0], x * x).sum() + x.maximum(w[:4]).sum(),
              lambda x, w: jnp.where(x > 0, x * w[0], x * x).sum() + jnp.maximum(x, w[:4]).sum()),
    "cross entropy": (lambda x, w: nn.cross_entropy(x @ w, wick.tensor(IDS)),
                      lambda x, w: -jax.nn.log_softmax(x @ w)[jnp.arange(4), IDS].mean()),
    "layer norm": (lambda x, w: (nn.layer_norm(x, w[0], w[1]) ** 3).sum(),
                   lambda x, w: (((x - x.mean(-1, keepdims=True)) / jnp.sqrt(x.var(-1, keepdims=True) + 1e-5) * w[0] + w[1]) ** 3).sum()),
    "attention": (lambda x, w: nn.scaled_dot_product_attention(x.reshape(1, 2, 4, 3), w.reshape(1, 2, 6, 3), w.reshape(1, 2, 6, 3)).sqr().sum(),
                  lambda x, w: (jax.nn.softmax(x.reshape(1, 2, 4, 3) @ w.reshape(1, 2, 6, 3).swapaxes(2, 3) / 3 ** 0.5, -1)
                                @ w.reshape(1, 2, 6, 3)).__pow__(2).sum()),
}


@pytest.mark.parametrize("name", CASES)
def test_gradients_are_jax_s(name):
    ours, theirs = CASES[name]
    x, w = wick.Var(X), wick.Var(W)
    loss = ours(x, w)
    gradients = loss.backward()
    value, expected = jax.value_and_grad(theirs, argnums=(0, 1))(jnp.array(X), jnp.array(W))
    np.testing.assert_allclose(loss.item(), value, rtol=2e-5)
    np.testing.assert_allclose(x.grad.numpy(), expected[0], rtol=2e-4, atol=2e-5)
    got = gradients.get(w)
    np.testing.assert_allclose(np.zeros_like(W) if got is None else got.numpy(), expected[1], rtol=2e-4, atol=2e-5)


def test_gradients_have_gradients():
    x = wick.Var([0.5, -1.5])
    first = (x.sin() * x).sum().backward(create_graph=True)[x]
    second = first.sum().backward()[x]
    expected = jax.vmap(jax.grad(jax.grad(lambda v: jnp.sin(v) * v)))(jnp.array([0.5, -1.5]))
    np.testing.assert_allclose(second.numpy(), expected, rtol=1e-5)


def test_grad_adds_up_until_it_is_cleared():
    x = wick.Var([1.0, 2.0])
    for _ in range(3):
        (x * x).sum().backward()
    assert x.grad.tolist() == [6, 12]
    x.grad = None
    assert x.grad is None
    with wick.no_grad():
        assert not (x * x).is_tracked
    assert (x * x).is_tracked and not x.detach().is_tracked
    with pytest.raises(ValueError):
        wick.ones(2).backward()
    with pytest.raises(NotImplementedError):
        wick.Var(wick.tensor([1, 2]))
    del x
    gc.collect()


def test_defaults():
    with wick.defaults(dtype=wick.f64):
        assert wick.zeros(2).dtype == wick.f64
    assert wick.zeros(2).dtype == wick.f32


@pytest.mark.parametrize("make", [lambda p: nn.SGD(p, 0.1), lambda p: nn.SGD(p, 0.1, momentum=0.9, nesterov=True),
                                  lambda p: nn.Adam(p, 0.1), lambda p: nn.AdamW(p, 0.1)])
def test_a_training_loop(make):
    wick.Device("cpu").set_seed(1)
    net = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 1))
    inputs = wick.tensor([[0.0, 0], [0, 1], [1, 0], [1, 1]])
    targets = wick.tensor([[0.0], [1], [1], [0]])
    optimizer = make(net.parameters())
    first = None
    for _ in range(200):
        optimizer.zero_grad()
        loss = nn.mse_loss(net(inputs), targets)
        first = first or loss.item()
        loss.backward()
        optimizer.step()
    assert loss.item() < first / 2
    optimizer.step(nn.mse_loss(net(inputs), targets).backward())
    assert optimizer.learning_rate == 0.1


def test_sgd_is_its_formula():
    x = wick.Var([1.0, -2.0])
    optimizer = nn.SGD([x], lr=0.5, weight_decay=0.1)
    x.sqr().sum().backward()
    optimizer.step()
    np.testing.assert_allclose(x.detach().numpy(), [1 - 0.5 * (2 + 0.1), -2 + 0.5 * (4 + 0.2)], rtol=1e-6)


class Net(nn.Module):
    def __init__(self):
        self.conv = nn.Conv2d(1, 4, 3, padding=1)
        self.norm = nn.BatchNorm(4)
        self.drop = nn.Dropout(0.5)
        self.blocks = nn.ModuleList([nn.Linear(4, 4) for _ in range(2)])

    def forward(self, x):
        x = self.drop(self.norm(self.conv(x)).relu()).mean((2, 3))
        for block in self.blocks:
            x = block(x)
        return x


def test_modules_have_modes_names_and_states(tmp_path):
    net, x = Net(), wick.randn((5, 1, 8, 8))
    names = [name for name, _ in net.named_parameters()]
    assert names == ["conv.weight", "conv.bias", "norm.weight", "norm.bias", "blocks.0.weight", "blocks.0.bias", "blocks.1.weight", "blocks.1.bias"]
    assert set(net.state_dict()) - set(names) == {"norm.running_mean", "norm.running_var"}
    before = net.norm.running_mean.detach().copy()
    net(x)
    assert not (net.norm.running_mean.detach() == before).all()
    net.eval()
    assert (net(x) == net(x)).all() and not net.blocks[0].training
    path = tmp_path / "net.safetensors"
    wick.save_tensors(net.state_dict(), path)
    other = Net().eval()
    other.load_state_dict(wick.load_tensors(path))
    np.testing.assert_array_equal(other(x).detach().numpy(), net(x).detach().numpy())
    with pytest.raises(KeyError, match="missing"):
        other.load_state_dict({})
    with pytest.raises(ValueError):
        other.load_state_dict({name: wick.zeros(1) for name in net.state_dict()})


def test_layers_are_those_of_jax():
    x = RNG.standard_normal((2, 5, 6)).astype(np.float32)
    lstm, gru = nn.LSTM(6, 3), nn.GRU(6, 3)
    out, (h, c) = lstm(wick.tensor(x))
    assert out.shape == (2, 5, 3) and (out[:, -1] == h).all() and c.shape == (2, 3)
    w, u, b = (getattr(lstm, n).detach().numpy() for n in ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0"))
    hidden = cell = np.zeros((2, 3), np.float32)
    for step in range(5):
        gates = x[:, step] @ w.T + b + hidden @ u.T + lstm.bias_hh_l0.detach().numpy()
        i, f, g, o = np.split(gates, 4, -1)
        s = lambda v: 1 / (1 + np.exp(-v))  # noqa: E731
        cell = s(f) * cell + s(i) * np.tanh(g)
        hidden = s(o) * np.tanh(cell)
    np.testing.assert_allclose(h.detach().numpy(), hidden, rtol=1e-4, atol=1e-5)
    assert gru(wick.tensor(x))[0].shape == (2, 5, 3)
    attention = nn.MultiheadAttention(6, 2, 1, causal=True)
    assert attention(wick.tensor(x)).shape == (2, 5, 6)
    embedding = nn.Embedding(10, 4)
    assert embedding(wick.tensor([[1, 2], [3, 4]])).shape == (2, 2, 4)
    conv = nn.Conv2d(3, 4, 3, padding=1, stride=2)
    image = RNG.standard_normal((2, 3, 8, 8)).astype(np.float32)
    expected = jax.lax.conv_general_dilated(jnp.array(image), jnp.array(conv.weight.detach().numpy()), (2, 2), [(1, 1), (1, 1)])
    np.testing.assert_allclose(conv(wick.tensor(image)).detach().numpy(), expected + conv.bias.detach().numpy()[:, None, None], rtol=1e-4, atol=1e-5)


def test_data_loaders():
    x, y = wick.arange(10), wick.arange(10) * 2
    loader = nn.DataLoader(x, y, batch_size=4, shuffle=True, seed=3)
    batches = list(loader)
    assert [b[0].shape[0] for b in batches] == [4, 4, 2] and len(loader) == 3
    seen = wick.cat([b[0] for b in batches])
    assert sorted(seen.tolist()) == list(range(10)) and seen.tolist() != list(range(10))
    assert all((a * 2 == b).all() for a, b in batches)
    assert [b[0].tolist() for b in nn.DataLoader(x, y, batch_size=4, drop_last=True)] == [[0, 1, 2, 3], [4, 5, 6, 7]]
    with pytest.raises(ValueError):
        nn.DataLoader(x, wick.zeros(3))
