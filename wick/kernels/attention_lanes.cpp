#include "wick/kernels/attention_lanes.h"

#include <fmt/format.h>

#include <array>
#include <numbers>
#include <utility>
#include <vector>

#include "wick/base/fail.h"
#include "wick/kernels/attention_arguments.h"
#include "wick/kernels/numbers.h"
#include "wick/kernels/tile_product.h"

namespace wick::kernels {

using namespace ir;

namespace {

constexpr auto kBitsPerNat = std::numbers::log2e_v<float>, kNatsPerBit = std::numbers::ln2_v<float>;
constexpr uint32_t kQueryRows = kLaneTile.m, kTileKeys = kLaneTile.n, kKeyTiles = AttentionLanes::kStep / kTileKeys;

// Words from a position's row to the next in shared memory. Eight lanes read from it together: of keys two neighbouring rows, four vectors
// each; of values four rows, every second one, two vectors each. So all of them meet other banks.
constexpr uint32_t key_stride(uint32_t width) { return width / 2 + 16; }
constexpr uint32_t value_stride(uint32_t width) { return width / 2 + 4; }
// Of keys and values, of which there are two halves.
constexpr uint32_t staged_words(uint32_t width) { return AttentionLanes::kStep * (key_stride(width) + value_stride(width)); }

// The kernel in its making. Lane l has, with g = l / 4 and t = l % 4, of the scores of a tile rows g and g + 8 and keys 2t and 2t + 1,
// which is what it has of the weights as a left operand too. The order of a key's elements in the products with queries is free: a lane
// takes eight neighbours. So is that of the results' columns: tile 8h + i has of each of eight lanes g element 8g + i of the h-th 64.
class AttentionByLanes {
 public:
  AttentionByLanes(const AttentionForm& form, uint32_t width, const AttentionLanes& lanes)
      : form_(form),
        lanes_(lanes),
        width_(width),
        k_(fmt::format("attention_by_lanes_{}_w{}_{}x{}{}{}", to_string(form.cache), width, lanes.row_subgroups, lanes.key_subgroups,
                       lanes.staged ? "_staged" : "", attention_suffix(form)),
           {.group_size = lanes.lanes(), .subgroup_size = kLaneTileLanes}),
        q_(k_.buffer("q", Element::f32)),
        key_units_(k_, form.cache, form.access, "k"),
        value_units_(k_, key_units_, "v"),
        a_(k_, form),
        result_(form.halves && !form.splits ? DType::f16 : DType::f32),
        out_(k_.output("out", quad_element_of(result_))),
        row_end_(k_, form.sinks && !form.splits, form.logarithms && !form.splits) {
    for (uint32_t i = 0; i < 2; ++i) {
      largest_.push_back(k_.variable(k_.lowest()));
      sum_.push_back(k_.variable(0.0F));
    }
  }

  Kernel make() {
    // The groups with the most positions begin first.
    a_.find_block(k_.group_count(0) - 1U - k_.group_id(0), lanes_.rows(), lanes_.step());
    g_ = k_.subgroup_lane() / 4U;
    t_ = k_.subgroup_lane() % 4U;
    key_subgroup_ = k_.subgroup_id() / lanes_.row_subgroups;
    first_row_ = a_.first_row + k_.subgroup_id() % lanes_.row_subgroups * kQueryRows;
    for (uint32_t i = 0; i < 2; ++i) {
      rows_.push_back(first_row_ + g_ + 8U * i);
      seen_.push_back(a_.seen_by(rows_[i]));
    }
    for (uint32_t column = 0; column < width_; column += kTileKeys) {
      output_.push_back(k_.tile(TileRole::accumulator, Element::f32, kQueryRows, kTileKeys));
      k_.tile_fill(output_.back(), 0);
    }
    for (uint32_t i = 0; i < kKeyTiles; ++i) scores_.push_back(k_.tile(TileRole::accumulator, Element::f32, kQueryRows, kTileKeys));
    right_ = k_.tile(TileRole::right, Element::f16, kLaneTile.k, kTileKeys);
    left_ = k_.tile(TileRole::left, Element::f16, kQueryRows, kLaneTile.k);
    factors_ = k_.tile(TileRole::accumulator, Element::f32, kQueryRows, kTileKeys);
    load_queries();
    // A block of the cache holds all positions of a step.
    const Value first_step = a_.begin - a_.begin % AttentionLanes::kStep;
    if (lanes_.staged) {
      WICK_ASSERT(lanes_.key_subgroups == 1);
      staged_ = k_.shared(Element::u32, 2 * staged_words(width_));
      k_.when(first_step < a_.end, [&] { stage(first_step, k_.constant(0U)); });
      k_.barrier();
    }
    k_.loop(first_step, a_.end, lanes_.step(), [&](const Value& first) {
      if (!lanes_.staged) return add_positions(first);
      half_ = (first - first_step) / lanes_.step() % 2U * staged_words(width_);
      const Value next = first + lanes_.step();
      k_.when(next < a_.end, [&] { stage(next, staged_words(width_) - half_); });
      add_positions(first);
      k_.barrier();
    });
    for (uint32_t i = 0; i < 2; ++i) {
      for (const uint32_t mask : {1U, 2U}) sum_[i] = sum_[i] + subgroup_shuffle_xor(sum_[i], mask);
    }
    lanes_.key_subgroups == 1 ? store() : join();
    return k_.finish();
  }

