#!/usr/bin/env python3
"""Writes NAME.json for each model below: its config.json as transformers saves it, the shapes of its tensors, logits and greedy ids.

    python3 -m venv venv && venv/bin/pip install torch transformers safetensors numpy
    venv/bin/python tests/data/models/make_goldens.py [NAME…]

No weights are stored: weight(name, shape) below gives them, and tests/model/golden_models.h the same ones. Computed in f32.
"""
import json
import pathlib
import sys
import tempfile

import numpy
import torch
import transformers
from golden_weights import make_each, weight
from rwkv7 import rwkv7_config, rwkv7_logits, rwkv7_shapes
from safetensors import safe_open
from safetensors.numpy import save_file

HERE = pathlib.Path(__file__).parent
TOKENS, NEW_TOKENS, VOCAB = 20, 12, 64


SIZES = dict(hidden_size=32, intermediate_size=48, num_hidden_layers=3, num_attention_heads=4, num_key_value_heads=2, vocab_size=VOCAB,
             max_position_embeddings=128, bos_token_id=1, eos_token_id=2, pad_token_id=0)
EVERY_HEAD = dict(SIZES, num_key_value_heads=4)
MAMBA = dict(hidden_size=32, num_hidden_layers=3, vocab_size=VOCAB, bos_token_id=1, eos_token_id=2, pad_token_id=0)
FALCON = {key: value for key, value in SIZES.items() if key not in ("num_key_value_heads", "intermediate_size")}
DELTA_RULE = dict(head_dim=16, linear_num_key_heads=2, linear_num_value_heads=6, linear_key_head_dim=8, linear_value_head_dim=8)
DELTA_EXPERTS = dict(num_experts=6, num_experts_per_tok=2, moe_intermediate_size=24, shared_expert_intermediate_size=20)
INDEXED = dict(q_lora_rank=24, kv_lora_rank=16, qk_nope_head_dim=8, qk_rope_head_dim=4, v_head_dim=12, moe_intermediate_size=24,
               index_n_heads=2, index_head_dim=64, index_topk=128, max_position_embeddings=256, rms_norm_eps=0.001)
