#include "wick/ir/interpreter.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "wick/base/fail.h"
#include "wick/base/half.h"
#include "wick/ir/arithmetic.h"
#include "wick/ir/passes.h"
#include "wick/ir/race_monitor.h"

namespace wick::ir {
namespace {

using Mask = std::vector<uint8_t>;

Bits read_element(Element element, const std::byte* at) {
  uint64_t raw = 0;
  std::memcpy(&raw, at, static_cast<std::size_t>(info(element).bytes));
  switch (element) {
    case Element::i8: return static_cast<uint32_t>(static_cast<int8_t>(raw));
    case Element::i16: return static_cast<uint32_t>(static_cast<int16_t>(raw));
    case Element::bf16: return raw << 16;
    default: return raw;
  }
}

void write_element(Element element, std::byte* at, Bits bits) {
  const uint64_t raw = element == Element::bf16 ? float_to_bf16_bits(std::bit_cast<float>(static_cast<uint32_t>(bits))) : bits;
  std::memcpy(at, &raw, static_cast<std::size_t>(info(element).bytes));
}

// A number of f32 as arithmetic takes and gives it where subnormals count as zero.
Bits without_subnormals(Bits bits) { return (bits & 0x7f800000) == 0 ? bits & 0x80000000 : bits; }

// One array that a kernel reads and writes, with its history.
struct Array {
  std::string name;
  Element element{};
  std::span<std::byte> bytes;
  RaceMonitor monitor;
  [[nodiscard]] std::size_t count() const { return bytes.size() / static_cast<std::size_t>(info(element).bytes); }
};

class Interpreter {
 public:
  Interpreter(const Kernel& kernel, Grid grid, const LaunchArguments& arguments)
      : kernel_(schedule(kernel, {.move_out_of_loops = false})), grid_(grid), lanes_(kernel.group_size), values_(kernel.nodes.size()) {
    check_arguments(arguments);
    parameters_ = arguments.parameters;
    keeps_subnormals_ = arguments.keeps_subnormals;
    for (std::size_t i = 0; i < kernel_.buffers.size(); ++i) {
      const BufferArgument& buffer = kernel_.buffers[i];
      buffers_.push_back({buffer.name, buffer.element, arguments.buffers[i], RaceMonitor(0)});
      buffers_.back().monitor = RaceMonitor(buffers_.back().count());
    }
    variables_.assign(kernel_.variables.size(), std::vector<Bits>(lanes_));
    const std::size_t subgroups = kernel_.subgroup_size > 0 ? lanes_ / kernel_.subgroup_size : 0;
    for (const Tile& tile : kernel_.tiles) tiles_.emplace_back(subgroups, std::vector<float>(std::size_t{tile.rows} * tile.columns));
    match_ends();
  }

  void run() {
    uint32_t number = 0;
    for (group_[2] = 0; group_[2] < grid_.z; ++group_[2]) {
      for (group_[1] = 0; group_[1] < grid_.y; ++group_[1]) {
        for (group_[0] = 0; group_[0] < grid_.x; ++group_[0]) run_group(number++);
      }
    }
  }

 private:
  void check_arguments(const LaunchArguments& arguments) const {
    if (arguments.buffers.size() != kernel_.buffers.size() || arguments.parameters.size() != kernel_.parameters.size()) {
      fail(ErrorCode::invalid_argument, "kernel {} takes {} buffers and {} parameters, not {} and {}", kernel_.name, kernel_.buffers.size(),
           kernel_.parameters.size(), arguments.buffers.size(), arguments.parameters.size());
    }
  }

  // end_of_[i] is the statement that ends the block which statement i opens.
  void match_ends() {
    end_of_.resize(kernel_.body.size());
    std::vector<std::size_t> open;
    for (std::size_t i = 0; i < kernel_.body.size(); ++i) {
      const StatementKind kind = kernel_.body[i].kind;
      if (kind == StatementKind::loop || kind == StatementKind::when) open.push_back(i);
      if (kind != StatementKind::end) continue;
      WICK_ASSERT(!open.empty());
      end_of_[open.back()] = i;
      open.pop_back();
    }
    WICK_ASSERT(open.empty());
  }

