// The two namings as tables: what a Hugging Face folder calls what GGUF files call otherwise.
#include <algorithm>
#include <array>
#include <cctype>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wick/model/checkpoint/hugging_face.h"

namespace wick {
namespace {

constexpr ConfigRow config_read(std::string_view key, std::string_view canonical) { return {key, ConfigRow::Use::read, canonical}; }
constexpr ConfigRow config_harmless(std::string_view key) { return {key, ConfigRow::Use::harmless}; }
constexpr ConfigRow config_only(std::string_view key, double neutral) { return {key, ConfigRow::Use::only_value, {}, neutral}; }

constexpr std::array kSharedConfig = {
    config_read("hidden_size", "embedding_length"),
    config_read("num_hidden_layers", "block_count"),
    config_read("intermediate_size", "feed_forward_length"),
    config_read("num_attention_heads", "attention.head_count"),
    config_read("num_key_value_heads", "attention.head_count_kv"),
    config_read("head_dim", "attention.key_length"),
    config_read("max_position_embeddings", "context_length"),
    config_read("rms_norm_eps", "attention.layer_norm_rms_epsilon"),
    config_read("vocab_size", "vocab_size"),
    config_read("hidden_act", "hidden_act"),
    // Dropout and losses are training's; special tokens and templates are the tokenizer's.
    config_harmless("model_type"),
    config_harmless("transformers_version"),
    config_harmless("return_dict"),
    config_harmless("output_attentions"),
    config_harmless("output_hidden_states"),
    config_harmless("chunk_size_feed_forward"),
    config_harmless("torch_dtype"),
    config_harmless("dtype"),
    config_harmless("bos_token_id"),
    config_harmless("eos_token_id"),
    config_harmless("pad_token_id"),
    config_harmless("unk_token_id"),
    config_harmless("sep_token_id"),
    config_harmless("cls_token_id"),
    config_harmless("initializer_range"),
    config_harmless("use_cache"),
    config_harmless("attention_dropout"),
    config_harmless("hidden_dropout"),
    config_harmless("resid_pdrop"),
    config_harmless("embd_pdrop"),
    config_harmless("attn_pdrop"),
    config_harmless("pretraining_tp"),  // sums in another order
    config_harmless("original_max_position_embeddings"),
    config_harmless("cache_implementation"),
    config_harmless("attn_implementation"),
    config_harmless("_attn_implementation"),
    config_harmless("_attn_implementation_autoset"),
    config_harmless("_flash_attn_2_enabled"),
    config_harmless("use_flash_attn"),
    config_harmless("_name_or_path"),
    config_harmless("name_or_path"),
    config_harmless("auto_map"),
    config_harmless("task_specific_params"),
    config_harmless("id2label"),
    config_harmless("label2id"),
    config_harmless("num_labels"),
    // Parts around a text model, which the tensors tell or which only pictures and sound use.
    config_harmless("vision_config"),
    config_harmless("audio_config"),
    config_harmless("image_token_id"),
    config_harmless("video_token_id"),
    config_harmless("image_token_index"),
    config_harmless("vision_token_id"),
    config_harmless("vision_start_token_id"),
    config_harmless("vision_end_token_id"),
    // Losses of a mixture of experts.
    config_harmless("output_router_logits"),
    config_harmless("router_aux_loss_coef"),
    config_harmless("router_z_loss_coef"),
    config_harmless("router_jitter_noise"),
    config_harmless("aux_loss_alpha"),
    config_harmless("seq_aux"),
    config_harmless("ep_size"),
    config_harmless("problem_type"),
    config_harmless("transformers.js_config"),
    config_only("is_encoder_decoder", 0),
    config_only("add_cross_attention", 0),
    config_only("clip_qkv", 0),
};

// Of Llama's form, which most others share.
constexpr std::array kSharedTensors = {
    TensorRow{"model.embed_tokens.weight", "token_embd.weight"},
    TensorRow{"model.norm.weight", "output_norm.weight"},
    TensorRow{"model.norm.bias", "output_norm.bias"},
    TensorRow{"lm_head.weight", "output.weight"},
    TensorRow{"lm_head.bias", "output.bias"},
    TensorRow{"score.weight", "cls.output.weight"},
    TensorRow{"score.bias", "cls.output.bias"},
    TensorRow{"model.layers.{}.input_layernorm.weight", "blk.{}.attn_norm.weight"},
    TensorRow{"model.layers.{}.input_layernorm.bias", "blk.{}.attn_norm.bias"},
    TensorRow{"model.layers.{}.post_attention_layernorm.weight", "blk.{}.ffn_norm.weight"},
    TensorRow{"model.layers.{}.post_attention_layernorm.bias", "blk.{}.ffn_norm.bias"},
    TensorRow{"model.layers.{}.self_attn.q_proj.weight", "blk.{}.attn_q.weight"},
    TensorRow{"model.layers.{}.self_attn.q_proj.bias", "blk.{}.attn_q.bias"},
    TensorRow{"model.layers.{}.self_attn.k_proj.weight", "blk.{}.attn_k.weight"},
    TensorRow{"model.layers.{}.self_attn.k_proj.bias", "blk.{}.attn_k.bias"},
    TensorRow{"model.layers.{}.self_attn.v_proj.weight", "blk.{}.attn_v.weight"},
    TensorRow{"model.layers.{}.self_attn.v_proj.bias", "blk.{}.attn_v.bias"},
    TensorRow{"model.layers.{}.self_attn.o_proj.weight", "blk.{}.attn_output.weight"},
    TensorRow{"model.layers.{}.self_attn.o_proj.bias", "blk.{}.attn_output.bias"},
    TensorRow{"model.layers.{}.self_attn.qkv_proj.weight", "blk.{}.attn_qkv.weight"},
    TensorRow{"model.layers.{}.self_attn.qkv_proj.bias", "blk.{}.attn_qkv.bias"},
    TensorRow{"model.layers.{}.self_attn.q_norm.weight", "blk.{}.attn_q_norm.weight"},
    TensorRow{"model.layers.{}.self_attn.k_norm.weight", "blk.{}.attn_k_norm.weight"},
    TensorRow{"model.layers.{}.mlp.gate_proj.weight", "blk.{}.ffn_gate.weight"},
    TensorRow{"model.layers.{}.mlp.gate_proj.bias", "blk.{}.ffn_gate.bias"},
    TensorRow{"model.layers.{}.mlp.up_proj.weight", "blk.{}.ffn_up.weight"},
    TensorRow{"model.layers.{}.mlp.up_proj.bias", "blk.{}.ffn_up.bias"},
    TensorRow{"model.layers.{}.mlp.gate_up_proj.weight", "blk.{}.ffn_up.weight"},
    TensorRow{"model.layers.{}.mlp.down_proj.weight", "blk.{}.ffn_down.weight"},
    TensorRow{"model.layers.{}.mlp.down_proj.bias", "blk.{}.ffn_down.bias"},
    // The frequencies that the configuration tells.
    TensorRow{"model.layers.{}.self_attn.rotary_emb.inv_freq", ""},
    TensorRow{"model.rotary_emb.inv_freq", ""},
};

struct Pattern {
  std::string text;                  // the name with "{}" for its first two numbers between dots
  std::vector<std::string> numbers;  // as many as there are
};

Pattern pattern_of(std::string_view name, size_t most = 2) {
  Pattern pattern;
  size_t copied = 0;
  for (size_t dot = name.find('.'); dot != std::string_view::npos && pattern.numbers.size() < most; dot = name.find('.', dot + 1)) {
    const size_t end = name.find('.', dot + 1);
    if (end == std::string_view::npos) break;
    const std::string_view piece = name.substr(dot + 1, end - dot - 1);
    const bool number = !piece.empty() && piece.size() < 10 &&
                        std::all_of(piece.begin(), piece.end(), [](char letter) { return letter >= '0' && letter <= '9'; });
    if (!number) continue;
    pattern.text += std::string(name.substr(copied, dot + 1 - copied)) + "{}";
    pattern.numbers.emplace_back(piece);
    copied = end;
  }
  pattern.text += name.substr(copied);
  return pattern;
}

const TensorRow* find_row(std::span<const TensorRow> rows, std::string_view pattern) {
  const auto row = std::find_if(rows.begin(), rows.end(), [&](const TensorRow& each) { return each.stored == pattern; });
  return row == rows.end() ? nullptr : &*row;
}

std::string with_layer(std::string_view canonical, const Pattern& pattern) {
  std::string name(canonical);
  if (const size_t at = name.find("{}"); at != std::string::npos && !pattern.numbers.empty()) name.replace(at, 2, pattern.numbers[0]);
  return name;
}

}  // namespace

std::span<const ConfigRow> shared_config_rows() { return kSharedConfig; }

namespace {

constexpr std::string_view kEmbedding = "token_embd.weight";

const TensorRow* find_row(const HuggingFaceForm& form, std::string_view name) {
  const Pattern pattern = pattern_of(name);
  if (const TensorRow* row = find_row(form.tensors, pattern.text)) return row;
  // T5's second number says what a part of the layer is.
  if (const TensorRow* row = find_row(form.tensors, pattern_of(name, 1).text)) return row;
  return find_row(kSharedTensors, pattern.text);
}

// Of the base model, whose tensors have it in a model with a head: "model.", "transformer.".
std::string_view base_prefix(const HuggingFaceForm& form) {
  for (const std::span<const TensorRow> rows : {form.tensors, std::span<const TensorRow>(kSharedTensors)}) {
    const auto row = std::find_if(rows.begin(), rows.end(), [](const TensorRow& each) { return each.canonical == kEmbedding; });
    if (row != rows.end()) return row->stored.substr(0, row->stored.find('.') + 1);
  }
  return {};
}

}  // namespace

std::string name_in_tables(std::string_view stored, const HuggingFaceForm& form) {
  // Around the text model, as transformers has called it.
  constexpr std::array<std::string_view, 5> kAround = {"", "language_model.", "model.language_model.", "model.text_model.", "text_model."};
  for (const std::string_view base : form.bases) {
    if (stored.starts_with(base) && find_row(form, stored.substr(base.size())) != nullptr) return std::string(stored.substr(base.size()));
  }
  const std::string_view base = base_prefix(form);
  for (const std::string_view around : kAround) {
    if (!stored.starts_with(around)) continue;
    const std::string_view inner = stored.substr(around.size());
    if (find_row(form, inner) != nullptr) return std::string(inner);
    if (std::string with_base = std::string(base) + std::string(inner); find_row(form, with_base) != nullptr) return with_base;
    if (inner.starts_with(base) && find_row(form, inner.substr(base.size())) != nullptr) return std::string(inner.substr(base.size()));
  }
  return std::string(stored);
}

std::string stored_name_of(std::string_view canonical, const HuggingFaceForm& form) {
  const Pattern pattern = pattern_of(canonical);
  for (const std::span<const TensorRow> rows : {form.tensors, std::span<const TensorRow>(kSharedTensors)}) {
    const auto row = std::find_if(rows.begin(), rows.end(), [&](const TensorRow& each) { return each.canonical == pattern.text; });
    if (row != rows.end()) return with_layer(row->stored, pattern);
  }
  return {};
}

namespace {

// MLX stores experts as one stack: the row of one of them; nullptr for another tensor.
const TensorRow* find_stack_row(std::string_view stored, const HuggingFaceForm& form, std::string& name) {
  constexpr std::string_view kStack = ".switch_mlp.", kExpert = ".experts.0.";
  constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kOtherNames = {
      {{"gate_proj", "w1"}, {"down_proj", "w2"}, {"up_proj", "w3"}}};
  const size_t at = stored.find(kStack);
  if (at == std::string_view::npos) return nullptr;
  const std::string expert = std::string(stored).replace(at, kStack.size(), kExpert);
  name = name_in_tables(expert, form);
  if (const TensorRow* row = find_row(form, name)) return row;
  for (const auto& [mlx, other] : kOtherNames) {
    const size_t part = expert.find(mlx, at);
    if (part == std::string::npos) continue;
    name = name_in_tables(std::string(expert).replace(part, mlx.size(), other), form);
    return find_row(form, name);
  }
  return nullptr;
}

}  // namespace

CanonicalTensor canonical_tensor(std::string_view stored, const HuggingFaceForm& form) {
  std::string name;
  if (const TensorRow* stack = find_stack_row(stored, form, name))
    return {.name = with_layer(stack->canonical, pattern_of(name)), .second = {}, .form = stack->form};
  name = name_in_tables(stored, form);
  const TensorRow* row = find_row(form, name);
  if (row == nullptr) return {.name = std::string(stored), .second = {}};
  const Pattern pattern = pattern_of(name);
  CanonicalTensor tensor{.name = with_layer(row->canonical, pattern), .second = with_layer(row->second, pattern), .form = row->form};
  const bool has_two = row->stored.find("{}", row->stored.find("{}") + 2) != std::string_view::npos;
  if (pattern.numbers.size() > 1 && has_two) tensor.expert = std::stoll(pattern.numbers[1]);
  if (row->form == StoredForm::stacked) {
    tensor.expert = row->second.front() - '0';
    tensor.second.clear();
    return tensor;
  }
  // A stack of the whole model, but for what only the first layer has.
  const bool of_layer = row->stored.starts_with("model.layers.");
  if (pattern.numbers.size() == 1 && !of_layer && row->canonical.find("{}") == std::string_view::npos)
    tensor.expert = std::stoll(pattern.numbers[0]);
  return tensor;
}

}  // namespace wick
