// The names under which ops are counted: each begins with the backend that ran it, so that no two backends have one in common.
#include "wick/tensor/ops/op_counts.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "wick/device/registry.h"
#include "wick/tensor/tensor.h"

namespace wick {
namespace {

TEST(OpCounts, NamesBeginWithTheBackendThatRan) {
  std::set<std::string> names;
  for (const Device& device : {Device::cpu(), Device::reference()}) {
    const OpCounts counts;
    (void)(Tensor::zeros({4}, DType::f32, device) + Tensor::zeros({4}, DType::f32, device)).sum_all();
    const std::map<std::string, uint64_t> counted = counts.by_name();
    EXPECT_FALSE(counted.empty());
    for (const auto& [name, count] : counted) {
      EXPECT_TRUE(name.starts_with(std::string(to_string(device.kind())) + ":")) << name;
      EXPECT_TRUE(names.insert(name).second) << name << " is a name of two backends";
    }
  }
}

TEST(OpCounts, EachLinkedBackendHasANameOfItsOwn) {
  std::set<std::string> names;
  for (const Backend* backend : linked_backends()) EXPECT_TRUE(names.insert(std::string(to_string(backend->kind))).second);
}

}  // namespace
}  // namespace wick
