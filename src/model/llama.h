// Llama (Touvron et al. 2023) and its kin: RMSNorm, rotary positions, grouped-query attention, SwiGLU; weights from GGUF.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "model/language_model.h"
#include "model/llama_config.h"
#include "model/rope_table.h"

namespace wick {

struct LlamaLayer {
  Tensor attention_norm, query, key, value, output;
  std::optional<Tensor> query_bias, key_bias, value_bias;
  Tensor feed_forward_norm, gate, up, down;
};

struct LlamaWeights {
  Tensor embedding;  // [vocab, width]
  std::vector<LlamaLayer> layers;
  Tensor output_norm;  // [width]
  Tensor head;         // [vocab, width]; the embedding itself where the file ties them
};

class Llama final : public LanguageModel {
 public:
  // Errors: see load_language_model.
  [[nodiscard]] static std::unique_ptr<Llama> load(const GgufFile& file, const Device& device, const LoadOptions& options);

  [[nodiscard]] const ModelInfo& info() const noexcept override { return info_; }
  [[nodiscard]] const Device& device() const noexcept override { return device_; }
  [[nodiscard]] std::unique_ptr<KvCache> new_cache(int64_t capacity) const override;
  [[nodiscard]] Tensor forward(std::span<const int32_t> tokens, KvCache& cache, LogitRows rows) const override;

 private:
  Llama(const Device& device, const LlamaConfig& config, LlamaWeights weights, ModelInfo info, const LoadOptions& options);

  // Tells the observer what these weights of a layer are multiplied by.
  void show_input(int64_t layer, std::initializer_list<const char*> weights, const Tensor& input) const;

  // The hidden state [tokens, width] behind the last layer, keys and values having been appended to the cache.
  [[nodiscard]] Tensor run_layers(std::span<const int32_t> tokens, KvCache& cache) const;
  [[nodiscard]] Tensor attend(const LlamaLayer& layer, int64_t index, const Tensor& x, const Tensor& angles, KvCache& cache) const;
  [[nodiscard]] Tensor feed_forward(const LlamaLayer& layer, int64_t index, const Tensor& x) const;
  [[nodiscard]] Tensor logits_of(const Tensor& hidden) const;

  Device device_;
  LlamaConfig config_;
  LlamaWeights weights_;
  ModelInfo info_;
  LinearParams linear_;
  RopeTable rope_;
  InputObserver observe_;
};

}  // namespace wick
