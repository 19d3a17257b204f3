// The type rule of each node: what its operands must be.
#pragma once

#include "wick/ir/kernel.h"

namespace wick::ir {

// Refuses a node whose operands' types, slots or constants break its rule; the message names the kernel, the node and the types.
void check_node(const Kernel& kernel, const Node& node);
// The same for a statement.
void check_statement(const Kernel& kernel, const Statement& statement);
// A name of a kernel, a buffer or a parameter: lower-case letters and digits, words joined by single underscores.
void check_name(const Kernel& kernel, std::string_view what, std::string_view name);

}  // namespace wick::ir
