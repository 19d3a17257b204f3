#include "wick/tensor/ops/embedding.h"

#include <algorithm>
#include <vector>

#include "wick/base/fail.h"
#include "wick/tensor/assigned.h"
#include "wick/tensor/ops/dispatch.h"
#include "wick/tensor/ops/op_rule.h"
#include "wick/tensor/ops/reference.h"

namespace wick {
namespace {

void embedding_reference(const void* /*params*/, std::span<const ReferenceTensor> inputs, std::span<ReferenceTensor> outputs) {
  const auto width = static_cast<size_t>(inputs[0].shape[1]);
  for (size_t row = 0; row < inputs[1].values.size(); ++row) {
    const double* source = inputs[0].values.data() + static_cast<size_t>(inputs[1].values[row]) * width;
    std::copy(source, source + width, outputs[0].values.begin() + static_cast<std::ptrdiff_t>(row * width));
  }
}

void embedding_gradient(GradientContext& context) {
  const Tensor g = context.gradient().reshape({-1, context.input_shape(0)[1]});
  const Tensor ids = context.input(1).flatten_all().to_dtype(DType::i64);
  const Tensor zeros = Tensor::zeros(context.input_shape(0), g.dtype(), g.device());
  context.give(0, zeros.index_add(ids, g, 0).to_dtype(context.input_dtype(0)));
}

}  // namespace

const OpRule rules::embedding = {
    .defining_operand = 0, .reference = embedding_reference, .gradient_kind = GradientKind::function, .gradient = embedding_gradient};

Tensor embedding(const Tensor& table, const Tensor& ids) {
  if (table.rank() != 2) fail(ErrorCode::shape_mismatch, "embedding: the table {} must be [rows, width]", table.describe());
  if (ids.dtype() != DType::u32 && ids.dtype() != DType::i32 && ids.dtype() != DType::i64) {
    fail(ErrorCode::dtype_mismatch, "embedding: ids {} must be u32, i32 or i64", ids.describe());
  }
  // Checked on the host, so that no backend ever reads outside the table.
  for (const double id : download_reference(ids.device().runtime(), operand_of(ids)).values) {
    if (id < 0 || id >= static_cast<double>(table.shape()[0])) {
      fail(ErrorCode::index_out_of_range, "embedding: id {} is out of range for a table of {} rows; allowed: 0 to {}", id, table.shape()[0],
           table.shape()[0] - 1);
    }
  }
  std::vector<int64_t> dims(ids.shape().dims().begin(), ids.shape().dims().end());
  dims.push_back(table.shape()[1]);
  Tensor result = make_result("embedding", Shape(std::span<const int64_t>(dims)), DType::f32, table.device());
  apply(OpId::embedding, {&table, &ids}, {&result});
  return result;
}

}  // namespace wick
