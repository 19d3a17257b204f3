#include "wick/quant/block_format.h"

#include <algorithm>
#include <cfloat>
#include <numeric>
#include <vector>

#include "wick/quant/rows.h"

namespace wick {
namespace {

#define WICK_FUNCTION_IF_yes(function) quant::function
#define WICK_FUNCTION_IF_no(function) nullptr
#define WICK_FORMAT(name, ggml_name, number, packs, packs_weighted, stand_in, needs_importance, file_type, use) \
  BlockFormat{DType::name,                                                                                      \
              ggml_name,                                                                                        \
              number,                                                                                           \
              quant::unpack_##name,                                                                             \
              WICK_FUNCTION_IF_##packs(pack_##name),                                                            \
              WICK_FUNCTION_IF_##packs_weighted(pack_weighted_##name),                                          \
              DType::stand_in,                                                                                  \
              needs_importance,                                                                                 \
              file_type,                                                                                        \
              use},
constexpr BlockFormat kFormats[] = {WICK_BLOCK_FORMATS(WICK_FORMAT)};
#undef WICK_FORMAT
#undef WICK_FUNCTION_IF_no
#undef WICK_FUNCTION_IF_yes

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
