// A ConfigTranslator reads config.json by canonical keys: each key is read, known to be harmless, or refused by name.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wick/base/fail.h"
#include "wick/base/json.h"
#include "wick/formats/printable.h"
#include "wick/model/checkpoint/hugging_face.h"

namespace wick {

class ConfigTranslator {
 public:
  using Json = nlohmann::json;
  // The kinds of layers of a recurrent architecture.
  enum class LayerKind { attention, recurrent, feed_forward, experts };

  // `prefix`: of the configuration's keys, where it is a part of another one.
  ConfigTranslator(const Json& json, const std::string& name, std::string prefix)
      : json_(json), name_(name), prefix_(std::move(prefix)), values_(std::make_shared<Values>()) {}

  [[nodiscard]] TranslatedConfig translate();

 private:
  // The texts and lists of the metadata.
  struct Values {
    std::deque<std::string> texts;
    std::deque<std::vector<std::byte>> arrays;
  };
  // Sizes are below this.
  static constexpr uint64_t kSizeLimit = uint64_t{1} << 31;

  // For messages: the value as JSON, cut.
  [[nodiscard]] static std::string shown(const Json& value);
  // null, false, 0, "", [] and {}: nothing is said.
  [[nodiscard]] static bool says_nothing(const Json& value);
  // A number, or a flag as 0 or 1.
  [[nodiscard]] static std::optional<double> number_of(const Json& value);
  // Whether the value is this number, or a list of it.
  [[nodiscard]] static bool is_everywhere(const Json& value, double number);

  // --- hugging_face_config.cpp ---
  const Architecture& find_own_architecture();
  void translate_key(const std::string& key, const Json& value);
  [[nodiscard]] bool has_rows_of(const std::string& object) const;
  [[nodiscard]] bool has_own_row(std::string_view key) const {
    const auto rows = result_.architecture->hugging_face.config;
    return std::any_of(rows.begin(), rows.end(), [&](const ConfigRow& row) { return row.key == key; });
  }
  void translate_part(const std::string& object, const std::string& name, const Json& value);
  void translate_row(const ConfigRow& row, const Json& value);
  void check_text(const ConfigRow& row, const Json& value) const;
  void read_flags();
  void add_values_of_class();
  // The labels of a class with a head for them.
  void add_classifier();
  void add_labels();
  void check_number_of(std::string_view label, size_t number) const;
  // Those of transformers, where they are not Wick's.
  void add_defaults();
  [[nodiscard]] bool has(std::string_view canonical) const { return result_.origins.contains(canonical_key(canonical)); }
  [[nodiscard]] std::string canonical_key(std::string_view canonical) const {
    return std::string(result_.architecture->name) + "." + std::string(canonical);
  }
  // Keys that are read together with others.
  [[nodiscard]] bool is_special(std::string_view key) const;

  void add(std::string_view canonical, const std::string& origin, GgufValue value);
  void add_json(std::string_view canonical, const std::string& origin, const Json& value);
  void add_number(std::string_view canonical, const std::string& origin, double value) { add(canonical, origin, {value}); }
  void add_text(std::string_view canonical, const std::string& origin, const std::string& text) {
    add(canonical, origin, {std::string_view(values_->texts.emplace_back(text))});
  }
  void add_flags(std::string_view canonical, const std::string& origin, const std::vector<bool>& flags);
  void add_sizes(std::string_view canonical, const std::string& origin, std::span<const int32_t> sizes);
  // A whole number that was added before; 0: none.
  [[nodiscard]] uint64_t added(std::string_view canonical) const {
    const GgufValue* value = result_.find(canonical_key(canonical));
    return value == nullptr ? 0 : as_uint(*value).value_or(0);
  }
  [[nodiscard]] const Json* find(const char* key) const {
    const auto found = json_.find(key);
    return found == json_.end() || found->is_null() ? nullptr : &*found;
  }
  [[nodiscard]] double positive(const std::string& origin, const Json& object, const char* key) const;
  [[nodiscard]] uint64_t whole_number(const std::string& key, const Json& value) const;
  [[noreturn]] void refuse(const std::string& key, const std::string& value, std::string_view why) const {
    fail(ErrorCode::unsupported, "{}: {} = {}: {}", name_, printable_name(prefix_ + key), value, why);
  }

  // --- hugging_face_rope.cpp ---
  void translate_rope();
  void translate_rope_object(const std::string& origin, const Json& rope);
  void translate_rotary_factor(const std::string& origin, const Json& value);
  void translate_alpha(const std::string& origin, const Json& rope);
  void translate_ntk(const std::string& origin, const Json& rope);
  // A number that was translated; 0 where there is none.
  [[nodiscard]] double translated(const char* canonical) const;
  [[nodiscard]] double translated_head_dims() const;
  void translate_scaling(const std::string& origin, const Json& rope, const std::string& type);
  void translate_mscale(const std::string& origin, const Json& rope, double factor);
  void translate_longrope(const std::string& origin, const Json& rope);
  void translate_sections(const std::string& origin, const Json& rope);

  // --- hugging_face_layers.cpp ---
  void translate_layer_flags(const ConfigRow& row, const Json& value);
  void translate_dual_chunks();
  void translate_indexers();
  void translate_decoder_start();
  // Kinds of all layers, and the key that says them; no kinds where no key of that form does.
  struct LayerKinds {
    std::string origin = {};
    std::vector<LayerKind> kinds = {};
  };
  void add_kind(LayerKinds& kinds, const std::string& key, const Json& value, std::string_view word) const;
  [[nodiscard]] LayerKinds kinds_by_words() const;
  [[nodiscard]] LayerKinds kinds_by_numbers() const;
  [[nodiscard]] LayerKinds kinds_by_period() const;
  // 0 where the configuration does not say.
  [[nodiscard]] uint64_t layer_count() const;
  void translate_layer_kinds();
  void add_recurrent_layers(const std::string& origin, const std::vector<LayerKind>& kinds);
  void translate_state_sizes();
  void check_inner_size(uint64_t inner) const;
  void translate_selective_scan(const std::string& key);
  void translate_adjusted_width();
  void translate_windows();
  void translate_global_heads();
  void translate_sparsity();
  void translate_multipliers();

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

}  // namespace wick