  void run_group(uint32_t number) {
    group_number_ = number;
    ++shared_interval_;
    ++buffer_interval_;
    shared_.clear();
    shared_bytes_.clear();
    for (const SharedArray& array : kernel_.shared) {
      shared_bytes_.emplace_back(std::size_t{array.count} * static_cast<std::size_t>(info(array.element).bytes));
      shared_.push_back({fmt::format("shared array {}", shared_.size()), array.element, shared_bytes_.back(), RaceMonitor(array.count)});
    }
    for (NodeId id = 0; id < kernel_.nodes.size(); ++id) set_leaf(id);
    run_block(0, kernel_.body.size(), Mask(lanes_, 1));
  }

  void set_leaf(NodeId id) {
    const Node& node = kernel_.node(id);
    const auto fill = [&](auto&& value) {
      values_[id].resize(lanes_);
      for (uint32_t lane = 0; lane < lanes_; ++lane) values_[id][lane] = value(lane);
    };
    const std::array<uint32_t, 3> counts{grid_.x, grid_.y, grid_.z};
    switch (node.op) {
      case Op::constant: return fill([&](uint32_t) { return node.bits; });
      case Op::parameter: return fill([&](uint32_t) { return Bits{parameters_[node.slot]}; });
      case Op::group_id: return fill([&](uint32_t) { return Bits{group_[node.slot]}; });
      case Op::group_count: return fill([&](uint32_t) { return Bits{counts[node.slot]}; });
      case Op::local_id: return fill([](uint32_t lane) { return Bits{lane}; });
      case Op::subgroup_lane: return fill([&](uint32_t lane) { return Bits{lane % kernel_.subgroup_size}; });
      case Op::subgroup_id: return fill([&](uint32_t lane) { return Bits{lane / kernel_.subgroup_size}; });
      default: values_[id].resize(std::size_t{lanes_} * node.lanes);
    }
  }

  [[nodiscard]] std::span<const Bits> value(NodeId id) const {
    if (id == kNoNode) return {};
    const Node& node = kernel_.node(id);
    if (node.op != Op::lane) return values_[id];
    return std::span(values_[node.operands[0]]).subspan(std::size_t{node.slot} * lanes_, lanes_);
  }

  void run_block(std::size_t begin, std::size_t end, const Mask& mask) {
    for (std::size_t i = begin; i < end; ++i) {
      const Statement& statement = kernel_.body[i];
      if (statement.kind == StatementKind::loop) {
        run_loop(statement, i + 1, end_of_[i], mask);
        i = end_of_[i];
      } else if (statement.kind == StatementKind::when) {
        Mask inner = mask;
        const std::span<const Bits> condition = value(statement.operands[0]);
        for (uint32_t lane = 0; lane < lanes_; ++lane) inner[lane] = inner[lane] && condition[lane] ? 1 : 0;
        if (any(inner)) run_block(i + 1, end_of_[i], inner);
        i = end_of_[i];
      } else {
        run_statement(statement, mask);
      }
    }
  }

  static bool any(const Mask& mask) { return std::find(mask.begin(), mask.end(), 1) != mask.end(); }

