#include "wick/model/language_model.h"

#include "wick/base/fail.h"
#include "wick/model/llama.h"
#include "wick/model/llama_config.h"

namespace wick {

std::vector<std::string_view> supported_architectures() { return LlamaConfig::architectures(); }

std::unique_ptr<KvPool> LanguageModel::new_pool(int64_t context, int64_t sequences, bool keep_prefixes) const {
  const ModelInfo& model = info();
  if (context < 1 || context > model.context_length) {
    fail(ErrorCode::context_full, "a context of {} tokens was asked for; {} takes 1 to {}", context, model.name, model.context_length);
  }
  KvPoolOptions options{.context = context, .keep_prefixes = keep_prefixes};
  options.bytes = KvPool::bytes_for(cache_layout(), options, sequences);
  return std::make_unique<KvPool>(device(), cache_layout(), options);
}

std::unique_ptr<CachedSequence> LanguageModel::new_sequence(int64_t capacity) const {
  return std::make_unique<CachedSequence>(new_pool(capacity));
}

Tensor LanguageModel::forward(std::span<const int32_t> tokens, CachedSequence& sequence, LogitRows rows, const StopCheck& stop) const {
  if (tokens.empty()) fail(ErrorCode::invalid_argument, "forward: no tokens; give at least one");
  Batch batch;
  batch.add(sequence.handle(), sequence.length(), tokens, rows == LogitRows::all ? Batch::Results::all : Batch::Results::last);
  return forward(batch, sequence.pool(), {.result = ModelResult::logits, .stop = stop});
}

std::unique_ptr<LanguageModel> load_language_model(const GgufFile& file, const Device& device, const LoadOptions& options) {
  return Llama::load(file, device, options);
}

}  // namespace wick