 private:
  using Words = std::array<Value, 4>;

  static Words words_of(const ir::Vector& four) { return {four[0], four[1], four[2], four[3]}; }

  // The rows' queries times scale · log2 e, as left operands; rows beyond the last repeat it.
  void load_queries() {
    const Value scale = a_.scale * kBitsPerNat;
    std::vector<std::array<Words, 2>> quads;
    for (uint32_t quad = 0; quad < width_ / 32; ++quad) {
      std::array<Words, 2>& words = quads.emplace_back();
      for (uint32_t i = 0; i < 2; ++i) {
        const Value place = a_.q_offset + a_.output_row(rows_[i]) * width_ + quad * 32U + t_ * 8U;
        const ir::Vector low = q_.load4(place), high = q_.load4(place + 4U);
        const auto word = [&](const ir::Vector& four, uint32_t at) { return pack_limited(four[at] * scale, four[at + 1] * scale); };
        words[i] = {word(low, 0), word(low, 2), word(high, 0), word(high, 2)};
      }
    }
    for (const std::array<Words, 2>& words : quads) {
      for (uint32_t pair = 0; pair < 4; pair += 2) {
        queries_.push_back(k_.tile(TileRole::left, Element::f16, kQueryRows, kLaneTile.k));
        k_.tile_set(queries_.back(), {words[0][pair], words[1][pair], words[0][pair + 1], words[1][pair + 1]});
      }
    }
  }

  // Brings a step's keys and values on their way into a half of the shared memory.
  void stage(const Value& begin, const Value& half) {
    anchor_ = min(begin, a_.end - 1U);
    slot_ = a_.slot(anchor_);
    const uint32_t vectors = width_ / 8;  // of a position's row
    for (uint32_t i = 0; i < AttentionLanes::kStep * vectors / lanes_.lanes(); ++i) {
      const Value e = k_.local_id() + i * lanes_.lanes(), row = e / vectors, word = e % vectors * 4U;
      const Value position = begin + row;
      staged_->store_late(half + row * key_stride(width_) + word, key_units_.words().load4(row_of(a_.keys, position) + word));
      staged_->store_late(half + (row * value_stride(width_) + word) + AttentionLanes::kStep * key_stride(width_),
                          value_units_.words().load4(row_of(a_.values, position) + word));
    }
  }

  // Four words of the row of the step's position.
  [[nodiscard]] Words key_words(const Value& begin, const Value& in_step, const Value& word) const {
    if (lanes_.staged) return words_of(staged_->load4(half_ + in_step * key_stride(width_) + word));
    return words_of(key_units_.words().load4(row_of(a_.keys, begin + in_step) + word));
  }
  [[nodiscard]] Words value_words(const Value& begin, const Value& in_step, const Value& word) const {
    if (lanes_.staged) {
      return words_of(staged_->load4(half_ + (in_step * value_stride(width_) + word) + AttentionLanes::kStep * key_stride(width_)));
    }
    return words_of(value_units_.words().load4(row_of(a_.values, begin + in_step) + word));
  }

