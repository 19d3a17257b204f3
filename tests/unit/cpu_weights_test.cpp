// linear on every code path of the CPU: plain weights give the numbers of prepared ones, at any time while they are being prepared; blocks
// whose scale is zero, infinite or NaN show it in their rows, and in no other.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <utility>
#include <vector>

#include "wick/backend/cpu/linear/linear_job.h"
#include "wick/base/half.h"
#include "wick/device/registry.h"
#include "wick/quant/block_format.h"
#include "wick/tensor/ops/dispatch.h"
#include "wick/tensor/ops/linear.h"

namespace wick {
namespace {

constexpr int64_t kRows = 35;  // two tiles of 16 rows and a rest
constexpr int64_t kColumns = 512;
constexpr int64_t kOddRows[] = {3, 20, 34};

// Where a block's f16 scale is.
constexpr std::pair<DType, size_t> kScales[] = {
    {DType::q4_0, 0},   {DType::q4_1, 0},   {DType::q5_0, 0},    {DType::q5_1, 0},   {DType::q8_0, 0},   {DType::q2_k, 80},
    {DType::q3_k, 108}, {DType::q4_k, 0},   {DType::q5_k, 0},    {DType::q6_k, 208}, {DType::iq1_s, 0},  {DType::iq2_xxs, 0},
    {DType::iq2_xs, 0}, {DType::iq2_s, 0},  {DType::iq3_xxs, 0}, {DType::iq3_s, 0},  {DType::iq4_nl, 0}, {DType::iq4_xs, 0},
    {DType::tq1_0, 52}, {DType::tq2_0, 64}, {DType::q1_0, 0},    {DType::q2_0, 0},
};

std::vector<Device> code_paths() {
  std::vector<Device> devices;
  for (const Backend* backend : linked_backends()) {
    if (backend->kind != DeviceKind::cpu || backend->variants == nullptr) continue;
    for (const VariantInfo& variant : backend->variants()) {
      if (variant.usable) devices.push_back(Device::open({backend->kind, 0}, {2, variant.name}));
    }
  }
  return devices;
}

// Blocks of ones, whose scale in the second block of each odd row is another.
std::vector<std::byte> weights(DType dtype, size_t scale_at, float odd) {
  const size_t row_bytes = static_cast<size_t>(storage_bytes(dtype, kColumns));
  const auto block_bytes = static_cast<size_t>(info(dtype).block_bytes);
  std::vector<std::byte> bytes(row_bytes * kRows);
  for (size_t at = 0; at < bytes.size(); ++at) bytes[at] = static_cast<std::byte>(at * 37 + at / 13);
  const auto put = [&](size_t block, float scale) {
    const uint16_t bits = float_to_f16_bits(scale);
    std::memcpy(bytes.data() + block + scale_at, &bits, sizeof(bits));
    // The other scale of the formats that have two.
    const bool pair = dtype == DType::q4_1 || dtype == DType::q5_1 || dtype == DType::q4_k || dtype == DType::q5_k || dtype == DType::q2_k;
    if (pair) std::memset(bytes.data() + block + scale_at + 2, 0, 2);
  };
  for (size_t block = 0; block < bytes.size(); block += block_bytes) put(block, 0.01f);
  for (const int64_t row : kOddRows) put(static_cast<size_t>(row) * row_bytes + block_bytes, odd);
  return bytes;
}

bool is_odd(int64_t row) { return row == kOddRows[0] || row == kOddRows[1] || row == kOddRows[2]; }

void prepare_now(const Tensor& weight) {
  prepare_weight(weight);
  weight.device().runtime().finish_preparing();
}

std::vector<float> product(const Device& device, DType dtype, const std::vector<std::byte>& bytes, int64_t tokens, bool prepared) {
  const Tensor weight = Tensor::from_bytes(bytes, {kRows, kColumns}, dtype, device);
  std::vector<float> values(static_cast<size_t>(tokens * kColumns));
  for (size_t i = 0; i < values.size(); ++i) values[i] = std::sin(static_cast<float>(i)) + 0.1f;
  const Tensor x = Tensor::from_vector(values, {tokens, kColumns}, device);
  if (prepared) prepare_now(weight);
  return linear(x, weight).to_vector<float>();
}

// 35 rows of waves, packed.
std::vector<std::byte> waves(const BlockFormat& format) {
  std::vector<std::byte> bytes(static_cast<size_t>(storage_bytes(format.dtype, kRows * kColumns)));
  std::vector<float> row(kColumns);
  const std::vector<float> importance(kColumns, 1);
  for (int64_t index = 0; index < kRows; ++index) {
    for (size_t i = 0; i < row.size(); ++i) row[i] = std::sin(static_cast<float>(i) * 0.7f + static_cast<float>(index));
    std::byte* blocks = bytes.data() + storage_bytes(format.dtype, index * kColumns);
    format.pack != nullptr ? format.pack(row, blocks) : format.pack_weighted(row, importance, blocks);
  }
  return bytes;
}

// A model answers before its weights are prepared, and no word may depend on when they are.
TEST(PlainWeights, GiveTheNumbersOfPreparedOnes) {
  int compared = 0;
  for (const Device& device : code_paths()) {
    for (const BlockFormat& format : block_formats()) {
      if (!cpu::has_tile_kernels(static_cast<cpu::CpuRuntime&>(device.runtime()).kernels(), format.dtype)) continue;
      const std::vector<std::byte> bytes = waves(format);
      for (const int64_t tokens : {1, 3, 40}) {
        ASSERT_EQ(product(device, format.dtype, bytes, tokens, false), product(device, format.dtype, bytes, tokens, true))
            << device.caps().driver << " " << to_string(format.dtype) << " tokens " << tokens;
        ++compared;
      }
    }
  }
  EXPECT_GE(compared, 3 * 27);
}

// f16 weights keep their bits; with `fast` many rows of activations may meet them rounded to bf16, to nearest and half to even. A vector
// holds numbers of every kind.
TEST(PlainWeights, EveryF16IsKeptOrWithFastRoundedToBf16) {
  constexpr int64_t kValues = 65536, kPerRow = 32;
  std::vector<f16> values(kValues);
  for (int64_t bits = 0; bits < kValues; ++bits) {
    f16& value = values[static_cast<size_t>(bits)];
    value.bits = static_cast<uint16_t>(bits * 40503);  // all of them, in no order
    if (!std::isfinite(static_cast<float>(value))) value = f16(1);
  }
  std::vector<float> one_by_one(kPerRow * kPerRow);
  for (int64_t i = 0; i < kPerRow; ++i) one_by_one[static_cast<size_t>(i * (kPerRow + 1))] = 1;
  for (const Device& device : code_paths()) {
    const Tensor weight = Tensor::from_vector(values, {kValues / kPerRow, kPerRow}, device);
    const Tensor x = Tensor::from_vector(one_by_one, {kPerRow, kPerRow}, device);
    for (const bool fast : {false, true}) {
      const std::vector<float> result = linear(x, weight, {.precise = false, .fast = fast}).t().contiguous().to_vector<float>();
      for (size_t i = 0; i < values.size(); ++i) {
        const float value = values[i];
        ASSERT_TRUE(result[i] == value || (fast && result[i] == static_cast<float>(bf16(value))))
            << device.caps().driver << " " << value << " " << result[i];
      }
    }
  }
}

// Σ (got - expected)² / Σ expected² over x · wᵀ in f64.
double normalized_error(const std::vector<float>& x, const std::vector<f16>& weight, int64_t columns, const std::vector<float>& got) {
  const size_t k = static_cast<size_t>(columns), rows = weight.size() / k;
  double error = 0, power = 0;
  for (size_t at = 0; at < got.size(); ++at) {
    double sum = 0;
    for (size_t i = 0; i < k; ++i) sum += static_cast<double>(x[at / rows * k + i]) * static_cast<float>(weight[at % rows * k + i]);
    error += std::pow(got[at] - sum, 2);
    power += sum * sum;
  }
  return error / power;
}

// 8 bits of either factor would give an error of 3e-6. Numbers of rows and columns around every size that a kernel takes at once.
TEST(PlainWeights, ProductsWithF16KeepElevenBits) {
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  for (const Device& one : code_paths()) {
    for (const int threads : {1, 2}) {
      const Device device = Device::open(one.location(), {threads, one.caps().driver});
      for (const int64_t columns : {32, 544, 1100, 2080}) {  // 1100: not of whole blocks
        std::vector<f16> values(static_cast<size_t>(37 * columns));
        for (f16& value : values) value = f16(normal(random));
        const Tensor weight = Tensor::from_vector(values, {37, columns}, device);
        prepare_now(weight);
        for (int64_t rows = 1; rows <= 51; rows += rows < 27 ? 1 : 12) {
          std::vector<float> x(static_cast<size_t>(rows * columns));
          for (float& value : x) value = normal(random);
          const Tensor activations = Tensor::from_vector(x, {rows, columns}, device);
          const auto error = [&](const LinearParams& params) {
            return normalized_error(x, values, columns, linear(activations, weight, params).to_vector<float>());
          };
          EXPECT_LT(error({}), 1e-9) << one.caps().driver << " rows " << rows << " columns " << columns;
          EXPECT_LT(error({.precise = false, .fast = true}), 1e-5) << one.caps().driver << " rows " << rows << " columns " << columns;
        }
      }
    }
  }
}

// Rows of waves as a tensor of any dtype that a weight may have.
Tensor wave_weight(DType dtype, const Device& device) {
  return Tensor::from_bytes(waves(*find_block_format(dtype)), {kRows, kColumns}, dtype, device);
}

// Each row of a product of `most` rows, computed in calls of at most `rows_at_once` of them.
std::vector<float> product_in_calls(const Tensor& x, const Tensor& weight, int64_t rows_at_once, const LinearParams& params) {
  std::vector<float> all;
  for (int64_t first = 0; first < x.dim(0); first += rows_at_once) {
    const Tensor some = x.narrow(0, first, std::min(rows_at_once, x.dim(0) - first));
    for (const Tensor& part : {linear(some, weight, params), gated_linear(some, weight, weight, params)}) {
      const std::vector<float> values = part.to_vector<float>();
      all.insert(all.end(), values.begin(), values.end());
    }
  }
  return all;
}

// The same numbers in the order of one call for all rows.
std::vector<float> in_one_order(const std::vector<float>& values, int64_t rows, int64_t rows_at_once) {
  std::vector<float> products, gated;
  for (int64_t first = 0; first < rows; first += rows_at_once) {
    const auto begin = values.begin() + 2 * first * kRows;
    const int64_t part = std::min(rows_at_once, rows - first) * kRows;
    products.insert(products.end(), begin, begin + part);
    gated.insert(gated.end(), begin + part, begin + 2 * part);
  }
  products.insert(products.end(), gated.begin(), gated.end());
  return products;
}

// Numbers of rows around every size that a kernel takes at once, on both sides of those that change kernels otherwise.
TEST(DeterministicProducts, ARowHasTheSameBitsBesideAnyOthersAndWithAnyThreads) {
  constexpr int64_t kAllRows = 41;
  std::vector<float> values(kAllRows * kColumns);
  std::mt19937 random(11);
  std::normal_distribution<float> normal;
  for (float& value : values) value = normal(random);
  int compared = 0;
  for (const Device& one : code_paths()) {
    const Device two = Device::open(one.location(), {1, one.caps().driver});
    for (const BlockFormat& format : block_formats()) {
      // Of i2_s all rows share one scale.
      if (format.dtype == DType::i2_s || support(one, OpId::linear, format.dtype) != Support::native) continue;
      for (const LinearParams params : {LinearParams{.deterministic = true}, LinearParams{.precise = true, .deterministic = true},
                                        LinearParams{.fast = true, .deterministic = true}}) {
        const bool is_half = format.dtype == DType::f16;
        if ((params.fast && !is_half) || (params.precise && !is_half && format.dtype != DType::q4_0)) continue;
        const Tensor x = Tensor::from_vector(values, {kAllRows, kColumns}, one);
        const Tensor weight = wave_weight(format.dtype, one);
        const std::vector<float> alone = in_one_order(product_in_calls(x, weight, 1, params), kAllRows, 1);
        const auto expect_same = [&](const Device& device, const Tensor& other, int64_t at_once) {
          const Tensor rows = Tensor::from_vector(values, {kAllRows, kColumns}, device);
          ASSERT_EQ(in_one_order(product_in_calls(rows, other, at_once, params), kAllRows, at_once), alone)
              << one.caps().driver << " " << to_string(format.dtype) << (params.precise ? " precise" : "") << " rows at once " << at_once;
          ++compared;
        };
        for (const int64_t at_once : {int64_t{3}, int64_t{13}, kAllRows}) expect_same(one, weight, at_once);
        expect_same(two, wave_weight(format.dtype, two), kAllRows);
        if (params.precise) continue;
        prepare_now(weight);
        expect_same(one, weight, kAllRows);
      }
    }
  }
  EXPECT_GE(compared, 27 * 5);
}

TEST(BadWeights, AnInfiniteOrNaNScaleShowsInItsRowAlone) {
  for (const Device& device : code_paths()) {
    for (const auto& [dtype, scale_at] : kScales) {
      for (const float odd : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
        for (const int run : {0, 1, 2, 3}) {
          const int64_t tokens = run % 2 == 0 ? 1 : 5;
          const std::vector<float> result = product(device, dtype, weights(dtype, scale_at, odd), tokens, run >= 2);
          for (int64_t at = 0; at < tokens * kRows; ++at) {
            ASSERT_EQ(std::isfinite(result[static_cast<size_t>(at)]), !is_odd(at % kRows))
                << device.caps().driver << " " << to_string(dtype) << " scale " << odd << " tokens " << tokens << " row " << at % kRows;
          }
        }
      }
    }
  }
}

// The rest of the row counts as if the block were not there.
TEST(BadWeights, AScaleOfZeroTakesTheBlockOut) {
  for (const Device& device : code_paths()) {
    for (const auto& [dtype, scale_at] : kScales) {
      const std::vector<std::byte> bytes = weights(dtype, scale_at, 0);
      std::vector<float> row(kColumns);
      for (const bool prepared : {false, true}) {
        const std::vector<float> result = product(device, dtype, bytes, 1, prepared);
        for (int64_t index = 0; index < kRows; ++index) {
          find_block_format(dtype)->unpack(bytes.data() + storage_bytes(dtype, index * kColumns), row);
          double sum = 0;
          double size = 0;
          for (int64_t i = 0; i < kColumns; ++i) {
            const double term = static_cast<double>(row[static_cast<size_t>(i)]) * (std::sin(static_cast<float>(i)) + 0.1f);
            sum += term;
            size += std::fabs(term);
          }
          ASSERT_NEAR(result[static_cast<size_t>(index)], sum, 0.02 * size) << device.caps().driver << " " << to_string(dtype);
        }
      }
    }
  }
}

}  // namespace
}  // namespace wick
