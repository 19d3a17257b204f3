// What a traced device writes about its launches.
#include "wick/device/trace.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "temporary_folder.h"
#include "wick/base/error.h"
#include "wick/device/device.h"
#include "wick/tensor/ops/copy.h"
#include "wick/tensor/tensor.h"

namespace wick {
namespace {

// The names of the launches and copies in a trace, in their order.
std::vector<std::string> names_of(const std::string& path) {
  const nlohmann::json trace = nlohmann::json::parse(std::ifstream(path));
  std::vector<std::string> names;
  for (const nlohmann::json& event : trace["traceEvents"]) {
    if (event["ph"] != "X") continue;
    names.push_back(event["name"]);
    EXPECT_GE(event["dur"], 0);
  }
  return names;
}

// Those of `run` on a device with kernels.
std::vector<std::string> traced(const std::function<void(const Device&)>& run) {
  const TemporaryFolder folder;
  const std::string path = (folder / "trace.json").string();
  run(Device::open({DeviceKind::reference, 0}, {.trace_file = path}));
  return names_of(path);
}

TEST(Trace, EachLaunchAndCopyIsInTheFileByItsName) {
  const TemporaryFolder folder;
  const std::string path = (folder / "trace.json").string();
  {
    const Device device = Device::open({DeviceKind::reference, 0}, {.trace_file = path});
    const Tensor x = Tensor::full({5}, 2, DType::f32, device);
    EXPECT_EQ(x.to_vector<float>(), std::vector<float>(5, 2));
    EXPECT_FALSE(std::ifstream(path).is_open());
  }
  EXPECT_EQ(names_of(path), (std::vector<std::string>{"fill_4_r1", "download"}));
}

TEST(Trace, IdsThatTheHostGaveAreCheckedWithoutTheDevice) {
  const auto select = [](const Tensor& ids) {
    const Tensor x = Tensor::arange(0, 40, DType::f32, ids.device()).reshape({10, 4});
    return x.index_select(ids, 0).narrow(1, 0, 1).flatten_all().contiguous();
  };
  const auto downloads = [](const std::vector<std::string>& names) { return std::count(names.begin(), names.end(), "download"); };
  const std::vector<std::string> given = traced([&](const Device& device) {
    const Tensor all = Tensor::from_vector(std::vector<int32_t>{-5, 9, 0, 3, 77}, {5}, device);
    (void)select(all.narrow(0, 1, 3));
  });
  EXPECT_EQ(downloads(given), 0);
  EXPECT_EQ(std::count_if(given.begin(), given.end(), [](const std::string& name) { return name.starts_with("check_ids"); }), 0);
  // An id that is not there is named, and one that means "nothing" gives zeros, as on a device that looks at them.
  const std::vector<std::string> odd = traced([&](const Device& device) {
    const Tensor ids = Tensor::from_vector(std::vector<int32_t>{1, 10}, {2}, device);
    EXPECT_THROW((void)select(ids), Error);
    constexpr int32_t nothing = std::numeric_limits<int32_t>::max();
    const Tensor some = Tensor::from_vector(std::vector<int32_t>{nothing, 2}, {2}, device);
    EXPECT_EQ(select(some).to_vector<float>(), (std::vector<float>{0, 8}));
  });
  EXPECT_GE(downloads(odd), 2);
  // What was written since counts, not what the host gave.
  (void)traced([&](const Device& device) {
    const Tensor ids = Tensor::from_vector(std::vector<int32_t>{1, 2}, {2}, device);
    copy(Tensor::from_vector(std::vector<int32_t>{3, 0}, {2}, device), ids);
    EXPECT_EQ(select(ids).to_vector<float>(), (std::vector<float>{12, 0}));
    copy(Tensor::from_vector(std::vector<int32_t>{3, 11}, {2}, device), ids);
    EXPECT_THROW((void)select(ids), Error);
  });
}

}  // namespace
}  // namespace wick
