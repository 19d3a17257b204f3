#include "wick/cli/flags/adapter_flags.h"

#include <charconv>
#include <cmath>

#include "wick/base/fail.h"
#include "wick/model/architectures/architecture.h"
#include "wick/model/lora/lora_adapter.h"

namespace wick {

void add_adapter_files(Flags& flags, std::vector<std::string>& values) {
  flags.add_values("--lora", "FILE[=SCALE]", "apply a LoRA adapter: a GGUF file or a PEFT folder (scale 1); repeatable", values);
}

void add_adapters_of_worker(Flags& flags, std::vector<std::string>& values) {
  flags.add_values("--lora", "[NAME=]FILE",
                   "apply a LoRA adapter: FILE[=SCALE]; when serving, NAME=FILE, for requests that name it as their model; repeatable",
                   values);
}

AdapterFile parse_adapter_file(const std::string& value) {
  const size_t equals = value.rfind('=');
  if (equals == std::string::npos) return {value};
  const char* const end = value.data() + value.size();
  float scale = 0;
  const auto [parsed, error] = std::from_chars(value.data() + equals + 1, end, scale);
  if (error != std::errc() || parsed != end) return {value};  // a name with a = in it
  if (!std::isfinite(scale)) fail(ErrorCode::invalid_argument, "--lora {}: the scale must be finite", value);
  return {value.substr(0, equals), scale};
}

void load_adapter(const AdapterFile& file, const std::string& name, LanguageModel& model) {
  const Architecture* architecture = find_architecture(model.info().architecture);
  WICK_ASSERT(architecture != nullptr);
  model.add_adapter(name, LoraAdapter::open(file.path, *architecture), file.scale);
}

void load_adapters(const std::vector<std::string>& values, LanguageModel& model, GenerationParams& params) {
  for (const std::string& value : values) {
    const AdapterFile file = parse_adapter_file(value);
    load_adapter(file, file.path, model);
    params.adapters.push_back({file.path, {}});
  }
}

}  // namespace wick
