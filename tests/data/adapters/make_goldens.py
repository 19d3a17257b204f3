#!/usr/bin/env python3
"""Writes NAME.json for each adapter below: the model of ../models that it is for, its adapter_config.json as peft saves it, the shapes of
its tensors, and the logits and greedy ids of the model with it.

    python3 -m venv venv && venv/bin/pip install torch transformers peft safetensors numpy
    venv/bin/python tests/data/adapters/make_goldens.py [NAME…]

No weights are stored: weight() of ../models/make_goldens.py gives them. Computed in f32, from weights that peft has merged.
"""
import json
import pathlib
import sys
import tempfile

import peft
import torch
import transformers
from safetensors import safe_open
from safetensors.numpy import save_file

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "models"))
from make_goldens import NEW_TOKENS, weight  # noqa: E402

LLAMA = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
ADAPTERS = {
    "llama-all": ("llama", dict(r=4, lora_alpha=6, target_modules=[*LLAMA, "lm_head"], rank_pattern={"layers.1.mlp.down_proj": 7, "k_proj": 2},
                                alpha_pattern={"v_proj": 3})),
    "llama-queries": ("llama", dict(r=8, lora_alpha=16, target_modules=["q_proj", "k_proj"], layers_to_transform=[0, 2])),
    "qwen2-rslora": ("qwen2", dict(r=3, lora_alpha=2, use_rslora=True, target_modules=LLAMA)),
    "gemma2": ("gemma2", dict(r=4, lora_alpha=4, target_modules=LLAMA)),
    "phi3": ("phi3", dict(r=4, lora_alpha=4, target_modules=["qkv_proj", "o_proj", "gate_up_proj", "down_proj"])),
    "gptneox": ("gptneox", dict(r=4, lora_alpha=4, target_modules=["query_key_value", "dense", "dense_h_to_4h", "dense_4h_to_h"])),
    "gpt2": ("gpt2", dict(r=4, lora_alpha=4, fan_in_fan_out=True, target_modules=["c_attn", "c_proj", "c_fc"])),
}


def make(name):
    base, options = ADAPTERS[name]
    golden = json.loads((HERE.parent / "models" / f"{base}.json").read_text())
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "config.json").write_text(json.dumps(golden["config"]))
        save_file({key: weight(key, shape) for key, shape in golden["tensors"].items()}, folder / "model.safetensors",
                  metadata={"format": "pt"})
        load = lambda: transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager").eval()
        model = peft.get_peft_model(load(), peft.LoraConfig(task_type="CAUSAL_LM", **options))
        model.save_pretrained(folder / "adapter")
        path = folder / "adapter" / "adapter_model.safetensors"
        with safe_open(path, framework="numpy") as stored:
            shapes = {key: list(stored.get_slice(key).get_shape()) for key in stored.keys()}
        # A weight of the model itself, which peft stores beside an adapter of the head, is the model's.
        of = lambda key: key.removeprefix("base_model.model.").replace(".base_layer", "") if ".base_layer" in key else key
        save_file({key: weight(of(key), shape) for key, shape in shapes.items()}, path, metadata={"format": "pt"})
        config = json.loads((folder / "adapter" / "adapter_config.json").read_text())
        config["base_model_name_or_path"] = base
        config["target_modules"].sort()
        model = peft.PeftModel.from_pretrained(load(), folder / "adapter").merge_and_unload().eval()
    ids = golden["input_ids"]
    with torch.no_grad():
        logits = model(torch.tensor([ids]), use_cache=False).logits[0]
        text = list(ids)
        for _ in range(NEW_TOKENS):
            text.append(int(model(torch.tensor([text]), use_cache=False).logits[0, -1].argmax()))
    result = {"made_with": f"peft {peft.__version__}, transformers {transformers.__version__}", "base": base, "adapter_config": config,
              "tensors": shapes, "greedy_ids": text, "logits": [[float(f"{value:.7g}") for value in row] for row in logits.tolist()]}
    (HERE / f"{name}.json").write_text(
        json.dumps(result, separators=(",", ":")).replace('"logits"', '\n"logits"').replace("],[", "],\n[") + "\n")
    print(name, "ok", len(shapes), "tensors")


if __name__ == "__main__":
    for wanted in sys.argv[1:] or ADAPTERS:
        make(wanted)
