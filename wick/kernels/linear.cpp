#include "wick/kernels/linear.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "wick/base/fail.h"
#include "wick/kernels/group_options.h"
#include "wick/kernels/math.h"
#include "wick/kernels/row_ranges.h"
#include "wick/kernels/strided.h"
#include "wick/kernels/tile_product.h"

namespace wick::kernels {

using namespace ir;

namespace {

// How the lanes of a group share rows: a subgroup for each, or some of them, or sixteen lanes that meet in shared memory.
struct Teams {
  ir::KernelOptions options;
  uint32_t subgroups, lanes, teams;  // of a team, of a team, of the group

  Teams(uint32_t split, const DeviceCaps& caps) : options(group_options(caps, 128)) {
    subgroups = options.subgroup_size > 0 ? std::min(split, options.group_size / options.subgroup_size) : 1;
    lanes = options.subgroup_size > 0 ? options.subgroup_size * subgroups : std::min(16U, options.group_size);
    teams = options.group_size / lanes;
  }
};

std::string name_of(std::string_view what, const LinearForm& form) {
  const std::string gate = form.gate ? fmt::format("_{}", to_string(*form.gate)) : "";
  return fmt::format("{}{}{}_{}{}{}{}", what, form.experts ? "_experts" : "", gate, to_string(form.dtype),
                     form.access == RowAccess::elements ? "_strided" : "", form.weights > 1 ? fmt::format("_w{}", form.weights) : "",
                     form.extras.suffix());
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
    const uint32_t subgroup = teams.options.subgroup_size, group = teams.options.group_size;
    if (subgroup == 0 || teams.subgroups > 1) scratch_ = k.shared(Element::f32, count * (subgroup == 0 ? group : group / subgroup));
  }
  std::vector<Value> operator()(const std::vector<Variable>& parts) const {
    std::vector<Value> sums;
    if (teams_.options.subgroup_size > 0) {
      for (const Variable& part : parts) sums.push_back(subgroup_reduce(Reduce::add, part));
      return teams_.subgroups == 1 ? sums : of_subgroups(sums);
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
  // What each subgroup has summed up, over all subgroups of a team.
  [[nodiscard]] std::vector<Value> of_subgroups(const std::vector<Value>& own) const {
    const uint32_t size = teams_.options.subgroup_size, all = teams_.options.group_size / size;
    const Value subgroup = k_.local_id() / size;
    k_.when(k_.local_id() % size == 0U, [&] {
      for (uint32_t i = 0; i < own.size(); ++i) (*scratch_)[subgroup + i * all] = own[i];
    });
    k_.barrier();
    const Value first = k_.local_id() / teams_.lanes * teams_.subgroups;
    std::vector<Value> sums;
    for (uint32_t i = 0; i < own.size(); ++i) {
      Value sum = (*scratch_)[first + i * all];
      for (uint32_t j = 1; j < teams_.subgroups; ++j) sum = sum + (*scratch_)[first + (i * all + j)];
      sums.push_back(sum);
    }
    return sums;
  }

  KernelBuilder& k_;
  const Teams& teams_;
  std::optional<Memory> scratch_;
};

}  // namespace

uint32_t matvec_rows_per_group(const LinearForm& form, const DeviceCaps& caps) { return Teams(form.split, caps).teams; }

// Each lane has few bytes on their way, so that lanes that a processor has room for and that are not there cost speed: on an NVIDIA H200
// a subgroup for each of 4,096 rows of f16 reads 35.9 us, two of them 31.0 us. Where not all have room at once, more of them cost speed
// too: those for 6,144 rows read 20.8 and 22.7 us.
uint32_t matvec_split(int64_t rows, const DeviceCaps& caps) {
  constexpr int64_t kLanesOfUnit = 2048;
  constexpr uint32_t kMax = 4;
  const auto lanes = static_cast<int64_t>(group_options(caps, 128).subgroup_size);
  uint32_t split = 1;
  while (lanes > 0 && split < kMax && 2 * rows * lanes * split <= kLanesOfUnit * caps.compute_units) split *= 2;
  return split;
}

namespace {

// The kernel of few tokens: what it declares, and what it makes of sums.
class Matvec {
 public:
  Matvec(const LinearForm& form, uint32_t tokens, const DeviceCaps& caps)
      : form_(form),
        tokens_(tokens),
        teams_(form.split, caps),
        k_(fmt::format("{}_x{}{}{}", name_of("matvec", form), tokens, subgroup_suffix(teams_.options),
                       teams_.subgroups > 1 ? fmt::format("_split{}", teams_.subgroups) : ""),
           teams_.options) {
    WICK_ASSERT((!form.gate || form.weights == 1) && (!form.experts || (tokens == 1 && form.weights == 1)));
    declare_buffers();
  }

