#include "wick/tensor/ops/op_rule.h"

namespace wick {

const OpRule& rule(OpId op) noexcept {
  switch (op) {
    case OpId::fill: return kFillRule;
    case OpId::copy: return kCopyRule;
    case OpId::unary: return kUnaryRule;
    case OpId::binary: return kBinaryRule;
    case OpId::compare: return kCompareRule;
    case OpId::where_cond: return kWhereCondRule;
    case OpId::reduce: return kReduceRule;
    case OpId::cumsum: return kCumsumRule;
    case OpId::sort: return kSortRule;
    case OpId::softmax: return kSoftmaxRule;
    case OpId::rms_norm: return kRmsNormRule;
    case OpId::add_rms_norm: return kAddRmsNormRule;
    case OpId::layer_norm: return kLayerNormRule;
    case OpId::rope: return kRopeRule;
    case OpId::rope_into_cache: return kRopeIntoCacheRule;
    case OpId::embedding: return kEmbeddingRule;
    case OpId::index_select: return kIndexSelectRule;
    case OpId::gather: return kGatherRule;
    case OpId::scatter: return kScatterRule;
    case OpId::index_add: return kIndexAddRule;
    case OpId::matmul: return kMatmulRule;
    case OpId::linear: return kLinearRule;
    case OpId::gated_linear: return kGatedLinearRule;
    case OpId::attention: return kAttentionRule;
    case OpId::conv2d: return kConv2dRule;
    case OpId::conv_transpose2d: return kConvTranspose2dRule;
    case OpId::avg_pool2d: return kAvgPool2dRule;
    case OpId::max_pool2d: return kMaxPool2dRule;
    case OpId::upsample2d: return kUpsample2dRule;
    case OpId::random: return kRandomRule;
    case OpId::repack: return kRepackRule;
  }
  return kFillRule;
}

}  // namespace wick
