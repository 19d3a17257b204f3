"""Rotary embedding, attention, losses, recurrent layers and optimizers."""

import math

import torch
import torch.nn.functional as F

from golden import VIEWS, Family, Input, grid

NAMES = ("plain", "transpose", "offset", "narrow", "step", "flip", "mixed")


def rope_half(x, cos, sin):
    """Pairs (i, i + half), as Hugging Face's checkpoints have them. x [batch, heads, tokens, dim], cos and sin [tokens, dim / 2]."""
    a, b = x.chunk(2, -1)
    return torch.cat([a * cos - b * sin, a * sin + b * cos], -1)


def rope_interleaved(x, cos, sin):
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack([a * cos - b * sin, a * sin + b * cos], -1).flatten(-2)


def attention(q, k, v, scale, causal=False, window=0, softcap=0.0, slopes=None):
    """q [batch, heads, tokens, dim], k and v [batch, kv_heads, positions, dim]. The last query sees the last position. Of window w, a query
    at position p sees p - w + 1 ... p. ALiBi adds -slope * (p - position)."""
    groups = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(groups, 1), v.repeat_interleave(groups, 1)
    scores = q @ k.transpose(-1, -2) * scale
    if softcap:
        scores = softcap * torch.tanh(scores / softcap)
    positions = k.shape[2]
    query = torch.arange(q.shape[2])[:, None] + positions - q.shape[2]
    distance = query - torch.arange(positions)[None, :]
    if slopes is not None:
        scores = scores - slopes[None, :, None, None] * distance
    hidden = torch.zeros_like(distance, dtype=torch.bool)
    if causal:
        hidden = hidden | (distance < 0)
    if window:
        hidden = hidden | (distance >= window)
    return torch.softmax(scores.masked_fill(hidden, -math.inf), -1) @ v


