// config.json by canonical keys: each key is read, known to be harmless, or refused by name.
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <deque>

#include "wick/base/fail.h"
#include "wick/base/json.h"
#include "wick/base/log.h"
#include "wick/formats/printable.h"
#include "wick/formats/strict_json.h"
#include "wick/model/checkpoint/hugging_face.h"
#include "wick/model/checkpoint/hugging_face_families.h"
#include "wick/model/checkpoint/hugging_face_quantization.h"

namespace wick {
namespace {

using Json = nlohmann::json;

constexpr size_t kMaxBytes = 16 << 20;
constexpr int kMaxDepth = 32;
// More layers than any model has.
constexpr uint64_t kMaxConfigLayers = 1 << 12;
// Where nothing says it.
constexpr double kDefaultRopeBase = 10000;

// Parts of the names of keys that describe arithmetic: one that no table has is refused, where another is ignored with a warning.
constexpr std::array<std::string_view, 22> kArithmetic = {
    "attention", "attn", "rope",     "rotary", "scal",     "multiplier", "softcap", "norm",       "bias",   "window", "expert",
    "moe",       "clip", "position", "alibi",  "parallel", "qk_",        "_act",    "activation", "layers", "mscale", "hidden"};

// What scores, rows and logits are multiplied with or divided by.
constexpr std::array<std::string_view, 5> kFactors = {"attention.scale", "embedding_scale", "expert_weights_scale", "logit_scale",
                                                      "residual_scale"};

std::string shown(const Json& value) {
  std::string text = ascii_json_text(value);
  if (text.size() > 80) text = text.substr(0, 80) + "…";
  return text;
}

// null, false, 0, "", [] and {}: nothing is said.
bool says_nothing(const Json& value) {
  if (value.is_null()) return true;
  if (value.is_boolean()) return !value.get<bool>();
  if (value.is_number()) return value.get<double>() == 0;
  return (value.is_string() && value.get_ref<const std::string&>().empty()) || (value.is_structured() && value.empty());
}

std::optional<double> number_of(const Json& value) {
  if (value.is_boolean()) return value.get<bool>() ? 1 : 0;
  if (value.is_number()) return value.get<double>();
  return std::nullopt;
}

// The number, or a list of it.
bool is_everywhere(const Json& value, double number) {
  if (!value.is_array()) return number_of(value) == number;
  return std::all_of(value.begin(), value.end(), [&](const Json& each) { return number_of(each) == number; });
}

struct Values {
  std::deque<std::string> texts;
  std::deque<std::vector<std::byte>> arrays;
};

class ConfigTranslator {
 public:
  // `prefix`: of the configuration's keys, where it is a part of another one.
  ConfigTranslator(const Json& json, const std::string& name, std::string prefix)
      : json_(json), name_(name), prefix_(std::move(prefix)), values_(std::make_shared<Values>()) {}

  TranslatedConfig translate();

 private:
  const Architecture& find_own_architecture();
  void translate_key(const std::string& key, const Json& value);
  [[nodiscard]] bool has_rows_of(const std::string& object) const;
  [[nodiscard]] bool has_own_row(std::string_view key) const {
    const auto rows = result_.architecture->hugging_face.config;
    return std::any_of(rows.begin(), rows.end(), [&](const ConfigRow& row) { return row.key == key; });
  }
  void translate_part(const std::string& object, const std::string& name, const Json& value);
  void translate_row(const ConfigRow& row, const Json& value);
  void translate_layer_flags(const ConfigRow& row, const Json& value);
  void check_text(const ConfigRow& row, const Json& value) const;
  void translate_rope();
  void translate_rope_object(const std::string& origin, const Json& rope);
  void translate_rotary_factor(const std::string& origin, const Json& value);
  void translate_alpha(const std::string& origin, const Json& rope);
  void translate_scaling(const std::string& origin, const Json& rope, const std::string& type);
  void translate_mscale(const std::string& origin, const Json& rope, double factor);
  void translate_longrope(const std::string& origin, const Json& rope);
  void translate_sections(const std::string& origin, const Json& rope);
  void translate_dual_chunks();
  void translate_layer_kinds();
  void translate_state_sizes();
  void translate_adjusted_width();
  void translate_windows();
  void read_flags();
  void add_values_of_class();
  // Those of transformers, where they are not Wick's.
  void add_defaults();
  [[nodiscard]] bool has(std::string_view canonical) const { return result_.origins.contains(canonical_key(canonical)); }
  [[nodiscard]] std::string canonical_key(std::string_view canonical) const {
    return std::string(result_.architecture->name) + "." + std::string(canonical);
  }
  // Keys that the functions above read together.
  bool is_special(std::string_view key) const;