  void run_loop(const Statement& loop, std::size_t begin, std::size_t end, const Mask& mask) {
    const std::span<const Bits> first = value(loop.operands[0]);
    const std::span<const Bits> last = value(loop.operands[1]);
    std::vector<Bits> index(first.begin(), first.end());
    const std::vector<Bits> stop(last.begin(), last.end());
    for (;;) {
      Mask inner = mask;
      for (uint32_t lane = 0; lane < lanes_; ++lane) inner[lane] = inner[lane] && index[lane] < stop[lane] ? 1 : 0;
      if (!any(inner)) return;
      values_[loop.target] = index;
      run_block(begin, end, inner);
      for (uint32_t lane = 0; lane < lanes_; ++lane) {
        if (!inner[lane]) continue;
        index[lane] += loop.step;
        if (index[lane] > 0xffffffffU) stop_at(lane, fmt::format("a loop's index wraps: {} + {}", index[lane] - loop.step, loop.step));
      }
    }
  }

  void run_statement(const Statement& statement, const Mask& mask) {
    switch (statement.kind) {
      case StatementKind::comment:
      case StatementKind::end:
      case StatementKind::loop:
      case StatementKind::when: return;
      case StatementKind::let: return compute(statement.target, mask);
      case StatementKind::variable:
      case StatementKind::assign: {
        const std::span<const Bits> assigned = value(statement.operands[0]);
        for (uint32_t lane = 0; lane < lanes_; ++lane) {
          if (mask[lane]) variables_[statement.slot][lane] = assigned[lane];
        }
        return;
      }
      case StatementKind::store: return store(statement, mask);
      case StatementKind::atomic: return update(statement, mask);
      case StatementKind::barrier:
        require_all(mask, "a barrier");
        ++shared_interval_;
        if (statement.scope == BarrierScope::shared_and_buffers) ++buffer_interval_;
        return;
      case StatementKind::tile_fill:
      case StatementKind::tile_set:
      case StatementKind::tile_get:
      case StatementKind::tile_load:
      case StatementKind::tile_multiply:
      case StatementKind::tile_scale:
      case StatementKind::tile_store:
        require_all(mask, "a matrix tile");
        for (uint32_t subgroup = 0; subgroup < lanes_ / kernel_.subgroup_size; ++subgroup) run_tile(statement, subgroup);
        return;
    }
  }

  [[noreturn]] void stop_at(uint32_t lane, const std::string& why, ErrorCode code = ErrorCode::invalid_argument) const {
    fail(code, "kernel {}: {}, in lane {} of group ({}, {}, {})", kernel_.name, why, lane, group_[0], group_[1], group_[2]);
  }

  void require_all(const Mask& mask, std::string_view what) const {
    const auto missing = std::find(mask.begin(), mask.end(), 0);
    if (missing != mask.end())
      stop_at(static_cast<uint32_t>(missing - mask.begin()), fmt::format("{} that not every lane reaches: missing", what));
  }

  void compute(NodeId id, const Mask& mask) {
    const Node& node = kernel_.node(id);
    if (node.op == Op::load) return load(id, node, mask);
    if (node.op == Op::read) {
      for (uint32_t lane = 0; lane < lanes_; ++lane) {
        if (mask[lane]) values_[id][lane] = variables_[node.slot][lane];
      }
      return;
    }
    if (is_subgroup(node.op)) return exchange(id, node, mask);
    const Type operand_type = kernel_.node(node.operands[0]).type;
    std::vector<Bits>& result = values_[id];
    const Fault fault =
        calculate(node, operand_type, mask, value(node.operands[0]), value(node.operands[1]), value(node.operands[2]), result);
    if (fault.kind == FaultKind::none) return;
    const char* why = fault.kind == FaultKind::divide_by_zero    ? "an integer is divided by zero"
                      : fault.kind == FaultKind::divide_overflow ? "a quotient overflows"
                                                                 : "an integer is shifted by its width or more";
    stop_at(static_cast<uint32_t>(fault.lane), why);
  }

