// config.json by canonical keys: how positions are rotated.
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "wick/base/fail.h"
#include "wick/base/json.h"
#include "wick/base/log.h"
#include "wick/formats/printable.h"
#include "wick/model/checkpoint/hugging_face.h"
#include "wick/model/checkpoint/hugging_face_translator.h"

namespace wick {
namespace {

// Where nothing says it.
constexpr double kDefaultRopeBase = 10000;

// "default" where a RoPE object says nothing. The newer key counts more.
std::string rope_type_of(const nlohmann::json& rope) {
  std::string type = "default";
  for (const char* key : {"type", "rope_type"}) {
    if (const auto found = rope.find(key); found != rope.end() && found->is_string()) type = found->get<std::string>();
  }
  // Of a text, the positions of all three parts of the heads are the same (Wang et al. 2024).
  return type == "mrope" ? "default" : type;
}

}  // namespace

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
  const std::string type = rope_type_of(rope);
  if (type == "proportional") {
    const auto factor = rope.find("factor"), share = rope.find("partial_rotary_factor");
    if (factor != rope.end() && !factor->is_null() && number_of(*factor) != 1)
      refuse(origin + ".factor", shown(*factor), "this version runs 1");
    const double part = share == rope.end() || share->is_null() ? 1 : positive(origin, rope, "partial_rotary_factor");
    if (part > 1) refuse(origin + ".partial_rotary_factor", shown(*share), "a positive number up to 1 is needed");
    result_.rotated_pairs = part;
    return;
  }
  if (const auto factor = rope.find("partial_rotary_factor"); factor != rope.end() && !factor->is_null()) {
    translate_rotary_factor(origin + ".partial_rotary_factor", *factor);
  }
  translate_sections(origin, rope);
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
  add_sizes("rope.dimension_sections", key, sections);
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

double ConfigTranslator::translated(const char* canonical) const {
  const GgufValue* value = result_.find(canonical_key(canonical));
  return value == nullptr ? 0 : as_float(*value).value_or(0);
}

double ConfigTranslator::translated_head_dims() const {
  const double heads = translated("attention.head_count"), own = translated("attention.key_length");
  return own > 0 ? own : heads > 0 ? translated("embedding_length") / heads : 0;
}

// GTE's: the base times the factor, and all frequencies divided by a power of it (Su 2023), which is a linear scaling.
void ConfigTranslator::translate_ntk(const std::string& origin, const Json& rope) {
  if (const auto mixed = rope.find("mixed_b"); mixed != rope.end() && !mixed->is_null()) {
    refuse(origin + ".mixed_b", shown(*mixed), "this version knows scalings without it");
  }
  const double dims = translated_head_dims(), factor = positive(origin, rope, "factor");
  if (dims < 2) return;  // refused when they are read
  const double base = translated("rope.freq_base") > 0 ? translated("rope.freq_base") : kDefaultRopeBase;
  add_number("rope.freq_base", origin + ".factor", base * factor);
  add_text("rope.scaling.type", origin + ".type", "linear");
  add_number("rope.scaling.factor", origin + ".factor", std::pow(factor, 2 / dims));
}

// Hunyuan's: the base grows by a power of alpha, whatever the text's length.
void ConfigTranslator::translate_alpha(const std::string& origin, const Json& rope) {
  const double dims = translated_head_dims();
  if (dims <= 2) return;  // refused when they are read
  const double base = translated("rope.freq_base") > 0 ? translated("rope.freq_base") : kDefaultRopeBase;
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
  if (type == "ntk" && result_.architecture->hugging_face.scales_rope_base) return translate_ntk(origin, rope);
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

}  // namespace wick
