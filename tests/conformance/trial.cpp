#include "conformance/trial.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "wick/base/half.h"
#include "wick/quant/block_format.h"
#include "wick/tensor/ops/dispatch.h"
#include "wick/tensor/ops/linear.h"
#include "wick/tensor/ops/reference.h"

namespace wick::conformance {
namespace {

using Bytes = std::vector<std::byte>;

// Where the f16 scales of a block lie: random bytes there would be infinities. A format that is not here is packed from numbers.
std::vector<size_t> scale_offsets(DType dtype) {
  switch (dtype) {
    case DType::q4_0:
    case DType::q5_0:
    case DType::q8_0:
    case DType::q8_1:
    case DType::q1_0:
    case DType::q2_0:
    case DType::iq1_s:
    case DType::iq2_xxs:
    case DType::iq2_xs:
    case DType::iq2_s:
    case DType::iq3_xxs:
    case DType::iq3_s:
    case DType::iq4_nl:
    case DType::iq4_xs: return {0};
    case DType::q4_1:
    case DType::q5_1:
    case DType::q4_k:
    case DType::q5_k: return {0, 2};
    case DType::q2_k: return {80, 82};
    case DType::q3_k: return {108};
    case DType::q6_k: return {208};
    case DType::tq1_0: return {52};
    case DType::tq2_0: return {64};
    default: return {};
  }
}

Bytes random_blocks(Random& random, DType dtype, int64_t elements) {
  const DTypeInfo& entry = info(dtype);
  Bytes bytes(static_cast<size_t>(storage_bytes(dtype, elements)));
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.below(256));
  for (size_t block = 0; block < bytes.size(); block += static_cast<size_t>(entry.block_bytes)) {
    for (const size_t offset : scale_offsets(dtype)) {
      const double scale = random.below(16) == 0 ? 0 : random.uniform(-1, 1) / 64;
      const uint16_t bits = f16(static_cast<float>(scale)).bits;
      std::memcpy(bytes.data() + block + offset, &bits, sizeof(bits));
    }
  }
  return bytes;
}

// A quarter of the codes is 3, which means 0.
Bytes random_i2_s(Random& random, int64_t elements) {
  Bytes bytes(static_cast<size_t>(tensor_bytes(DType::i2_s, elements)));
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.below(256));
  const auto scale = static_cast<float>(random.uniform(-1, 1));
  std::memcpy(bytes.data() + storage_bytes(DType::i2_s, elements), &scale, sizeof(scale));
  return bytes;
}

Bytes packed_blocks(Random& random, DType dtype, int64_t elements) {
  std::vector<float> values(static_cast<size_t>(elements));
  for (float& value : values) value = static_cast<float>(random.uniform(-1, 1));
  Bytes bytes(static_cast<size_t>(storage_bytes(dtype, elements)));
  find_block_format(dtype)->pack(values, bytes.data());
  return bytes;
}

bool agree(double got, double expected, double rounded_expected, double allowed) {
  if (std::isnan(rounded_expected)) return std::isnan(got);
  return got == rounded_expected || std::fabs(got - expected) <= allowed;
}

// Numbers of these dtypes are those of f32, or the first bits of such.
double without_subnormal(DType dtype, double value) {
  const bool narrow = dtype == DType::f32 || dtype == DType::bf16;
  return narrow && std::fabs(value) < 0x1p-126 ? std::copysign(0.0, value) : value;
}

// Whether there were any.
bool drop_subnormals(std::vector<ReferenceTensor>& operands) {
  bool any = false;
  for (ReferenceTensor& operand : operands) {
    for (double& value : operand.values) {
      const double kept = without_subnormal(operand.dtype, value);
      any = any || kept != value;
      value = kept;
    }
  }
  return any;
}

std::string index_text(const Shape& shape, size_t at) {
  std::string text;
  auto rest = static_cast<int64_t>(at);
  for (int dim = shape.rank() - 1; dim >= 0; --dim) {
    text = fmt::format("{}{}{}", rest % shape[dim], text.empty() ? "" : ", ", text);
    rest /= shape[dim];
  }
  return "[" + text + "]";
}

}  // namespace

Tensor Trial::tensor_of(Bytes bytes, const Shape& shape, DType dtype) {
  if (random_.below(2) == 0) return Tensor::from_bytes(bytes, shape, dtype, device_);
  const auto owner = std::make_shared<const Bytes>(std::move(bytes));
  return Tensor::import_host(*owner, shape, dtype, device_, owner);
}

Tensor Trial::place_values(const std::vector<double>& values, const Placement& placement, DType dtype) {
  const Shape flat{placement.storage_elements};
  Bytes bytes(static_cast<size_t>(storage_bytes(dtype, placement.storage_elements)));
  const std::unique_ptr<Buffer> buffer = wrap_host_memory(bytes.data(), bytes.size(), nullptr);
  const Layout layout(flat);
  write_reference({flat, values}, {buffer.get(), dtype, &layout});
  return Tensor(tensor_of(std::move(bytes), flat, dtype).storage(), placement.layout);
}

Tensor Trial::input(const Shape& shape, DType dtype, View view, Range range) {
  const Placement placement = place(shape, view);
  std::vector<double> values(static_cast<size_t>(placement.storage_elements));
  const bool is_unsigned = dtype == DType::u8 || dtype == DType::u32;
  for (double& value : values) {
    value = random_.uniform(range.low, range.high);
    if (is_integer(dtype)) value = std::floor(is_unsigned ? std::fabs(value) : value);
  }
  return place_values(values, placement, dtype);
}