  // evaluate(), as a device of this kind does it.
  Fault calculate(const Node& node, Type operand_type, std::span<const uint8_t> active, std::span<const Bits> a, std::span<const Bits> b,
                  std::span<const Bits> c, std::span<Bits> result) const {
    const bool moves = node.op == Op::bitcast || node.op == Op::select;
    if (keeps_subnormals_ || moves) return evaluate(node, operand_type, active, a, b, c, result);
    const auto taken = [&](std::span<const Bits> operand) {
      std::vector<Bits> bits(operand.begin(), operand.end());
      if (operand_type == Type::f32) std::transform(bits.begin(), bits.end(), bits.begin(), without_subnormals);
      return bits;
    };
    const Fault fault = evaluate(node, operand_type, active, taken(a), taken(b), taken(c), result);
    for (std::size_t i = 0; node.type == Type::f32 && i < result.size(); ++i) {
      if (active[i]) result[i] = without_subnormals(result[i]);
    }
    return fault;
  }

  void exchange(NodeId id, const Node& node, const Mask& mask) {
    require_all(mask, "a subgroup operation");
    const std::span<const Bits> operand = value(node.operands[0]);
    const uint32_t size = kernel_.subgroup_size;
    WICK_ASSERT(size > 0);
    for (uint32_t lane = 0; lane < lanes_; ++lane) {
      const uint32_t first = lane / size * size;
      if (node.op == Op::subgroup_shuffle_xor) values_[id][lane] = operand[first + ((lane - first) ^ node.slot)];
      if (node.op == Op::subgroup_broadcast) values_[id][lane] = operand[first + node.slot];
      if (node.op == Op::subgroup_reduce && lane == first) reduce(id, node, operand, first);
    }
  }

  void reduce(NodeId id, const Node& node, std::span<const Bits> operand, uint32_t first) {
    Node combine;
    combine.op = node.reduce == Reduce::add ? Op::add : node.reduce == Reduce::minimum ? Op::minimum : Op::maximum;
    combine.type = node.type;
    const uint8_t active = 1;
    Bits sum = operand[first];
    for (uint32_t lane = first + 1; lane < first + kernel_.subgroup_size; ++lane) {
      Bits result = 0;
      calculate(combine, node.type, {&active, 1}, {&sum, 1}, operand.subspan(lane, 1), {}, {&result, 1});
      sum = result;
    }
    std::fill_n(values_[id].begin() + first, kernel_.subgroup_size, sum);
  }

  Array& array(Space space, uint32_t slot) { return space == Space::buffer ? buffers_[slot] : shared_[slot]; }

  // The address of an element that a lane touches, after all checks.
  std::byte* touch(Space space, uint32_t slot, uint64_t index, AccessKind kind, uint32_t lane) {
    Array& touched = array(space, slot);
    if (index >= touched.count()) {
      stop_at(lane, fmt::format("{}[{}] of {} elements", touched.name, index, touched.count()), ErrorCode::index_out_of_range);
    }
    if (space == Space::shared && kind != AccessKind::write && !touched.monitor.written(index)) {
      stop_at(lane, fmt::format("{}[{}] is read before it is written", touched.name, index));
    }
    const Accessor who{group_number_, lane, space == Space::shared ? shared_interval_ : buffer_interval_};
    if (const auto conflict = touched.monitor.note(index, kind, who)) {
      const char* what = kind == AccessKind::read ? "a read" : kind == AccessKind::write ? "a write" : "an atomic update";
      stop_at(lane, fmt::format("{} of {}[{}] races with {}", what, touched.name, index, *conflict));
    }
    return touched.bytes.data() + index * static_cast<uint64_t>(info(touched.element).bytes);
  }

  void require_multiple(Space space, uint32_t slot, uint64_t index, uint32_t count, uint32_t lane) {
    WICK_ASSERT(count > 0);
    if (index % count == 0) return;
    stop_at(lane, fmt::format("{}[{}]: a vector of {} begins at a multiple of {}", array(space, slot).name, index, count, count));
  }

