// A LanguageModel that says what it is told to, and a tokenizer for it.
#pragma once

#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "unit/gguf_samples.h"
#include "wick/convert/synthetic_vocabulary.h"
#include "wick/model/kv/kv_step.h"
#include "wick/model/language_model.h"
#include "wick/text/tokenizer/tokenizer.h"

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
  // `next` tells the likeliest token behind these. All other tokens are equally likely, far behind. Below 0: a logit is not a number.
  using Next = std::function<int32_t(const std::vector<int32_t>& tokens)>;

  FakeLanguageModel(int64_t vocab_size, int64_t context_length, Next next) : device_(Device::cpu()), next_(std::move(next)) {
    info_.architecture = "fake";
    info_.name = "Fake";
    info_.vocab_size = vocab_size;
    info_.context_length = context_length;
  }

  [[nodiscard]] const ModelInfo& info() const noexcept override { return info_; }
  [[nodiscard]] const Device& device() const noexcept override { return device_; }
  [[nodiscard]] const KvLayout& cache_layout() const noexcept override { return layout_; }
  using LanguageModel::forward;
  [[nodiscard]] Tensor forward(const Batch& batch, KvPool& pool, const ForwardOptions& options) const override {
    if (options.stop && options.stop()) return {};
    if (watch) watch(batch);
    KvStep step = pool.begin(batch);
    (void)step.plan(0, batch.rows());
    step.advance();
    step.commit();
    std::vector<float> logits(batch.logit_rows.size() * static_cast<size_t>(info_.vocab_size), 0.0F);
    for (size_t result = 0; result < batch.logit_rows.size(); ++result) {
      seen_ = text_of(batch, batch.logit_rows[result], pool);
      const int32_t next = next_(seen_);
      if (next < 0) logits[result * static_cast<size_t>(info_.vocab_size)] = std::numeric_limits<float>::quiet_NaN();
      if (next >= 0) logits[result * static_cast<size_t>(info_.vocab_size) + static_cast<size_t>(next)] = 10.0F;
    }
    return Tensor::from_vector(logits, {std::ssize(batch.logit_rows), info_.vocab_size}, device_);
  }
  // Called with each batch before it is computed; may be empty, and may throw.
  std::function<void(const Batch&)> watch;
  // The tokens up to the last row that had logits.
  [[nodiscard]] const std::vector<int32_t>& seen() const noexcept { return seen_; }

 private:
  // A sequence up to a row of the batch, which is in the pool by now.
  [[nodiscard]] static std::vector<int32_t> text_of(const Batch& batch, int32_t row, const KvPool& pool) {
    for (const SequenceSlice& slice : batch.sequences) {
      if (row < slice.first || row >= slice.first + slice.count) continue;
      const auto length = static_cast<size_t>(batch.positions[static_cast<size_t>(row)]) + 1;
      const std::span<const int32_t> text =
          slice.sequence.empty() ? std::span(batch.tokens).subspan(static_cast<size_t>(slice.first)) : pool.tokens(slice.sequence);
      return {text.begin(), text.begin() + static_cast<std::ptrdiff_t>(length)};
    }
    return {};
  }

  ModelInfo info_;
  Device device_;
  KvLayout layout_{
      .model = "fake", .layers = {{.kv_heads = 1, .key_dim = 2, .value_dim = 2, .dtype = DType::f32, .retention = {}}}, .states = {}};
  Next next_;
  mutable std::vector<int32_t> seen_;
};

}  // namespace wick
