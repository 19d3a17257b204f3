#include "wick/device/submissions/byte_kernels.h"

#include <algorithm>
#include <array>

#include "wick/ir/builder.h"

namespace wick {
namespace {

using ir::Element;
using ir::KernelBuilder;
using ir::Memory;
using ir::Type;
using ir::Value;
using ir::Variable;

constexpr uint32_t kLanes = 64;
constexpr size_t kMaxBytesPerLaunch = size_t{32} << 20;
constexpr uint32_t kGroupsInARow = 1024;

Value lane_of_all(KernelBuilder& k) { return (k.group_id(1) * k.group_count(0) + k.group_id(0)) * kLanes + k.local_id(); }

// Writes `byte(i)`, a u32 below 256, to byte i of the target's `bytes` from `first` on. The others in a word stay.
template <class Byte>
void write_bytes(KernelBuilder& k, const Memory& target, const Value& first, const Value& bytes, const Byte& byte) {
  const Value lane = lane_of_all(k);
  const Value word = first / 4U + lane;
  const Value skipped = first & 3U;  // bytes of the first word that stay
  k.when(lane * 4U < skipped + bytes, [&] {
    Variable result = k.variable(target.load(word));
    for (uint32_t i = 0; i < 4; ++i) {
      const Value place = lane * 4U + i;
      k.when((skipped <= place) & (place < skipped + bytes), [&] {
        const Value kept = Value(result) & ~k.constant(0xffU << 8 * i);
        result = kept | byte(place - skipped) << (8 * i);
      });
    }
    target.store(word, Value(result));
  });
}

// Parameters of these four: where the first byte, or word, is in the source, and in the target; how many there are; of a fill, its value.
ir::Kernel copy_bytes_kernel() {
  KernelBuilder k("copy_bytes", {.group_size = kLanes});
  const Memory source = k.buffer("source", Element::u32), target = k.output("target", Element::u32);
  const Value from = k.parameter("source_first", Type::u32), first = k.parameter("target_first", Type::u32);
  const Value bytes = k.parameter("bytes", Type::u32);
  write_bytes(k, target, first, bytes, [&](const Value& i) {
    const Value place = from + i;
    return source.load(place / 4U) >> (place % 4U) * 8U & 0xffU;
  });
  return k.finish();
}

ir::Kernel copy_words_kernel() {
  KernelBuilder k("copy_words", {.group_size = kLanes});
  const Memory source = k.buffer("source", Element::u32), target = k.output("target", Element::u32);
  const Value from = k.parameter("source_first", Type::u32), first = k.parameter("target_first", Type::u32);
  const Value words = k.parameter("words", Type::u32);
  const Value i = lane_of_all(k);
  k.when(i < words, [&] { target.store(first + i, source.load(from + i)); });
  return k.finish();
}

ir::Kernel fill_bytes_kernel() {
  KernelBuilder k("fill_bytes", {.group_size = kLanes});
  const Memory target = k.output("target", Element::u32);
  const Value first = k.parameter("target_first", Type::u32), bytes = k.parameter("bytes", Type::u32);
  const Value value = k.parameter("value", Type::u32);
  write_bytes(k, target, first, bytes, [&](const Value& /*i*/) { return value; });
  return k.finish();
}

ir::Kernel fill_words_kernel() {
  KernelBuilder k("fill_words", {.group_size = kLanes});
  const Memory target = k.output("target", Element::u32);
  const Value first = k.parameter("target_first", Type::u32), words = k.parameter("words", Type::u32);
  const Value value = k.parameter("value", Type::u32);
  const Value i = lane_of_all(k);
  k.when(i < words, [&] { target.store(first + i, value); });
  return k.finish();
}

}  // namespace

const Program& ByteKernels::program(Made& made, ir::Kernel (*kernel)()) {
  if (made == nullptr) made = compile_(kernel());
  return *made;
}

BufferArgument ByteKernels::view(Buffer& block, size_t offset, size_t bytes) const noexcept {
  const size_t before = offset % caps_.buffer_offset_alignment;
  return {&block, offset - before, before + bytes};
}

uint32_t ByteKernels::place(size_t offset, size_t unit) const noexcept {
  return static_cast<uint32_t>(offset % caps_.buffer_offset_alignment / unit);
}

size_t ByteKernels::bytes_per_launch() const noexcept {
  const size_t bound = caps_.max_buffer_bytes == 0 ? kMaxBytesPerLaunch : caps_.max_buffer_bytes - caps_.buffer_offset_alignment;
  return std::min(kMaxBytesPerLaunch, bound / 4 * 4);
}

ir::Grid ByteKernels::grid(size_t bytes) const noexcept {
  const auto groups = static_cast<uint32_t>((bytes / 4 + 2 + kLanes - 1) / kLanes);
  return {std::min(groups, kGroupsInARow), (groups + kGroupsInARow - 1) / kGroupsInARow, 1};
}

void ByteKernels::copy(Buffer& source, size_t source_offset, Buffer& target, size_t target_offset, size_t bytes) {
  const bool words = (source_offset | target_offset | bytes) % 4 == 0;
  const size_t unit = words ? 4 : 1;
  const Program& kernel = words ? program(copy_words_, copy_words_kernel) : program(copy_bytes_, copy_bytes_kernel);
  for (size_t at = 0; at < bytes; at += bytes_per_launch()) {
    const size_t count = std::min(bytes_per_launch(), bytes - at), from = source_offset + at, to = target_offset + at;
    const std::array buffers{view(source, from, count), view(target, to, count)};
    const std::array parameters{place(from, unit), place(to, unit), static_cast<uint32_t>(count / unit)};
    record_({&kernel, grid(count), buffers, parameters});
  }
}

void ByteKernels::fill(Buffer& target, size_t offset, size_t bytes, std::byte value) {
  const bool words = (offset | bytes) % 4 == 0;
  const size_t unit = words ? 4 : 1;
  const Program& kernel = words ? program(fill_words_, fill_words_kernel) : program(fill_bytes_, fill_bytes_kernel);
  const uint32_t bits = static_cast<uint32_t>(value) * (words ? 0x01010101U : 1U);
  for (size_t at = 0; at < bytes; at += bytes_per_launch()) {
    const size_t count = std::min(bytes_per_launch(), bytes - at), to = offset + at;
    const std::array buffers{view(target, to, count)};
    const std::array parameters{place(to, unit), static_cast<uint32_t>(count / unit), bits};
    record_({&kernel, grid(count), buffers, parameters});
  }
}

}  // namespace wick
