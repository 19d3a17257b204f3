#include "wick/tensor/ops/launchers/launcher.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>

#include "wick/base/fail.h"
#include "wick/tensor/ops/dispatch.h"

namespace wick::launchers {

Arguments& Arguments::size(int64_t value) {
  if (value < 0 || value > std::numeric_limits<uint32_t>::max()) {
    fail(ErrorCode::unsupported, "a kernel counts to 2^32, and this call has {} elements in one operand; split it", value);
  }
  return bits(static_cast<uint32_t>(value));
}

Arguments& Arguments::number(float value) { return bits(std::bit_cast<uint32_t>(value)); }

Arguments& Arguments::number_as(ir::Type type, double value) {
  return type == ir::Type::f64 ? wide(std::bit_cast<uint64_t>(value)) : number(static_cast<float>(value));
}

void check_range(const Operand& operand) {
  if (operand.layout->touched_range().second <= int64_t{1} << 32) return;
  fail(ErrorCode::unsupported, "a kernel sees the first 2^32 elements of a buffer, and an operand {} of {} lies beyond; copy it",
       operand.layout->shape().to_string(), to_string(operand.dtype));
}

int64_t first_of(const Operand& result) {
  WICK_ASSERT(result.layout->is_contiguous());
  return result.layout->offset();
}

InOneBuffer::InOneBuffer(Runtime& runtime, const Operand& first, const Operand& second)
    : buffer_(first.buffer), first_(first_of(first)), second_(first_of(second)) {
  if (first.buffer == second.buffer) return;
  const auto bytes_of = [](const Operand& operand, int64_t elements) {
    return static_cast<size_t>(storage_bytes(operand.dtype, elements));
  };
  const size_t first_bytes = bytes_of(first, first.layout->elements()), second_bytes = bytes_of(second, second.layout->elements());
  copies_ = runtime.allocate(std::max<size_t>(first_bytes + second_bytes, 1), Lifetime::transient);
  if (first_bytes > 0) runtime.queue().copy(*first.buffer, bytes_of(first, first_), *copies_, 0, first_bytes);
  if (second_bytes > 0) runtime.queue().copy(*second.buffer, bytes_of(second, second_), *copies_, first_bytes, second_bytes);
  buffer_ = copies_.get();
  first_ = 0;
  second_ = first.layout->elements();
}

namespace {

constexpr uint32_t kKernelRank = 4;
using Operands = std::span<const Operand* const>;

// One shape, and the strides of each operand in it.
struct Walk {
  std::vector<int64_t> extents;
  std::vector<std::vector<int64_t>> strides;  // per operand
  std::vector<int64_t> offsets;
};

// Without extents of 1, and neighbouring dimensions as one wherever every operand steps through both evenly.
Walk merge_dimensions(Operands operands) {
  Walk walk;
  walk.strides.resize(operands.size());
  const Layout& shape = *operands.front()->layout;
  for (int dim = 0; dim < shape.rank(); ++dim) {
    const int64_t extent = shape.shape()[dim];
    if (extent == 1) continue;
    bool merges = !walk.extents.empty();
    for (size_t i = 0; merges && i < operands.size(); ++i) merges = walk.strides[i].back() == operands[i]->layout->stride(dim) * extent;
    if (merges) {
      walk.extents.back() *= extent;
    } else {
      walk.extents.push_back(extent);
    }
    for (size_t i = 0; i < operands.size(); ++i) {
      const int64_t stride = operands[i]->layout->stride(dim);
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

// The dimensions from `first` on, padded in front to `rank`, at those offsets, behind what `arguments` holds.
Arguments arguments_of(const Walk& walk, size_t first, uint32_t rank, Operands operands, std::span<const int64_t> offsets,
                       const Arguments& others, Arguments arguments) {
  for (const Operand* operand : operands) {
    if (operand->buffer != nullptr) arguments.buffer(*operand);
  }
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

// Launches the kernel of that rank over the last dimensions of a walk, and walks those before them here.
void launch_walk(Runtime& runtime, const Program& program, const Walk& walk, uint32_t rank, Operands operands, const Arguments& others,
                 const Arguments& first = {}, bool by_groups = false) {
  const size_t outer = walk.extents.size() > rank ? walk.extents.size() - rank : 0;
  int64_t count = 1;
  for (size_t d = outer; d < walk.extents.size(); ++d) count *= walk.extents[d];
  const ir::Grid grid = by_groups ? group_grid(program, count, runtime.caps())
                                  : kernels::groups_for(program.kernel(), static_cast<uint64_t>(count), runtime.caps());
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

// The same walk in quads along the last dimension; false where some operand's neighbours are apart, or begin elsewhere than at a multiple
// of four.
bool step_in_quads(Walk& walk) {
  const auto is_whole = [](int64_t number) { return number % 4 == 0; };
  if (walk.extents.empty() || !is_whole(walk.extents.back())) return false;
  for (size_t i = 0; i < walk.offsets.size(); ++i) {
    const std::span<const int64_t> strides = walk.strides[i];
    if (strides.back() != 1 || !is_whole(walk.offsets[i])) return false;
    if (!std::all_of(strides.begin(), strides.end() - 1, is_whole)) return false;
  }
  walk.extents.back() /= 4;
  for (int64_t& offset : walk.offsets) offset /= 4;
  for (std::vector<int64_t>& strides : walk.strides) {
    for (size_t d = 0; d + 1 < strides.size(); ++d) strides[d] /= 4;
  }
  return true;
}

void add_number(ProgramKey& key, uint32_t number) {
  WICK_ASSERT(key.count < ProgramKey::kMaxNumbers);
  key.numbers[key.count++] = number;
}

void launch_any(Runtime& runtime, ProgramKey key, const MakeStrided& make, Operands all, const Arguments& others, const Arguments& first,
                bool by_groups) {
  for (const Operand* operand : all) check_range(*operand);
  const Walk walk = merge_dimensions(all);
  const uint32_t rank = walk.extents.size() > 1 ? kKernelRank : 1;
  add_number(key, rank);
  launch_walk(runtime, runtime.program(key, [&] { return make(rank); }), walk, rank, all, others, first, by_groups);
}

}  // namespace

void launch_strided(Runtime& runtime, ProgramKey key, const MakeStrided& make, std::initializer_list<const Operand*> operands,
                    const Arguments& others, const Arguments& first) {
  launch_any(runtime, key, make, {operands.begin(), operands.end()}, others, first, false);
}

void launch_strided_groups(Runtime& runtime, ProgramKey key, const MakeStrided& make, std::initializer_list<const Operand*> operands,
                           const Arguments& others) {
  launch_any(runtime, key, make, {operands.begin(), operands.end()}, others, {}, true);
}

void launch_elementwise(const OpCall& call, ProgramKey key, const MakeElementwise& make, bool quads, const Arguments& others) {
  check_abilities(call);
  std::vector<const Operand*> operands;
  for (const Operand& input : call.inputs) operands.push_back(&input);
  operands.push_back(&call.outputs[0]);
  for (const Operand* operand : operands) check_range(*operand);
  Walk walk = merge_dimensions(operands);
  const uint32_t width = quads && step_in_quads(walk) ? 4 : 1;
  add_number(key, width);
  Runtime& runtime = *call.runtime;
  const Program& program = runtime.program(key, [&] { return kernels::elementwise(make(), width, runtime.caps()); });
  launch_walk(runtime, program, walk, kKernelRank, operands, others);
}

void check_abilities(const OpCall& call) {
  for (const std::span<const Operand> operands : {call.inputs, call.outputs}) {
    for (const Operand& operand : operands) {
      const std::string_view missing = missing_ability(call.runtime->caps(), operand.dtype);
      if (missing.empty()) continue;
      fail(ErrorCode::unsupported, "{}: an operand is {}, and {}", to_string(call.op), to_string(operand.dtype), missing);
    }
  }
}

}  // namespace wick::launchers
