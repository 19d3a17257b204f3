// A DecoderModel runs a DecoderSpec: embedding, layers of blocks over a residual stream, and a head, each on the device of its place.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "wick/model/checkpoint/checkpoint.h"
#include "wick/model/dense_layers.h"
#include "wick/model/description.h"
#include "wick/model/kv/kv_step.h"
#include "wick/model/language_model.h"
#include "wick/model/mixers/alternating_updates.h"
#include "wick/model/mixers/layer_inputs.h"
#include "wick/model/mixers/mixer.h"
#include "wick/model/placement.h"
#include "wick/model/rope_table.h"
#include "wick/model/score_head.h"
#include "wick/model/step_inputs.h"
#include "wick/model/weights.h"

namespace wick {

struct DecoderBlock {
  std::optional<Norm> norm;
  bool norms_stream = false;
  struct Part {
    std::optional<Norm> norm;
    std::optional<Norm> post_norm;
    std::unique_ptr<Mixer> mixer;
    size_t device = 0;  // the mixer's, by its number in the placement
  };
  std::vector<Part> parts;
  std::optional<Norm> post_norm;
  float residual_scale = 1;
  std::optional<Norm> sum_norm;
  std::optional<Tensor> sum_scale;  // [1]
};

struct DecoderLayer {
  std::vector<DecoderBlock> blocks;
  std::optional<AlternatingUpdates> updates;  // where there are several streams
  size_t device = 0;                          // of all of it but for mixers of another one
  int64_t times = 1;                          // LayerSpec::times
};

// The model that a checkpoint's metadata describe. Errors: unsupported for an unknown architecture; ModelConfig::read's.
[[nodiscard]] DecoderSpec describe(const Checkpoint& checkpoint);

class DecoderModel final : public LanguageModel {
 public:
  // Errors: see load_language_model.
  [[nodiscard]] static std::unique_ptr<DecoderModel> load(const Checkpoint& checkpoint, const Device& device, const LoadOptions& options);

  [[nodiscard]] const ModelInfo& info() const noexcept override { return info_; }
  [[nodiscard]] const Device& device() const noexcept override { return device_; }
  [[nodiscard]] const Placement* placement() const noexcept override { return &placement_; }
  [[nodiscard]] std::vector<Device> cache_devices() const override;
  [[nodiscard]] int64_t recorded_rows() const override;
  [[nodiscard]] const KvLayout& cache_layout() const noexcept override { return layout_; }
  using LanguageModel::forward;
  [[nodiscard]] Tensor forward(const Batch& batch, KvPool& pool, const ForwardOptions& options) const override;
  void add_adapter(const std::string& name, std::shared_ptr<const LoraAdapter> adapter, float scale) override;
  [[nodiscard]] std::span<const LoadedAdapter> adapters() const noexcept override { return loaded_adapters_; }

 private:
  // Parts of a decoder that the encoder of its sources shares.
  struct Shared {
    const ScaledMatrix& embedding;
    int64_t cached = 0;  // the number of the cache that its layers use
  };
  // `shared`: of an encoder in a checkpoint of both; nullptr for a model of its own.
  DecoderModel(DecoderSpec spec, WeightReader& weights, const LoadOptions& options, const Shared* shared);

  // Reads the encoder of a source. Its layers use the room of a cache of the decoder's, which come later, or of one more.
  void read_source(WeightReader& weights, const LoadOptions& options);
  // `cached`: the number of the first cache of its own.
  void read_layers(WeightReader& weights, const LoadOptions& options, int64_t cached);
  // The number of the cache that a part of the layer uses; `cached_of`: of the first cache of each layer. Errors: unsupported where it is
  // on another device.
  [[nodiscard]] int64_t cache_of(const PartSpec& part, int64_t layer, std::span<const int64_t> cached_of) const;
  // Errors: WeightReader::require_all_read's.
  void require_all_read(const WeightReader& weights) const;
  void make_layout(const LoadOptions& options);
  void prepare_matrices() const;

