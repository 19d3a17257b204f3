#!/usr/bin/env python3
"""Writes qwen3.json: a Qwen 3 without a head, as embedding models are published, and its texts' vectors by each kind of pooling.

    venv/bin/pip install torch transformers safetensors numpy
    venv/bin/python tests/data/embeddings/make_goldens.py

Hidden states are transformers', in f32; vectors are made of them as sentence-transformers defines it. Weights as in tests/data/models.
"""
import importlib.util
import json
import pathlib
import sys
import tempfile

import torch
import transformers
from safetensors.numpy import save_file

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "models"))
spec = importlib.util.spec_from_file_location("make_goldens", HERE.parent / "models" / "make_goldens.py")
goldens = importlib.util.module_from_spec(spec)
spec.loader.exec_module(goldens)


def main():
    config = transformers.Qwen3Config(**dict(goldens.SIZES, head_dim=16, tie_word_embeddings=False))
    config._attn_implementation = "eager"
    model = transformers.AutoModel.from_config(config).to(torch.float32).eval()
    shapes = {key: list(value.shape) for key, value in model.state_dict().items()}
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        save_file({key: goldens.weight(key, shape) for key, shape in shapes.items()}, pathlib.Path(folder) / "model.safetensors",
                  metadata={"format": "pt"})
        model = transformers.AutoModel.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager").eval()
        saved = json.loads((pathlib.Path(folder) / "config.json").read_text())
    ids = [(7 * index * index + 3 * index + 5) % goldens.VOCAB for index in range(goldens.TOKENS)]
    with torch.no_grad():
        hidden = model(torch.tensor([ids]), use_cache=False).last_hidden_state[0]
    weights = torch.arange(1, len(ids) + 1, dtype=torch.float32)[:, None]
    vectors = {"mean": hidden.mean(0), "cls": hidden[0], "last": hidden[-1], "max": hidden.max(0).values,
               "mean_sqrt": hidden.sum(0) / len(ids) ** 0.5, "weighted_mean": (hidden * weights).sum(0) / weights.sum()}
    saved["architectures"] = ["Qwen3ForCausalLM"]
    golden = {"made_with": "transformers " + transformers.__version__, "config": saved, "tensors": shapes, "input_ids": ids,
              "vectors": {name: [float(f"{value:.7g}") for value in vector.tolist()] for name, vector in vectors.items()}}
    (HERE / "qwen3.json").write_text(json.dumps(golden, separators=(",", ":")).replace('"vectors"', '\n"vectors"') + "\n")


if __name__ == "__main__":
    main()