MODELS = {
    "llama": ("LlamaConfig", dict(SIZES, head_dim=12, attention_bias=True, mlp_bias=True)),
    "llama-linear": ("LlamaConfig", dict(SIZES, rope_parameters={"rope_type": "linear", "factor": 4.0, "rope_theta": 10000.0})),
    "llama-yarn": ("LlamaConfig", dict(SIZES, rope_parameters={"rope_type": "yarn", "factor": 4.0, "rope_theta": 10000.0,
                                                               "original_max_position_embeddings": 32})),
    "llama-dynamic": ("LlamaConfig", dict(SIZES, rope_parameters={"rope_type": "dynamic", "factor": 2.0, "rope_theta": 10000.0})),
    "mistral": ("MistralConfig", dict(SIZES, head_dim=16, sliding_window=5)),
    "qwen2": ("Qwen2Config", dict(SIZES, use_sliding_window=True, sliding_window=6, max_window_layers=1)),
    "qwen3": ("Qwen3Config", dict(SIZES, head_dim=16, tie_word_embeddings=True)),
    "gemma": ("GemmaConfig", dict(SIZES, head_dim=16)),
    "gemma2": ("Gemma2Config", dict(SIZES, head_dim=16, query_pre_attn_scalar=20, sliding_window=7)),
    "gemma3": ("Gemma3TextConfig", dict(SIZES, num_hidden_layers=7, head_dim=16, query_pre_attn_scalar=16, sliding_window=7)),
    "phi2": ("PhiConfig", EVERY_HEAD),
    "phi3": ("Phi3Config", dict(SIZES, sliding_window=9)),
    "phi3-longrope": ("Phi3Config", dict(SIZES, original_max_position_embeddings=64, rope_parameters={
        "rope_type": "longrope", "rope_theta": 10000.0, "short_factor": [1.0, 1.1, 1.2, 1.3], "long_factor": [1.5, 2.0, 4.0, 8.0]})),
    "phi3-longrope-long": ("Phi3Config", dict(SIZES, original_max_position_embeddings=8, rope_parameters={
        "rope_type": "longrope", "rope_theta": 10000.0, "short_factor": [1.0, 1.1, 1.2, 1.3], "long_factor": [1.5, 2.0, 4.0, 8.0]})),
    "gpt2": ("GPT2Config", dict(n_embd=32, n_layer=3, n_head=4, n_positions=128, vocab_size=VOCAB, bos_token_id=1, eos_token_id=2)),
    "starcoder2": ("Starcoder2Config", dict(SIZES, sliding_window=8)),
    "stablelm": ("StableLmConfig", dict(SIZES, use_qkv_bias=True)),
    "stablelm-parallel": ("StableLmConfig", dict(SIZES, use_parallel_residual=True)),
    "olmo2": ("Olmo2Config", SIZES),
    "olmo3": ("Olmo3Config", dict(SIZES, num_hidden_layers=5, sliding_window=6, rope_parameters={
        "full_attention": {"rope_type": "yarn", "factor": 4.0, "rope_theta": 10000.0, "original_max_position_embeddings": 32},
        "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0}})),
    "exaone4": ("Exaone4Config", dict(SIZES, head_dim=16, sliding_window=None, sliding_window_pattern=4,
                                      layer_types=["full_attention"] * 3)),
    "exaone4-hybrid": ("Exaone4Config", dict(SIZES, num_hidden_layers=5, head_dim=16, sliding_window=6, sliding_window_pattern=4)),
    "gptneox": ("GPTNeoXConfig", EVERY_HEAD),
    "gptneox-sequential": ("GPTNeoXConfig", dict(EVERY_HEAD, use_parallel_residual=False)),
    "smollm3": ("SmolLM3Config", dict(SIZES, num_hidden_layers=5)),
    "granite": ("GraniteConfig", dict(SIZES, embedding_multiplier=6.0, residual_multiplier=0.22, attention_multiplier=0.3, logits_scaling=2.0)),
    "command-r": ("CohereConfig", dict(SIZES, logit_scale=0.25)),
    "cohere2": ("Cohere2Config", dict(SIZES, num_hidden_layers=5, sliding_window=6, logit_scale=0.25)),
    "glm4": ("Glm4Config", dict(SIZES, head_dim=8, attention_bias=True)),
    "ernie4_5": ("Ernie4_5Config", dict(SIZES, head_dim=16)),
    "seed_oss": ("SeedOssConfig", dict(SIZES, head_dim=16)),
    "arcee": ("ArceeConfig", SIZES),
    "nemotron": ("NemotronConfig", dict(SIZES, head_dim=16)),
    "mixtral": ("MixtralConfig", dict(SIZES, num_local_experts=5, num_experts_per_tok=2)),
    "qwen2moe": ("Qwen2MoeConfig", dict(SIZES, num_experts=6, num_experts_per_tok=3, moe_intermediate_size=24,
                                        shared_expert_intermediate_size=40)),
    "qwen3moe": ("Qwen3MoeConfig", dict(SIZES, head_dim=16, num_experts=6, num_experts_per_tok=2, moe_intermediate_size=24,
                                        norm_topk_prob=True)),
    "olmoe": ("OlmoeConfig", dict(SIZES, num_experts=6, num_experts_per_tok=3)),
    "granitemoe": ("GraniteMoeConfig", dict(SIZES, num_local_experts=6, num_experts_per_tok=2, embedding_multiplier=6.0,
                                            residual_multiplier=0.22, attention_multiplier=0.3, logits_scaling=2.0)),
    "granitemoe-shared": ("GraniteMoeSharedConfig", dict(SIZES, num_local_experts=6, num_experts_per_tok=2, shared_intermediate_size=40)),
    "phimoe": ("PhimoeConfig", dict(SIZES, num_local_experts=5, num_experts_per_tok=2, attention_bias=True, lm_head_bias=True)),
    "gpt-oss": ("GptOssConfig", dict(SIZES, num_hidden_layers=4, head_dim=16, num_local_experts=5, num_experts_per_tok=2, sliding_window=6,
                                     rope_parameters={"rope_type": "yarn", "factor": 4.0, "rope_theta": 10000.0, "beta_fast": 32.0,
                                                      "beta_slow": 1.0, "truncate": False, "original_max_position_embeddings": 32})),
    "glm4moe": ("Glm4MoeConfig", dict(SIZES, head_dim=16, use_qk_norm=True, attention_bias=True, n_routed_experts=6, n_shared_experts=2,
                                      num_experts_per_tok=2, moe_intermediate_size=24, first_k_dense_replace=1, routed_scaling_factor=1.5)),
    "dots1": ("Dots1Config", dict(SIZES, head_dim=16, n_routed_experts=6, n_shared_experts=2, num_experts_per_tok=2,
                                  moe_intermediate_size=24, first_k_dense_replace=1, n_group=3, topk_group=2, routed_scaling_factor=2.5)),
    "ernie4_5-moe": ("Ernie4_5_MoeConfig", dict(SIZES, head_dim=16, moe_num_experts=6, moe_k=2, moe_num_shared_experts=2,
                                                moe_intermediate_size=24, moe_layer_start_index=1, moe_layer_interval=1)),
    "hunyuan-moe": ("HunYuanMoEV1Config", dict(SIZES, head_dim=16, num_experts=6, moe_topk=2, num_shared_expert=1)),
    "minimax-m2": ("MiniMaxM2Config", dict(SIZES, head_dim=16, num_local_experts=6, num_experts_per_tok=2,
                                           rope_parameters={"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 0.5})),
    "deepseek-v2-lite": ("DeepseekV2Config", dict(EVERY_HEAD, q_lora_rank=None, kv_lora_rank=16, qk_nope_head_dim=8, qk_rope_head_dim=4,
                                                  v_head_dim=12, n_routed_experts=6, n_shared_experts=2, num_experts_per_tok=2,
                                                  moe_intermediate_size=24, first_k_dense_replace=1, norm_topk_prob=False)),
    "deepseek-v2": ("DeepseekV2Config", dict(EVERY_HEAD, q_lora_rank=24, kv_lora_rank=16, qk_nope_head_dim=8, qk_rope_head_dim=4,
                                             v_head_dim=12, n_routed_experts=8, n_shared_experts=2, num_experts_per_tok=2, n_group=4,
                                             topk_group=2, topk_method="group_limited_greedy", moe_intermediate_size=24,
                                             first_k_dense_replace=1, routed_scaling_factor=4.0)),
    "deepseek-v3": ("DeepseekV3Config", dict(EVERY_HEAD, q_lora_rank=24, kv_lora_rank=16, qk_nope_head_dim=8, qk_rope_head_dim=4,
                                             v_head_dim=12, n_routed_experts=8, n_shared_experts=1, num_experts_per_tok=3, n_group=4,
                                             topk_group=2, moe_intermediate_size=24, first_k_dense_replace=1, routed_scaling_factor=2.5,
                                             rms_norm_eps=0.001, rope_parameters={
                                                 "rope_type": "yarn", "factor": 4.0, "rope_theta": 10000.0, "mscale": 1.0,
                                                 "mscale_all_dim": 1.0, "original_max_position_embeddings": 32})),
    # Sparse attention: all positions of these texts are within top_k.
    "deepseek-v32": ("DeepseekV32Config", dict(
        EVERY_HEAD | INDEXED, n_routed_experts=8, n_group=4, topk_group=2, n_shared_experts=1, num_experts_per_tok=3,
        first_k_dense_replace=1, rope_parameters={"rope_type": "yarn", "factor": 4.0, "rope_theta": 10000.0, "mscale": 1.0,
                                                  "mscale_all_dim": 1.0, "original_max_position_embeddings": 64})),
    "glm-dsa": ("GlmMoeDsaConfig", dict(EVERY_HEAD | INDEXED, n_routed_experts=6, num_experts_per_tok=2, first_k_dense_replace=1,
                                        indexer_types=["full", "shared", "full"])),
    "falcon": ("FalconConfig", dict(FALCON, multi_query=True, parallel_attn=True, new_decoder_architecture=False, alibi=False, bias=False)),
    "falcon-40b": ("FalconConfig", dict(FALCON, num_kv_heads=2, new_decoder_architecture=True, parallel_attn=True, alibi=False, bias=False)),
    "starcoder": ("GPTBigCodeConfig", dict(n_embd=32, n_layer=3, n_head=4, n_positions=128, vocab_size=VOCAB, bos_token_id=1, eos_token_id=2)),
    "gptj": ("GPTJConfig", dict(n_embd=32, n_layer=3, n_head=4, n_positions=128, vocab_size=VOCAB, rotary_dim=4, bos_token_id=1,
                                eos_token_id=2)),
    "bloom": ("BloomConfig", dict(hidden_size=32, n_layer=3, n_head=4, vocab_size=VOCAB, seq_length=128, bos_token_id=1, eos_token_id=2)),
    "mpt": ("MptConfig", dict(d_model=32, n_layers=3, n_heads=4, expansion_ratio=4, max_seq_len=128, vocab_size=VOCAB)),
    "olmo": ("OlmoConfig", dict(SIZES, clip_qkv=0.8)),
    "hunyuan-dense": ("HunYuanDenseV1Config", dict(SIZES, head_dim=16)),
    "llama4": ("Llama4TextConfig", dict(SIZES, num_hidden_layers=4, head_dim=16, intermediate_size=24, intermediate_size_mlp=40,
                                        num_local_experts=4, num_experts_per_tok=1, attention_chunk_size=8, floor_scale=4, attn_scale=0.1,
                                        interleave_moe_layer_step=2, no_rope_layers=[1, 1, 1, 0])),
    "qwen3moe-softmax": ("Qwen3MoeConfig", dict(SIZES, head_dim=16, num_experts=6, num_experts_per_tok=2, moe_intermediate_size=24,
                                                norm_topk_prob=False, decoder_sparse_step=2)),
    "olmoe-clipped": ("OlmoeConfig", dict(SIZES, num_experts=6, num_experts_per_tok=3, norm_topk_prob=True, clip_qkv=0.7)),
    "command-r-norms": ("CohereConfig", dict(SIZES, logit_scale=0.25, use_qk_norm=True, attention_bias=True)),
    "falcon-sequential": ("FalconConfig", dict(FALCON, multi_query=False, parallel_attn=False, new_decoder_architecture=False, alibi=False,
                                               bias=True)),
    "gpt2-inverse": ("GPT2Config", dict(n_embd=32, n_layer=3, n_head=4, n_positions=128, vocab_size=VOCAB, n_inner=80, bos_token_id=1,
                                        eos_token_id=2, scale_attn_by_inverse_layer_idx=True, tie_word_embeddings=False)),
    "starcoder-heads": ("GPTBigCodeConfig", dict(n_embd=32, n_layer=3, n_head=4, n_positions=128, vocab_size=VOCAB, multi_query=False,
                                                 bos_token_id=1, eos_token_id=2)),
    "mpt-clipped": ("MptConfig", dict(d_model=32, n_layers=3, n_heads=4, max_seq_len=128, vocab_size=VOCAB,
                                      attn_config={"clip_qkv": 0.6, "softmax_scale": 0.2})),
    "ernie4_5-bias": ("Ernie4_5Config", dict(SIZES, head_dim=16, use_bias=True)),
    "qwen3moe-window": ("Qwen3MoeConfig", dict(SIZES, head_dim=16, num_experts=6, num_experts_per_tok=2, moe_intermediate_size=24,
                                               use_sliding_window=True, sliding_window=6, max_window_layers=2)),
    "smollm3-period": ("SmolLM3Config", dict(SIZES, num_hidden_layers=4, no_rope_layer_interval=3)),
    "llama4-list": ("Llama4TextConfig", dict(SIZES, num_hidden_layers=4, head_dim=16, intermediate_size=24, intermediate_size_mlp=40,
                                             num_local_experts=4, num_experts_per_tok=2, attention_chunk_size=8, use_qk_norm=False,
                                             interleave_moe_layer_step=2, no_rope_layers=[1, 0, 1, 0], attn_temperature_tuning=False)),
    "hunyuan-dense-alpha": ("HunYuanDenseV1Config", dict(SIZES, head_dim=16, rope_parameters={
        "rope_type": "dynamic", "alpha": 50.0, "factor": 1.0, "rope_theta": 10000.0})),
    "llama-yarn-mscale": ("LlamaConfig", dict(SIZES, rope_parameters={"rope_type": "yarn", "factor": 4.0, "rope_theta": 10000.0, "mscale": 1.0,
                                                                      "mscale_all_dim": 0.5, "original_max_position_embeddings": 32})),
    "deepseek-v2-greedy": ("DeepseekV2Config", dict(EVERY_HEAD, q_lora_rank=24, kv_lora_rank=16, qk_nope_head_dim=8, qk_rope_head_dim=4,
                                                    v_head_dim=12, n_routed_experts=6, n_shared_experts=1, num_experts_per_tok=3, n_group=3,
                                                    topk_group=1, topk_method="greedy", moe_intermediate_size=24, first_k_dense_replace=1,
                                                    attention_bias=True, rms_norm_eps=0.001)),
    "bitnet-2b4t": ("BitNetConfig", SIZES),
    "lfm2": ("Lfm2Config", dict(SIZES, num_hidden_layers=4, layer_types=["conv", "full_attention", "conv", "conv"],
                                block_auto_adjust_ff_dim=False)),
    "lfm2-published": ("Lfm2Config", dict(SIZES, num_hidden_layers=4, intermediate_size=60, conv_L_cache=4, block_multiple_of=16,
                                          block_ffn_dim_multiplier=1.2, layer_types=["conv", "conv", "full_attention", "conv"])),
    "lfm2moe": ("Lfm2MoeConfig", dict(SIZES, num_hidden_layers=4, moe_intermediate_size=20, num_experts=6, num_experts_per_tok=2,
                                      num_dense_layers=1, layer_types=["conv", "conv", "full_attention", "conv"])),
    "mamba2": ("Mamba2Config", dict(MAMBA, num_heads=8, head_dim=8, state_size=6, n_groups=1)),
    "mamba2-groups": ("Mamba2Config", dict(MAMBA, num_heads=8, head_dim=8, state_size=6, n_groups=2, conv_kernel=3)),
    "falcon-h1": ("FalconH1Config", dict(SIZES, mamba_d_ssm=32, mamba_n_heads=4, mamba_d_head=8, mamba_d_state=6, mamba_n_groups=2)),
    "granite-hybrid": ("GraniteMoeHybridConfig", dict(
        SIZES, num_local_experts=4, num_experts_per_tok=2, shared_intermediate_size=24, attention_multiplier=0.2, residual_multiplier=0.3,
        embedding_multiplier=3.0, logits_scaling=2.0, layer_types=["mamba", "attention", "mamba"], mamba_n_heads=8, mamba_d_head=8,
        mamba_d_state=6)),
    "granite-hybrid-dense": ("GraniteMoeHybridConfig", dict(
        SIZES, num_local_experts=0, num_experts_per_tok=0, shared_intermediate_size=40, layer_types=["mamba", "mamba", "attention"],
        mamba_n_heads=8, mamba_d_head=8, mamba_d_state=6)),
    "granite4-attention": ("GraniteMoeHybridConfig", dict(
        SIZES, num_local_experts=0, num_experts_per_tok=0, shared_intermediate_size=40, layer_types=["attention"] * 3,
        position_embedding_type="rope", mamba_n_heads=8, mamba_d_head=8)),
    "qwen3next": ("Qwen3NextConfig", dict(SIZES, **DELTA_RULE, **DELTA_EXPERTS, num_hidden_layers=4)),
    "qwen35": ("Qwen3_5TextConfig", dict(SIZES, **DELTA_RULE, num_hidden_layers=4, tie_word_embeddings=True,
                                         layer_types=["linear_attention", "full_attention", "linear_attention", "linear_attention"])),
    "qwen35moe": ("Qwen3_5MoeTextConfig", dict(SIZES, **DELTA_RULE, **DELTA_EXPERTS, num_hidden_layers=4)),
    "mamba": ("MambaConfig", dict(MAMBA, state_size=5, time_step_rank=3)),
    "falcon-mamba": ("FalconMambaConfig", dict(MAMBA, state_size=5, conv_kernel=3, tie_word_embeddings=False)),
    "jamba": ("JambaConfig", dict(SIZES, num_hidden_layers=4, attn_layer_period=3, attn_layer_offset=1, num_experts=4, mamba_d_state=5,
                                  mamba_dt_rank=3)),
    "gemma3n": ("Gemma3nTextConfig", dict(
        SIZES, num_hidden_layers=6, head_dim=8, sliding_window=6, num_kv_shared_layers=3, hidden_size_per_layer_input=256, altup_num_inputs=4,
        laurel_rank=64, vocab_size_per_layer_input=60, activation_sparsity_pattern=[0.9, 0.7, 0.0, 0.0, 0.0, 0.0],
        layer_types=["sliding_attention", "sliding_attention", "full_attention"] * 2)),
    "gemma4": ("Gemma4TextConfig", dict(
        SIZES, num_hidden_layers=6, head_dim=8, global_head_dim=16, sliding_window=6, num_kv_shared_layers=2, hidden_size_per_layer_input=4,
        vocab_size_per_layer_input=VOCAB, use_double_wide_mlp=True, final_logit_softcapping=20.0,
        layer_types=["sliding_attention", "sliding_attention", "full_attention"] * 2)),
    "gemma4-experts": ("Gemma4TextConfig", dict(
        SIZES, num_hidden_layers=3, head_dim=8, global_head_dim=8, num_global_key_value_heads=1, attention_k_eq_v=True, sliding_window=6,
        hidden_size_per_layer_input=0, enable_moe_block=True, num_experts=6, top_k_experts=2, moe_intermediate_size=20,
        layer_types=["sliding_attention", "full_attention", "full_attention"])),
    "nemotron-h": ("NemotronHConfig", dict(
        {key: value for key, value in SIZES.items() if key != "num_hidden_layers"}, head_dim=12, mamba_num_heads=8, mamba_head_dim=8,
        ssm_state_size=6, n_groups=2, layers_block_type=["mamba", "attention", "mlp", "mamba", "mlp"])),
    "nemotron3": ("NemotronHConfig", dict(
        {key: value for key, value in SIZES.items() if key != "num_hidden_layers"}, head_dim=12, mamba_num_heads=8, mamba_head_dim=8,
        ssm_state_size=6, n_groups=2, layers_block_type=["mamba", "moe", "attention", "moe"], n_routed_experts=6, num_experts_per_tok=2,
        moe_intermediate_size=20, moe_shared_expert_intermediate_size=28, routed_scaling_factor=2.5, n_group=1, topk_group=1)),
    "nemotron3-latent": ("NemotronHConfig", dict(
        {key: value for key, value in SIZES.items() if key != "num_hidden_layers"}, head_dim=12, mamba_num_heads=8, mamba_head_dim=8,
        ssm_state_size=6, layers_block_type=["moe", "mamba", "attention", "moe"], n_routed_experts=6, num_experts_per_tok=3,
        moe_intermediate_size=20, moe_shared_expert_intermediate_size=28, moe_latent_size=16, norm_topk_prob=False)),
    "bamba": ("BambaConfig", dict(SIZES, attn_layer_indices=[1], mamba_n_heads=8, mamba_d_head=8, mamba_d_state=6, mamba_n_groups=2,
                                  rope_parameters={"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 0.5})),
    "exaone-moe": ("ExaoneMoeConfig", dict(SIZES, num_hidden_layers=5, head_dim=16, sliding_window=6, num_experts=6, num_experts_per_tok=2,
                                           moe_intermediate_size=20)),
    "afmoe": ("AfmoeConfig", dict(SIZES, num_hidden_layers=5, head_dim=16, sliding_window=6, num_experts=6, num_experts_per_tok=2,
                                  moe_intermediate_size=20, route_scale=2.8, mup_enabled=True)),
    "glm4-moe-lite": ("Glm4MoeLiteConfig", dict(EVERY_HEAD, q_lora_rank=24, kv_lora_rank=16, qk_nope_head_dim=8, qk_rope_head_dim=4,
                                                v_head_dim=12, n_routed_experts=6, num_experts_per_tok=2, moe_intermediate_size=24,
                                                rms_norm_eps=0.001)),
    "falcon-h1-factors": ("FalconH1Config", dict(
        SIZES, mamba_d_ssm=32, mamba_n_heads=4, mamba_d_head=8, mamba_d_state=6, mamba_n_groups=2, attention_in_multiplier=0.9,
        attention_out_multiplier=0.8, embedding_multiplier=3.0, key_multiplier=0.6, lm_head_multiplier=0.5, mlp_multipliers=[0.7, 1.3],
        ssm_in_multiplier=1.2, ssm_multipliers=[0.9, 1.1, 0.8, 0.7, 1.2], ssm_out_multiplier=0.75)),
    "apertus": ("ApertusConfig", dict(SIZES, rope_parameters={
        "rope_type": "llama3", "rope_theta": 10000.0, "factor": 8.0, "original_max_position_embeddings": 32, "low_freq_factor": 1.0,
        "high_freq_factor": 4.0})),
    "kimi-linear": ("KimiLinearConfig", dict(
        EVERY_HEAD, num_hidden_layers=4, kv_lora_rank=16, qk_nope_head_dim=8, qk_rope_head_dim=4, v_head_dim=12, num_local_experts=6,
        num_experts_per_tok=2, moe_intermediate_size=20, linear_head_dim=8, linear_num_heads=4, n_group=3, topk_group=2, rms_norm_eps=0.001,
        layer_types=["linear_attention", "linear_attention", "full_attention", "linear_attention"])),
    # Not in transformers: a GLM 4.5 with its tensors.
    "bailing-moe2": ("Glm4MoeConfig", dict(SIZES, head_dim=8, use_qk_norm=True, n_routed_experts=8, n_shared_experts=1,
                                           num_experts_per_tok=3, n_group=4, topk_group=2, moe_intermediate_size=24,
                                           first_k_dense_replace=1, routed_scaling_factor=2.5)),
    # Not in transformers: a Llama with their tensors.
    "exaone": ("LlamaConfig", dict(SIZES, tie_word_embeddings=True)),
    "internlm2": ("LlamaConfig", SIZES),
    "ministral": ("MinistralConfig", dict(SIZES, head_dim=16, sliding_window=6,
                                          layer_types=["full_attention", "sliding_attention", "full_attention"])),
    "ministral3": ("Ministral3Config", dict(SIZES, head_dim=16, rope_parameters={
        "rope_type": "yarn", "factor": 4.0, "rope_theta": 10000.0, "beta_fast": 32.0, "beta_slow": 1.0, "mscale": 1.0,
        "mscale_all_dim": 1.0, "original_max_position_embeddings": 16, "llama_4_scaling_beta": 0.1})),
}


PIXTRAL = dict(model_type="pixtral", hidden_size=16, intermediate_size=16, num_hidden_layers=1, num_attention_heads=2, head_dim=8,
               image_size=28, patch_size=14)
LONGROPE = {"rope_type": "longrope", "rope_theta": 10000.0, "short_factor": [1.0, 1.1, 1.2], "long_factor": [1.5, 2.0, 4.0]}
QWEN_VISION = dict(depth=1, hidden_size=16, intermediate_size=16, num_heads=2, patch_size=2, spatial_merge_size=2, temporal_patch_size=2,
                   out_hidden_size=32)
# Folders as they are published: tensors without the base model's prefix ("strip"), a text model within one that reads images, and keys that
# transformers does not write ("add"), or that published configurations leave out ("drop").
MODELS |= {
    "gpt2-published": MODELS["gpt2"],
    "bloom-published": MODELS["bloom"],
    "qwen3-published": MODELS["qwen3"],
    "llama-partial": ("LlamaConfig", dict(SIZES, partial_rotary_factor=0.5)),
    "llama-own-head": ("LlamaConfig", SIZES),
    "qwen2-dual-chunk": ("Qwen2Config", SIZES),
    "phi4-mini": ("Phi3Config", dict(SIZES, original_max_position_embeddings=64, partial_rotary_factor=0.75, tie_word_embeddings=True,
                                     sliding_window=262144, rope_parameters=LONGROPE)),
    "command-r7b": ("Cohere2Config", dict(SIZES, num_hidden_layers=5, sliding_window=6, logit_scale=0.25)),
    "gemma3-vision": ("Gemma3Config", dict(
        text_config=dict(hidden_size=32, intermediate_size=48, num_hidden_layers=7, sliding_window=7, vocab_size=VOCAB),
        vision_config=dict(model_type="siglip_vision_model", hidden_size=16, intermediate_size=16, num_hidden_layers=1, num_attention_heads=2,
                           image_size=28, patch_size=14), mm_tokens_per_image=1)),
    "mistral3-vision": ("Mistral3Config", dict(text_config=dict(SIZES, model_type="mistral", head_dim=16, sliding_window=None),
                                               vision_config=PIXTRAL, tie_word_embeddings=False)),
    "ministral3-vision": ("Mistral3Config", dict(
        text_config=dict(MODELS["ministral3"][1], model_type="ministral3"), vision_config=PIXTRAL, tie_word_embeddings=True)),
    "llama4-vision": ("Llama4Config", dict(
        text_config=MODELS["llama4"][1],
        vision_config=dict(hidden_size=16, intermediate_size=64, num_hidden_layers=1, num_attention_heads=2, image_size=28, patch_size=14,
                           vision_output_dim=16, projector_input_dim=16, projector_output_dim=16))),
    "qwen2-vl": ("Qwen2VLConfig", dict(
        text_config=dict(SIZES, rope_parameters={"rope_type": "default", "rope_theta": 1e6, "mrope_section": [2, 1, 1]}),
        vision_config=dict(depth=1, embed_dim=16, hidden_size=32, num_heads=2, mlp_ratio=1, patch_size=2))),
    "qwen2_5-vl": ("Qwen2_5_VLConfig", dict(
        text_config=dict(SIZES, rope_parameters={"rope_type": "default", "rope_theta": 1e6, "mrope_section": [2, 1, 1]}),
        vision_config=QWEN_VISION)),
    "qwen35-vision": ("Qwen3_5Config", dict(
        text_config=dict(MODELS["qwen35"][1], linear_key_head_dim=12, rope_parameters={
            "rope_type": "default", "rope_theta": 1e6, "partial_rotary_factor": 0.5, "mrope_section": [2, 1, 1], "mrope_interleaved": True}),
        vision_config=dict(QWEN_VISION, num_position_embeddings=16, deepstack_visual_indexes=[]), tie_word_embeddings=True)),
    "qwen3-vl": ("Qwen3VLConfig", dict(
        text_config=dict(SIZES, head_dim=16, rope_parameters={"rope_type": "default", "rope_theta": 5e6, "mrope_section": [4, 2, 2],
                                                              "mrope_interleaved": True}),
        vision_config=dict(QWEN_VISION, num_position_embeddings=16, deepstack_visual_indexes=[0]), tie_word_embeddings=True)),
}
MODELS["kimi-linear-published"] = ("KimiLinearConfig", dict(MODELS["kimi-linear"][1], q_lora_rank=24, linear_head_dim=12, linear_num_heads=2,
                                                            linear_conv_kernel_dim=3))
MODELS["recurrent-gemma"] = ("RecurrentGemmaConfig", dict(SIZES, hidden_size=48, lru_width=32, num_hidden_layers=7, num_key_value_heads=1,
                                                          attention_window_size=7, logits_soft_cap=5.0))
MODELS["minimax-01"] = ("MiniMaxConfig", dict(
    SIZES, num_hidden_layers=4, head_dim=12, num_local_experts=6, num_experts_per_tok=2, block_size=8, full_attn_alpha_factor=1.5,
    full_attn_beta_factor=0.7, linear_attn_alpha_factor=2.5, linear_attn_beta_factor=1.2, mlp_alpha_factor=3.5, mlp_beta_factor=0.9,
    layer_types=["linear_attention", "linear_attention", "full_attention", "linear_attention"]))
MODELS["minimax-01-published"] = MODELS["minimax-01"]
# Tensors that are computed of the configuration, and saved all the same.
DERIVED = ("slope_rate", "query_decay", "key_decay", "diagonal_decay")
PUBLISHED = {
    "kimi-linear-published": dict(
        drop=["layer_types", "linear_head_dim", "linear_num_heads", "linear_conv_kernel_dim", "mlp_layer_types"],
        add=dict(first_k_dense_replace=1, mla_use_nope=True, moe_layer_freq=1, moe_router_activation_func="sigmoid", use_grouped_topk=True,
                 num_nextn_predict_layers=0, rope_theta=10000.0, rope_scaling=None,
                 linear_attn_config=dict(full_attn_layers=[3], kda_layers=[1, 2, 4], head_dim=12, num_heads=2, short_conv_kernel_size=3))),
    "deepseek-v32": dict(drop=["mlp_layer_types", "layer_types"],
                         add=dict(ep_size=1, moe_layer_freq=1, num_nextn_predict_layers=0, scoring_func="sigmoid", topk_method="noaux_tc")),
    "gpt2-published": dict(strip="transformer."),
    "bloom-published": dict(strip="transformer."),
    "qwen3-published": dict(strip="model."),
    "llama-own-head": dict(add=dict(tie_word_embeddings=True)),
    "qwen2-dual-chunk": dict(add=dict(dual_chunk_attention_config=dict(chunk_size=262144, local_size=8192,
                                                                       original_max_position_embeddings=262144))),
    "llama-partial": dict(add=dict(partial_rotary_factor=0.5)),
    "phi4-mini": dict(add=dict(full_attn_mod=1, interpolate_factor=1, lm_head_bias=False, mlp_bias=False, attention_bias=False)),
    "command-r7b": dict(add=dict(order_of_interleaved_layers="local_attn_first", position_embedding_type="rope_gptj", rotary_pct=1.0,
                                 use_gated_activation=True, use_parallel_block=True, use_parallel_embedding=False, layer_switch=4,
                                 use_embedding_sharing=True, use_qk_norm=False, cache_implementation="hybrid", sliding_window_pattern=4),
                        drop=["layer_types"]),
    "gemma3-vision": dict(text_drop=["num_attention_heads", "num_key_value_heads", "head_dim", "query_pre_attn_scalar", "rms_norm_eps",
                                     "max_position_embeddings", "layer_types", "hidden_activation", "_sliding_window_pattern",
                                     "rope_parameters", "attention_bias", "tie_word_embeddings"], drop=["tie_word_embeddings"]),
    "lfm2-published": dict(drop=["layer_types"], add=dict(full_attn_idxs=[2], block_norm_eps=1e-5, use_pos_enc=True, num_heads=4)),
    "qwen2-vl": dict(flat=True),
    "qwen2_5-vl": dict(flat=True),
}


def published(config, name):
    """The configuration as published."""
    edit = PUBLISHED.get(name, {})
    config = {key: value for key, value in config.items() if key not in edit.get("drop", [])} | edit.get("add", {})
    if "text_config" in config:
        config["text_config"] = {key: value for key, value in config["text_config"].items() if key not in edit.get("text_drop", [])}
    if edit.get("flat"):
        config = config["text_config"] | config
        rope = config.pop("rope_parameters")
        config |= {"rope_theta": rope["rope_theta"], "rope_scaling": {"type": "mrope", "mrope_section": rope["mrope_section"]}}
        del config["text_config"]
    return config


# Of models that transformers has not: the keys of their configurations by Llama's, and their tensors by Llama's.
FOREIGN = {
    "exaone": ("ExaoneForCausalLM", {"num_hidden_layers": "num_layers", "rms_norm_eps": "layer_norm_epsilon", "hidden_act": "activation_function"},
               [("model.embed_tokens", "transformer.wte"), ("model.norm", "transformer.ln_f"), ("model.layers.", "transformer.h."),
                ("input_layernorm", "ln_1"), ("post_attention_layernorm", "ln_2"), ("self_attn.o_proj", "attn.attention.out_proj"),
                ("self_attn", "attn.attention"), ("gate_proj", "c_fc_0"), ("up_proj", "c_fc_1"), ("down_proj", "c_proj")]),
    "internlm2": ("InternLM2ForCausalLM", {},
                  [("embed_tokens", "tok_embeddings"), ("lm_head", "output"), ("input_layernorm", "attention_norm"),
                   ("post_attention_layernorm", "ffn_norm"), ("self_attn.o_proj", "attention.wo"), ("mlp.gate_proj", "feed_forward.w1"),
                   ("mlp.down_proj", "feed_forward.w2"), ("mlp.up_proj", "feed_forward.w3")]),
    "bailing-moe2": ("BailingMoeV2ForCausalLM", {"n_routed_experts": "num_experts", "n_shared_experts": "num_shared_experts"},
                     [("embed_tokens", "word_embeddings"), ("self_attn.o_proj", "attention.dense"),
                      ("self_attn.q_norm", "attention.query_layernorm"), ("self_attn.k_norm", "attention.key_layernorm"),
                      ("e_score_correction_bias", "expert_bias")]),
    "minimax-01-published": ("MiniMaxText01ForCausalLM", {
        "full_attn_alpha_factor": "layernorm_full_attention_alpha", "full_attn_beta_factor": "layernorm_full_attention_beta",
        "linear_attn_alpha_factor": "layernorm_linear_attention_alpha", "linear_attn_beta_factor": "layernorm_linear_attention_beta",
        "mlp_alpha_factor": "layernorm_mlp_alpha", "mlp_beta_factor": "layernorm_mlp_beta"}, []),
}
# What such a configuration has in the place of other keys, which are dropped.
FOREIGN_VALUES = {
    "minimax-01-published": (["layer_types", "rope_parameters"],
                             dict(attn_type_list=[0, 0, 1, 0], rope_theta=1e6, rotary_dim=12, postnorm=True, shared_intermediate_size=0,
                                  shared_moe_mode="sigmoid")),
}


def foreign_name(name, renamed):
    for own, other in renamed:
        name = name.replace(own, other)
    return name


def foreign_weights(shapes, renamed, heads, kv_heads):
    """Llama's tensors as the other model's have them, and the other's shapes."""
    weights, stored = {}, {}
    for key, shape in shapes.items():
        if renamed in (FOREIGN["internlm2"][2], FOREIGN["bailing-moe2"][2]) and any(part in key for part in ("q_proj", "k_proj", "v_proj")):
            continue
        name = foreign_name(key, renamed)
        stored[name] = shape
        weights[key] = weight(name, shape)
    if renamed is FOREIGN["internlm2"][2]:
        # One matrix: the queries of a key/value head, its key, its value.
        for layer in sorted({key.split(".")[2] for key in shapes if key.startswith("model.layers.")}):
            own = f"model.layers.{layer}.self_attn."
            head_dim, width = shapes[own + "q_proj.weight"][0] // heads, shapes[own + "q_proj.weight"][1]
            name = f"model.layers.{layer}.attention.wqkv.weight"
            stored[name] = [(heads + 2 * kv_heads) * head_dim, width]
            groups = weight(name, stored[name]).reshape(kv_heads, heads // kv_heads + 2, head_dim, width)
            for part, rows in (("q", groups[:, :-2]), ("k", groups[:, -2]), ("v", groups[:, -1])):
                weights[f"{own}{part}_proj.weight"] = numpy.ascontiguousarray(rows.reshape(-1, width))
    if renamed is FOREIGN["bailing-moe2"][2]:
        # One matrix: all queries, all keys, all values.
        for layer in sorted({key.split(".")[2] for key in shapes if key.startswith("model.layers.")}):
            own = f"model.layers.{layer}.self_attn."
            rows = [shapes[f"{own}{part}_proj.weight"][0] for part in "qkv"]
            name = f"model.layers.{layer}.attention.query_key_value.weight"
            stored[name] = [sum(rows), shapes[own + "q_proj.weight"][1]]
            parts = numpy.split(weight(name, stored[name]), numpy.cumsum(rows)[:-1])
            weights |= {f"{own}{part}_proj.weight": numpy.ascontiguousarray(values) for part, values in zip("qkv", parts)}
    return weights, stored


def foreign_config(config, name, class_name, keys):
    dropped, added = FOREIGN_VALUES.get(name, ([], {}))
    changed = {keys.get(key, key): value for key, value in config.items() if key not in dropped} | added
    return dict(changed, architectures=[class_name], model_type=class_name.removesuffix("ForCausalLM").lower())


def token_ids():
    return [(7 * index * index + 3 * index + 5) % VOCAB for index in range(TOKENS)]


def write(name, golden):
    golden["logits"] = [[float(f"{value:.6g}") for value in row] for row in golden["logits"]]
    (HERE / f"{name}.json").write_text(json.dumps(golden, separators=(",", ":")).replace('"logits"', '\n"logits"').replace("],[", "],\n[") + "\n")
    print(name, "ok", len(golden["tensors"]), "tensors")


# Not in transformers: by definitions of their own.
DEFINED = {"rwkv7": (rwkv7_config, rwkv7_shapes, rwkv7_logits)}


def make_defined(name):
    config_of, shapes_of, logits_of = DEFINED[name]
    config = config_of()
    shapes = shapes_of(config)
    weights = {key: weight(key, shape) for key, shape in shapes.items()}
    ids = token_ids()
    text = list(ids)
    for _ in range(NEW_TOKENS):
        text.append(int(logits_of(config, weights, text)[-1].argmax()))
    write(name, {"made_with": f"{name}.py", "config": config, "tensors": shapes, "input_ids": ids, "greedy_ids": text,
                 "logits": logits_of(config, weights, ids).tolist()})


def make(name):
    if name in DEFINED:
        return make_defined(name)
    class_name, sizes = MODELS[name]
    config = getattr(transformers, class_name)(**sizes)
    config._attn_implementation = "eager"
    loader = transformers.AutoModelForImageTextToText if hasattr(config, "text_config") else transformers.AutoModelForCausalLM
    model = loader.from_config(config).to(torch.float32).eval()
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        path = pathlib.Path(folder) / "model.safetensors"
        with safe_open(path, framework="numpy") as stored:
            shapes = {key: list(stored.get_slice(key).get_shape()) for key in stored.keys()
                      if not key.endswith(DERIVED)}
        strip = PUBLISHED.get(name, {}).get("strip", "")
        shapes = {key.removeprefix(strip): shape for key, shape in shapes.items()}
        weights = {key: weight(key, shape) for key, shape in shapes.items()}
        if name in PUBLISHED:
            config_path = pathlib.Path(folder) / "config.json"
            config_path.write_text(json.dumps(published(json.loads(config_path.read_text()), name)))
        if name in FOREIGN:
            weights, stored_shapes = foreign_weights(shapes, FOREIGN[name][2], sizes["num_attention_heads"], sizes["num_key_value_heads"])
        save_file(weights, path, metadata={"format": "pt"})
        model = loader.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager").eval()
        if name == "llama4-vision":
            model = model.language_model  # transformers 5.24 fails around it where there is no image
        saved = json.loads((pathlib.Path(folder) / "config.json").read_text())
    if name in FOREIGN:
        saved, shapes = foreign_config(saved, name, *FOREIGN[name][:2]), stored_shapes
    ids = token_ids()
    with torch.no_grad():
        logits = model(torch.tensor([ids]), use_cache=False).logits[0]
        text = list(ids)
        for _ in range(NEW_TOKENS):
            text.append(int(model(torch.tensor([text]), use_cache=False).logits[0, -1].argmax()))
    write(name, {"made_with": "transformers " + transformers.__version__, "config": saved, "tensors": shapes, "input_ids": ids,
                 "greedy_ids": text, "logits": logits.tolist()})


if __name__ == "__main__":
    make_each(make, list(MODELS) + list(DEFINED))
