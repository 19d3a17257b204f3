#include "wick/tensor/display.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <ostream>
#include <string>
#include <type_traits>
#include <vector>

#include "wick/base/fail.h"
#include "wick/tensor/assigned.h"

namespace wick {
namespace {

// A range of magnitudes above this, or one element beyond these, is shown in scientific notation (PyTorch's _tensor_str.py).
constexpr double kWidestRatio = 1000;
constexpr double kLargest = 1e8;
constexpr double kSmallest = 1e-4;

std::string scientific(double value, int precision) { return fmt::format("{:.{}e}", value, precision); }
std::string fixed(double value, int precision) { return fmt::format("{:.{}f}", value, precision); }

// How all elements of a float tensor are written.
struct FloatStyle {
  bool whole = true;  // every finite element is a whole number: no digits after the point
  bool sci = false;
  size_t width = 1;
  int precision;

  FloatStyle(const std::vector<double>& values, const PrinterOptions& options) : precision(options.precision) {
    double least = std::numeric_limits<double>::infinity();
    double most = 0;
    for (const double value : values) {
      if (!std::isfinite(value) || value == 0) continue;
      least = std::min(least, std::fabs(value));
      most = std::max(most, std::fabs(value));
      whole = whole && value == std::ceil(value);
    }
    if (most == 0) return;
    sci = most / least > kWidestRatio || most > kLargest || (!whole && least < kSmallest);
    for (const double value : values) {
      if (!std::isfinite(value) || value == 0) continue;
      const size_t length = sci ? scientific(value, precision).size() : whole ? fixed(value, 0).size() + 1 : fixed(value, precision).size();
      width = std::max(width, length);
    }
    sci = options.sci_mode.value_or(sci);
  }

  [[nodiscard]] std::string format(double value) const {
    if (sci) return scientific(value, precision);
    if (!whole) return fixed(value, precision);
    return fixed(value, 0) + (std::isfinite(value) ? "." : "");
  }
};

// The elements that are shown: those of the whole tensor, or of its edges.
Tensor edges_of(const Tensor& tensor, int dim, int64_t edge_items) {
  if (dim == tensor.rank()) return tensor;
  // A quantized row is unpacked as a whole.
  if (is_quantized(tensor.dtype()) && dim == tensor.rank() - 1) return edges_of(tensor.to_dtype(DType::f32), dim, edge_items);
  const int64_t extent = tensor.shape()[dim];
  if (extent <= 2 * edge_items) return edges_of(tensor, dim + 1, edge_items);
  return Tensor::cat({edges_of(tensor.narrow(dim, 0, edge_items), dim + 1, edge_items),
                      edges_of(tensor.narrow(dim, extent - edge_items, edge_items), dim + 1, edge_items)},
                     dim);
}

class Printer {
 public:
  Printer(const Tensor& tensor, const PrinterOptions& options) : full_(tensor.shape()), options_(options) {
    cut_ = tensor.elements() > options.threshold;
    const Tensor source = tensor.detach();
    const Tensor shown = cut_ ? edges_of(source, 0, options.edge_items) : source;
    shown_ = shown.shape();
    if (is_integer(tensor.dtype())) {
      for (const int64_t value : shown.to_vector<int64_t>()) cells_.push_back(fmt::format("{}", value));
      for (const std::string& cell : cells_) width_ = std::max(width_, cell.size());
    } else {
      const std::vector<double> values = shown.to_vector<double>();
      const FloatStyle style(values, options);
      width_ = style.width;
      for (const double value : values) cells_.push_back(style.format(value));
    }
  }

  [[nodiscard]] std::string text() {
    if (full_.elements() == 0) return "[]";
    if (full_.rank() == 0) return "[" + cell(0) + "]";
    return slice(0, 0);
  }

 private:
  [[nodiscard]] bool is_cut(int dim) const { return cut_ && full_[dim] > 2 * options_.edge_items; }
  [[nodiscard]] std::string cell(size_t at) const { return fmt::format("{:>{}}", cells_[at], width_); }

