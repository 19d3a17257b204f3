// A Rebuild writes a kernel anew, node by node and statement by statement; a pass overrides what it changes.
#pragma once

#include <vector>

#include "wick/ir/builder.h"

namespace wick::ir {

class Rebuild {
 public:
  explicit Rebuild(const Kernel& source);
  virtual ~Rebuild() = default;
  Rebuild(const Rebuild&) = delete;
  Rebuild& operator=(const Rebuild&) = delete;

  // Buffers, parameters, shared arrays and tiles keep their numbers; a pass may add behind them.
  [[nodiscard]] Kernel run();

 protected:
  // Declarations before the first statement.
  virtual Element element(Space /*space*/, uint32_t slot, Element old) { return (void)slot, old; }
  virtual uint32_t shared_count(uint32_t slot) { return source_.shared[slot].count; }
  virtual void begin() {}
  // The new value of an old node; its operands are value()s.
  virtual Value expression(const Node& node) { return copy(node); }
  // Writes the statement at `index`; what opens a block writes the whole of it.
  virtual void statement(std::size_t index) { copy_statement(index); }

  [[nodiscard]] Value value(NodeId old);
  void set_value(NodeId old, const Value& value) { values_[old] = value; }
  // The node with new operands.
  [[nodiscard]] Value copy(const Node& node);
  void copy_statement(std::size_t index);
  void copy_block(std::size_t begin, std::size_t end);
  [[nodiscard]] std::size_t end_of(std::size_t opening) const { return ends_[opening]; }
  [[nodiscard]] Memory memory(Space space, uint32_t slot) { return {&builder_, space, slot}; }
  [[nodiscard]] Variable& variable(uint32_t slot);
  [[nodiscard]] const Node& old_node(NodeId id) const { return source_.node(id); }

  const Kernel& source_;
  KernelBuilder builder_;

 private:
  std::vector<Value> values_;
  std::vector<std::vector<Variable>> variables_;  // none or one for each old slot
  std::vector<std::size_t> ends_;
};

}  // namespace wick::ir
