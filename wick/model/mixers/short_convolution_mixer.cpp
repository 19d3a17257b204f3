// The gated short convolution of LFM2.
#include <fmt/format.h>

#include "wick/model/mixers/mixer.h"
#include "wick/model/mixers/recurrent.h"

namespace wick {
namespace {

class ShortConvolutionMixer final : public Mixer {
 public:
  ShortConvolutionMixer(const ShortConvolutionSpec& spec, WeightReader& weights, const MixerPlace& place, const std::string& prefix)
      : width_(place.hidden_size),
        in_(weights.matrix(prefix + "in_proj", 3 * width_, width_)),
        out_(weights.matrix(prefix + "out_proj", width_, width_)),
        convolution_(weights, prefix + "conv", place.recurrent, width_, spec.kernel) {}

  [[nodiscard]] Tensor forward(const Tensor& normed, const MixerContext& context) const override {
    context.show_input({in_.name}, normed);
    const Tensor all = context.product(in_, normed);
    const auto third = [&](int64_t index) { return all.narrow(1, index * width_, width_); };
    const Tensor mixed = third(1) * convolution_.forward(third(0) * third(2), context.pool, context.places.step.states.value());
    context.show_input({out_.name}, mixed);
    return context.product(out_, mixed);
  }
  [[nodiscard]] std::vector<const ScaledMatrix*> matrices() const override { return {&in_, &out_}; }
  [[nodiscard]] std::vector<ScaledMatrix*> adaptable() override { return {&in_, &out_}; }

 private:
  int64_t width_;
  ScaledMatrix in_, out_;
  ShortConvolution convolution_;
};

}  // namespace

std::unique_ptr<Mixer> build_short_convolution(const ShortConvolutionSpec& spec, WeightReader& weights, const MixerPlace& place) {
  return std::make_unique<ShortConvolutionMixer>(spec, weights, place, fmt::format("blk.{}.shortconv.", place.layer));
}

}  // namespace wick
