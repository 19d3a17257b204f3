#!/usr/bin/env python3
"""Writes NAME.json for each encoder below: its config.json as transformers saves it or as it is published, the shapes of its tensors, and
what it computes. Models that transformers does not include are computed by published.py.

    python3 -m venv venv && venv/bin/pip install torch transformers safetensors numpy
    venv/bin/python tests/data/encoders/make_goldens.py [NAME…]

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
from published import JinaBert, NomicBertMoe  # noqa: E402

TOKENS, VOCAB = 24, 64
CLS, SEP = 61, 62
SIZES = dict(hidden_size=32, intermediate_size=48, num_hidden_layers=3, num_attention_heads=4, vocab_size=VOCAB,
             max_position_embeddings=64, pad_token_id=0)
ROBERTA = dict(SIZES, pad_token_id=1, bos_token_id=0, eos_token_id=2, type_vocab_size=1)
DISTIL = dict(dim=32, hidden_dim=48, n_layers=3, n_heads=4, vocab_size=VOCAB, max_position_embeddings=64, pad_token_id=0)
ELECTRA = dict(SIZES, embedding_size=16)
ALBERT = dict(SIZES, num_hidden_layers=5, num_hidden_groups=2, embedding_size=16)
MODERN = dict(SIZES, global_attn_every_n_layers=3, local_attention=8, bos_token_id=1, eos_token_id=2, cls_token_id=1, sep_token_id=2)
DECODER = dict(SIZES, num_key_value_heads=2, bos_token_id=1, eos_token_id=2)
DEBERTA = dict(SIZES, relative_attention=True, position_buckets=8, max_relative_positions=-1, norm_rel_ebd="layer_norm",
               pos_att_type=["p2c", "c2p"], position_biased_input=False, type_vocab_size=0)
T5 = dict(d_model=32, d_kv=12, d_ff=48, num_layers=3, num_heads=4, vocab_size=VOCAB, relative_attention_num_buckets=8,
          relative_attention_max_distance=16, pad_token_id=0, eos_token_id=1)
GTE = dict(SIZES, pad_token_id=1, type_vocab_size=2)
THREE = dict(id2label={0: "sad", 1: "calm", 2: "glad"}, label2id={"sad": 0, "calm": 1, "glad": 2})
ONE = dict(id2label={0: "score"}, label2id={"score": 0})
# The class, its configuration, and whether the second half of the tokens is a second text.
MODELS = {
    "bert-pair": ("BertModel", SIZES, True),
    "bert-rerank": ("BertForSequenceClassification", dict(SIZES, **ONE), True),
    "bert-classify": ("BertForSequenceClassification", dict(SIZES, **THREE), False),
    "bert-tokens": ("BertForTokenClassification", dict(SIZES, **THREE), False),
    "roberta-classify": ("RobertaForSequenceClassification", dict(ROBERTA, problem_type="multi_label_classification", **THREE), False),
    "roberta-tokens": ("RobertaForTokenClassification", dict(ROBERTA, **THREE), False),
    "distilbert": ("DistilBertModel", DISTIL, False),
    "distilbert-classify": ("DistilBertForSequenceClassification", dict(DISTIL, **THREE), False),
    "electra": ("ElectraModel", ELECTRA, True),
    "electra-classify": ("ElectraForSequenceClassification", dict(ELECTRA, **THREE), False),
    "albert": ("AlbertModel", ALBERT, True),
    "albert-classify": ("AlbertForSequenceClassification", dict(ALBERT, **THREE), True),
    "mpnet": ("MPNetModel", dict(SIZES, pad_token_id=1), False),
    "mpnet-classify": ("MPNetForSequenceClassification", dict(SIZES, pad_token_id=1, **THREE), False),
    "modernbert-mean": ("ModernBertForSequenceClassification", dict(MODERN, classifier_pooling="mean", **THREE), False),
    "modernbert-tokens": ("ModernBertForTokenClassification", dict(MODERN, **THREE), False),
    "deberta-v3": ("DebertaV2Model", dict(DEBERTA, share_att_key=True), False),
    "deberta-v2": ("DebertaV2Model", dict(DEBERTA, position_buckets=-1, max_relative_positions=20, norm_rel_ebd="none"), False),
    "deberta-classify": ("DebertaV2ForSequenceClassification", dict(DEBERTA, share_att_key=True, **THREE), False),
    "gemma-embedding": ("Gemma3TextModel", dict(DECODER, num_hidden_layers=7, head_dim=16, query_pre_attn_scalar=16, sliding_window=14,
                                                use_bidirectional_attention=True), False),
    "t5-encoder": ("T5EncoderModel", dict(T5, feed_forward_proj="relu"), False),
    "mt5-encoder": ("MT5EncoderModel", dict(T5, feed_forward_proj="gated-gelu"), False),
    "qwen3-rerank": ("Qwen3ForSequenceClassification", dict(DECODER, head_dim=16, **ONE), False),
    "llama-classify": ("LlamaForSequenceClassification", dict(DECODER, **THREE), False),
    "qwen3-both-ways": ("Qwen3Model", dict(DECODER, head_dim=16, is_causal=False), False),
    "llama-embed": ("LlamaModel", dict(DECODER, is_causal=False), False),
    "llama-embed-rerank": ("LlamaForSequenceClassification", dict(DECODER, is_causal=False, **ONE), False),
    "gte": ("GteModel", GTE, True),
    "gte-rerank": ("GteForSequenceClassification", dict(GTE, **ONE), True),
    # Scaling by 8 of type "ntk", as frequencies: the base times 8, and all divided by 8^(2 / 8 of a head).
    "gte-new": ("GteModel", dict(GTE, type_vocab_size=1, rope_parameters=dict(rope_type="linear", rope_theta=160000.0, factor=8**0.25)), False),
}
# Keys of config.json as it is published, where that is another one; None: there is no such key.
PUBLISHED = {
    "llama-embed": dict(architectures=["LlamaBidirectionalModel"], model_type="llama_bidirec", pooling="avg", temperature=0.02, is_causal=None),
    "llama-embed-rerank": dict(architectures=["LlamaBidirectionalForSequenceClassification"], model_type="llama_bidirec", pooling="avg",
                               temperature=1.0, is_causal=None),
    "gte-new": dict(architectures=["NewModel"], model_type="new", position_embedding_type="rope", layer_norm_type="layer_norm", pack_qkv=True,
                    logn_attention_scale=False, logn_attention_clip1=False, unpad_inputs=False, use_memory_efficient_attention=False,
                    rope_theta=20000, rope_scaling=dict(type="ntk", factor=8.0), rope_parameters=None),
}
# Models of published.py, with a config.json as published.
OWN = {
    "jina-bert-v2": (JinaBert, dict(
        architectures=["JinaBertForMaskedLM"], model_type="bert", hidden_size=48, intermediate_size=40, num_hidden_layers=3,
        num_attention_heads=6, vocab_size=VOCAB, type_vocab_size=2, max_position_embeddings=64, layer_norm_eps=1e-12, pad_token_id=0,
        position_embedding_type="alibi", feed_forward_type="geglu", hidden_act="gelu", emb_pooler="mean", attn_implementation="torch"), True),
    "nomic-bert-moe": (NomicBertMoe, dict(
        architectures=["NomicBertModel"], model_type="nomic_bert", activation_function="gelu", n_embd=32, n_inner=48, n_layer=4, n_head=4,
        n_positions=64, vocab_size=VOCAB, type_vocab_size=1, layer_norm_epsilon=1e-5, rotary_emb_base=10000.0, rotary_emb_fraction=1.0,
        rotary_emb_interleaved=False, rotary_emb_scale_base=None, rotary_scaling_factor=None, max_trained_positions=2048, causal=False,
        prenorm=False, parallel_block=False, use_rms_norm=None, qkv_proj_bias=True, mlp_fc1_bias=True, mlp_fc2_bias=True,
        moe_every_n_layers=2, num_experts=8, moe_top_k=2, moe_normalize_expert_weights=False, num_shared_experts=0,
        expert_choice_router=False, ffn_div=1, moe_impl="megablocks", pad_token_id=1), False),
}


def renamed(name):
    """Of what a tensor's weights are: norms are around 1, whatever they are called."""
    return name.replace("LayerNorm", "norm").replace("_ln.", "_norm.")


