// Products by a vendor's library: by this machine's, or by those of tests/fake_gpu.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <deque>
#include <utility>

#include "unit/stream_driver.h"
#include "wick/base/half.h"
#include "wick/tensor/ops/linear.h"
#include "wick/tensor/ops/matmul.h"
#include "wick/tensor/ops/normalize.h"

namespace wick {

void StreamProductsTest::SetUp() {
  StreamDriverTest::SetUp();
  if (IsSkipped() || !is_fake()) return;
  // So that the system finds them by their names.
  static std::deque<DynamicLibrary> opened;
  for (const char* name : vendor().matrix_libraries) {
    if (!std::filesystem::exists(fakes() / name)) GTEST_SKIP() << "no fake library of products";
    opened.emplace_back((fakes() / name).string());
  }
}

namespace {

// -1, 0 and 1, mixed by a linear congruential generator: sums of some hundred products are small integers.
std::vector<float> signs(size_t count, uint32_t state) {
  std::vector<float> values(count);
  for (float& value : values) {
    state = state * 1664525 + 1013904223;
    value = static_cast<float>(static_cast<int>((state >> 16U) % 3) - 1);
  }
  return values;
}

// c [m, n] = a [m, k] · b [k, n], exactly.
std::vector<float> product(const std::vector<float>& a, const std::vector<float>& b, size_t m, size_t k, size_t n) {
  std::vector<float> c(m * n);
  for (size_t row = 0; row < m; ++row) {
    for (size_t i = 0; i < k; ++i) {
      for (size_t column = 0; column < n; ++column) c[row * n + column] += a[row * k + i] * b[i * n + column];
    }
  }
  return c;
}

std::vector<float> rounded(std::vector<float> values, DType dtype) {
  for (float& value : values) {
    if (dtype == DType::f16) value = static_cast<float>(f16(value));
    if (dtype == DType::bf16) value = static_cast<float>(bf16(value));
    if (dtype == DType::f8e4m3) value = static_cast<float>(f8e4m3(value));
  }
  return values;
}

constexpr int64_t kM = 256, kK = 256, kN = 272;  // just above the size from which products go to the library

TEST_P(StreamProductsTest, OfEveryTypeAreTheRoundedSumsInAnyLayout) {
  const Device device = with(VendorProducts::exact);
  const std::vector<float> a = signs(kM * kK, 1), b = signs(kK * kN, 2);
  const std::vector<float> sums = product(a, b, kM, kK, kN);
  const Tensor left = Tensor::from_vector(a, {kM, kK}, device), right = Tensor::from_vector(b, {kK, kN}, device);
  int count = 0;
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16, DType::f8e4m3}) {
    SCOPED_TRACE(to_string(dtype));
    const std::vector<float> expected = rounded(sums, dtype);
    const Tensor x = left.to_dtype(dtype), y = right.to_dtype(dtype), turned = right.t().contiguous().to_dtype(dtype).t();
    EXPECT_EQ(matmul(x, y).to_dtype(DType::f32).to_vector<float>(), expected);
    EXPECT_EQ(matmul(x, turned).to_dtype(DType::f32).to_vector<float>(), expected);
    const bool has_f8 = driver(0)->multiplies_f8();
    count += dtype != DType::f8e4m3 || has_f8 ? 2 : 0;
    expect_products(count);
  }
}

TEST_P(StreamProductsTest, OfBatchesTakeEachItsOwn) {
  const Device device = with(VendorProducts::exact);
  const std::vector<float> a = signs(3 * 128 * 256, 3), b = signs(256 * 256, 4);
  const std::vector<float> sums = product(a, b, 384, 256, 256);
  for (const DType dtype : {DType::f16, DType::f8e4m3}) {
    const Tensor x = Tensor::from_vector(a, {3, 128, 256}, device).to_dtype(dtype);
    const Tensor y = Tensor::from_vector(b, {256, 256}, device).to_dtype(dtype).broadcast_to({3, 256, 256});
    EXPECT_EQ(matmul(x, y).to_dtype(DType::f32).to_vector<float>(), rounded(sums, dtype)) << to_string(dtype);
  }
}

