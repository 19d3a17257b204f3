#include "wick/kernels/attention_tiles.h"

#include <fmt/format.h>

#include <memory>
#include <numbers>
#include <vector>

#include "wick/kernels/attention_arguments.h"
#include "wick/kernels/tile_product.h"

namespace wick::kernels {

using namespace ir;

namespace {

constexpr auto kLog2E = std::numbers::log2e_v<float>, kLn2 = std::numbers::ln2_v<float>;
constexpr uint32_t kQuad = 4;  // positions that a lane takes one after the other: so the lanes of two rows meet other banks

// What the group shares. The products are Sᵀ = K Qᵀ and O += P V: so keys and values lie as in the cache, and queries are transposed, once.
struct SharedShapes {
  SliceShape queries, cache, weights;    // of f16: Qᵀ; a block of K, then of V; P
  uint32_t score_stride, factor_stride;  // of f32: Sᵀ, a row for each position; factors of the rows of O

  SharedShapes(const AttentionTiles& tiles, uint32_t width)
      : queries{width, tiles.rows() / 2},
        cache{kAttentionKeys, width / 2},
        weights{tiles.rows(), kAttentionKeys / 2},
        score_stride(tiles.rows() + 4),
        factor_stride(tiles.tile.n + 4) {}
  [[nodiscard]] uint64_t bytes() const {
    const uint64_t floats = uint64_t{kAttentionKeys} * score_stride + uint64_t{weights.rows} * factor_stride;
    return sizeof(uint32_t) * (uint64_t{queries.size()} + cache.size() + weights.size() + floats);
  }
};

// The kernel in its making.
class TiledAttention {
 public:
  TiledAttention(const AttentionForm& form, uint32_t width, const AttentionTiles& tiles)
      : form_(form),
        tiles_(tiles),
        tile_(tiles.tile),
        width_(width),
        shapes_(tiles, width),
        k_(fmt::format("attention_tiles_{}_w{}_{}x{}{}", to_string(form.cache), width, tiles.rows(), kAttentionKeys,
                       attention_suffix(form)),
           {.group_size = tiles.lanes(), .subgroup_size = tiles.subgroup_size}),
        q_(k_.buffer("q", Element::f32)),
        key_units_(k_, form.cache, form.access, "k"),
        value_units_(k_, key_units_, "v"),
        a_(k_, form),
        out_(k_.output("out", Element::f32)),
        row_end_(k_, form.sinks && !form.splits, form.logarithms && !form.splits),
        queries_(k_.shared(Element::u32, shapes_.queries.size())),
        cache_(k_.shared(Element::u32, shapes_.cache.size())),
        weights_(k_.shared(Element::u32, shapes_.weights.size())),
        scores_(k_.shared(Element::f32, kAttentionKeys * shapes_.score_stride)),
        factors_(k_.shared(Element::f32, tiles.rows() * shapes_.factor_stride)),
        largest_(k_.variable(k_.lowest())),
        sum_(k_.variable(0.0F)) {}

  Kernel make() {
    // The groups with the most positions begin first.
    a_.find_block(k_.group_count(0) - 1U - k_.group_id(0), tiles_.rows(), kAttentionKeys);
    // The lanes of a subgroup whose numbers differ by tile.n share a row.
    row_ = k_.subgroup_id() * tile_.n + k_.subgroup_lane() % tile_.n;
    part_ = k_.subgroup_lane() / tile_.n;
    seen_ = a_.seen_by(a_.first_row + row_);

    for (uint32_t column = 0; column < width_; column += tile_.n) {
      output_.push_back(k_.tile(TileRole::accumulator, Element::f32, tile_.m, tile_.n));
      k_.tile_fill(output_.back(), 0);
    }
    const std::unique_ptr<TileSource> keys = source(key_units_, a_.keys), values = source(value_units_, a_.values);
    load_queries();
    keys->load(a_.begin);
    keys->store(cache_, k_.constant(0U));
    k_.barrier();
    k_.loop(a_.begin, a_.end, kAttentionKeys, [&](const Value& first) {
      values->load(first);
      score();
      k_.barrier();
      values->store(cache_, k_.constant(0U));
      weigh(first);
      k_.barrier();
      keys->load(first + kAttentionKeys);
      add_values();
      k_.barrier();
      keys->store(cache_, k_.constant(0U));
      k_.barrier();
    });
    store();
    return k_.finish();
  }

 private:
  [[nodiscard]] uint32_t parts() const { return tiles_.subgroup_size / tile_.n; }

