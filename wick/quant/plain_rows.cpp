// Rows of plain numbers, in the same table as the blocks so that a weight's dtype is one lookup.
#include <cstring>

#include "wick/base/half.h"
#include "wick/quant/rows.h"

namespace wick::quant {
namespace {

template <class Half>
void unpack_half(const std::byte* blocks, std::span<float> values) {
  for (size_t index = 0; index < values.size(); ++index) {
    uint16_t bits = 0;
    std::memcpy(&bits, blocks + index * sizeof(bits), sizeof(bits));
    values[index] = Half::from_bits(bits);
  }
}

template <class Half>
void pack_half(std::span<const float> values, std::byte* blocks) {
  for (size_t index = 0; index < values.size(); ++index) {
    const uint16_t bits = Half(values[index]).bits;
    std::memcpy(blocks + index * sizeof(bits), &bits, sizeof(bits));
  }
}

}  // namespace

void unpack_f32(const std::byte* blocks, std::span<float> values) {
  if (!values.empty()) std::memcpy(values.data(), blocks, values.size_bytes());
}
void unpack_f16(const std::byte* blocks, std::span<float> values) { unpack_half<f16>(blocks, values); }
void unpack_bf16(const std::byte* blocks, std::span<float> values) { unpack_half<bf16>(blocks, values); }

void pack_f32(std::span<const float> values, std::byte* blocks) {
  if (!values.empty()) std::memcpy(blocks, values.data(), values.size_bytes());
}
void pack_f16(std::span<const float> values, std::byte* blocks) { pack_half<f16>(values, blocks); }
void pack_bf16(std::span<const float> values, std::byte* blocks) { pack_half<bf16>(values, blocks); }

}  // namespace wick::quant