TEST_P(StreamProductsTest, WithWeightsOfEveryTypeAreExactSums) {
  const Device device = with(VendorProducts::exact);
  const std::vector<float> x = signs(64 * 512, 5), w = signs(512 * 512, 6);
  std::vector<float> turned(w.size());
  for (size_t i = 0; i < w.size(); ++i) turned[i % 512 * 512 + i / 512] = w[i];
  const std::vector<float> expected = product(x, turned, 64, 512, 512);
  const Tensor activations = Tensor::from_vector(x, {64, 512}, device), weight = Tensor::from_vector(w, {512, 512}, device);
  int count = 0;
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16, DType::f8e4m3}) {
    EXPECT_EQ(linear(activations, weight.to_dtype(dtype)).to_vector<float>(), expected) << to_string(dtype);
    expect_products(++count);
  }
  // Activations of f32 are not rounded where the caller wants them as they are.
  static_cast<void>(linear(activations, weight, {.precise = true}));
  expect_products(++count);
  static_cast<void>(linear(activations, weight.to_dtype(DType::f16), {.precise = true}));
  expect_products(count);
}

// What the product after a gate rounds to f16 in any case comes to it so.
TEST_P(StreamProductsTest, OfAGatedPairStayHalvesUntilTheNextProduct) {
  constexpr size_t kWidth = 512, kRows = 64;
  const Device device = with(VendorProducts::exact);
  const std::vector<float> g = signs(kWidth * kWidth, 7), u = signs(kWidth * kWidth, 8), x = signs(kRows * kWidth, 9);
  const auto turned = [](const std::vector<float>& w) {
    std::vector<float> result(w.size());
    for (size_t i = 0; i < w.size(); ++i) result[i % kWidth * kWidth + i / kWidth] = w[i];
    return result;
  };
  const std::vector<float> gates = product(x, turned(g), kRows, kWidth, kWidth), ups = product(x, turned(u), kRows, kWidth, kWidth);
  const auto weight = [&](const std::vector<float>& w) { return Tensor::from_vector(w, {kWidth, kWidth}, device).to_dtype(DType::f16); };
  const Tensor gate = weight(g), up = weight(u), activations = Tensor::from_vector(x, {kRows, kWidth}, device);
  const std::array<const Tensor*, 1> next{&gate};
  const Tensor hidden = gated_linear(activations, gate, up, {}, {}, linear_input_dtype(kRows, next));
  EXPECT_EQ(hidden.dtype(), DType::f16);
  expect_products(2);
  const std::vector<float> between = hidden.to_dtype(DType::f32).to_vector<float>();
  const std::vector<float> wide = gated_linear(activations, gate, up).to_vector<float>();
  expect_products(4);
  for (size_t i = 0; i < between.size(); ++i) {
    const double expected = double{gates[i]} / (1 + std::exp(-double{gates[i]})) * double{ups[i]};
    ASSERT_NEAR(between[i], expected, 0.01 * std::abs(expected) + 0.02) << i;
    ASSERT_NEAR(wide[i], expected, 0.01 * std::abs(expected) + 0.02) << i;
  }
  const std::vector<float> result = linear(hidden, gate).to_vector<float>();
  expect_products(5);
  EXPECT_EQ(result, linear(hidden.to_dtype(DType::f32), gate).to_vector<float>());
  expect_products(6);
  // Few rows have kernels of their own, which take f32.
  const Tensor few = activations.narrow(0, 0, 3);
  EXPECT_EQ(linear_input_dtype(3, next), DType::f32);
  EXPECT_EQ(gated_linear(few, gate, up, {}, {}, DType::f16).to_bytes(), gated_linear(few, gate, up).to_dtype(DType::f16).to_bytes());
  const Tensor some = hidden.narrow(0, 0, 3).contiguous();
  EXPECT_EQ(linear(some, gate).to_vector<float>(), linear(some.to_dtype(DType::f32), gate).to_vector<float>());
  expect_products(6);
}

