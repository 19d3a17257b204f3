#include "wick/tensor/tensor.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <typeinfo>
#include <utility>
#include <vector>

#include "wick/base/block_cache.h"
#include "wick/base/fail.h"
#include "wick/base/platform/build_mode.h"
#include "wick/device/peer_queue.h"
#include "wick/quant/block_format.h"
#include "wick/tensor/assigned.h"
#include "wick/tensor/ops/copy.h"
#include "wick/tensor/ops/fill.h"
#include "wick/tensor/storage.h"
#include "wick/tensor/tape.h"

namespace wick {

int64_t storage_bytes_of(const Shape& shape, DType dtype) {
  const DTypeInfo& entry = info(dtype);
  if (shape.elements() > 0 && shape.last() % entry.block_elements != 0) {
    fail(ErrorCode::shape_mismatch, "shape {} of {}: the last dimension, {}, is not a multiple of the block length {}", shape.to_string(),
         entry.name, shape.last(), entry.block_elements);
  }
  int64_t bytes = 0;
  if (__builtin_mul_overflow(shape.elements() / entry.block_elements, entry.block_bytes, &bytes) ||
      __builtin_add_overflow(bytes, entry.tail_bytes, &bytes)) {
    fail(ErrorCode::out_of_memory, "shape {} of {}: more than 2^63 - 1 bytes", shape.to_string(), entry.name);
  }
  return bytes;
}

Tensor::Tensor(std::shared_ptr<const Storage> storage, const Layout& layout, std::shared_ptr<const TapeNode> node)
    : storage_(std::move(storage)), layout_(layout), node_(std::move(node)) {
  check_reach();
}

void Tensor::fail_empty(std::string_view function, std::string_view operand) {
  fail(ErrorCode::invalid_argument, "{}: {} is empty: it was never assigned, or was moved from; assign another to it first", function,
       operand);
}

void Tensor::check_reach() const {
  check_assigned("Tensor", {{"the storage", *this}});
  if (elements() == 0) return;
  const DTypeInfo& entry = info(dtype());
  const int64_t held = static_cast<int64_t>(storage_->buffer().bytes()) / entry.block_bytes * entry.block_elements;
  const auto [first, end] = layout_.touched_range();
  if (first >= 0 && end <= held) return;
  fail(ErrorCode::index_out_of_range, "storage of {} {}: a layout of shape {} touches elements {} to {}", held, entry.name,
       shape().to_string(), first, end - 1);
}

std::vector<int> Dims::resolve(const Shape& shape, std::string_view op) const {
  std::vector<int> resolved;
  for (const int named : dims_) resolved.push_back(resolve_dim(op, named, shape));
  std::sort(resolved.begin(), resolved.end());
  if (const auto twice = std::adjacent_find(resolved.begin(), resolved.end()); twice != resolved.end()) {
    fail(ErrorCode::invalid_argument, "{}: dimension {} of shape {} is named twice", op, *twice, shape.to_string());
  }
  return resolved;
}

namespace {

// What the address of an element must be a multiple of: plain numbers their size; blocks begin with f16 or f32 scales, or with bytes.
size_t alignment_of(DType dtype) {
  const auto bytes = static_cast<size_t>(info(dtype).block_bytes);
  return is_quantized(dtype) ? std::min<size_t>(bytes & (~bytes + 1), 4) : bytes;
}

// The objects around a result's elements, too, are made of blocks that this thread has freed.
std::shared_ptr<const Storage> storage_of(const Device& device, DType dtype, std::unique_ptr<Buffer> buffer) {
  std::shared_ptr<Buffer> shared(buffer.release(), std::default_delete<Buffer>(), BlockAllocator<Buffer>());
  return std::allocate_shared<Storage>(BlockAllocator<Storage>(), device, dtype, std::move(shared));
}

Tensor allocated(const Shape& shape, DType dtype, const Device& device, Lifetime lifetime) {
  std::unique_ptr<Buffer> buffer = device.runtime().allocate(static_cast<size_t>(storage_bytes_of(shape, dtype)), lifetime);
  if (platform::kSpoilsFreshMemory && lifetime == Lifetime::transient && device.caps().host_memory)
    std::memset(buffer->host_data(), 0xff, buffer->bytes());
  return Tensor(storage_of(device, dtype, std::move(buffer)), Layout(shape));
}

// An error of a driver keeps its type, and with it the driver's code.
Tensor allocated_for(std::string_view function, const Shape& shape, DType dtype, const Device& device, Lifetime lifetime) {
  try {
    return allocated(shape, dtype, device, lifetime);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::device_lost || typeid(error) != typeid(Error)) throw;
    throw Error(error, fmt::format("{}: {}", function, error.what()));
  }
}

Tensor filled(std::string_view function, const Extents& shape, double value, DType dtype, const Device& device) {
  Tensor result = make_result(function, shape.checked(function), dtype, device);
  fill(result, value, function);
  return result;
}

void check_bytes(std::string_view function, size_t given, const Shape& shape, DType dtype) {
  const int64_t needed = storage_bytes_of(shape, dtype);
  if (static_cast<int64_t>(given) == needed) return;
  fail(ErrorCode::shape_mismatch, "{}: {} bytes given for shape {} of {}, which has {}", function, given, shape.to_string(),
       to_string(dtype), needed);
}

}  // namespace

