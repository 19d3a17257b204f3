#include <algorithm>
#include <optional>

#include "wick/base/fail.h"
#include "wick/ir/lowering.h"
#include "wick/ir/rebuild.h"

namespace wick::ir {
namespace {

class TileLowering final : public Rebuild {
 public:
  explicit TileLowering(const Kernel& source) : Rebuild(source), places_(source.tiles.size()), sums_(source.tiles.size()) {}

 protected:
  void begin() override {
    const Value t = builder_.local_id();
    lane_ = t % source_.subgroup_size;
    for (uint32_t tile = 0; tile < source_.tiles.size(); ++tile) {
      if (source_.tiles[tile].role != TileRole::accumulator) continue;
      for (uint32_t i = 0; i < elements_per_lane(tile); ++i) sums_[tile].push_back(builder_.variable(0.0F));
    }
    set_.resize(source_.tiles.size());
    for (const Statement& s : source_.body) {
      if ((s.kind != StatementKind::tile_set && s.kind != StatementKind::tile_get) || set_[s.slot]) continue;
      const Tile& t = source_.tiles[s.slot];
      set_[s.slot] = builder_.shared(ir::Element::f32, source_.group_size / source_.subgroup_size * t.rows * t.columns);
    }
  }

  void statement(std::size_t index) override {
    const Statement& s = source_.body[index];
    switch (s.kind) {
      case StatementKind::tile_fill:
        for (Variable& sum : sums_[s.slot]) sum = value(s.operands[0]);
        return;
      case StatementKind::tile_set: return source_.tiles[s.slot].role == TileRole::accumulator ? set_sums(s) : set(s);
      case StatementKind::tile_get: return get(s);
      case StatementKind::tile_load: return load(s);
      case StatementKind::tile_multiply: return multiply(s);
      case StatementKind::tile_scale:
        for (uint32_t i = 0; i < elements_per_lane(s.slot); ++i) sums_[s.slot][i] = sums_[s.slot][i] * sums_[s.left][i];
        return;
      case StatementKind::tile_store: store(s); return forget(s.space, s.source);
      case StatementKind::store:
      case StatementKind::atomic: copy_statement(index); return forget(s.space, s.slot);
      case StatementKind::loop:
        // What a later iteration of the body writes comes after what an earlier one multiplies.
        for (std::size_t i = index; i < end_of(index); ++i) {
          const Statement& inner = source_.body[i];
          if (inner.kind == StatementKind::store || inner.kind == StatementKind::atomic) forget(inner.space, inner.slot);
          if (inner.kind == StatementKind::tile_store) forget(inner.space, inner.source);
        }
        return copy_statement(index);
      default: return copy_statement(index);
    }
  }

 private:
  struct Place {
    Space space{};
    uint32_t slot = 0;
    Value first, stride;
  };

  [[nodiscard]] uint32_t elements_per_lane(uint32_t tile) const {
    const Tile& t = source_.tiles[tile];
    return (t.rows * t.columns + source_.subgroup_size - 1) / source_.subgroup_size;
  }

  // The i-th element of this lane, and whether there is one.
  struct Element {
    Value row, column, exists;
  };
  Element element_of_lane(uint32_t tile, uint32_t i) {
    const Tile& t = source_.tiles[tile];
    const Value e = lane_ + i * source_.subgroup_size;
    return {e / t.columns, e % t.columns, e < t.rows * t.columns};
  }

  static Value as_f32(const Value& v) { return cast(Type::f32, v); }

  // Through shared memory, between two barriers.
  void set(const Statement& s) {
    const Tile& t = source_.tiles[s.slot];
    const Memory& shared = *set_[s.slot];
    const Value first = builder_.local_id() / source_.subgroup_size * (t.rows * t.columns);
    const Value g = lane_ / 4U, pair = lane_ % 4U * 2U;
    const Node& vector = old_node(s.operands[0]);
    builder_.barrier();
    for (uint32_t word = 0; word < (t.role == TileRole::left ? 4U : 2U); ++word) {
      const Value held = vector.op == Op::vector ? value(vector.operands[word]) : Vector(value(s.operands[0]))[word];
      for (uint32_t half = 0; half < 2; ++half) {
        const LaneTilePlace of_lane_0 = lane_tile_place(t.role, 0, word, half);
        const bool left = t.role == TileRole::left;
        const Value row = (left ? g : pair) + of_lane_0.row, column = (left ? pair : g) + of_lane_0.column;
        shared.store(first + row * t.columns + column, unpack_half(half == 0 ? held : held >> 16));
      }
    }
    builder_.barrier();
    places_[s.slot] = Place{Space::shared, shared.slot(), first, builder_.constant(t.columns)};
  }

