// From an op's call to launches: which program, over how many groups, with which arguments.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <vector>

#include "wick/device/op_call.h"
#include "wick/device/runtime.h"
#include "wick/kernels/elementwise.h"
#include "wick/kernels/strided.h"

namespace wick::launchers {

// A dtype among the numbers of a ProgramKey.
[[nodiscard]] constexpr uint32_t number_of(DType dtype) noexcept { return static_cast<uint32_t>(dtype); }

// Arguments of a launch, in the order in which the kernel declared them.
class Arguments {
 public:
  Arguments& buffer(const Buffer& buffer, size_t offset = 0, size_t bytes = 0) {
    buffers_.push_back({const_cast<Buffer*>(&buffer), offset, bytes});  // NOLINT: the kernel says whether it writes
    return *this;
  }
  Arguments& buffer(const Operand& operand) { return buffer(*operand.buffer); }
  // A size, an index, an offset. Errors: unsupported where it has more than 32 bits.
  Arguments& size(int64_t value);
  // A stride, which may be negative: modulo 2^32.
  Arguments& stride(int64_t value) { return bits(static_cast<uint32_t>(static_cast<uint64_t>(value))); }
  Arguments& number(float value);
  // A number of an Elementwise's parameter type.
  Arguments& number_as(ir::Type type, double value);
  Arguments& bits(uint32_t value) {
    parameters_.push_back(value);
    return *this;
  }
  // The two halves of a number of 64 bits, the lower one first.
  Arguments& wide(uint64_t value) { return bits(static_cast<uint32_t>(value)).bits(static_cast<uint32_t>(value >> 32)); }

  [[nodiscard]] std::span<const BufferArgument> buffers() const noexcept { return buffers_; }
  [[nodiscard]] std::span<const uint32_t> parameters() const noexcept { return parameters_; }

 private:
  std::vector<BufferArgument> buffers_;
  std::vector<uint32_t> parameters_;
};

inline void launch(Runtime& runtime, const Program& program, ir::Grid grid, const Arguments& arguments) {
  runtime.launch({&program, grid, arguments.buffers(), arguments.parameters()});
}

// Errors: unsupported for an operand with elements beyond the 2^32nd of its buffer.
void check_range(const Operand& operand);
// Where a row-major result begins.
[[nodiscard]] int64_t first_of(const Operand& result);

// Two operands of one dtype as parts of one buffer, which a kernel has for both: the one that they are in, or a new one with copies of
// them.
class InOneBuffer {
 public:
  InOneBuffer(Runtime& runtime, const Operand& first, const Operand& second);
  [[nodiscard]] const Buffer& buffer() const noexcept { return *buffer_; }
  // Where each begins, in elements.
  [[nodiscard]] int64_t first() const noexcept { return first_; }
  [[nodiscard]] int64_t second() const noexcept { return second_; }

 private:
  std::unique_ptr<Buffer> copies_;
  const Buffer* buffer_;
  int64_t first_, second_;
};

// How many groups take `extent` elements, `size` of them each.
[[nodiscard]] constexpr uint32_t groups_along(int64_t extent, uint32_t size) noexcept {
  return static_cast<uint32_t>((extent + size - 1) / size);
}

// A grid of at least so many groups, spread over two dimensions.
[[nodiscard]] inline ir::Grid group_grid(const Program& program, int64_t groups, const DeviceCaps& caps) {
  return kernels::groups_for(program.kernel(), static_cast<uint64_t>(groups) * program.kernel().group_size, caps);
}

// The kernel for operands of that rank, which is 1 or 4.
using MakeStrided = std::function<ir::Kernel(uint32_t rank)>;
// Launches a kernel with a kernels::StridedGrid over operands of one shape: its buffers are those of `first` and of the operands, its
// parameters those of `first`, the grid's, a view of each operand, and those of `others`. Dimensions that all operands step through evenly
// become one. An operand without a buffer gives a view only. `key` names the kernel; the rank is added to it. Errors: unsupported for an
// operand with elements beyond the 2^32nd of its buffer.
void launch_strided(Runtime& runtime, ProgramKey key, const MakeStrided& make, std::initializer_list<const Operand*> operands,
                    const Arguments& others = {}, const Arguments& first = {});

// The same with a kernel whose groups, not lanes, take an element each.
void launch_strided_groups(Runtime& runtime, ProgramKey key, const MakeStrided& make, std::initializer_list<const Operand*> operands,
                           const Arguments& others = {});

// Dtypes whose quads have kernels of their own: those of activations.
[[nodiscard]] constexpr bool has_quads(DType dtype) noexcept { return dtype == DType::f32 || dtype == DType::f16 || dtype == DType::bf16; }

using MakeElementwise = std::function<kernels::Elementwise()>;
// Launches a kernel of kernels::elementwise over the inputs and the first output of a call, by quads where `quads` allows it and the
// layouts do; the parameters of its function are those of `others`. `key` names the function. Errors: as launch_strided and
// check_abilities.
void launch_elementwise(const OpCall& call, ProgramKey key, const MakeElementwise& make, bool quads, const Arguments& others = {});

// Throws unsupported for an operand of a dtype that the device cannot compute with.
void check_abilities(const OpCall& call);

}  // namespace wick::launchers
