#include "quant/block_format.h"

#include <array>

#include "quant/rows.h"

namespace wick {
namespace {

constexpr std::array kFormats = {
    BlockFormat{DType::f32, quant::unpack_f32, quant::pack_f32},    BlockFormat{DType::f16, quant::unpack_f16, quant::pack_f16},
    BlockFormat{DType::bf16, quant::unpack_bf16, quant::pack_bf16}, BlockFormat{DType::q4_0, quant::unpack_q4_0, quant::pack_q4_0},
    BlockFormat{DType::q8_0, quant::unpack_q8_0, quant::pack_q8_0}, BlockFormat{DType::q4_k, quant::unpack_q4_k, quant::pack_q4_k},
    BlockFormat{DType::q5_k, quant::unpack_q5_k, quant::pack_q5_k}, BlockFormat{DType::q6_k, quant::unpack_q6_k, quant::pack_q6_k},
};

}  // namespace

const BlockFormat* find_block_format(DType dtype) noexcept {
  for (const BlockFormat& format : kFormats) {
    if (format.dtype == dtype) return &format;
  }
  return nullptr;
}

std::span<const BlockFormat> block_formats() noexcept { return kFormats; }

}  // namespace wick
