// The pack and unpack functions that the table of block formats names; see block_format.h for what they do.
#pragma once

#include <cstddef>
#include <span>

namespace wick::quant {

void unpack_f32(const std::byte* blocks, std::span<float> values);
void unpack_f16(const std::byte* blocks, std::span<float> values);
void unpack_bf16(const std::byte* blocks, std::span<float> values);
void unpack_q4_0(const std::byte* blocks, std::span<float> values);
void unpack_q4_1(const std::byte* blocks, std::span<float> values);
void unpack_q5_0(const std::byte* blocks, std::span<float> values);
void unpack_q5_1(const std::byte* blocks, std::span<float> values);
void unpack_q8_0(const std::byte* blocks, std::span<float> values);
void unpack_q8_1(const std::byte* blocks, std::span<float> values);
void unpack_q2_k(const std::byte* blocks, std::span<float> values);
void unpack_q3_k(const std::byte* blocks, std::span<float> values);
void unpack_q4_k(const std::byte* blocks, std::span<float> values);
void unpack_q5_k(const std::byte* blocks, std::span<float> values);
void unpack_q6_k(const std::byte* blocks, std::span<float> values);
void unpack_q8_k(const std::byte* blocks, std::span<float> values);
void unpack_iq1_s(const std::byte* blocks, std::span<float> values);
void unpack_iq1_m(const std::byte* blocks, std::span<float> values);
void unpack_iq2_xxs(const std::byte* blocks, std::span<float> values);
void unpack_iq2_xs(const std::byte* blocks, std::span<float> values);
void unpack_iq2_s(const std::byte* blocks, std::span<float> values);
void unpack_iq3_xxs(const std::byte* blocks, std::span<float> values);
void unpack_iq3_s(const std::byte* blocks, std::span<float> values);
void unpack_iq4_nl(const std::byte* blocks, std::span<float> values);
void unpack_iq4_xs(const std::byte* blocks, std::span<float> values);
void unpack_tq1_0(const std::byte* blocks, std::span<float> values);
void unpack_tq2_0(const std::byte* blocks, std::span<float> values);
void unpack_mxfp4(const std::byte* blocks, std::span<float> values);
void unpack_nvfp4(const std::byte* blocks, std::span<float> values);
void unpack_q1_0(const std::byte* blocks, std::span<float> values);
void unpack_q2_0(const std::byte* blocks, std::span<float> values);

void pack_f32(std::span<const float> values, std::byte* blocks);
void pack_f16(std::span<const float> values, std::byte* blocks);
void pack_bf16(std::span<const float> values, std::byte* blocks);
void pack_q4_0(std::span<const float> values, std::byte* blocks);
void pack_q4_1(std::span<const float> values, std::byte* blocks);
void pack_q5_0(std::span<const float> values, std::byte* blocks);
void pack_q5_1(std::span<const float> values, std::byte* blocks);
void pack_q8_0(std::span<const float> values, std::byte* blocks);
void pack_q8_1(std::span<const float> values, std::byte* blocks);
void pack_q2_k(std::span<const float> values, std::byte* blocks);
void pack_q3_k(std::span<const float> values, std::byte* blocks);
void pack_q4_k(std::span<const float> values, std::byte* blocks);
void pack_q5_k(std::span<const float> values, std::byte* blocks);
void pack_q6_k(std::span<const float> values, std::byte* blocks);
void pack_q8_k(std::span<const float> values, std::byte* blocks);
void pack_iq1_m(std::span<const float> values, std::byte* blocks);
void pack_iq2_s(std::span<const float> values, std::byte* blocks);
void pack_iq3_xxs(std::span<const float> values, std::byte* blocks);
void pack_iq3_s(std::span<const float> values, std::byte* blocks);
void pack_iq4_nl(std::span<const float> values, std::byte* blocks);
void pack_iq4_xs(std::span<const float> values, std::byte* blocks);
void pack_tq1_0(std::span<const float> values, std::byte* blocks);
void pack_tq2_0(std::span<const float> values, std::byte* blocks);
void pack_mxfp4(std::span<const float> values, std::byte* blocks);
void pack_nvfp4(std::span<const float> values, std::byte* blocks);
void pack_q1_0(std::span<const float> values, std::byte* blocks);
void pack_q2_0(std::span<const float> values, std::byte* blocks);

void pack_weighted_q4_0(std::span<const float> row, std::span<const float> importance, std::byte* blocks);
void pack_weighted_q4_1(std::span<const float> row, std::span<const float> importance, std::byte* blocks);
void pack_weighted_q5_0(std::span<const float> row, std::span<const float> importance, std::byte* blocks);
void pack_weighted_q5_1(std::span<const float> row, std::span<const float> importance, std::byte* blocks);
void pack_weighted_q2_k(std::span<const float> row, std::span<const float> importance, std::byte* blocks);
void pack_weighted_q3_k(std::span<const float> row, std::span<const float> importance, std::byte* blocks);
void pack_weighted_q4_k(std::span<const float> row, std::span<const float> importance, std::byte* blocks);
void pack_weighted_q5_k(std::span<const float> row, std::span<const float> importance, std::byte* blocks);
void pack_weighted_q6_k(std::span<const float> row, std::span<const float> importance, std::byte* blocks);
void pack_weighted_iq1_s(std::span<const float> row, std::span<const float> importance, std::byte* blocks);
void pack_weighted_iq1_m(std::span<const float> row, std::span<const float> importance, std::byte* blocks);
void pack_weighted_iq2_xxs(std::span<const float> row, std::span<const float> importance, std::byte* blocks);
void pack_weighted_iq2_xs(std::span<const float> row, std::span<const float> importance, std::byte* blocks);
void pack_weighted_iq2_s(std::span<const float> row, std::span<const float> importance, std::byte* blocks);
void pack_weighted_iq3_xxs(std::span<const float> row, std::span<const float> importance, std::byte* blocks);
void pack_weighted_iq3_s(std::span<const float> row, std::span<const float> importance, std::byte* blocks);
void pack_weighted_iq4_nl(std::span<const float> row, std::span<const float> importance, std::byte* blocks);
void pack_weighted_iq4_xs(std::span<const float> row, std::span<const float> importance, std::byte* blocks);

}  // namespace wick::quant
