#include "wick/kernels/linear_lanes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>

#include "wick/base/fail.h"
#include "wick/kernels/group_options.h"
#include "wick/kernels/group_reduce.h"
#include "wick/kernels/math.h"
#include "wick/kernels/strided.h"
#include "wick/kernels/tile_product.h"

namespace wick::kernels {

using ir::Element;
using ir::KernelBuilder;
using ir::Memory;
using ir::TileRole;
using ir::Type;
using ir::Value;
using ir::Variable;

namespace {

constexpr uint32_t kTileRows = ir::kLaneTile.m, kTileTokens = ir::kLaneTile.n;
// Of a tile of sums in shared memory: one more than its eight columns would put rows that lanes read together into the same banks.
constexpr uint32_t kSumStride = 12;

// The four words of eight neighbouring columns.
std::array<Value, 4> halves_of(const LaneColumns& columns, const std::array<Value, 8>& numbers) {
  const auto word = [&](uint32_t i) {
    const uint32_t first = i / 2 * 4 + (columns.interleaved() ? i % 2 : i % 2 * 2);
    return pack_limited(numbers[first], numbers[first + (columns.interleaved() ? 2 : 1)]);
  };
  return {word(0), word(1), word(2), word(3)};
}

// Of norm_by_lane: lanes of a group, and the most vectors of eight columns that each keeps in registers.
constexpr uint32_t kNormLanes = 512, kMaxHeldEights = 4;

// Numbers of the group's sums that are in shared memory at once.
uint32_t patch_size(const LaneGroup& group) {
  return group.row_subgroups * group.depth_subgroups * group.row_tiles * kTileRows * kSumStride;
}

class LaneProduct {
 public:
  LaneProduct(const LinearForm& form, const LaneGroup& group)
      : form_(form), group_(group), k_(name(), {.group_size = group.lanes(), .subgroup_size = ir::kLaneTileLanes}) {
    WICK_ASSERT(!form.experts && !form.extras.norm && (!form.gate || (form.weights == 1 && group.row_tiles == 2)));
    declare();
  }

  ir::Kernel build() {
    if (ranges_.size() == 1) {
      run(0);
    } else {
      for (uint32_t i = 0; i < ranges_.size(); ++i) {
        const Range& range = ranges_[i];
        const Value at = k_.group_id(0);
        k_.when((at >= range.first_group) & (at < range.end_group), [&] { run(i); });
      }
    }
    return k_.finish();
  }

 private:
  struct Range {
    Value rows, y_offset, first_group, end_group;
  };

  [[nodiscard]] std::string name() const {
    std::string result = form_.gate ? fmt::format("linear_lanes_{}_{}", to_string(*form_.gate), to_string(form_.dtype))
                                    : fmt::format("linear_lanes_{}", to_string(form_.dtype));
    result += fmt::format("_{}x{}_{}x{}", group_.row_tiles, group_.row_subgroups, group_.token_tiles, group_.depth_subgroups);
    if (group_.staged_quads > 0) result += fmt::format("_s{}", group_.staged_quads);
    if (form_.weights > 1) result += fmt::format("_w{}", form_.weights);
    return result + form_.extras.suffix();
  }
  static std::string numbered(const char* what, uint32_t i) { return i == 0 ? what : fmt::format("{}_{}", what, i + 1); }

