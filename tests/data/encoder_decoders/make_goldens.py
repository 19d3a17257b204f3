#!/usr/bin/env python3
"""Writes NAME.json for each encoder–decoder below: its config.json, the shapes of its tensors, and what transformers computes: the logits of a
target, and the tokens that it writes greedily.

    python3 -m venv venv && venv/bin/pip install torch transformers safetensors numpy
    venv/bin/python tests/data/encoder_decoders/make_goldens.py [NAME…]

No weights are stored: tests/data/models/golden_weights.py gives them. Computed in f32.
"""
import json
import pathlib
import sys
import tempfile

import torch
import transformers
from safetensors import safe_open
from safetensors.numpy import save_file

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "models"))
from golden_weights import make_each, weight  # noqa: E402

SOURCE, TARGET, GREEDY, VOCAB = 23, 9, 16, 64
T5 = dict(d_model=32, d_kv=12, d_ff=48, num_layers=3, num_decoder_layers=2, num_heads=4, vocab_size=VOCAB, pad_token_id=0, eos_token_id=1,
          relative_attention_num_buckets=8, relative_attention_max_distance=16, decoder_start_token_id=0)
BART = dict(d_model=32, encoder_layers=2, decoder_layers=3, encoder_attention_heads=4, decoder_attention_heads=2, encoder_ffn_dim=48,
            decoder_ffn_dim=40, vocab_size=VOCAB, max_position_embeddings=48, pad_token_id=1, bos_token_id=0, eos_token_id=2,
            decoder_start_token_id=2)
# The class, its configuration, keys of config.json as it is published, and shapes of tensors that published models have.
HEAD = {"lm_head.weight": [VOCAB, 32]}
MODELS = {
    "t5": ("T5ForConditionalGeneration", dict(T5, feed_forward_proj="relu"), {}, {}),
    "flan-t5": ("T5ForConditionalGeneration", dict(T5, feed_forward_proj="gated-gelu", tie_word_embeddings=False),
                dict(tie_word_embeddings=False, scale_decoder_outputs=None), HEAD),
    "mt5": ("MT5ForConditionalGeneration", dict(T5, feed_forward_proj="gated-gelu"), dict(tie_word_embeddings=False), HEAD),
    "bart": ("BartForConditionalGeneration", dict(BART, forced_bos_token_id=0), dict(forced_bos_token_id=0), {}),
    "mbart": ("MBartForConditionalGeneration", dict(BART, scale_embedding=True, activation_function="relu"), {}, {}),
}


def make(name):
    class_name, sizes, published, more = MODELS[name]
    own = getattr(transformers, class_name)
    config = own.config_class(**sizes)
    model = own(config).to(torch.float32).eval()
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        path = pathlib.Path(folder) / "model.safetensors"
        with safe_open(path, framework="numpy") as stored:
            shapes = {key: list(stored.get_slice(key).get_shape()) for key in stored.keys()} | more
        save_file({key: weight(key, shape) for key, shape in shapes.items()}, path, metadata={"format": "pt"})
        config_path = pathlib.Path(folder) / "config.json"
        saved = json.loads(config_path.read_text())
        for key, value in published.items():
            saved[key] = value
            if value is None:
                del saved[key]
        config_path.write_text(json.dumps(saved))
        model = own.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager").eval()
    if more:
        assert (model.lm_head.weight == torch.from_numpy(weight("lm_head.weight", HEAD["lm_head.weight"]))).all(), "the head is tied"
    source = [3 + (7 * index * index + 3 * index + 5) % (VOCAB - 4) for index in range(SOURCE)]
    begin = [saved["decoder_start_token_id"]] + ([saved["forced_bos_token_id"]] if "forced_bos_token_id" in saved else [])
    target = begin + [3 + (5 * index * index + index + 11) % (VOCAB - 4) for index in range(TARGET - len(begin))]

    def logits_of(ids):
        with torch.no_grad():
            return model(input_ids=torch.tensor([source]), decoder_input_ids=torch.tensor([ids]), use_cache=False).logits[0]

    greedy = list(begin)
    for _ in range(GREEDY):
        greedy.append(int(logits_of(greedy)[-1].argmax()))
    rows = logits_of(target).tolist()
    golden = {"made_with": "transformers " + transformers.__version__, "config": saved, "tensors": shapes, "input_ids": source,
              "target_ids": target, "begin": len(begin), "greedy_ids": greedy[len(begin):],
              "output": [[float(f"{value:.7g}") for value in row] for row in rows]}
    (HERE / f"{name}.json").write_text(json.dumps(golden, separators=(",", ":")).replace('"output"', '\n"output"').replace("],[", "],\n[") + "\n")
    print(name, "ok", len(shapes), "tensors", greedy, sum(abs(value) for row in rows for value in row) / len(rows) / VOCAB)


if __name__ == "__main__":
    make_each(make, [*MODELS])
