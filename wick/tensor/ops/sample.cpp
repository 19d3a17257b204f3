#include "wick/tensor/ops/sample.h"

#include <array>
#include <vector>

#include "wick/base/fail.h"
#include "wick/tensor/assigned.h"
#include "wick/tensor/ops/dispatch.h"
#include "wick/tensor/ops/op_rule.h"

namespace wick {
namespace {

void sample_reference(const void* /*params*/, std::span<const ReferenceTensor> inputs, std::span<ReferenceTensor> outputs) {
  const auto tokens = static_cast<size_t>(inputs[0].shape.last());
  for (size_t row = 0; row < outputs[0].values.size(); ++row) {
    const auto from = inputs[0].values.begin() + static_cast<ptrdiff_t>(row * tokens);
    const std::vector<float> logits(from, from + static_cast<ptrdiff_t>(tokens));
    const double* settings = inputs[1].values.data() + row * 4;
    const auto word = [&](size_t i) { return static_cast<uint64_t>(inputs[2].values[row * 4 + i]); };
    const SampleSettings numbers{static_cast<float>(settings[0]), static_cast<int64_t>(settings[1]), static_cast<float>(settings[2]),
                                 static_cast<float>(settings[3]), word(1) << 32 | word(0),           word(3) << 32 | word(2)};
    outputs[0].values[row] = sample_token(logits, numbers);
  }
}

std::string_view sample_unsupported(DType dtype) { return dtype == DType::f32 ? "" : "logits are f32"; }

void check(const Tensor& logits, const Tensor& numbers, DType dtype, const char* name) {
  if (logits.rank() != 2 || numbers.shape() != Shape{logits.shape()[0], 4}) {
    fail(ErrorCode::shape_mismatch, "sample: logits {} and {} {}: want [rows, tokens] and [rows, 4]", logits.describe(), name,
         numbers.describe());
  }
  if (numbers.dtype() != dtype) {
    fail(ErrorCode::dtype_mismatch, "sample: the {} {} must be {}", name, numbers.describe(), to_string(dtype));
  }
}

}  // namespace

const OpRule rules::sample = {
    .defining_operand = 0, .reference = sample_reference, .unsupported = sample_unsupported, .gradient_kind = GradientKind::none};

Tensor sample(const Tensor& logits, const Tensor& settings, const Tensor& draws) {
  check_assigned("sample", {{"logits", logits}, {"settings", settings}, {"draws", draws}});
  check_dtype(OpId::sample, "sample", logits);
  check(logits, settings, DType::f32, "settings");
  check(logits, draws, DType::u32, "draws");
  const int64_t tokens = logits.shape()[1];
  if (tokens < 1 || tokens > kMaxSampledTokens) {
    fail(ErrorCode::shape_mismatch, "sample: logits {} of {} tokens; allowed: 1 to {}", logits.describe(), tokens, kMaxSampledTokens);
  }
  const Tensor rows = logits.contiguous(), numbers = settings.contiguous(), places = draws.contiguous();
  Tensor result = make_result("sample", {logits.shape()[0]}, DType::i32, logits.device());
  apply(OpId::sample, {&rows, &numbers, &places}, {&result});
  return result;
}

Tensor sample(const Tensor& logits, std::span<const SampleSettings> settings) {
  std::vector<float> numbers;
  std::vector<uint32_t> draws;
  for (const SampleSettings& row : settings) {
    numbers.insert(numbers.end(), {row.inverse_temperature, static_cast<float>(row.top_k), row.top_p, row.min_p});
    for (const uint64_t word : {row.seed, row.number}) {
      draws.insert(draws.end(), {static_cast<uint32_t>(word), static_cast<uint32_t>(word >> 32)});
    }
  }
  const Shape shape{static_cast<int64_t>(settings.size()), 4};
  check_assigned("sample", {{"logits", logits}});
  return sample(logits, Tensor::from_vector(numbers, shape, logits.device()), Tensor::from_vector(draws, shape, logits.device()));
}

}  // namespace wick