  void declare() {
    weights_.emplace_back(k_, form_.dtype, form_.access, "w");
    if (form_.gate) weights_.emplace_back(k_, weights_[0], "up");
    for (uint32_t i = 1; i < form_.weights; ++i) weights_.emplace_back(k_, weights_[0], numbered("w", i));
    halves_ = k_.buffer("halves", Element::u32);
    for (uint32_t i = 0; form_.extras.bias && i < weights_.size(); ++i) bias_.push_back(k_.buffer(numbered("bias", i), Element::f32));
    if (form_.extras.residual) residual_ = k_.buffer("residual", Element::f32);
    for (uint32_t i = 0; i < form_.weights; ++i) y_.push_back(k_.output(numbered("y", i), Element::f32));
    chunks_ = k_.parameter("chunks", Type::u32);
    tokens_ = k_.parameter("tokens", Type::u32);
    const uint32_t rows = group_.rows(form_.gate.has_value());
    for (uint32_t i = 0; i < form_.weights; ++i) {
      const Value count = k_.parameter(numbered("rows", i), Type::u32), offset = k_.parameter(numbered("y_offset", i), Type::u32);
      const Value first = i == 0 ? k_.constant(0U) : ranges_.back().end_group;
      ranges_.push_back({count, offset, first, first + (count + (rows - 1)) / rows});
    }
    if (form_.extras.residual) residual_offset_ = k_.parameter("residual_offset", Type::u32);
    for (uint32_t i = 0; i < group_.row_tiles * group_.token_tiles; ++i) {
      sums_.push_back(k_.tile(TileRole::accumulator, Element::f32, kTileRows, kTileTokens));
    }
    left_ = k_.tile(TileRole::left, Element::f16, kTileRows, ir::kLaneTile.k);
    right_ = k_.tile(TileRole::right, Element::f16, ir::kLaneTile.k, kTileTokens);
    patch_ = k_.shared(Element::f32, patch_size(group_));
    if (group_.staged_quads > 0) staged_ = k_.shared(Element::u32, 2 * 4 * group_.staged_vectors());
  }

  // The weight whose rows a tile of rows has.
  [[nodiscard]] const LaneWeight& weight_of(uint32_t range, uint32_t tile) const { return weights_[form_.gate ? tile : range]; }

  // Of the weight that this group works on, the number of its block of rows.
  [[nodiscard]] Value block_of(uint32_t range) { return k_.group_id(0) - ranges_[range].first_group; }

  // The two rows of a tile that this lane reads; rows beyond the last are the last one again, as their results are not stored.
  [[nodiscard]] std::array<Value, 2> rows_of(uint32_t range, uint32_t tile) {
    const Value first = block_of(range) * group_.rows(form_.gate.has_value()) +
                        k_.subgroup_id() % group_.row_subgroups * (form_.gate ? kTileRows : kTileRows * group_.row_tiles);
    const Value row = first + k_.subgroup_lane() / 4U + (form_.gate ? 0 : tile * kTileRows), last = ranges_[range].rows - 1U;
    return {min(row, last), min(row + 8U, last)};
  }

  using Words = std::vector<Value>;
  // What the lane reads of a chunk: for each tile of rows its two rows.
  [[nodiscard]] std::vector<Words> read(uint32_t range, const Value& chunk) {
    std::vector<Words> all;
    for (uint32_t tile = 0; tile < group_.row_tiles; ++tile) {
      for (const Value& row : rows_of(range, tile)) all.push_back(weight_of(range, tile).read(row, chunk, k_.subgroup_lane() % 4U));
    }
    return all;
  }

  // Where a result is, of those of a tile of tokens, and whether it exists.
  struct Result {
    Value row, exists, place;
  };
  [[nodiscard]] Result result_at(uint32_t range, uint32_t token_tile, const Value& in_group, const Value& in_tile) {
    const Value row = block_of(range) * group_.rows(form_.gate.has_value()) + in_group;
    const Value token = k_.group_id(1) * group_.tokens() + token_tile * kTileTokens + in_tile;
    return {row, (row < ranges_[range].rows) & (token < tokens_), token * ranges_[range].rows + row};
  }

  // How many results of a tile of tokens a lane stores.
  [[nodiscard]] uint32_t results_of_lane() const {
    return (group_.rows(form_.gate.has_value()) * kTileTokens + group_.lanes() - 1) / group_.lanes();
  }

