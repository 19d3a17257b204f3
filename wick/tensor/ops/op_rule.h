// An OpRule states an op once for all backends: which operand's dtype chooses the implementation, what it means, as loops in f64, how
// gradients pass back through it, and which dtypes it refuses.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "wick/device/op_call.h"
#include "wick/layout/shape.h"
#include "wick/tensor/tape.h"

namespace wick {

// An operand of the reference loops: its elements in row-major order, dequantized and widened.
struct ReferenceTensor {
  Shape shape;
  std::vector<double> values;
  DType dtype = DType::f64;  // of the operand itself
};

// Computes every output (its shape is set, its values are sized; they are the output's own where the op updates) from the inputs. It is
// truth, not speed.
using ReferenceFunction = void (*)(const void* params, std::span<const ReferenceTensor> inputs, std::span<ReferenceTensor> outputs);
// Why no device carries out the op on that dtype of its defining operand; empty if every device should.
using UnsupportedReason = std::string_view (*)(DType dtype);

// How an op handles gradients.
//   function: `gradient` passes them on.
//   none: the result does not depend on its operands in a way that has a derivative (indices, comparisons): it is not tracked.
//   missing: there is none, and a tracked operand is refused.
enum class GradientKind { function, none, missing };

struct OpRule {
  // The operand whose dtype chooses the implementation: an input's number, or kFirstOutput.
  int defining_operand;
  ReferenceFunction reference;
  UnsupportedReason unsupported = nullptr;
  GradientKind gradient_kind = GradientKind::missing;
  GradientFunction gradient = nullptr;
  bool updates = false;  // the outputs' own elements are read too
};

inline constexpr int kFirstOutput = -1;

[[nodiscard]] const OpRule& rule(OpId op) noexcept;

// Reasons for holes that several ops share.
inline constexpr std::string_view kDequantizeFirst = "quantized numbers are for weights: convert them with to_dtype first";
inline constexpr std::string_view kFloatsOnly = "it takes floats only; convert it with to_dtype first";
[[nodiscard]] inline std::string_view refuse_quantized(DType dtype) { return is_quantized(dtype) ? kDequantizeFirst : std::string_view(); }
[[nodiscard]] inline std::string_view refuse_all_but_floats(DType dtype) {
  return is_integer(dtype) ? kFloatsOnly : refuse_quantized(dtype);
}

// The rules, each defined in its op's own file.
namespace rules {
#define WICK_RULE(name, ...) extern const OpRule name;
WICK_OPS(WICK_RULE)
#undef WICK_RULE
}  // namespace rules

}  // namespace wick
