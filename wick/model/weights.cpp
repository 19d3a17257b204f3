#include "wick/model/weights.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "wick/base/fail.h"
#include "wick/device/reclaimable_pages.h"
#include "wick/formats/printable.h"
#include "wick/quant/i2_s.h"
#include "wick/tensor/ops/dispatch.h"
#include "wick/tensor/ops/linear.h"

namespace wick {
namespace {

Shape without_leading_ones(const Shape& shape) {
  std::span<const int64_t> extents = shape.dims();
  while (extents.size() > 1 && extents.front() == 1) extents = extents.subspan(1);
  return Shape(extents);
}

// What a folder would call a layer's tensor: as it calls that of another layer. Empty where it has none of these, and for GGUF files.
std::string stored_name(const Checkpoint& file, std::string_view name) {
  constexpr std::string_view kLayer = "blk.";
  const size_t layer = name.find(kLayer), first = layer + kLayer.size();
  const size_t end = layer == std::string_view::npos ? layer : name.find('.', first);
  if (file.gguf() != nullptr || end == std::string_view::npos) return {};
  for (const CheckpointTensor& other : file.tensors()) {
    const size_t other_end = other.name.find('.', first);
    const bool is_kin = other.name.starts_with(name.substr(0, first)) && other_end != std::string::npos;
    if (!is_kin || other.name.substr(other_end) != name.substr(end)) continue;
    const std::string number = "." + other.name.substr(first, other_end - first) + ".";
    const size_t at = other.stored.find(number);
    if (at == std::string::npos) continue;
    std::string stored = other.stored;
    return stored.replace(at + 1, number.size() - 2, name.substr(first, end - first));
  }
  return {};
}

}  // namespace

void ScaledMatrix::prepare() const {
  if (!weight.defined()) return;
  WeightUse use{.op = weight.rank() == 3 ? OpId::linear_experts : OpId::linear};
  if (file != nullptr) use.release = [file = file, data = data](size_t offset, size_t bytes) { file->forget(data.subspan(offset, bytes)); };
  if (file == nullptr && data.empty()) use.release = ReclaimablePages();
  prepare_weight(weight, use);
}

WeightReader::WeightReader(const Checkpoint& file, Device device, const LoadOptions& options)
    : file_(file),
      read_(file.tensors().size()),
      device_(std::move(device)),
      progress_(options.progress),
      total_bytes_(file.file_bytes()),
      deterministic_(options.deterministic) {
  // More than the file has, where quantized matrices become wider.
  uint64_t bytes = 0;
  for (const CheckpointTensor& tensor : file.tensors()) bytes += tensor.bytes();
  total_bytes_ = std::max(total_bytes_, bytes);
}

const CheckpointTensor* WeightReader::stored(const std::string& name) const {
  const CheckpointTensor* own = prefix_.empty() ? nullptr : file_.find_tensor(prefix_ + name);
  return own != nullptr ? own : file_.find_tensor(name);
}

const CheckpointTensor* WeightReader::take(const std::string& name) {
  const CheckpointTensor* tensor = stored(name);
  if (tensor != nullptr) read_[static_cast<size_t>(tensor - file_.tensors().data())] = true;
  return tensor;
}

void WeightReader::require_all_read(std::span<const std::string_view> harmless) const {
  std::vector<std::string> left;
  for (size_t index = 0; index < read_.size(); ++index) {
    const std::string_view name = file_.tensors()[index].name;
    const bool passes =
        std::any_of(harmless.begin(), harmless.end(), [&](std::string_view part) { return name.find(part) != std::string_view::npos; });
    if (!read_[index] && !passes) left.push_back(printable(file_.tensors()[index].stored));
  }
  if (left.empty()) return;
  const size_t count = left.size();
  left.resize(std::min<size_t>(count, 4));
  fail(ErrorCode::unsupported,
       "{}: {} of its {} tensors are not used by this version's model of the architecture, whose logits would be wrong: {}{}; convert the "
       "model again, or use a version that knows them",
       file_.name(), count, read_.size(), fmt::join(left, ", "), count > left.size() ? ", …" : "");
}

void WeightReader::check_shape(const CheckpointTensor& tensor, const Shape& shape) const {
  if (without_leading_ones(tensor.shape) == without_leading_ones(shape)) return;
  fail(ErrorCode::shape_mismatch, "{}: tensor '{}' has shape {}, the metadata asks for {}; file and metadata do not belong together",
       file_.name(), tensor.stored, tensor.shape.to_string(), shape.to_string());
}

void WeightReader::count(const CheckpointTensor& tensor) {
  parameters_ += tensor.shape.elements();
  done_bytes_ += tensor.bytes();
  if (progress_) progress_(done_bytes_, total_bytes_);
}

Tensor WeightReader::import(const CheckpointTensor& tensor, const Shape& shape) {
  check_shape(tensor, shape);
  count(tensor);
  const CheckpointTensor whole = tensor.as_weight();
  return Tensor::import_host(whole.data, shape, whole.dtype, device_, whole.owner);
}

Tensor WeightReader::import_f32(const CheckpointTensor& tensor, const Shape& shape) {
  check_shape(tensor, shape);
  count(tensor);
  const CheckpointTensor whole = tensor.as_f32();
  return Tensor::import_host(whole.data, shape, whole.dtype, device_, whole.owner);
}

Tensor WeightReader::import_rewritten(const CheckpointTensor& tensor, const Shape& shape) {
  check_shape(tensor, shape);
  const DType blocks = ternary_blocks_for(shape.last());
  const auto bytes = std::make_shared<std::vector<std::byte>>(static_cast<size_t>(storage_bytes(blocks, shape.elements())));
  rewrite_i2_s(tensor.data.data(), shape.elements(), blocks, bytes->data());
  if (tensor.file != nullptr) tensor.file->forget(tensor.data);
  count(tensor);
  return Tensor::import_host(*bytes, shape, blocks, device_, bytes);
}

const CheckpointTensor& WeightReader::find(const std::string& name, OpId op) {
  const CheckpointTensor* tensor = take(name);
  if (tensor == nullptr) fail_missing(name);
  check_weight_dtype(*tensor, file_.name());
  const DType used = tensor->dtype == DType::i2_s ? ternary_blocks_for(tensor->shape.last()) : weight_dtype(tensor->dtype);
  if (support(device_, op, used) == Support::none) {
    fail(ErrorCode::unsupported, "{}: tensor '{}' has type {}, which {} cannot read yet; convert the file to Q8_0, Q4_0, a K-quant or F16",
         file_.name(), tensor->stored, to_string(tensor->dtype), device_.location().to_string());
  }
  return *tensor;
}

void WeightReader::fail_missing(const std::string& name) const {
  const std::string own = prefix_ + name, in_folder = stored_name(file_, own);
  fail(ErrorCode::not_found, "{}: tensor '{}'{} is missing; the file is incomplete or of another architecture", file_.name(),
       in_folder.empty() ? own : in_folder, in_folder.empty() ? "" : " (" + own + ")");
}

bool WeightReader::is_scaled(const std::string& name) const {
  const CheckpointTensor* tensor = stored(name + ".weight");
  return scaled_feed_forward_ || name.find(".ffn_") == std::string::npos || (tensor != nullptr && tensor->dtype == DType::nvfp4);
}

double WeightReader::scale(const std::string& name) {
  const CheckpointTensor* tensor = take(name + ".scale");
  if (tensor == nullptr || !is_scaled(name)) return 1;
  check_shape(*tensor, {1});
  check_float(*tensor);
  float value = 1;
  const CheckpointTensor number = tensor->as_f32();
  std::memcpy(&value, number.data.data(), sizeof(value));
  return value;
}

ScaledMatrix WeightReader::stored_matrix(const CheckpointTensor& tensor, const Shape& shape) {
  const bool mapped = weight_dtype(tensor.dtype) == tensor.dtype;
  ScaledMatrix matrix{.weight = import(tensor, shape)};
  if (mapped) matrix.file = tensor.file, matrix.data = tensor.data;
  return matrix;
}

ScaledMatrix WeightReader::read(const std::string& name, OpId op, const Shape& shape) {
  const CheckpointTensor& tensor = find(name + ".weight", op);
  const double file_scale = scale(name);
  ScaledMatrix matrix;
  if (tensor.dtype == DType::i2_s) {
    const CheckpointTensor whole = tensor.composed();
    matrix = {import_rewritten(whole, shape), i2_s_scale(whole.data) * file_scale};
  } else {
    matrix = stored_matrix(tensor, shape);
    matrix.scale = file_scale;
  }
  matrix.name = tensor.name;
  matrix.rows_of_tensor = shape[0];
  return matrix;
}

ScaledMatrix WeightReader::table(const std::string& name, int64_t rows, int64_t columns) {
  return read(name, OpId::embedding, {rows, columns});
}

ScaledMatrix WeightReader::matrix(const std::string& name, int64_t rows, int64_t columns) {
  return read(name, OpId::linear, {rows, columns});
}

ScaledMatrix WeightReader::unscaled_matrix(const std::string& name, int64_t rows, int64_t columns) {
  const CheckpointTensor& tensor = find(name + ".weight", OpId::linear);
  ScaledMatrix matrix = stored_matrix(tensor, {rows, columns});
  matrix.name = tensor.name;
  matrix.rows_of_tensor = rows;
  return matrix;
}

ScaledMatrix WeightReader::experts(const std::string& name, int64_t count, int64_t rows, int64_t columns) {
  const CheckpointTensor* scales = stored(name + ".scale");
  if (scales == nullptr || scales->shape.elements() <= 1) return read(name, OpId::linear_experts, {count, rows, columns});
  const CheckpointTensor& tensor = find(name + ".weight", OpId::linear_experts);
  ScaledMatrix matrix = stored_matrix(tensor, {count, rows, columns});
  matrix.name = tensor.name;
  matrix.rows_of_tensor = count;
  matrix.expert_scales = find_expert_scales(name, count);
  return matrix;
}

std::optional<Tensor> WeightReader::find_expert_scales(const std::string& name, int64_t count) {
  std::optional<Tensor> scales = find_vector(name + ".scale", count);
  if (!is_scaled(name)) return std::nullopt;
  if (scales) scales = scales->reshape({count, 1});
  return scales;
}

std::optional<Tensor> WeightReader::find_expert_biases(const std::string& name, int64_t count, int64_t rows) {
  const CheckpointTensor* tensor = take(name);
  if (tensor == nullptr) return std::nullopt;
  check_float(*tensor);
  return import_f32(*tensor, {count, rows});
}

Tensor WeightReader::vectors(const std::string& name, int64_t count, int64_t length) {
  if (std::optional<Tensor> found = find_expert_biases(name, count, length)) return *std::move(found);
  fail_missing(name);
}

Tensor WeightReader::kernels(const std::string& name, int64_t count, int64_t length) {
  const CheckpointTensor* tensor = stored(name);
  for (const Shape& shape : {Shape{count, 1, length}, Shape{count, 1, 1, length}}) {
    if (tensor == nullptr || !(without_leading_ones(tensor->shape) == without_leading_ones(shape))) continue;
    check_float(*take(name));
    return import_f32(*tensor, shape).reshape({count, length});
  }
  return vectors(name, count, length);
}

ScaledMatrix WeightReader::matrix_rows(const std::string& name, const Rows& rows, int64_t columns) {
  const CheckpointTensor& whole = find(name + ".weight", OpId::linear);
  check_shape(whole, {rows.of, columns});
  if (whole.dtype == DType::i2_s) {
    fail(ErrorCode::unsupported, "{}: tensor '{}' holds several matrices, which I2_S with its one scale cannot; convert it to TQ2_0",
         file_.name(), whole.stored);
  }
  const double file_scale = scale(name);
  CheckpointTensor part = whole.composed();
  const auto row_bytes = static_cast<size_t>(storage_bytes(whole.dtype, columns));
  part.data = part.data.subspan(static_cast<size_t>(rows.first) * row_bytes, static_cast<size_t>(rows.count) * row_bytes);
  part.shape = {rows.count, columns};
  if (whole.compose) {  // the other rows go
    const auto own = std::make_shared<std::vector<std::byte>>(part.data.begin(), part.data.end());
    part.data = *own;
    part.owner = own;
  }
  if (whole.compose) part.file.reset();
  ScaledMatrix matrix = stored_matrix(part, part.shape);
  matrix.scale = file_scale;
  matrix.name = whole.name;
  matrix.first_row = rows.first;
  matrix.rows_of_tensor = rows.of;
  return matrix;
}

int64_t WeightReader::rows_of(const std::string& name) const {
  const CheckpointTensor* tensor = stored(name);
  return tensor == nullptr || tensor->shape.rank() == 0 ? 0 : tensor->shape[0];
}

void WeightReader::check_float(const CheckpointTensor& tensor) const {
  check_weight_dtype(tensor, file_.name());
  if (is_float(tensor.dtype)) return;
  fail(ErrorCode::unsupported, "{}: tensor '{}' has type {}; a float type is needed", file_.name(), tensor.stored, to_string(tensor.dtype));
}

Tensor WeightReader::import_vector(const CheckpointTensor& tensor, const Rows& elements) {
  check_float(tensor);
  check_shape(tensor, {elements.of});
  CheckpointTensor part = tensor.composed();
  const auto element_bytes = static_cast<size_t>(storage_bytes(tensor.dtype, 1));
  part.data = part.data.subspan(static_cast<size_t>(elements.first) * element_bytes, static_cast<size_t>(elements.count) * element_bytes);
  part.shape = {elements.count};
  return import_f32(part, part.shape);
}

std::optional<Tensor> WeightReader::find_vector_part(const std::string& name, const Rows& elements) {
  const CheckpointTensor* tensor = take(name);
  if (tensor == nullptr) return std::nullopt;
  return import_vector(*tensor, elements);
}

std::optional<Tensor> WeightReader::find_vector(const std::string& name, int64_t length) {
  return find_vector_part(name, {0, length, length});
}

Tensor WeightReader::vector(const std::string& name, int64_t length) {
  if (std::optional<Tensor> weight = find_vector(name, length)) return *std::move(weight);
  fail_missing(name);
}

}  // namespace wick
