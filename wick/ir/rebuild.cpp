#include "wick/ir/rebuild.h"

#include "wick/base/fail.h"

namespace wick::ir {

Rebuild::Rebuild(const Kernel& source)
    : source_(source),
      builder_(source.name, {.group_size = source.group_size, .subgroup_size = source.subgroup_size, .math = source.math}),
      values_(source.nodes.size()),
      variables_(source.variables.size()),
      ends_(source.body.size()) {
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < source.body.size(); ++i) {
    const StatementKind kind = source.body[i].kind;
    if (kind == StatementKind::loop || kind == StatementKind::when) open.push_back(i);
    if (kind != StatementKind::end) continue;
    WICK_ASSERT(!open.empty());
    ends_[open.back()] = i;
    open.pop_back();
  }
}

Kernel Rebuild::run() {
  for (uint32_t slot = 0; slot < source_.buffers.size(); ++slot) {
    const BufferArgument& buffer = source_.buffers[slot];
    const Memory renewed = builder_.buffer(buffer.name, element(Space::buffer, slot, buffer.element), buffer.access);
    if (buffer.once) builder_.reads_once(renewed);
  }
  for (const ParameterArgument& parameter : source_.parameters) (void)builder_.parameter(parameter.name, parameter.type);
  for (uint32_t slot = 0; slot < source_.shared.size(); ++slot) {
    (void)builder_.shared(element(Space::shared, slot, source_.shared[slot].element), shared_count(slot));
  }
  for (const Tile& tile : source_.tiles) (void)builder_.tile(tile.role, tile.element, tile.rows, tile.columns);
  begin();
  copy_block(0, source_.body.size());
  return builder_.finish();
}

Value Rebuild::value(NodeId old) {
  if (values_[old].builder() == nullptr) {
    const Node& node = source_.node(old);
    WICK_ASSERT(!is_read(node.op) && node.op != Op::loop_index && node.op != Op::atomic_result);
    values_[old] = expression(node);
  }
  return values_[old];
}

Value Rebuild::copy(const Node& node) {
  Node renewed = node;
  for (NodeId& operand : renewed.operands) {
    if (operand != kNoNode) operand = value(operand).id();
  }
  return builder_.intern(renewed);
}

Variable& Rebuild::variable(uint32_t slot) {
  WICK_ASSERT(!variables_[slot].empty());
  return variables_[slot].front();
}

void Rebuild::copy_block(std::size_t begin, std::size_t end) {
  for (std::size_t i = begin; i < end; ++i) {
    const StatementKind kind = source_.body[i].kind;
    statement(i);
    if (kind == StatementKind::loop || kind == StatementKind::when) i = ends_[i];
  }
}

void Rebuild::copy_statement(std::size_t index) {
  const Statement& old = source_.body[index];
  switch (old.kind) {
    case StatementKind::let: {
      const Node& node = source_.node(old.target);
      if (node.op == Op::read) {
        set_value(old.target, variable(node.slot));
      } else if (is_read(node.op)) {
        set_value(old.target, expression(node));
      }
      return;  // other expressions get a place when they are used
    }
    case StatementKind::variable:
      variables_[old.slot].clear();
      variables_[old.slot].push_back(builder_.variable(value(old.operands[0])));
      return;
    case StatementKind::assign: variable(old.slot) = value(old.operands[0]); return;
    case StatementKind::tile_get: return builder_.tile_get(variable(old.source), old.slot, old.left);
    case StatementKind::atomic:
      set_value(old.target, memory(old.space, old.slot).atomic(old.atomic, value(old.operands[0]), value(old.operands[1])));
      return;
    case StatementKind::loop:
      builder_.loop(
          value(old.operands[0]), value(old.operands[1]), old.step,
          [&](const Value& i) {
            set_value(old.target, i);
            copy_block(index + 1, ends_[index]);
          },
          old.unroll);
      return;
    case StatementKind::when: builder_.when(value(old.operands[0]), [&] { copy_block(index + 1, ends_[index]); }); return;
    case StatementKind::end: return;
    case StatementKind::comment:
    case StatementKind::store:
    case StatementKind::barrier:
    case StatementKind::tile_fill:
    case StatementKind::tile_set:
    case StatementKind::tile_load:
    case StatementKind::tile_multiply:
    case StatementKind::tile_scale:
    case StatementKind::tile_store: {
      Statement renewed = old;
      for (NodeId& operand : renewed.operands) {
        if (operand != kNoNode) operand = value(operand).id();
      }
      builder_.append(std::move(renewed));
      return;
    }
  }
}

}  // namespace wick::ir
