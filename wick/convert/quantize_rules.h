// The rules by which a mix gives some tensors more bits than others; llama.cpp's, in its order.
#pragma once

#include "wick/convert/quantize_plan.h"
#include "wick/formats/gguf.h"

namespace wick {

// Whether quantization can end in this type: one that a GGUF file holds and that has a quantizer, other than those of activations.
[[nodiscard]] bool is_quantization_target(DType dtype) noexcept;

// Counts tensors of a kind as it goes: ask in the order of the layers.
class QuantizeRules {
 public:
  QuantizeRules(const QuantizeSource& source, const MixInfo& mix, bool has_importance);

  [[nodiscard]] DType choose(const GgufTensor& tensor);

 private:
  [[nodiscard]] bool is(std::initializer_list<Mix> mixes) const;
  [[nodiscard]] DType choose_head(const GgufTensor& tensor) const;
  [[nodiscard]] DType choose_embedding() const;
  [[nodiscard]] DType choose_low(const GgufTensor& tensor);
  [[nodiscard]] DType choose_value(int64_t index) const;
  [[nodiscard]] DType choose_down(const GgufTensor& tensor);
  [[nodiscard]] DType choose_attention_output() const;
  // The layer of a feed-forward tensor; in models with experts its name tells, else it is counted.
  [[nodiscard]] int64_t layer_of(const GgufTensor& tensor, int64_t counted) const;
  // Layers in the first and last eighth, and every third between.
  [[nodiscard]] bool use_more_bits(int64_t layer, int64_t layers) const;

  const MixInfo& mix_;
  bool has_importance_;
  bool falcon_ = false;
  bool is_70b_ = false;
  bool tied_ = true;  // there is no output.weight
  int64_t layers_ = 0;
  int64_t experts_ = 0;
  int64_t queries_per_key_ = 1;
  int64_t values_ = 0;  // tensors that hold attention values
  int64_t values_seen_ = 0;
  int64_t downs_seen_ = 0;
  int64_t gates_seen_ = 0;
  int64_t ups_seen_ = 0;
};

}  // namespace wick
