// Llama (Touvron et al. 2023) and its kin: RMSNorm, rotary positions, grouped-query attention, a gated feed-forward part; weights from
// GGUF. BitNet (Ma et al. 2024, Wang et al. 2025) is Llama with ternary weights, two more norms a layer and squared ReLU.
#pragma once

#include <array>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "wick/model/kv_step.h"
#include "wick/model/language_model.h"
#include "wick/model/llama_config.h"
#include "wick/model/rope_table.h"
#include "wick/model/weights.h"
#include "wick/tensor/ops/attention.h"
#include "wick/tensor/ops/rope.h"

namespace wick {

struct LlamaLayer {
  Tensor attention_norm;
  ScaledMatrix query, key, value, output;
  std::optional<Tensor> query_bias, key_bias, value_bias, output_bias;
  std::optional<Tensor> attention_sub_norm;  // of the heads' results, in front of `output`
  Tensor feed_forward_norm;
  ScaledMatrix gate, up, down;
  std::optional<Tensor> gate_bias, up_bias, down_bias;
  std::optional<Tensor> feed_forward_sub_norm;  // in front of `down`
};

struct LlamaWeights {
  ScaledMatrix embedding;  // [vocab, width]
  std::vector<LlamaLayer> layers;
  Tensor output_norm;                    // [width]
  std::optional<ScaledMatrix> own_head;  // [vocab, width]; none where the embedding is the head too
  std::optional<Tensor> head_bias;       // [vocab]

  [[nodiscard]] const ScaledMatrix& head() const noexcept { return own_head ? *own_head : embedding; }
};

class Llama final : public LanguageModel {
 public:
  // Errors: see load_language_model.
  [[nodiscard]] static std::unique_ptr<Llama> load(const GgufFile& file, const Device& device, const LoadOptions& options);

  [[nodiscard]] const ModelInfo& info() const noexcept override { return info_; }
  [[nodiscard]] const Device& device() const noexcept override { return device_; }
  [[nodiscard]] const KvLayout& cache_layout() const noexcept override { return layout_; }
  using LanguageModel::forward;
  [[nodiscard]] Tensor forward(const Batch& batch, KvPool& pool, const ForwardOptions& options) const override;
  bool rearrange(double seconds) override;

 private:
  Llama(const Device& device, const LlamaConfig& config, LlamaWeights weights, ModelInfo info, DType kv_type, const LoadOptions& options);

  // Errors: index_out_of_range for a token outside the vocabulary.
  void check_tokens(const Batch& batch) const;
  // Errors: invalid_argument and device_mismatch where the pool is not one for this model.
  void check_pool(const KvPool& pool) const;
  // Tells the observer what these weights of a layer are multiplied by.
  void show_input(int64_t layer, std::initializer_list<const char*> weights, const Tensor& input) const;

  // What the layers hand on, [tokens, width]: x, to which `added`, if there is one, is still to be added.
  struct Hidden {
    Tensor x;
    std::optional<Tensor> added;
  };
  // Its norm; what was to be added has been.
  [[nodiscard]] Tensor normalize(Hidden& hidden, const Tensor& weight) const;
  // Where the rows of a part stand: the numbers of a KvPlan on the device.
  struct Places {
    Tensor angles;  // the table of rotations
    struct Group {
      CachePlaces cache;
      AttentionPlan plan;
    };
    std::vector<Group> groups;
    int64_t longest;  // of the sequences
  };
  [[nodiscard]] Places places_of(const KvPlan& plan) const;
  // The cosines and sines of at least so many positions, on the device.
  [[nodiscard]] Tensor angles_of(int64_t positions) const;
  // The hidden state behind the last layer, keys and values having been written to the pool; an empty one if it was to stop.
  [[nodiscard]] Hidden run_layers(std::span<const int32_t> tokens, const KvPlan& plan, const KvPool& pool, const StopCheck& stop) const;
  // attend and feed_forward take the normalised hidden state and give what is to be added to the hidden state.
  [[nodiscard]] Tensor attend(const LlamaLayer& layer, int64_t index, const Tensor& normed, const Places& places, const KvPool& pool) const;
  // The activated gate times up, [tokens, feed-forward width].
  [[nodiscard]] Tensor gate(const LlamaLayer& layer, const Tensor& normed) const;
  [[nodiscard]] Tensor feed_forward(const LlamaLayer& layer, int64_t index, const Tensor& normed) const;
  // Of hidden states behind the last norm.
  [[nodiscard]] Tensor logits_of(const Tensor& normed) const;

  Device device_;
  LlamaConfig config_;
  LlamaWeights weights_;
  ModelInfo info_;
  LinearParams linear_;
  RopeTable rope_;
  mutable std::mutex angles_mutex_;
  mutable Tensor angles_;  // of as many positions as were ever asked for
  KvLayout layout_;
  InputObserver observe_;
  // Those of weights_ that are to be rearranged, the next ones last. What one call multiplies goes together.
  std::vector<std::array<ScaledMatrix*, 3>> plain_;
};

}  // namespace wick
