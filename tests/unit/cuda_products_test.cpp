// Products by NVIDIA's library, and what NVML tells: on this machine's, or on those of tests/fake_gpu.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "unit/stream_driver.h"
#include "wick/backend/cuda/cuda.h"
#include "wick/backend/cuda/driver.h"
#include "wick/backend/cuda/nvml.h"
#include "wick/base/half.h"
#include "wick/tensor/ops/linear.h"
#include "wick/tensor/ops/matmul.h"

namespace wick::cuda {

extern const Vendor kNvidia;

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

class CudaProductsTest : public StreamDriverTest {
 protected:
  void SetUp() override {
    StreamDriverTest::SetUp();
    if (IsSkipped() || !is_fake()) return;
    if (!std::filesystem::exists(fakes() / "libcublasLt.so.12")) GTEST_SKIP() << "no fake library of products";
    static const DynamicLibrary fake(fakes() / "libcublasLt.so.12");  // so that the system finds it by its name
  }
  [[nodiscard]] Device with(MatrixLibrary products) const {
    auto driver =
        std::make_unique<CudaDriver>(std::static_pointer_cast<const Api>(opened_.api), opened_.compiler, devices_[0], 0, products);
    return Device::adopt({DeviceKind::cuda, 0}, std::make_shared<KernelRuntime>(std::move(driver)));
  }
  // How many products the library was given, where that can be seen.
  void expect_products(int count, const char* call = "cublasLtMatmul") const {
    if (is_fake()) {
      EXPECT_EQ(fake_->count(call), count);
    }
  }
};

TEST_P(CudaProductsTest, OfEveryTypeAreTheRoundedSumsInAnyLayout) {
  const Device device = with(MatrixLibrary::exact);
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
    const bool has_f8 = architecture_of(devices_[0].target) >= 89;
    count += dtype != DType::f8e4m3 || has_f8 ? 2 : 0;
    expect_products(count);
  }
}

TEST_P(CudaProductsTest, OfBatchesTakeEachItsOwn) {
  const Device device = with(MatrixLibrary::exact);
  const std::vector<float> a = signs(3 * 128 * 256, 3), b = signs(256 * 256, 4);
  const std::vector<float> sums = product(a, b, 384, 256, 256);
  for (const DType dtype : {DType::f16, DType::f8e4m3}) {
    const Tensor x = Tensor::from_vector(a, {3, 128, 256}, device).to_dtype(dtype);
    const Tensor y = Tensor::from_vector(b, {256, 256}, device).to_dtype(dtype).broadcast_to({3, 256, 256});
    EXPECT_EQ(matmul(x, y).to_dtype(DType::f32).to_vector<float>(), rounded(sums, dtype)) << to_string(dtype);
  }
}

TEST_P(CudaProductsTest, WithWeightsOfEveryTypeAreExactSums) {
  const Device device = with(MatrixLibrary::exact);
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

// 1 + 2⁻¹² has thirteen digits: eleven of them are 1.
TEST_P(CudaProductsTest, OfF32AreRoundedToElevenDigitsByRequestAlone) {
  const std::vector<float> a(kM * kK, 1 + std::ldexp(1.0F, -12));
  std::vector<float> b(kK * kN);
  for (size_t column = 0; column < static_cast<size_t>(kN); ++column)
    b[(column % static_cast<size_t>(kK)) * static_cast<size_t>(kN) + column] = 1;
  for (const MatrixLibrary products : {MatrixLibrary::exact, MatrixLibrary::none, MatrixLibrary::tf32}) {
    const Device device = with(products);
    const Tensor c = matmul(Tensor::from_vector(a, {kM, kK}, device), Tensor::from_vector(b, {kK, kN}, device));
    const std::vector<float> expected(kM * kN, products == MatrixLibrary::tf32 ? 1.0F : a[0]);
    EXPECT_EQ(c.to_vector<float>(), expected);
  }
  expect_products(1);
  expect_products(1, "cublasLtMatmul tf32");
}

TEST_P(CudaProductsTest, NvmlTellsWhatIsInUse) {
  if (!is_fake()) {
    const Nvml library;
    const DeviceUsage usage = library.usage(bus_id_of(api(), devices_[0].id));
    EXPECT_GT(usage.memory_used, 0U);
    EXPECT_GE(usage.memory_total, devices_[0].caps.memory_bytes);
    EXPECT_LT(usage.memory_used, usage.memory_total);
    return;
  }
  const std::string name = fakes() / "libnvidia-ml.so.1";
  EXPECT_EQ(bus_id_of(api(), devices_[0].id), "0000:40:00.0");
  const DeviceUsage usage = Nvml(name).usage("0000:40:00.0");
  EXPECT_EQ(usage.memory_used, uint64_t{1} << 30U);
  EXPECT_EQ(usage.memory_total, uint64_t{4} << 30U);
  EXPECT_EQ(usage.busy, 0.25);
  EXPECT_EQ(usage.watts, 123.456);
  EXPECT_EQ(usage.celsius, 45);
  {
    const Variable fails("FAKE_NVML", "busy=3,temperature=3");
    const DeviceUsage less = Nvml(name).usage("0000:40:00.0");
    EXPECT_EQ(less.memory_used, uint64_t{1} << 30U);
    EXPECT_EQ(less.busy, std::nullopt);
    EXPECT_EQ(less.celsius, std::nullopt);
  }
  EXPECT_THAT(error_of<CudaError>([&] { static_cast<void>(Nvml(name).usage("0000:99:00.0")); }).what(),
              testing::HasSubstr("nvmlDeviceGetHandleByPciBusId_v2: Not Found"));
  const Variable fails("FAKE_NVML", "init=9");
  EXPECT_THAT(error_of<CudaError>([&] { const Nvml library(name); }).what(), testing::HasSubstr("nvmlInit_v2: Driver Not Loaded"));
}

TEST(Nvml, WithoutTheLibraryTheErrorNamesIt) {
  const Error missing = error_of([&] { const Nvml library("libno-such-nvml.so.1"); });
  EXPECT_EQ(missing.code(), ErrorCode::not_found);
  EXPECT_THAT(missing.what(), testing::HasSubstr("libno-such-nvml.so.1"));
  EXPECT_THAT(error_of([&] { const Nvml library("libm.so.6"); }).what(), testing::HasSubstr("library libm.so.6 has no nvmlInit_v2"));
}

}  // namespace

INSTANTIATE_TEST_SUITE_P(On, CudaProductsTest,
                         testing::Values(VendorParameter{&kNvidia, "fake", true, ""}, VendorParameter{&kNvidia, "machine", false, ""}),
                         name_of);

}  // namespace wick::cuda
