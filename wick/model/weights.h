// Takes a model's tensors out of a checkpoint: checked against the shapes that the architecture wants, mapped rather than copied.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wick/model/checkpoint/checkpoint.h"
#include "wick/model/language_model.h"
#include "wick/model/lora/lora_stack.h"
#include "wick/tensor/tensor.h"

namespace wick {

// A matrix for linear, and the number that its products are multiplied by: a file may give one scale for a whole matrix.
struct ScaledMatrix {
  Tensor weight;
  double scale = 1;
  // The file that `weight` is mapped from; null if it has its own memory.
  std::shared_ptr<const MappedFile> file = {};
  std::span<const std::byte> data = {};
  // Which rows of which tensor it is: all of "blk.0.attn_q.weight", or some of one that holds several matrices.
  std::string name = {};
  int64_t first_row = 0, rows_of_tensor = 0;
  std::shared_ptr<const LoraStack> adapters = {};  // none: no adapter changes it
  std::optional<Tensor> expert_scales = {};        // of the matrices of a stack: [count, 1]

  // Lets the device prepare it for products; pages of the file that are then not read any more are forgotten, so that it is in memory
  // once.
  void prepare() const;

  // Scales a product with `weight` (or a row of it).
  [[nodiscard]] Tensor scaled(Tensor product) const { return scale == 1 ? std::move(product) : product * scale; }
};

class WeightReader {
 public:
  WeightReader(const Checkpoint& file, Device device, const LoadOptions& options);
  // From now on a tensor of a name with this prefix counts before that of the name alone (DecoderSpec::prefix).
  void set_prefix(const std::string& prefix) { prefix_ = prefix; }
  // Architecture::scaled_feed_forward, which is so until it is said.
  void set_scaled_feed_forward(bool scaled) { scaled_feed_forward_ = scaled; }

  // The matrix "<name>.weight" [rows, columns] for linear. Its scale is "<name>.scale", if the file has one; I2_S, whose one scale no
  // kernel reads, becomes ternary blocks of scale 1 (quant/i2_s.h), and its scale counts too.
  // Errors: not_found, shape_mismatch, unsupported (a dtype that the device cannot multiply); each names file and tensor.
  [[nodiscard]] ScaledMatrix matrix(const std::string& name, int64_t rows, int64_t columns);
  // The same of a matrix whose "<name>.scale" is no scale of its products.
  [[nodiscard]] ScaledMatrix unscaled_matrix(const std::string& name, int64_t rows, int64_t columns);
  // The rows from `first` on of a matrix [of, columns]: one of several that a checkpoint stores as one. Nothing is copied; as rows are
  // whole blocks, those of a quantized matrix are one too. Errors: matrix's; unsupported for I2_S.
  struct Rows {
    int64_t first = 0, count = 0, of = 0;
  };
  [[nodiscard]] ScaledMatrix matrix_rows(const std::string& name, const Rows& rows, int64_t columns);
  // One matrix [rows, columns] of each expert, for linear_experts. "<name>.scale" may be one number, or one for each expert.
  // Errors: matrix's.
  [[nodiscard]] ScaledMatrix experts(const std::string& name, int64_t count, int64_t rows, int64_t columns);
  // Vectors, one beneath the other: f32 [count, length].
  [[nodiscard]] Tensor vectors(const std::string& name, int64_t count, int64_t length);
  // The same of a file that may have [count, 1, length], or several dimensions of 1 there.
  [[nodiscard]] Tensor kernels(const std::string& name, int64_t count, int64_t length);
  // A bias of each: f32 [count, rows].
  [[nodiscard]] std::optional<Tensor> find_expert_biases(const std::string& name, int64_t count, int64_t rows);
  // "<name>.scale" of a stack that another stack has taken in: f32 [count, 1].
  [[nodiscard]] std::optional<Tensor> find_expert_scales(const std::string& name, int64_t count);
  [[nodiscard]] std::optional<Tensor> find_vector_part(const std::string& name, const Rows& elements);
  [[nodiscard]] bool has(const std::string& name) const { return stored(name) != nullptr; }
  // 0 if the tensor is absent or has no dimensions.
  [[nodiscard]] int64_t rows_of(const std::string& name) const;
  [[nodiscard]] const Checkpoint& checkpoint() const noexcept { return file_; }
  // LoadOptions'.
  [[nodiscard]] bool deterministic() const noexcept { return deterministic_; }
  // Where tensors are read to.
  [[nodiscard]] const Device& device() const noexcept { return device_; }
  // From now on.
  void set_device(const Device& device) { device_ = device; }
  // A matrix whose rows are looked up, not multiplied.
  [[nodiscard]] ScaledMatrix table(const std::string& name, int64_t rows, int64_t columns);
  // A vector of `length` floats, as f32.
  [[nodiscard]] Tensor vector(const std::string& name, int64_t length);
  [[nodiscard]] std::optional<Tensor> find_vector(const std::string& name, int64_t length);
  // Refuses a file with tensors that nobody read: a model without them computes something else. Names that hold one of `harmless` pass.
  // Errors: unsupported, naming the first of them.
  void require_all_read(std::span<const std::string_view> harmless) const;
  // The number of elements of all tensors read so far.
  [[nodiscard]] int64_t parameters() const noexcept { return parameters_; }

 private:
  // Errors: not_found; unsupported if the device cannot do `op` with its dtype.
  [[nodiscard]] const CheckpointTensor& find(const std::string& name, OpId op);
  [[noreturn]] void fail_missing(const std::string& name) const;
  // Leading extents of 1 count for nothing.
  void check_shape(const CheckpointTensor& tensor, const Shape& shape) const;
  // Errors: check_weight_dtype's; unsupported for a quantized tensor.
  void check_float(const CheckpointTensor& tensor) const;
  void count(const CheckpointTensor& tensor);
  // In the dtype that the model computes with.
  [[nodiscard]] Tensor import(const CheckpointTensor& tensor, const Shape& shape);
  // As f32.
  [[nodiscard]] Tensor import_f32(const CheckpointTensor& tensor, const Shape& shape);
  // Elements of a vector, as f32. Errors: unsupported for a quantized one.
  [[nodiscard]] Tensor import_vector(const CheckpointTensor& tensor, const Rows& elements);
  // The blocks that stand for I2_S, a copy.
  [[nodiscard]] Tensor import_rewritten(const CheckpointTensor& tensor, const Shape& shape);
  // The number of "<name>.scale"; 1 if there is none, or if it counts for nothing. Errors: shape_mismatch; check_float's.
  [[nodiscard]] double scale(const std::string& name);
  // Whether the scale of the matrix "<name>.weight" counts.
  [[nodiscard]] bool is_scaled(const std::string& name) const;
  // With what of the file it still is.
  [[nodiscard]] ScaledMatrix stored_matrix(const CheckpointTensor& tensor, const Shape& shape);
  [[nodiscard]] ScaledMatrix read(const std::string& name, OpId op, const Shape& shape);

  // The tensor of that name, with the prefix if there is one; nullptr if there is none.
  [[nodiscard]] const CheckpointTensor* stored(const std::string& name) const;
  // The same, and marks it as read.
  [[nodiscard]] const CheckpointTensor* take(const std::string& name);

  const Checkpoint& file_;
  std::string prefix_;
  std::vector<bool> read_;  // of file_.tensors()
  Device device_;
  std::function<void(uint64_t, uint64_t)> progress_;
  uint64_t total_bytes_;
  bool deterministic_;
  bool scaled_feed_forward_ = true;
  uint64_t done_bytes_ = 0;
  int64_t parameters_ = 0;
};

}  // namespace wick
