// A TensorSource gives tensors by name and a TensorSink takes them: a file, a map, the variables of a training.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "wick/nn/init.h"
#include "wick/tensor/tensor.h"
#include "wick/tensor/variable.h"

namespace [[gnu::visibility("default")]] wick {
namespace nn {

// A layer's request for a tensor.
struct TensorRequest {
  std::string_view name;
  std::optional<Shape> shape;  // where the layer knows it; whoever asks checks it
  std::optional<DType> dtype;  // as it is stored where there is none
  Device device;
  Init init = init::Constant{0};  // for a source that makes what it has not
  bool trainable = true;
};

class TensorSource {
 public:
  virtual ~TensorSource() = default;
  // For messages: a path, "variables".
  [[nodiscard]] virtual std::string describe() const = 0;
  // Empty for a source that makes any tensor on request.
  [[nodiscard]] virtual std::vector<std::string> names() const = 0;
  // Whether load gives a tensor of that name.
  [[nodiscard]] virtual bool contains(std::string_view name) const = 0;
  // Called for tensors that contains() has.
  [[nodiscard]] virtual Tensor load(const TensorRequest& request) const = 0;
  // The variable behind a tensor, made where it is not there yet; none for a source of constants.
  [[nodiscard]] virtual std::optional<Var> variable(const TensorRequest& /*request*/) const { return std::nullopt; }
};

class TensorSink {
 public:
  virtual ~TensorSink() = default;
  virtual void put(std::string_view name, const Tensor& tensor) = 0;
};

}  // namespace nn
}  // namespace wick