def text_of(is_pair):
    """Tokens as a tokenizer with BERT's post-processor makes them, CLS text SEP, or CLS text SEP text SEP, and where the second text begins."""
    ids = [3 + (7 * index * index + 3 * index + 5) % (CLS - 3) for index in range(TOKENS)]
    second = TOKENS // 2 if is_pair else 0
    ids[0], ids[second - 1], ids[-1] = CLS, SEP, SEP
    return ids, second


def write(name, made_with, config, shapes, ids, second, rows):
    golden = {"made_with": made_with, "config": config, "tensors": shapes, "input_ids": ids, "second": second,
              "output": [[float(f"{value:.7g}") for value in row] for row in rows]}
    (HERE / f"{name}.json").write_text(json.dumps(golden, separators=(",", ":")).replace('"output"', '\n"output"').replace("],[", "],\n[") + "\n")
    mean = sum(abs(value) for row in rows for value in row) / len(rows) / len(rows[0])
    print(name, "ok", len(shapes), "tensors", len(rows), "rows", mean)


def make_own(name):
    kind, config, is_pair = OWN[name]
    model = kind(config)
    shapes = model.shapes()
    weights = {key: torch.from_numpy(weight(renamed(key), shape)) for key, shape in shapes.items()}
    ids, second = text_of(is_pair)
    types = [int(second > 0 and index >= second) for index in range(TOKENS)]
    rows = model.forward(weights, torch.tensor(ids), torch.tensor(types)).tolist()
    write(name, "torch " + torch.__version__, config, shapes, ids, second, rows)


def make(name):
    if name in OWN:
        return make_own(name)
    class_name, sizes, is_pair = MODELS[name]
    own = getattr(transformers, class_name)
    config = own.config_class(**sizes)
    config._attn_implementation = "eager"
    model = own(config).to(torch.float32).eval()
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        path = pathlib.Path(folder) / "model.safetensors"
        with safe_open(path, framework="numpy") as stored:
            shapes = {key: list(stored.get_slice(key).get_shape()) for key in stored.keys()}
        save_file({key: weight(renamed(key), shape) for key, shape in shapes.items()}, path, metadata={"format": "pt"})
        model = own.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager").eval()
        saved = json.loads((pathlib.Path(folder) / "config.json").read_text())
    for key, value in PUBLISHED.get(name, {}).items():
        saved[key] = value
        if value is None:
            del saved[key]
    ids, second = text_of(is_pair)
    inputs = dict(input_ids=torch.tensor([ids]))
    if is_pair:
        inputs["token_type_ids"] = torch.tensor([[int(index >= second) for index in range(TOKENS)]])
    with torch.no_grad():
        result = model(**inputs)
    values = result.logits if "Classification" in class_name else result.last_hidden_state
    if name == "llama-embed-rerank":  # the score of the mean
        with torch.no_grad():
            values = model.score(model.model(**inputs).last_hidden_state.mean(1))
    rows = values[0].tolist() if values.dim() == 3 else values.tolist()
    write(name, "transformers " + transformers.__version__, saved, shapes, ids, second, rows)


if __name__ == "__main__":
    make_each(make, [*MODELS, *OWN])
