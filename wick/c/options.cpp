#include "wick/c/options.h"

#include <cmath>
#include <functional>
#include <type_traits>

#include "wick/base/fail.h"
#include "wick/c/guard.h"
#include "wick/engine/model_sampling.h"

namespace wick::c {
namespace {

// Takes options by their names; what is left over is no option of this function.
class OptionReader {
 public:
  OptionReader(const wick_options* options, std::string_view function) : function_(function) {
    if (options != nullptr) left_ = *options;
  }

  template <class T>
  void number(std::string_view name, T& into) {
    const auto found = left_.numbers.find(name);
    if (found == left_.numbers.end()) return;
    const double value = found->second;
    if constexpr (std::is_same_v<T, bool>) {
      into = value != 0;
    } else if constexpr (std::is_integral_v<T>) {
      if (std::trunc(value) != value || std::abs(value) > 9007199254740992.0) {
        fail(ErrorCode::invalid_argument, "{}: option {} is {}: it must be a whole number", function_, name, value);
      }
      into = static_cast<T>(value);
    } else {
      into = static_cast<T>(value);
    }
    left_.numbers.erase(found);
  }

  [[nodiscard]] std::vector<std::string> texts(std::string_view name) {
    const auto found = left_.texts.find(name);
    if (found == left_.texts.end()) return {};
    std::vector<std::string> values = std::move(found->second);
    left_.texts.erase(found);
    return values;
  }

  [[nodiscard]] std::optional<std::string> text(std::string_view name) {
    std::vector<std::string> values = texts(name);
    if (values.empty()) return std::nullopt;
    return std::move(values.back());
  }

  // All have been taken.
  void finish() const {
    for (const auto& [name, value] : left_.numbers) refuse(name, "number");
    for (const auto& [name, value] : left_.texts) refuse(name, "text");
  }

 private:
  [[noreturn]] void refuse(const std::string& name, const char* kind) const {
    fail(ErrorCode::invalid_argument, "{}: there is no option {} that is a {}; wick/c.h lists them", function_, name, kind);
  }

  std::string_view function_;
  wick_options left_;
};

void read_sampling(OptionReader& reader, SamplingParams& params) {
  for (const SamplingParameter& row : kSamplingParameters) {
    row.visit(params, [&](auto& value) { reader.number(row.name, value); });
  }
  int64_t seed = -1;
  reader.number("seed", seed);
  if (seed >= 0) params.seed = static_cast<uint64_t>(seed);
  if (const std::optional<std::string> order = reader.text("samplers")) params.order = parse_sampling_order(*order, "samplers");
  if (const std::optional<std::string> biases = reader.text("logit_bias")) params.logit_bias = parse_logit_biases(*biases, "logit_bias");
}

std::optional<OutputFormat> read_format(OptionReader& reader) {
  std::optional<OutputFormat> format;
  const auto take = [&](OutputFormat::Kind kind, const char* name) {
    std::optional<std::string> text = reader.text(name);
    if (!text) return;
    if (format) fail(ErrorCode::invalid_argument, "wick_generate: {} beside another form of the text: give one of them", name);
    format = OutputFormat{.kind = kind, .text = *std::move(text)};
  };
  take(OutputFormat::Kind::json_schema, "json_schema");
  take(OutputFormat::Kind::regex, "regex");
  take(OutputFormat::Kind::grammar, "grammar");
  if (std::vector<std::string> choices = reader.texts("choices"); !choices.empty()) {
    if (format) fail(ErrorCode::invalid_argument, "wick_generate: choices beside another form of the text: give one of them");
    format = OutputFormat{.kind = OutputFormat::Kind::choices, .choices = std::move(choices)};
  }
  return format;
}

}  // namespace

ModelChoices model_choices(const wick_options* options) {
  OptionReader reader(options, "wick_model_load");
  ModelChoices choices;
  choices.engine.speculation.ngram = false;
  reader.number("context", choices.engine.context);
  reader.number("sequences", choices.engine.sequences);
  reader.number("precise", choices.load.precise);
  reader.number("fast", choices.load.fast);
  reader.number("deterministic", choices.load.deterministic);
  // All of them where nothing is said.
  int64_t layers = PlacementOptions::kAllLayers;
  reader.number("gpu_layers", layers);
  if (layers != PlacementOptions::kAllLayers) choices.gpu_layers = layers;
  reader.number("cpu_expert_layers", choices.cpu_expert_layers);
  if (const std::optional<std::string> name = reader.text("kv_dtype")) {
    choices.load.kv_type = parse_dtype(*name);
    if (!choices.load.kv_type) fail(ErrorCode::invalid_argument, "wick_model_load: kv_dtype: there is no dtype {}", *name);
  }
  choices.device = reader.text("device").value_or("");
  choices.chat_template = reader.text("chat_template").value_or("");
  reader.finish();
  return choices;
}

GenerationChoices generation_choices(const wick_options* options, const SamplingParams& model) {
  OptionReader reader(options, "wick_generate");
  GenerationChoices choices;
  choices.params.sampling = model;
  read_sampling(reader, choices.params.sampling);
  reader.number("max_tokens", choices.params.max_tokens);
  reader.number("ignore_eos", choices.params.ignore_eos);
  reader.number("parse_special", choices.params.parse_special);
  choices.params.stop = reader.texts("stop");
  choices.dry_breakers = reader.texts("dry_sequence_breakers");
  choices.format = read_format(reader);
  reader.finish();
  return choices;
}

SamplingParams sampling_choices(const wick_options* options) {
  OptionReader reader(options, "wick_sampler_new");
  SamplingParams params;
  read_sampling(reader, params);
  reader.finish();
  return params;
}

}  // namespace wick::c

extern "C" {

wick_options* wick_options_new(void) {
  wick_options* made = nullptr;
  (void)wick::c::guarded([&] { made = std::make_unique<wick_options>().release(); });
  return made;
}

void wick_options_free(wick_options* options) { const std::unique_ptr<wick_options> freed(options); }

wick_status wick_options_set_number(wick_options* options, const char* name, double value) {
  return wick::c::guarded([&] {
    wick::c::need(options, "wick_options_set_number", "options");
    wick::c::need(name, "wick_options_set_number", "name");
    options->numbers.insert_or_assign(name, value);
  });
}

wick_status wick_options_set_text(wick_options* options, const char* name, const char* value) {
  return wick::c::guarded([&] {
    wick::c::need(options, "wick_options_set_text", "options");
    wick::c::need(name, "wick_options_set_text", "name");
    wick::c::need(value, "wick_options_set_text", "value");
    options->texts[name].emplace_back(value);
  });
}

}  // extern "C"
