// A LanguageModel that says what it is told to, and a tokenizer for it.
#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "unit/gguf_samples.h"
#include "wick/model/language_model.h"
#include "wick/model/synthetic_vocabulary.h"
#include "wick/text/tokenizer.h"

namespace wick {

// Byte-level BPE of `size` tokens: bytes, strings of small letters, BOS and EOS. Without BOS if `with_bos` is false.
[[nodiscard]] inline std::shared_ptr<const Tokenizer> fake_tokenizer(int64_t size = 600, bool with_bos = true) {
  const SyntheticVocabulary vocabulary = make_synthetic_vocabulary(size);
  GgufWriter writer;
  writer.add_string("general.architecture", "llama");
  writer.add_string("tokenizer.ggml.model", "gpt2");
  writer.add_string("tokenizer.ggml.pre", "gpt-2");
  writer.add_strings("tokenizer.ggml.tokens", vocabulary.tokens);
  writer.add_array<int32_t>("tokenizer.ggml.token_type", vocabulary.kinds);
  writer.add_strings("tokenizer.ggml.merges", vocabulary.merges);
  if (with_bos) writer.add_uint("tokenizer.ggml.bos_token_id", vocabulary.bos);
  writer.add_uint("tokenizer.ggml.eos_token_id", vocabulary.eos);
  writer.add_bool("tokenizer.ggml.add_bos_token", with_bos);
  const std::vector<std::byte> bytes = written_bytes(writer);
  return Tokenizer::from_gguf(GgufFile::parse(bytes, "fake.gguf"));
}

class FakeLanguageModel final : public LanguageModel {
 public:
  // `next` tells the likeliest token behind these. All other tokens are equally likely, far behind.
  using Next = std::function<int32_t(const std::vector<int32_t>& tokens)>;

  FakeLanguageModel(int64_t vocab_size, int64_t context_length, Next next) : device_(Device::cpu()), next_(std::move(next)) {
    info_.architecture = "fake";
    info_.name = "Fake";
    info_.vocab_size = vocab_size;
    info_.context_length = context_length;
  }

  [[nodiscard]] const ModelInfo& info() const noexcept override { return info_; }
  [[nodiscard]] const Device& device() const noexcept override { return device_; }
  [[nodiscard]] std::unique_ptr<KvCache> new_cache(int64_t capacity) const override {
    return std::make_unique<KvCache>(1, 1, capacity, 2, DType::f32, device_);
  }
  using LanguageModel::forward;
  [[nodiscard]] Tensor forward(std::span<const int32_t> tokens, KvCache& cache, LogitRows /*rows*/, const StopCheck& stop) const override {
    if (stop && stop()) return {};
    seen_.resize(static_cast<size_t>(cache.length()));
    seen_.insert(seen_.end(), tokens.begin(), tokens.end());
    cache.advance(static_cast<int64_t>(tokens.size()));
    std::vector<float> logits(static_cast<size_t>(info_.vocab_size), 0.0F);
    logits[static_cast<size_t>(next_(seen_))] = 10.0F;
    return Tensor::from_vector(logits, {1, info_.vocab_size}, device_);
  }
  bool rearrange(double /*seconds*/) override { return ++rearranged_ == 3; }
  // The tokens in the cache.
  [[nodiscard]] const std::vector<int32_t>& seen() const noexcept { return seen_; }
  // Calls of rearrange(), of which the third says that nothing is left.
  [[nodiscard]] int rearranged() const noexcept { return rearranged_; }

 private:
  ModelInfo info_;
  Device device_;
  Next next_;
  mutable std::vector<int32_t> seen_;
  int rearranged_ = 0;
};

}  // namespace wick
