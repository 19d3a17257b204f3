// wick_options, and the requests, models and samplers made from it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "wick/c.h"
#include "wick/engine/engine_options.h"
#include "wick/engine/generation.h"
#include "wick/model/language_model.h"
#include "wick/text/grammar/token_constraint.h"

struct wick_options {
  std::map<std::string, double, std::less<>> numbers = {};
  std::map<std::string, std::vector<std::string>, std::less<>> texts = {};
};

namespace wick::c {

// Each checks that every option is one of its own, and that whole numbers are whole. Errors: invalid_argument, naming the option.
// `options` may be null.

struct ModelChoices {
  LoadOptions load = {};
  EngineOptions engine = {};
  std::optional<int64_t> gpu_layers = {};
  int64_t cpu_expert_layers = 0;
  std::string device = {};
  std::string chat_template = {};
};
[[nodiscard]] ModelChoices model_choices(const wick_options* options);

struct GenerationChoices {
  GenerationParams params = {};
  std::optional<OutputFormat> format = {};
  std::vector<std::string> dry_breakers = {};  // none: default_dry_breakers()
};
// Sampling parameters that the options leave unset come from `model`.
[[nodiscard]] GenerationChoices generation_choices(const wick_options* options, const SamplingParams& model);
[[nodiscard]] SamplingParams sampling_choices(const wick_options* options);

}  // namespace wick::c
