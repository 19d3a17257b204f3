// A Case is one fact about an op: (op, dtype, shape, layout, parameters). Cases know no device; the runner tries each on every one.
#pragma once

#include <functional>
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

inline constexpr DType kPlainDTypes[] = {DType::u8,   DType::u32, DType::i8,  DType::i16, DType::i32,   DType::i64,
                                         DType::bf16, DType::f16, DType::f32, DType::f64, DType::f8e4m3};
inline constexpr DType kFloatDTypes[] = {DType::f32, DType::f16, DType::bf16, DType::f64, DType::f8e4m3};

// One function a family of ops, in cases/.
void add_attention_cases(CaseList& list);
void add_binary_cases(CaseList& list);
void add_copy_cases(CaseList& list);
void add_embedding_cases(CaseList& list);
void add_image_cases(CaseList& list);
void add_indexing_cases(CaseList& list);
void add_linear_cases(CaseList& list);
void add_matmul_cases(CaseList& list);
void add_order_cases(CaseList& list);
void add_random_cases(CaseList& list);
void add_reduce_cases(CaseList& list);
void add_rope_cases(CaseList& list);
void add_row_cases(CaseList& list);
void add_unary_cases(CaseList& list);

}  // namespace wick::conformance
