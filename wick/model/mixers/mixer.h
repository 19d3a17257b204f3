// A Mixer computes one part of a block: attention, a feed-forward network, or what an architecture brings of its own.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "wick/model/description.h"
#include "wick/model/kv/kv_pool.h"
#include "wick/model/language_model.h"
#include "wick/model/step_inputs.h"
#include "wick/model/weights.h"
#include "wick/tensor/ops/attention.h"
#include "wick/tensor/ops/linear.h"
#include "wick/tensor/ops/rope.h"

namespace wick {

// The rows of a part of a batch, and what turns their positions.
struct BatchPlaces {
  StepInputs step;
  std::vector<Tensor> angles;  // a table without pairs, then for each of DecoderSpec::ropes its table of rotations
  Tensor layer_inputs = {};    // f32 [rows, layers, width], where layers take something of their tokens
  // Values of the first layer that mixes times, which writes them for the others: the same tensor on all devices.
  std::shared_ptr<Tensor> first_values = {};
};

// Inputs common to all mixers of a step.
struct MixerContext {
  const BatchPlaces& places;
  const KvPool& pool;
  LinearParams linear;
  RopeStyle rope_style;
  const InputObserver& observe;

  // A product of x with a matrix, as it is scaled, with what the adapters of the rows add to it.
  [[nodiscard]] Tensor adapted(const ScaledMatrix& matrix, const Tensor& x, Tensor product) const;
  // x · matrixᵀ, scaled and adapted.
  [[nodiscard]] Tensor product(const ScaledMatrix& matrix, const Tensor& x) const;
  // Whether adapted() adds something, so that the product must not be a part of a call that goes on with it.
  [[nodiscard]] bool adapts(const ScaledMatrix& matrix) const noexcept { return places.step.adapters && matrix.adapters != nullptr; }
  // The dtype of what these matrices, of which some may be null, read: linear_input_dtype for them, and f32 where anything else reads it.
  [[nodiscard]] DType input_dtype(int64_t rows, std::initializer_list<const ScaledMatrix*> matrices) const;
  // Reports the input of these weights ("blk.0.attn_q.weight") to the observer: each once, and none without a name.
  void show_input(std::initializer_list<std::string_view> weights, const Tensor& input) const { show_input(weights, {{}, input}); }
  // The same of stacks of `matrices`, of which each token uses those that `chosen` names.
  void show_input(std::initializer_list<std::string_view> weights, const Tensor& input, int64_t matrices, const Tensor& chosen) const {
    show_input(weights, {{}, input, matrices, &chosen});
  }
  void show_input(std::initializer_list<std::string_view> weights, const WeightInput& input) const;
};

class Norm;

class Mixer {
 public:
  Mixer() = default;
  virtual ~Mixer() = default;
  Mixer(const Mixer&) = delete;
  Mixer& operator=(const Mixer&) = delete;

  // The addition to the residual stream for its normalized rows [rows, hidden_size].
  [[nodiscard]] virtual Tensor forward(const Tensor& normed, const MixerContext& context) const = 0;
  // The dtype in which forward() wants so many rows: MixerContext::input_dtype of the matrices that read them.
  [[nodiscard]] virtual DType input_dtype(int64_t rows, const MixerContext& context) const {
    (void)rows, (void)context;
    return DType::f32;
  }
  // x + forward(norm(x)), the norm computed by the first products and the sum by the last one: fewer passes over x, and fewer launches.
  // Nothing where this mixer or the device cannot.
  [[nodiscard]] virtual std::optional<Tensor> forward_fused(const Tensor& x, const Norm& norm, const MixerContext& context) const {
    (void)x, (void)norm, (void)context;
    return std::nullopt;
  }
  // Writes keys and values of what the encoder made of a source, [rows, hidden_size], to the cache, where this part attends to it.
  virtual void take_source(const Tensor& encoded, const MixerContext& context) const { (void)encoded, (void)context; }
  // Matrices multiplied in every step.
  [[nodiscard]] virtual std::vector<const ScaledMatrix*> matrices() const = 0;
  // Those whose products go through MixerContext::adapted, so that adapters may change them.
  [[nodiscard]] virtual std::vector<ScaledMatrix*> adaptable() { return {}; }
};

class ScoreBias {
 public:
  ScoreBias() = default;
  virtual ~ScoreBias() = default;
  ScoreBias(const ScoreBias&) = delete;
  ScoreBias& operator=(const ScoreBias&) = delete;

