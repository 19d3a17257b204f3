#include "wick/nn/embedding.h"

#include <vector>

#include "wick/base/fail.h"
#include "wick/tensor/assigned.h"
#include "wick/tensor/ops/embedding.h"

namespace wick::nn {

Embedding::Embedding(Tensor table) : table_(std::move(table)) {
  if (table_.rank() != 2) fail(ErrorCode::shape_mismatch, "Embedding: the table {} must be [rows, width]", table_.describe());
}

Embedding::Embedding(int64_t rows, int64_t width, const LayerOptions& options)
    : Embedding(embedding(rows, width, new_variables("Embedding", {rows, width}, options))) {}

void Embedding::visit_tensors(const TensorVisitor& visit) const { visit("weight", table_, TensorRole::parameter); }

Tensor Embedding::forward(const Tensor& ids) const {
  check_assigned("Embedding", {{"ids", ids}});
  if (is_quantized(table_.dtype())) return wick::embedding(table_, ids);
  std::vector<int64_t> dims(ids.dims().begin(), ids.dims().end());
  dims.push_back(hidden_size());
  const Tensor rows = on_behalf_of("Embedding", [&] { return table_.index_select(ids.flatten_all(), 0); });
  return rows.reshape(Shape(std::span<const int64_t>(dims)));
}

Embedding embedding(int64_t rows, int64_t width, const VarBuilder& builder) {
  return Embedding(builder.get_with_hints({rows, width}, "weight", init::Randn{0, 1}));
}

}  // namespace wick::nn
