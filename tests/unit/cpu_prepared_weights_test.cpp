// Weights that the CPU prepares for products: slice by slice with the same results, on its own while nothing runs, and what becomes of the
// plain bytes.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "wick/backend/cpu/cpu_runtime.h"
#include "wick/device/reclaimable_pages.h"
#include "wick/tensor/ops/dispatch.h"
#include "wick/tensor/ops/embedding.h"
#include "wick/tensor/ops/fill.h"
#include "wick/tensor/ops/linear.h"

namespace wick::cpu {
namespace {

constexpr int64_t kRows = 9000, kColumns = 1024;  // of q8_0: three slices, and eight rows behind the last tile

Device open_cpu() { return Device::open({DeviceKind::cpu, 0}, {.threads = 2}); }
CpuRuntime& runtime_of(const Device& device) { return static_cast<CpuRuntime&>(device.runtime()); }

Tensor random_weight(int64_t rows, const Device& device) {
  std::vector<float> values(static_cast<size_t>(rows * kColumns));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i * 2654435761U % 1000) / 500 - 1;
  const Tensor weight = Tensor::empty({rows, kColumns}, DType::q8_0, device);
  std::vector<std::byte> bytes(static_cast<size_t>(storage_bytes(DType::q8_0, rows * kColumns)));
  runtime_of(device).kernels().f32_to_q8_0(values.data(), bytes.data(), values.size());
  return Tensor::from_bytes(bytes, {rows, kColumns}, DType::q8_0, device);
}

Tensor activations(int64_t rows, const Device& device) {
  std::vector<float> values(static_cast<size_t>(rows * kColumns));
  for (size_t i = 0; i < values.size(); ++i) values[i] = std::sin(static_cast<float>(i));
  return Tensor::from_vector(values, {rows, kColumns}, device);
}

int64_t ready(const Tensor& weight) { return ready_tiles(operand_of(weight)).count; }
bool has_tiles(const Device& device) { return runtime_of(device).kernels().tile_kernels(DType::q8_0).multiply != nullptr; }

// Everything that reads a weight: products of one row and of many, of the whole and of rows that begin inside of a tile, and its rows.
std::vector<std::vector<float>> results(const Tensor& weight) {
  const Device& device = weight.device();
  std::vector<std::vector<float>> all;
  for (const int64_t rows : {1, 40}) {
    const Tensor x = activations(rows, device);
    all.push_back(linear(x, weight).to_vector<float>());
    all.push_back(gated_linear(x, weight.narrow(0, 16, 64), weight.narrow(0, 4096, 64)).to_vector<float>());
    all.push_back(linear(x, weight.narrow(0, 7, 40)).to_vector<float>());
    all.push_back(linear_experts(x, weight.narrow(0, 0, 8960).reshape({280, 32, kColumns}), Tensor::zeros({rows, 1}, DType::i32, device))
                      .to_vector<float>());
  }
  const std::vector<uint32_t> ids = {0, 15, 16, 8191, 8999};
  all.push_back(embedding(weight, Tensor::from_vector(ids, {5}, device)).to_vector<float>());
  all.push_back(weight.narrow(0, 8990, 10).to_dtype(DType::f32).to_vector<float>());
  return all;
}

TEST(PreparedWeights, GiveTheSameBitsAfterEachSlice) {
  const Device device = open_cpu();
  if (!has_tiles(device)) GTEST_SKIP() << "no tile kernels on this processor";
  const Tensor weight = random_weight(kRows, device);
  const std::vector<std::byte> plain = weight.to_bytes();
  const std::vector<std::vector<float>> expected = results(weight);
  EXPECT_EQ(ready(weight), 0);
  prepare_weight(weight);
  int slices = 0;
  do {
    ++slices;
    ASSERT_EQ(results(weight), expected) << "with " << ready(weight) << " tiles";
  } while (runtime_of(device).preparer().prepare_some());
  EXPECT_EQ(ready(weight), kRows / kInterleavedRows);
  EXPECT_EQ(results(weight), expected);
  EXPECT_EQ(weight.to_bytes(), plain) << "whoever reads the weight itself sees the file's bytes";
  EXPECT_GE(slices, 1);
}

TEST(PreparedWeights, AreReadyAfterAWhileInWhichNothingRuns) {
  const Device device = open_cpu();
  if (!has_tiles(device)) GTEST_SKIP() << "no tile kernels on this processor";
  const Tensor weight = random_weight(kRows, device);
  prepare_weight(weight);
  for (int wait = 0; wait < 600 && ready(weight) < kRows / kInterleavedRows; ++wait)
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(ready(weight), kRows / kInterleavedRows);
}

// Ops of few rows leave no pause: what becomes ready was prepared between them.
TEST(PreparedWeights, BecomeReadyBesideOps) {
  const Device device = open_cpu();
  if (!has_tiles(device)) GTEST_SKIP() << "no tile kernels on this processor";
  const Tensor weight = random_weight(kRows, device), x = activations(1, device);
  const std::vector<float> expected = linear(x, weight).to_vector<float>();
  prepare_weight(weight);
  int calls = 0;
  for (; calls < 100000 && ready(weight) < kRows / kInterleavedRows; ++calls) ASSERT_EQ(linear(x, weight).to_vector<float>(), expected);
  EXPECT_EQ(ready(weight), kRows / kInterleavedRows);
}

// So that nothing delays a model's first token.
TEST(PreparedWeights, AreLeftAloneWhileAFirstStepReadsThem) {
  using Clock = std::chrono::steady_clock;
  constexpr int64_t kWeightRows = 1600;  // 1.7 MB
  const Device device = open_cpu();
  if (!has_tiles(device)) GTEST_SKIP() << "no tile kernels on this processor";
  const Tensor x = activations(1, device);
  std::vector<Tensor> weights;
  for (int i = 0; i < 40; ++i) prepare_weight(weights.emplace_back(random_weight(kWeightRows, device)));
  Clock::duration longest{};
  for (const Tensor& weight : weights) {
    const Clock::time_point begin = Clock::now();
    (void)linear(x, weight);
    longest = std::max(longest, Clock::now() - begin);
  }
  int64_t prepared = 0;
  for (const Tensor& weight : weights) prepared += ready(weight);
  if (longest > std::chrono::milliseconds(20)) GTEST_SKIP() << "the machine is too busy to tell a step from a pause";
  EXPECT_EQ(prepared, 0);
  for (int call = 0; call < 100000 && ready(weights.back()) == 0; ++call) (void)linear(x, weights[static_cast<size_t>(call) % 40]);
  EXPECT_GT(ready(weights.back()), 0) << "later steps prepare";
}

TEST(PreparedWeights, TellWhichPlainBytesAreReadNoLonger) {
  const Device device = open_cpu();
  if (!has_tiles(device)) GTEST_SKIP() << "no tile kernels on this processor";
  const Tensor weight = random_weight(kRows, device);
  std::mutex mutex;
  size_t released = 0;  // bytes from the first on
  bool leaves_gaps = false;
  prepare_weight(weight, {.release = [&](size_t offset, size_t bytes) {
                   const std::lock_guard lock(mutex);
                   leaves_gaps |= offset > released;
                   released = std::max(released, offset + bytes);
                 }});
  device.runtime().finish_preparing();
  const std::lock_guard lock(mutex);
  EXPECT_FALSE(leaves_gaps);
  EXPECT_EQ(released, static_cast<size_t>(storage_bytes(DType::q8_0, kRows / kInterleavedRows * kInterleavedRows * kColumns)));
}

// Memory without a file behind it: a weight that was composed.
struct ComposedWeight {
  std::shared_ptr<std::vector<std::byte>> bytes;
  Tensor tensor;