  void load(NodeId id, const Node& node, const Mask& mask) {
    const std::span<const Bits> index = value(node.operands[0]);
    const std::span<const Bits> gate = value(node.operands[1]);
    const std::span<const Bits> alternative = value(node.operands[2]);
    const Element element = kernel_.element_of(node.space, node.slot);
    for (uint32_t lane = 0; lane < lanes_; ++lane) {
      if (!mask[lane]) continue;
      const bool open = gate.empty() || gate[lane];
      if (open) require_multiple(node.space, node.slot, index[lane], node.lanes, lane);
      for (uint32_t part = 0; part < node.lanes; ++part) {
        values_[id][std::size_t{part} * lanes_ + lane] =
            open ? read_element(element, touch(node.space, node.slot, index[lane] + part, AccessKind::read, lane)) : alternative[lane];
      }
    }
  }

  void store(const Statement& statement, const Mask& mask) {
    const std::span<const Bits> index = value(statement.operands[0]);
    const std::span<const Bits> gate = value(statement.operands[2]);
    const Node& stored = kernel_.node(statement.operands[1]);
    const Element element = kernel_.element_of(statement.space, statement.slot);
    for (uint32_t part = 0; part < stored.lanes; ++part) {
      const std::span<const Bits> values = stored.op == Op::vector ? value(stored.operands[part])
                                           : stored.lanes == 1     ? value(statement.operands[1])
                                                               : value(statement.operands[1]).subspan(std::size_t{part} * lanes_, lanes_);
      for (uint32_t lane = 0; lane < lanes_; ++lane) {
        if (!mask[lane] || (!gate.empty() && !gate[lane])) continue;
        require_multiple(statement.space, statement.slot, index[lane], stored.lanes, lane);
        write_element(element, touch(statement.space, statement.slot, index[lane] + part, AccessKind::write, lane), values[lane]);
      }
    }
  }

  void update(const Statement& statement, const Mask& mask) {
    const std::span<const Bits> index = value(statement.operands[0]);
    const std::span<const Bits> operand = value(statement.operands[1]);
    const Element element = kernel_.element_of(statement.space, statement.slot);
    Node combine;
    combine.type = register_type(element);
    constexpr static std::array<Op, 5> kOps{Op::add, Op::minimum, Op::maximum, Op::bit_and, Op::bit_or};
    if (statement.atomic != AtomicOp::exchange) combine.op = kOps[static_cast<std::size_t>(statement.atomic)];
    const uint8_t active = 1;
    for (uint32_t lane = 0; lane < lanes_; ++lane) {
      if (!mask[lane]) continue;
      std::byte* at = touch(statement.space, statement.slot, index[lane], AccessKind::atomic, lane);
      const Bits before = read_element(element, at);
      Bits after = operand[lane];
      if (statement.atomic != AtomicOp::exchange) {
        calculate(combine, combine.type, {&active, 1}, {&before, 1}, operand.subspan(lane, 1), {}, {&after, 1});
      }
      write_element(element, at, after);
      values_[statement.target][lane] = before;
    }
  }

  void run_tile(const Statement& statement, uint32_t subgroup) {
    const uint32_t lane = subgroup * kernel_.subgroup_size;
    const Tile& shape = kernel_.tiles[statement.slot];
    std::vector<float>& tile = tiles_[statement.slot][subgroup];
    if (statement.kind == StatementKind::tile_fill) {
      std::fill(tile.begin(), tile.end(), std::bit_cast<float>(static_cast<uint32_t>(value(statement.operands[0])[lane])));
    } else if (statement.kind == StatementKind::tile_set) {
      set_tile(statement, shape, tile, lane);
    } else if (statement.kind == StatementKind::tile_get) {
      for (uint32_t i = 0; i < kLaneTileLanes; ++i) {
        const LaneTilePlace place = lane_sum_place(i, statement.left);
        variables_[statement.source][lane + i] = std::bit_cast<uint32_t>(tile[std::size_t{place.row} * shape.columns + place.column]);
      }
    } else if (statement.kind == StatementKind::tile_multiply) {
      const std::vector<float>&left = tiles_[statement.left][subgroup], &right = tiles_[statement.right][subgroup];
      const uint32_t inner = kernel_.tiles[statement.left].columns;
      for (uint32_t i = 0; i < tile.size(); ++i) {
        for (uint32_t k = 0; k < inner; ++k) {
          tile[i] = std::fma(left[i / shape.columns * inner + k], right[k * shape.columns + i % shape.columns], tile[i]);
        }
      }
    } else if (statement.kind == StatementKind::tile_scale) {
      const std::vector<float>& factors = tiles_[statement.left][subgroup];
      for (uint32_t i = 0; i < tile.size(); ++i) tile[i] *= factors[i];
    } else {
      move_tile(statement, shape, tile, lane);
    }
  }