Tensor Tensor::empty(const Extents& shape, DType dtype, const Device& device, Lifetime lifetime) {
  const Shape checked = shape.checked("empty");
  // What lasts belongs to a model, and a user of programs knows no such function.
  if (lifetime == Lifetime::persistent) return allocated(checked, dtype, device, lifetime);
  return allocated_for("empty", checked, dtype, device, lifetime);
}

Tensor make_result(std::string_view function, const Shape& shape, DType dtype, const Device& device) {
  return allocated_for(function, shape, dtype, device, Lifetime::transient);
}

Tensor Tensor::full(const Extents& shape, double value, DType dtype, const Device& device) {
  return filled("full", shape, value, dtype, device);
}

Tensor Tensor::zeros(const Extents& shape, DType dtype, const Device& device) { return filled("zeros", shape, 0, dtype, device); }

Tensor Tensor::ones(const Extents& shape, DType dtype, const Device& device) { return filled("ones", shape, 1, dtype, device); }

void Tensor::check_elements(std::string_view function, size_t given, const Shape& shape) {
  if (static_cast<int64_t>(given) == shape.elements()) return;
  fail(ErrorCode::shape_mismatch, "{}: {} elements given for shape {}, which has {}", function, given, shape.to_string(), shape.elements());
}

namespace {

// Of so many i32 numbers the host keeps a copy.
constexpr int64_t kMaxHostIds = 64 * 1024;

Tensor uploaded(std::string_view function, std::span<const std::byte> bytes, const Shape& shape, DType dtype, const Device& device) {
  Tensor result = make_result(function, shape, dtype, device);
  const Storage& storage = *result.storage();
  device.runtime().queue().upload(bytes.data(), storage.buffer(), 0, bytes.size());
  if (dtype == DType::i32 && !device.is_cpu() && shape.elements() <= kMaxHostIds) {
    std::vector<int32_t> ids(static_cast<size_t>(shape.elements()));
    std::copy(bytes.begin(), bytes.end(), std::as_writable_bytes(std::span(ids)).begin());
    storage.set_host_ids(std::move(ids));
  }
  return result;
}

}  // namespace

Tensor Tensor::from_bytes(std::span<const std::byte> bytes, const Extents& shape, DType dtype, const Device& device) {
  const Shape checked = shape.checked("from_bytes");
  check_bytes("from_bytes", bytes.size(), checked, dtype);
  return uploaded("from_bytes", bytes, checked, dtype, device);
}

Tensor Tensor::import_host(std::span<const std::byte> bytes, const Extents& shape, DType dtype, const Device& device,
                           std::shared_ptr<const void> owner) {
  const Shape checked = shape.checked("import_host");
  check_bytes("import_host", bytes.size(), checked, dtype);
  if (reinterpret_cast<uintptr_t>(bytes.data()) % alignment_of(dtype) != 0) return uploaded("import_host", bytes, checked, dtype, device);
  std::shared_ptr<Buffer> buffer =
      device.runtime().import_host(const_cast<std::byte*>(bytes.data()), bytes.size(), std::move(owner));  // NOLINT: see import_host
  return Tensor(std::make_shared<Storage>(device, dtype, std::move(buffer)), Layout(checked));
}

int Tensor::normalize_axis(int dim) const {
  check_assigned("normalize_axis", *this);
  return resolve_dim("normalize_axis", dim, shape());
}

int64_t Tensor::dim(int index) const {
  check_assigned("dim", *this);
  return shape()[resolve_dim("dim", index, shape())];
}

bool Tensor::is_fortran_contiguous() const {
  check_assigned("is_fortran_contiguous", *this);
  if (elements() == 0) return true;
  int64_t expected = 1;
  for (int dim = 0; dim < rank(); ++dim) {
    if (shape()[dim] != 1 && layout_.stride(dim) != expected) return false;
    expected *= shape()[dim];
  }
  return true;
}

