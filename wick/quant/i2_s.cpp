#include "wick/quant/i2_s.h"

#include <array>
#include <cstring>

#include "wick/base/fail.h"
#include "wick/base/half.h"
#include "wick/quant/blocks.h"

namespace wick {
namespace {

constexpr size_t kBlock = 128;
constexpr size_t kBlockBytes = kBlock / 4;

// Of an element of one block: 3 means the same as 1.
unsigned raw_code_of(const std::byte* block, size_t element) noexcept {
  return (std::to_integer<unsigned>(block[element % kBlockBytes]) >> (6 - element / kBlockBytes * 2)) & 3;
}

uint8_t code_of(const std::byte* blocks, size_t element) noexcept {
  const unsigned code = raw_code_of(blocks + element / kBlock * kBlockBytes, element % kBlock);
  return static_cast<uint8_t>(code == 3 ? 1 : code);
}

// TQ2_0 has the same four codes in the same byte, in the opposite order.
constexpr std::array<uint8_t, 256> reversed_codes() {
  std::array<uint8_t, 256> table{};
  for (unsigned byte = 0; byte < 256; ++byte) {
    unsigned reversed = 0;
    for (unsigned place = 0; place < 4; ++place) {
      const unsigned code = (byte >> (6 - 2 * place)) & 3;
      reversed |= (code == 3 ? 1 : code) << (2 * place);
    }
    table[byte] = static_cast<uint8_t>(reversed);
  }
  return table;
}

void rewrite_as_tq2_0(const std::byte* codes, size_t elements, std::byte* blocks) {
  static constexpr std::array<uint8_t, 256> kReversed = reversed_codes();
  for (size_t index = 0; index < elements / BlockTQ2_0::kElements; ++index) {
    BlockTQ2_0 block{.codes = {}, .d = float_to_f16_bits(1)};
    for (size_t byte = 0; byte < sizeof(block.codes); ++byte) {
      block.codes[byte] = kReversed[std::to_integer<size_t>(codes[index * sizeof(block.codes) + byte])];
    }
    store_block(block, blocks, index);
  }
}

void rewrite_as_q2_0(const std::byte* codes, size_t elements, std::byte* blocks) {
  for (size_t index = 0; index < elements / BlockQ2_0::kElements; ++index) {
    BlockQ2_0 block{.d = float_to_f16_bits(1), .codes = {}};
    for (size_t j = 0; j < BlockQ2_0::kElements; ++j) {
      const uint8_t code = code_of(codes, index * BlockQ2_0::kElements + j);
      block.codes[j / 4] = static_cast<uint8_t>(block.codes[j / 4] | (code << (j % 4 * 2)));
    }
    store_block(block, blocks, index);
  }
}

}  // namespace

float i2_s_scale(std::span<const std::byte> bytes) noexcept {
  float scale = 0;
  std::memcpy(&scale, bytes.data() + bytes.size() - static_cast<size_t>(info(DType::i2_s).tail_bytes), sizeof(scale));
  return scale;
}

void unpack_i2_s(const std::byte* blocks, float scale, std::span<float> values) {
  WICK_ASSERT(values.size() % kBlock == 0);
  const std::array<float, 4> value_of = {-scale, 0 * scale, scale, 0 * scale};
  for (size_t block = 0; block < values.size(); block += kBlock, blocks += kBlockBytes) {
    for (size_t element = 0; element < kBlock; ++element) values[block + element] = value_of[raw_code_of(blocks, element)];
  }
}

DType ternary_blocks_for(int64_t columns) noexcept { return columns % BlockTQ2_0::kElements == 0 ? DType::tq2_0 : DType::q2_0; }

void rewrite_i2_s(const std::byte* codes, int64_t elements, DType to, std::byte* blocks) {
  WICK_ASSERT(elements % info(to).block_elements == 0);
  if (to == DType::tq2_0) return rewrite_as_tq2_0(codes, static_cast<size_t>(elements), blocks);
  WICK_ASSERT(to == DType::q2_0);
  rewrite_as_q2_0(codes, static_cast<size_t>(elements), blocks);
}

}  // namespace wick