  // The residuals of a lane's results where they are few: on their way while it multiplies. With four tiles of tokens, that is slower
  // (q4_k, 32 tokens, a whole model on an H200: 5,840 and 6,000 tokens/s), with one and eight faster or equal.
  [[nodiscard]] Words read_residuals(uint32_t range) {
    constexpr uint32_t kMaxReadAhead = 8;
    Words read;
    const bool gains = group_.token_tiles == 1 || group_.token_tiles == 8;
    if (!residual_ || !gains || results_of_lane() * group_.token_tiles > kMaxReadAhead) return read;
    const uint32_t rows = group_.rows(form_.gate.has_value());
    for (uint32_t j = 0; j < group_.token_tiles; ++j) {
      for (uint32_t i = 0; i < results_of_lane(); ++i) {
        const Value e = k_.local_id() + i * group_.lanes();
        const Result at = result_at(range, j, e % rows, e / rows);
        read.push_back(residual_->load_if(at.exists & (e < rows * kTileTokens), residual_offset_ + at.place, 0.0F));
      }
    }
    return read;
  }

  void run(uint32_t range) {
    const Words residuals = read_residuals(range);
    for (const uint32_t sum : sums_) k_.tile_fill(sum, 0);
    const Value first = k_.subgroup_id() / group_.row_subgroups;
    const Value steps = chunks_ / group_.depth_subgroups;
    // What the next step multiplies is on its way while this one's is unpacked.
    std::vector<std::vector<Variable>> held;
    for (const Words& words : read(range, first)) {
      std::vector<Variable>& of_row = held.emplace_back();
      for (const Value& word : words) of_row.push_back(k_.variable(word));
    }
    if (group_.staged_quads > 0) {
      put_staged(0, read_staged(k_.constant(0U), 0));
      k_.barrier();
    }
    k_.loop(0, steps, 1, [&](const Value& step) {
      std::vector<Words> now;
      for (const std::vector<Variable>& row : held) now.emplace_back(row.begin(), row.end());
      const Value following = min(step + 1U, steps - 1U);
      const std::vector<Words> next = read(range, first + following * group_.depth_subgroups);
      std::vector<Words> rows;
      for (uint32_t i = 0; i < now.size(); ++i) rows.push_back(weight_of(range, i / 2).unpack(now[i], k_.subgroup_lane() % 4U));
      if (group_.staged_quads > 0) {
        multiply_staged(step, following, rows);
      } else {
        for (uint32_t quad = 0; quad < quads(); ++quad) multiply(quad, rows, read_tokens(first + step * group_.depth_subgroups, quad));
      }
      for (size_t row = 0; row < held.size(); ++row) {
        for (size_t i = 0; i < held[row].size(); ++i) held[row][i] = next[row][i];
      }
    });
    store(range, residuals);
  }

  [[nodiscard]] uint32_t quads() const { return weights_[0].columns().quads(); }
  // Where a quad of the activations of a tile of tokens is: 32 vectors, one of each lane.
  [[nodiscard]] Value vectors_at(const Value& token_tile, const Value& chunk, const Value& quad) {
    const Value tile = k_.group_id(1) * group_.token_tiles + token_tile;
    return ((tile * chunks_ + chunk) * quads() + quad) * ir::kLaneTileLanes;
  }

  [[nodiscard]] std::vector<ir::Vector> read_tokens(const Value& chunk, uint32_t quad) {
    std::vector<ir::Vector> tokens;
    for (uint32_t j = 0; j < group_.token_tiles; ++j) {
      tokens.push_back(halves_->load4((vectors_at(k_.constant(j), chunk, k_.constant(quad)) + k_.subgroup_lane()) * 4U));
    }
    return tokens;
  }