  ir::Kernel build() {
    x_offset_ = k_.parameter("x_offset", Type::u32);
    columns_ = k_.parameter("columns", Type::u32);
    if (form_.extras.norm) epsilon_ = k_.parameter("epsilon", Type::f32);
    const Value lane = k_.local_id() % teams_.lanes;
    RowRanges ranges(k_, teams_.teams, k_.local_id() / teams_.lanes);
    const Value given = k_.parameter("tokens", Type::u32);
    for (uint32_t i = 1; i < form_.weights; ++i) ranges.add();
    if (form_.extras.residual) residual_offset_ = k_.parameter("residual_offset", Type::u32);
    if (form_.experts) declare_pair(ranges);
    std::vector<Variable> parts;
    for (uint32_t i = 0; i < tokens_ * (count() + (form_.extras.norm ? 1 : 0)); ++i) parts.push_back(k_.variable(0.0F));
    ranges.each([&](uint32_t weight, const Value& row) { add_row(weight, row, lane, given, parts); });
    const std::vector<Value> sums = TeamSums(k_, teams_, static_cast<uint32_t>(parts.size()))(parts);
    k_.when(lane == 0U, [&] {
      for (uint32_t token = 0; token < tokens_; ++token) {
        const Value number = k_.constant(token);
        for (uint32_t i = 0; i < form_.weights; ++i) {
          const Value exists = number < given;
          ranges.store(i, y_[i], exists, pair_.valid() ? pair_.pair : number, result(sums, ranges, i, token, exists));
        }
      }
    });
    return k_.finish();
  }

 private:
  // A token and the expert that it names.
  struct Pair {
    Value pair, is_expert, first_row, x_row;
    [[nodiscard]] bool valid() const noexcept { return pair.builder() != nullptr; }
  };

  // Products of a row with a token.
  [[nodiscard]] uint32_t count() const noexcept { return form_.gate ? 2 : 1; }

  void declare_buffers() {
    const auto name = [](const char* what, uint32_t i) { return i == 0 ? what : fmt::format("{}_{}", what, i + 1); };
    weights_.emplace_back(k_, form_.dtype, form_.access);
    if (form_.gate) weights_.emplace_back(k_, weights_[0], "up");
    for (uint32_t i = 1; i < form_.weights; ++i) weights_.emplace_back(k_, weights_[0], name("w", i));
    x_ = k_.buffer("x", Element::f32);
    if (form_.experts) ids_ = k_.buffer("ids", Element::i32);
    if (form_.extras.norm) norm_ = k_.buffer("norm", Element::f32);
    for (uint32_t i = 0; form_.extras.bias && i < weights_.size(); ++i) bias_.push_back(k_.buffer(name("bias", i), Element::f32));
    if (form_.extras.residual) residual_ = k_.buffer("residual", Element::f32);
    for (uint32_t i = 0; i < form_.weights; ++i) y_.push_back(k_.output(name("y", i), Element::f32));
  }

  void declare_pair(const RowRanges& ranges) {
    const Value ids_offset = k_.parameter("ids_offset", Type::u32), experts = k_.parameter("experts", Type::u32),
                used = k_.parameter("used", Type::u32);
    pair_.pair = k_.group_id(2);
    const Value id = bitcast(Type::u32, ids_->load(ids_offset + pair_.pair));
    pair_.is_expert = id < experts;
    pair_.first_row = select(pair_.is_expert, id, 0U) * ranges.rows(0);
    pair_.x_row = pair_.pair / used;
  }

