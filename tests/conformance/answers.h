// A cache of reference results: a case runs on every device with the same inputs.
#pragma once

#include <cstddef>
#include <functional>
#include <list>
#include <span>
#include <vector>

#include "wick/op/op.h"
#include "wick/tensor/ops/op_rule.h"

namespace wick::conformance {

// The reference's results, and the error allowed for each element of each (empty: none but the rounding).
struct Answer {
  std::vector<ReferenceTensor> expected;
  std::vector<std::vector<double>> allowed;
};

class Answers {
 public:
  using Tensors = std::vector<ReferenceTensor>;
  // The errors allowed, one list for each result.
  using Allowed = std::function<std::vector<std::vector<double>>(std::span<const ReferenceTensor> inputs, const Tensors& expected)>;

  // The answer to that op with these parameters (nullptr where it has none) and inputs, bit by bit; computed where it is not known yet.
  // `results` have shapes and dtypes; their values are of no account. The answer stays valid as long as this object.
  [[nodiscard]] const Answer& find(OpId op, const void* params, Tensors inputs, Tensors results, const Allowed& allowed);

 private:
  struct Question {
    OpId op;
    std::vector<std::byte> params;
    Tensors inputs;
  };
  struct Entry {
    Question question;
    Answer answer;
  };
  std::list<Entry> entries_;
};

}  // namespace wick::conformance