  explicit ComposedWeight(const Tensor& model) : bytes(std::make_shared<std::vector<std::byte>>(model.to_bytes())) {
    tensor = Tensor::import_host(*bytes, model.shape(), model.dtype(), model.device(), bytes);
  }
  // Whether the plain bytes have left memory; an untouched page of zeros stands there.
  [[nodiscard]] bool is_given_back() const {
    const auto middle = bytes->begin() + std::ssize(*bytes) / 4;
    return std::all_of(middle, middle + std::ssize(*bytes) / 2, [](std::byte byte) { return byte == std::byte{0}; });
  }
};

TEST(PreparedWeights, LeaveMemoryThatNoFileHasAndComeBackForWhoeverReadsThem) {
  const Device device = open_cpu();
  if (!has_tiles(device)) GTEST_SKIP() << "no tile kernels on this processor";
  const Tensor model = random_weight(kRows, device);
  const std::vector<std::byte> plain = model.to_bytes();
  const auto products = [&](const Tensor& weight) {  // and rows, which tiles have too
    const std::vector<uint32_t> ids = {0, 4096, 8999};
    return std::array{linear(activations(1, device), weight).to_vector<float>(), linear(activations(40, device), weight).to_vector<float>(),
                      embedding(weight, Tensor::from_vector(ids, {3}, device)).to_vector<float>()};
  };
  const auto expected = products(model);
  const ComposedWeight weight(model);
  prepare_weight(weight.tensor, {.release = ReclaimablePages()});
  while (runtime_of(device).preparer().prepare_some()) ASSERT_EQ(products(weight.tensor), expected);
  EXPECT_TRUE(weight.is_given_back());
  EXPECT_EQ(products(weight.tensor), expected);
  EXPECT_TRUE(weight.is_given_back()) << "products and rows are read from the tiles";
  EXPECT_EQ(weight.tensor.to_bytes(), plain);
  EXPECT_EQ(*weight.bytes, plain);
  EXPECT_EQ(products(weight.tensor), expected);
}

TEST(PreparedWeights, StayInMemoryWhereSomebodyHoldsTheBytes) {
  const Device device = open_cpu();
  if (!has_tiles(device)) GTEST_SKIP() << "no tile kernels on this processor";
  const Tensor model = random_weight(kRows, device);
  const std::vector<std::byte> plain = model.to_bytes();
  const ComposedWeight weight(model);
  prepare_weight(weight.tensor, {.release = ReclaimablePages()});
  (void)runtime_of(device).preparer().prepare_some();
  const std::byte* held = std::as_const(weight.tensor.storage()->buffer()).host_data();
  device.runtime().finish_preparing();
  EXPECT_TRUE(std::equal(plain.begin(), plain.end(), held));
}

TEST(PreparedWeights, AreThereWhenAWeightIsWrittenToThatHadLeftMemory) {
  const Device device = open_cpu();
  if (!has_tiles(device)) GTEST_SKIP() << "no tile kernels on this processor";
  const ComposedWeight weight(Tensor::full({2048, kColumns}, 0.5, DType::bf16, device));
  prepare_weight(weight.tensor, {.release = ReclaimablePages()});
  device.runtime().finish_preparing();
  EXPECT_TRUE(weight.is_given_back());
  fill(weight.tensor.narrow(0, 0, 1), 0.25);
  std::vector<float> expected(2048, 512);
  expected[0] = 256;
  EXPECT_EQ(linear(Tensor::full({1, kColumns}, 1, DType::f32, device), weight.tensor).to_vector<float>(), expected);
}

TEST(PreparedWeights, AreForgottenWhenTheWeightIsWrittenTo) {
  const Device device = open_cpu();
  if (!has_tiles(device)) GTEST_SKIP() << "no tile kernels on this processor";
  const Tensor weight = Tensor::full({64, kColumns}, 0.5, DType::bf16, device), x = Tensor::full({1, kColumns}, 1, DType::f32, device);
  prepare_weight(weight);
  device.runtime().finish_preparing();
  EXPECT_EQ(ready(weight), 4);
  EXPECT_EQ(linear(x, weight).to_vector<float>(), std::vector<float>(64, 512));
  fill(weight, 0.25);
  EXPECT_EQ(ready(weight), 0);
  EXPECT_EQ(linear(x, weight).to_vector<float>(), std::vector<float>(64, 256));
}

// A weight may go at any time: the preparer has then read its last byte.
TEST(PreparedWeights, MayGoWhileTheyAreBeingPrepared) {
  const Device device = open_cpu();
  std::atomic<bool> stop{false};
  std::thread other([&] {
    while (!stop) {
      (void)runtime_of(device).preparer().prepare_some();
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
  });
  for (int turn = 0; turn < 20; ++turn) {
    const Tensor weight = random_weight(turn % 2 == 0 ? 64 : 600, device);
    const std::vector<float> expected = linear(activations(1, device), weight).to_vector<float>();
    prepare_weight(weight);
    for (int call = 0; call < turn % 4; ++call) EXPECT_EQ(linear(activations(1, device), weight).to_vector<float>(), expected);
  }
  stop = true;
  other.join();
}

}  // namespace
}  // namespace wick::cpu
