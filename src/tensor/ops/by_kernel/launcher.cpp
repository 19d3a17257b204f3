#include "tensor/ops/by_kernel/launcher.h"

#include <array>
#include <bit>
#include <limits>

#include "base/error.h"

namespace wick::by_kernel {

Arguments& Arguments::size(int64_t value) {
  if (value < 0 || value > std::numeric_limits<uint32_t>::max()) {
    fail(ErrorCode::unsupported, "a kernel counts to 2^32, and this call has {} elements in one operand; split it", value);
  }
  return bits(static_cast<uint32_t>(value));
}

Arguments& Arguments::number(float value) { return bits(std::bit_cast<uint32_t>(value)); }

namespace {

constexpr int kKernelRank = 4;

// One shape, and the strides of each operand in it.
struct Walk {
  std::vector<int64_t> extents;
  std::vector<std::vector<int64_t>> strides;  // per operand
  std::vector<int64_t> offsets;
};

// Without extents of 1, and neighbouring dimensions as one wherever every operand steps through both evenly.
Walk merge_dimensions(std::initializer_list<const Operand*> operands) {
  Walk walk;
  walk.strides.resize(operands.size());
  const Layout& shape = *(*operands.begin())->layout;
  for (int dim = 0; dim < shape.rank(); ++dim) {
    const int64_t extent = shape.shape()[dim];
    if (extent == 1) continue;
    bool merges = !walk.extents.empty();
    for (size_t i = 0; merges && i < operands.size(); ++i)
      merges = walk.strides[i].back() == operands.begin()[i]->layout->stride(dim) * extent;
    if (merges) {
      walk.extents.back() *= extent;
    } else {
      walk.extents.push_back(extent);
    }
    for (size_t i = 0; i < operands.size(); ++i) {
      const int64_t stride = operands.begin()[i]->layout->stride(dim);
      if (merges) {
        walk.strides[i].back() = stride;
      } else {
        walk.strides[i].push_back(stride);
      }
    }
  }
  for (const Operand* operand : operands) walk.offsets.push_back(operand->layout->offset());
  return walk;
}

void check_range(const Operand& operand) {
  if (operand.layout->touched_range().second <= int64_t{1} << 32) return;
  fail(ErrorCode::unsupported, "a kernel sees the first 2^32 elements of a buffer, and an operand {} of {} lies beyond; copy it",
       operand.layout->shape().to_string(), to_string(operand.dtype));
}

// The dimensions from `first` on, padded in front to `rank`, at those offsets, behind what `arguments` holds.
Arguments arguments_of(const Walk& walk, size_t first, uint32_t rank, std::initializer_list<const Operand*> operands,
                       std::span<const int64_t> offsets, const Arguments& others, Arguments arguments) {
  for (const Operand* operand : operands) arguments.buffer(*operand);
  const size_t given = walk.extents.size() - first;
  const auto dimension = [&](size_t d, const std::vector<int64_t>& of, int64_t missing) {
    return d + given < rank ? missing : of[first + d + given - rank];
  };
  int64_t count = 1;
  for (size_t d = first; d < walk.extents.size(); ++d) count *= walk.extents[d];
  arguments.size(count);
  for (size_t d = 1; d < rank; ++d) arguments.size(dimension(d, walk.extents, 1));
  for (size_t i = 0; i < operands.size(); ++i) {
    arguments.size(offsets[i]);
    for (size_t d = 0; d < rank; ++d) arguments.stride(dimension(d, walk.strides[i], 0));
  }
  for (const uint32_t bits : others.parameters()) arguments.bits(bits);
  return arguments;
}

}  // namespace

void launch_strided(Runtime& runtime, ProgramKey key, const MakeStrided& make, std::initializer_list<const Operand*> operands,
                    const Arguments& others, const Arguments& first) {
  for (const Operand* operand : operands) check_range(*operand);
  const Walk walk = merge_dimensions(operands);
  const uint32_t rank = walk.extents.size() > 1 ? kKernelRank : 1;
  WICK_ASSERT(key.count < ProgramKey::kMaxNumbers);
  key.numbers[key.count++] = rank;
  const Program& program = runtime.program(key, [&] { return make(rank); });
  const size_t outer = walk.extents.size() > rank ? walk.extents.size() - rank : 0;
  int64_t count = 1;
  for (size_t d = outer; d < walk.extents.size(); ++d) count *= walk.extents[d];
  const ir::Grid grid = kernels::groups_for(program.kernel(), static_cast<uint64_t>(count), runtime.caps());
  // What a kernel's four dimensions do not hold is walked here.
  std::vector<int64_t> at(outer, 0), offsets = walk.offsets;
  while (true) {
    launch(runtime, program, grid, arguments_of(walk, outer, rank, operands, offsets, others, first));
    size_t d = outer;
    for (; d > 0; --d) {
      const bool wraps = ++at[d - 1] == walk.extents[d - 1];
      const int64_t steps = wraps ? 1 - walk.extents[d - 1] : 1;
      for (size_t i = 0; i < offsets.size(); ++i) offsets[i] += steps * walk.strides[i][d - 1];
      if (!wraps) break;
      at[d - 1] = 0;
    }
    if (d == 0) return;
  }
}

}  // namespace wick::by_kernel
