#include "model/random_rows.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "base/half.h"
#include "quant/blocks.h"

namespace wick {
namespace {

constexpr double kDeviation = 0.02;

// SplitMix64 (Steele, Lea and Flood 2014).
class RandomBits {
 public:
  explicit RandomBits(uint64_t seed) : state_(seed) {}
  uint64_t next() noexcept {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  // The sum of four uniform numbers is close to normal (Irwin-Hall); scaled to kDeviation.
  float next_weight() noexcept {
    const uint64_t bits = next();
    const int64_t sum =
        static_cast<int64_t>((bits & 0xffff) + ((bits >> 16) & 0xffff) + ((bits >> 32) & 0xffff) + (bits >> 48)) - 2 * 65535;
    constexpr double kSumDeviation = 65536 * 0.57735026918962576;  // √(4 / 12)
    return static_cast<float>(static_cast<double>(sum) * (kDeviation / kSumDeviation));
  }
  void fill(std::span<std::byte> bytes) noexcept {
    for (size_t done = 0; done < bytes.size(); done += sizeof(uint64_t)) {
      const uint64_t bits = next();
      std::memcpy(bytes.data() + done, &bits, std::min(sizeof(bits), bytes.size() - done));
    }
  }

 private:
  uint64_t state_;
};

template <class Element, class Convert>
void fill_elements(RandomBits& random, std::span<std::byte> row, const Convert& convert) {
  for (size_t at = 0; at + sizeof(Element) <= row.size(); at += sizeof(Element)) {
    const Element element = convert(random.next_weight());
    std::memcpy(row.data() + at, &element, sizeof(Element));
  }
}

// All codes are random; `set_scales` then gives each block its scales.
template <class Block, class SetScales>
void fill_blocks(RandomBits& random, std::span<std::byte> row, const SetScales& set_scales) {
  random.fill(row);
  for (size_t index = 0; index < row.size() / sizeof(Block); ++index) {
    auto block = load_block<Block>(row.data(), index);
    set_scales(block);
    store_block(block, row.data(), index);
  }
}

// The scale that gives n equally likely consecutive codes the wanted deviation: √((n² - 1) / 12) of them is one deviation.
constexpr double kCodes256 = 73.9;  // n = 256
constexpr double kCodes64 = 18.47;
constexpr double kCodes32 = 9.233;
constexpr double kCodes16 = 4.61;

// The 6-bit scales and minima of a K block, all 32: six bits of 32 in each of the eight bytes, and in the last four the low halves
// (zero) and in the first eight bytes' top bits the high parts (2) of runs 4 to 7.
void set_equal_scales(uint8_t (&packed)[12]) {
  std::fill(std::begin(packed), std::begin(packed) + 8, static_cast<uint8_t>(32 | (2 << 6)));
  std::fill(std::begin(packed) + 8, std::end(packed), static_cast<uint8_t>(0));
}

template <class Block>
void set_k_scales(Block& block, double codes_deviation, double mean_code) {
  const double scale = kDeviation / codes_deviation / 32;
  block.d = float_to_f16_bits(static_cast<float>(scale));
  block.dmin = float_to_f16_bits(static_cast<float>(scale * mean_code));
  set_equal_scales(block.packed_scales);
}

}  // namespace

bool has_random_rows(DType dtype) noexcept {
  constexpr DType kKnown[] = {DType::f32, DType::f16, DType::bf16, DType::q8_0, DType::q4_0, DType::q4_k, DType::q5_k, DType::q6_k};
  return std::find(std::begin(kKnown), std::end(kKnown), dtype) != std::end(kKnown);
}

uint64_t mix_seed(uint64_t seed, uint64_t index) noexcept { return RandomBits(seed ^ (index * 0xd1342543de82ef95u)).next(); }

void fill_random_row(DType dtype, uint64_t seed, std::span<std::byte> row) {
  WICK_ASSERT(has_random_rows(dtype));
  RandomBits random(seed);
  if (dtype == DType::f32) {
    fill_elements<float>(random, row, [](float weight) { return weight; });
  } else if (dtype == DType::f16) {
    fill_elements<uint16_t>(random, row, float_to_f16_bits);
  } else if (dtype == DType::bf16) {
    fill_elements<uint16_t>(random, row, float_to_bf16_bits);
  } else if (dtype == DType::q8_0) {
    fill_blocks<BlockQ8_0>(random, row, [](BlockQ8_0& block) { block.d = float_to_f16_bits(static_cast<float>(kDeviation / kCodes256)); });
  } else if (dtype == DType::q4_0) {
    fill_blocks<BlockQ4_0>(random, row, [](BlockQ4_0& block) { block.d = float_to_f16_bits(static_cast<float>(kDeviation / kCodes16)); });
  } else if (dtype == DType::q4_k) {
    fill_blocks<BlockQ4_K>(random, row, [](BlockQ4_K& block) { set_k_scales(block, kCodes16, 7.5); });
  } else if (dtype == DType::q5_k) {
    fill_blocks<BlockQ5_K>(random, row, [](BlockQ5_K& block) { set_k_scales(block, kCodes32, 15.5); });
  } else {
    fill_blocks<BlockQ6_K>(random, row, [](BlockQ6_K& block) {
      std::fill(std::begin(block.scales), std::end(block.scales), static_cast<int8_t>(8));
      block.d = float_to_f16_bits(static_cast<float>(kDeviation / kCodes64 / 8));
    });
  }
}

}  // namespace wick
