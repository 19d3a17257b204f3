#include "wick/model/language_model.h"

#include "wick/base/fail.h"
#include "wick/model/architectures/architecture.h"
#include "wick/model/decoder_model.h"

namespace wick {

std::vector<std::string_view> supported_architectures() {
  std::vector<std::string_view> names;
  for (const Architecture* architecture : architectures()) names.push_back(architecture->name);
  return names;
}

std::string ModelInfo::longest() const {
  return context_limit.empty() ? std::to_string(context_length) : fmt::format("{} ({})", context_length, context_limit);
}

int64_t rows_at_once(const Device& device) {
  // Enough to use each weight many times, few enough that the activations stay small. On a GPU, whose many groups share a matrix by blocks
  // of tokens and which may round the weights for each batch, those are more.
  return device.runtime().runs_kernels() ? 2048 : 512;
}

std::unique_ptr<KvPool> LanguageModel::new_pool(int64_t context, int64_t sequences, bool keep_prefixes, int64_t most) const {
  const ModelInfo& model = info();
  if (context < 1 || context > model.context_length) {
    fail(ErrorCode::context_full, "a context of {} tokens was asked for; {} takes 1 to {}", context, model.name, model.longest());
  }
  KvPoolOptions options{
      .context = context, .step = rows_at_once(device()), .sequences = most, .keep_prefixes = keep_prefixes, .devices = cache_devices()};
  options.bytes = KvPool::bytes_for(cache_layout(), options, sequences);
  return std::make_unique<KvPool>(device(), cache_layout(), options);
}

std::unique_ptr<CachedSequence> LanguageModel::new_sequence(int64_t capacity) const {
  return std::make_unique<CachedSequence>(new_pool(capacity));
}

// NOLINTNEXTLINE(performance-unnecessary-value-param): those that take adapters keep it
void LanguageModel::add_adapter(const std::string& name, std::shared_ptr<const LoraAdapter> /*adapter*/, float /*scale*/) {
  fail(ErrorCode::unsupported, "adapter {}: {} takes no adapters", name, info().name);
}

Tensor LanguageModel::forward(std::span<const int32_t> tokens, CachedSequence& sequence, LogitRows rows, const StopCheck& stop) const {
  if (tokens.empty()) fail(ErrorCode::invalid_argument, "forward: no tokens; give at least one");
  Batch batch;
  batch.add(sequence.handle(), sequence.length(), tokens, rows == LogitRows::all ? Batch::Results::all : Batch::Results::last);
  return forward(batch, sequence.pool(), {.result = ModelResult::logits, .stop = stop});
}

std::unique_ptr<LanguageModel> load_language_model(const Checkpoint& checkpoint, const Device& device, const LoadOptions& options) {
  return DecoderModel::load(checkpoint, device, options);
}

std::unique_ptr<LanguageModel> load_language_model(const GgufFile& file, const Device& device, const LoadOptions& options) {
  return load_language_model(Checkpoint::view(file), device, options);
}

}  // namespace wick
