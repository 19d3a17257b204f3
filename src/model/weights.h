// Takes a model's tensors out of a GGUF file: checked against the shapes that the architecture wants, mapped rather than copied.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "formats/gguf.h"
#include "tensor/tensor.h"

namespace wick {

class WeightReader {
 public:
  // `rearrange`: matrices are rearranged into the device's favourite layout, and their pages of the file are forgotten, so that a
  // weight is in memory once.
  WeightReader(const GgufFile& file, const Device& device, bool rearrange, std::function<void(uint64_t done, uint64_t total)> progress);

  // A matrix [rows, columns] for linear. Errors: not_found, shape_mismatch, unsupported (a dtype that the device cannot multiply);
  // each names file and tensor.
  [[nodiscard]] Tensor matrix(const std::string& name, int64_t rows, int64_t columns);
  [[nodiscard]] std::optional<Tensor> find_matrix(const std::string& name, int64_t rows, int64_t columns);
  // A matrix whose rows are looked up, not multiplied: it stays as it is, in the file.
  [[nodiscard]] Tensor table(const std::string& name, int64_t rows, int64_t columns);
  // A vector of `length` floats.
  [[nodiscard]] Tensor vector(const std::string& name, int64_t length);
  [[nodiscard]] std::optional<Tensor> find_vector(const std::string& name, int64_t length);
  // The number of elements of all tensors read so far.
  [[nodiscard]] int64_t parameters() const noexcept { return parameters_; }

 private:
  // nullptr if the file has no such tensor. Errors: unsupported if the device cannot do `op` with its dtype.
  [[nodiscard]] const GgufTensor* find(const std::string& name, OpId op) const;
  [[noreturn]] void fail_missing(const std::string& name) const;
  [[nodiscard]] Tensor import(const GgufTensor& tensor, const Shape& shape);

  const GgufFile& file_;
  Device device_;
  bool rearrange_;
  std::function<void(uint64_t, uint64_t)> progress_;
  uint64_t done_bytes_ = 0;
  int64_t parameters_ = 0;
};

}  // namespace wick