  // Where the head's row of a position lies, in words. Positions beyond the last are the last one again.
  [[nodiscard]] Value row_of(const CacheView& view, const Value& position) const {
    return view.place(a_.kv_head(), slot_ + (min(position, a_.end - 1U) - anchor_)) / 2U;
  }

  void add_positions(const Value& first) {
    const Value begin = first + key_subgroup_ * AttentionLanes::kStep;
    if (!lanes_.staged) {
      anchor_ = min(begin, a_.end - 1U);
      slot_ = a_.slot(anchor_);
    }
    score(begin);
    // On their way while weights are computed.
    std::vector<Words> values;
    if (!lanes_.staged) values = read_values(begin, 0);
    const std::vector<std::array<Value, 2>> weights = weigh(begin);
    if (lanes_.staged) values = read_values(begin, 0);
    add_values(values, weights, 0);
    values = read_values(begin, 2 * kTileKeys);
    add_values(values, weights, 2);
  }

  void score(const Value& begin) {
    for (uint32_t tile = 0; tile < kKeyTiles; tile += 2) {
      std::vector<Words> keys;
      for (uint32_t i = 0; i < 2; ++i) {
        const Value row = g_ + (tile + i) * kTileKeys;
        for (uint32_t quad = 0; quad < width_ / 32; ++quad) keys.push_back(key_words(begin, row, t_ * 4U + quad * 16U));
      }
      for (uint32_t i = 0; i < 2; ++i) {
        k_.tile_fill(scores_[tile + i], 0);
        for (uint32_t step = 0; step < width_ / kLaneTile.k; ++step) {
          const Words& words = keys[i * (width_ / 32) + step / 2];
          k_.tile_set(right_, {words[step % 2 * 2], words[step % 2 * 2 + 1]});
          k_.tile_multiply(scores_[tile + i], queries_[step], right_);
        }
      }
    }
  }

  // Online softmax of the lane's two rows, in powers of two: for each tile of keys the words of its two weights of each row.
  std::vector<std::array<Value, 2>> weigh(const Value& begin) {
    std::vector<std::array<Value, 2>> words(kKeyTiles);
    std::array<Value, 2> factor;
    for (uint32_t i = 0; i < 2; ++i) {
      std::vector<Value> scores, exist;
      Value largest = largest_[i];
      for (uint32_t e = 0; e < 2 * kKeyTiles; ++e) {
        const Value position = begin + e / 2 * kTileKeys + t_ * 2U + e % 2;
        const Variable score = k_.variable(0.0F);
        k_.tile_get(score, scores_[e / 2], 2 * i + e % 2);
        const Value adjusted = a_.adjusted(score, rows_[i], min(position, a_.end - 1U), kBitsPerNat);
        exist.push_back(seen_[i].holds(position));
        scores.push_back(select(exist[e], adjusted, k_.lowest()));
        largest = max(largest, scores[e]);
      }
      for (const uint32_t mask : {1U, 2U}) largest = max(largest, subgroup_shuffle_xor(largest, mask));
      factor[i] = ir::native_exp2(largest_[i] - largest);
      Value sum = sum_[i] * factor[i];
      for (uint32_t e = 0; e < 2 * kKeyTiles; e += 2) {
        const auto weight = [&](uint32_t at) { return select(exist[at], ir::native_exp2(scores[at] - largest), 0.0F); };
        const Value low = weight(e), high = weight(e + 1);
        sum = sum + (low + high);
        words[e / 2][i] = pack_halves(low, high);
      }
      sum_[i] = sum;
      largest_[i] = largest;
    }
    scale_output(factor);
    return words;
  }

  void scale_output(const std::array<Value, 2>& factor) {
    k_.tile_set(factors_, {factor[0], factor[0], factor[1], factor[1]});
    for (const uint32_t sum : output_) k_.tile_scale(sum, factors_);
  }