  // The addition to the scores of queries and keys, f32 [rows, heads, head_dim]: f32 [heads, rows, step.longest].
  [[nodiscard]] virtual Tensor of(const Tensor& query, const Tensor& key, const StepInputs& step) const = 0;
};

class Norm {
 public:
  // `prefix`: "blk.3." or nothing.
  Norm(const NormSpec& spec, WeightReader& weights, const std::string& prefix, int64_t length);
  // f32, or f16 if `dtype` is and the norm can write it.
  [[nodiscard]] Tensor operator()(const Tensor& x, DType dtype = DType::f32) const;
  // Adds y to x in place and returns the norm of x.
  [[nodiscard]] Tensor add(Tensor& x, const Tensor& y, DType dtype = DType::f32) const;
  // Whether linear can compute it: no mean, no bias.
  [[nodiscard]] bool is_rms() const noexcept { return kind_ == NormKind::rms && !bias_; }
  // linear's norm; of an rms norm.
  [[nodiscard]] LinearFusion fusion() const { return {.norm = &weight_, .epsilon = epsilon_}; }

 private:
  NormKind kind_;
  float epsilon_;
  bool deterministic_;
  Tensor weight_;
  std::optional<Tensor> bias_;
};

// Which layer a mixer is built for.
struct MixerPlace {
  int64_t layer = 0;
  int64_t cached = 0;     // its place among those that have a cache, or that of the layer whose cache it attends to
  int64_t recurrent = 0;  // and among those that keep a state
  int64_t hidden_size = 0;
};
[[nodiscard]] std::unique_ptr<Mixer> build_attention(const AttentionSpec& spec, WeightReader& weights, const MixerPlace& place);
[[nodiscard]] std::unique_ptr<Mixer> build_cross_attention(const CrossAttentionSpec& spec, WeightReader& weights, const MixerPlace& place);
[[nodiscard]] std::unique_ptr<Mixer> build_latent_attention(const LatentAttentionSpec& spec, WeightReader& weights,
                                                            const MixerPlace& place);
[[nodiscard]] std::unique_ptr<Mixer> build_feed_forward(const FeedForwardSpec& spec, WeightReader& weights, const MixerPlace& place);
[[nodiscard]] std::unique_ptr<Mixer> build_experts(const ExpertsSpec& spec, WeightReader& weights, const MixerPlace& place);
[[nodiscard]] std::unique_ptr<Mixer> build_short_convolution(const ShortConvolutionSpec& spec, WeightReader& weights,
                                                             const MixerPlace& place);
[[nodiscard]] std::unique_ptr<Mixer> build_state_space(const StateSpaceSpec& spec, WeightReader& weights, const MixerPlace& place);
[[nodiscard]] std::unique_ptr<Mixer> build_selective_scan(const SelectiveScanSpec& spec, WeightReader& weights, const MixerPlace& place);
[[nodiscard]] std::unique_ptr<Mixer> build_layer_input(const LayerInputSpec& spec, WeightReader& weights, const MixerPlace& place);
[[nodiscard]] std::unique_ptr<Mixer> build_delta_rule(const DeltaRuleSpec& spec, WeightReader& weights, const MixerPlace& place);
[[nodiscard]] std::unique_ptr<Mixer> build_time_mix(const TimeMixSpec& spec, WeightReader& weights, const MixerPlace& place);
[[nodiscard]] std::unique_ptr<Mixer> build_channel_mix(const ChannelMixSpec& spec, WeightReader& weights, const MixerPlace& place);
[[nodiscard]] std::unique_ptr<Mixer> build_linear_recurrent_unit(const LinearRecurrentUnitSpec& spec, WeightReader& weights,
                                                                 const MixerPlace& place);
[[nodiscard]] std::unique_ptr<Mixer> build_lightning_attention(const LightningAttentionSpec& spec, WeightReader& weights,
                                                               const MixerPlace& place);
[[nodiscard]] std::unique_ptr<Mixer> build_mixer(const PartSpec& part, WeightReader& weights, const MixerPlace& place);

// Data that the part keeps of each position; none if it does not attend.
[[nodiscard]] std::optional<KvLayer> cached_layer(const PartSpec& part, DType dtype);
// How many f32 numbers of state the part keeps of a sequence, those of its convolution first; none if it keeps no state.
[[nodiscard]] std::optional<int64_t> kept_state(const PartSpec& part, int64_t hidden_size);
// A bias for linear to add.
[[nodiscard]] inline const Tensor* pointer_to(const std::optional<Tensor>& bias) { return bias ? &*bias : nullptr; }
// A product with the bias, if there is one, added.
[[nodiscard]] inline Tensor biased(Tensor product, const std::optional<Tensor>& bias) {
  return bias ? product + *bias : std::move(product);
}

}  // namespace wick
