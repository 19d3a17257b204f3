#include "wick/model/language_model.h"

#include "wick/model/llama.h"
#include "wick/model/llama_config.h"

namespace wick {

std::vector<std::string_view> supported_architectures() { return LlamaConfig::architectures(); }

std::unique_ptr<LanguageModel> load_language_model(const GgufFile& file, const Device& device, const LoadOptions& options) {
  return Llama::load(file, device, options);
}

}  // namespace wick