  // Of the activations of all tiles of tokens and of the chunks of a step, the part that this lane moves into shared memory. They are
  // there in the order of subgroups that share the columns, tiles of tokens, quads and lanes.
  [[nodiscard]] std::vector<ir::Vector> read_staged(const Value& step, uint32_t first_quad) {
    std::vector<ir::Vector> own;
    for (uint32_t i = 0; i < group_.staged_vectors() / group_.lanes(); ++i) {
      const Value e = k_.local_id() + i * group_.lanes(), behind = e / ir::kLaneTileLanes, tile = behind / group_.staged_quads;
      const Value chunk = step * group_.depth_subgroups + tile / group_.token_tiles;
      const Value at = vectors_at(tile % group_.token_tiles, chunk, first_quad + behind % group_.staged_quads);
      own.push_back(halves_->load4((at + e % ir::kLaneTileLanes) * 4U));
    }
    return own;
  }
  void put_staged(uint32_t half, const std::vector<ir::Vector>& own) {
    for (uint32_t i = 0; i < own.size(); ++i) {
      const Value place = k_.local_id() + i * group_.lanes() + half * group_.staged_vectors();
      staged_->store_late(place * 4U, own[i]);
    }
  }

  // What is in one half of the shared memory is multiplied while what comes next is on its way to the other.
  void multiply_staged(const Value& step, const Value& following, const std::vector<Words>& rows) {
    const uint32_t stages = quads() / group_.staged_quads;
    const Value slice = k_.subgroup_id() / group_.row_subgroups * (group_.token_tiles * group_.staged_quads);
    for (uint32_t stage = 0; stage < stages; ++stage) {
      const bool last = stage + 1 == stages;
      put_staged((stage + 1) % 2, read_staged(last ? following : step, last ? 0 : (stage + 1) * group_.staged_quads));
      for (uint32_t quad = 0; quad < group_.staged_quads; ++quad) {
        std::vector<ir::Vector> tokens;
        for (uint32_t j = 0; j < group_.token_tiles; ++j) {
          const Value vectors = (slice + (j * group_.staged_quads + quad)) * ir::kLaneTileLanes + stage % 2 * group_.staged_vectors();
          tokens.push_back(staged_->load4((vectors + k_.subgroup_lane()) * 4U));
        }
        multiply(stage * group_.staged_quads + quad, rows, tokens);
      }
      k_.barrier();
    }
  }

  void multiply(uint32_t quad, const std::vector<Words>& rows, const std::vector<ir::Vector>& tokens) {
    for (uint32_t pair = 0; pair < 4; pair += 2) {
      const uint32_t at = 4 * quad + pair;
      for (uint32_t i = 0; i < group_.row_tiles; ++i) {
        const Words &upper = rows[2 * i], &lower = rows[2 * i + 1];
        k_.tile_set(left_, {upper[at], lower[at], upper[at + 1], lower[at + 1]});
        for (uint32_t j = 0; j < group_.token_tiles; ++j) {
          k_.tile_set(right_, {tokens[j][pair], tokens[j][pair + 1]});
          k_.tile_multiply(sums_[i * group_.token_tiles + j], left_, right_);
        }
      }
    }
  }

  // The sum of a result over the subgroups that share its columns.
  [[nodiscard]] Value sum_at(const Value& subgroup, const Value& tile, const Value& row, const Value& token) const {
    const auto part = [&](uint32_t i) {
      const Value place = (subgroup + i * group_.row_subgroups) * group_.row_tiles + tile;
      return patch_->load((place * kTileRows + row) * kSumStride + token);
    };
    Value sum = part(0);
    for (uint32_t i = 1; i < group_.depth_subgroups; ++i) sum = sum + part(i);
    return sum;
  }

  // One tile of tokens after the other, through shared memory: neighbouring lanes store neighbouring rows.
  void store(uint32_t range, const Words& residuals) {
    const uint32_t rows = group_.rows(form_.gate.has_value());
    for (uint32_t j = 0; j < group_.token_tiles; ++j) {
      for (uint32_t i = 0; i < group_.row_tiles; ++i) {
        const Value first = (k_.subgroup_id() * group_.row_tiles + i) * (kTileRows * kSumStride);
        k_.tile_store(sums_[i * group_.token_tiles + j], *patch_, first, k_.constant(kSumStride));
      }
      k_.barrier();
      if (residuals.empty()) {
        k_.loop(k_.local_id(), rows * kTileTokens, group_.lanes(),
                [&](const Value& e) { store_result(range, j, e % rows, e / rows, std::nullopt); });
      }
      for (uint32_t i = 0; i < results_of_lane() && !residuals.empty(); ++i) {
        const Value e = k_.local_id() + i * group_.lanes();
        k_.when(e < rows * kTileTokens, [&] { store_result(range, j, e % rows, e / rows, residuals[j * results_of_lane() + i]); });
      }
      k_.barrier();
    }
  }