  // Of two tiles of keys from a position of the step on the lane's two rows of each, of which it takes eight neighbours of every 64
  // elements.
  std::vector<Words> read_values(const Value& begin, uint32_t from) {
    std::vector<Words> words;
    for (uint32_t h = 0; h < width_ / 64; ++h) {
      for (const uint32_t key : {0U, 1U, kTileKeys, kTileKeys + 1}) {
        words.push_back(value_words(begin, t_ * 2U + (from + key), g_ * 4U + h * 32U));
      }
    }
    return words;
  }

  void add_values(const std::vector<Words>& values, const std::vector<std::array<Value, 2>>& weights, uint32_t tile) {
    k_.tile_set(left_, {weights[tile][0], weights[tile][1], weights[tile + 1][0], weights[tile + 1][1]});
    for (uint32_t h = 0; h < width_ / 64; ++h) {
      for (uint32_t i = 0; i < 8; ++i) {
        const auto pair = [&](uint32_t row) {
          const Value &low = values[4 * h + row][i / 2], &high = values[4 * h + row + 1][i / 2];
          return i % 2 == 0 ? (low & 0xffffU) | (high << 16) : (low >> 16) | (high & 0xffff0000U);
        };
        k_.tile_set(right_, {pair(0), pair(2)});
        k_.tile_multiply(output_[8 * h + i], left_, right_);
      }
    }
  }

  // The results of a row, from the sums of the lane that has them.
  void store() {
    for (uint32_t i = 0; i < 2; ++i) {
      const Value exists = rows_[i] < a_.rows, at = a_.written_row(rows_[i]);
      std::optional<RowEnd::Shares> shares;
      if (!form_.splits) shares = row_end_.shares(largest_[i] * kNatsPerBit, sum_[i], a_.head_of(rows_[i]));
      std::vector<Value> results;
      for (uint32_t half = 0; half < 2; ++half) {
        for (const uint32_t tile : output_) {
          const Variable result = k_.variable(0.0F);
          k_.tile_get(result, tile, 2 * i + half);
          results.push_back(shares ? shares->of(result) : Value(result));
        }
      }
      k_.when(exists, [&] {
        for (uint32_t e = 0; e < results.size(); e += 4) {
          const uint32_t half = e / static_cast<uint32_t>(output_.size()), tile = e % static_cast<uint32_t>(output_.size());
          const Value column = (t_ * 2U + half) * 8U + (tile / 8 * 64 + tile % 8);
          store_columns(at, column, {results[e], results[e + 1], results[e + 2], results[e + 3]});
        }
      });
      store_end(exists & (t_ == 0U), at, largest_[i], sum_[i]);
    }
  }

  // Four results of a row, from that column on.
  void store_columns(const Value& at, const Value& column, const Quad& results) {
    const Value first = a_.out_offset + at * width_ + column;
    if (result_ != DType::f32) return store_quad(out_, result_, first / 4U, results);
    out_.store(first, {results[0], results[1], results[2], results[3]});
  }

  void store_end(const Value& gate, const Value& at, const Value& largest, const Value& sum) {
    row_end_.store_logarithm(gate, at);
    if (!form_.splits) return;
    k_.when(gate, [&] {
      out_[a_.stats_offset + at * 2U] = select(sum > 0, largest * kNatsPerBit, k_.lowest());
      out_[a_.stats_offset + at * 2U + 1U] = sum;
    });
  }

