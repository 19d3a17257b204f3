// What a traced device writes about its launches.
#include "wick/device/trace.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "temporary_folder.h"
#include "wick/device/device.h"
#include "wick/tensor/tensor.h"

namespace wick {
namespace {

TEST(Trace, EachLaunchAndCopyIsInTheFileByItsName) {
  const TemporaryFolder folder;
  const std::string path = (folder / "trace.json").string();
  {
    const Device device = Device::open({DeviceKind::reference, 0}, {.trace_file = path});
    const Tensor x = Tensor::full({5}, 2, DType::f32, device);
    EXPECT_EQ(x.to_vector<float>(), std::vector<float>(5, 2));
    EXPECT_FALSE(std::ifstream(path).is_open());
  }
  const nlohmann::json trace = nlohmann::json::parse(std::ifstream(path));
  std::vector<std::string> names;
  for (const nlohmann::json& event : trace["traceEvents"]) {
    if (event["ph"] != "X") continue;
    names.push_back(event["name"]);
    EXPECT_GE(event["dur"], 0);
  }
  ASSERT_EQ(names.size(), 2U);
  EXPECT_EQ(names[0], "fill_4_r1");
  EXPECT_EQ(names[1], "download");
}

}  // namespace
}  // namespace wick
