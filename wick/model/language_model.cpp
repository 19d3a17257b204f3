#include "wick/model/language_model.h"

#include "wick/model/llama.h"

namespace wick {

std::unique_ptr<LanguageModel> load_language_model(const GgufFile& file, const Device& device, const LoadOptions& options) {
  return Llama::load(file, device, options);
}

}  // namespace wick
