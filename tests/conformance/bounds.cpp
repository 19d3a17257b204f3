#include "conformance/bounds.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "wick/tensor/ops/reference.h"

namespace wick::conformance {
namespace {

struct FloatFormat {
  int mantissa_bits;
  int smallest_exponent;
};

FloatFormat format_of(DType dtype) {
  switch (dtype) {
    case DType::bf16: return {7, -126};
    case DType::f16: return {10, -14};
    case DType::f8e4m3: return {3, -6};
    case DType::f64: return {52, -1022};
    default: return {23, -126};
  }
}

// Calls visit(element of the result, w, largest |x| / 127 of the block) with the weights of each block of columns of each pair of rows.
template <class Visit>
void for_each_block(const ReferenceTensor& x, const ReferenceTensor& weight, int64_t block_columns, Visit&& visit) {
  const auto block = static_cast<size_t>(block_columns);
  const auto k = static_cast<size_t>(x.shape.last());
  const size_t rows = k == 0 ? 0 : x.values.size() / k;
  const auto outputs = static_cast<size_t>(weight.shape[0]);
  for (size_t row = 0; row < rows; ++row) {
    for (size_t begin = 0; begin < k; begin += block) {
      const size_t count = std::min(block, k - begin);
      double largest = 0;
      for (size_t i = 0; i < count; ++i) largest = std::max(largest, std::fabs(x.values[row * k + begin + i]));
      for (size_t output = 0; output < outputs; ++output) {
        visit(row * outputs + output, std::span(weight.values).subspan(output * k + begin, count), largest / 127);
      }
    }
  }
}

}  // namespace

double half_ulp(DType dtype, double value) {
  if (is_integer(dtype) || !std::isfinite(value)) return 0;
  const FloatFormat format = format_of(dtype);
  const int exponent = value == 0 ? format.smallest_exponent : std::max(std::ilogb(value), format.smallest_exponent);
  return std::ldexp(0.5, exponent - format.mantissa_bits);
}

double roundoff(DType dtype) { return dtype == DType::f64 ? 0x1p-53 : 0x1p-24; }

std::vector<double> rounded(DType dtype, const ReferenceTensor& tensor) {
  if (is_quantized(dtype)) return tensor.values;  // nothing computes blocks
  std::vector<std::byte> bytes(static_cast<size_t>(storage_bytes(dtype, tensor.shape.elements())));
  const std::unique_ptr<Buffer> buffer = wrap_host_memory(bytes.data(), bytes.size(), nullptr);
  const Layout layout(tensor.shape);
  const Operand operand{buffer.get(), dtype, &layout};
  write_reference(tensor, operand);
  return read_reference(operand).values;
}

Bound elementwise_bound(std::function<double(double x, double y)> allowed) {
  return [allowed = std::move(allowed)](Inputs inputs, const ReferenceTensor& expected) {
    std::vector<double> bounds(expected.values.size());
    for (size_t i = 0; i < bounds.size(); ++i) bounds[i] = allowed(inputs[0].values[i], expected.values[i]);
    return bounds;
  };
}

std::vector<double> product_bound(OpId op, const void* params, double u, int64_t k, Inputs inputs, const Shape& shape) {
  std::vector<ReferenceTensor> magnitudes(inputs.begin(), inputs.end());
  for (ReferenceTensor& tensor : magnitudes) {
    for (double& value : tensor.values) value = std::fabs(value);
  }
  std::vector<ReferenceTensor> sums = {{shape, std::vector<double>(static_cast<size_t>(shape.elements()))}};
  rule(op).reference(params, magnitudes, sums);
  for (double& value : sums[0].values) value *= (4 + 2 * std::sqrt(static_cast<double>(k))) * u;
  return sums[0].values;
}

int64_t activation_block(DType weight) noexcept { return info(weight).block_elements == 256 ? 256 : 32; }

std::vector<double> activation_rounding_bound(const ReferenceTensor& x, const ReferenceTensor& weight, int64_t block) {
  std::vector<double> bounds(x.values.size() / static_cast<size_t>(std::max<int64_t>(x.shape.last(), 1)) *
                             static_cast<size_t>(weight.shape[0]));
  for_each_block(x, weight, block, [&](size_t at, std::span<const double> w, double scale) {
    for (const double value : w) bounds[at] += scale / 2 * std::fabs(value);
  });
  return bounds;
}

std::vector<double> activation_rounding_deviation(const ReferenceTensor& x, const ReferenceTensor& weight, int64_t block) {
  std::vector<double> variances(x.values.size() / static_cast<size_t>(std::max<int64_t>(x.shape.last(), 1)) *
                                static_cast<size_t>(weight.shape[0]));
  for_each_block(x, weight, block, [&](size_t at, std::span<const double> w, double scale) {
    for (const double value : w) variances[at] += scale * scale / 12 * value * value;
  });
  for (double& variance : variances) variance = std::sqrt(variance);
  return variances;
}

}  // namespace wick::conformance
