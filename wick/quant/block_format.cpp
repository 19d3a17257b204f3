#include "wick/quant/block_format.h"

#include <algorithm>
#include <array>
#include <cfloat>
#include <numeric>
#include <vector>

#include "wick/quant/rows.h"

namespace wick {
namespace {

constexpr std::array kFormats = {
    BlockFormat{DType::f32, quant::unpack_f32, quant::pack_f32, nullptr},
    BlockFormat{DType::f16, quant::unpack_f16, quant::pack_f16, nullptr},
    BlockFormat{DType::bf16, quant::unpack_bf16, quant::pack_bf16, nullptr},
    BlockFormat{DType::q4_0, quant::unpack_q4_0, quant::pack_q4_0, quant::pack_weighted_q4_0},
    BlockFormat{DType::q4_1, quant::unpack_q4_1, quant::pack_q4_1, quant::pack_weighted_q4_1},
    BlockFormat{DType::q5_0, quant::unpack_q5_0, quant::pack_q5_0, quant::pack_weighted_q5_0},
    BlockFormat{DType::q5_1, quant::unpack_q5_1, quant::pack_q5_1, quant::pack_weighted_q5_1},
    BlockFormat{DType::q8_0, quant::unpack_q8_0, quant::pack_q8_0, nullptr},
    BlockFormat{DType::q8_1, quant::unpack_q8_1, quant::pack_q8_1, nullptr},
    BlockFormat{DType::q2_k, quant::unpack_q2_k, quant::pack_q2_k, quant::pack_weighted_q2_k},
    BlockFormat{DType::q3_k, quant::unpack_q3_k, quant::pack_q3_k, quant::pack_weighted_q3_k},
    BlockFormat{DType::q4_k, quant::unpack_q4_k, quant::pack_q4_k, quant::pack_weighted_q4_k},
    BlockFormat{DType::q5_k, quant::unpack_q5_k, quant::pack_q5_k, quant::pack_weighted_q5_k},
    BlockFormat{DType::q6_k, quant::unpack_q6_k, quant::pack_q6_k, quant::pack_weighted_q6_k},
    BlockFormat{DType::q8_k, quant::unpack_q8_k, quant::pack_q8_k, nullptr},
    BlockFormat{DType::iq1_s, quant::unpack_iq1_s, nullptr, quant::pack_weighted_iq1_s},
    BlockFormat{DType::iq1_m, quant::unpack_iq1_m, quant::pack_iq1_m, quant::pack_weighted_iq1_m},
    BlockFormat{DType::iq2_xxs, quant::unpack_iq2_xxs, nullptr, quant::pack_weighted_iq2_xxs},
    BlockFormat{DType::iq2_xs, quant::unpack_iq2_xs, nullptr, quant::pack_weighted_iq2_xs},
    BlockFormat{DType::iq2_s, quant::unpack_iq2_s, quant::pack_iq2_s, quant::pack_weighted_iq2_s},
    BlockFormat{DType::iq3_xxs, quant::unpack_iq3_xxs, quant::pack_iq3_xxs, quant::pack_weighted_iq3_xxs},
    BlockFormat{DType::iq3_s, quant::unpack_iq3_s, quant::pack_iq3_s, quant::pack_weighted_iq3_s},
    BlockFormat{DType::iq4_nl, quant::unpack_iq4_nl, quant::pack_iq4_nl, quant::pack_weighted_iq4_nl},
    BlockFormat{DType::iq4_xs, quant::unpack_iq4_xs, quant::pack_iq4_xs, quant::pack_weighted_iq4_xs},
    BlockFormat{DType::tq1_0, quant::unpack_tq1_0, quant::pack_tq1_0, nullptr},
    BlockFormat{DType::tq2_0, quant::unpack_tq2_0, quant::pack_tq2_0, nullptr},
    BlockFormat{DType::mxfp4, quant::unpack_mxfp4, quant::pack_mxfp4, nullptr},
    BlockFormat{DType::nvfp4, quant::unpack_nvfp4, quant::pack_nvfp4, nullptr},
    BlockFormat{DType::q1_0, quant::unpack_q1_0, quant::pack_q1_0, nullptr},
    BlockFormat{DType::q2_0, quant::unpack_q2_0, quant::pack_q2_0, nullptr},
};

// What a column of importance 0 counts, in proportion to the mean of its block.
constexpr float kMinShare = 1.0F / 16;

}  // namespace

void pack_row(const BlockFormat& format, std::span<const float> row, std::span<const float> importance, std::byte* blocks) {
  if (importance.empty() || format.pack_weighted == nullptr) return format.pack(row, blocks);
  if (std::find(importance.begin(), importance.end(), 0.0F) == importance.end()) return format.pack_weighted(row, importance, blocks);
  const auto size = static_cast<size_t>(info(format.dtype).block_elements);
  const auto block_bytes = static_cast<size_t>(info(format.dtype).block_bytes);
  std::vector<float> filled(importance.begin(), importance.end());
  std::vector<size_t> unknown;  // blocks of which nothing is known
  for (size_t first = 0; first < row.size(); first += size) {
    const std::span<float> block = std::span(filled).subspan(first, size);
    const double sum = std::accumulate(block.begin(), block.end(), 0.0);
    if (sum == 0) unknown.push_back(first / size);
    const float least = sum == 0 ? 1.0F : std::max(static_cast<float>(sum / static_cast<double>(size)) * kMinShare, FLT_MIN);
    std::replace(block.begin(), block.end(), 0.0F, least);
  }
  format.pack_weighted(row, filled, blocks);
  if (format.pack == nullptr) return;
  for (const size_t block : unknown) format.pack(row.subspan(block * size, size), blocks + block * block_bytes);
}

const BlockFormat* find_block_format(DType dtype) noexcept {
  for (const BlockFormat& format : kFormats) {
    if (format.dtype == dtype) return &format;
  }
  return nullptr;
}

std::span<const BlockFormat> block_formats() noexcept { return kFormats; }

}  // namespace wick
