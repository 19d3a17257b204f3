#include <algorithm>
#include <vector>

#include "wick/ir/passes.h"
#include "wick/ir/rebuild.h"

namespace wick::ir {
namespace {

class BufferSplit final : public Rebuild {
 public:
  BufferSplit(const Kernel& source, std::span<const uint32_t> parts, uint32_t part_bytes)
      : Rebuild(source), parts_(parts.begin(), parts.end()), part_bytes_(part_bytes) {}

 protected:
  void begin() override {
    for (uint32_t slot = 0; slot < parts_.size(); ++slot) {
      further_.push_back(static_cast<uint32_t>(builder_.kernel().buffers.size()));
      const BufferArgument buffer = source_.buffers[slot];
      for (uint32_t part = 1; part < parts_[slot]; ++part) {
        (void)builder_.buffer(buffer.name + "_part" + std::to_string(part), buffer.element, buffer.access);
      }
    }
  }

  Value expression(const Node& node) override {
    if (node.op == Op::load && is_split(node.space, node.slot)) return node.lanes > 1 ? vector_of(node) : scalar_of(node);
    if (node.op != Op::lane) return copy(node);
    const Node of = builder_.kernel().node(value(node.operands[0]).id());
    return of.op == Op::vector ? Value(&builder_, of.operands[node.slot]) : copy(node);
  }

  void statement(std::size_t index) override {
    const Statement& s = source_.body[index];
    const bool writes = s.kind == StatementKind::store || s.kind == StatementKind::atomic;
    if (!writes || !is_split(s.space, s.slot)) return copy_statement(index);
    if (s.kind == StatementKind::atomic) return change(s);
    const Value at = value(s.operands[0]), stored = value(s.operands[1]);
    for (uint32_t part = 0; part < parts_[s.slot]; ++part) {
      Value gate = is_in(s.slot, part, at);
      if (s.operands[2] != kNoNode) gate = gate & value(s.operands[2]);
      Statement renewed = s;
      renewed.slot = slot_of(s.slot, part);
      renewed.operands = {place_in(s.slot, part, at).id(), stored.id(), gate.id()};
      builder_.append(std::move(renewed));
    }
  }

 private:
  [[nodiscard]] bool is_split(Space space, uint32_t slot) const { return space == Space::buffer && parts_[slot] > 1; }
  [[nodiscard]] uint32_t slot_of(uint32_t slot, uint32_t part) const { return part == 0 ? slot : further_[slot] + part - 1; }
  // Where a part begins, in elements.
  [[nodiscard]] uint32_t first_of(uint32_t slot, uint32_t part) const {
    return part * (part_bytes_ / static_cast<uint32_t>(info(source_.buffers[slot].element).bytes));
  }
  [[nodiscard]] Value place_in(uint32_t slot, uint32_t part, const Value& index) const {
    return part == 0 ? index : index - first_of(slot, part);
  }
  [[nodiscard]] Value is_in(uint32_t slot, uint32_t part, const Value& index) const {
    if (part == 0) return index < first_of(slot, 1);
    const Value begun = index >= first_of(slot, part);
    return part + 1 == parts_[slot] ? begun : begun & (index < first_of(slot, part + 1));
  }

  // What the load gives of that part: the alternative for an element of another one.
  Value load_of(const Node& node, uint32_t part, const Value& alternative) {
    const Value index = value(node.operands[0]);
    Value gate = is_in(node.slot, part, index);
    if (node.operands[1] != kNoNode) gate = gate & value(node.operands[1]);
    Node renewed = node;
    renewed.slot = slot_of(node.slot, part);
    renewed.operands = {place_in(node.slot, part, index).id(), gate.id(), alternative.id(), kNoNode};
    return builder_.intern(renewed);
  }
  Value alternative_of(const Node& node) {
    return node.operands[1] == kNoNode ? builder_.constant_bits(node.type, 0) : value(node.operands[2]);
  }
  Value scalar_of(const Node& node) {
    Value result = alternative_of(node);
    for (uint32_t part = 0; part < parts_[node.slot]; ++part) result = load_of(node, part, result);
    return result;
  }
  // No vector lies in two parts.
  Value vector_of(const Node& node) {
    const Value alternative = alternative_of(node);
    Node vector;
    vector.op = Op::vector;
    vector.type = node.type;
    vector.lanes = node.lanes;
    std::vector<Value> lanes(node.lanes);
    for (uint32_t part = 0; part < parts_[node.slot]; ++part) {
      const Vector loaded(load_of(node, part, alternative));
      for (uint32_t lane = 0; lane < node.lanes; ++lane) {
        lanes[lane] = part == 0 ? loaded[lane] : select(is_in(node.slot, part, value(node.operands[0])), loaded[lane], lanes[lane]);
        vector.operands[lane] = lanes[lane].id();
      }
    }
    return builder_.intern(vector);
  }

  void change(const Statement& s) {
    const Value at = value(s.operands[0]), operand = value(s.operands[1]);
    Variable before = builder_.variable(builder_.constant_bits(source_.node(s.target).type, 0));
    for (uint32_t part = 0; part < parts_[s.slot]; ++part) {
      builder_.when(is_in(s.slot, part, at),
                    [&] { before = memory(Space::buffer, slot_of(s.slot, part)).atomic(s.atomic, place_in(s.slot, part, at), operand); });
    }
    set_value(s.target, before);
  }

  std::vector<uint32_t> parts_, further_;  // further_: the number of the second part of each buffer
  uint32_t part_bytes_;
};

bool moves_tiles_of(const Kernel& kernel, uint32_t slot) {
  return std::any_of(kernel.body.begin(), kernel.body.end(), [&](const Statement& s) {
    return (s.kind == StatementKind::tile_load || s.kind == StatementKind::tile_store) && s.space == Space::buffer && s.source == slot;
  });
}

}  // namespace

std::optional<Kernel> split_buffers(const Kernel& kernel, std::span<const uint32_t> parts, uint32_t part_bytes) {
  if (!kernel.entry.empty()) return std::nullopt;
  for (uint32_t slot = 0; slot < parts.size(); ++slot) {
    const uint64_t last = (parts[slot] - 1) * uint64_t{part_bytes / static_cast<uint32_t>(info(kernel.buffers[slot].element).bytes)};
    if (parts[slot] > 1 && (moves_tiles_of(kernel, slot) || last > UINT32_MAX)) return std::nullopt;
  }
  return schedule(fold_constants(BufferSplit(kernel, parts, part_bytes).run()));
}

}  // namespace wick::ir