  void add(std::string_view canonical, const std::string& origin, GgufValue value);
  void add_json(std::string_view canonical, const std::string& origin, const Json& value);
  void add_number(std::string_view canonical, const std::string& origin, double value) { add(canonical, origin, {value}); }
  void add_text(std::string_view canonical, const std::string& origin, const std::string& text) {
    add(canonical, origin, {std::string_view(values_->texts.emplace_back(text))});
  }
  void add_flags(std::string_view canonical, const std::string& origin, const std::vector<bool>& flags);
  void add_sizes(std::string_view canonical, const std::string& origin, std::span<const int32_t> sizes);
  [[nodiscard]] const Json* find(const char* key) const {
    const auto found = json_.find(key);
    return found == json_.end() || found->is_null() ? nullptr : &*found;
  }
  [[nodiscard]] double positive(const std::string& origin, const Json& object, const char* key) const;
  [[nodiscard]] uint64_t whole_number(const std::string& key, const Json& value) const;
  [[noreturn]] void refuse(const std::string& key, const std::string& value, std::string_view why) const {
    fail(ErrorCode::unsupported, "{}: {} = {}: {}", name_, printable_name(prefix_ + key), value, why);
  }

  const Json& json_;
  const std::string& name_;
  std::string prefix_;
  std::string class_;
  std::shared_ptr<Values> values_;
  TranslatedConfig result_;
  std::vector<std::string> unknown_;
  bool rotary_factor_said_ = false;
  bool rope_is_scaled_ = false;  // by another type than "default"
  int64_t inner_multiple_ = 0;   // 0: the architecture's
};

TranslatedConfig ConfigTranslator::translate() {
  result_.architecture = &find_own_architecture();
  result_.values = values_;
  result_.metadata.emplace_back("general.architecture", GgufValue{result_.architecture->name});
  result_.origins.emplace("general.architecture", "architectures");
  for (const auto& [key, value] : json_.items()) translate_key(key, value);
  add_values_of_class();
  translate_rope();
  translate_dual_chunks();
  if (result_.architecture->recurrent) {
    translate_layer_kinds();
    translate_state_sizes();
  }
  translate_adjusted_width();
  translate_windows();
  read_flags();
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
  if (const Architecture* found = find_architecture_of_class(class_)) return *found;
  fail_class(name_, "architectures", name);
}

bool ConfigTranslator::is_special(std::string_view key) const {
  constexpr std::array<std::string_view, 20> kSpecial = {"architectures",
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

void ConfigTranslator::add_values_of_class() {
  for (const ConfigRow& row : result_.architecture->hugging_face.config) {
    const bool flag = row.use == ConfigRow::Use::flag_of_class;
    if ((row.use != ConfigRow::Use::of_class && !flag) || row.key != class_ || has(row.canonical)) continue;
    const bool whole = row.neutral == std::floor(row.neutral);
    add(row.canonical, "architectures",
        flag    ? GgufValue{row.neutral != 0}
        : whole ? GgufValue{static_cast<uint64_t>(row.neutral)}
                : GgufValue{row.neutral});
  }
}

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

void ConfigTranslator::check_text(const ConfigRow& row, const Json& value) const {
  if (value.is_null()) return;
  if (value.is_string()) {
    std::string_view words = row.canonical;
    while (!words.empty()) {
      const size_t end = std::min(words.find(' '), words.size());
      if (words.substr(0, end) == value.get_ref<const std::string&>()) return;
      words.remove_prefix(std::min(end + 1, words.size()));
    }
  }
  refuse(std::string(row.key), shown(value),
         fmt::format("this version does not know that for {}; it knows: {}", result_.architecture->name, row.canonical));
}

uint64_t ConfigTranslator::whole_number(const std::string& key, const Json& value) const {
  const bool whole = value.is_number_unsigned() && value.get<uint64_t>() > 0 && value.get<uint64_t>() < (uint64_t{1} << 31);
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

// "default" where a RoPE object says nothing. The newer key counts more.
std::string rope_type_of(const Json& rope) {
  std::string type = "default";
  for (const char* key : {"type", "rope_type"}) {
    if (const auto found = rope.find(key); found != rope.end() && found->is_string()) type = found->get<std::string>();
  }
  // Of a text, the positions of all three parts of the heads are the same (Wang et al. 2024).
  return type == "mrope" ? "default" : type;
}

void ConfigTranslator::translate_rope() {
  const Json* parameters = find("rope_parameters");
  const Json* scaling = find("rope_scaling");
  for (const Json* object : {parameters, scaling}) {
    if (object != nullptr && object->is_object()) rope_is_scaled_ = rope_is_scaled_ || rope_type_of(*object) != "default";
  }
  if (const Json* theta = find("rope_theta")) add_json("rope.freq_base", "rope_theta", *theta);
  if (const Json* theta = find("rope_local_base_freq")) add_json("rope.freq_base_swa", "rope_local_base_freq", *theta);
  // By its names of several years.
  for (const char* key : {"rope_pct", "rotary_pct", "partial_rotary_factor"}) {
    if (const Json* factor = find(key)) translate_rotary_factor(key, *factor);
  }
  const std::string origin = parameters != nullptr ? "rope_parameters" : "rope_scaling";
  const Json* rope = parameters != nullptr ? parameters : scaling;
  if (rope == nullptr) return;
  if (!rope->is_object()) refuse(origin, shown(*rope), "an object is needed");
  // One object for each kind of layer.
  if (const auto full = rope->find("full_attention"); full != rope->end() && full->is_object()) {
    translate_rope_object(origin + ".full_attention", *full);
    const auto sliding = rope->find("sliding_attention");
    if (sliding == rope->end() || !sliding->is_object()) return;
    const std::string type = sliding->value("rope_type", Json("default")).is_string() ? sliding->value("rope_type", "default") : "?";
    if (type != "default") refuse(origin + ".sliding_attention.rope_type", printable(type), "this version runs 'default' there");
    if (sliding->contains("rope_theta"))
      add_json("rope.freq_base_swa", origin + ".sliding_attention.rope_theta", sliding->at("rope_theta"));
    return;
  }
  translate_rope_object(origin, *rope);
}

void ConfigTranslator::translate_rope_object(const std::string& origin, const Json& rope) {
  if (const auto theta = rope.find("rope_theta"); theta != rope.end() && !theta->is_null()) {
    add_json("rope.freq_base", origin + ".rope_theta", *theta);
  }
  if (const auto factor = rope.find("partial_rotary_factor"); factor != rope.end() && !factor->is_null()) {
    translate_rotary_factor(origin + ".partial_rotary_factor", *factor);
  }
  translate_sections(origin, rope);
  const std::string type = rope_type_of(rope);
  if (type != "default") translate_scaling(origin, rope, type);
}

// The parts of heads that turn by the time, height and width of an image's positions: GGUF files have four.
void ConfigTranslator::translate_sections(const std::string& origin, const Json& rope) {
  const auto found = rope.find("mrope_section");
  if (found == rope.end() || found->is_null()) return;
  const std::string key = origin + ".mrope_section";
  const auto keys = result_.architecture->keys;
  const bool known = std::any_of(keys.begin(), keys.end(), [](const KeyRule& rule) { return rule.name == "rope.dimension_sections"; });
  const bool numbers = found->is_array() && found->size() == 3 && std::all_of(found->begin(), found->end(), [](const Json& part) {
                         return part.is_number_unsigned() && part.get<uint64_t>() < (1U << 16);
                       });
  if (!known || !numbers) refuse(key, shown(*found), known ? "three numbers are needed" : "this version has no such parts for the class");
  std::array<int32_t, 4> sections{};
  for (size_t part = 0; part < 3; ++part) sections[part] = found->at(part).get<int32_t>();
  std::vector<std::byte>& bytes = values_->arrays.emplace_back(sizeof(sections));
  std::memcpy(bytes.data(), sections.data(), sizeof(sections));
  add("rope.dimension_sections", key,
      {GgufArray{.element_type = GgufType::i32, .size = sections.size(), .packed = bytes, .strings = {}, .arrays = {}}});
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

namespace {

// What a layer of a recurrent architecture does.
enum class LayerKind { attention, recurrent, feed_forward };

std::optional<LayerKind> layer_kind_of(std::string_view word) {
  if (word == "full_attention" || word == "attention" || word == "*") return LayerKind::attention;
  if (word == "conv" || word == "mamba" || word == "linear_attention" || word == "M") return LayerKind::recurrent;
  if (word == "mlp" || word == "-") return LayerKind::feed_forward;
  return std::nullopt;
}

}  // namespace

// Which layers attend: GGUF files say it by key/value heads of each, and by feed-forward widths where a layer is one thing alone.
void ConfigTranslator::translate_layer_kinds() {
  const Json* heads = find("num_attention_heads");
  if (heads == nullptr) return;
  const auto kv_heads =
      static_cast<int32_t>(find("num_key_value_heads") == nullptr ? whole_number("num_attention_heads", *heads)
                                                                  : whole_number("num_key_value_heads", *find("num_key_value_heads")));
  std::string origin;
  std::vector<LayerKind> kinds;
  const auto add_kind = [&](const std::string& key, const Json& value, std::string_view word) {
    const std::optional<LayerKind> kind = layer_kind_of(word);
    if (!kind) refuse(key, shown(value), "this version knows full_attention, attention, conv, mamba, linear_attention and mlp for a layer");
    kinds.push_back(*kind);
  };
  const Json* layers = find("num_hidden_layers");
  const Json* pattern = find("hybrid_override_pattern");
  for (const char* key : {"layer_types", "layers_block_type"}) {
    const Json* types = find(key);
    if (types == nullptr || !kinds.empty()) continue;
    if (!types->is_array()) refuse(key, shown(*types), "a list is needed");
    origin = key;
    for (const Json& type : *types) add_kind(key, type, type.is_string() ? type.get_ref<const std::string&>() : "");
  }
  if (kinds.empty() && pattern != nullptr && pattern->is_string()) {
    origin = "hybrid_override_pattern";
    for (const char letter : pattern->get_ref<const std::string&>()) add_kind(origin, *pattern, std::string_view(&letter, 1));
  }
  if (const Json* full = find("full_attn_idxs"); kinds.empty() && full != nullptr && layers != nullptr) {
    origin = "full_attn_idxs";
    kinds.assign(std::min(whole_number("num_hidden_layers", *layers), kMaxConfigLayers), LayerKind::recurrent);
    if (!full->is_array()) refuse(origin, shown(*full), "a list is needed");
    for (const Json& index : *full) {
      const bool fits = index.is_number_unsigned() && index.get<uint64_t>() < kinds.size();
      if (!fits) refuse(origin, shown(*full), fmt::format("numbers of the {} layers are needed", kinds.size()));
      kinds[index.get<size_t>()] = LayerKind::attention;
    }
  }
  if (kinds.empty()) return;
  if (layers != nullptr && whole_number("num_hidden_layers", *layers) != kinds.size()) {
    refuse(origin, fmt::format("{} layers", kinds.size()), fmt::format("num_hidden_layers = {}", shown(*layers)));
  }
  if (layers == nullptr) add("block_count", origin, {static_cast<uint64_t>(kinds.size())});
  const bool single = std::find(kinds.begin(), kinds.end(), LayerKind::feed_forward) != kinds.end() || origin == "layers_block_type" ||
                      origin == "hybrid_override_pattern";
  std::vector<int32_t> kv_heads_of, widths;
  const Json* width = find("intermediate_size");
  for (const LayerKind kind : kinds) {
    kv_heads_of.push_back(kind == LayerKind::attention ? kv_heads : 0);
    if (single && width != nullptr) {
      widths.push_back(kind == LayerKind::feed_forward ? static_cast<int32_t>(whole_number("intermediate_size", *width)) : 0);
    }
  }
  add_sizes("attention.head_count_kv", origin, kv_heads_of);
  if (!widths.empty()) add_sizes("feed_forward_length", origin, widths);
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
  if (has_own_row("position_embedding_type")) {
    const Json* type = find("position_embedding_type");
    add("rope.scaling.finetuned", "position_embedding_type", {type != nullptr && *type == "rope"});
  }
  const auto number = [&](const char* canonical) {
    const GgufValue* value = result_.find(canonical_key(canonical));
    return value == nullptr ? 0 : as_uint(*value).value_or(0);
  };
  // Where no experts are chosen, those that all tokens share are the feed-forward part.
  if (const uint64_t shared = number("expert_shared_feed_forward_length"); shared > 0 && number("expert_count") == 0) {
    add("feed_forward_length", result_.origins[canonical_key("expert_shared_feed_forward_length")], {shared});
  }
  const uint64_t heads = number("ssm.time_step_rank"), head_dim = number("ssm.head_dim");
  constexpr uint64_t kMost = uint64_t{1} << 31;
  if (heads > 0 && head_dim > 0 && heads < kMost && head_dim < kMost)
    add("ssm.inner_size", result_.origins[canonical_key("ssm.head_dim")], {heads * head_dim});
  std::erase_if(result_.metadata, [&](const auto& entry) { return entry.first == canonical_key("ssm.head_dim"); });
}

void ConfigTranslator::translate_adjusted_width() {
  if (!result_.architecture->hugging_face.adjusts_width) return;
  const Json* adjust = find("block_auto_adjust_ff_dim");
  if (adjust != nullptr && *adjust == false) return;
  const char* key = find("block_ff_dim") != nullptr ? "block_ff_dim" : "intermediate_size";
  const Json* width = find(key);
  if (width == nullptr) return;
  const uint64_t said = whole_number(key, *width);
  const double factor = find("block_ffn_dim_multiplier") == nullptr ? 1 : positive("", json_, "block_ffn_dim_multiplier");
  const uint64_t multiple = find("block_multiple_of") == nullptr ? 256 : whole_number("block_multiple_of", *find("block_multiple_of"));
  const double scaled = std::floor(factor * static_cast<double>(2 * said / 3));
  if (!(scaled >= 1) || scaled > 1e9) refuse("block_ffn_dim_multiplier", fmt::format("{}", factor), "the width is out of range");
  add("feed_forward_length", key, {(static_cast<uint64_t>(scaled) + multiple - 1) / multiple * multiple});
}

void ConfigTranslator::translate_rotary_factor(const std::string& origin, const Json& value) {
  const double share = number_of(value).value_or(0);
  if (value.is_boolean() || !(share > 0) || share > 1) refuse(origin, shown(value), "a positive number up to 1 is needed");
  rotary_factor_said_ = true;
  const HuggingFaceForm& form = result_.architecture->hugging_face;
  if (!form.turns_partly && form.usual_rotary_factor == 1) {
    if (share != 1 && rope_is_scaled_) {
      refuse(origin, shown(value), fmt::format("{} turns whole heads, and its scaled RoPE would have fewer frequencies", class_));
    }
    // As transformers does: this class's rotation does not read the key.
    if (share != 1) log_warning("{}: {}{} = {} is not used: {} turns whole heads", name_, prefix_, origin, shown(value), class_);
    return;
  }
  result_.origins[kRotaryFactor] = origin;
  std::erase_if(result_.metadata, [](const auto& entry) { return entry.first == kRotaryFactor; });
  result_.metadata.emplace_back(kRotaryFactor, GgufValue{share});
}

// Hunyuan's: the base grows by a power of alpha, whatever the text's length.
void ConfigTranslator::translate_alpha(const std::string& origin, const Json& rope) {
  const auto number = [&](const char* canonical) {
    const GgufValue* value = result_.find(canonical_key(canonical));
    return value == nullptr ? 0 : as_float(*value).value_or(0);
  };
  const double heads = number("attention.head_count"), own = number("attention.key_length");
  const double dims = own > 0 ? own : heads > 0 ? number("embedding_length") / heads : 0;
  if (dims <= 2) return;  // refused when they are read
  const double base = number("rope.freq_base") > 0 ? number("rope.freq_base") : kDefaultRopeBase;
  add_number("rope.freq_base", origin + ".alpha", base * std::pow(positive(origin, rope, "alpha"), dims / (dims - 2)));
}

void ConfigTranslator::translate_scaling(const std::string& origin, const Json& rope, const std::string& type) {
  const auto copy = [&](const char* key, std::string_view canonical) {
    if (const auto found = rope.find(key); found != rope.end() && !found->is_null())
      add_number(canonical, origin + "." + key, positive(origin, rope, key));
  };
  // "su" and "yarn" in Phi 3's first configurations.
  if (type == "longrope" || type == "su") return translate_longrope(origin, rope);
  // Dynamic scaling (NTK) begins behind max_position_embeddings, which is the model's context here: within it nothing is scaled.
  if (type == "dynamic") {
    const double factor = positive(origin, rope, "factor");
    if (const auto alpha = rope.find("alpha"); alpha != rope.end() && !says_nothing(*alpha)) return translate_alpha(origin, rope);
    return add_number("rope.scaling.dynamic_factor", origin + ".factor", factor);
  }
  const bool known = type == "linear" || type == "llama3" || type == "yarn";
  if (!known) refuse(origin + ".rope_type", printable(type), "this version knows default, linear, dynamic, llama3, yarn and longrope");
  add_text("rope.scaling.type", origin + ".rope_type", type);
  const double factor = positive(origin, rope, "factor");
  add_number("rope.scaling.factor", origin + ".factor", factor);
  const auto original = rope.find("original_max_position_embeddings");
  if (original != rope.end() && !original->is_null())
    add_json("rope.scaling.original_context_length", origin + ".original_max_position_embeddings", *original);
  if (type == "llama3") {
    if (original == rope.end()) refuse(origin + ".original_max_position_embeddings", "nothing", "llama3 needs it");
    copy("low_freq_factor", "rope.scaling.low_freq_factor");
    copy("high_freq_factor", "rope.scaling.high_freq_factor");
  }
  if (type != "yarn") return;
  copy("beta_fast", "rope.scaling.yarn_beta_fast");
  copy("beta_slow", "rope.scaling.yarn_beta_slow");
  copy("llama_4_scaling_beta", "attention.temperature_scale");
  if (const auto truncate = rope.find("truncate"); truncate != rope.end() && truncate->is_boolean()) {
    add("rope.scaling.yarn_truncate", origin + ".truncate", {truncate->get<bool>()});
  }
  // Files say what multiplies YaRN's own factor; configurations what takes its place.
  const double own = 1 + 0.1 * std::log(factor);
  if (const auto attention = rope.find("attention_factor"); attention != rope.end() && !attention->is_null()) {
    add_number("rope.scaling.attn_factor", origin + ".attention_factor", positive(origin, rope, "attention_factor") / own);
  } else {
    translate_mscale(origin, rope, factor);
  }
}

// What takes the place of YaRN's own factor, and, where the architecture has it, a factor of the scores (DeepSeek-AI 2024).
void ConfigTranslator::translate_mscale(const std::string& origin, const Json& rope, double factor) {
  const auto all = rope.find("mscale_all_dim"), own = rope.find("mscale");
  const bool says_all = all != rope.end() && !says_nothing(*all), says_own = own != rope.end() && !says_nothing(*own);
  const double unit = result_.architecture->hugging_face.yarn_log_unit;
  if (unit == 0) {
    if (!says_all || !says_own) return;
    const auto scaled = [&](const char* key) { return 1 + 0.1 * positive(origin, rope, key) * std::log(factor); };
    const double quotient = scaled("mscale") / scaled("mscale_all_dim");
    return add_number("rope.scaling.attn_factor", origin + ".mscale", quotient / (1 + 0.1 * std::log(factor)));
  }
  if (!says_all && !says_own) return;
  if (!says_all || !says_own || positive(origin, rope, "mscale") != positive(origin, rope, "mscale_all_dim")) {
    refuse(origin + ".mscale_all_dim", says_all ? shown(*all) : "nothing", "this version runs what equals mscale");
  }
  add_number("rope.scaling.yarn_log_multiplier", origin + ".mscale_all_dim", unit * positive(origin, rope, "mscale_all_dim"));
}

void ConfigTranslator::translate_longrope(const std::string& origin, const Json& rope) {
  const auto factors = [&](const char* key) {
    const auto found = rope.find(key);
    if (found == rope.end() || !found->is_array() || found->empty())
      refuse(origin + "." + key, "no list", "longrope needs one factor a pair");
    std::vector<float> values;
    for (const Json& value : *found) {
      const std::optional<double> number = value.is_number() ? number_of(value) : std::nullopt;
      if (!number || !(*number > 0) || !std::isfinite(*number)) refuse(origin + "." + key, shown(value), "positive numbers are needed");
      values.push_back(static_cast<float>(*number));
    }
    return values;
  };
  result_.short_factors = factors("short_factor");
  result_.long_factors = factors("long_factor");
  // Phi 3 says it beside the scaling.
  const bool inside = rope.contains("original_max_position_embeddings") && !rope.at("original_max_position_embeddings").is_null();
  const double original =
      inside ? positive(origin, rope, "original_max_position_embeddings") : positive("config", json_, "original_max_position_embeddings");
  add_text("rope.scaling.type", origin + ".rope_type", "longrope");
  add("rope.scaling.original_context_length", "original_max_position_embeddings", {static_cast<uint64_t>(std::min(original, 1e18))});
  double magnitude = 1;
  if (const auto given = rope.find("attention_factor"); given != rope.end() && !given->is_null()) {
    magnitude = positive(origin, rope, "attention_factor");
  } else if (rope.contains("short_mscale") || rope.contains("long_mscale")) {
    magnitude = positive(origin, rope, "short_mscale");
    if (positive(origin, rope, "long_mscale") != magnitude) {
      refuse(origin + ".long_mscale", shown(rope.at("long_mscale")), "this version runs what equals short_mscale");
    }
  } else {
    const double factor = inside && rope.contains("factor") && !rope.at("factor").is_null()
                              ? positive(origin, rope, "factor")
                              : positive("config", json_, "max_position_embeddings") / original;
    if (factor > 1 && original > 1) magnitude = std::sqrt(1 + std::log(factor) / std::log(original));
  }
  add_number("rope.scaling.attn_factor", origin + ".attention_factor", magnitude);
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
  if (flag("is_causal") == false && !result_.architecture->encoder) {
    refuse("is_causal", "false", "tokens would attend to later ones; this version computes causal attention alone, in GGUF files too");
  }
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
  const auto* width = result_.find(std::string(result_.architecture->name) + ".embedding_length");
  const uint64_t hidden = width == nullptr ? 0 : as_uint(*width).value_or(0);
  const int64_t multiple = inner_multiple_ > 0 ? inner_multiple_ : form.inner_multiple;
  if (!has("feed_forward_length") && multiple > 0 && hidden > 0 && hidden < (uint64_t{1} << 31)) {
    add("feed_forward_length", "n_inner", {hidden * static_cast<uint64_t>(multiple)});
  }
}

void ConfigTranslator::add(std::string_view canonical, const std::string& origin, GgufValue value) {
  std::string key = canonical_key(canonical);
  if (!result_.origins.emplace(key, origin).second) {
    // Configurations of two ages in one say it twice: the newer place counts.
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
  const auto is_size = [](const Json& each) { return each.is_number_unsigned() && each.get<uint64_t>() < (uint64_t{1} << 31); };
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

}  // namespace

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