def attentions():
    family = Family("attention")
    for name, f in (("rope", rope_half), ("rope_i", rope_interleaved)):
        for k, shape in enumerate(([1, 1, 1, 2], [2, 3, 4, 8], [1, 2, 5, 6], [3, 1, 2, 4], [2, 2, 0, 4])):
            for dtype in ("f32", "f64", ("f16", "bf16")[k % 2]):
                table = [shape[2], shape[3] // 2]
                view = NAMES[k] if 0 not in shape else "plain"
                family.add(f"{dtype}_{shape}", name, [Input(dtype, shape, None, view), Input(dtype, table, grid(-1, 1, dtype)), Input(dtype, table, grid(-1, 1, dtype))],
                           f, {}, grad=[0], second=dtype == "f64", terms=4)
    cases = [([1, 1, 1, 2], [1, 1, 1, 2], {}), ([2, 2, 3, 4], [2, 2, 3, 4], {}), ([2, 2, 3, 4], [2, 2, 3, 4], {"causal": True}), ([1, 4, 3, 4], [1, 2, 5, 4], {"causal": True}),
             ([2, 6, 2, 8], [2, 1, 7, 8], {"causal": True}), ([1, 2, 6, 4], [1, 2, 6, 4], {"causal": True, "window": 3}), ([1, 4, 4, 4], [1, 2, 9, 4], {"causal": True, "window": 4}),
             ([1, 2, 4, 4], [1, 2, 4, 4], {"causal": True, "softcap": 2.0}), ([1, 2, 4, 4], [1, 2, 4, 4], {"softcap": 0.5}), ([1, 4, 4, 4], [1, 2, 6, 4], {"causal": True, "alibi": True}),
             ([1, 4, 4, 4], [1, 4, 4, 4], {"causal": True, "alibi": True, "softcap": 3.0, "window": 2}), ([2, 3, 1, 16], [2, 3, 33, 16], {"causal": True})]
    for k, (query, key, options) in enumerate(cases):
        scale = 1 / math.sqrt(query[-1])
        options = dict(options)
        alibi = options.pop("alibi", False)
        parameters = {"scale": scale, **options, **({"alibi": True} if alibi else {})}
        for dtype in ("f32", "f64", ("f16", "bf16")[k % 2]):
            inputs = [Input(dtype, query, None, NAMES[k % 7]), Input(dtype, key, None, NAMES[(k + 1) % 7]), Input(dtype, key, None, NAMES[(k + 2) % 7])]
            if alibi:
                inputs.append(Input(dtype, [query[1]], ["list", [2.0**-i for i in range(1, query[1] + 1)]]))

            def f(q, k, v, slopes=None):
                return attention(q, k, v, scale, slopes=slopes, **options)

            label = "_".join(parameters)
            family.add(f"{dtype}_{query}_{key}_{label}", "attention", inputs, f, parameters, grad=[0, 1, 2], second=dtype == "f64", terms=32)
    return family


def losses():
    family = Family("loss")
    for k, (rows, classes) in enumerate(((1, 2), (3, 4), (5, 10), (7, 3))):
        for dtype in ("f32", "f64", ("f16", "bf16")[k % 2]):
            for ids in ("u32", "i64")[:2 if dtype == "f32" else 1]:
                x, target = Input(dtype, [rows, classes], None, VIEWS[k]), Input(ids, [rows], ["grid", 0, classes, 0])
                family.add(f"{dtype}_{ids}_{rows}_{classes}", "nll", [x, target], F.nll_loss, {}, grad=[0], second=dtype == "f64", terms=rows)
                family.add(f"{dtype}_{ids}_{rows}_{classes}", "cross_entropy", [x, target], F.cross_entropy, {}, grad=[0], second=dtype == "f64", terms=32)
    for k, shape in enumerate(([4], [3, 4], [2, 3, 4], [1, 1])):
        for dtype in ("f32", "f64", ("f16", "bf16")[k % 2]):
            x = Input(dtype, shape, None, VIEWS[k + 1])
            y = Input(dtype, shape, None, VIEWS[k])
            family.add(f"{dtype}_{shape}", "mse", [x, y], F.mse_loss, {}, grad=[0, 1], second=dtype == "f64", terms=24)
            family.add(f"{dtype}_{shape}", "binary_cross_entropy_with_logits", [x, Input(dtype, shape, grid(0.1, 0.9, dtype), VIEWS[k])],
                       F.binary_cross_entropy_with_logits, {}, grad=[0], second=False, terms=24)
            for delta in (0.75, 1.0):
                family.add(f"{dtype}_{shape}_{delta}", "huber", [x, y], lambda a, b: F.huber_loss(a, b, delta=delta), {"delta": delta}, grad=[0], terms=24)
    return family


def optimizers():
    """Steps of w on sum((X w - y)²) / rows: PyTorch's own optimizers, the weights after every step."""
    family = Family("optimizer")
    kinds = {
        "sgd": (torch.optim.SGD, [{"lr": 0.1}, {"lr": 0.05, "momentum": 0.9}, {"lr": 0.05, "momentum": 0.9, "nesterov": True},
                                  {"lr": 0.05, "momentum": 0.8, "dampening": 0.25}, {"lr": 0.1, "weight_decay": 0.1},
                                  {"lr": 0.05, "momentum": 0.9, "weight_decay": 0.01, "nesterov": True}]),
        "adam": (torch.optim.Adam, [{"lr": 0.1}, {"lr": 0.02, "betas": [0.8, 0.95], "eps": 1e-6}, {"lr": 0.1, "weight_decay": 0.1}]),
        "adamw": (torch.optim.AdamW, [{"lr": 0.1}, {"lr": 0.02, "betas": [0.8, 0.95], "eps": 1e-6, "weight_decay": 0.2}, {"lr": 0.1, "weight_decay": 0.0}]),
    }
    for name, (make, settings) in kinds.items():
        for setting in settings:
            for dtype in ("f32", "f64"):
                for steps in (1, 4):
                    def train(w, x, y):
                        w = w.clone().requires_grad_(True)
                        optimizer = make([w], **setting)
                        for _ in range(steps):
                            optimizer.zero_grad()
                            ((x @ w - y) ** 2).mean().backward()
                            optimizer.step()
                        return w.detach()
                    label = "_".join(f"{k}{v}" for k, v in setting.items())
                    parameters = {**setting, "steps": steps}
                    if name == "adamw":
                        parameters.setdefault("weight_decay", 0.01)
                    family.add(f"{dtype}_{steps}_{label}", name, [Input(dtype, [3, 2]), Input(dtype, [5, 3]), Input(dtype, [5, 2])], train, parameters, terms=64)
    return family


def recurrent():
    """Gates in PyTorch's order: LSTM input, forget, cell, output; GRU reset, update, new."""
    family = Family("recurrent")
    for name, module, gates in (("lstm", torch.nn.LSTM, 4), ("gru", torch.nn.GRU, 3)):
        for batch, length, features, hidden in ((1, 1, 1, 1), (2, 4, 3, 5), (3, 6, 4, 2)):
            for dtype in ("f32", "f64"):
                inputs = [Input(dtype, [batch, length, features], None, "transpose"), Input(dtype, [gates * hidden, features], grid(-1, 1, dtype)),
                          Input(dtype, [gates * hidden, hidden], grid(-1, 1, dtype)), Input(dtype, [gates * hidden], grid(-1, 1, dtype)),
                          Input(dtype, [gates * hidden], grid(-1, 1, dtype))]

                def run(x, wi, wh, bi, bh):
                    net = module(features, hidden, batch_first=True).double()
                    names = ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0")
                    return torch.nn.utils.stateless.functional_call(net, dict(zip(names, (wi, wh, bi, bh))), (x,))[0]

                family.add(f"{dtype}_{batch}_{length}_{features}_{hidden}", name, inputs, run, {"hidden": hidden}, grad=[0, 1, 2, 3, 4], terms=64)
    return family
