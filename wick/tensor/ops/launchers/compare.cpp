// compare and where_cond: masks, and choices by them.
#include "wick/kernels/conversions.h"
#include "wick/kernels/math.h"
#include "wick/kernels/numbers.h"
#include "wick/tensor/ops/launchers/launcher.h"
#include "wick/tensor/ops/launchers/launchers.h"

namespace wick::launchers {
namespace {

using ir::Type;
using ir::Value;

// One kernel for all kinds: bit 0 of a kind's mask is its answer where lhs is less, bit 1 where both are equal, bit 2 where lhs is greater,
// bit 3 where one is NaN.
uint32_t mask_of(CompareKind kind) {
  switch (kind) {
    case CompareKind::eq: return 0b0010;
    case CompareKind::ne: return 0b1101;
    case CompareKind::le: return 0b0011;
    case CompareKind::ge: return 0b0110;
    case CompareKind::lt: return 0b0001;
    case CompareKind::gt: return 0b0100;
  }
  return 0;
}

Value relation(const Value& a, const Value& b) {
  ir::KernelBuilder& k = *a.builder();
  const Value ordered = select(a < b, k.constant(0U), select(a == b, k.constant(1U), 2U));
  if (is_integer(a.type())) return ordered;
  return select(kernels::is_nan(a) | kernels::is_nan(b), 3U, ordered);
}

}  // namespace

void compare(const OpCall& call) {
  const DType dtype = call.inputs[0].dtype;
  const auto make = [&] {
    return kernels::Elementwise{"compare_" + std::string(to_string(dtype)), {dtype, dtype}, DType::u8, 1, Type::u32, [](auto x, auto mask) {
                                  return (mask[0] >> relation(x[0], x[1])) & 1U;
                                }};
  };
  launch_elementwise(call, {"compare", {number_of(dtype)}}, make, false, Arguments().bits(mask_of(call.parameters<CompareParams>().kind)));
}

void where_cond(const OpCall& call) {
  const DType condition = call.inputs[0].dtype, dtype = kernels::moved_as(call.inputs[1].dtype);
  const auto make = [&] {
    const std::string name = "where_" + std::string(to_string(condition)) + "_" + std::string(to_string(dtype));
    return kernels::Elementwise{
        name, {condition, dtype, dtype}, dtype, 0, Type::u32, [](auto x, auto /*p*/) { return select(cast(Type::b1, x[0]), x[1], x[2]); }};
  };
  launch_elementwise(call, {"where", {static_cast<uint32_t>(condition), number_of(dtype)}}, make, false);
}

}  // namespace wick::launchers
