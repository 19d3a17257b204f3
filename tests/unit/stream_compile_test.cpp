// Programs that are made several at once, before the work that needs them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "unit/processes.h"
#include "unit/stream_driver.h"
#include "unit/temporary_folder.h"

namespace wick {
namespace {

using testing::AllOf;
using testing::HasSubstr;

KernelRuntime& kernels_of(const Device& device) { return static_cast<KernelRuntime&>(device.runtime()); }

struct Pair {
  explicit Pair(const Device& device)
      : a(Tensor::from_vector(std::vector<float>{1, 2, 3}, {3}, device)),
        b(Tensor::from_vector(std::vector<float>{10, 20, 30}, {3}, device)) {}
  Tensor a, b;
  void use() const {
    (void)(a + b);
    (void)(a * b).exp();
    (void)a.sum_all();
  }
};

// The fake compiles nothing before two callers are in it at once.
TEST_P(StreamFaultTest, KernelsOfWorkToComeAreCompiledAtTheSameTime) {
  const TemporaryFolder refused;
  const Variable temporary("TMPDIR", refused.path().string());
  const Device own = device();
  const Pair pair(own);
  const int launches = fake_->count(api().launch.name), modules = fake_->count(api().module_load.name);
  {
    const Variable together(vendor().compiler_variable, "together=2");
    kernels_of(own).compile_together([&] { pair.use(); });
  }
  EXPECT_EQ(fake_->count(api().launch.name), launches) << "work that is only looked at does not run";
  EXPECT_GE(fake_->count(api().module_load.name), modules + 3);
  const Variable refuse(vendor().compiler_variable, "refuse=1");
  EXPECT_EQ((pair.a + pair.b).to_vector<float>(), (std::vector<float>{11, 22, 33}));
  EXPECT_EQ(pair.a.sum_all().to_vector<float>(), (std::vector<float>{6}));
  pair.use();
  own.synchronize();
  EXPECT_THAT(error_of([&] { (void)(pair.a - pair.b); }).what(), HasSubstr("told to refuse"));
}

TEST_P(StreamFaultTest, AProgramThatCouldNotBeMadeSaysSoWhenItIsLaunched) {
  const TemporaryFolder refused;
  const Variable temporary("TMPDIR", refused.path().string());
  const Device own = device();
  const Pair pair(own);
  {
    const Variable refuse(vendor().compiler_variable, "refuse=1");
    kernels_of(own).compile_together([&] { pair.use(); });
  }
  const Error error = error_of([&] { (void)(pair.a + pair.b); });
  EXPECT_EQ(error.code(), ErrorCode::unsupported);
  EXPECT_THAT(error.what(), AllOf(HasSubstr("kernel "), HasSubstr("refused it"), HasSubstr("told to refuse")));
  EXPECT_EQ((pair.a - pair.b).to_vector<float>(), (std::vector<float>{-9, -18, -27})) << "the device goes on";
}

TEST_P(StreamFaultTest, AnErrorOfTheWorkItselfLeavesTheDeviceAsItWas) {
  const Device own = device();
  const Pair pair(own);
  const Error error = error_of([&] {
    kernels_of(own).compile_together([&] {
      pair.use();
      (void)Tensor::empty({int64_t{1} << 40}, DType::f32, own);
    });
  });
  EXPECT_EQ(error.code(), ErrorCode::out_of_memory);
  EXPECT_EQ((pair.a + pair.b).to_vector<float>(), (std::vector<float>{11, 22, 33}));
}

TEST_P(StreamFaultTest, WhatALostDeviceWasToCompileGivesTheErrorOfTheLoss) {
  const Device own = device();
  const Pair pair(own);
  fake_->faults[api().module_load.name] = {.status = 700, .sticky = true};
  kernels_of(own).compile_together([&] { pair.use(); });
  const Error error = error_of([&] { (void)(pair.a + pair.b); });
  EXPECT_EQ(error.code(), ErrorCode::device_lost);
  EXPECT_THAT(error.what(), HasSubstr("is lost"));
}

// Each with several threads, into one folder.
TEST_P(StreamFaultTest, TwoProcessesThatCompileTogetherShareACacheFolder) {
  const TemporaryFolder folder;
  const DeviceOptions options{.cache_directory = folder / "cache"};
  const auto compile = [&] {
    const Device own = Device::adopt({api().kind, 0}, runtime(0, options));
    const Pair pair(own);
    kernels_of(own).compile_together([&] { pair.use(); });
    return (pair.a + pair.b).to_vector<float>() == std::vector<float>{11, 22, 33};
  };
  run_in_processes(2, [&](int) { return compile(); });
  for (const auto& entry : std::filesystem::directory_iterator(folder / "cache")) {
    EXPECT_EQ(entry.path().extension(), ".program") << entry.path() << ": half of an entry";
  }
  const Variable refuse(vendor().compiler_variable, "refuse=1");
  EXPECT_TRUE(compile());
}

}  // namespace
}  // namespace wick
