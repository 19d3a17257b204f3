#include "wick/kernels/linear.h"

#include <fmt/format.h>

#include <algorithm>

#include "wick/base/fail.h"
#include "wick/kernels/group_options.h"
#include "wick/kernels/math.h"
#include "wick/kernels/row_ranges.h"
#include "wick/kernels/strided.h"

namespace wick::kernels {

using ir::Element;
using ir::KernelBuilder;
using ir::Memory;
using ir::Reduce;
using ir::Type;
using ir::Value;
using ir::Variable;
using ir::Vector;

namespace {

// How the lanes of a group share rows: a subgroup for each, or sixteen lanes that meet in shared memory.
struct Teams {
  ir::KernelOptions options;
  uint32_t lanes, teams;

  explicit Teams(const DeviceCaps& caps) : options(group_options(caps, 128)) {
    lanes = options.subgroup_size > 0 ? options.subgroup_size : std::min(16U, options.group_size);
    teams = options.group_size / lanes;
  }
};

std::string name_of(std::string_view what, const LinearForm& form) {
  return fmt::format("{}{}_{}{}{}", what, form.gated ? "_gated" : "", to_string(form.dtype),
                     form.access == RowAccess::elements ? "_strided" : "", form.weights > 1 ? fmt::format("_w{}", form.weights) : "");
}

// The activations of one unit of a row.
std::vector<Value> activations(const Memory& x, const Value& first, uint32_t unit) {
  std::vector<Value> values;
  if (unit == 1) return {x[first]};
  for (uint32_t i = 0; i < unit; i += 4) {
    const Vector four = x.load4(first + i);
    for (uint32_t j = 0; j < 4; ++j) values.push_back(four[j]);
  }
  return values;
}

// sum + Σ weight · x over a unit.
Value add_products(const WeightUnit& weight, const std::vector<Value>& x, const Value& sum) {
  Value products = weight.scale ? weight.numbers[0] * x[0] : fma(weight.numbers[0], x[0], sum);
  for (size_t i = 1; i < x.size(); ++i) products = fma(weight.numbers[i], x[i], products);
  if (!weight.scale) return products;
  Value total = fma(*weight.scale, products, sum);
  if (!weight.offset) return total;
  Value all = x[0];
  for (size_t i = 1; i < x.size(); ++i) all = all + x[i];
  return fma(*weight.offset, all, total);
}

// The sums of each team's lanes, in the lanes that the results are stored by: with subgroups all of a team, else the team's first.
class TeamSums {
 public:
  TeamSums(KernelBuilder& k, const Teams& teams, uint32_t count) : k_(k), teams_(teams) {
    if (teams.options.subgroup_size == 0) scratch_ = k.shared(Element::f32, count * teams.options.group_size);
  }
  std::vector<Value> operator()(const std::vector<Variable>& parts) const {
    std::vector<Value> sums;
    if (!scratch_) {
      for (const Variable& part : parts) sums.push_back(subgroup_reduce(Reduce::add, part));
      return sums;
    }
    const uint32_t group = teams_.options.group_size;
    for (uint32_t i = 0; i < parts.size(); ++i) (*scratch_)[k_.local_id() + i * group] = parts[i];
    k_.barrier();
    const Value first = k_.local_id() / teams_.lanes * teams_.lanes;
    for (uint32_t i = 0; i < parts.size(); ++i) {
      Value sum = (*scratch_)[first + i * group];
      for (uint32_t lane = 1; lane < teams_.lanes; ++lane) sum = sum + (*scratch_)[first + (i * group + lane)];
      sums.push_back(sum);
    }
    return sums;
  }

 private:
  KernelBuilder& k_;
  const Teams& teams_;
  std::optional<Memory> scratch_;
};

}  // namespace

uint32_t matvec_rows_per_group(const DeviceCaps& caps) { return Teams(caps).teams; }

ir::Kernel matvec(const LinearForm& form, uint32_t tokens, const DeviceCaps& caps) {
  WICK_ASSERT(!form.gated || form.weights == 1);
  const Teams teams(caps);
  KernelBuilder k(fmt::format("{}_x{}{}", name_of("matvec", form), tokens, subgroup_suffix(teams.options)), teams.options);
  const auto name = [](const char* what, uint32_t i) { return i == 0 ? what : fmt::format("{}_{}", what, i + 1); };
  std::vector<WeightRows> weights{WeightRows(k, form.dtype, form.access)};
  if (form.gated) weights.emplace_back(k, weights[0], "up");
  for (uint32_t i = 1; i < form.weights; ++i) weights.emplace_back(k, weights[0], name("w", i));
  const Memory x = k.buffer("x", Element::f32);
  std::vector<Memory> y;
  for (uint32_t i = 0; i < form.weights; ++i) y.push_back(k.output(name("y", i), Element::f32));
  const Value x_offset = k.parameter("x_offset", Type::u32), columns = k.parameter("columns", Type::u32);
  const Value lane = k.local_id() % teams.lanes;
  RowRanges ranges(k, teams.teams, k.local_id() / teams.lanes);
  const Value given = k.parameter("tokens", Type::u32);
  for (uint32_t i = 1; i < form.weights; ++i) ranges.add();
  const uint32_t count = form.gated ? 2 : 1, unit = weights[0].unit();
  std::vector<Variable> parts;
  for (uint32_t i = 0; i < tokens * count; ++i) parts.push_back(k.variable(0.0F));
  // Tokens that are not there are the last one again.
  const auto place_of = [&](uint32_t token) { return tokens == 1 ? k.constant(0U) : min(k.constant(token), given - 1U); };
  ranges.each([&](uint32_t weight, const Value& row) {
    k.loop(lane, columns / unit, teams.lanes, [&](const Value& at) {
      std::vector<WeightUnit> units;
      for (uint32_t i = 0; i < count; ++i) units.push_back(weights[weight + i].read(row, at));
      for (uint32_t token = 0; token < tokens; ++token) {
        const std::vector<Value> values = activations(x, x_offset + columns * place_of(token) + at * unit, unit);
        for (uint32_t i = 0; i < count; ++i) parts[token * count + i] = add_products(units[i], values, parts[token * count + i]);
      }
    });
  });
  const std::vector<Value> sums = TeamSums(k, teams, tokens * count)(parts);
  k.when(lane == 0U, [&] {
    for (uint32_t token = 0; token < tokens; ++token) {
      const Value& first = sums[token * count];
      const Value result = form.gated ? silu(first) * sums[token * count + 1] : first, number = k.constant(token);
      for (uint32_t i = 0; i < form.weights; ++i) ranges.store(i, y[i], number < given, number, result);
    }
  });
  return k.finish();
}

namespace {

constexpr uint32_t kPatch = 4;   // rows and tokens of a lane
constexpr uint32_t kDepth = 32;  // columns in shared memory at a time

// A slice of kDepth columns of `block` rows or tokens in shared memory, transposed: [column, row], so that a lane reads its four at once.
struct Slice {
  Memory memory;
  uint32_t block;

