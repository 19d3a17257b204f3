#include "wick/tensor/nested.h"

#include "wick/base/fail.h"

namespace wick {

void fail_ragged(const Shape& part, const Shape& first) {
  fail(ErrorCode::shape_mismatch, "Tensor::of: the nested braces are ragged: one part has shape {}, another {}", part.to_string(),
       first.to_string());
}

}  // namespace wick
