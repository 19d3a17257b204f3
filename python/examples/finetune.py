"""Fine-tunes a language model of Llama's architecture on a text by low-rank adapters (LoRA), and writes with and without them.

    python python/examples/finetune.py MODEL.gguf TEXT [FOLDER] [STEPS]

FOLDER (adapter) is in PEFT's form: wick serve --model MODEL.gguf --lora mine=FOLDER
"""
from __future__ import annotations

import json
import math
import pathlib
import sys
from typing import Any

import wick
import wick.nn.functional as F
from wick import Tensor, nn, optim

RANK, ALPHA, TOKENS, BATCH = 8, 16, 64, 4
# Modules with adapters, by their names in a GGUF file and in PEFT's.
ADAPTED = {"attn_v": "self_attn.v_proj", "attn_output": "self_attn.o_proj", "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj",
           "ffn_down": "mlp.down_proj"}


class LoraLinear(nn.Module):
    """x · Wᵀ + scale · x · Aᵀ · Bᵀ: W stays, A and B are trained. B begins as 0."""

    def __init__(self, weight: Tensor) -> None:
        self.weight = weight.to(dtype="f32")
        self.a = wick.Var(wick.randn((RANK, weight.shape[1])) * (1 / math.sqrt(weight.shape[1])))
        self.b = wick.Var(wick.zeros((weight.shape[0], RANK)))

    def forward(self, x: Tensor) -> Tensor:
        made: Tensor = F.linear(x, self.weight) + F.linear(F.linear(x, self.a), self.b) * (ALPHA / RANK)
        return made


class Layer(nn.Module):
    def __init__(self, tensors: dict[str, Tensor], index: int, heads: int, kv_heads: int) -> None:
        self.adapted = nn.ModuleDict({name: LoraLinear(tensors[f"blk.{index}.{name}.weight"]) for name in ADAPTED})
        self.attn_norm, self.ffn_norm = tensors[f"blk.{index}.attn_norm.weight"], tensors[f"blk.{index}.ffn_norm.weight"]

        def turned(name: str, count: int) -> Tensor:
            # GGUF's pairs of a rotation are neighbours; nn.rope's are half a head apart.
            weight = tensors[f"blk.{index}.{name}.weight"].to(dtype="f32")
            return weight.reshape(count, -1, 2, weight.shape[1]).transpose(1, 2).reshape(weight.shape)

        self.attn_q, self.attn_k = turned("attn_q", heads), turned("attn_k", kv_heads)