  void store(const Value& row, const Value& column, const Value& value) const { memory[column * block + row] = value; }
};

// Every lane reads some units of the slice that begins at column `begin`; what lies outside the matrix is 0.
void load_weights(KernelBuilder& k, const WeightRows& weight, const Slice& slice, const Value& first_row, const Value& rows,
                  const Value& begin, const Value& columns) {
  const uint32_t unit = weight.unit(), per_row = kDepth / unit, lanes = k.kernel().group_size;
  k.loop(k.local_id(), slice.block * per_row, lanes, [&](const Value& i) {
    const Value row = i / per_row, column = i % per_row * unit;
    const Value exists = (first_row + row < rows) & (begin + column < columns);
    // Outside, the first unit is read and forgotten: nothing waits for a branch.
    const Value zero = k.constant(0U);
    const WeightUnit read = weight.read(select(exists, first_row + row, zero), select(exists, (begin + column) / unit, zero));
    for (uint32_t e = 0; e < unit; ++e) slice.store(row, column + e, select(exists, read.element(e), 0.0F));
  });
}

void load_activations(KernelBuilder& k, const Memory& x, const Slice& slice, const Value& x_offset, const Value& first_token,
                      const Value& tokens, const Value& begin, const Value& columns) {
  k.loop(k.local_id(), slice.block * kDepth, k.kernel().group_size, [&](const Value& i) {
    const Value token = i / kDepth, column = i % kDepth;
    const Value exists = (first_token + token < tokens) & (begin + column < columns);
    slice.store(token, column, x.load_if(exists, x_offset + (first_token + token) * columns + begin + column, 0.0F));
  });
}

}  // namespace

uint32_t linear_block(const DeviceCaps& caps) { return caps.max_group_size >= 256 ? 64 : 32; }

ir::Kernel linear_blocks(const LinearForm& form, const DeviceCaps& caps) {
  WICK_ASSERT(!form.gated);
  const uint32_t block = linear_block(caps), across = block / kPatch;
  KernelBuilder k(name_of("linear_blocks", form), {.group_size = across * across});
  const WeightRows weight(k, form.dtype, form.access);
  const Memory x = k.buffer("x", Element::f32), y = k.output("y", Element::f32);
  const Value x_offset = k.parameter("x_offset", Type::u32), columns = k.parameter("columns", Type::u32);
  const Value rows = k.parameter("rows", Type::u32), y_offset = k.parameter("y_offset", Type::u32),
              tokens = k.parameter("tokens", Type::u32);
  const Slice w_slice{k.shared(Element::f32, kDepth * block), block}, x_slice{k.shared(Element::f32, kDepth * block), block};
  const Value first_row = k.group_id(0) * block, first_token = k.group_id(1) * block;
  const Value lane_row = k.local_id() % across * kPatch, lane_token = k.local_id() / across * kPatch;
  std::vector<Variable> sums;
  for (uint32_t i = 0; i < kPatch * kPatch; ++i) sums.push_back(k.variable(0.0F));
  k.loop(0, columns, kDepth, [&](const Value& begin) {
    load_weights(k, weight, w_slice, first_row, rows, begin, columns);
    load_activations(k, x, x_slice, x_offset, first_token, tokens, begin, columns);
    k.barrier();
    for (uint32_t d = 0; d < kDepth; ++d) {
      const Vector w = w_slice.memory.load4(lane_row + d * block), v = x_slice.memory.load4(lane_token + d * block);
      for (uint32_t i = 0; i < kPatch * kPatch; ++i) sums[i] = fma(v[i / kPatch], w[i % kPatch], sums[i]);
    }
    k.barrier();
  });
  for (uint32_t i = 0; i < kPatch * kPatch; ++i) {
    const Value token = first_token + lane_token + i / kPatch, row = first_row + lane_row + i % kPatch;
    y.store_if((token < tokens) & (row < rows), y_offset + token * rows + row, sums[i]);
  }
  return k.finish();
}

ir::Kernel gate_by_silu(const DeviceCaps& caps) {
  KernelBuilder k("gate_by_silu", {.group_size = group_options(caps, 256).group_size});
  const Memory gate = k.buffer("gate", Element::f32), y = k.output("y", Element::f32);
  const Value count = k.parameter("count", Type::u32), y_offset = k.parameter("y_offset", Type::u32);
  const Value i = global_lane(k);
  k.when(i < count, [&] { y[y_offset + i] = silu(gate[i]) * y[y_offset + i]; });
  return k.finish();
}

}  // namespace wick::kernels
