// Every kernel and every node, in the interpreter: as written, and as the passes leave it for each kind of device.
#include <gtest/gtest.h>

#include "ir/kernel_cases.h"
#include "ir/launch.h"
#include "wick/ir/passes.h"
#include "wick/ir/verify.h"

namespace wick::ir {
namespace {

std::vector<KernelCase> all_cases(const DeviceCaps& caps) {
  std::vector<KernelCase> cases = kernel_cases(caps);
  for (KernelCase& c : linear_cases(caps)) cases.push_back(std::move(c));
  for (KernelCase& c : node_cases(caps)) cases.push_back(std::move(c));
  return cases;
}

void check_as_written(const DeviceCaps& caps) {
  for (const KernelCase& c : all_cases(caps)) {
    EXPECT_EQ(error_of([&] {
                verify(c.kernel);
                EXPECT_EQ(differences(c, interpreted(c.kernel, c)), "");
              }),
              "")
        << c.name << " for " << caps.name;
  }
}

TEST(Kernels, AgreeWithPlainLoops) { check_as_written(plain_caps()); }
TEST(Kernels, AgreeWithPlainLoopsWithSubgroups) { check_as_written(subgroup_caps()); }

// The kernels as written for `caps`, prepared for a device of `device`.
void check_prepared(const DeviceCaps& caps, const DeviceCaps& device) {
  for (const KernelCase& c : all_cases(caps)) {
    // Lowered to shared memory its accumulators do not fit; its launcher asks for lanes.
    if (!has_lane_tiles(device) && c.name.starts_with("attention_by_lanes")) continue;
    EXPECT_EQ(error_of([&] { EXPECT_EQ(differences(c, interpreted(prepare(c.kernel, device), c)), ""); }), "")
        << c.name << " on " << device.name;
  }
}

TEST(Passes, KeepTheMeaningOnAPlainDevice) { check_prepared(plain_caps(), plain_caps()); }
TEST(Passes, KeepTheMeaningWithSubgroups) { check_prepared(subgroup_caps(), subgroup_caps()); }
TEST(Passes, KeepTheMeaningWithTiles) { check_prepared(tile_caps(), tile_caps()); }
TEST(Passes, KeepTheMeaningOnADeviceThatLacksEverything) { check_prepared(plain_caps(), bare_caps()); }

TEST(Passes, LowerSubgroupsWhereTheDeviceHasNone) {
  DeviceCaps without = plain_caps();
  without.int64 = without.f64_arithmetic = true;
  check_prepared(subgroup_caps(), without);
}

TEST(Passes, LowerHalvesWhereTheDeviceOnlyStoresThem) {
  DeviceCaps storage = plain_caps();
  storage.f16_arithmetic = false;
  check_prepared(plain_caps(), storage);
  DeviceCaps arithmetic = bare_caps();
  arithmetic.f16_arithmetic = true;
  check_prepared(plain_caps(), arithmetic);
}

}  // namespace
}  // namespace wick::ir