  // Puts together what the subgroups have of the same rows, through shared memory: sums lie there tile by tile.
  void join() {
    WICK_ASSERT(lanes_.row_subgroups == 1);
    const uint32_t stride = width_ + 8, subgroups = lanes_.key_subgroups;
    const Memory sums = k_.shared(Element::f32, subgroups * kQueryRows * stride),
                 stats = k_.shared(Element::f32, subgroups * kQueryRows * 2);
    const auto stat = [&](const Value& subgroup, const Value& row) { return (subgroup * kQueryRows + row) * 2U; };
    for (uint32_t i = 0; i < 2; ++i) {
      k_.when(t_ == 0U, [&] {
        stats[stat(key_subgroup_, g_ + 8U * i)] = largest_[i];
        stats[stat(key_subgroup_, g_ + 8U * i) + 1U] = sum_[i];
      });
    }
    for (uint32_t tile = 0; tile < output_.size(); ++tile) {
      k_.tile_store(output_[tile], sums, key_subgroup_ * (kQueryRows * stride) + tile * kTileKeys, k_.constant(stride));
    }
    k_.barrier();
    const uint32_t quads = width_ / 4;
    const Value here = select(a_.first_row < a_.rows, min(a_.rows - a_.first_row, kQueryRows), 0U);
    k_.loop(k_.local_id(), here * quads, lanes_.lanes(), [&](const Value& e) {
      const Value in_tile = e / quads, column = e % quads * 4U, row = a_.first_row + in_tile;
      std::vector<Value> parts;
      Value largest = stats[stat(k_.constant(0U), in_tile)];
      for (uint32_t s = 1; s < subgroups; ++s) largest = max(largest, stats[stat(k_.constant(s), in_tile)]);
      Value total = k_.constant(0.0F);
      Quad results{total, total, total, total};
      // Of tile 8h + i column n is element 8n + i of the h-th 64.
      const Value place = column / 64U * 64U + column % 8U * 8U + column / 8U % 8U;
      for (uint32_t s = 0; s < subgroups; ++s) {
        const Value factor = ir::native_exp2(stats[stat(k_.constant(s), in_tile)] - largest);
        total = fma(stats[stat(k_.constant(s), in_tile) + 1U], factor, total);
        const Value first = (s * kQueryRows + in_tile) * stride + place;
        for (uint32_t i = 0; i < 4; ++i) results[i] = fma(sums[first + 8U * i], factor, results[i]);
      }
      const Value at = a_.written_row(row);
      if (!form_.splits) {
        const RowEnd::Shares shares = row_end_.shares(largest * kNatsPerBit, total, a_.head_of(row));
        for (Value& result : results) result = shares.of(result);
      }
      store_columns(at, column, results);
      store_end(column == 0U, at, largest, total);
    });
  }

  AttentionForm form_;
  AttentionLanes lanes_;
  uint32_t width_;
  KernelBuilder k_;
  Memory q_;
  UnitReader key_units_, value_units_;
  AttentionArguments a_;
  DType result_;
  Memory out_;
  RowEnd row_end_;
  std::vector<Variable> largest_, sum_;  // of the lane's two rows; its share of the sum
  std::optional<Memory> staged_;
  Value half_;  // of the shared memory, in which this step's are
  Value g_, t_, key_subgroup_, first_row_, anchor_, slot_;
  std::vector<Value> rows_;
  std::vector<AttentionArguments::Seen> seen_;
  std::vector<uint32_t> output_, scores_, queries_;
  uint32_t left_ = 0, right_ = 0, factors_ = 0;
};

}  // namespace

std::optional<AttentionLanes> attention_lanes_of(const AttentionForm& form, int64_t width, int64_t block_size, int64_t rows,
                                                 int64_t positions, const DeviceCaps& caps) {
  const bool able = ir::has_lane_tiles(caps) && caps.max_subgroup_size == static_cast<int>(kLaneTileLanes);
  if (!able || form.cache != DType::f16 || form.access != RowAccess::vectors || form.fixed) return std::nullopt;
  if ((width != 64 && width != 128) || (form.paged && block_size % AttentionLanes::kStep != 0)) return std::nullopt;
  // A few positions leave groups of more rows fewer than the device has room for (a prompt of 512 tokens on an H200: 26,800 and 25,500
  // tokens/s with four and eight subgroups, of 2,048 tokens in F16 34,650 and 35,050).
  constexpr int64_t kFewRows = kQueryRows, kFewPositions = 1024;
  constexpr uint32_t kSubgroups = 4;
  AttentionLanes lanes{1, kSubgroups};
  if (rows > kFewRows) lanes = {positions > kFewPositions ? 2 * kSubgroups : kSubgroups, 1, true};
  const uint64_t shared = lanes.staged ? uint64_t{2 * sizeof(uint32_t)} * staged_words(static_cast<uint32_t>(width)) : 0;
  return lanes.lanes() <= caps.max_group_size && shared <= caps.max_shared_bytes ? std::optional(lanes) : std::nullopt;
}

Kernel attention_by_lanes(const AttentionForm& form, uint32_t width, const AttentionLanes& lanes) {
  return AttentionByLanes(form, width, lanes).make();
}

}  // namespace wick::kernels
