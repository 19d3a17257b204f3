// Random numbers from the device's stream (op/philox.h, which defines each of them).
#include <algorithm>
#include <cmath>
#include <numbers>

#include "wick/base/fail.h"
#include "wick/op/philox.h"
#include "wick/op/uniform_range.h"
#include "wick/tensor/assigned.h"
#include "wick/tensor/ops/dispatch.h"
#include "wick/tensor/ops/op_rule.h"

namespace wick {
namespace {

// The value before it is rounded to a dtype narrower than f32; rounding cannot carry it over the cap.
double uniform(const RandomParams& params, DType dtype, uint64_t at) {
  const UniformRange range = uniform_range_of(dtype, params.a, params.b);
  if (dtype == DType::f64) {
    const double u = static_cast<double>(stream_pair(params.seed, params.offset + 2 * at) >> 11) * 0x1p-53;
    return std::min(std::fma(u, range.span, range.low), range.cap);
  }
  const int bits = uniform_bits(dtype);
  const auto u = std::ldexp(static_cast<float>(stream_word(params.seed, params.offset + at) >> (32 - bits)), -bits);
  return std::min<double>(std::fma(u, static_cast<float>(range.span), static_cast<float>(range.low)), range.cap);
}

double normal(const RandomParams& params, DType dtype, uint64_t at) {
  const uint64_t pair = at / 2 * 2;
  const bool wide = dtype == DType::f64;
  const auto number = [&](uint64_t i) {
    return wide ? static_cast<double>(stream_pair(params.seed, params.offset + 2 * i) >> 11)
                : static_cast<double>(stream_word(params.seed, params.offset + i));
  };
  const double unit = wide ? 0x1p-53 : 0x1p-32;
  const double radius = std::sqrt(-2 * std::log((number(pair) + 1) * unit));
  const double angle = 2 * std::numbers::pi * (number(pair + 1) * unit);
  return params.a + params.b * (radius * (at % 2 == 0 ? std::cos(angle) : std::sin(angle)));
}

void random_reference(const void* params, std::span<const ReferenceTensor> /*inputs*/, std::span<ReferenceTensor> outputs) {
  const auto& random = *static_cast<const RandomParams*>(params);
  ReferenceTensor& out = outputs[0];
  for (size_t at = 0; at < out.values.size(); ++at) {
    out.values[at] = random.kind == RandomKind::uniform ? uniform(random, out.dtype, at) : normal(random, out.dtype, at);
  }
}

Tensor draw(std::string_view name, RandomParams params, const Shape& shape, DType dtype, const Device& device) {
  Tensor result = make_result(name, shape, dtype, device);
  check_dtype(OpId::random, name, result);
  if (!std::isfinite(params.a) || !std::isfinite(params.b)) {
    fail(ErrorCode::invalid_argument, "{}: {} and {} must be finite", name, params.a, params.b);
  }
  const RandomStream::Draw place = device.random().take(words_of_draw(dtype, shape.elements()));
  params.seed = place.seed;
  params.offset = place.offset;
  dispatch(OpId::random, &params, {}, {&result});
  return result;
}

}  // namespace

const OpRule rules::random = {.defining_operand = kFirstOutput,
                              .reference = random_reference,
                              .unsupported = refuse_all_but_floats,
                              .gradient_kind = GradientKind::none};

Tensor Tensor::rand(double low, double high, const Extents& shape, DType dtype, const Device& device) {
  const double span = dtype == DType::f64 ? high - low : static_cast<float>(high - low);
  if (low > high || !std::isfinite(span)) {
    fail(ErrorCode::invalid_argument, "rand: no numbers in [{}, {}): low must be at most high, and the difference finite", low, high);
  }
  return draw("rand", {.kind = RandomKind::uniform, .a = low, .b = high}, shape.checked("rand"), dtype, device);
}

Tensor Tensor::randn(double mean, double deviation, const Extents& shape, DType dtype, const Device& device) {
  return draw("randn", {.kind = RandomKind::normal, .a = mean, .b = deviation}, shape.checked("randn"), dtype, device);
}

}  // namespace wick