  // Positions beyond the last are zeros, whatever the cache holds there: 0 · NaN is NaN.
  std::unique_ptr<TileSource> source(const UnitReader& units, const CacheView& view) {
    const Value head = view.place(a_.kv_head(), k_.constant(0U)), end = a_.end;
    // The slot of a position below the end; that of another is not read, or is the first slot.
    const auto place = [=, this](const Value& position) {
      if (!form_.paged) return head + a_.slot(position) * view.slot_stride;
      return head + select(position < end, a_.slot(min(position, max(end, 1U) - 1U)), 0U) * view.slot_stride;
    };
    if (form_.cache == DType::f16) {  // used without conversion
      const WordSource::Matrix matrix{.memory = units.words(),
                                      .first = k_.constant(0U),
                                      .row_words = k_.constant(0U),
                                      .height = end,
                                      .words = k_.constant(width_ / 2),
                                      .place = [=](const Value& row) { return place(row) / 2U; }};
      return std::make_unique<WordSource>(k_, matrix, shapes_.cache, WordSource::Depth::down_columns, k_.constant(0U));
    }
    const auto read = [=, &units](const Value& row, const Value& column, const Value& first) -> UnitSource::Unit {
      const Value position = first + row, at = column / units.unit() * units.step();
      const Value clamped = select(position < end, position, select(end > 0U, end - 1U, 0U));
      return {units.read(place(clamped) + at), position < end};
    };
    return std::make_unique<UnitSource>(k_, units.unit(), shapes_.cache, read);
  }

  // Transposed, times scale · log2 e; rows beyond the last repeat it.
  void load_queries() {
    const Value scale = a_.scale * kLog2E;
    const auto query = [&](const Value& row, const Value& column) {
      const Value place = a_.q_offset + a_.output_row(a_.first_row + row) * width_ + column;
      return q_[place] * scale;
    };
    k_.loop(k_.local_id(), shapes_.queries.rows * shapes_.queries.words, k_.kernel().group_size, [&](const Value& e) {
      const Value column = e % width_, word = e / width_;
      queries_[column * shapes_.queries.stride() + word] = pack_limited(query(word * 2U, column), query(word * 2U + 1U, column));
    });
  }

  // Sᵀ of the block and of the subgroup's rows.
  void score() {
    const uint32_t key = k_.tile(TileRole::left, Element::f16, tile_.m, tile_.k);
    const uint32_t query = k_.tile(TileRole::right, Element::f16, tile_.k, tile_.n);
    std::vector<uint32_t> sums;
    for (uint32_t i = 0; i < kAttentionKeys; i += tile_.m) {
      sums.push_back(k_.tile(TileRole::accumulator, Element::f32, tile_.m, tile_.n));
      k_.tile_fill(sums.back(), 0);
    }
    const Value rows = k_.subgroup_id() * tile_.n;
    for (uint32_t step = 0; step < width_; step += tile_.k) {
      k_.tile_load(query, queries_, step * shapes_.queries.stride() + rows / 2U, shapes_.queries.stride());
      for (uint32_t i = 0; i < sums.size(); ++i) {
        k_.tile_load(key, cache_, i * tile_.m * shapes_.cache.stride() + step / 2, shapes_.cache.stride());
        k_.tile_multiply(sums[i], key, query);
      }
    }
    for (uint32_t i = 0; i < sums.size(); ++i) {
      k_.tile_store(sums[i], scores_, i * tile_.m * shapes_.score_stride + rows, k_.constant(shapes_.score_stride));
    }
  }

  // Online softmax of the lane's row, in powers of two: P, and what O must be multiplied by.
  void weigh(const Value& first) {
    const uint32_t quads = kAttentionKeys / kQuad / parts();
    const auto key = [&](uint32_t quad, uint32_t i) { return (quad * parts() + part_) * kQuad + i; };
    std::vector<Value> scores;
    Value largest = largest_;
    for (uint32_t i = 0; i < quads * kQuad; ++i) {
      const Value position = key(i / kQuad, i % kQuad), score = scores_[position * shapes_.score_stride + row_];
      const Value adjusted = a_.adjusted(score, a_.first_row + row_, min(first + position, a_.end - 1U), kLog2E);
      scores.push_back(select(seen_->holds(first + position), adjusted, k_.lowest()));
      largest = max(largest, scores.back());
    }
    for (uint32_t mask = tile_.n; mask < tiles_.subgroup_size; mask *= 2) largest = max(largest, subgroup_shuffle_xor(largest, mask));
    const Value factor = ir::native_exp2(largest_ - largest);
    Value sum = sum_ * factor;
    const auto weight = [&](uint32_t i) {
      const Value exists = seen_->holds(first + key(i / kQuad, i % kQuad));
      return select(exists, ir::native_exp2(scores[i] - largest), 0.0F);
    };
    for (uint32_t i = 0; i < quads * kQuad; i += 2) {
      const Value low = weight(i), high = weight(i + 1);
      sum = sum + (low + high);
      weights_[row_ * shapes_.weights.stride() + key(i / kQuad, i % kQuad) / 2U] = pack_halves(low, high);
    }
    sum_ = sum;
    largest_ = largest;
    store_factor(factor);
  }

  // As the rows of a tile.
  void store_factor(const Value& factor) {
    const uint32_t fours = tile_.n / 4;
    for (uint32_t i = 0; i < fours; i += parts()) {
      const Value four = part_ + i;
      k_.when(four < fours, [&] { factors_.store(row_ * shapes_.factor_stride + four * 4U, {factor, factor, factor, factor}); });
    }
  }