// The norm before products writes what they would round it to; one of them that does not round it keeps all from it.
TEST_P(StreamProductsTest, OfANormTakeItAsHalves) {
  constexpr int64_t kWidth = 512, kRows = 64;
  const Device device = with(VendorProducts::exact);
  const auto tensor = [&](int64_t rows, uint32_t state) {
    std::vector<float> values = signs(static_cast<size_t>(rows * kWidth), state);
    for (size_t i = 0; i < values.size(); ++i) values[i] += static_cast<float>(i % 7) * 0.1F;
    return Tensor::from_vector(values, {rows, kWidth}, device);
  };
  const Tensor x = tensor(kRows, 10), y = tensor(kRows, 11), scale = tensor(1, 12).reshape({kWidth});
  const Tensor first = tensor(kWidth, 13).to_dtype(DType::f16), second = tensor(kWidth + 16, 14).to_dtype(DType::f16),
               third = tensor(kWidth, 15).to_dtype(DType::f16), small = tensor(8, 16).to_dtype(DType::f16);
  const std::array<const Tensor*, 3> weights{&first, &second, &third}, one_small{&first, &small, &third};
  ASSERT_EQ(linear_input_dtype(kRows, weights), DType::f16);
  EXPECT_EQ(linear_input_dtype(kRows, one_small), DType::f32);
  EXPECT_EQ(linear_input_dtype(kRows, weights, {.precise = true}), DType::f32);
  EXPECT_EQ(linear_input_dtype(kRows, weights, {.deterministic = true}), DType::f32);
  EXPECT_EQ(linear_input_dtype(8, weights), DType::f32);
  const SumAndNorm wide = add_rms_norm(x, y, scale, RmsNormParams{}), narrow = add_rms_norm(x, y, scale, RmsNormParams{}, DType::f16);
  EXPECT_EQ(narrow.sum.to_bytes(), wide.sum.to_bytes());
  EXPECT_EQ(narrow.norm.to_bytes(), wide.norm.to_dtype(DType::f16).to_bytes());
  EXPECT_EQ(rms_norm(x, scale, RmsNormParams{}, DType::f16).to_bytes(),
            rms_norm(x, scale, RmsNormParams{}).to_dtype(DType::f16).to_bytes());
  const std::vector<Tensor> expected = linear(wide.norm, weights), found = linear(narrow.norm, weights);
  expect_products(6);
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(found[i].to_bytes(), expected[i].to_bytes()) << i;
  EXPECT_EQ(gated_linear(narrow.norm, first, third).to_bytes(), gated_linear(wide.norm, first, third).to_bytes());
  expect_products(10);
  // Many rows get a bias afterwards.
  const Tensor bias = x.narrow(0, 0, 1).reshape({kWidth});
  EXPECT_EQ(linear(narrow.norm, first, {}, {.biases = {&bias}}).to_bytes(), linear(wide.norm, first, {}, {.biases = {&bias}}).to_bytes());
  expect_products(12);
}

// 1 + 2⁻¹² has thirteen digits: eleven of them are 1.
TEST_P(StreamProductsTest, OfF32AreRoundedToElevenDigitsByRequestAlone) {
  const std::vector<float> a(kM * kK, 1 + std::ldexp(1.0F, -12));
  std::vector<float> b(kK * kN);
  for (size_t column = 0; column < static_cast<size_t>(kN); ++column)
    b[(column % static_cast<size_t>(kK)) * static_cast<size_t>(kN) + column] = 1;
  for (const VendorProducts products : {VendorProducts::exact, VendorProducts::none, VendorProducts::tf32}) {
    const Device device = with(products);
    const Tensor c = matmul(Tensor::from_vector(a, {kM, kK}, device), Tensor::from_vector(b, {kK, kN}, device));
    const std::vector<float> expected(kM * kN, products == VendorProducts::tf32 ? 1.0F : a[0]);
    EXPECT_EQ(c.to_vector<float>(), expected);
  }
  expect_products(1);
  expect_products(1, vendor().product + std::string(" tf32"));
}

}  // namespace
}  // namespace wick