  void set_tile(const Statement& statement, const Tile& shape, std::vector<float>& tile, uint32_t first_lane) {
    const Node& words = kernel_.node(statement.operands[0]);
    for (uint32_t part = 0; part < words.lanes; ++part) {
      const std::span<const Bits> values =
          words.op == Op::vector ? value(words.operands[part]) : value(statement.operands[0]).subspan(std::size_t{part} * lanes_, lanes_);
      for (uint32_t lane = 0; lane < kLaneTileLanes; ++lane) {
        if (shape.role == TileRole::accumulator) {
          const LaneTilePlace place = lane_sum_place(lane, part);
          tile[std::size_t{place.row} * shape.columns + place.column] =
              std::bit_cast<float>(static_cast<uint32_t>(values[first_lane + lane]));
          continue;
        }
        for (uint32_t half = 0; half < 2; ++half) {
          const LaneTilePlace place = lane_tile_place(shape.role, lane, part, half);
          tile[std::size_t{place.row} * shape.columns + place.column] =
              f16_bits_to_float(static_cast<uint16_t>(values[first_lane + lane] >> (16 * half)));
        }
      }
    }
  }

  void move_tile(const Statement& statement, const Tile& shape, std::vector<float>& tile, uint32_t lane) {
    const Bits first = value(statement.operands[0])[lane], stride = value(statement.operands[1])[lane];
    const bool words = kernel_.element_of(statement.space, statement.source) != shape.element;
    for (uint32_t i = 0; i < tile.size(); ++i) {
      const uint32_t column = i % shape.columns;
      const uint64_t index = first + i / shape.columns * stride + (words ? column / 2 : column);
      if (statement.kind == StatementKind::tile_load) {
        std::byte* at = touch(statement.space, statement.source, index, AccessKind::read, lane) + (words ? column % 2 * 2 : 0);
        tile[i] = static_cast<float>(real_of(register_type(shape.element), read_element(shape.element, at)));
      } else {
        std::byte* at = touch(statement.space, statement.source, index, AccessKind::write, lane);
        write_element(shape.element, at, bits_of_real(register_type(shape.element), static_cast<double>(tile[i])));
      }
    }
  }

  Kernel kernel_;
  Grid grid_;
  uint32_t lanes_;
  std::vector<uint32_t> parameters_;
  bool keeps_subnormals_ = true;
  std::vector<Array> buffers_, shared_;
  std::vector<std::vector<std::byte>> shared_bytes_;
  std::vector<std::vector<Bits>> values_;  // per node; lanes of a vector one after the other
  std::vector<std::vector<Bits>> variables_;
  std::vector<std::vector<std::vector<float>>> tiles_;  // per tile and subgroup
  std::vector<std::size_t> end_of_;
  std::array<uint32_t, 3> group_{};
  uint32_t group_number_ = 0;
  uint32_t shared_interval_ = 0, buffer_interval_ = 0;
};

}  // namespace

void interpret(const Kernel& kernel, Grid grid, const LaunchArguments& arguments) { Interpreter(kernel, grid, arguments).run(); }

}  // namespace wick::ir
