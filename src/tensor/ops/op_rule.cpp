#include "tensor/ops/op_rule.h"

namespace wick {

const OpRule& rule(OpId op) noexcept {
  switch (op) {
    case OpId::fill: return kFillRule;
    case OpId::copy: return kCopyRule;
    case OpId::unary: return kUnaryRule;
    case OpId::binary: return kBinaryRule;
    case OpId::softmax: return kSoftmaxRule;
    case OpId::argmax: return kArgmaxRule;
    case OpId::rms_norm: return kRmsNormRule;
    case OpId::rope: return kRopeRule;
    case OpId::embedding: return kEmbeddingRule;
    case OpId::matmul: return kMatmulRule;
    case OpId::linear: return kLinearRule;
    case OpId::gated_linear: return kGatedLinearRule;
    case OpId::attention: return kAttentionRule;
    case OpId::repack: return kRepackRule;
  }
  return kFillRule;
}

}  // namespace wick