  void store_result(uint32_t range, uint32_t token_tile, const Value& in_group, const Value& in_tile,
                    const std::optional<Value>& residual) {
    const Range& of = ranges_[range];
    const Result at = result_at(range, token_tile, in_group, in_tile);
    const Value in_rows = in_group % kTileRows;
    const auto product = [&](uint32_t weight, const Value& subgroup, const Value& tile) {
      const Value sum = sum_at(subgroup, tile, in_rows, in_tile);
      return bias_.empty() ? sum : sum + bias_[weight].load(min(at.row, of.rows - 1U));
    };
    Value result;
    if (form_.gate) {
      const Value subgroup = in_group / kTileRows;
      result = gate_of(*form_.gate, product(0, subgroup, k_.constant(0U)), product(1, subgroup, k_.constant(1U)));
    } else {
      const Value tile = in_group / kTileRows;
      result = product(range, tile / group_.row_tiles, tile % group_.row_tiles);
    }
    if (residual_) result = result + (residual ? *residual : residual_->load_if(at.exists, residual_offset_ + at.place, 0.0F));
    y_[range].store_if(at.exists, of.y_offset + at.place, result);
  }

  LinearForm form_;
  LaneGroup group_;
  KernelBuilder k_;
  std::vector<LaneWeight> weights_;
  std::optional<Memory> halves_, residual_, patch_, staged_;
  std::vector<Memory> bias_, y_;
  Value chunks_, tokens_, residual_offset_;
  std::vector<Range> ranges_;
  std::vector<uint32_t> sums_;
  uint32_t left_ = 0, right_ = 0;
};

}  // namespace

uint64_t LaneGroup::shared_bytes() const { return patch_size(*this) * sizeof(float) + uint64_t{2 * 16} * staged_vectors(); }

uint32_t staged_quads_of(const LaneGroup& group, const LaneColumns& columns, const DeviceCaps& caps) {
  constexpr uint32_t kEnough = 2;  // for what lies between two barriers
  LaneGroup staged = group;
  uint32_t quads = 0;
  for (staged.staged_quads = 1; columns.quads() % (2 * staged.staged_quads) == 0 && quads < kEnough; staged.staged_quads *= 2) {
    if (staged.staged_vectors() % staged.lanes() == 0 && staged.shared_bytes() <= caps.max_shared_bytes) quads = staged.staged_quads;
  }
  return quads;
}

namespace {

constexpr uint32_t kSubgroups = 8;  // of a group

int64_t groups_of(const LaneGroup& group, int64_t rows, int64_t tokens, bool gated) {
  const int64_t in_group = group.rows(gated), blocks = (tokens + group.tokens() - 1) / group.tokens();
  return (rows + in_group - 1) / in_group * blocks;
}
void share_depth(LaneGroup& group, int64_t chunks) {
  for (group.depth_subgroups = kSubgroups / group.row_subgroups; chunks % group.depth_subgroups != 0;) group.depth_subgroups /= 2;
}

// Of a gated product with activations in shared memory: as many rows as leave groups for most of the device's processors.
std::optional<LaneGroup> staged_group_of(LaneGroup group, int64_t rows, int64_t tokens, const LaneColumns& columns, int64_t chunks,
                                         const DeviceCaps& caps) {
  group.row_tiles = 2;
  std::optional<LaneGroup> staged;
  for (group.row_subgroups = kSubgroups; group.row_subgroups > 0; group.row_subgroups /= 2) {
    share_depth(group, chunks);
    group.staged_quads = staged_quads_of(group, columns, caps);
    if (group.staged_quads == 0) continue;
    staged = group;
    if (groups_of(group, rows, tokens, true) * 10 >= int64_t{caps.compute_units} * 7) break;
  }
  return staged;
}

}  // namespace

std::optional<LaneGroup> lane_group_of(const LinearForm& form, int64_t rows, int64_t columns, int64_t tokens, const DeviceCaps& caps) {
  const std::optional<LaneColumns> order = LaneColumns::of(form.dtype, form.access);
  const bool able = ir::has_lane_tiles(caps) && caps.max_subgroup_size == static_cast<int>(ir::kLaneTileLanes);
  if (!able || !order || form.experts || rows == 0 || columns == 0 || columns % order->chunk() != 0) return std::nullopt;
  const bool gated = form.gate.has_value();
  const int64_t chunks = columns / order->chunk();
  if (caps.max_group_size < kSubgroups * ir::kLaneTileLanes) return std::nullopt;
  LaneGroup group;
  while (group.token_tiles < 8 && group.tokens() < tokens) group.token_tiles *= 2;
  // Activations in shared memory pay for gate and up of Q4_K (an 8B model with 32 streams on an H200: 6,740 tokens/s, 5,990 without); the
  // smaller products lose by the barriers, and so does Q8_0.
  if (gated && form.dtype == DType::q4_k && group.token_tiles >= 4) {
    if (const auto staged = staged_group_of(group, rows, tokens, *order, chunks, caps)) return staged;
  }
  // Two matrices in one subgroup take more registers than that saves of activations (28,672 rows of q4_k with 16 and 32 tokens, on an H200:
  // 40.6 and 61.8 µs, of two apart 35.7 and 51.9), but for the fewest tokens and for those that need two tiles of rows anyway.
  if (gated && (group.token_tiles == 2 || group.token_tiles == 4)) return std::nullopt;
  group.row_tiles = gated || group.token_tiles == 8 ? 2 : 1;
  // More rows in a group read the same activations, as long as there are groups for every place of the device several times.
  const bool wide = form.dtype == DType::q8_0 && group.token_tiles == 4;
  const int64_t places = (group.row_tiles == 2 || wide ? 3 : 8) * int64_t{caps.compute_units} / 2;
  group.row_subgroups = wide ? kSubgroups : group.token_tiles == 1 && !gated ? 2 : 4;
  while (group.row_subgroups > 1 && groups_of(group, rows, tokens, gated) < places) group.row_subgroups /= 2;
  share_depth(group, chunks);
  return group;
}

ir::Kernel halves_by_lane(const LaneColumns& columns, const DeviceCaps& caps) {
  KernelBuilder k(fmt::format("halves_by_lane_{}", columns.number()), {.group_size = group_options(caps, 128).group_size});
  const Memory x = k.buffer("x", Element::f32), halves = k.output("halves", Element::u32);
  const Value x_offset = k.parameter("x_offset", Type::u32), width = k.parameter("columns", Type::u32),
              tokens = k.parameter("tokens", Type::u32), count = k.parameter("count", Type::u32);
  const Value i = global_lane(k), lane = i % ir::kLaneTileLanes, quad = i / ir::kLaneTileLanes % columns.quads();
  const Value chunks = width / columns.chunk(), behind = i / (ir::kLaneTileLanes * columns.quads());
  const Value token = behind / chunks * kTileTokens + lane / 4U;
  const Value column = behind % chunks * columns.chunk() + columns.first(lane % 4U, quad);
  k.when(i < count, [&] {
    const Value place = x_offset + token * width + column, exists = token < tokens;
    const ir::Vector low = x.load4_if(exists, place, 0.0F), high = x.load4_if(exists, place + 4U, 0.0F);
    const std::array<Value, 4> words = halves_of(columns, {low[0], low[1], low[2], low[3], high[0], high[1], high[2], high[3]});
    halves.store(i * 4U, {words[0], words[1], words[2], words[3]});
  });
  return k.finish();
}

uint32_t norm_by_lane_held(int64_t columns, const DeviceCaps& caps) {
  const int64_t eights = int64_t{8} * group_options(caps, kNormLanes).group_size, held = (columns + eights - 1) / eights;
  return held <= kMaxHeldEights ? std::bit_ceil(static_cast<uint32_t>(held)) : 0;
}

ir::Kernel norm_by_lane(std::span<const LaneColumns> orders, uint32_t held, const DeviceCaps& caps) {
  const ir::KernelOptions options = group_options(caps, kNormLanes);
  std::string name = fmt::format("norm_by_lane_held{}", held);
  for (const LaneColumns& order : orders) name += fmt::format("_{}", order.number());
  KernelBuilder k(name + subgroup_suffix(options), options);
  const Memory x = k.buffer("x", Element::f32), weight = k.buffer("weight", Element::f32);
  std::vector<Memory> halves;
  for (size_t i = 0; i < orders.size(); ++i) halves.push_back(k.output(i == 0 ? "halves" : fmt::format("halves_{}", i + 1), Element::u32));
  const Value x_offset = k.parameter("x_offset", Type::u32), weight_offset = k.parameter("weight_offset", Type::u32);
  const Value width = k.parameter("columns", Type::u32), tokens = k.parameter("tokens", Type::u32);
  const Value epsilon = k.parameter("epsilon", Type::f32);
  const Value token = k.group_id(0), exists = token < tokens;
  using Eight = std::array<Value, 8>;
  const auto eight = [](const Memory& memory, const Value& gate, const Value& place) {
    const ir::Vector low = memory.load4_if(gate, place, 0.0F), high = memory.load4_if(gate, place + 4U, 0.0F);
    return Eight{low[0], low[1], low[2], low[3], high[0], high[1], high[2], high[3]};
  };
  std::vector<Value> units, here;
  for (uint32_t i = 0; i < held; ++i) {
    units.push_back(k.local_id() + i * options.group_size);
    here.push_back(units[i] < width / 8U);
  }
  const auto column_of = [&](const LaneColumns& order, const Value& unit) {
    const uint32_t eights = 4 * order.quads();
    return unit / eights * order.chunk() + order.first(unit % 4U, unit / 4U % order.quads());
  };
  const auto read = [&](const LaneColumns& order, uint32_t i) {
    return eight(x, exists & here[i], x_offset + token * width + column_of(order, units[i]));
  };
  std::vector<Eight> kept;
  Value squares = k.constant(0.0F);
  for (uint32_t i = 0; i < held; ++i) {
    kept.push_back(read(orders[0], i));
    for (const Value& number : kept[i]) squares = squares + number * number;
  }
  GroupReduce group(k);
  const Value scale = 1.0F / sqrt(group(ir::Reduce::add, squares) / cast(Type::f32, width) + epsilon);
  for (size_t order = 0; order < orders.size(); ++order) {
    for (uint32_t i = 0; i < held; ++i) {
      k.when(here[i], [&] {
        const Eight numbers = order == 0 ? kept[i] : read(orders[order], i);
        const Eight factors = eight(weight, here[i], weight_offset + column_of(orders[order], units[i]));
        Eight normed;
        for (uint32_t j = 0; j < 8; ++j) normed[j] = numbers[j] * scale * factors[j];
        const std::array<Value, 4> words = halves_of(orders[order], normed);
        const Value vector =
            (token / kTileTokens * (width / 32U) + units[i] / 4U) * ir::kLaneTileLanes + token % kTileTokens * 4U + units[i] % 4U;
        halves[order].store(vector * 4U, {words[0], words[1], words[2], words[3]});
      });
    }
  }
  return k.finish();
}

ir::Kernel linear_lanes(const LinearForm& form, const LaneGroup& group) { return LaneProduct(form, group).build(); }

}  // namespace wick::kernels