class Llama(nn.Module):
    def __init__(self, path: str) -> None:
        tensors, facts = wick.load_gguf(path)
        if facts["general.architecture"] != "llama":
            raise SystemExit(f"{path}: the architecture is {facts['general.architecture']}; this example knows llama")
        self.heads, self.kv_heads = facts["llama.attention.head_count"], facts["llama.attention.head_count_kv"]
        self.epsilon, self.context = facts["llama.attention.layer_norm_rms_epsilon"], facts["llama.context_length"]
        self.layers = [Layer(tensors, index, self.heads, self.kv_heads) for index in range(facts["llama.block_count"])]
        self.trained = nn.ModuleList(self.layers)
        self.embedding = tensors["token_embd.weight"].to(dtype="f32")
        self.head = tensors.get("output.weight", self.embedding).to(dtype="f32")
        self.norm = tensors["output_norm.weight"]
        size = facts["llama.embedding_length"] // self.heads
        rates = facts["llama.rope.freq_base"] ** (wick.arange(0, size, 2, dtype="f32") * (-1 / size))
        angles = wick.arange(self.context, dtype="f32").unsqueeze(1) * rates
        self.cosines, self.sines = angles.cos(), angles.sin()

    def normalized(self, x: Tensor, weight: Tensor) -> Tensor:
        return F.rms_norm(x, x.shape[-1], weight, self.epsilon)

    def forward(self, ids: Tensor) -> Tensor:
        """Logits [batch, tokens, vocabulary] of ids [batch, tokens]."""
        batch, tokens = ids.shape
        cosines, sines = self.cosines.narrow(0, 0, tokens), self.sines.narrow(0, 0, tokens)

        def heads_of(x: Tensor, count: int) -> Tensor:
            return x.reshape(batch, tokens, count, -1).transpose(1, 2).contiguous()

        x = self.embedding.embedding(ids)
        for layer in self.layers:
            y = self.normalized(x, layer.attn_norm)
            q = nn.rope(heads_of(F.linear(y, layer.attn_q), self.heads), cosines, sines)
            k = nn.rope(heads_of(F.linear(y, layer.attn_k), self.kv_heads), cosines, sines)
            v = heads_of(layer.adapted["attn_v"](y), self.kv_heads)
            y = F.scaled_dot_product_attention(q, k, v, causal=True).transpose(1, 2).reshape(batch, tokens, -1)
            x = x + layer.adapted["attn_output"](y)
            y = self.normalized(x, layer.ffn_norm)
            x = x + layer.adapted["ffn_down"](F.silu(layer.adapted["ffn_gate"](y)) * layer.adapted["ffn_up"](y))
        return F.linear(self.normalized(x, self.norm), self.head)

    def save_adapter(self, folder: pathlib.Path) -> None:
        """In PEFT's form."""
        tensors: dict[str, Tensor] = {}
        for index, layer in enumerate(self.layers):
            for name, theirs in ADAPTED.items():
                module = f"base_model.model.model.layers.{index}.{theirs}"
                tensors |= {f"{module}.lora_{part.upper()}.weight": value for part, value in layer.adapted[name].state_dict().items() if part in "ab"}
        folder.mkdir(parents=True, exist_ok=True)
        wick.save_tensors(tensors, folder / "adapter_model.safetensors")
        config: dict[str, Any] = {"peft_type": "LORA", "r": RANK, "lora_alpha": ALPHA, "bias": "none", "task_type": "CAUSAL_LM",
                                  "target_modules": sorted({name.split(".")[1] for name in ADAPTED.values()})}
        (folder / "adapter_config.json").write_text(json.dumps(config, indent=1))


def main() -> None:
    if len(sys.argv) < 3:
        raise SystemExit(__doc__)
    path, text = sys.argv[1], pathlib.Path(sys.argv[2]).read_text()
    folder, steps = pathlib.Path(sys.argv[3] if len(sys.argv) > 3 else "adapter"), int(sys.argv[4]) if len(sys.argv) > 4 else 60
    wick.manual_seed(1)
    tokens = wick.tensor(wick.Tokenizer.load(path).encode(text), "i64")
    if len(tokens) <= TOKENS:
        raise SystemExit(f"{sys.argv[2]}: {len(tokens)} tokens; a text of more than {TOKENS} is needed")
    model = Llama(path)
    optimizer = optim.AdamW(model.parameters(), lr=1e-3)
    schedule = optim.lr_scheduler.OneCycleLR(optimizer, max_lr=2e-3, total_steps=steps + 1)
    print(f"{sum(x.numel() for x in model.parameters()):,} numbers are trained on {len(tokens):,} tokens")
    for step in range(steps):
        starts = wick.randint(0, len(tokens) - TOKENS, size=(BATCH,)).tolist()
        batch = wick.stack([tokens.narrow(0, start, TOKENS + 1) for start in starts])
        inputs, targets = batch.narrow(1, 0, TOKENS).contiguous(), batch.narrow(1, 1, TOKENS).contiguous()
        loss = F.cross_entropy(model(inputs).reshape(BATCH * TOKENS, -1), targets.reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        if step % 10 == 0 or step == steps - 1:
            print(f"step {step:3}  loss {loss.item():.3f}")
    model.save_adapter(folder)
    with wick.load(path) as base:
        base.add_adapter("mine", folder)
        prompt = text[:60].rsplit(" ", 1)[0]
        for title, adapters in (("without", {}), ("with the adapter", {"mine": 1.0})):
            print(f"{title}: {prompt}{base.generate(prompt, max_tokens=30, temperature=0, adapters=adapters).text!r}")


main()