  // The matrices that adapters may change, by the tensors that hold them.
  [[nodiscard]] std::multimap<std::string, ScaledMatrix*, std::less<>> adaptable();
  // Adapters of the rows from `first` on. Errors: invalid_argument for an adapter that the model does not have.
  [[nodiscard]] AdapterNumbers adapter_numbers(const Batch& batch, int64_t first, int64_t count) const;
  // Errors: index_out_of_range for a token outside the vocabulary, and for an earlier one that is not there.
  void check_tokens(const Batch& batch, const Tensor& earlier) const;
  // Errors: invalid_argument and device_mismatch where the pool is not one for this model.
  void check_pool(const KvPool& pool) const;

  // The residual stream [rows, hidden_size]: x, to which `added`, if there is one, is still to be added, so that the sum and the norm that
  // follows are one pass.
  struct Residual {
    Tensor x;
    std::optional<Tensor> added;
  };
  // Its norm; what was pending has been added. `dtype`: Norm's.
  [[nodiscard]] static Tensor normalize(Residual& residual, const Norm& norm, DType dtype = DType::f32);
  static void settle(Residual& residual);
  // Takes the stream to another device, if it is not there.
  static void move(Residual& residual, const Device& device);
  // The cosines and sines of at least so many positions, for each rope, on that device; before them a table without pairs.
  [[nodiscard]] std::vector<Tensor> angles_of(int64_t positions, const KvPool& pool, size_t device) const;
  [[nodiscard]] Tensor embed(const StepInputs& inputs) const;
  void run_layer(const DecoderLayer& layer, Residual& residual, std::span<const MixerContext> contexts) const;
  // Which of the rows from `first` on are of the second text of a pair; nothing where none is, or where that is nothing to the model.
  [[nodiscard]] std::optional<Tensor> types_of(const Batch& batch, int64_t first, int64_t count) const;
  // The residual stream after the last layer, keys and values having been written to the pool; an empty one if it was to stop. `inputs`:
  // on each device.
  [[nodiscard]] Residual run_layers(std::span<const StepInputs> inputs, const KvPool& pool, const StopCheck& stop) const;
  // Inputs of each device for a part of a batch. Errors: adapter_numbers's.
  [[nodiscard]] std::vector<StepInputs> inputs_of(const Batch& batch, int64_t first, int64_t count, const KvPlan& plan,
                                                  const Tensor& earlier) const;
  // Before the first step of about so many rows: has its kernels made ready at once, as a device that runs kernels may. `step` queues it.
  void compile_first(int64_t rows, const ForwardOptions& options, bool has_adapters, const std::function<void()>& step) const;
  // Adds what tells source and target of these rows apart, for a decoder that writes from a source, to the inputs of its one device.
  void add_target_inputs(const Batch& batch, int64_t first, int64_t count, const KvPlan& plan, StepInputs& inputs) const;
  // Whether these rows are of a source.
  [[nodiscard]] bool is_source(const Batch& batch, int64_t row) const;
  // Runs the encoder over a whole source, and gives what it makes of it to the layers that attend to it. Whether it was not to stop.
  [[nodiscard]] bool run_source(std::span<const StepInputs> inputs, const KvPool& pool, const StopCheck& stop) const;
  // The results of those rows; an empty tensor if it was to stop.
  [[nodiscard]] Tensor run_parts(const Batch& batch, std::span<const int32_t> wanted, KvStep& step, const KvPool& pool,
                                 const ForwardOptions& options) const;
  // Whether the device records the step of a batch: one of few rows, which all want a result.
  [[nodiscard]] bool is_recorded(const Batch& batch, std::span<const int32_t> wanted, const ForwardOptions& options) const;
  [[nodiscard]] Tensor run_recorded(const Batch& batch, KvStep& step, KvPool& pool, const ForwardOptions& options) const;
  // The dtype of the block's norms of so many rows: f16 if each part wants it, and nothing else reads it.
  [[nodiscard]] static DType norm_dtype(const DecoderBlock& block, int64_t rows, std::span<const MixerContext> contexts, size_t device);
  // `contexts`: of each device; the block is on number `device`.
  void run_block(const DecoderBlock& block, Residual& residual, std::span<const MixerContext> contexts, size_t device) const;
  // The same in fewer passes; false, with nothing done, where the block or the device cannot.
  [[nodiscard]] static bool run_fused(const DecoderBlock& block, Residual& residual, const MixerContext& context, size_t device);
  [[nodiscard]] Tensor result_of(Residual& residual, ModelResult result, const std::optional<AdapterRows>& adapters) const;
  // Results of these rows of a part, in ascending order.
  [[nodiscard]] Tensor result_of_rows(Residual& residual, std::span<const int32_t> rows, ModelResult result,
                                      std::optional<AdapterRows> adapters) const;
  // Logits of hidden states after the output norm.
  [[nodiscard]] Tensor logits_of(const Tensor& normed, const std::optional<AdapterRows>& adapters) const;
  // How many rows from `first` on go through the layers together: those of whole sequences of an encoder; one source, or targets.
  [[nodiscard]] int64_t rows_of_part(const Batch& batch, int64_t first, int64_t most) const;
  [[nodiscard]] static int64_t rows_of_source_or_targets(const Batch& batch, int64_t first, int64_t most);
  // Errors: invalid_argument for a sequence that an encoder is to continue.
  void check_whole_texts(const Batch& batch) const;
  // Errors: invalid_argument for a slice without a source, for one that is not there as a whole, and for a result of its rows;
  // context_full for a source or a target that is too long.
  void check_sources(const Batch& batch) const;
  void read_embedding(WeightReader& weights, int64_t vocabulary, bool tied);
  void read_head(WeightReader& weights, int64_t vocabulary, bool tied);
  [[nodiscard]] const ScaledMatrix& head() const noexcept { return own_head_ ? *own_head_ : embedding_; }