  // The shown elements from `at` on that have one place in the dimensions before `dim`.
  [[nodiscard]] std::string slice(int dim, size_t at) const {
    const bool innermost = dim == full_.rank() - 1;
    size_t stride = 1;
    for (int after = dim + 1; after < full_.rank(); ++after) stride *= static_cast<size_t>(shown_[after]);
    std::vector<std::string> parts;
    for (int64_t place = 0; place < shown_[dim]; ++place) {
      const size_t start = at + static_cast<size_t>(place) * stride;
      parts.push_back(innermost ? cell(start) : slice(dim + 1, start));
    }
    if (is_cut(dim)) parts.insert(parts.begin() + options_.edge_items, innermost ? " ..." : "...");
    const std::string next_line(static_cast<size_t>(dim) + 1, ' ');
    if (innermost) return "[" + rows(parts, dim, next_line) + "]";
    return fmt::format("[{}]", fmt::join(parts, "," + std::string(static_cast<size_t>(full_.rank() - 1 - dim), '\n') + next_line));
  }

  // As many elements a line as it has room for.
  [[nodiscard]] std::string rows(const std::vector<std::string>& parts, int indent, const std::string& next_line) const {
    const int64_t room = (options_.line_width - indent) / static_cast<int64_t>(width_ + 2);
    const auto per_line = static_cast<size_t>(std::max<int64_t>(room, 1));
    std::string text;
    for (size_t at = 0; at < parts.size(); ++at) {
      if (at > 0) text += at % per_line == 0 ? ",\n" + next_line : ", ";
      text += parts[at];
    }
    return text;
  }

  Shape full_;
  Shape shown_;
  PrinterOptions options_;
  bool cut_ = false;
  std::vector<std::string> cells_;
  size_t width_ = 1;
};

}  // namespace

std::string to_string(const Tensor& tensor, const PrinterOptions& options) {
  check_assigned("to_string", {{"tensor", tensor}});
  if (options.precision < 0 || options.threshold < 0 || options.edge_items < 0 || options.line_width < 0) {
    fail(ErrorCode::invalid_argument, "to_string: precision {}, threshold {}, edge_items {}, line_width {}: none may be negative",
         options.precision, options.threshold, options.edge_items, options.line_width);
  }
  return Printer(tensor, options).text() + "\n" + tensor.describe();
}

namespace {

// As Rust displays it: the shortest digits that read back as the same number, never with an exponent.
template <class T>
std::string number_text(T value) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(value)) return "NaN";
    if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
    char text[400];  // the largest f64 has 309 digits
    return {text, std::to_chars(text, text + sizeof(text), value, std::chars_format::fixed).ptr};
  } else {
    return std::to_string(value);
  }
}

template <class T>
std::string elements_text(const Tensor& tensor) {
  std::vector<std::string> texts;
  for (const T value : tensor.to_vector<T>()) texts.push_back(number_text(value));
  return fmt::format("{}", fmt::join(texts, ", "));
}

}  // namespace

std::string to_debug_string(const Tensor& tensor) {
  check_assigned("to_debug_string", {{"tensor", tensor}});
  constexpr int64_t kShown = 10;  // vectors shorter than that show their elements
  const std::string device = tensor.device().is_cpu() ? "" : ", " + tensor.device().location().to_string();
  std::string content;
  if (is_quantized(tensor.dtype()) || tensor.rank() > 1 || (tensor.rank() == 1 && tensor.elements() >= kShown)) {
    content = fmt::format("dims {}", fmt::join(tensor.dims(), ", "));
  } else if (tensor.dtype() == DType::f64) {
    content = elements_text<double>(tensor);
  } else {
    content = is_float(tensor.dtype()) ? elements_text<float>(tensor) : elements_text<int64_t>(tensor);
  }
  return fmt::format("Tensor[{}; {}{}]", content, to_string(tensor.dtype()), device);
}

std::ostream& operator<<(std::ostream& out, const Tensor& tensor) { return out << to_string(tensor); }

}  // namespace wick
