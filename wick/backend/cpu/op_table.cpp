#include "wick/backend/cpu/op_table.h"

#include <array>

#include "wick/quant/block_format.h"

namespace wick::cpu {
namespace {

using Row = std::array<OpFunction, kDTypeCount>;
using Table = std::array<Row, kOpCount>;

void set(Table& table, OpId op, DType dtype, OpFunction function) { table[static_cast<size_t>(op)][static_cast<size_t>(dtype)] = function; }

Table build_table() {
  Table table{};
  for (int id = 0; id < kDTypeCount; ++id) {
    const auto dtype = static_cast<DType>(id);
    if (is_quantized(dtype)) continue;
    set(table, OpId::copy, dtype, copy_plain);
    set(table, OpId::fill, dtype, fill_any);
    set(table, OpId::unary, dtype, unary_any);
    set(table, OpId::binary, dtype, binary_any);
    set(table, OpId::compare, dtype, compare_any);
    set(table, OpId::where_cond, dtype, where_any);
    set(table, OpId::reduce, dtype, reduce_any);
    set(table, OpId::cumsum, dtype, cumsum_any);
    set(table, OpId::sort, dtype, sort_any);
    set(table, OpId::index_select, dtype, index_select_any);
    set(table, OpId::gather, dtype, gather_any);
    set(table, OpId::scatter, dtype, scatter_any);
    set(table, OpId::index_add, dtype, index_add_any);
    set(table, OpId::max_pool2d, dtype, max_pool_any);
    set(table, OpId::upsample2d, dtype, upsample_any);
    if (!is_float(dtype)) continue;
    set(table, OpId::random, dtype, random_any);
    set(table, OpId::softmax, dtype, softmax_any);
    set(table, OpId::rms_norm, dtype, rms_norm_any);
    set(table, OpId::add_rms_norm, dtype, add_rms_norm_any);
    set(table, OpId::layer_norm, dtype, layer_norm_any);
    set(table, OpId::rope, dtype, rope_any);
    set(table, OpId::avg_pool2d, dtype, avg_pool_float);
    for (const OpId op : {OpId::conv2d, OpId::conv_transpose2d}) set(table, op, dtype, dtype == DType::f64 ? conv_f64 : conv_float);
  }
  set(table, OpId::matmul, DType::f32, matmul_f32);
  set(table, OpId::matmul, DType::f64, matmul_f64);
  set(table, OpId::recurrent_step, DType::f32, recurrent_step_f32);
  set(table, OpId::causal_conv, DType::f32, causal_conv_f32);
  for (const DType dtype : {DType::f16, DType::bf16, DType::f8e4m3}) set(table, OpId::matmul, dtype, matmul_narrow);
  for (const DType dtype : kCacheDTypes) {
    set(table, OpId::attention, dtype, attention_any);
    set(table, OpId::rope_into_cache, dtype, rope_into_cache_any);
  }
  for (const BlockFormat& format : block_formats()) {
    set(table, OpId::embedding, format.dtype, embedding_any);
    set(table, OpId::linear, format.dtype, linear_any);
    set(table, OpId::gated_linear, format.dtype, gated_linear_any);
    set(table, OpId::linear_experts, format.dtype, linear_experts_any);
    set(table, OpId::gated_linear_experts, format.dtype, linear_experts_any);
    if (is_quantized(format.dtype)) set(table, OpId::copy, format.dtype, copy_quantized);
  }
  set(table, OpId::copy, DType::i2_s, copy_quantized);
  return table;
}

}  // namespace

OpFunction op_function(OpId op, DType dtype) noexcept {
  static const Table table = build_table();
  return table[static_cast<size_t>(op)][static_cast<size_t>(dtype)];
}

}  // namespace wick::cpu
