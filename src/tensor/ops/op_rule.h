// An OpRule states an op once for all backends: which operand's dtype chooses the implementation, and what it means, as loops in f64.
#pragma once

#include <span>
#include <vector>

#include "device/op.h"
#include "layout/shape.h"

namespace wick {

// An operand of the reference loops: its elements in row-major order, dequantized and widened.
struct ReferenceTensor {
  Shape shape;
  std::vector<double> values;
  DType dtype = DType::f64;  // of the operand itself
};

// Computes every output (its shape is set, its values are sized) from the inputs. It is truth, not speed.
using ReferenceFunction = void (*)(const void* params, std::span<const ReferenceTensor> inputs, std::span<ReferenceTensor> outputs);

struct OpRule {
  OpId op;
  // The operand whose dtype chooses the implementation: an input's number, or kFirstOutput.
  int defining_operand;
  // nullptr: the op has no meaning of its own beyond the bytes it moves (repack).
  ReferenceFunction reference;
};

inline constexpr int kFirstOutput = -1;

[[nodiscard]] const OpRule& rule(OpId op) noexcept;

// The rules, each defined in its op's own file.
extern const OpRule kFillRule, kCopyRule, kUnaryRule, kBinaryRule, kSoftmaxRule, kArgmaxRule, kRmsNormRule, kRopeRule, kEmbeddingRule,
    kMatmulRule, kLinearRule, kGatedLinearRule, kAttentionRule, kRepackRule;

}  // namespace wick
