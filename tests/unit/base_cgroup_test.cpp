#include "wick/base/cgroup.h"

#include <gtest/gtest.h>

#include <fstream>

#include "unit/temporary_folder.h"

namespace wick {
namespace {

class CgroupTest : public testing::Test {
 protected:
  void file(const std::string& path, const std::string& text) const {
    const std::filesystem::path full = root.path() / path;
    std::filesystem::create_directories(full.parent_path());
    std::ofstream(full) << text;
  }

  TemporaryFolder root;
};

TEST_F(CgroupTest, WithoutGroupsNothingIsLimited) {
  const Cgroup cgroup(root.path());
  EXPECT_FALSE(cgroup.memory_limit());
  EXPECT_FALSE(cgroup.available_memory());
  EXPECT_FALSE(cgroup.cores());
}

TEST_F(CgroupTest, TheTightestGroupOfVersion2Counts) {
  file("proc/self/cgroup", "0::/user/app\n");
  file("proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n");
  file("sys/fs/cgroup/user/memory.max", "1000000\n");
  file("sys/fs/cgroup/user/memory.current", "300000\n");
  file("sys/fs/cgroup/user/memory.stat", "anon 200000\ninactive_file 40000\nactive_file 60000\nslab 7\n");
  file("sys/fs/cgroup/user/app/memory.max", "max\n");
  file("sys/fs/cgroup/user/app/memory.current", "100\n");
  file("sys/fs/cgroup/user/cpu.max", "max 100000\n");
  file("sys/fs/cgroup/user/app/cpu.max", "150000 100000\n");
  const Cgroup cgroup(root.path());
  EXPECT_EQ(cgroup.memory_limit(), 1000000U);
  EXPECT_EQ(cgroup.available_memory(), 800000U);  // pages of files are given back first
  EXPECT_EQ(cgroup.cores(), 1.5);
}

TEST_F(CgroupTest, Version1HasAHierarchyForEachController) {
  file("proc/self/cgroup", "5:devices:/x\n4:memory:/docker/abc\n1:cpu,cpuacct:/docker/abc\n0::/\n");
  file("proc/self/mountinfo",
       "35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n"
       "32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu,cpuacct\n");
  file("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  file("sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes", "125829120\n");
  file("sys/fs/cgroup/memory/docker/abc/memory.usage_in_bytes", "25829120\n");
  file("sys/fs/cgroup/memory/docker/abc/memory.stat", "inactive_file 1\ntotal_inactive_file 829120\ntotal_active_file 0\n");
  file("sys/fs/cgroup/cpu/docker/abc/cpu.cfs_quota_us", "50000\n");
  file("sys/fs/cgroup/cpu/docker/abc/cpu.cfs_period_us", "100000\n");
  file("sys/fs/cgroup/cpu/docker/cpu.cfs_quota_us", "-1\n");
  const Cgroup cgroup(root.path());
  EXPECT_EQ(cgroup.memory_limit(), 125829120U);
  EXPECT_EQ(cgroup.available_memory(), 125829120U - 25000000U);
  EXPECT_EQ(cgroup.cores(), 0.5);
}

// A container sees its group as the root of the mount, and a path in /proc that it cannot follow.
TEST_F(CgroupTest, InAContainerTheMountIsTheGroup) {
  file("proc/self/cgroup", "4:memory:/docker/abc/inner\n0::/../other\n");
  file("proc/self/mountinfo",
       "35 31 0:32 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n"
       "36 31 0:33 /docker/zzz /sys/fs/cgroup/my\\040unified ro - cgroup2 cgroup rw\n");
  file("sys/fs/cgroup/memory/memory.limit_in_bytes", "5000\n");
  file("sys/fs/cgroup/memory/inner/memory.limit_in_bytes", "4000\n");
  file("sys/fs/cgroup/my unified/cpu.max", "300000 100000\n");
  const Cgroup cgroup(root.path());
  EXPECT_EQ(cgroup.memory_limit(), 4000U);
  EXPECT_EQ(cgroup.cores(), 3);
}

TEST_F(CgroupTest, MoreUsedThanAllowedLeavesNothing) {
  file("proc/self/cgroup", "0::/\n");
  file("proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
  file("sys/fs/cgroup/memory.max", "1000\n");
  file("sys/fs/cgroup/memory.current", "5000\n");
  EXPECT_EQ(Cgroup(root.path()).available_memory(), 0U);
}

}  // namespace
}  // namespace wick