Tensor Trial::input_of(const std::vector<double>& values, const Shape& shape, DType dtype, View view) {
  const Placement placement = place(shape, view);
  std::vector<double> all(static_cast<size_t>(placement.storage_elements));
  for (size_t i = 0; i < all.size(); ++i) all[i] = values[i % values.size()];
  return place_values(all, placement, dtype);
}

Tensor Trial::weight(int64_t n, int64_t k, DType dtype) {
  if (!is_quantized(dtype)) return input({n, k}, dtype, View::contiguous, {-1, 1});
  if (dtype == DType::i2_s) return tensor_of(random_i2_s(random_, n * k), {n, k}, dtype);
  Bytes rows = scale_offsets(dtype).empty() ? packed_blocks(random_, dtype, n * k) : random_blocks(random_, dtype, n * k);
  return tensor_of(std::move(rows), {n, k}, dtype);
}

Tensor Trial::prepared(const Tensor& weight) const {
  prepare_weight(weight);
  device_.runtime().finish_preparing();
  return weight;
}

ReferenceTensor Trial::values_of(const Tensor& tensor) const { return download_reference(device_.runtime(), operand_of(tensor)); }

void Trial::expect(OpId op, const void* params, std::span<const Tensor* const> inputs, const Tensor& result, const Bound& bound) {
  if (!values_) return;
  std::vector<ReferenceTensor> operands;
  for (const Tensor* input : inputs) operands.push_back(values_of(*input));
  if (result.elements() == 0) return expect_values({result.shape(), {}, result.dtype()}, result, {});
  const auto allowed = [&](Inputs of, const std::vector<ReferenceTensor>& expected) {
    return std::vector<std::vector<double>>{bound ? bound(of, expected[0]) : std::vector<double>()};
  };
  const auto expectation = [&] {
    const Answer& answer = answers_.find(op, params, operands, {{result.shape(), {}, result.dtype()}}, allowed);
    return Expectation{answer.expected[0], answer.allowed[0]};
  };
  std::vector<Expectation> expectations = {expectation()};
  if (!device_.caps().f32_subnormals && drop_subnormals(operands)) expectations.push_back(expectation());
  expect_one_of(expectations, result);
}

void Trial::expect_values(const ReferenceTensor& expected, const Tensor& result, std::span<const double> allowed) {
  expect_one_of(std::array{Expectation{expected, allowed}}, result);
}

void Trial::expect_one_of(std::span<const Expectation> expectations, const Tensor& result) {
  const Expectation& exact = expectations.front();
  expect_true(result.shape() == exact.expected.shape,
              fmt::format("shape {} where {} is due", result.shape().to_string(), exact.expected.shape.to_string()));
  if (!values_ || !failure_.empty()) return;
  const DType dtype = result.dtype();
  const ReferenceTensor got = values_of(result);
  std::vector<std::vector<double>> once;
  for (const Expectation& each : expectations) once.push_back(rounded(dtype, each.expected));
  const auto tolerance = [&](const Expectation& of, size_t i) {
    return of.allowed.empty() ? 0 : of.allowed[i] + half_ulp(dtype, std::fabs(of.expected.values[i]) + of.allowed[i]);
  };
  const auto agrees_with_zeros = [&](size_t i) {
    for (size_t e = 0; e < expectations.size(); ++e) {
      const double y = without_subnormal(dtype, expectations[e].expected.values[i]), rounded_y = without_subnormal(dtype, once[e][i]);
      if (agree(without_subnormal(dtype, got.values[i]), y, rounded_y, tolerance(expectations[e], i))) return true;
    }
    return false;
  };
  size_t wrong = 0;
  size_t worst = 0;
  double worst_ratio = -1;
  for (size_t i = 0; i < got.values.size(); ++i) {
    const double y = exact.expected.values[i];
    if (agree(got.values[i], y, once[0][i], tolerance(exact, i))) {
      if (got.values[i] != once[0][i]) largest_error_ = std::fmax(largest_error_, std::fabs(got.values[i] - y) / tolerance(exact, i));
      continue;
    }
    if (!device_.caps().f32_subnormals && agrees_with_zeros(i)) {
      counted_as_zero_ = true;
      continue;
    }
    ++wrong;
    const double error = std::fabs(got.values[i] - y);
    const double ratio = std::isnan(error) ? HUGE_VAL : error / std::max(tolerance(exact, i), 1e-300);
    if (ratio <= worst_ratio) continue;
    worst_ratio = ratio;
    worst = i;
  }
  if (wrong == 0) return;
  const bool rounds_once = exact.allowed.empty();
  const double y = exact.expected.values[worst];
  failure_ =
      fmt::format("largest error {:.3g} where {:.3g} is allowed, at {} of {}: got {:.9g}, expected {:.9g}; {} of {} elements are wrong",
                  std::fabs(got.values[worst] - y), rounds_once ? 0 : exact.allowed[worst], index_text(result.shape(), worst),
                  result.describe(), got.values[worst], rounds_once ? once[0][worst] : y, wrong, got.values.size());
}

void Trial::expect_true(bool fact, const std::string& what) {
  if (!fact && failure_.empty()) failure_ = what;
}

}  // namespace wick::conformance
