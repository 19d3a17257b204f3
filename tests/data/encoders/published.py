"""Encoders that transformers does not include, as their papers and published checkpoints have them, in PyTorch: what make_goldens.py computes.

Each class gives the shapes of a checkpoint's tensors (`shapes`) and the hidden states of one text (`forward`), from a config.json.
"""
import math

import torch
from torch.nn import functional


def layer_norm(x, weights, name, epsilon):
    return functional.layer_norm(x, x.shape[-1:], weights[name + ".weight"], weights[name + ".bias"], epsilon)


def linear(x, weights, name):
    return functional.linear(x, weights[name + ".weight"], weights.get(name + ".bias"))


def attend(query, key, value, heads, bias=0.0):
    """Attention of [tokens, heads · width] in both directions; `bias` is added to the scores [heads, tokens, tokens]."""
    query, key, value = (each.unflatten(-1, (heads, -1)).transpose(0, 1) for each in (query, key, value))
    scores = query @ key.transpose(1, 2) / math.sqrt(query.shape[-1]) + bias
    return (scores.softmax(-1) @ value).transpose(0, 1).flatten(1)


def affine(name, rows, columns):
    return {name + ".weight": [rows, columns], name + ".bias": [rows]}


def norm(name, width):
    return {name + ".weight": [width], name + ".bias": [width]}


class JinaBert:
    """Günther et al. 2023: post-norm blocks; scores get -slope · distance (Press et al. 2022); down(gelu(first half) · second half)."""

    def __init__(self, config):
        self.width, self.inner = config["hidden_size"], config["intermediate_size"]
        self.layers, self.heads = config["num_hidden_layers"], config["num_attention_heads"]
        self.vocabulary, self.types, self.epsilon = config["vocab_size"], config["type_vocab_size"], config["layer_norm_eps"]

    def shapes(self):
        width, inner = self.width, self.inner
        result = {"embeddings.word_embeddings.weight": [self.vocabulary, width],
                  "embeddings.token_type_embeddings.weight": [self.types, width], **norm("embeddings.LayerNorm", width)}
        for layer in range(self.layers):
            at = f"encoder.layer.{layer}."
            for part in ("self.query", "self.key", "self.value", "output.dense"):
                result |= affine(f"{at}attention.{part}", width, width)
            result |= norm(at + "attention.output.LayerNorm", width)
            result |= {at + "mlp.gated_layers.weight": [2 * inner, width], **affine(at + "mlp.wo", width, inner)}
            result |= norm(at + "mlp.layernorm", width)
        return result | affine("pooler.dense", width, width)

    def slopes(self):
        """Powers of 2^(-8 / n) for n heads, a power of two; of the next one's, each other, for those beyond it."""
        whole = 2 ** int(math.log2(self.heads))
        own = [2 ** (-8 * (head + 1) / whole) for head in range(whole)]
        finer = [2 ** (-8 * (head + 1) / (2 * whole)) for head in range(0, 2 * whole, 2)]
        return torch.tensor((own + finer)[:self.heads])

    def forward(self, weights, ids, types):
        places = torch.arange(len(ids), dtype=torch.float32)
        bias = -self.slopes()[:, None, None] * (places[:, None] - places[None, :]).abs()
        x = weights["embeddings.word_embeddings.weight"][ids] + weights["embeddings.token_type_embeddings.weight"][types]
        x = layer_norm(x, weights, "embeddings.LayerNorm", self.epsilon)
        for layer in range(self.layers):
            at = f"encoder.layer.{layer}."
            projected = [linear(x, weights, f"{at}attention.self.{part}") for part in ("query", "key", "value")]
            attended = linear(attend(*projected, self.heads, bias), weights, at + "attention.output.dense")
            x = layer_norm(x + attended, weights, at + "attention.output.LayerNorm", self.epsilon)
            gate, up = linear(x, weights, at + "mlp.gated_layers").chunk(2, -1)
            x = layer_norm(x + linear(functional.gelu(gate) * up, weights, at + "mlp.wo"), weights, at + "mlp.layernorm", self.epsilon)
        return x


