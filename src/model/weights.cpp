#include "model/weights.h"

#include <utility>

#include "base/error.h"
#include "tensor/ops/dispatch.h"
#include "tensor/ops/linear.h"

namespace wick {

WeightReader::WeightReader(const GgufFile& file, const Device& device, bool rearrange, std::function<void(uint64_t, uint64_t)> progress)
    : file_(file), device_(device), rearrange_(rearrange), progress_(std::move(progress)) {}

Tensor WeightReader::import(const GgufTensor& tensor, const Shape& shape) {
  if (tensor.shape != shape) {
    fail(ErrorCode::shape_mismatch, "{}: tensor '{}' has shape {}, the metadata asks for {}; file and metadata do not belong together",
         file_.name(), tensor.name, tensor.shape.to_string(), shape.to_string());
  }
  parameters_ += shape.elements();
  done_bytes_ += tensor.data.size();
  if (progress_) progress_(done_bytes_, file_.file_bytes());
  return Tensor::import_host(tensor.data, shape, tensor.dtype, device_, tensor.file);
}

const GgufTensor* WeightReader::find(const std::string& name, OpId op) const {
  const GgufTensor* tensor = file_.find_tensor(name);
  if (tensor != nullptr && support(device_, op, tensor->dtype) == Support::none) {
    fail(ErrorCode::unsupported, "{}: tensor '{}' has type {}, which {} cannot read yet; convert the file to Q8_0, Q4_0, a K-quant or F16",
         file_.name(), tensor->name, to_string(tensor->dtype), device_.location().to_string());
  }
  return tensor;
}

void WeightReader::fail_missing(const std::string& name) const {
  fail(ErrorCode::not_found, "{}: tensor '{}' is missing; the file is incomplete or of another architecture", file_.name(), name);
}

Tensor WeightReader::table(const std::string& name, int64_t rows, int64_t columns) {
  const GgufTensor* tensor = find(name, OpId::embedding);
  if (tensor == nullptr) fail_missing(name);
  return import(*tensor, {rows, columns});
}

std::optional<Tensor> WeightReader::find_matrix(const std::string& name, int64_t rows, int64_t columns) {
  const GgufTensor* tensor = find(name, OpId::linear);
  if (tensor == nullptr) return std::nullopt;
  const Tensor weight = import(*tensor, {rows, columns});
  if (!rearrange_) return weight;
  Tensor rearranged = repack_for_linear(weight);
  if (rearranged.storage() != weight.storage() && tensor->file != nullptr) tensor->file->forget(tensor->data);
  return rearranged;
}

Tensor WeightReader::matrix(const std::string& name, int64_t rows, int64_t columns) {
  if (std::optional<Tensor> weight = find_matrix(name, rows, columns)) return *std::move(weight);
  fail_missing(name);
}

std::optional<Tensor> WeightReader::find_vector(const std::string& name, int64_t length) {
  const GgufTensor* tensor = file_.find_tensor(name);
  if (tensor == nullptr) return std::nullopt;
  if (!is_float(tensor->dtype)) {
    fail(ErrorCode::unsupported, "{}: tensor '{}' has type {}; a float type is needed", file_.name(), tensor->name,
         to_string(tensor->dtype));
  }
  return import(*tensor, {length});
}

Tensor WeightReader::vector(const std::string& name, int64_t length) {
  if (std::optional<Tensor> weight = find_vector(name, length)) return *std::move(weight);
  fail_missing(name);
}

}  // namespace wick
