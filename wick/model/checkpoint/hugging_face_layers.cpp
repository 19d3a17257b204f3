// config.json by canonical keys: what differs from layer to layer, and sizes that are computed from others.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wick/base/fail.h"
#include "wick/base/json.h"
#include "wick/base/log.h"
#include "wick/model/checkpoint/hugging_face.h"
#include "wick/model/checkpoint/hugging_face_translator.h"
#include "wick/model/checkpoint/multipliers.h"

namespace wick {
namespace {

// More layers than any model has.
constexpr uint64_t kMaxConfigLayers = 1 << 12;

// RecurrentGemma's.
constexpr const char* kBlockTypes = "block_types";

using LayerKind = ConfigTranslator::LayerKind;

std::optional<LayerKind> layer_kind_of(std::string_view word) {
  if (word == "full_attention" || word == "attention" || word == "*") return LayerKind::attention;
  constexpr std::array<std::string_view, 5> kRecurrent = {"conv", "mamba", "linear_attention", "recurrent", "M"};
  if (std::find(kRecurrent.begin(), kRecurrent.end(), word) != kRecurrent.end()) return LayerKind::recurrent;
  if (word == "mlp" || word == "-") return LayerKind::feed_forward;
  if (word == "moe" || word == "E") return LayerKind::experts;
  return std::nullopt;
}

// Below which a normal distribution has this share: -∞ for none.
double normal_quantile(double share) {
  if (share <= 0) return -std::numeric_limits<double>::infinity();
  double low = -40, high = 40;
  constexpr int kHalvings = 100;
  for (int step = 0; step < kHalvings; ++step) {
    const double middle = (low + high) / 2;
    (std::erfc(-middle / std::sqrt(2.0)) / 2 < share ? low : high) = middle;
  }
  return low;
}

}  // namespace

// Lists are read where they are not the usual ones, which GGUF files leave out; a list counts more than a number.
void ConfigTranslator::translate_layer_flags(const ConfigRow& row, const Json& value) {
  if (value.is_null() || (value.is_array() && value.empty())) return;
  const auto usual = static_cast<uint64_t>(row.neutral);
  std::vector<bool> flags;
  if (value.is_array()) {
    for (const Json& flag : value) {
      const std::optional<double> number = number_of(flag);
      if (number != 0 && number != 1) refuse(std::string(row.key), shown(value), "a list of 0 and 1, one for each layer, is needed");
      flags.push_back(number == 1);
    }
  } else {
    const uint64_t period = whole_number(std::string(row.key), value);
    const Json* layers = find("num_hidden_layers");
    if (has(row.canonical) || layers == nullptr) return;
    const uint64_t count = std::min(whole_number("num_hidden_layers", *layers), kMaxConfigLayers);
    for (uint64_t layer = 0; layer < count; ++layer) flags.push_back((layer + 1) % period != 0);
  }
  bool is_usual = true;
  for (size_t layer = 0; layer < flags.size(); ++layer) is_usual = is_usual && flags[layer] == ((layer + 1) % usual != 0);
  if (is_usual) {
    std::erase_if(result_.metadata, [&](const auto& entry) { return entry.first == canonical_key(row.canonical); });
    return;
  }
  add_flags(row.canonical, std::string(row.key), flags);
}

// Qwen 2.5's way to contexts beyond what it was trained on (An et al. 2024): within the first chunk its scores are the usual ones.
void ConfigTranslator::translate_dual_chunks() {
  const char* const name = "dual_chunk_attention_config";
  const Json* config = find(name);
  if (config == nullptr || says_nothing(*config)) return;
  if (!config->is_object()) refuse(name, shown(*config), "an object is needed");
  const double chunk = positive(name, *config, "chunk_size"), local = positive(name, *config, "local_size");
  if (chunk <= local) refuse(std::string(name) + ".chunk_size", shown(config->at("chunk_size")), "it must be above local_size");
  const GgufValue* context = result_.find(canonical_key("context_length"));
  const auto within = static_cast<uint64_t>(chunk - local);
  if (context == nullptr || as_uint(*context).value_or(0) <= within) return;
  log_warning("{}: {}{} is not computed: the context ends at {} tokens, where attention by chunks would begin", name_, prefix_, name,
              within);
  add("context_length", std::string(name) + ".chunk_size", {within});
}

// Which layers of sparse attention have an indexer, where others take the choice of the one before them (GLM 5.2): a list of words, a text
// of letters, or a number n: each n-th after the first ones, which all have one.
void ConfigTranslator::translate_indexers() {
  if (!has_own_row("indexer_types")) return;
  const char* name = "index_topk_freq";
  for (const char* each : {"index_topk_pattern", "indexer_types"}) {
    if (find(each) != nullptr) name = each;
  }
  const Json* value = find(name);
  if (value == nullptr) return;
  std::vector<bool> full;
  if (value->is_number()) {
    const uint64_t period = whole_number(name, *value);
    const Json* first = find("index_skip_topk_offset");
    const uint64_t before = first == nullptr ? 2 : whole_number("index_skip_topk_offset", *first);
    for (uint64_t layer = 0; layer < layer_count(); ++layer) full.push_back(layer < before || (layer + 1 - before) % period == 0);
  } else {
    Json words = value->is_string() ? Json::array() : *value;
    if (value->is_string()) {
      for (const char letter : value->get_ref<const std::string&>()) words.push_back(std::string(1, letter));
    }
    if (!words.is_array()) refuse(name, shown(*value), "a list is needed");
    for (const Json& word : words) {
      full.push_back(word == "full" || word == "F");
      if (!full.back() && word != "shared" && word != "S") refuse(name, shown(word), "this version knows full and shared, or F and S");
    }
    if (full.size() != layer_count()) {
      refuse(name, fmt::format("{} layers", full.size()), fmt::format("num_hidden_layers = {}", layer_count()));
    }
    if (!full.empty() && !full.front()) refuse(name, shown(words.front()), "the first layer needs an indexer of its own");
  }
  add_flags("attention.indexer.types", name, full);
}

// Where the configuration of an encoder–decoder does not say what a target begins with, it is BOS, as in transformers.
void ConfigTranslator::translate_decoder_start() {
  constexpr const char* kStart = "decoder_start_token_id";
  const Json* bos = find("bos_token_id");
  if (!result_.architecture->encoder_decoder || has(kStart) || bos == nullptr || !bos->is_number_unsigned()) return;
  add_json(kStart, "bos_token_id", *bos);
}

void ConfigTranslator::add_kind(LayerKinds& kinds, const std::string& key, const Json& value, std::string_view word) const {
  const std::optional<LayerKind> kind = layer_kind_of(word);
  if (!kind) {
    refuse(key, shown(value),
           "this version knows full_attention, attention, conv, mamba, linear_attention, recurrent, mlp and moe for a layer");
  }
  kinds.origin = key;
  kinds.kinds.push_back(*kind);
}

// By a word, or a letter, for each layer.
ConfigTranslator::LayerKinds ConfigTranslator::kinds_by_words() const {
  LayerKinds kinds;
  const auto add_list = [&](const char* key, const Json& types) {
    if (!types.is_array()) refuse(key, shown(types), "a list is needed");
    for (const Json& type : types) add_kind(kinds, key, type, type.is_string() ? type.get_ref<const std::string&>() : "");
  };
  for (const char* key : {"layer_types", "layers_block_type"}) {
    if (const Json* types = find(key); types != nullptr && kinds.kinds.empty()) add_list(key, *types);
  }
  if (const Json* pattern = find("hybrid_override_pattern"); kinds.kinds.empty() && pattern != nullptr) {
    if (!pattern->is_string()) refuse("hybrid_override_pattern", shown(*pattern), "a text with a letter for each layer is needed");
    for (const char letter : pattern->get_ref<const std::string&>())
      add_kind(kinds, "hybrid_override_pattern", *pattern, std::string_view(&letter, 1));
  }
  if (!kinds.kinds.empty() || !has_own_row(kBlockTypes) || find("num_hidden_layers") == nullptr) return kinds;
  // Of the first layers, again and again.
  const Json* types = find(kBlockTypes);
  add_list(kBlockTypes, types == nullptr ? Json{"recurrent", "recurrent", "attention"} : *types);
  if (kinds.kinds.empty()) refuse(kBlockTypes, shown(*types), "a kind of layer is needed");
  const std::vector<LayerKind> pattern = std::exchange(kinds.kinds, {});
  for (uint64_t layer = 0; layer < layer_count(); ++layer) kinds.kinds.push_back(pattern[layer % pattern.size()]);
  return kinds;
}

// By lists of the layers that attend, or of a number for each layer.
ConfigTranslator::LayerKinds ConfigTranslator::kinds_by_numbers() const {
  const std::vector<LayerKind> all_recurrent(layer_count(), LayerKind::recurrent);
  const auto marked = [&](const std::string& origin, const Json& full, uint64_t first, std::string_view want) {
    LayerKinds kinds{origin, all_recurrent};
    if (!full.is_array()) refuse(origin, shown(full), "a list is needed");
    for (const Json& index : full) {
      const bool fits = index.is_number_unsigned() && index.get<uint64_t>() >= first && index.get<uint64_t>() - first < kinds.kinds.size();
      if (!fits) refuse(origin, shown(full), fmt::format("numbers of the {} layers{} are needed", kinds.kinds.size(), want));
      kinds.kinds[index.get<size_t>() - first] = LayerKind::attention;
    }
    return kinds;
  };
  for (const char* key : {"full_attn_idxs", "attn_layer_indices"}) {
    if (const Json* full = find(key)) return marked(key, *full, 0, "");
  }
  // Kimi's, which count layers from 1.
  if (const Json* linear = find("linear_attn_config"); linear != nullptr && linear->is_object()) {
    LayerKinds kinds = marked("linear_attn_config.full_attn_layers", linear->value("full_attn_layers", Json()), 1, ", from 1 on,");
    Json others = Json::array();
    for (size_t layer = 0; layer < kinds.kinds.size(); ++layer) {
      if (kinds.kinds[layer] == LayerKind::recurrent) others.push_back(layer + 1);
    }
    const auto said = linear->find("kda_layers");
    if (said != linear->end() && *said != others) {
      refuse("linear_attn_config.kda_layers", shown(*said), fmt::format("the layers that full_attn_layers has not are {}", shown(others)));
    }
    return kinds;
  }
  LayerKinds kinds;
  if (const Json* types = find("attn_type_list"); types != nullptr && has_own_row("attn_type_list")) {
    kinds.origin = "attn_type_list";
    if (!types->is_array()) refuse(kinds.origin, shown(*types), "a list is needed");
    for (const Json& type : *types) {
      if (type != 0 && type != 1) refuse(kinds.origin, shown(*types), "want 1 for a layer that attends, and 0 for one with a state");
      kinds.kinds.push_back(type == 1 ? LayerKind::attention : LayerKind::recurrent);
    }
  }
  return kinds;
}

ConfigTranslator::LayerKinds ConfigTranslator::kinds_by_period() const {
  const Json* period = find("attn_layer_period");
  if (period == nullptr) return {};
  LayerKinds kinds{.origin = "attn_layer_period"};
  const uint64_t each = whole_number(kinds.origin, *period);
  const Json* first = find("attn_layer_offset");
  if (first != nullptr && (!first->is_number_unsigned() || first->get<uint64_t>() >= each)) {
    refuse("attn_layer_offset", shown(*first), fmt::format("a whole number below attn_layer_period = {} is needed", each));
  }
  const uint64_t offset = first == nullptr ? 0 : first->get<uint64_t>();
  for (uint64_t layer = 0; layer < layer_count(); ++layer) {
    kinds.kinds.push_back(layer % each == offset ? LayerKind::attention : LayerKind::recurrent);
  }
  return kinds;
}

uint64_t ConfigTranslator::layer_count() const {
  const Json* layers = find("num_hidden_layers");
  return layers == nullptr ? 0 : std::min(whole_number("num_hidden_layers", *layers), kMaxConfigLayers);
}

// Which layers attend: GGUF files say it by key/value heads of each, and by feed-forward widths where a layer is one thing alone.
void ConfigTranslator::translate_layer_kinds() {
  const Json* heads = find("num_attention_heads");
  if (heads == nullptr) return;
  const auto kv_heads =
      static_cast<int32_t>(result_.architecture->hugging_face.splits_latent_heads ? 1
                           : find("num_key_value_heads") == nullptr               ? whole_number("num_attention_heads", *heads)
                                                                    : whole_number("num_key_value_heads", *find("num_key_value_heads")));
  const Json* layers = find("num_hidden_layers");
  LayerKinds found = kinds_by_words();
  if (found.kinds.empty() && layers != nullptr) found = kinds_by_numbers();
  if (found.kinds.empty() && layers != nullptr) found = kinds_by_period();
  const auto& [origin, kinds] = found;
  if (kinds.empty()) return;
  if (layers != nullptr && whole_number("num_hidden_layers", *layers) != kinds.size()) {
    refuse(origin, fmt::format("{} layers", kinds.size()), fmt::format("num_hidden_layers = {}", shown(*layers)));
  }
  if (layers == nullptr) add("block_count", origin, {static_cast<uint64_t>(kinds.size())});
  if (has_own_row("full_attention_interval")) return add_recurrent_layers(origin, kinds);
  const auto has_kind = [&](LayerKind kind) { return std::find(kinds.begin(), kinds.end(), kind) != kinds.end(); };
  if (has_kind(LayerKind::experts) && !has_own_row("moe_intermediate_size"))
    refuse(origin, "moe", fmt::format("{} has no such layers", result_.architecture->name));
  const bool single = has_kind(LayerKind::feed_forward) || origin == "layers_block_type" || origin == "hybrid_override_pattern";
  std::vector<int32_t> kv_heads_of, widths;
  const Json* width = find("intermediate_size");
  for (const LayerKind kind : kinds) {
    kv_heads_of.push_back(kind == LayerKind::attention ? kv_heads : 0);
    if (single && width != nullptr) {
      const char* const key = kind == LayerKind::experts ? "moe_intermediate_size" : "intermediate_size";
      const bool has_width = kind == LayerKind::experts || kind == LayerKind::feed_forward;
      const Json* own = find(key);
      if (has_width && own == nullptr) refuse(key, "null", "layers of that kind need it");
      widths.push_back(has_width ? static_cast<int32_t>(whole_number(key, *own)) : 0);
    }
  }
  add_sizes("attention.head_count_kv", origin, kv_heads_of);
  // A configuration may have sizes of experts that no layer has.
  if (has_own_row("moe_latent_size") && !has_kind(LayerKind::experts)) {
    std::erase_if(result_.metadata, [&](const auto& entry) { return entry.first.starts_with(canonical_key("expert_")); });
  }
  if (!widths.empty()) add_sizes("feed_forward_length", origin, widths);
}

// As a number n where each n-th layer attends.
void ConfigTranslator::add_recurrent_layers(const std::string& origin, const std::vector<LayerKind>& kinds) {
  std::vector<bool> recurrent;
  for (const LayerKind kind : kinds) recurrent.push_back(kind != LayerKind::attention);
  const auto first = std::find(recurrent.begin(), recurrent.end(), false) - recurrent.begin();
  bool regular = true;
  for (ptrdiff_t layer = 0; layer < std::ssize(recurrent); ++layer) {
    regular = regular && recurrent[static_cast<size_t>(layer)] == ((layer + 1) % (first + 1) != 0);
  }
  if (regular) return add("full_attention_interval", origin, {static_cast<uint64_t>(first + 1)});
  add_flags("attention.recurrent_layers", origin, recurrent);
}

// The inner size of Mamba 2's layers, which configurations give by heads; and a range of time steps that is no range.
void ConfigTranslator::translate_state_sizes() {
  if (const Json* limit = find("time_step_limit")) {
    const bool open = limit->is_array() && limit->size() == 2 && number_of(limit->at(0)) == 0 && !limit->at(1).is_number();
    if (!open) refuse("time_step_limit", shown(*limit), "this version runs what does not limit the steps, [0, Infinity]");
  }
  // transformers writes its version where it saves a model: it is what that version computed. Published models have been trained with
  // groups.
  if (const Json* version = find("transformers_version"); version != nullptr && version->is_string()) {
    const auto& text = version->get_ref<const std::string&>();
    int minor = -1;
    if (text.starts_with("5.")) std::from_chars(text.data() + 2, text.data() + text.size(), minor);
    constexpr int kLastWhole = 17;
    result_.whole_state_norm = result_.architecture->hugging_face.state_norm_by_version && minor >= 0 && minor <= kLastWhole;
  }
  if (const std::string_view key = result_.architecture->hugging_face.step_rank; !key.empty()) translate_selective_scan(std::string(key));
  if (has_own_row("position_embedding_type")) {
    const Json* type = find("position_embedding_type");
    if (type != nullptr || !has("rope.scaling.finetuned")) {
      add("rope.scaling.finetuned", "position_embedding_type", {type != nullptr && *type == "rope"});
    }
  }
  // Where no experts are chosen, those that all tokens share are the feed-forward part.
  if (const uint64_t shared = added("expert_shared_feed_forward_length"); shared > 0 && added("expert_count") == 0) {
    add("feed_forward_length", result_.origins[canonical_key("expert_shared_feed_forward_length")], {shared});
  }
  const uint64_t heads = added("ssm.time_step_rank"), head_dim = added("ssm.head_dim");
  if (has("ssm.head_dim") && (head_dim == 0 || head_dim >= kSizeLimit)) {
    const std::string& origin = result_.origins[canonical_key("ssm.head_dim")];
    const Json* said = find(origin.c_str());
    refuse(origin, said == nullptr ? "nothing" : shown(*said), fmt::format("a whole number from 1 to {} is needed", kSizeLimit - 1));
  }
  if (heads > 0 && head_dim > 0 && heads < kSizeLimit) {
    add("ssm.inner_size", result_.origins[canonical_key("ssm.head_dim")], {heads * head_dim});
    check_inner_size(heads * head_dim);
  }
  std::erase_if(result_.metadata, [&](const auto& entry) { return entry.first == canonical_key("ssm.head_dim"); });
}

// Mamba 2's inner size, where a configuration gives it once more: as it is, or as a multiple of the hidden size. Nemotron-H's multiple is
// of no layer.
void ConfigTranslator::check_inner_size(uint64_t inner) const {
  if (has_own_row("mamba_num_heads")) return;
  const auto origin = [&](const char* canonical) { return result_.origins.find(canonical_key(canonical))->second; };
  const std::string heads = fmt::format("{} · {} is {}", origin("ssm.time_step_rank"), origin("ssm.head_dim"), inner);
  const auto whole = static_cast<double>(inner);
  if (const Json* said = find("mamba_d_ssm")) {
    if (number_of(*said) != whole) refuse("mamba_d_ssm", shown(*said), heads);
    return;
  }
  const char* const name = has_own_row("mamba_expand") ? "mamba_expand" : "expand";
  const Json* expand = has_own_row(name) ? find(name) : nullptr;
  if (expand == nullptr) return;
  const double multiple = number_of(*expand).value_or(0) * static_cast<double>(added("embedding_length"));
  if (multiple != whole) {
    refuse(name, shown(*expand), fmt::format("times hidden_size it is {}, and {}", multiple, heads));
  }
}

// Mamba's sizes, which configurations give as multiples and parts of the hidden size.
void ConfigTranslator::translate_selective_scan(const std::string& key) {
  const uint64_t hidden = added("embedding_length");
  const Json* rank = find(key.c_str());
  constexpr uint64_t kColumnsOfRank = 16;
  const bool computed = rank == nullptr || *rank == "auto";
  add("ssm.time_step_rank", key, {computed ? (hidden + kColumnsOfRank - 1) / kColumnsOfRank : whole_number(key, *rank)});
  const char* expand = find("mamba_expand") != nullptr ? "mamba_expand" : "expand";
  const double inner = (find(expand) == nullptr ? 2 : positive("", json_, expand)) * static_cast<double>(hidden);
  if (!(inner >= 1) || inner > static_cast<double>(kSizeLimit) || inner != std::floor(inner))
    refuse(expand, fmt::format("{}", inner), "the inner size must be a whole number");
  add("ssm.inner_size", expand, {static_cast<uint64_t>(inner)});
}

void ConfigTranslator::translate_adjusted_width() {
  if (result_.architecture->hugging_face.halves_width && find("intermediate_size") != nullptr) {
    const uint64_t both = whole_number("intermediate_size", *find("intermediate_size"));
    if (both % 2 != 0) refuse("intermediate_size", shown(*find("intermediate_size")), "gate and up have half of it: want an even number");
    return add("feed_forward_length", "intermediate_size", {both / 2});
  }
  if (!result_.architecture->hugging_face.adjusts_width) return;
  const Json* adjust = find("block_auto_adjust_ff_dim");
  if (adjust != nullptr && *adjust == false) return;
  const char* key = find("block_ff_dim") != nullptr ? "block_ff_dim" : "intermediate_size";
  const Json* width = find(key);
  if (width == nullptr) return;
  const uint64_t said = whole_number(key, *width);
  const double factor = find("block_ffn_dim_multiplier") == nullptr ? 1 : positive("", json_, "block_ffn_dim_multiplier");
  const uint64_t multiple = find("block_multiple_of") == nullptr ? 256 : whole_number("block_multiple_of", *find("block_multiple_of"));
  const uint64_t gated = 2 * said / 3;
  const double scaled = std::floor(factor * static_cast<double>(gated));
  if (!(scaled >= 1) || scaled > 1e9) refuse("block_ffn_dim_multiplier", fmt::format("{}", factor), "the width is out of range");
  add("feed_forward_length", key, {(static_cast<uint64_t>(scaled) + multiple - 1) / multiple * multiple});
}

// Heads of layers without a window, where they are not those of the others: GGUF files name the windows' apart. Layers that share keys and
// values may have feed-forward parts of twice the width.
void ConfigTranslator::translate_global_heads() {
  if (!has_own_row("global_head_dim")) return;
  constexpr uint64_t kGlobalHeadDim = 512;
  const Json* types = find("layer_types");
  const uint64_t local = added("attention.key_length");
  uint64_t global = find("global_head_dim") != nullptr ? whole_number("global_head_dim", *find("global_head_dim")) : kGlobalHeadDim;
  const Json* shares_keys = find("attention_k_eq_v");
  const Json* global_kv = shares_keys != nullptr && *shares_keys == true ? find("num_global_key_value_heads") : nullptr;
  // By the numbers of layers, in later configurations.
  if (const Json* own = find("per_layer_config"); own != nullptr) {
    if (!own->is_object()) refuse("per_layer_config", shown(*own), "an object is needed");
    global = local;
    for (const auto& [layer, values] : own->items()) {
      const bool known = values.is_object() && std::all_of(values.items().begin(), values.items().end(), [](const auto& entry) {
                           return entry.key() == "head_dim" || entry.key() == "num_key_value_heads";
                         });
      if (!known) refuse("per_layer_config." + layer, shown(values), "this version knows head_dim and num_key_value_heads there");
      if (const auto dim = values.find("head_dim"); dim != values.end()) global = whole_number("per_layer_config." + layer, *dim);
      if (const auto heads = values.find("num_key_value_heads"); heads != values.end()) global_kv = &*heads;
    }
  }
  if (local == 0) return;  // the architecture's own
  add("attention.key_length", "global_head_dim", {global});
  for (const char* name : {"attention.key_length_swa", "attention.value_length_swa", "rope.dimension_count_swa"})
    add(name, "head_dim", {local});
  const uint64_t kv_heads = added("attention.head_count_kv"), layers = std::min(added("block_count"), kMaxConfigLayers);
  if (global_kv != nullptr && types != nullptr && types->is_array()) {
    const uint64_t own = whole_number("num_global_key_value_heads", *global_kv);
    std::vector<int32_t> each;
    for (const Json& type : *types) each.push_back(static_cast<int32_t>(type == "sliding_attention" ? kv_heads : own));
    if (own != kv_heads) add_sizes("attention.head_count_kv", "num_global_key_value_heads", each);
  }
  const Json* wide = find("use_double_wide_mlp");
  const uint64_t width = added("feed_forward_length"), shared = added("attention.shared_kv_layers");
  if (wide == nullptr || *wide != true || width == 0 || width >= kSizeLimit / 2) return;
  std::vector<int32_t> widths;
  for (uint64_t layer = 0; layer < layers; ++layer) widths.push_back(static_cast<int32_t>(layer + shared < layers ? width : 2 * width));
  add_sizes("feed_forward_length", "use_double_wide_mlp", widths);
}

// The share of a layer's gates that are 0, as the number of standard deviations above the mean that a gate must be of a normal
// distribution.
void ConfigTranslator::translate_sparsity() {
  const Json* shares = has_own_row("activation_sparsity_pattern") ? find("activation_sparsity_pattern") : nullptr;
  if (shares == nullptr) return;
  std::vector<float> cutoffs;
  for (uint64_t layer = 0; layer < std::min(added("block_count"), kMaxConfigLayers); ++layer) {
    const Json* share = !shares->is_array() ? shares : layer < shares->size() ? &shares->at(layer) : nullptr;
    const std::optional<double> number = share == nullptr ? std::nullopt : number_of(*share);
    if (!number || !(*number >= 0) || *number >= 1)
      refuse("activation_sparsity_pattern", shown(*shares), "a number below 1 for each layer is needed");
    cutoffs.push_back(static_cast<float>(normal_quantile(*number)));
  }
  const auto numbers = std::as_bytes(std::span(cutoffs));
  const std::vector<std::byte>& bytes = values_->arrays.emplace_back(numbers.begin(), numbers.end());
  add("activation_sparsity_scale", "activation_sparsity_pattern",
      {GgufArray{.element_type = GgufType::f32, .size = cutoffs.size(), .packed = bytes, .strings = {}, .arrays = {}}});
}

// Falcon-H1's factors of what matrices read or give, by the names of the matrices.
void ConfigTranslator::translate_multipliers() {
  if (!has_own_row("ssm_multipliers")) return;
  bool neutral = true;
  const auto factors_of = [&](const char* key, size_t count) {
    std::vector<double> factors(count, 1);
    const Json* value = find(key);
    if (value == nullptr) return factors;
    const Json list = value->is_array() ? *value : Json::array({*value});
    if (list.size() != count) refuse(key, shown(*value), fmt::format("{} numbers are needed", count));
    for (size_t index = 0; index < count; ++index) {
      const std::optional<double> number = list[index].is_boolean() ? std::nullopt : number_of(list[index]);
      if (!number || !std::isfinite(*number)) refuse(key, shown(*value), "numbers are needed");
      factors[index] = *number;
      neutral = neutral && *number == 1;
    }
    return factors;
  };
  const auto factor_of = [&](const char* key) { return factors_of(key, 1)[0]; };
  constexpr size_t kParts = 5;  // of ssm_in
  const double attention = factor_of("attention_in_multiplier"), key = factor_of("key_multiplier");
  const double embedding = factor_of("embedding_multiplier"), head = factor_of("lm_head_multiplier");
  const std::vector<double> inner = factors_of("mlp_multipliers", 2), parts = factors_of("ssm_multipliers", kParts);
  const double states = factor_of("ssm_in_multiplier");
  const std::pair<const char*, double> products[] = {{"attn_q.weight", attention},
                                                     {"attn_k.weight", attention * key},
                                                     {"attn_v.weight", attention},
                                                     {"attn_output.weight", factor_of("attention_out_multiplier")},
                                                     {"ssm_out.weight", factor_of("ssm_out_multiplier")},
                                                     {"ffn_gate.weight", inner[0]},
                                                     {"ffn_down.weight", inner[1]},
                                                     {"token_embd.weight", embedding},
                                                     {"output.weight", head}};
  if (neutral) return;
  if (result_.quantization) refuse("ssm_multipliers", shown(*find("ssm_multipliers")), "this version multiplies no quantized matrices");
  if (result_.tied && embedding != head) refuse("tie_word_embeddings", "true", "embedding and head have different multipliers");
  if (result_.attention_bias.value_or(false)) refuse("attention_bias", "true", "this version multiplies no biases");
  for (const auto& [name, factor] : products) {
    if (factor != 1) result_.metadata.emplace_back(std::string(kMultiplier) + name, GgufValue{factor});
  }
  std::vector<float> of_parts;
  for (const double part : parts) of_parts.push_back(static_cast<float>(part * states));
  const auto numbers = std::as_bytes(std::span(of_parts));
  const std::vector<std::byte>& bytes = values_->arrays.emplace_back(numbers.begin(), numbers.end());
  result_.metadata.emplace_back(
      std::string(kMultiplier) + "ssm_in.weight",
      GgufValue{GgufArray{.element_type = GgufType::f32, .size = kParts, .packed = bytes, .strings = {}, .arrays = {}}});
}

void ConfigTranslator::translate_windows() {
  const char* const name = has_own_row("local_attention") ? "local_attention" : "sliding_window";
  const Json* window = find(name);
  const Json* use = find("use_sliding_window");
  if (window == nullptr || (use != nullptr && *use == false)) {
    // Said, and none: that is not what a missing key means.
    if (json_.contains(name)) add_number("attention.sliding_window", name, 0);
    return;
  }
  if (number_of(*window) == 0) refuse(name, shown(*window), "a number of positions is needed, or null for no window");
  add_json("attention.sliding_window", name, *window);
  const char* const canonical = "attention.sliding_window_pattern";
  if (const Json* types = find("layer_types")) {
    if (!types->is_array()) refuse("layer_types", shown(*types), "a list is needed");
    std::vector<bool> flags;
    for (const Json& type : *types) {
      if (type != "sliding_attention" && type != "full_attention") {
        refuse("layer_types", shown(type), "this version knows full_attention and sliding_attention");
      }
      flags.push_back(type == "sliding_attention");
    }
    return add_flags(canonical, "layer_types", flags);
  }
  if (const Json* pattern = find("sliding_window_pattern")) return add_json(canonical, "sliding_window_pattern", *pattern);
  // Qwen's: the first layers have no window.
  const Json* full = has_own_row("max_window_layers") ? nullptr : find("max_window_layers");
  const Json* layers = find("num_hidden_layers");
  if (use == nullptr || full == nullptr || layers == nullptr || !full->is_number_unsigned() || !layers->is_number_unsigned()) return;
  if (layers->get<uint64_t>() > kMaxConfigLayers) return;
  std::vector<bool> flags;
  for (uint64_t layer = 0; layer < layers->get<uint64_t>(); ++layer) flags.push_back(layer >= full->get<uint64_t>());
  add_flags(canonical, "max_window_layers", flags);
}

}  // namespace wick