def turned(x, heads, base):
    """RoPE of [tokens, heads · width], whose pairs are the halves of each head (Su et al. 2021)."""
    x = x.unflatten(-1, (heads, -1))
    half = x.shape[-1] // 2
    rates = base ** (-torch.arange(half, dtype=torch.float32) / half)
    angles = torch.outer(torch.arange(len(x), dtype=torch.float32), rates)[:, None]
    first, second = x.chunk(2, -1)
    return torch.cat((first * angles.cos() - second * angles.sin(), second * angles.cos() + first * angles.sin()), -1).flatten(1)


class NomicBertMoe:
    """Nussbaum & Duderstadt 2025: post-norm blocks with RoPE; each n-th layer, from the second on, adds the outputs of the experts of the
    largest shares of a softmax, weighted by these, and one bias."""

    def __init__(self, config):
        self.width, self.inner, self.layers, self.heads = (config[key] for key in ("n_embd", "n_inner", "n_layer", "n_head"))
        self.vocabulary, self.types, self.epsilon = config["vocab_size"], config["type_vocab_size"], config["layer_norm_epsilon"]
        self.experts, self.used, self.period = config["num_experts"], config["moe_top_k"], config["moe_every_n_layers"]
        self.base, self.normalizes = config["rotary_emb_base"], config["moe_normalize_expert_weights"]

    def shapes(self):
        width, inner = self.width, self.inner
        result = {"embeddings.word_embeddings.weight": [self.vocabulary, width],
                  "embeddings.token_type_embeddings.weight": [self.types, width], **norm("emb_ln", width)}
        for layer in range(self.layers):
            at = f"encoder.layers.{layer}."
            result |= affine(at + "attn.Wqkv", 3 * width, width) | affine(at + "attn.out_proj", width, width)
            result |= norm(at + "norm1", width) | norm(at + "norm2", width)
            if layer % self.period == 1:
                result |= {at + "mlp.router.layer.weight": [self.experts, width], at + "mlp.experts.bias": [width]}
                result |= {f"{at}mlp.experts.mlp.{name}": [self.experts * inner, width] for name in ("w1", "w2")}
            else:
                result |= affine(at + "mlp.fc1", inner, width) | affine(at + "mlp.fc2", width, inner)
        return result

    def routed(self, x, weights, at):
        shares, chosen = linear(x, weights, at + "router.layer").softmax(-1).topk(self.used)
        if self.normalizes:
            shares = shares / shares.sum(-1, keepdim=True)
        up, down = (weights[f"{at}experts.mlp.{name}"].unflatten(0, (self.experts, self.inner)) for name in ("w1", "w2"))
        rows = [sum(share * functional.gelu(row @ up[expert].T) @ down[expert] for share, expert in zip(*pair))
                for row, pair in zip(x, zip(shares, chosen))]
        return torch.stack(rows) + weights[at + "experts.bias"]

    def forward(self, weights, ids, types):
        x = weights["embeddings.word_embeddings.weight"][ids] + weights["embeddings.token_type_embeddings.weight"][types]
        x = layer_norm(x, weights, "emb_ln", self.epsilon)
        for layer in range(self.layers):
            at = f"encoder.layers.{layer}."
            query, key, value = linear(x, weights, at + "attn.Wqkv").chunk(3, -1)
            attended = attend(turned(query, self.heads, self.base), turned(key, self.heads, self.base), value, self.heads)
            x = layer_norm(x + linear(attended, weights, at + "attn.out_proj"), weights, at + "norm1", self.epsilon)
            if layer % self.period == 1:
                result = self.routed(x, weights, at + "mlp.")
            else:
                result = linear(functional.gelu(linear(x, weights, at + "mlp.fc1")), weights, at + "mlp.fc2")
            x = layer_norm(x + result, weights, at + "norm2", self.epsilon)
        return x