  // O · factors + P V.
  void add_values() {
    const uint32_t factor = k_.tile(TileRole::accumulator, Element::f32, tile_.m, tile_.n);
    const uint32_t weight = k_.tile(TileRole::left, Element::f16, tile_.m, tile_.k);
    const uint32_t value = k_.tile(TileRole::right, Element::f16, tile_.k, tile_.n);
    const Value rows = k_.subgroup_id() * tile_.n;
    k_.tile_load(factor, factors_, rows * shapes_.factor_stride, shapes_.factor_stride);
    for (const uint32_t sum : output_) k_.tile_scale(sum, factor);
    for (uint32_t step = 0; step < kAttentionKeys; step += tile_.k) {
      k_.tile_load(weight, weights_, rows * shapes_.weights.stride() + step / 2, shapes_.weights.stride());
      for (uint32_t i = 0; i < output_.size(); ++i) {
        k_.tile_load(value, cache_, step * shapes_.cache.stride() + i * tile_.n / 2, shapes_.cache.stride());
        k_.tile_multiply(output_[i], weight, value);
      }
    }
  }

  // Through the shared memory of the scores, a tile of every subgroup at a time.
  void store() {
    Value total = sum_;
    for (uint32_t mask = tile_.n; mask < tiles_.subgroup_size; mask *= 2) total = total + subgroup_shuffle_xor(total, mask);
    const Value row = a_.first_row + row_, exists = row < a_.rows;
    const Value at = a_.written_row(row);
    std::optional<RowEnd::Shares> shares;
    if (!form_.splits) shares = row_end_.shares(largest_ * kLn2, total, a_.head_of(row));
    const uint32_t columns = tile_.n / parts();
    const Value tile = k_.subgroup_id() * tile_.n, place = k_.subgroup_lane() % tile_.n * shapes_.score_stride + tile + part_ * columns;
    for (uint32_t i = 0; i < output_.size(); ++i) {
      k_.tile_store(output_[i], scores_, tile, k_.constant(shapes_.score_stride));
      k_.barrier();
      for (uint32_t c = 0; c < columns; ++c) {
        const Value result = scores_[place + c];
        out_.store_if(exists, a_.out_offset + at * width_ + (i * tile_.n + part_ * columns + c), shares ? shares->of(result) : result);
      }
      k_.barrier();
    }
    row_end_.store_logarithm(exists & (part_ == 0U), at);
    if (!form_.splits) return;
    k_.when(exists & (part_ == 0U), [&] {
      out_[a_.stats_offset + at * 2U] = select(total > 0, largest_ * kLn2, k_.lowest());
      out_[a_.stats_offset + at * 2U + 1U] = total;
    });
  }

  AttentionForm form_;
  AttentionTiles tiles_;
  TileShape tile_;
  uint32_t width_;
  SharedShapes shapes_;
  KernelBuilder k_;
  Memory q_;
  UnitReader key_units_, value_units_;
  AttentionArguments a_;
  Memory out_;
  RowEnd row_end_;
  Memory queries_, cache_, weights_, scores_, factors_;
  Variable largest_, sum_;  // of the row, and of the lane's share of it
  Value row_, part_;
  std::optional<AttentionArguments::Seen> seen_;
  std::vector<uint32_t> output_;
};

}  // namespace

std::optional<AttentionTiles> attention_tiles_of(const AttentionForm& form, int64_t width, const DeviceCaps& caps) {
  constexpr uint32_t kMaxRows = 64;
  if (caps.tiles.empty() || form.access == RowAccess::elements || form.cache == DType::f32) return std::nullopt;
  const TileShape tile = caps.tiles.front();
  const auto subgroup_size = static_cast<uint32_t>(caps.max_subgroup_size);
  const uint32_t parts = subgroup_size / tile.n;
  if (tile.m != tile.n || width % tile.n != 0 || width % tile.k != 0 || kAttentionKeys % tile.m != 0 || kAttentionKeys % tile.k != 0) {
    return std::nullopt;
  }
  if (tile.n % 4 != 0 || subgroup_size % tile.n != 0 || parts > tile.n || parts > kAttentionKeys / kQuad) return std::nullopt;
  for (uint32_t subgroups = kMaxRows / tile.n; subgroups > 0; subgroups /= 2) {
    const AttentionTiles tiles{tile, subgroups, subgroup_size};
    const SharedShapes shapes(tiles, static_cast<uint32_t>(width));
    const uint32_t unit = form.access == RowAccess::blocks ? 16 : 8;
    const bool even = UnitSource::units(shapes.cache, unit) % tiles.lanes() == 0;
    if (even && tiles.lanes() <= caps.max_group_size && shapes.bytes() <= caps.max_shared_bytes) return tiles;
  }
  return std::nullopt;
}

Kernel attention_tiles(const AttentionForm& form, uint32_t width, const AttentionTiles& tiles) {
  return TiledAttention(form, width, tiles).make();
}

}  // namespace wick::kernels
