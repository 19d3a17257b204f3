// A reduction over all lanes of a group, through subgroups where the kernel has them and the type takes part in them.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "wick/ir/builder.h"

namespace [[gnu::visibility("default")]] wick {
namespace kernels {

class GroupReduce {
 public:
  // Subgroups, where the kernel has them, fill the group.
  explicit GroupReduce(ir::KernelBuilder& builder, ir::Type type = ir::Type::f32) : builder_(builder), type_(type) {}

  // The reduction of every lane's value, in every lane. Stands in uniform control flow, begins and ends with a barrier.
  [[nodiscard]] ir::Value operator()(ir::Reduce reduce, const ir::Value& value);
  // Those of several values, of all calls as many, for the barriers of one.
  [[nodiscard]] std::vector<ir::Value> operator()(ir::Reduce reduce, std::span<const ir::Value> values);

 private:
  // Reduces through subgroups, which are smaller than the group; else through a tree.
  [[nodiscard]] bool by_subgroups() const;
  [[nodiscard]] ir::Value tree(ir::Reduce reduce, const ir::Value& value);

  ir::KernelBuilder& builder_;
  ir::Type type_;
  std::optional<ir::Memory> scratch_, scratch_of_several_;
};

[[nodiscard]] ir::Value combine(ir::Reduce reduce, const ir::Value& a, const ir::Value& b);

}  // namespace kernels
}  // namespace wick
