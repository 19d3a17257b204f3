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


def attention(q, k, v, scale, causal=False, window=0, softcap=0.0, slopes=None, sinks=None, mask=None):
    """q [batch, heads, tokens, dim], k and v [batch, kv_heads, positions, dim]. The last query sees the last position. Of window w, a query
    at position p sees p - w + 1 ... p. ALiBi adds -slope * (p - position). A sink is one more score, of a position without a value."""
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
    if mask is not None and mask.is_floating_point():
        scores = scores + mask
    elif mask is not None:
        hidden = hidden | (mask == 0)
    scores = scores.masked_fill(hidden, -math.inf)
    if sinks is not None:
        scores = torch.cat([scores, sinks[None, :, None, None].expand(*scores.shape[:3], 1)], -1)
    return torch.softmax(scores, -1)[..., :positions] @ v


def attentions():
    family = Family("attention")
    for name, f in (("rope", rope_half), ("rope_i", rope_interleaved)):
        for k, shape in enumerate(([1, 1, 1, 2], [2, 3, 4, 8], [1, 2, 5, 6], [3, 1, 2, 4], [2, 2, 0, 4])):
            for dtype in ("f32", "f64", ("f16", "bf16")[k % 2]):
                table = [shape[2], shape[3] // 2]
                view = NAMES[k] if 0 not in shape else "plain"
                family.add(f"{dtype}_{shape}", name, [Input(dtype, shape, None, view), Input(dtype, table, grid(-1, 1, dtype)), Input(dtype, table, grid(-1, 1, dtype))],
                           f, {}, grad=[0], second=dtype == "f64", terms=4)
    for dtype in ("f32", "f64"):
        own = [Input(dtype, [2, 5, 3], grid(-1, 1, dtype)), Input(dtype, [2, 5, 3], grid(-1, 1, dtype), "transpose")]

        def each(f):  # a table for each sequence, longer than the sequence
            return lambda x, cos, sin: f(x, cos[:, None, :4], sin[:, None, :4])

        family.add(f"{dtype}_tables", "rope", [Input(dtype, [2, 3, 4, 6])] + own, each(rope_half), {}, grad=[0], terms=4)
        family.add(f"{dtype}_tables", "rope_i", [Input(dtype, [2, 3, 4, 6])] + own, each(rope_interleaved), {}, grad=[0], terms=4)

        def thd(x, cos, sin):
            return rope_half(x.transpose(1, 2), cos[None, None, :4], sin[None, None, :4]).transpose(1, 2)

        family.add(f"{dtype}", "rope_thd", [Input(dtype, [2, 4, 3, 6], None, "transpose")] + [Input(dtype, [5, 3], grid(-1, 1, dtype)) for _ in range(2)],
                   thd, {}, grad=[0], terms=4)
    cases = [([1, 1, 1, 2], [1, 1, 1, 2], {}), ([2, 2, 3, 4], [2, 2, 3, 4], {}), ([2, 2, 3, 4], [2, 2, 3, 4], {"causal": True}), ([1, 4, 3, 4], [1, 2, 5, 4], {"causal": True}),
             ([2, 6, 2, 8], [2, 1, 7, 8], {"causal": True}), ([1, 2, 6, 4], [1, 2, 6, 4], {"causal": True, "window": 3}), ([1, 4, 4, 4], [1, 2, 9, 4], {"causal": True, "window": 4}),
             ([1, 2, 4, 4], [1, 2, 4, 4], {"causal": True, "softcap": 2.0}), ([1, 2, 4, 4], [1, 2, 4, 4], {"softcap": 0.5}), ([1, 4, 4, 4], [1, 2, 6, 4], {"causal": True, "alibi": True}),
             ([1, 4, 4, 4], [1, 4, 4, 4], {"causal": True, "alibi": True, "softcap": 3.0, "window": 2}), ([2, 3, 1, 16], [2, 3, 33, 16], {"causal": True}),
             ([1, 4, 3, 4], [1, 2, 5, 4], {"causal": True, "sinks": True}), ([2, 2, 3, 4], [2, 2, 5, 4], {"sinks": True, "window": 2, "causal": True}),
             ([2, 2, 3, 4], [2, 2, 5, 4], {"mask": "f32"}), ([2, 2, 3, 4], [2, 1, 5, 4], {"mask": "u8"}),
             ([1, 2, 3, 4], [1, 2, 5, 4], {"mask": "f32", "softcap": 2.0, "alibi": True, "sinks": True, "causal": True})]
    for k, (query, key, options) in enumerate(cases):
        scale = 1 / math.sqrt(query[-1])
        options = dict(options)
        alibi = options.pop("alibi", False)
        sinks, mask = options.pop("sinks", False), options.pop("mask", None)
        parameters = {"scale": scale, **options, **({"alibi": True} if alibi else {}), **({"sinks": True} if sinks else {}), **({"mask": True} if mask else {})}
        for dtype in ("f32", "f64", ("f16", "bf16")[k % 2]):
            inputs = [Input(dtype, query, None, NAMES[k % 7]), Input(dtype, key, None, NAMES[(k + 1) % 7]), Input(dtype, key, None, NAMES[(k + 2) % 7])]
            if alibi:
                inputs.append(Input(dtype, [query[1]], ["list", [2.0**-i for i in range(1, query[1] + 1)]]))
            if sinks:
                inputs.append(Input(dtype, [query[1]]))
            if mask:  # the first position is seen by all
                values = ["list", [1, 1, 0, 1, 0, 1]] if mask == "u8" else None
                inputs.append(Input(mask if mask == "u8" else dtype, [query[2], key[2]], values))

            def f(q, k, v, *rest):
                rest = list(rest)
                slopes = rest.pop(0) if alibi else None
                sink = rest.pop(0) if sinks else None
                return attention(q, k, v, scale, slopes=slopes, sinks=sink, mask=rest.pop(0) if mask else None, **options)

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


def lstm(x, wi, wh, bi, bh):
    """Gates in PyTorch's order: input, forget, cell, output."""
    h = c = torch.zeros(x.shape[0], wh.shape[1], dtype=torch.float64)
    states = []
    for t in range(x.shape[1]):
        i, f, g, o = (x[:, t] @ wi.T + bi + h @ wh.T + bh).chunk(4, -1)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        h = torch.sigmoid(o) * torch.tanh(c)
        states.append(h)
    return torch.stack(states, 1)


def gru(x, wi, wh, bi, bh):
    """Gates in PyTorch's order: reset, update, new."""
    h = torch.zeros(x.shape[0], wh.shape[1], dtype=torch.float64)
    states = []
    for t in range(x.shape[1]):
        r, z, n = (x[:, t] @ wi.T + bi).chunk(3, -1)
        hr, hz, hn = (h @ wh.T + bh).chunk(3, -1)
        z = torch.sigmoid(z + hz)
        h = (1 - z) * torch.tanh(n + torch.sigmoid(r + hr) * hn) + z * h
        states.append(h)
    return torch.stack(states, 1)


def recurrent():
    family = Family("recurrent")
    for name, f, module, gates in (("lstm", lstm, torch.nn.LSTM, 4), ("gru", gru, torch.nn.GRU, 3)):
        for batch, length, features, hidden in ((1, 1, 1, 1), (2, 4, 3, 5), (3, 6, 4, 2)):
            for dtype in ("f32", "f64"):
                inputs = [Input(dtype, [batch, length, features], None, "transpose"), Input(dtype, [gates * hidden, features], grid(-1, 1, dtype)),
                          Input(dtype, [gates * hidden, hidden], grid(-1, 1, dtype)), Input(dtype, [gates * hidden], grid(-1, 1, dtype)),
                          Input(dtype, [gates * hidden], grid(-1, 1, dtype))]

                def run(x, *weights):
                    net = module(features, hidden, batch_first=True).double()
                    with torch.no_grad():
                        for own, given in zip(net.parameters(), weights):
                            own.copy_(given)
                    result = f(x, *weights)
                    assert torch.allclose(net(x)[0], result, rtol=0, atol=1e-14)  # the formulas are PyTorch's
                    return result

                family.add(f"{dtype}_{batch}_{length}_{features}_{hidden}", name, inputs, run, {"hidden": hidden}, grad=[0, 1, 2, 3, 4], terms=64)
    return family


def layers():
    family = Family("layer")
    for dtype in ("f32", "f64"):
        x = Input(dtype, [2, 3, 4], None, "transpose")
        w, b = Input(dtype, [5, 4]), Input(dtype, [5])
        family.add(f"{dtype}", "linear_layer", [x, w, b], F.linear, {}, grad=[0, 1, 2], second=dtype == "f64", terms=16)
        family.add(f"{dtype}", "swiglu", [Input(dtype, [2, 3, 6], None, "permute")], lambda t: F.silu(t.chunk(2, -1)[0]) * t.chunk(2, -1)[1], {}, grad=[0],
                   second=dtype == "f64", terms=4)
        for shape in ([2, 3, 4], [5], [2, 3, 2, 2]):
            channels = shape[1] if len(shape) > 1 else 1
            family.add(f"{dtype}_{shape}", "prelu", [Input(dtype, shape, None, "flip"), Input(dtype, [channels], grid(0.1, 0.9, dtype))], F.prelu, {},
                       grad=[0, 1], terms=24)
        family.add(f"{dtype}_one", "prelu", [Input(dtype, [2, 3, 4]), Input(dtype, [1], grid(0.1, 0.9, dtype))], F.prelu, {}, grad=[0, 1], terms=24)
        for factor in (2, 3):
            family.add(f"{dtype}_{factor}", "pixel_shuffle", [Input(dtype, [2, factor * factor * 2, 2, 3], None, "transpose")],
                       lambda t: F.pixel_shuffle(t, factor), {"factor": factor}, grad=[0])
            family.add(f"{dtype}_{factor}", "pixel_unshuffle", [Input(dtype, [2, 2, 2 * factor, factor], None, "offset")],
                       lambda t: F.pixel_unshuffle(t, factor), {"factor": factor}, grad=[0])
        for padding in (0, 1, 3):
            family.add(f"{dtype}_{padding}", "replication_pad2d", [Input(dtype, [1, 2, 3, 2], None, "step")], lambda t: F.pad(t, [padding] * 4, mode="replicate"),
                       {"padding": padding}, grad=[0], terms=24)
        for largest in (0.5, 100.0):
            def clipped(a, b):
                a, b = (t.clone().requires_grad_(True) for t in (a, b))
                (a.square().sum() / 2 + (b * 3).sum()).backward()  # the gradients are a and 3
                torch.nn.utils.clip_grad_norm_([a, b], largest)
                return [a.grad, b.grad]
            family.add(f"{dtype}_{largest}", "clip_by_norm", [Input(dtype, [3]), Input(dtype, [2, 2])], clipped, {"largest": largest}, out=[dtype] * 2, terms=16)
    rates = {
        "constant": (lambda o: torch.optim.lr_scheduler.ConstantLR(o, factor=1.0), {}),
        "step": (lambda o: torch.optim.lr_scheduler.StepLR(o, 3, 0.5), {"every": 3, "factor": 0.5}),
        "exponential": (lambda o: torch.optim.lr_scheduler.ExponentialLR(o, 0.9), {"factor": 0.9}),
        "cosine": (lambda o: torch.optim.lr_scheduler.CosineAnnealingLR(o, 10, 0.01), {"steps": 10, "lowest": 0.01}),
        "one_cycle": (lambda o: torch.optim.lr_scheduler.OneCycleLR(o, 0.5, 10, cycle_momentum=False), {"steps": 10}),
    }
    for name, (make, parameters) in rates.items():
        def run(_):
            optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.5)
            scheduler, found = make(optimizer), []
            for step in range(10):
                found.append(optimizer.param_groups[0]["lr"])
                optimizer.step()
                if step < 9:
                    scheduler.step()
            return torch.tensor(found, dtype=torch.float64)
        family.add(name, "schedule", [Input("f64", [1])], run, {"name": name, "rate": 0.5, "count": 10, **parameters}, terms=64)
    return family