  DecoderSpec spec_;
  Placement placement_;
  Device device_;  // the placement's first
  ModelInfo info_;
  LinearParams linear_;
  ScaledMatrix embedding_;                         // [vocab, hidden_size], or of another embedding_size
  std::optional<ScaledMatrix> learned_positions_;  // [context, the same]
  std::optional<Tensor> token_types_;              // [types, the same]
  std::optional<ScaledMatrix> projection_;         // of embeddings: [hidden_size, embedding_size]
  std::optional<Tensor> projection_bias_;          // [hidden_size]
  std::optional<Tensor> relative_bias_;            // [heads, buckets]
  int64_t score_bias_heads_ = 1;                   // of StepInputs::score_bias
  std::optional<Norm> embedding_norm_;
  std::optional<LayerRows> layer_rows_;
  std::optional<AlternatingStreams> streams_;
  std::vector<DecoderLayer> layers_;
  std::unique_ptr<DecoderModel> source_;  // the encoder of a source; may be none
  std::optional<Norm> output_norm_;
  std::optional<ScoreHead> score_head_;
  std::optional<DenseLayers> dense_;           // of a model of vectors
  std::optional<ScaledMatrix> own_head_;       // [vocab, hidden_size]; none where the embedding is the head too
  std::optional<Tensor> head_bias_;            // [vocab]
  std::vector<RopeTable> ropes_, long_ropes_;  // for pools of up to the original context, and for larger ones: longrope
  mutable std::mutex angles_mutex_;
  // Cosines and sines of all positions used so far.
  struct Angles {
    std::vector<Tensor> tables;
    int64_t positions = 0;
  };
  mutable std::vector<std::array<Angles, 2>> angles_;  // of each device, by ropes_ and long_ropes_
  bool some_without_rope_ = false;
  KvLayout layout_;
  InputObserver observe_;
  bool record_;
  mutable std::atomic<uint64_t> compiled_{0};  // of which steps compile_first() has seen one, a bit for each kind
  std::vector<std::shared_ptr<const LoraAdapter>> adapters_;
  std::vector<LoadedAdapter> loaded_adapters_;  // the same, as users know them
  uint64_t id_;                                 // tells its recordings from other models'
};

}  // namespace wick