  void add_row(uint32_t weight, const Value& row, const Value& lane, const Value& given, std::vector<Variable>& parts) {
    const uint32_t unit = weights_[0].unit();
    // Tokens that are not there are the last one again.
    const auto place_of = [&](uint32_t token) {
      if (pair_.valid()) return pair_.x_row;
      return tokens_ == 1 ? k_.constant(0U) : min(k_.constant(token), given - 1U);
    };
    const Value place = pair_.valid() ? pair_.first_row + row : row;
    k_.loop(lane, columns_ / unit, teams_.lanes, [&](const Value& at) {
      std::vector<WeightUnit> units;
      for (uint32_t i = 0; i < count(); ++i) units.push_back(weights_[weight + i].read(place, at));
      std::vector<Value> factors;
      if (norm_) factors = activations(*norm_, at * unit, unit);
      for (uint32_t token = 0; token < tokens_; ++token) {
        std::vector<Value> values = activations(*x_, x_offset_ + columns_ * place_of(token) + at * unit, unit);
        if (norm_) {
          // The norm is Σ weight · (x · factor) / √(mean(x²) + epsilon): its divisor is known when all columns are summed up.
          Variable& squares = parts[tokens_ * count() + token];
          Value sum = squares;
          for (size_t i = 0; i < values.size(); ++i) {
            sum = fma(values[i], values[i], sum);
            values[i] = values[i] * factors[i];
          }
          squares = sum;
        }
        for (uint32_t i = 0; i < count(); ++i) parts[token * count() + i] = add_products(units[i], values, parts[token * count() + i]);
      }
    });
  }

  [[nodiscard]] Value result(const std::vector<Value>& sums, const RowRanges& ranges, uint32_t weight, uint32_t token,
                             const Value& exists) {
    std::vector<Value> products(sums.begin() + token * count(), sums.begin() + (token + 1) * count());
    if (norm_) {
      const Value scale = 1.0F / sqrt(sums[tokens_ * count() + token] / cast(Type::f32, columns_) + epsilon_);
      for (Value& product : products) product = product * scale;
    }
    const Value row = pair_.valid() ? pair_.first_row + ranges.row_of(weight) : ranges.row_of(weight);
    for (uint32_t i = 0; form_.extras.bias && i < count(); ++i) products[i] = products[i] + bias_[weight + i].load(row);
    Value result = form_.gate ? gate_of(*form_.gate, products[0], products[1]) : products[0];
    if (form_.extras.residual) {
      result = result + residual_->load_if(exists & ranges.has_row(0), residual_offset_ + ranges.rows(0) * token + row, 0.0F);
    }
    return pair_.valid() ? select(pair_.is_expert, result, nan_like(result)) : result;
  }

  LinearForm form_;
  uint32_t tokens_;
  Teams teams_;
  KernelBuilder k_;
  std::vector<WeightRows> weights_;
  std::optional<Memory> x_, ids_, norm_, residual_;
  std::vector<Memory> bias_, y_;
  Value x_offset_, columns_, epsilon_, residual_offset_;
  Pair pair_;
};

}  // namespace

Value gate_of(GateKind kind, const Value& gate, const Value& up) {
  switch (kind) {
    case GateKind::silu: return silu(gate) * up;
    case GateKind::gelu: return gelu(gate) * up;
    case GateKind::gelu_erf: return gelu_erf(gate) * up;
    case GateKind::relu_sqr: {
      const Value positive = select(gate < 0.0F, 0.0F, gate);
      return positive * positive * up;
    }
    case GateKind::swiglu_oai: {
      const Value bounded = select(gate > kSwigluLimit, kSwigluLimit, gate);
      const Value clamped = select(up > kSwigluLimit, kSwigluLimit, select(up < -kSwigluLimit, -kSwigluLimit, up));
      return bounded * sigmoid(bounded * kSwigluSlope) * (clamped + 1.0F);
    }
  }
  WICK_ASSERT(false);
}

ir::Kernel matvec(const LinearForm& form, uint32_t tokens, const DeviceCaps& caps) { return Matvec(form, tokens, caps).build(); }

namespace {

constexpr uint32_t kPatch = 4;   // rows and tokens of a lane
constexpr uint32_t kDepth = 32;  // columns in shared memory at a time

// A slice of kDepth columns of `block` rows or tokens in shared memory, transposed: [column, row], so that a lane reads its four at once.
struct Slice {
  Memory memory;
  uint32_t block;

  void store(const Value& row, const Value& column, const Value& value) const { memory[column * block + row] = value; }
};

// The tokens of a group: those from `first` to `end`; of a plan places in its order of pairs.
struct TokenTile {
  std::optional<Memory> plan;
  Value first, end;
  Value weight_row;                   // where the weight of this tile begins
  Value order, used, is_expert = {};  // of a plan

