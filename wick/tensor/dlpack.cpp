#include "wick/tensor/dlpack.h"

#include <array>
#include <span>
#include <utility>

#include "wick/base/fail.h"

namespace wick::dlpack {
namespace {

struct TypeRow {
  DType dtype;
  bool boolean;
  DlType type;
};
constexpr std::array kTypes = {
    TypeRow{DType::u8, true, {6, 8, 1}},    TypeRow{DType::u8, false, {1, 8, 1}},    TypeRow{DType::u32, false, {1, 32, 1}},
    TypeRow{DType::i8, false, {0, 8, 1}},   TypeRow{DType::i16, false, {0, 16, 1}},  TypeRow{DType::i32, false, {0, 32, 1}},
    TypeRow{DType::i64, false, {0, 64, 1}}, TypeRow{DType::f16, false, {2, 16, 1}},  TypeRow{DType::f32, false, {2, 32, 1}},
    TypeRow{DType::f64, false, {2, 64, 1}}, TypeRow{DType::bf16, false, {4, 16, 1}}, TypeRow{DType::f8e4m3, false, {10, 8, 1}},
};

const TypeRow& row_of(DlType type) {
  for (const TypeRow& row : kTypes) {
    if (row.type.code == type.code && row.type.bits == type.bits && type.lanes == 1) return row;
  }
  fail(ErrorCode::dtype_mismatch, "DLPack: there is no dtype here for code {} with {} bits and {} lanes; convert the array first",
       type.code, type.bits, type.lanes);
}

// What the other library holds: the structure, the tensor, and the arrays that the structure points to.
template <class Managed>
struct Loan {
  Managed managed = {};
  Tensor tensor = {};
  std::array<int64_t, kMaxRank> shape = {};
  std::array<int64_t, kMaxRank> strides = {};
};

template <class Managed>
void give_back(Managed* managed) {
  const std::unique_ptr<Loan<Managed>> loan(static_cast<Loan<Managed>*>(managed->context));
}

}  // namespace

DlType type_of(DType dtype, bool boolean) {
  for (const TypeRow& row : kTypes) {
    if (row.dtype == dtype && row.boolean == boolean) return row.type;
  }
  fail(ErrorCode::unsupported, "DLPack has no dtype for {}; convert the tensor first", to_string(dtype));
}

template <class Managed>
Managed* lend(const Exchanged& from) {
  const Tensor& x = from.tensor;
  auto loan = std::make_unique<Loan<Managed>>();
  DlTensor& out = loan->managed.tensor;
  out.dtype = type_of(x.dtype(), from.boolean);
  std::byte* const base = x.storage()->buffer().host_data();
  if (base == nullptr && x.elements() > 0) {
    fail(ErrorCode::unsupported, "DLPack: {} is not in host memory; move it to the CPU first", x.describe());
  }
  if (base != nullptr) out.data = base + x.layout().offset() * info(x.dtype()).block_bytes;
  out.rank = x.rank();
  for (int d = 0; d < x.rank(); ++d) {
    loan->shape[static_cast<size_t>(d)] = x.shape()[d];
    loan->strides[static_cast<size_t>(d)] = x.layout().stride(d);
  }
  out.shape = loan->shape.data();
  out.strides = loan->strides.data();
  loan->tensor = x;
  loan->managed.context = loan.get();
  loan->managed.deleter = give_back<Managed>;
  return &loan.release()->managed;
}
template DlManaged* lend(const Exchanged& from);
template DlManagedVersioned* lend(const Exchanged& from);

Exchanged borrow(const DlTensor& from, bool read_only, bool copy, std::shared_ptr<const void> owner) {
  const TypeRow& row = row_of(from.dtype);
  if (from.device.kind != kCpu) {
    fail(ErrorCode::device_mismatch, "DLPack: the array is on device ({}, {}); only host memory, device (1, 0), is taken", from.device.kind,
         from.device.index);
  }
  if (from.rank < 0 || from.rank > kMaxRank) {
    fail(ErrorCode::shape_mismatch, "DLPack: the array has {} dimensions, a tensor at most {}", from.rank, kMaxRank);
  }
  const auto rank = static_cast<size_t>(from.rank);
  const Shape shape{std::span<const int64_t>(from.shape, rank)};
  const Layout layout = from.strides != nullptr ? Layout(shape, std::span<const int64_t>(from.strides, rank), 0) : Layout(shape);
  const Device cpu = Device::cpu();
  if (shape.elements() == 0) return {Tensor::zeros(shape, row.dtype, cpu), row.boolean};
  // Strides may be negative: the memory reaches from below the first element.
  const int64_t bytes = info(row.dtype).block_bytes;
  const auto [first, last] = layout.touched_range();
  const std::byte* const data = static_cast<const std::byte*>(from.data) + from.byte_offset + first * bytes;
  const std::span<const std::byte> memory(data, static_cast<size_t>((last - first) * bytes));
  const bool aligned = reinterpret_cast<uintptr_t>(data) % static_cast<uintptr_t>(bytes) == 0;
  const Shape count = {last - first};
  const Tensor flat = aligned && !read_only && !copy ? Tensor::import_host(memory, count, row.dtype, cpu, std::move(owner))
                                                     : Tensor::from_bytes(memory, count, row.dtype, cpu);
  return {Tensor(flat.storage(), Layout(shape, layout.strides(), flat.layout().offset() - first)), row.boolean};
}

}  // namespace wick::dlpack
