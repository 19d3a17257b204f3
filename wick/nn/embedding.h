// Embedding: rows of a table by number.
#pragma once

#include "wick/nn/module.h"
#include "wick/nn/var_builder.h"

namespace [[gnu::visibility("default")]] wick {
namespace nn {

class Embedding final : public Module {
 public:
  // table [rows, width], float or quantized. Errors: shape_mismatch.
  explicit Embedding(Tensor table);
  // New variables, as embedding draws them; there is no bias. Errors: invalid_argument for a size below 1.
  Embedding(int64_t rows, int64_t width, const LayerOptions& options = {});

  // ids u8, u32 or i64 of any shape -> [ids' shape..., width], of the table's dtype (f32 for a quantized one).
  // Errors: index_out_of_range.
  [[nodiscard]] Tensor forward(const Tensor& ids) const override;
  void visit_tensors(const TensorVisitor& visit) const override;
  [[nodiscard]] const Tensor& embeddings() const noexcept { return table_; }
  [[nodiscard]] int64_t hidden_size() const { return table_.shape()[1]; }

 private:
  Tensor table_;
};

// "weight" below the builder's prefix; a new one is drawn from the standard normal distribution.
[[nodiscard]] Embedding embedding(int64_t rows, int64_t width, const VarBuilder& builder);

}  // namespace nn
}  // namespace wick
