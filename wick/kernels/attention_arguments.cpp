#include "wick/kernels/attention_arguments.h"

#include <fmt/format.h>

namespace wick::kernels {

using ir::KernelBuilder;
using ir::Type;

CacheView::CacheView(KernelBuilder& k, std::string_view name)
    : offset(k.parameter(fmt::format("{}_offset", name), Type::u32)),
      head_stride(k.parameter(fmt::format("{}_head", name), Type::u32)),
      position_stride(k.parameter(fmt::format("{}_position", name), Type::u32)) {}

AttentionArguments::AttentionArguments(KernelBuilder& k)
    : width(k.parameter("width", Type::u32)),
      q_offset(k.parameter("q_offset", Type::u32)),
      keys(k, "k"),
      values(k, "v"),
      group(k.parameter("group", Type::u32)),
      heads(k.parameter("heads", Type::u32)),
      past(k.parameter("past", Type::u32)),
      rows(k.parameter("rows", Type::u32)),
      split_length(k.parameter("split_length", Type::u32)),
      scale(k.parameter("scale", Type::f32)),
      out_offset(k.parameter("out_offset", Type::u32)) {}

ir::Value AttentionArguments::written_row(KernelBuilder& k, bool splits, const ir::Value& row, const ir::Value& kv_head) const {
  const ir::Value place = output_row(row, kv_head);
  return splits ? place * k.group_count(2) + k.group_id(2) : place;
}

AttentionArguments::Positions AttentionArguments::positions(KernelBuilder& k, const ir::Value& first_row, uint32_t row_count) const {
  const ir::Value last_row = min(first_row + row_count, rows) - 1U, visible = past + last_row / group + 1U;
  const ir::Value begin = k.group_id(2) * split_length;
  return {begin, min(visible, begin + split_length)};
}

}  // namespace wick::kernels
