#include "wick/backend/cpu/simd/instruction_set.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <limits>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "wick/backend/cpu/simd/simd_kernels.h"
#include "wick/base/half.h"
#include "wick/device/device.h"

namespace wick::cpu {
namespace {

// What the kernel says of this processor, as whole words; empty where it does not tell.
std::vector<std::string> processor_flags() {
  std::ifstream file("/proc/cpuinfo");
  std::string line;
  while (std::getline(file, line)) {
    if (line.rfind("flags", 0) != 0) continue;
    std::vector<std::string> flags;
    size_t begin = line.find(':') + 1;
    while (begin < line.size()) {
      const size_t end = std::min(line.find(' ', begin), line.size());
      if (end > begin) flags.push_back(line.substr(begin, end - begin));
      begin = end + 1;
    }
    return flags;
  }
  return {};
}

bool contains(const std::vector<InstructionSet>& sets, InstructionSet set) {
  return std::find(sets.begin(), sets.end(), set) != sets.end();
}

TEST(InstructionSet, UsableOnesAreCompiledAndTheFirstAlwaysIs) {
  const std::vector<InstructionSet> compiled = compiled_instruction_sets();
  const std::vector<InstructionSet> usable = usable_instruction_sets();
  ASSERT_FALSE(usable.empty());
  EXPECT_EQ(usable.front(), compiled.front());
  for (const InstructionSet set : usable) EXPECT_TRUE(contains(compiled, set));
}

TEST(InstructionSet, AgreesWithWhatTheSystemSaysOfTheProcessor) {
  const std::vector<std::string> flags = processor_flags();
  if (flags.empty() || !contains(compiled_instruction_sets(), InstructionSet::avx2))
    GTEST_SKIP() << "needs /proc/cpuinfo of an x86-64 machine";
  const auto has = [&](std::initializer_list<const char*> names) {
    return std::all_of(names.begin(), names.end(),
                       [&](const char* name) { return std::find(flags.begin(), flags.end(), name) != flags.end(); });
  };
  const std::vector<InstructionSet> usable = usable_instruction_sets();
  EXPECT_EQ(contains(usable, InstructionSet::avx2), has({"avx2", "fma", "f16c", "bmi1", "bmi2"}));
  EXPECT_EQ(contains(usable, InstructionSet::avx512), has({"avx2", "avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512cd"}));
  // Highway's level also asks for the other extensions that came with Ice Lake.
  if (contains(usable, InstructionSet::avx512_vnni)) {
    EXPECT_TRUE(has({"avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512_vnni"}));
  }
  // The system may refuse AMX's registers to a processor that has them.
  if (contains(usable, InstructionSet::avx512_amx)) {
    EXPECT_TRUE(contains(usable, InstructionSet::avx512_vnni) && has({"avx512_bf16", "amx_tile", "amx_bf16", "amx_int8"}));
  }
}

TEST(InstructionSet, TheBestUsableOneIsChosenAndNamedAsTheDriver) {
  EXPECT_EQ(Device::cpu().caps().driver, to_string(usable_instruction_sets().back()));
  for (const InstructionSet set : usable_instruction_sets()) {
    EXPECT_EQ(Device::open({DeviceKind::cpu, 0}, {1, std::string(to_string(set))}).caps().driver, to_string(set));
  }
}

TEST(InstructionSet, EveryTableIsComplete) {
  for (const InstructionSet set : usable_instruction_sets()) {
    const SimdKernels& kernels = simd_kernels(set);
    EXPECT_EQ(kernels.set, set);
    EXPECT_TRUE(kernels.f16_to_f32 && kernels.f32_to_f16 && kernels.bf16_to_f32 && kernels.f32_to_bf16);
    EXPECT_TRUE(kernels.q8_0_to_f32 && kernels.f32_to_q8_0 && kernels.q4_0_to_f32 && kernels.panel && kernels.quantize_row);
    EXPECT_TRUE(kernels.largest && kernels.exp_and_sum && kernels.scale);
    for (const auto& multiply : kernels.gate_multiply) EXPECT_NE(multiply, nullptr);
    for (const CacheKernels& cache : {kernels.cache_f32, kernels.cache_f16, kernels.cache_bf16, kernels.cache_q8_0})
      EXPECT_TRUE(cache.scores && cache.weighted_sum);
    for (const DType dtype : {DType::q4_0, DType::q8_0, DType::q4_k, DType::q5_k, DType::q6_k, DType::f16, DType::bf16}) {
      const TileKernels& tiles = kernels.tile_kernels(dtype);
      const bool expected = set != InstructionSet::scalar;
      EXPECT_EQ(tiles.multiply != nullptr && tiles.many.multiply != nullptr, expected) << to_string(set);
    }
  }
}

// Each kernel's halves agree with the scalar conversions on all codes and around every rounding, whatever the number of elements.
TEST(SimdKernels, HalvesAgreeWithTheScalarConversions) {
  std::vector<uint16_t> codes(65536 + 3);
  for (size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<uint16_t>(i);
  for (const InstructionSet set : usable_instruction_sets()) {
    const SimdKernels& kernels = simd_kernels(set);
    std::vector<float> wide(codes.size());
    std::vector<uint16_t> narrow(codes.size());
    kernels.f16_to_f32(codes.data(), wide.data(), codes.size());
    for (size_t i = 0; i < codes.size(); ++i) {
      const float expected = f16_bits_to_float(codes[i]);
      ASSERT_TRUE(wide[i] == expected || (std::isnan(wide[i]) && std::isnan(expected))) << to_string(set) << " code " << i;
      // Halfway to the next number up, and a little less: to even, and down.
      if (std::isfinite(expected)) wide[i] = (expected + f16_bits_to_float(static_cast<uint16_t>(codes[i] + 1))) / 2;
    }
    kernels.f32_to_f16(wide.data(), narrow.data(), wide.size());
    for (size_t i = 0; i < codes.size(); ++i) {
      const bool both_nan = std::isnan(f16_bits_to_float(narrow[i])) && std::isnan(wide[i]);
      ASSERT_TRUE(both_nan || narrow[i] == float_to_f16_bits(wide[i])) << to_string(set) << " value " << wide[i];
    }
    kernels.bf16_to_f32(codes.data(), wide.data(), codes.size());
    kernels.f32_to_bf16(wide.data(), narrow.data(), wide.size());
    for (size_t i = 0; i < codes.size(); ++i) {
      const bool nan = std::isnan(bf16_bits_to_float(codes[i]));
      ASSERT_TRUE(nan ? std::isnan(wide[i]) : narrow[i] == codes[i]) << to_string(set) << " code " << i;
    }
  }
}

// What is no number in a row of a key/value cache is seen in its score and in no other.
TEST(SimdKernels, CacheRowsKeepWhatIsNoNumber) {
  constexpr size_t kWidth = 32;
  constexpr size_t kPositions = 5;
  const std::vector<float> query(kWidth, 1.0F);
  for (const uint16_t bad : {uint16_t{0x7c00}, uint16_t{0xfc00}, uint16_t{0x7e00}}) {  // Inf, -Inf, NaN
    const float expected = f16_bits_to_float(bad);
    for (size_t at = 0; at < kPositions; ++at) {
      std::vector<uint16_t> halves(kPositions * kWidth, float_to_f16_bits(0.5F));
      halves[at * kWidth + 7] = bad;
      std::vector<std::byte> blocks(kPositions * 34, std::byte{1});
      for (size_t row = 0; row < kPositions; ++row) {
        const uint16_t scale = row == at ? bad : float_to_f16_bits(0.5F);
        std::memcpy(&blocks[row * 34], &scale, sizeof(scale));
      }
      for (const InstructionSet set : usable_instruction_sets()) {
        const SimdKernels& kernels = simd_kernels(set);
        std::vector<float> scores(kPositions);
        const auto expect_bad_score = [&](const char* what) {
          for (size_t row = 0; row < kPositions; ++row) {
            const bool right = row != at ? scores[row] == 16.0F : std::isnan(expected) ? std::isnan(scores[row]) : scores[row] == expected;
            EXPECT_TRUE(right) << to_string(set) << ' ' << what << ": row " << row << " has " << scores[row];
          }
        };
        const auto positions = static_cast<int64_t>(kPositions);
        const auto* half_rows = reinterpret_cast<const std::byte*>(halves.data());
        const MatrixView<const float> one_query{query.data(), kWidth, 1, kWidth};
        const MatrixView<float> one_row{scores.data(), positions, 1, positions};
        kernels.cache_f16.scores(one_query, {half_rows, 2 * kWidth, positions, 0}, one_row);
        expect_bad_score("f16");
        kernels.cache_q8_0.scores(one_query, {blocks.data(), 34, positions, 0}, one_row);
        expect_bad_score("q8_0");
      }
    }
  }
}

TEST(SimdKernels, QuantizedActivationsAreWithinHalfAStep) {
  constexpr size_t kColumns = 768;
  std::vector<float> x(kColumns);
  for (size_t i = 0; i < kColumns; ++i) x[i] = std::sin(static_cast<float>(i)) * (i % 256 < 64 ? 1e-3F : 50.0F);
  std::fill(x.begin() + 512, x.end(), 0.0F);
  const std::vector<ActivationForm> forms = {{.start = -8, .sum_columns = 16, .minimum_columns = 16},
                                             {.start = 3, .minimum_columns = 32},
                                             {.start = 5, .columns = 256, .sum_columns = 256, .minimum_columns = 16},
                                             {.start = 7, .columns = 256, .sum_columns = 32, .minimum_columns = 256}};
  for (const InstructionSet set : usable_instruction_sets()) {
    for (const ActivationForm& form : forms) {
      const auto block = static_cast<size_t>(form.columns);
      std::vector<int8_t> quants(kColumns);
      std::vector<float> scales(kColumns / block);
      std::vector<int32_t> starts(kColumns / static_cast<size_t>(form.sum_columns));
      std::vector<float> sums(kColumns / static_cast<size_t>(form.minimum_columns));
      simd_kernels(set).quantize_row(x.data(), kColumns, form, 1, {quants.data(), scales.data(), starts.data(), sums.data()});
      for (size_t i = 0; i < kColumns; ++i) {
        EXPECT_LE(std::fabs(static_cast<float>(quants[i]) * scales[i / block] - x[i]), scales[i / block] * 0.5001F) << to_string(set);
      }
      const auto sum_of = [&](size_t first, size_t count) { return std::accumulate(&quants[first], &quants[first] + count, 0); };
      for (size_t at = 0; at < starts.size(); ++at) {
        const auto count = static_cast<size_t>(form.sum_columns);
        EXPECT_EQ(starts[at], form.start * sum_of(at * count, count)) << to_string(set);
      }
      for (size_t at = 0; at < sums.size(); ++at) {
        const auto count = static_cast<size_t>(form.minimum_columns);
        EXPECT_FLOAT_EQ(sums[at], scales[at * count / block] * static_cast<float>(sum_of(at * count, count))) << to_string(set);
      }
      EXPECT_EQ(scales.back(), 0.0F);
      // The same as the second row of a panel of three.
      std::vector<int8_t> panel_quants(3 * quants.size());
      std::vector<float> panel_scales(3 * scales.size());
      std::vector<int32_t> panel_starts(3 * starts.size());
      std::vector<float> panel_sums(3 * sums.size());
      simd_kernels(set).quantize_row(x.data(), kColumns, form, 3, {&panel_quants[4], &panel_scales[1], &panel_starts[1], &panel_sums[1]});
      for (size_t i = 0; i < quants.size(); ++i) EXPECT_EQ(panel_quants[(i / 4 * 3 + 1) * 4 + i % 4], quants[i]) << to_string(set);
      for (size_t i = 0; i < scales.size(); ++i) EXPECT_EQ(panel_scales[3 * i + 1], scales[i]) << to_string(set);
      for (size_t i = 0; i < starts.size(); ++i) EXPECT_EQ(panel_starts[3 * i + 1], starts[i]) << to_string(set);
      for (size_t i = 0; i < sums.size(); ++i) EXPECT_EQ(panel_sums[3 * i + 1], sums[i]) << to_string(set);
    }
  }
}

// 127 / largest times the value, rounded half to even in f32, for blocks of 32 in numbers that vectors do not divide.
TEST(SimdKernels, QuantizedActivationsAreRoundedHalfToEven) {
  constexpr size_t kBlock = 32;
  for (const size_t blocks : {size_t{1}, size_t{2}, size_t{3}, size_t{5}, size_t{7}}) {
    std::vector<float> x(blocks * kBlock);
    for (size_t i = 0; i < x.size(); ++i) {
      // The first block's scale is 1, so that its halves are halves; the others have any scale, and one has numbers too small for theirs.
      x[i] = i == 0 ? -127.0F : i < kBlock ? static_cast<float>(i) - 15.5F : std::sin(static_cast<float>(i)) * static_cast<float>(i);
      if (i / kBlock == 4) x[i] *= 1e-33F;
    }
    for (const InstructionSet set : usable_instruction_sets()) {
      std::vector<int8_t> quants(x.size());
      std::vector<float> scales(blocks);
      std::vector<int32_t> starts(blocks);
      simd_kernels(set).quantize_row(x.data(), static_cast<int64_t>(x.size()), {}, 1, {quants.data(), scales.data(), starts.data()});
      for (size_t block = 0; block < blocks; ++block) {
        const auto values = std::span(x).subspan(block * kBlock, kBlock);
        float largest = 0;
        for (const float value : values) largest = std::max(largest, std::fabs(value));
        const bool usable = block != 4;
        EXPECT_EQ(scales[block], usable ? largest / 127.0F : 0.0F) << to_string(set);
        const float inverse = usable ? 127.0F / largest : 0.0F;
        for (size_t i = 0; i < kBlock; ++i) {
          EXPECT_EQ(static_cast<float>(quants[block * kBlock + i]), std::nearbyint(values[i] * inverse)) << to_string(set) << ' ' << i;
        }
      }
    }
  }
}

TEST(SimdKernels, ActivationsThatAreNoNumbersPoisonTheirBlockOnly) {
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity()}) {
    for (const size_t at : {size_t{0}, size_t{17}, size_t{31}}) {
      std::vector<float> x(64, 0.5F);
      x[at] = bad;
      for (const InstructionSet set : usable_instruction_sets()) {
        std::vector<int8_t> quants(64);
        std::vector<float> scales(2);
        std::vector<int32_t> starts(2);
        simd_kernels(set).quantize_row(x.data(), 64, {}, 1, {quants.data(), scales.data(), starts.data()});
        EXPECT_TRUE(std::isnan(scales[0])) << to_string(set);
        EXPECT_FLOAT_EQ(scales[1], 0.5F / 127) << to_string(set);
        EXPECT_EQ(std::count(quants.begin(), quants.begin() + 32, 0), 32) << to_string(set);
        EXPECT_EQ(std::count(quants.begin() + 32, quants.end(), 127), 32) << to_string(set);
      }
    }
  }
}

}  // namespace
}  // namespace wick::cpu
