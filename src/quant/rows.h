// The pack and unpack functions that the table of block formats names; see block_format.h for what they do.
#pragma once

#include <cstddef>
#include <span>

namespace wick::quant {

void unpack_f32(const std::byte* blocks, std::span<float> values);
void unpack_f16(const std::byte* blocks, std::span<float> values);
void unpack_bf16(const std::byte* blocks, std::span<float> values);
void unpack_q4_0(const std::byte* blocks, std::span<float> values);
void unpack_q8_0(const std::byte* blocks, std::span<float> values);
void unpack_q4_k(const std::byte* blocks, std::span<float> values);
void unpack_q5_k(const std::byte* blocks, std::span<float> values);
void unpack_q6_k(const std::byte* blocks, std::span<float> values);

void pack_f32(std::span<const float> values, std::byte* blocks);
void pack_f16(std::span<const float> values, std::byte* blocks);
void pack_bf16(std::span<const float> values, std::byte* blocks);
void pack_q4_0(std::span<const float> values, std::byte* blocks);
void pack_q8_0(std::span<const float> values, std::byte* blocks);
void pack_q4_k(std::span<const float> values, std::byte* blocks);
void pack_q5_k(std::span<const float> values, std::byte* blocks);
void pack_q6_k(std::span<const float> values, std::byte* blocks);

}  // namespace wick::quant
