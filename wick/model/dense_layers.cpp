#include "wick/model/dense_layers.h"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "wick/base/fail.h"
#include "wick/formats/printable.h"
#include "wick/tensor/ops/linear.h"

namespace wick {

DenseLayers::DenseLayers(WeightReader& weights, int64_t hidden_size) : width_(hidden_size) {
  const Checkpoint& file = weights.checkpoint();
  for (int number = 2; weights.has(fmt::format("dense_{}.weight", number)); ++number) {
    const std::string name = fmt::format("dense_{}", number);
    const int64_t rows = weights.rows_of(name + ".weight");
    Layer layer{.matrix = weights.matrix(name, rows, width_), .bias = weights.find_vector(name + ".bias", rows)};
    const std::string key = fmt::format("{}.{}_activation", file.get_string("general.architecture"), name);
    const std::string_view activation = file.find_string(key).value_or("Identity");
    if (activation != "Identity" && activation != "Tanh") {
      fail(ErrorCode::unsupported, "{}: {} = {} is not supported; this version knows Identity and Tanh", file.name(), file.where(key),
           printable(activation));
    }
    layer.tanh = activation == "Tanh";
    layers_.push_back(std::move(layer));
    width_ = rows;
  }
}

Tensor DenseLayers::forward(Tensor vectors, const LinearParams& params) const {
  for (const Layer& layer : layers_) {
    vectors = biased(layer.matrix.scaled(linear(vectors, layer.matrix.weight, params)), layer.bias);
    if (layer.tanh) vectors = vectors.tanh();
  }
  return vectors;
}

}  // namespace wick