Tensor Tensor::view(const Layout& layout) const {
  if (is_quantized(dtype())) {
    const int last = layout.rank() - 1;
    const bool whole = last >= 0 && layout.shape().last() == shape().last() && (layout.elements() == 0 || layout.stride(last) == 1);
    if (!whole) fail(ErrorCode::unsupported, "{}: rows of a quantized tensor must stay whole; convert it with to_dtype first", describe());
    if (info(dtype()).tail_bytes > 0 && layout.elements() != elements()) {
      fail(ErrorCode::unsupported, "{}: a part of it would leave the scale behind; convert it with to_dtype first", describe());
    }
  }
  return Tensor(storage_, layout);
}

namespace {

// Through the host, unless both devices are of one driver that copies between them.
Tensor copy_to(const Device& device, const Tensor& tensor) {
  auto* const peer = dynamic_cast<PeerQueue*>(&device.runtime().queue());
  if (peer == nullptr) return Tensor::from_bytes(tensor.to_bytes(), tensor.shape(), tensor.dtype(), device);
  const Tensor source = tensor.contiguous();
  const auto first = static_cast<size_t>(storage_bytes(source.dtype(), source.layout().offset()));
  const auto bytes = static_cast<size_t>(storage_bytes_of(source.shape(), source.dtype()));
  Tensor result = Tensor::empty(source.shape(), source.dtype(), device);
  Queue& other = source.device().runtime().queue();
  if (peer->copy_from_peer(other, source.storage()->buffer(), first, result.storage()->buffer(), 0, bytes)) return result;
  return Tensor::from_bytes(source.to_bytes(), source.shape(), source.dtype(), device);
}

}  // namespace

Tensor Tensor::to_device(const Device& device) const {
  check_assigned("to_device", *this);
  if (&device.runtime() == &this->device().runtime()) return *this;
  Tensor result = copy_to(device, *this);
  const Tensor* const input = this;
  record(
      "to_device", [](GradientContext& context) { context.give(0, context.gradient().to_device(context.input(0).device())); },
      std::span(&input, 1), result);
  return result;
}

void Tensor::check_rank(std::string_view function, int rank) const {
  if (this->rank() == rank) return;
  const std::string name = function == "dims" ? fmt::format("dims{}", rank) : std::string(function);
  fail(ErrorCode::shape_mismatch, "{}: {} has rank {}; a tensor of rank {} is needed", name, describe(), this->rank(), rank);
}

double Tensor::item() const {
  check_assigned("item", *this);
  if (elements() != 1) fail(ErrorCode::shape_mismatch, "item: {} has {} elements; exactly 1 is needed", describe(), elements());
  return to_vector<double>().front();
}

std::vector<std::byte> Tensor::to_bytes() const {
  check_assigned("to_bytes", *this);
  const Tensor source = contiguous();
  std::vector<std::byte> bytes(static_cast<size_t>(storage_bytes_of(shape(), dtype())));
  const auto offset = static_cast<size_t>(storage_bytes(dtype(), source.layout().offset()));
  device().runtime().queue().download(source.storage_->buffer(), offset, bytes.data(), bytes.size());
  return bytes;
}

template <class T>
std::vector<T> Tensor::to_vector() const {
  check_assigned("to_vector", *this);
  const Tensor source = dtype() == DTypeOf<T>::value ? *this : detach().to_dtype(DTypeOf<T>::value);
  const std::vector<std::byte> bytes = source.to_bytes();
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!bytes.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

template std::vector<uint8_t> Tensor::to_vector() const;
template std::vector<uint32_t> Tensor::to_vector() const;
template std::vector<int8_t> Tensor::to_vector() const;
template std::vector<int16_t> Tensor::to_vector() const;
template std::vector<int32_t> Tensor::to_vector() const;
template std::vector<int64_t> Tensor::to_vector() const;
template std::vector<bf16> Tensor::to_vector() const;
template std::vector<f16> Tensor::to_vector() const;
template std::vector<float> Tensor::to_vector() const;
template std::vector<double> Tensor::to_vector() const;
template std::vector<f8e4m3> Tensor::to_vector() const;

int64_t checked_extent(std::string_view op, const Tensor& x, Checked extent) {
  if (!extent.fits()) fail(ErrorCode::shape_mismatch, "{}: {} would get an extent of more than 2^63 - 1", op, x.describe());
  return extent.value_or(0);
}

std::string Tensor::describe() const {
  check_assigned("describe", *this);
  const std::string place = device().is_cpu() ? "" : ", " + device().location().to_string();
  return fmt::format("Tensor[{}, {}{}]", shape().to_string(), to_string(dtype()), place);
}

}  // namespace wick
