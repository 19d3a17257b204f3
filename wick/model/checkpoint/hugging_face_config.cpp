// config.json by canonical keys: what every architecture's keys go through.
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "wick/base/fail.h"
#include "wick/base/json.h"
#include "wick/base/log.h"
#include "wick/formats/printable.h"
#include "wick/formats/strict_json.h"
#include "wick/model/checkpoint/classifier.h"
#include "wick/model/checkpoint/hugging_face.h"
#include "wick/model/checkpoint/hugging_face_families.h"
#include "wick/model/checkpoint/hugging_face_quantization.h"
#include "wick/model/checkpoint/hugging_face_translator.h"

namespace wick {
namespace {

using Json = nlohmann::json;

constexpr size_t kMaxBytes = 16 << 20;
constexpr int kMaxDepth = 32;
constexpr uint64_t kMaxLabels = 1 << 20;
constexpr const char* kBothWays = "use_bidirectional_attention";

// Parts of the names of keys that describe arithmetic: one that no table has is refused, where another is ignored with a warning.
constexpr std::array<std::string_view, 22> kArithmetic = {
    "attention", "attn", "rope",     "rotary", "scal",     "multiplier", "softcap", "norm",       "bias",   "window", "expert",
    "moe",       "clip", "position", "alibi",  "parallel", "qk_",        "_act",    "activation", "layers", "mscale", "hidden"};

// What scores, rows and logits are multiplied with or divided by.
constexpr std::array<std::string_view, 5> kFactors = {"attention.scale", "embedding_scale", "expert_weights_scale", "logit_scale",
                                                      "residual_scale"};

}  // namespace

std::string ConfigTranslator::shown(const Json& value) {
  std::string text = ascii_json_text(value);
  if (text.size() > 80) text = text.substr(0, 80) + "…";
  return text;
}

bool ConfigTranslator::says_nothing(const Json& value) {
  if (value.is_null()) return true;
  if (value.is_boolean()) return !value.get<bool>();
  if (value.is_number()) return value.get<double>() == 0;
  return (value.is_string() && value.get_ref<const std::string&>().empty()) || (value.is_structured() && value.empty());
}

std::optional<double> ConfigTranslator::number_of(const Json& value) {
  if (value.is_boolean()) return value.get<bool>() ? 1 : 0;
  if (value.is_number()) return value.get<double>();
  return std::nullopt;
}

bool ConfigTranslator::is_everywhere(const Json& value, double number) {
  if (!value.is_array()) return number_of(value) == number;
  return std::all_of(value.begin(), value.end(), [&](const Json& each) { return number_of(each) == number; });
}

TranslatedConfig ConfigTranslator::translate() {
  result_.architecture = &find_own_architecture();
  result_.values = values_;
  result_.metadata.emplace_back("general.architecture", GgufValue{result_.architecture->name});
  result_.origins.emplace("general.architecture", "architectures");
  for (const auto& [key, value] : json_.items()) translate_key(key, value);
  add_classifier();
  add_values_of_class();
  translate_decoder_start();
  translate_rope();
  translate_dual_chunks();
  translate_indexers();
  if (result_.architecture->recurrent) {
    translate_layer_kinds();
    translate_state_sizes();
  }
  translate_adjusted_width();
  translate_windows();
  translate_global_heads();
  translate_sparsity();
  read_flags();
  translate_multipliers();
  add_defaults();
  if (!prefix_.empty()) {
    for (auto& [key, origin] : result_.origins) origin.insert(0, prefix_);
  }
  if (!unknown_.empty()) {
    const size_t count = unknown_.size();
    unknown_.resize(std::min<size_t>(count, 4));
    log_warning("{}: {} keys are not known and are ignored: {}{}", name_, count, fmt::join(unknown_, ", "),
                count > unknown_.size() ? ", …" : "");
  }
  return std::move(result_);
}

const Architecture& ConfigTranslator::find_own_architecture() {
  const Json* classes = find("architectures");
  if (classes == nullptr || !classes->is_array() || classes->empty() || !classes->front().is_string()) {
    std::vector<std::string> known;
    for (const Architecture* architecture : architectures()) {
      for (const std::string_view each : architecture->hugging_face.classes) known.emplace_back(each);
    }
    fail(ErrorCode::corrupt_file, "{}: no list 'architectures' with the name of a class; this version runs {}", name_,
         fmt::join(known, ", "));
  }
  const auto& name = classes->front().get_ref<const std::string&>();
  class_ = class_with_head(name);
  result_.base_class = class_ != name;
  result_.classifies = result_.base_class && name.ends_with(kClassifier);
  if (const Architecture* found = find_architecture_of_class(class_)) return *found;
  fail_class(name_, "architectures", name);
}

bool ConfigTranslator::is_special(std::string_view key) const {
  constexpr std::array<std::string_view, 21> kSpecial = {"architectures",
                                                         kBothWays,
                                                         "time_step_limit",
                                                         "is_causal",
                                                         "dual_chunk_attention_config",
                                                         "tie_word_embeddings",
                                                         "rope_theta",
                                                         "rope_scaling",
                                                         "rope_parameters",
                                                         "partial_rotary_factor",
                                                         "sliding_window",
                                                         "use_sliding_window",
                                                         "max_window_layers",
                                                         "layer_types",
                                                         "attention_bias",
                                                         "mlp_bias",
                                                         "rope_local_base_freq",
                                                         "sliding_window_pattern",
                                                         "query_pre_attn_scalar",
                                                         "rotary_pct",
                                                         "rope_pct"};
  return std::find(kSpecial.begin(), kSpecial.end(), key) != kSpecial.end();
}

void ConfigTranslator::translate_key(const std::string& key, const Json& value) {
  if (key == "quantization_config" && !has_own_row(key) && !has_rows_of(key)) {
    // MLX writes the same object under both keys.
    const Json* of_mlx = find("quantization");
    const bool is_copy = of_mlx != nullptr && of_mlx->is_object() && value.is_object() && !value.contains("quant_method");
    if (!says_nothing(value) && !is_copy) result_.quantization = read_quantization(value, name_, prefix_);
    return;
  }
  if (key == "quantization" && value.is_object()) {
    result_.quantization = read_mlx_quantization(value, name_, prefix_);
    return;
  }
  if (!has_own_row(key) && is_special(key)) return;
  const auto find_row = [&](std::span<const ConfigRow> rows) -> const ConfigRow* {
    const auto row = std::find_if(rows.begin(), rows.end(), [&](const ConfigRow& each) { return each.key == key; });
    return row == rows.end() ? nullptr : &*row;
  };
  const ConfigRow* row = find_row(result_.architecture->hugging_face.config);
  if (row == nullptr && value.is_object() && has_rows_of(key)) {
    for (const auto& [name, part] : value.items()) translate_part(key, name, part);
    return;
  }
  if (row == nullptr) row = find_row(shared_config_rows());
  if (row != nullptr) return translate_row(*row, value);
  if (says_nothing(value)) return;
  const bool arithmetic =
      std::any_of(kArithmetic.begin(), kArithmetic.end(), [&](std::string_view part) { return key.find(part) != std::string::npos; });
  if (arithmetic) {
    refuse(key, shown(value),
           fmt::format("this version does not know what the key changes for {}; it runs configurations without it",
                       result_.architecture->name));
  }
  unknown_.push_back(printable(key));
}

bool ConfigTranslator::has_rows_of(const std::string& object) const {
  const auto rows = result_.architecture->hugging_face.config;
  return std::any_of(rows.begin(), rows.end(), [&](const ConfigRow& row) { return row.key.starts_with(object + "."); });
}

// A key of an object, which has rows of its own or is as harmless as outside.
void ConfigTranslator::translate_part(const std::string& object, const std::string& name, const Json& value) {
  const std::string key = object + "." + name;
  for (const ConfigRow& row : result_.architecture->hugging_face.config) {
    if (row.key == key) return translate_row(row, value);
  }
  for (const ConfigRow& row : shared_config_rows()) {
    if (row.key == name && row.use == ConfigRow::Use::harmless) return;
  }
  if (!says_nothing(value))
    refuse(key, shown(value), fmt::format("this version does not know what it changes for {}", result_.architecture->name));
}

void ConfigTranslator::translate_row(const ConfigRow& row, const Json& value) {
  switch (row.use) {
    case ConfigRow::Use::harmless:
    case ConfigRow::Use::of_class:
    case ConfigRow::Use::flag_of_class: return;
    case ConfigRow::Use::read:
      if (value.is_null()) return;
      // transformers multiplies or divides by it; in GGUF files a factor of 0 is no factor.
      if (std::find(kFactors.begin(), kFactors.end(), row.canonical) != kFactors.end() && number_of(value) == 0)
        refuse(std::string(row.key), shown(value), "a number above 0 is needed");
      return add_json(row.canonical, std::string(row.key), value);
    case ConfigRow::Use::zero_if_null:
      if (value.is_null()) return add_number(row.canonical, std::string(row.key), 0);
      if (number_of(value) == 0) refuse(std::string(row.key), shown(value), "a number above 0 is needed, or null for none");
      return add_json(row.canonical, std::string(row.key), value);
    case ConfigRow::Use::layer_flags: return translate_layer_flags(row, value);
    case ConfigRow::Use::inner_multiple:
      if (!value.is_null()) inner_multiple_ = static_cast<int64_t>(whole_number(std::string(row.key), value));
      return;
    case ConfigRow::Use::only_text: return check_text(row, value);
    case ConfigRow::Use::only_value:
      if (value.is_null() || is_everywhere(value, row.neutral) || (row.neutral == 0 && says_nothing(value))) return;
      refuse(std::string(row.key), shown(value),
             fmt::format("this version cannot compute that for {}; it runs {} and configurations without the key",
                         result_.architecture->name, row.neutral));
  }
}

void ConfigTranslator::add_classifier() {
  const bool of_tokens = class_.ends_with("ForTokenClassification");
  if (!of_tokens && !class_.ends_with("ForSequenceClassification") && !result_.classifies) return;
  result_.classifies = true;
  add("pooling_type", "architectures", {uint64_t{4}});
  if (of_tokens) add("classifier.tokens", "architectures", {true});
  if (const Json* problem = find("problem_type")) {
    if (!problem->is_string()) refuse("problem_type", shown(*problem), "a text is needed");
    add_text("classifier.problem_type", "problem_type", problem->get<std::string>());
  }
  add_labels();
}

void ConfigTranslator::add_labels() {
  const Json* names = find("id2label");
  const Json* count = find("num_labels");
  const uint64_t said = count == nullptr ? 0 : whole_number("num_labels", *count);
  if (said > kMaxLabels) refuse("num_labels", shown(*count), fmt::format("at most {} are supported", kMaxLabels));
  if (names == nullptr) {
    if (count == nullptr) return;
    GgufArray numbered{.element_type = GgufType::string, .size = said, .packed = {}, .strings = {}, .arrays = {}};
    for (uint64_t label = 0; label < said; ++label) numbered.strings.emplace_back(values_->texts.emplace_back(numbered_label(label)));
    return add("classifier.output_labels", "num_labels", {std::move(numbered)});
  }
  if (count != nullptr && said != names->size()) {
    refuse("num_labels", shown(*count),
           fmt::format("id2label has {} labels; keep the one of the two that has as many as the head has rows", names->size()));
  }
  GgufArray labels{.element_type = GgufType::string, .size = names->size(), .packed = {}, .strings = {}, .arrays = {}};
  for (size_t label = 0; label < names->size(); ++label) {
    const auto name = names->is_object() ? names->find(std::to_string(label)) : names->end();
    if (name == names->end() || !name->is_string()) {
      refuse("id2label", shown(*names), fmt::format("an object with a text for each number is needed, and {} has none", label));
    }
    labels.strings.emplace_back(values_->texts.emplace_back(name->get<std::string>()));
    check_number_of(labels.strings.back(), label);
  }
  add("classifier.output_labels", "id2label", {std::move(labels)});
}

// Warns where label2id gives the label another number. transformers, too, takes the names of results from id2label.
void ConfigTranslator::check_number_of(std::string_view label, size_t number) const {
  const Json* numbers = find("label2id");
  if (numbers == nullptr || !numbers->is_object()) return;
  const auto other = numbers->find(std::string(label));
  if (other == numbers->end() || number_of(*other) == static_cast<double>(number)) return;
  log_warning("{}: id2label has {} as label {}, and label2id says {}; id2label counts: correct label2id", name_, printable(label), number,
              shown(*other));
}

void ConfigTranslator::add_values_of_class() {
  for (const ConfigRow& row : result_.architecture->hugging_face.config) {
    const bool flag = row.use == ConfigRow::Use::flag_of_class;
    const bool is_of_class = row.key == class_ || row.key == "architectures";
    if ((row.use != ConfigRow::Use::of_class && !flag) || !is_of_class || has(row.canonical)) continue;
    const bool whole = row.neutral == std::floor(row.neutral);
    add(row.canonical, "architectures",
        !row.text.empty() ? GgufValue{row.text}
        : flag            ? GgufValue{row.neutral != 0}
        : whole           ? GgufValue{static_cast<uint64_t>(row.neutral)}
                          : GgufValue{row.neutral});
  }
}

void ConfigTranslator::check_text(const ConfigRow& row, const Json& value) const {
  if (value.is_null()) return;
  // A list of words is like those words with '|' between them.
  std::string text;
  for (const Json& each : value.is_array() ? value : Json::array({value})) {
    text += each.is_string() ? (text.empty() ? "" : "|") + each.get<std::string>() : " ";
  }
  if (!text.empty()) {
    std::string_view words = row.canonical;
    while (!words.empty()) {
      const size_t end = std::min(words.find(' '), words.size());
      if (words.substr(0, end) == text) return;
      words.remove_prefix(std::min(end + 1, words.size()));
    }
  }
  refuse(std::string(row.key), shown(value),
         fmt::format("this version does not know that for {}; it knows: {}", result_.architecture->name, row.canonical));
}

uint64_t ConfigTranslator::whole_number(const std::string& key, const Json& value) const {
  const bool whole = value.is_number_unsigned() && value.get<uint64_t>() > 0 && value.get<uint64_t>() < kSizeLimit;
  if (!whole) refuse(key, shown(value), "a whole number of at least 1 is needed");
  return value.get<uint64_t>();
}

double ConfigTranslator::positive(const std::string& origin, const Json& object, const char* key) const {
  const auto found = object.find(key);
  if (found == object.end() || found->is_null()) refuse(origin + "." + key, "nothing", "the scaling needs a positive number there");
  const std::optional<double> number = found->is_boolean() ? std::nullopt : number_of(*found);
  if (!number || !(*number > 0) || !std::isfinite(*number)) refuse(origin + "." + key, shown(*found), "a positive number is needed");
  return *number;
}

void ConfigTranslator::read_flags() {
  const auto flag = [&](const char* key) -> std::optional<bool> {
    const Json* value = find(key);
    if (value == nullptr) return std::nullopt;
    if (!value->is_boolean()) refuse(key, shown(*value), "true or false is needed");
    return value->get<bool>();
  };
  const std::optional<bool> tied = flag("tie_word_embeddings");
  result_.ties_by_word = tied.value_or(false);
  result_.tied = tied.value_or(result_.architecture->hugging_face.tied_by_default);
  if (!result_.architecture->encoder) {
    if (flag("is_causal") == false) add("attention.causal", "is_causal", {false});
    if (!has_own_row(kBothWays) && flag(kBothWays) == true) add("attention.causal", kBothWays, {false});
  }
  result_.encodes = result_.architecture->encoder || has("attention.causal");
  result_.attention_bias = flag("attention_bias");
  result_.feed_forward_bias = flag("mlp_bias");
  if (find("query_pre_attn_scalar") != nullptr) {
    add_number("attention.scale", "query_pre_attn_scalar", 1 / std::sqrt(positive("", json_, "query_pre_attn_scalar")));
  }
}

void ConfigTranslator::add_defaults() {
  const HuggingFaceForm& form = result_.architecture->hugging_face;
  if (!has("attention.layer_norm_rms_epsilon") && !has("attention.layer_norm_epsilon")) {
    add_number("attention.layer_norm_rms_epsilon", "rms_norm_eps", 1e-6);
  }
  if (!rotary_factor_said_ && form.usual_rotary_factor != 1) {
    result_.metadata.emplace_back(kRotaryFactor, GgufValue{form.usual_rotary_factor});
  }
  const uint64_t hidden = added("embedding_length");
  const int64_t multiple = inner_multiple_ > 0 ? inner_multiple_ : form.inner_multiple;
  if (!has("feed_forward_length") && multiple > 0 && hidden > 0 && hidden < kSizeLimit) {
    add("feed_forward_length", "n_inner", {hidden * static_cast<uint64_t>(multiple)});
  }
}

void ConfigTranslator::add(std::string_view canonical, const std::string& origin, GgufValue value) {
  std::string key = canonical_key(canonical);
  if (const auto [place, first] = result_.origins.emplace(key, origin); !first) {
    // Configurations of two ages in one say it twice: the newer place counts.
    place->second = origin;
    for (auto& [own, held] : result_.metadata) {
      if (own == key) held = value;
    }
    return;
  }
  result_.metadata.emplace_back(std::move(key), std::move(value));
}

void ConfigTranslator::add_json(std::string_view canonical, const std::string& origin, const Json& value) {
  if (value.is_boolean()) return add(canonical, origin, {value.get<bool>()});
  if (value.is_number_unsigned()) return add(canonical, origin, {value.get<uint64_t>()});
  if (value.is_number_integer()) return add(canonical, origin, {value.get<int64_t>()});
  if (value.is_number_float()) return add(canonical, origin, {value.get<double>()});
  if (value.is_string()) return add_text(canonical, origin, value.get<std::string>());
  // The same for each layer.
  const bool list = value.is_array() && !value.empty() && value.front().is_number();
  if (list && std::all_of(value.begin(), value.end(), [&](const Json& each) { return each == value.front(); })) {
    return add_json(canonical, origin, value.front());
  }
  const bool by_layer = canonical == "attention.head_count" || canonical == "attention.head_count_kv" || canonical == "feed_forward_length";
  const auto is_size = [](const Json& each) { return each.is_number_unsigned() && each.get<uint64_t>() < kSizeLimit; };
  if (list && by_layer && std::all_of(value.begin(), value.end(), is_size)) {
    return add_sizes(canonical, origin, value.get<std::vector<int32_t>>());
  }
  refuse(origin, shown(value), "a number or a text is needed, or a list with the same number for each layer");
}

void ConfigTranslator::add_sizes(std::string_view canonical, const std::string& origin, std::span<const int32_t> sizes) {
  const auto numbers = std::as_bytes(sizes);
  const std::vector<std::byte>& bytes = values_->arrays.emplace_back(numbers.begin(), numbers.end());
  add(canonical, origin, {GgufArray{.element_type = GgufType::i32, .size = sizes.size(), .packed = bytes, .strings = {}, .arrays = {}}});
}

void ConfigTranslator::add_flags(std::string_view canonical, const std::string& origin, const std::vector<bool>& flags) {
  std::vector<std::byte>& bytes = values_->arrays.emplace_back();
  for (const bool flag : flags) bytes.push_back(flag ? std::byte{1} : std::byte{0});
  add(canonical, origin,
      {GgufArray{.element_type = GgufType::boolean, .size = flags.size(), .packed = bytes, .strings = {}, .arrays = {}}});
}

TranslatedConfig parse_model_config(std::span<const std::byte> text, const std::string& name) {
  if (text.size() > kMaxBytes) {
    fail(ErrorCode::corrupt_file, "{}: {} bytes, {} are allowed for a configuration; download it again", name, text.size(), kMaxBytes);
  }
  const Json json =
      parse_strict_json(text, kMaxDepth, {.file = name, .part = "configuration", .first_byte = 0, .remedy = "download it again"});
  if (!json.is_object()) fail(ErrorCode::corrupt_file, "{}: no JSON object; download the configuration again", name);
  if (const std::optional<Json> part = text_part(json, name)) {
    TranslatedConfig config = ConfigTranslator(*part, name, std::string(kTextConfig) + ".").translate();
    config.reads_media = true;
    // Such configurations do not say it, and their folders have a head where there is one.
    config.tied = config.tied || !part->contains("tie_word_embeddings");
    return config;
  }
  TranslatedConfig config = ConfigTranslator(json, name, "").translate();
  config.reads_media = json.contains("vision_config") || json.contains("audio_config");
  return config;
}

}  // namespace wick
