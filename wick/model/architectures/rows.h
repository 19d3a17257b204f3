// The rows of the table of architectures: each is defined in a file of its own, or in that of its kin.
#pragma once

#include <array>
#include <cstddef>

#include "wick/model/architectures/architecture.h"
#include "wick/model/checkpoint/model_config.h"

// A new architecture is a file beside this one, and its name here.
// clang-format off
#define WICK_ARCHITECTURES(ROW) \
  ROW(kLlama) \
  ROW(kQwen2) \
  ROW(kQwen2Vl) \
  ROW(kQwen3) \
  ROW(kQwen3Vl) \
  ROW(kGemma) \
  ROW(kGemma2) \
  ROW(kGemma3) \
  ROW(kPhi2) \
  ROW(kPhi3) \
  ROW(kGpt2) \
  ROW(kStarCoder2) \
  ROW(kStableLm) \
  ROW(kOlmo2) \
  ROW(kExaone4) \
  ROW(kExaoneMoe) \
  ROW(kGptNeox) \
  ROW(kSmolLm3) \
  ROW(kGranite) \
  ROW(kCohere) \
  ROW(kCohere2) \
  ROW(kGlm4) \
  ROW(kErnie) \
  ROW(kSeedOss) \
  ROW(kArcee) \
  ROW(kNemotron) \
  ROW(kApertus) \
  ROW(kQwen2Moe) \
  ROW(kQwen3Moe) \
  ROW(kOlmoe) \
  ROW(kGraniteMoe) \
  ROW(kPhiMoe) \
  ROW(kGptOss) \
  ROW(kGlm4Moe) \
  ROW(kDots1) \
  ROW(kErnieMoe) \
  ROW(kHunYuanMoe) \
  ROW(kMiniMaxM2) \
  ROW(kAfmoe) \
  ROW(kBailingMoe2) \
  ROW(kHunYuanDense) \
  ROW(kDeepSeek2) \
  ROW(kDeepSeek32) \
  ROW(kGlmDsa) \
  ROW(kLlama4) \
  ROW(kMistral3) \
  ROW(kFalcon) \
  ROW(kStarCoder) \
  ROW(kGptJ) \
  ROW(kBloom) \
  ROW(kMpt) \
  ROW(kOlmo) \
  ROW(kInternLm2) \
  ROW(kExaone) \
  ROW(kBitNet) \
  ROW(kBitNet25) \
  ROW(kBitNetB158) \
  ROW(kLfm2) \
  ROW(kLfm2Moe) \
  ROW(kMamba2) \
  ROW(kGraniteHybrid) \
  ROW(kFalconH1) \
  ROW(kNemotronH) \
  ROW(kNemotronHMoe) \
  ROW(kMamba) \
  ROW(kJamba) \
  ROW(kGemma3n) \
  ROW(kGemma4) \
  ROW(kQwen3Next) \
  ROW(kQwen35) \
  ROW(kQwen35Moe) \
  ROW(kKimiLinear) \
  ROW(kRwkv7) \
  ROW(kRecurrentGemma) \
  ROW(kMiniMax01) \
  ROW(kBert) \
  ROW(kNomicBert) \
  ROW(kNomicBertMoe) \
  ROW(kModernBert) \
  ROW(kAlbert) \
  ROW(kMpnet) \
  ROW(kJinaBertV2) \
  ROW(kGte) \
  ROW(kDebertaV2) \
  ROW(kGemmaEmbedding) \
  ROW(kLlamaEmbed) \
  ROW(kT5Encoder) \
  ROW(kT5) \
  ROW(kBart)
// clang-format on

namespace wick {

#define WICK_DECLARE_ARCHITECTURE(name) extern const Architecture name;
WICK_ARCHITECTURES(WICK_DECLARE_ARCHITECTURE)
#undef WICK_DECLARE_ARCHITECTURE

// The rows of several tables as one table.
template <class Row, size_t... sizes>
[[nodiscard]] constexpr std::array<Row, (sizes + ...)> joined(const Row (&... tables)[sizes]) {
  std::array<Row, (sizes + ...)> all{};
  size_t count = 0;
  const auto add = [&](const auto& table) {
    for (const Row& row : table) all[count++] = row;
  };
  (add(tables), ...);
  return all;
}

}  // namespace wick
