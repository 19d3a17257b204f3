#include "wick/model/rope_table.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>

#include "wick/base/error.h"

namespace wick {
namespace {

TEST(RopeTable, UnscaledFrequenciesAreAGeometricSeries) {
  const RopeTable table({.dims = 8, .base = 10000, .frequency_divisors = {}});
  ASSERT_EQ(table.frequencies().size(), 4U);
  for (size_t pair = 0; pair < 4; ++pair) EXPECT_DOUBLE_EQ(table.frequencies()[pair], std::pow(10.0, -static_cast<double>(pair)));
}

TEST(RopeTable, AnglesAreExactFarOut) {
  const RopeTable table({.dims = 4, .base = 10000, .frequency_divisors = {}});
  const std::vector<float> values = table.table(100000, 2, Device::cpu()).to_vector<float>();
  ASSERT_EQ(values.size(), 8U);
  EXPECT_FLOAT_EQ(values[0], static_cast<float>(std::cos(100000.0)));
  EXPECT_FLOAT_EQ(values[5], static_cast<float>(std::sin(100001.0)));
  EXPECT_FLOAT_EQ(values[2], static_cast<float>(std::cos(1000.0)));
}

TEST(RopeTable, LinearScalingDividesEveryPosition) {
  const RopeTable plain({.dims = 8, .frequency_divisors = {}});
  const RopeTable scaled({.dims = 8, .scaling = RopeScaling::linear, .factor = 4, .frequency_divisors = {}});
  for (size_t pair = 0; pair < 4; ++pair) EXPECT_DOUBLE_EQ(scaled.frequencies()[pair], plain.frequencies()[pair] / 4);
  EXPECT_EQ(scaled.magnitude(), 1);
}

TEST(RopeTable, DivisorsDivideEachFrequency) {
  const RopeTable plain({.dims = 4, .frequency_divisors = {}});
  const RopeTable divided({.dims = 4, .frequency_divisors = {1, 8}});
  EXPECT_DOUBLE_EQ(divided.frequencies()[0], plain.frequencies()[0]);
  EXPECT_DOUBLE_EQ(divided.frequencies()[1], plain.frequencies()[1] / 8);
}

// Expected values: the frequencies that the YaRN paper's reference gives for these parameters, worked out in Python.
TEST(RopeTable, YarnKeepsFastPairsAndStretchesSlowOnes) {
  const RopeTable plain({.dims = 64, .base = 10000, .frequency_divisors = {}});
  const RopeTable yarn(
      {.dims = 64, .base = 10000, .scaling = RopeScaling::yarn, .factor = 8, .original_context = 2048, .frequency_divisors = {}});
  // beta_fast 32 → pair 8.07, beta_slow 1 → pair 20.11: the ramp runs from 8 to 21.
  EXPECT_NEAR(yarn.frequencies()[0], 1.0, 1e-12);
  EXPECT_NEAR(yarn.frequencies()[8], plain.frequencies()[8], 1e-12);
  EXPECT_NEAR(yarn.frequencies()[21], plain.frequencies()[21] / 8, 1e-12);
  EXPECT_NEAR(yarn.frequencies()[31], plain.frequencies()[31] / 8, 1e-12);
  const double ramp = (14.0 - 8.0) / (21.0 - 8.0);
  EXPECT_NEAR(yarn.frequencies()[14], plain.frequencies()[14] * (1 - ramp + ramp / 8), 1e-12);
  EXPECT_NEAR(yarn.magnitude(), 1 + 0.1 * std::log(8.0), 1e-12);
}

TEST(RopeTable, TheFilesFactorCountsForEveryTypeOfScaling) {
  for (const RopeScaling scaling : {RopeScaling::none, RopeScaling::linear, RopeScaling::llama3}) {
    RopeConfig config{};
    config.dims = 4;
    config.scaling = scaling;
    config.factor = 2;
    config.original_context = 64;
    config.attention_factor = 1.5;
    EXPECT_DOUBLE_EQ(RopeTable(config).magnitude(), 1.5);
  }
}

TEST(RopeTable, CallersMistakesAreErrors) {
  EXPECT_THROW(RopeTable({.dims = 7, .frequency_divisors = {}}), Error);
  EXPECT_THROW(RopeTable({.dims = 0, .frequency_divisors = {}}), Error);
  EXPECT_THROW(RopeTable({.dims = 4, .frequency_divisors = {1}}), Error);
  const RopeTable table({.dims = 4, .frequency_divisors = {}});
  EXPECT_THROW((void)table.table(0, -1, Device::cpu()), Error);
  EXPECT_THROW((void)table.table(-1, 1, Device::cpu()), Error);
  EXPECT_THROW((void)table.table(INT64_MAX, 2, Device::cpu()), Error);
}

}  // namespace
}  // namespace wick
