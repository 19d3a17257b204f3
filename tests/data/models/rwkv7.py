"""RWKV 7 by its definition (Peng et al. 2025, https://arxiv.org/abs/2503.14456), position by position, in f64: transformers has no such model.

The configuration and the tensors are those of folders of flash-linear-attention."""
import numpy

VOCAB = 64


def rwkv7_config():
    return dict(architectures=["RWKV7ForCausalLM"], model_type="rwkv7", attn=None, attn_mode="chunk", hidden_size=128, hidden_ratio=4.0,
                intermediate_size=160, num_hidden_layers=3, head_dim=64, num_heads=2, decay_low_rank_dim=8, gate_low_rank_dim=12,
                a_low_rank_dim=6, v_low_rank_dim=4, hidden_act="sqrelu", max_position_embeddings=2048, norm_first=True, norm_bias=True,
                norm_eps=1e-5, vocab_size=VOCAB, tie_word_embeddings=False, bos_token_id=1, eos_token_id=2, fuse_norm=True, use_cache=True,
                value_dim=[128, 128, 128], torch_dtype="float32")


def rwkv7_shapes(config):
    hidden, width, head = config["hidden_size"], config["intermediate_size"], config["head_dim"]
    shapes = {"model.embeddings.weight": [VOCAB, hidden], "lm_head.weight": [VOCAB, hidden]}

    def norm(name):
        shapes[name + ".weight"] = shapes[name + ".bias"] = [hidden]

    norm("model.norm")
    norm("model.layers.0.pre_norm")
    for layer in range(config["num_hidden_layers"]):
        prefix = f"model.layers.{layer}."
        for name in ("attn_norm", "ffn_norm", "attn.g_norm"):
            norm(prefix + name)
        for name in ("x_r", "x_w", "x_k", "x_v", "x_a", "x_g"):
            shapes[f"{prefix}attn.{name}"] = [1, 1, hidden]
        shapes |= {f"{prefix}attn.{name}": [hidden] for name in ("k_k", "k_a")}
        shapes[prefix + "attn.r_k"] = [hidden // head, head]
        shapes |= {f"{prefix}attn.{name}_proj.weight": [hidden, hidden] for name in "rkvo"}
        for name, rank in (("w", "decay_low_rank_dim"), ("a", "a_low_rank_dim"), ("v", "v_low_rank_dim"), ("g", "gate_low_rank_dim")):
            if name == "v" and layer == 0:
                continue
            shapes[f"{prefix}attn.{name}_lora.lora.0.weight"] = [config[rank], hidden]
            shapes[f"{prefix}attn.{name}_lora.lora.2.weight"] = [hidden, config[rank]]
            if name != "g":
                shapes[f"{prefix}attn.{name}_lora.lora.2.bias"] = [hidden]
        shapes[prefix + "ffn.x_k"] = [hidden]
        shapes[prefix + "ffn.key.weight"] = [width, hidden]
        shapes[prefix + "ffn.value.weight"] = [hidden, width]
    return shapes


def sigmoid(x):
    return 1 / (1 + numpy.exp(-x))


def rwkv7_logits(config, weights, ids):
    weights = {name: values.astype(numpy.float64) for name, values in weights.items()}
    hidden, size = config["hidden_size"], config["head_dim"]
    heads = hidden // size

    def norm(x, name, epsilon=config["norm_eps"]):
        centered = x - x.mean(-1, keepdims=True)
        scaled = centered / numpy.sqrt((centered**2).mean(-1, keepdims=True) + epsilon)
        shape = x.shape[1:]
        return scaled * weights[name + ".weight"].reshape(shape) + weights[name + ".bias"].reshape(shape)

    def shifted(x):
        return numpy.concatenate([numpy.zeros_like(x[:1]), x[:-1]])

    def narrow(x, name, activation):
        return activation(x @ weights[name + ".lora.0.weight"].T) @ weights[name + ".lora.2.weight"].T + weights.get(name + ".lora.2.bias", 0)

    x = norm(weights["model.embeddings.weight"][ids], "model.layers.0.pre_norm")
    first_values = None
    for layer in range(config["num_hidden_layers"]):
        own = f"model.layers.{layer}.attn."
        normed = norm(x, f"model.layers.{layer}.attn_norm")
        change = shifted(normed) - normed
        read, decay, key, value, rate, gate = (normed + change * weights[f"{own}x_{name}"].reshape(hidden) for name in "rwkvag")
        r, k, v = read @ weights[own + "r_proj.weight"].T, key @ weights[own + "k_proj.weight"].T, value @ weights[own + "v_proj.weight"].T
        w = numpy.exp(-numpy.exp(-0.5) * sigmoid(narrow(decay, own + "w_lora", numpy.tanh)))
        if layer == 0:
            first_values = v
        else:
            v = v + (first_values - v) * sigmoid(narrow(value, own + "v_lora", lambda y: y))
        a = sigmoid(narrow(rate, own + "a_lora", lambda y: y))
        g = narrow(gate, own + "g_lora", sigmoid)
        direction = (k * weights[own + "k_k"]).reshape(-1, heads, size)
        direction = direction / numpy.maximum(numpy.linalg.norm(direction, axis=-1, keepdims=True), 1e-12)
        k = k * (1 + (a - 1) * weights[own + "k_a"])
        r, w, k, v, a = (y.reshape(-1, heads, size) for y in (r, w, k, v, a))
        state = numpy.zeros((heads, size, size))  # of values by keys
        rows = []
        for t in range(len(ids)):
            taken = numpy.einsum("hvk,hk->hv", state, -direction[t])
            state = state * w[t][:, None, :] + taken[:, :, None] * (direction[t] * a[t])[:, None, :] + v[t][:, :, None] * k[t][:, None, :]
            rows.append(numpy.einsum("hvk,hk->hv", state, r[t]))
        y = numpy.stack(rows)
        centered = y - y.mean(-1, keepdims=True)
        y = centered / numpy.sqrt((centered**2).mean(-1, keepdims=True) + size * config["norm_eps"])
        y = y * weights[own + "g_norm.weight"].reshape(heads, size) + weights[own + "g_norm.bias"].reshape(heads, size)
        y = y + (r * k * weights[own + "r_k"]).sum(-1, keepdims=True) * v
        x = x + (y.reshape(-1, hidden) * g) @ weights[own + "o_proj.weight"].T
        own = f"model.layers.{layer}.ffn."
        normed = norm(x, f"model.layers.{layer}.ffn_norm")
        moved = normed + (shifted(normed) - normed) * weights[own + "x_k"].reshape(hidden)
        x = x + numpy.maximum(moved @ weights[own + "key.weight"].T, 0) ** 2 @ weights[own + "value.weight"].T
    return norm(x, "model.norm") @ weights["lm_head.weight"].T
