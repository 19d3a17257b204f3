// Random numbers where no tensor and no Device is alive between the calls. Each test is a process of its own under ctest.
#include <gmock/gmock.h>

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "wick/device/random_stream.h"
#include "wick/nn/dataset.h"
#include "wick/nn/init.h"
#include "wick/nn/linear.h"
#include "wick/tensor/tensor.h"

namespace wick {
namespace {

using testing::UnorderedElementsAreArray;

double draw_one() { return Tensor::randn({1}).item(); }

// A network of that seed, which is gone before the next one is made.
std::vector<float> weight_of_seed(uint64_t seed) {
  Device::cpu().set_seed(seed);
  return nn::Linear(2, 3).weight().to_vector<float>();
}

std::vector<float> order_of(nn::DataLoader loader) { return loader.batches().front().inputs.flatten_all().to_vector<float>(); }

nn::DataLoader shuffled() { return nn::DataLoader({Tensor::arange(0, 64), Tensor::arange(0, 64)}, {.batch_size = 64, .shuffle = true}); }

std::vector<std::string> threads_of_process() {
  std::vector<std::string> threads;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) threads.push_back(entry.path().filename());
  return threads;
}

TEST(ProcessSeed, SixDrawsDiffer) {
  std::set<double> draws;
  for (int draw = 0; draw < 6; ++draw) draws.insert(draw_one());
  EXPECT_EQ(draws.size(), 6U);
}

TEST(ProcessSeed, ASeedThatIsSetWithNothingAliveHolds) {
  Device::cpu().set_seed(1);
  EXPECT_EQ(Device::cpu().get_current_seed(), 1U);
  const double first = draw_one(), second = draw_one();
  EXPECT_NE(first, second);
  Device::cpu().set_seed(2);
  EXPECT_NE(draw_one(), first);
  Device::cpu().set_seed(1);
  EXPECT_EQ(draw_one(), first);
  EXPECT_EQ(draw_one(), second);
}

TEST(ProcessSeed, IsSharedByHandlesOfAnyOptions) {
  Device::open({DeviceKind::cpu, 0}, {.threads = 1}).set_seed(42);
  EXPECT_EQ(Tensor::rand({1}).item(), 10283760 * 0x1p-24);  // words 0 and 4 of the stream of seed 42 (tensor_random_test.cpp)
  EXPECT_EQ(Tensor::rand({1}, DType::f32, Device::open({DeviceKind::cpu, 0}, {.threads = 3})).item(), 16571169 * 0x1p-24);
}

TEST(ProcessSeed, NetworksOfTwoSeedsDiffer) {
  EXPECT_NE(weight_of_seed(1), weight_of_seed(2));
  EXPECT_EQ(weight_of_seed(1), weight_of_seed(1));
}

TEST(ProcessSeed, ManualSeedBeginsEveryStreamAnew) {
  const auto draws = [] {
    manual_seed(5);
    std::vector<double> all = {draw_one(), draw_one(), static_cast<double>(draw_seed()), static_cast<double>(draw_seed())};
    for (const float value : order_of(shuffled())) all.push_back(value);
    return all;
  };
  (void)Device::null().random().take(8);
  const std::vector<double> first = draws();
  EXPECT_EQ(initial_seed(), 5U);
  EXPECT_EQ(Device::null().get_current_seed(), 5U);
  EXPECT_EQ(Device::null().random().take(4).offset, 0U);
  EXPECT_EQ(draws(), first);
  EXPECT_NE(first[2], first[3]);
}

TEST(ProcessSeed, LoadersThatAreGivenNoneShuffleDifferently) { EXPECT_NE(order_of(shuffled()), order_of(shuffled())); }

TEST(ProcessSeed, ThreadsOfTheCpuWaitForTheNextOp) {
  (void)draw_one();
  const std::vector<std::string> before = threads_of_process();
  (void)draw_one();
  EXPECT_THAT(threads_of_process(), UnorderedElementsAreArray(before));
}

TEST(ProcessSeed, MemoryIsGivenBackWhenNothingIsAlive) {
  { const Tensor large = Tensor::zeros({4 << 20}), others[] = {Tensor::zeros({1 << 18}), Tensor::zeros({1 << 18})}; }
  EXPECT_EQ(Device::cpu().runtime().allocated_bytes(), 0U);
  EXPECT_EQ(Device::cpu().runtime().peak_allocated_bytes(), 0U);
}

}  // namespace
}  // namespace wick
