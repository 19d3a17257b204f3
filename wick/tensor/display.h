// Tensors as text: their elements in PyTorch's layout, then a line with shape, dtype and device.
//
//   [[ 1.0000, -0.5000],
//    [20.0000,  3.2500]]
//   Tensor[[2, 2], f32]
#pragma once

#include <iosfwd>
#include <limits>
#include <optional>
#include <string>

#include "wick/tensor/tensor.h"

namespace [[gnu::visibility("default")]] wick {

struct PrinterOptions {
  int precision = 4;               // digits after the point
  int64_t threshold = 1000;        // a tensor of more elements shows only its edges
  int64_t edge_items = 3;          // slices at either end of each dimension that are shown then
  int line_width = 80;             // characters
  std::optional<bool> sci_mode{};  // 1.0000e+05; where nothing is said: if the elements are large, small or far apart

  [[nodiscard]] static constexpr PrinterOptions short_profile() { return {.precision = 2, .edge_items = 2}; }
  [[nodiscard]] static constexpr PrinterOptions full() { return {.threshold = std::numeric_limits<int64_t>::max()}; }
};

// A scalar is shown in brackets too, as candle does. Only elements that are shown leave the device, and a quantized tensor is shown by
// what its blocks stand for. Errors: invalid_argument for an option that is negative.
[[nodiscard]] std::string to_string(const Tensor& tensor, const PrinterOptions& options = {});
// candle's Debug form, on one line: "Tensor[dims 2, 3; f32, cuda:0]"; a scalar and a vector of up to nine elements show those instead:
// "Tensor[1, 2.5; f32]". The device is left out for the CPU.
[[nodiscard]] std::string to_debug_string(const Tensor& tensor);
std::ostream& operator<<(std::ostream& out, const Tensor& tensor);

}  // namespace wick
