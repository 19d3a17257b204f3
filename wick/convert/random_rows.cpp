#include "wick/convert/random_rows.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numbers>
#include <vector>

#include "wick/base/fail.h"
#include "wick/base/half.h"
#include "wick/base/hash.h"
#include "wick/convert/quantize_rules.h"
#include "wick/quant/block_format.h"

namespace wick {
namespace {

constexpr double kDeviation = 0.02;

class RandomBits {
 public:
  explicit RandomBits(uint64_t seed) : state_(seed) {}
  uint64_t next() noexcept { return split_mix(state_ += kSplitMixStep); }
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

// How the blocks of a format are made of random bytes: those that hold scales are set, and codes that mean nothing are avoided.
struct RandomFormat {
  DType dtype;
  int scale_at;             // where the f16 scale d is; -1: elsewhere
  int offset_at = -1;       // where the f16 offset or scale of the minima is
  int offset_unit = 1;      // what one of its units subtracts from an element
  bool ternary = false;     // codes of two bits, of which 3 is none
  bool has_minima = false;  // the 6-bit scales and minima of Q4_K and Q5_K in bytes 4 to 15
};
// Formats without a row have the f16 scale in their first two bytes.
constexpr std::array kFormats = {
    RandomFormat{DType::q4_1, 0, 2, -1},
    RandomFormat{DType::q5_1, 0, 2, -1},
    RandomFormat{DType::q2_k, 80, 82, 8},
    RandomFormat{DType::q3_k, 108},
    RandomFormat{.dtype = DType::q4_k, .scale_at = 0, .offset_at = 2, .offset_unit = 32, .has_minima = true},
    RandomFormat{.dtype = DType::q5_k, .scale_at = 0, .offset_at = 2, .offset_unit = 32, .has_minima = true},
    RandomFormat{DType::q6_k, 208},
    RandomFormat{DType::iq1_m, -1},
    RandomFormat{DType::tq1_0, 52},
    RandomFormat{.dtype = DType::tq2_0, .scale_at = 64, .ternary = true},
    RandomFormat{DType::mxfp4, -1},
    RandomFormat{DType::nvfp4, -1},
    RandomFormat{.dtype = DType::q2_0, .scale_at = 0, .ternary = true},
};

RandomFormat format_of(DType dtype) noexcept {
  const auto* found = std::find_if(kFormats.begin(), kFormats.end(), [=](const RandomFormat& format) { return format.dtype == dtype; });
  return found == kFormats.end() ? RandomFormat{.dtype = dtype, .scale_at = 0} : *found;
}

// What goes into the blocks of a format to give the wanted deviation.
struct Scales {
  uint16_t scale = 0;   // bits of d
  uint16_t offset = 0;  // bits of the other one
  // Where scales are bytes on a coarse grid (MXFP4, NVFP4): each is `code`, or `code` + 1 with this probability in 65536.
  uint8_t code = 0;
  uint64_t next_of_65536 = 0;
};

// Half of the codes of two bits become 1, the others 0 and 2 alike: where both bits are set, the upper is cleared.
std::byte without_code_3(std::byte codes) noexcept {
  const auto byte = std::to_integer<unsigned>(codes);
  return static_cast<std::byte>(byte & ~((byte & (byte >> 1) & 0x55) << 1));
}

void put_f16(std::byte* block, int at, uint16_t bits) { std::memcpy(block + at, &bits, sizeof(bits)); }

// The 6-bit scales and minima of a K block, all 32: six bits of 32 in each of the eight bytes, and in the last four the low halves
// (zero) and in the first eight bytes' top bits the high parts (2) of runs 4 to 7.
void set_equal_scales(std::byte* packed) {
  std::fill(packed, packed + 8, static_cast<std::byte>(32 | (2 << 6)));
  std::fill(packed + 8, packed + 12, std::byte{0});
}

// The f16 scale of IQ1_M is in the top four bits of four words.
void spread_scale(std::byte* words, uint16_t bits) {
  for (int word = 0; word < 4; ++word) {
    std::byte& top = words[2 * word + 1];
    top = (top & std::byte{0x0f}) | static_cast<std::byte>(((bits >> (4 * word)) & 15) << 4);
  }
}

void fill_block(const RandomFormat& format, const Scales& scales, RandomBits& random, std::span<std::byte> block) {
  random.fill(block);
  if (format.ternary) std::transform(block.begin(), block.end(), block.begin(), without_code_3);
  if (format.scale_at >= 0) put_f16(block.data(), format.scale_at, scales.scale);
  if (format.offset_at >= 0) put_f16(block.data(), format.offset_at, scales.offset);
  if (format.has_minima) set_equal_scales(block.data() + 4);
  if (format.dtype == DType::q2_k) std::fill_n(block.begin(), 16, std::byte{0x88});
  if (format.dtype == DType::q6_k) std::fill_n(block.begin() + 192, 16, std::byte{8});
  if (format.dtype == DType::iq1_m) spread_scale(block.data() + 48, scales.scale);
  const int coarse = format.dtype == DType::mxfp4 ? 1 : format.dtype == DType::nvfp4 ? 4 : 0;
  for (int index = 0; index < coarse; ++index) {
    const bool next = (random.next() & 0xffff) < scales.next_of_65536;
    block[static_cast<size_t>(index)] = static_cast<std::byte>(scales.code + (next ? 1 : 0));
  }
}

struct Moments {
  double mean = 0;
  double deviation = 0;
};

Moments measure(const RandomFormat& format, const Scales& scales) {
  constexpr size_t kBlocks = 512;
  const DTypeInfo& entry = info(format.dtype);
  std::vector<std::byte> block(static_cast<size_t>(entry.block_bytes));
  std::vector<float> values(static_cast<size_t>(entry.block_elements));
  RandomBits random(1);
  double sum = 0;
  double squares = 0;
  for (size_t index = 0; index < kBlocks; ++index) {
    fill_block(format, scales, random, block);
    find_block_format(format.dtype)->unpack(block.data(), values);
    for (const float value : values) {
      sum += value;
      squares += static_cast<double>(value) * value;
    }
  }
  const double count = static_cast<double>(kBlocks * values.size());
  const double mean = sum / count;
  return {mean, std::sqrt(squares / count - mean * mean)};
}

// Two neighbouring scales mixed so that the variances add up: p (d₁² - d₀²) + d₀² = d².
Scales coarse_scales(const RandomFormat& format) {
  Scales scales;
  double below = 0;
  for (double above = 0; scales.code < 126; ++scales.code, below = above) {
    Scales next = scales;
    ++next.code;
    above = measure(format, next).deviation;
    if (above <= kDeviation) continue;
    const double part = (kDeviation * kDeviation - below * below) / (above * above - below * below);
    scales.next_of_65536 = static_cast<uint64_t>(part * 65536);
    return scales;
  }
  WICK_ASSERT(false);
}

// Deviation and mean are proportional to d, and the offset is what takes the mean away.
Scales scales_for(const RandomFormat& format) {
  if (format.dtype == DType::mxfp4 || format.dtype == DType::nvfp4) return coarse_scales(format);
  const Moments moments = measure(format, {.scale = float_to_f16_bits(1)});
  const double scale = kDeviation / moments.deviation;
  return {.scale = float_to_f16_bits(static_cast<float>(scale)),
          .offset = float_to_f16_bits(static_cast<float>(moments.mean * scale / format.offset_unit))};
}

const Scales& scales_of(DType dtype) {
  static const std::array<Scales, kDTypeCount> kScales = [] {
    std::array<Scales, kDTypeCount> all;
    for (const DTypeInfo& row : kDTypeRows) {
      if (is_quantized(row.dtype) && is_quantization_target(row.dtype))
        all[static_cast<size_t>(row.dtype)] = scales_for(format_of(row.dtype));
    }
    return all;
  }();
  return kScales[static_cast<size_t>(dtype)];
}

}  // namespace

bool has_random_rows(DType dtype) noexcept { return is_quantization_target(dtype) || dtype == DType::i2_s; }

uint64_t mix_seed(uint64_t seed, uint64_t index) noexcept { return RandomBits(seed ^ (index * 0xd1342543de82ef95u)).next(); }

void fill_random_row(DType dtype, uint64_t seed, std::span<std::byte> row) {
  if (!has_random_rows(dtype)) fail(ErrorCode::unsupported, "random rows of {}: no such format of weights", to_string(dtype));
  RandomBits random(seed);
  if (dtype == DType::f32) return fill_elements<float>(random, row, [](float weight) { return weight; });
  if (dtype == DType::f16) return fill_elements<uint16_t>(random, row, float_to_f16_bits);
  if (dtype == DType::bf16) return fill_elements<uint16_t>(random, row, float_to_bf16_bits);
  if (dtype == DType::i2_s) {
    random.fill(row);
    std::transform(row.begin(), row.end(), row.begin(), without_code_3);
    return;
  }
  const RandomFormat format = format_of(dtype);
  const Scales& scales = scales_of(dtype);
  const auto block_bytes = static_cast<size_t>(info(dtype).block_bytes);
  for (size_t at = 0; at < row.size(); at += block_bytes) fill_block(format, scales, random, row.subspan(at, block_bytes));
}

// Codes -1, 0 and 1 with probabilities 1/4, 1/2 and 1/4 have the deviation √(1/2).
float random_i2_s_scale() noexcept { return static_cast<float>(kDeviation * std::numbers::sqrt2); }

}  // namespace wick
