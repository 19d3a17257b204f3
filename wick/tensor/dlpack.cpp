#include "wick/tensor/dlpack.h"

#include <array>
#include <span>
#include <utility>

#include "wick/base/fail.h"
#include "wick/device/dlpack_memory.h"
#include "wick/device/first_byte.h"
#include "wick/device/streams/stream_native.h"

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

const DlpackMemory* row_of(DeviceKind kind) {
  for (const DlpackMemory& row : kDlpackMemories) {
    if (row.kind == kind) return &row;
  }
  return nullptr;
}

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

// The address of the first element; of another device's memory a number.
void* address_of(const Tensor& x) {
  Buffer& buffer = x.storage()->buffer();
  const size_t first = first_byte(x);
  if (std::byte* const base = buffer.host_data()) return base + first;
  if (x.elements() == 0) return nullptr;
  const StreamAddress address = stream_memory(buffer, first, x.device().kind());
  return reinterpret_cast<void*>(static_cast<uintptr_t>(address));  // NOLINT(performance-no-int-to-ptr): DLPack's type
}

// Gives `owner` back only when nothing that was queued reads or writes its memory any more.
std::shared_ptr<const void> kept_until_idle(const Device& device, std::shared_ptr<const void> owner) {
  struct Kept {
    Kept(Device of, std::shared_ptr<const void> what) : device(std::move(of)), owner(std::move(what)) {}
    ~Kept() {
      try {
        device.synchronize();
      } catch (const Error&) {
        return;  // the device is lost, and its memory with it
      }
    }
    Kept(const Kept&) = delete;
    Kept& operator=(const Kept&) = delete;
    Device device;
    std::shared_ptr<const void> owner;
  };
  return std::make_shared<const Kept>(device, std::move(owner));
}

// A flat tensor over `count` elements at an address of the device's, and which of its elements is the first.
struct Flat {
  Tensor tensor;
  int64_t first = 0;
};

Flat borrow_device(const Device& device, uint64_t address, int64_t count, DType dtype, bool copy, std::shared_ptr<const void> owner) {
  constexpr uint64_t kAlignment = 256;  // of what allocators give; views begin anywhere
  const auto element = static_cast<uint64_t>(info(dtype).block_bytes);
  const auto bytes = static_cast<uint64_t>(count) * element;
  const uint64_t before = address % kAlignment;
  std::shared_ptr<Buffer> buffer =
      wrap_stream_memory(device.kind(), address - before, before + bytes, kept_until_idle(device, std::move(owner)));
  if (!copy) {
    const Tensor whole(std::make_shared<Storage>(device, dtype, std::move(buffer)),
                       Layout({static_cast<int64_t>(before / element) + count}));
    return {whole, static_cast<int64_t>(before / element)};
  }
  Tensor made = Tensor::empty({count}, dtype, device);
  device.runtime().queue().copy(*buffer, before, made.storage()->buffer(), 0, bytes);
  device.synchronize();
  return {std::move(made), 0};
}

}  // namespace

std::optional<DlDevice> device_of(const Tensor& x) {
  if (x.storage()->buffer().host_data() != nullptr || x.elements() == 0) return DlDevice{kCpu, 0};
  const DlpackMemory* const row = row_of(x.device().kind());
  return row == nullptr ? std::nullopt : std::optional(DlDevice{row->of_device, x.device().location().index});
}

std::optional<DeviceLocation> location_of(DlDevice device) noexcept {
  if (device.kind == kCpu) return DeviceLocation{DeviceKind::cpu, 0};
  for (const DlpackMemory& row : kDlpackMemories) {
    if (device.kind == row.of_device) return DeviceLocation{row.kind, device.index};
    if (device.kind == row.of_pinned_host) return DeviceLocation{DeviceKind::cpu, 0};
  }
  return std::nullopt;
}

uintptr_t stream_of(const Device& device) {
  if (row_of(device.kind()) == nullptr) return 0;
  return reinterpret_cast<uintptr_t>(stream_driver(device, device.kind()).queue().stream());
}

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
  const std::optional<DlDevice> device = device_of(x);
  if (!device) {
    fail(ErrorCode::unsupported, "DLPack: other libraries have no address of {}; move it to the CPU first", x.describe());
  }
  out.device = *device;
  out.data = address_of(x);
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

std::string_view reason_to_copy(const DlTensor& from, bool read_only) {
  if (read_only) return "the array is read-only, and tensors can be written to";
  const auto element = static_cast<uint64_t>(info(row_of(from.dtype).dtype).block_bytes);
  if ((reinterpret_cast<uintptr_t>(from.data) + from.byte_offset) % element != 0) return "the array's elements are not aligned";
  return {};
}

Exchanged borrow(const DlTensor& from, bool read_only, bool copy, std::shared_ptr<const void> owner, const std::optional<Device>& device) {
  const TypeRow& row = row_of(from.dtype);
  const std::optional<DeviceLocation> location = location_of(from.device);
  if (!location) {
    fail(ErrorCode::device_mismatch,
         "DLPack: the array is on device ({}, {}); memory of the host (1), of CUDA (2) and of ROCm (10) is taken: move it there first",
         from.device.kind, from.device.index);
  }
  if (from.rank < 0 || from.rank > kMaxRank) {
    fail(ErrorCode::shape_mismatch, "DLPack: the array has {} dimensions, a tensor at most {}", from.rank, kMaxRank);
  }
  const auto rank = static_cast<size_t>(from.rank);
  if (rank > 0 && from.shape == nullptr) fail(ErrorCode::shape_mismatch, "DLPack: the array has {} dimensions and no shape", rank);
  const std::span<const int64_t> extents(from.shape, rank);
  for (const int64_t extent : extents) {
    if (extent < 0) fail(ErrorCode::shape_mismatch, "DLPack: the array has an extent of {}", extent);
  }
  const Shape shape{extents};
  if (from.data == nullptr && shape.elements() > 0) {
    fail(ErrorCode::invalid_argument, "DLPack: the array has {} elements and no memory", shape.elements());
  }
  const Layout layout = from.strides != nullptr ? Layout(shape, std::span<const int64_t>(from.strides, rank), 0) : Layout(shape);
  const Device target = device ? *device : Device::open(*location);
  if (shape.elements() == 0) return {Tensor::zeros(shape, row.dtype, target), row.boolean};
  // Strides may be negative: the memory reaches from below the first element.
  const int64_t bytes = info(row.dtype).block_bytes;
  const auto [first, last] = layout.touched_range();
  const std::byte* const data = static_cast<const std::byte*>(from.data) + from.byte_offset + first * bytes;
  const Shape count = {last - first};
  const bool copies = copy || !reason_to_copy(from, read_only).empty();
  if (location->kind != DeviceKind::cpu) {
    const auto address = static_cast<uint64_t>(reinterpret_cast<uintptr_t>(data));
    const Flat flat = borrow_device(target, address, last - first, row.dtype, copies, std::move(owner));
    return {Tensor(flat.tensor.storage(), Layout(shape, layout.strides(), flat.first - first)), row.boolean};
  }
  const std::span<const std::byte> memory(data, static_cast<size_t>((last - first) * bytes));
  const Tensor flat = copies ? Tensor::from_bytes(memory, count, row.dtype, target)
                             : Tensor::import_host(memory, count, row.dtype, target, std::move(owner));
  return {Tensor(flat.storage(), Layout(shape, layout.strides(), flat.layout().offset() - first)), row.boolean};
}

}  // namespace wick::dlpack