  // Where the lane's element `i` lies in the shared memory of an accumulator.
  Value sum_place(uint32_t tile, uint32_t i) {
    const Tile& t = source_.tiles[tile];
    const LaneTilePlace of_lane_0 = lane_sum_place(0, i);
    return builder_.local_id() / source_.subgroup_size * (t.rows * t.columns) + (lane_ / 4U + of_lane_0.row) * t.columns +
           (lane_ % 4U * 2U + of_lane_0.column);
  }
  void set_sums(const Statement& s) {
    const Memory& shared = *set_[s.slot];
    const Tile& t = source_.tiles[s.slot];
    const Node& vector = old_node(s.operands[0]);
    builder_.barrier();
    for (uint32_t i = 0; i < kLaneTileSums; ++i) {
      const Value held = vector.op == Op::vector ? value(vector.operands[i]) : Vector(value(s.operands[0]))[i];
      shared.store(sum_place(s.slot, i), held);
    }
    builder_.barrier();
    const Value first = builder_.local_id() / source_.subgroup_size * (t.rows * t.columns);
    for (uint32_t i = 0; i < elements_per_lane(s.slot); ++i) {
      const Element e = element_of_lane(s.slot, i);
      sums_[s.slot][i] = shared.load(first + e.row * t.columns + e.column);
    }
  }
  void get(const Statement& s) {
    const Memory& shared = *set_[s.slot];
    const Tile& t = source_.tiles[s.slot];
    const Value first = builder_.local_id() / source_.subgroup_size * (t.rows * t.columns);
    builder_.barrier();
    for (uint32_t i = 0; i < elements_per_lane(s.slot); ++i) {
      const Element e = element_of_lane(s.slot, i);
      shared.store(first + e.row * t.columns + e.column, sums_[s.slot][i]);
    }
    builder_.barrier();
    variable(s.source) = shared.load(sum_place(s.slot, s.left));
  }

  void load(const Statement& s) {
    const Place place{s.space, s.source, value(s.operands[0]), value(s.operands[1])};
    if (source_.tiles[s.slot].role != TileRole::accumulator) {
      places_[s.slot] = place;
      return;
    }
    for (uint32_t i = 0; i < elements_per_lane(s.slot); ++i) {
      const Element e = element_of_lane(s.slot, i);
      sums_[s.slot][i] = memory(s.space, s.source).load_if(e.exists, place.first + e.row * place.stride + e.column, 0);
    }
  }

  void store(const Statement& s) {
    const Value first = value(s.operands[0]), stride = value(s.operands[1]);
    for (uint32_t i = 0; i < elements_per_lane(s.slot); ++i) {
      const Element e = element_of_lane(s.slot, i);
      memory(s.space, s.source).store_if(e.exists, first + e.row * stride + e.column, sums_[s.slot][i]);
    }
  }

  void multiply(const Statement& s) {
    const Place left = place_of(s.left), right = place_of(s.right);
    builder_.loop(0, source_.tiles[s.left].columns, 1, [&](const Value& k) {
      for (uint32_t i = 0; i < elements_per_lane(s.slot); ++i) {
        const Element e = element_of_lane(s.slot, i);
        Variable& sum = sums_[s.slot][i];
        sum = fma(element_at(left, e.exists, e.row, k), element_at(right, e.exists, k, e.column), Value(sum));
      }
    });
  }
  Value element_at(const Place& place, const Value& exists, const Value& row, const Value& column) {
    const Type type = register_type(builder_.kernel().element_of(place.space, place.slot));
    const bool words = type == Type::u32;
    const Value index = place.first + row * place.stride + (words ? column / 2U : column);
    const Value held = memory(place.space, place.slot).load_if(exists, index, builder_.number_of(type, 0, 0));
    return words ? unpack_half(held >> (column % 2U * 16U)) : as_f32(held);
  }

  void forget(Space space, uint32_t slot) {
    for (std::optional<Place>& place : places_) {
      if (place && place->space == space && place->slot == slot) place.reset();
    }
  }
  const Place& place_of(uint32_t tile) const {
    if (!places_[tile]) {
      fail(ErrorCode::invalid_argument, "kernel {}: tile {} is multiplied, but was not loaded or its memory was written to since",
           source_.name, tile);
    }
    return *places_[tile];
  }

  Value lane_;
  std::vector<std::optional<Place>> places_;
  std::vector<std::optional<Memory>> set_;  // of tiles that lanes set: where they lie
  std::vector<std::vector<Variable>> sums_;
};

}  // namespace

namespace {

class HalvesLowering final : public Rebuild {
 public:
  using Rebuild::Rebuild;

 protected:
  Value expression(const Node& node) override {
    if (node.op != Op::fma_halves) return copy(node);
    const auto of = [&](std::size_t i, uint32_t half) {
      const Value word = value(node.operands[i]);
      return unpack_half(half == 0 ? word : word >> 16);
    };
    const auto rounded = [&](uint32_t half) { return pack_half(fma(of(0, half), of(1, half), of(2, half))); };
    return rounded(0) | (rounded(1) << 16);
  }
};

}  // namespace

Kernel lower_packed_halves(const Kernel& kernel, const DeviceCaps& caps) {
  return has_lane_tiles(caps) ? kernel : HalvesLowering(kernel).run();
}

Kernel lower_tiles(const Kernel& kernel, const DeviceCaps& caps) {
  bool lacks = false;
  for (const Statement& s : kernel.body) {
    if (s.kind != StatementKind::tile_multiply) continue;
    const TileShape shape{kernel.tiles[s.slot].rows, kernel.tiles[s.slot].columns, kernel.tiles[s.left].columns};
    lacks = lacks || std::find(caps.tiles.begin(), caps.tiles.end(), shape) == caps.tiles.end();
  }
  if (!lacks) return kernel;
  Kernel lowered = TileLowering(kernel).run();
  lowered.tiles.clear();
  return lowered;
}

}  // namespace wick::ir
