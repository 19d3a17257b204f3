#include "wick/layout/dtype.h"

#include <array>

namespace wick {
namespace {

// clang-format off
constexpr std::array<DTypeInfo, kDTypeCount> kInfos = {{
    {"u8", 1, 1},        {"u32", 1, 4},       {"i8", 1, 1},       {"i16", 1, 2},      {"i32", 1, 4},       {"i64", 1, 8},
    {"bf16", 1, 2},      {"f16", 1, 2},       {"f32", 1, 4},      {"f64", 1, 8},       {"f8e4m3", 1, 1},
    {"q4_0", 32, 18},    {"q4_1", 32, 20},    {"q5_0", 32, 22},   {"q5_1", 32, 24},    {"q8_0", 32, 34},
    {"q8_1", 32, 36},    {"q2_k", 256, 84},   {"q3_k", 256, 110}, {"q4_k", 256, 144},  {"q5_k", 256, 176},
    {"q6_k", 256, 210},  {"q8_k", 256, 292},  {"iq1_s", 256, 50}, {"iq1_m", 256, 56},  {"iq2_xxs", 256, 66},
    {"iq2_xs", 256, 74}, {"iq2_s", 256, 82},  {"iq3_xxs", 256, 98}, {"iq3_s", 256, 110}, {"iq4_nl", 32, 18},
    {"iq4_xs", 256, 136}, {"tq1_0", 256, 54}, {"tq2_0", 256, 66}, {"mxfp4", 32, 17},   {"nvfp4", 64, 36},
    {"q1_0", 128, 18},   {"q2_0", 64, 18},    {"i2_s", 128, 32, 32},
    {"f16_x16", 32, 64}, {"bf16_x16", 32, 64}, {"q4_0_x16", 32, 18}, {"q4_1_x16", 32, 20},
    {"q5_0_x16", 32, 22}, {"q5_1_x16", 32, 24}, {"q8_0_x16", 32, 34}, {"q2_k_x16", 256, 84},
    {"q3_k_x16", 256, 110}, {"q4_k_x16", 256, 144}, {"q5_k_x16", 256, 176}, {"q6_k_x16", 256, 210},
    {"iq1_s_x16", 256, 50}, {"iq1_m_x16", 256, 56}, {"iq2_xxs_x16", 256, 66}, {"iq2_xs_x16", 256, 74},
    {"iq2_s_x16", 256, 82}, {"iq3_xxs_x16", 256, 98}, {"iq3_s_x16", 256, 110}, {"iq4_nl_x16", 32, 18},
    {"iq4_xs_x16", 256, 136}, {"tq1_0_x16", 256, 54}, {"tq2_0_x16", 256, 66}, {"mxfp4_x16", 32, 17},
    {"nvfp4_x16", 64, 36}, {"q1_0_x16", 128, 18}, {"q2_0_x16", 64, 18},
}};
// clang-format on

}  // namespace

const DTypeInfo& info(DType dtype) noexcept { return kInfos[static_cast<size_t>(dtype)]; }

std::optional<DType> parse_dtype(std::string_view name) noexcept {
  for (int id = 0; id < kDTypeCount; ++id) {
    if (kInfos[static_cast<size_t>(id)].name == name) return static_cast<DType>(id);
  }
  return std::nullopt;
}

}  // namespace wick
