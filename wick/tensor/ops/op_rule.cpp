#include "wick/tensor/ops/op_rule.h"

#include <array>

namespace wick {
namespace {

#define WICK_RULE(name, ...) &rules::name,
constexpr auto kRules = std::to_array<const OpRule*>({WICK_OPS(WICK_RULE)});
#undef WICK_RULE
static_assert(kRules.size() == kOpCount);

}  // namespace

const OpRule& rule(OpId op) noexcept { return *kRules[static_cast<size_t>(op)]; }

}  // namespace wick
