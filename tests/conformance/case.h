// A Case is one fact about an op: (op, dtype, shape, layout, parameters). Cases know no device; the runner tries each on every one.
#pragma once

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "conformance/trial.h"
#include "wick/op/op.h"

namespace wick::conformance {

struct Case {
  OpId op;
  DType dtype;       // of the defining operand
  std::string name;  // "softmax/f32/[3, 17]/transposed"
  std::function<void(Trial&)> run;
};

class CaseList {
 public:
  // `rest` is the name behind op and dtype.
  void add(OpId op, DType dtype, const std::string& rest, std::function<void(Trial&)> run) {
    cases_.push_back({op, dtype, std::string(to_string(op)) + "/" + std::string(to_string(dtype)) + "/" + rest, std::move(run)});
  }
  [[nodiscard]] const std::vector<Case>& cases() const noexcept { return cases_; }

 private:
  std::vector<Case> cases_;
};

// The dtypes that a predicate holds for, in the order of their rows.
template <auto kHolds>
[[nodiscard]] consteval auto dtypes_where() {
  constexpr auto holds = [](const DTypeInfo& row) { return kHolds(row.dtype); };
  std::array<DType, static_cast<size_t>(std::count_if(kDTypeRows.begin(), kDTypeRows.end(), holds))> list{};
  size_t count = 0;
  for (const DTypeInfo& row : kDTypeRows) {
    if (holds(row)) list[count++] = row.dtype;
  }
  return list;
}
inline constexpr auto kPlainDTypes = dtypes_where<[](DType dtype) { return !is_quantized(dtype); }>();
inline constexpr auto kFloatDTypes = dtypes_where<is_float>();

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

[[nodiscard]] inline std::vector<Shape> shapes_of_every_rank() {
  return {
      {}, {1}, {7}, {3, 5}, {2, 3, 5}, {2, 3, 2, 3}, {2, 1, 3, 2, 3}, {2, 2, 1, 2, 2, 3}, {1, 2, 2, 1, 2, 2, 3}, {2, 1, 2, 2, 1, 2, 2, 3}};
}

// One function a family of ops, in cases/.
void add_attention_cases(CaseList& list);
void add_binary_cases(CaseList& list);
void add_causal_conv_cases(CaseList& list);
void add_copy_cases(CaseList& list);
void add_embedding_cases(CaseList& list);
void add_expert_cases(CaseList& list);
void add_fused_linear_cases(CaseList& list);
void add_image_cases(CaseList& list);
void add_indexing_cases(CaseList& list);
void add_linear_cases(CaseList& list);
void add_matmul_cases(CaseList& list);
void add_order_cases(CaseList& list);
void add_random_cases(CaseList& list);
void add_recurrent_step_cases(CaseList& list);
void add_reduce_cases(CaseList& list);
void add_rope_cases(CaseList& list);
void add_row_cases(CaseList& list);
void add_sample_cases(CaseList& list);
void add_unary_cases(CaseList& list);

}  // namespace wick::conformance
