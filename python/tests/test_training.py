"""What trainings of large nets need: activation checkpointing, weights in f32 beside variables in bf16, gradients of several batches."""
import numpy as np
import pytest

import wick
from wick import nn, optim

RNG = np.random.default_rng(11)


class Block(nn.Module):
    def __init__(self):
        self.up, self.down, self.dropout = nn.Linear(8, 16), nn.Linear(16, 8), nn.Dropout(0.3)

    def forward(self, x):
        return x + self.down(self.dropout(self.up(x).gelu()))


def gradients(net, x, forward):
    """Of the net's variables and of x, and what is drawn afterwards."""
    wick.manual_seed(7)
    for variable in (x, *net.parameters()):
        variable.grad = None
    y = x * 2
    for layer in net:
        y = forward(layer, y)
    (y.sqr().sum() + x.sum()).backward()
    return [variable.grad.numpy().copy() for variable in (x, *net.parameters())], wick.rand(3).tolist()


def test_checkpoint_has_the_gradients_of_the_function_and_draws_the_same():
    net, x = nn.Sequential(Block(), Block(), nn.Linear(8, 1)), wick.Var(wick.randn((4, 8)))
    expected, drawn = gradients(net, x, lambda layer, y: layer(y))
    found, drawn_again = gradients(net, x, nn.checkpoint)
    for a, b in zip(expected, found):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
    assert drawn == drawn_again


def test_checkpoint_takes_arguments_that_are_no_tensors_and_finds_the_variables_of_a_function():
    x, w = wick.Var([2.0]), wick.Var([3.0])
    nn.checkpoint(lambda x, n: x * w * n, x, 5).backward()
    assert (x.grad.item(), w.grad.item()) == (15, 10)
    with wick.no_grad():
        assert nn.checkpoint(lambda x: x * 2, x).item() == 4


def test_checkpoint_runs_the_function_once_more_in_backward():
    runs = []
    y = nn.checkpoint(lambda x: (runs.append(1), x.exp())[1], wick.Var([1.0]))
    assert len(runs) == 1
    y.backward()
    assert len(runs) == 2


def test_checkpoint_refuses_what_it_cannot_do():
    x = wick.Var([2.0])
    with pytest.raises(TypeError, match="one tensor"):
        nn.checkpoint(lambda x: (x, x), x)
    with pytest.raises(NotImplementedError, match="gradients of gradients"):
        nn.checkpoint(lambda x: x.sqr(), x).backward(create_graph=True)

    def fails_again(x, runs=[]):  # noqa: B006: counts its runs
        runs.append(1)
        if len(runs) == 2:
            raise RuntimeError("in backward")
        return x * 2

    y = nn.checkpoint(fails_again, x)
    with pytest.raises(RuntimeError, match="in backward"):
        y.backward()


@pytest.mark.parametrize("dtype", ["bf16", "f16"])
def test_master_weights_move_by_steps_that_the_variable_cannot_hold(dtype):
    start = RNG.standard_normal((3, 4)).astype(np.float32)
    kept, lost = (wick.Var(wick.from_numpy(start).to(dtype)) for _ in range(2))
    master = kept.detach().to("f32").numpy().copy()
    optimizers = optim.SGD([kept], lr=1e-5, master_weights=True), optim.SGD([lost], lr=1e-5)
    for _ in range(1000):
        for variable, optimizer in zip((kept, lost), optimizers):
            variable.grad = wick.ones((3, 4), dtype)
            optimizer.step()
        master -= np.float32(1e-5)
    np.testing.assert_array_equal(kept.detach().numpy() if dtype == "f16" else kept.detach().to("f32").numpy(),
                                  wick.from_numpy(master).to(dtype).to("f32").numpy())
    assert kept.detach().to("f32").tolist() != lost.detach().to("f32").tolist()


def test_master_weights_are_saved_and_follow_a_variable_that_is_set():
    variable = wick.Var(wick.ones(2, "bf16"))
    optimizer = optim.AdamW([variable], lr=1e-4, master_weights=True)
    variable.grad = wick.ones(2, "bf16")
    optimizer.step()
    again = optim.AdamW([variable], lr=1)
    again.load_state_dict(optimizer.state_dict())
    assert again.state[0]["master"].tolist() == optimizer.state[0]["master"].tolist() and again.state[0]["exp_avg"].dtype == wick.f32
    variable.set(wick.full(2, 5.0, "bf16"))
    optimizer.step()
    assert optimizer.state[0]["master"].min().item() > 4.9


def test_gradients_of_parts_of_a_batch_add_up_to_those_of_the_batch():
    net = nn.Linear(3, 2)
    x, y = (wick.from_numpy(RNG.standard_normal(shape).astype(np.float32)) for shape in ((8, 3), (8, 2)))
    nn.mse_loss(net(x), y).backward()
    whole = net.weight.grad.numpy().copy()
    net.weight.grad = None
    for part in range(4):
        rows = slice(2 * part, 2 * part + 2)
        (nn.mse_loss(net(x[rows]), y[rows]) / 4).backward()
    np.testing.assert_allclose(net.weight.grad.numpy(), whole, rtol=1e-5)