  // The token, or pair, at that place.
  [[nodiscard]] Value token(const Value& exists, const Value& place) const {
    return plan ? plan->load_if(exists, order + place, 0U) : place;
  }
  [[nodiscard]] Value x_row(const Value& exists, const Value& place) const {
    const Value number = token(exists, place);
    return plan ? number / used : number;
  }
  // Those to sum over: none where the tile has no pair.
  [[nodiscard]] Value columns(const Value& all) const { return plan ? select(first < end, all, 0U) : all; }
};

TokenTile tile_of_plan(KernelBuilder& k, const Memory& plan, const Value& rows) {
  const Value experts = k.parameter("experts", Type::u32), used = k.parameter("used", Type::u32),
              order = k.parameter("plan_pairs", Type::u32);
  const Value at = k.group_id(1) * 3U;
  const Value expert = plan.load(at), first = plan.load(at + 1U), count = plan.load(at + 2U);
  const Value is_expert = expert < experts;
  return {plan, first, first + count, select(is_expert, expert, 0U) * rows, order, used, is_expert};
}

// Rows of a block: those of a weight from `first` on, which has `rows` and begins at row `weight` of the matrix.
struct RowBlock {
  Value weight, first, rows;
};

// Every lane reads some units of the slice that begins at column `begin`; elements outside the matrix are 0.
void load_weights(KernelBuilder& k, const WeightRows& weight, const Slice& slice, const RowBlock& block, const Value& begin,
                  const Value& columns) {
  const uint32_t unit = weight.unit(), per_row = kDepth / unit, lanes = k.kernel().group_size;
  k.loop(k.local_id(), slice.block * per_row, lanes, [&](const Value& i) {
    const Value row = i / per_row, column = i % per_row * unit;
    const Value exists = (block.first + row < block.rows) & (begin + column < columns);
    // Outside, the first unit is read and forgotten: nothing waits for a branch.
    const Value zero = k.constant(0U);
    const WeightUnit read =
        weight.read(select(exists, block.weight + block.first + row, zero), select(exists, (begin + column) / unit, zero));
    for (uint32_t e = 0; e < unit; ++e) slice.store(row, column + e, select(exists, read.element(e), 0.0F));
  });
}

void load_activations(KernelBuilder& k, const Memory& x, const Slice& slice, const Value& x_offset, const TokenTile& tile,
                      const Value& begin, const Value& columns) {
  k.loop(k.local_id(), slice.block * kDepth, k.kernel().group_size, [&](const Value& i) {
    const Value token = i / kDepth, column = i % kDepth;
    const Value exists = (tile.first + token < tile.end) & (begin + column < columns);
    slice.store(token, column, x.load_if(exists, x_offset + tile.x_row(exists, tile.first + token) * columns + begin + column, 0.0F));
  });
}

}  // namespace

uint32_t linear_block(const DeviceCaps& caps) { return caps.max_group_size >= 256 ? 64 : 32; }

ir::Kernel linear_blocks(const LinearForm& form, const DeviceCaps& caps) {
  WICK_ASSERT(!form.gate && form.weights == 1 && !form.extras.norm && !form.extras.residual);
  const uint32_t block = linear_block(caps), across = block / kPatch;
  KernelBuilder k(name_of("linear_blocks", form), {.group_size = across * across});
  const WeightRows weight(k, form.dtype, form.access);
  const Memory x = k.buffer("x", Element::f32);
  std::optional<Memory> plan, bias;
  if (form.experts) plan = k.buffer("plan", Element::u32);
  if (form.extras.bias) bias = k.buffer("bias", Element::f32);
  const Memory y = k.output("y", Element::f32);
  const Value x_offset = k.parameter("x_offset", Type::u32), columns = k.parameter("columns", Type::u32);
  const Value rows = k.parameter("rows", Type::u32), y_offset = k.parameter("y_offset", Type::u32),
              tokens = k.parameter("tokens", Type::u32);
  const TokenTile tile = form.experts ? tile_of_plan(k, *plan, rows) : TokenTile{{}, k.group_id(1) * block, tokens, k.constant(0U), {}, {}};
  const Slice w_slice{k.shared(Element::f32, kDepth * block), block}, x_slice{k.shared(Element::f32, kDepth * block), block};
  const Value first_row = k.group_id(0) * block;
  const Value lane_row = k.local_id() % across * kPatch, lane_token = k.local_id() / across * kPatch;
  std::vector<Variable> sums;
  for (uint32_t i = 0; i < kPatch * kPatch; ++i) sums.push_back(k.variable(0.0F));
  k.loop(0, tile.columns(columns), kDepth, [&](const Value& begin) {
    load_weights(k, weight, w_slice, {tile.weight_row, first_row, rows}, begin, columns);
    load_activations(k, x, x_slice, x_offset, tile, begin, columns);
    k.barrier();
    for (uint32_t d = 0; d < kDepth; ++d) {
      const Vector w = w_slice.memory.load4(lane_row + d * block), v = x_slice.memory.load4(lane_token + d * block);
      for (uint32_t i = 0; i < kPatch * kPatch; ++i) sums[i] = fma(v[i / kPatch], w[i % kPatch], sums[i]);
    }
    k.barrier();
  });
  for (uint32_t i = 0; i < kPatch * kPatch; ++i) {
    const Value token = tile.first + lane_token + i / kPatch, row = first_row + lane_row + i % kPatch;
    const Value exists = (token < tile.end) & (row < rows);
    Value result = sums[i];
    if (bias) result = result + bias->load_if(exists, tile.weight_row + row, 0.0F);
    if (form.experts) result = select(tile.is_expert, result, nan_like(result));
    y.store_if(exists, y_offset + tile.token(exists, token) * rows + row, result);
  }
  return k.finish();
}

ir::Kernel gate_pairs(GateKind kind, bool quads, const DeviceCaps& caps) {
  KernelBuilder k(fmt::format("gate_pairs_{}{}", to_string(kind), quads ? "_quads" : ""),
                  {.group_size = group_options(caps, 256).group_size});
  const Memory gate = k.buffer("gate", Element::f32), y = k.output("y", Element::f32);
  const Value count = k.parameter("count", Type::u32), y_offset = k.parameter("y_offset", Type::u32);
  const Value i = global_lane(k);
  if (!quads) {
    k.when(i < count, [&] { y[y_offset + i] = gate_of(kind, gate[i], y[y_offset + i]); });
    return k.finish();
  }
  k.when(i < count / 4U, [&] {
    const Vector g = gate.load4(i * 4U), up = y.load4(y_offset + i * 4U);
    y.store(y_offset + i * 4U,
            {gate_of(kind, g[0], up[0]), gate_of(kind, g[1], up[1]), gate_of(kind, g[2], up[2]), gate_of(kind, g[3], up[3])});
  });
  return k.finish();
}

ir::Kernel gate_halves(GateKind kind, bool to_halves, const DeviceCaps& caps) {
  KernelBuilder k(fmt::format("gate_halves_{}_{}", to_string(kind), to_halves ? "f16" : "f32"),
                  {.group_size = group_options(caps, 256).group_size});
  const Memory gate = k.buffer("gate", Element::u32), up = k.buffer("up", Element::u32),
               y = k.output("y", to_halves ? Element::u32 : Element::f32);
  const Value count = k.parameter("count", Type::u32), y_offset = k.parameter("y_offset", Type::u32);
  const Value i = global_lane(k);
  k.when(i < count / 8U, [&] {
    const Vector g = gate.load4(i * 4U), u = up.load4(i * 4U);
    const auto finite = [](const Value& half) {
      constexpr float kLargest = 65504;
      const Value number = unpack_half(half);
      return select(abs(number) > kLargest, max(min(number, kLargest), -kLargest), number);
    };
    std::vector<Value> results;
    for (uint32_t word = 0; word < 4; ++word) {
      results.push_back(gate_of(kind, finite(g[word]), finite(u[word])));
      results.push_back(gate_of(kind, finite(g[word] >> 16), finite(u[word] >> 16)));
    }
    const auto pair = [&](uint32_t word) { return pack_limited(results[2 * word], results[2 * word + 1]); };
    if (to_halves) return y.store(y_offset / 2U + i * 4U, {pair(0), pair(1), pair(2), pair(3)});
    for (uint32_t e = 0; e < 8; e += 4) {
      y.store(y_offset + i * 8U + e, {results[e], results[e + 1], results[e + 2], results[e + 3]});
    }
  });
  return k.finish();
}

}  // namespace wick::kernels
