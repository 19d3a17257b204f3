// Operands on different devices are refused before anything runs. The program of these tests links the backends cpu and null.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "unit/cpu_tensors.h"
#include "wick/base/error.h"
#include "wick/tensor/ops/normalize.h"
#include "wick/tensor/tensor.h"
#include "wick/tensor/variable.h"

namespace wick {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(DeviceMismatch, EveryOpNamesItselfAndBothDevices) {
  const Tensor here = Tensor::ones({2, 2}, DType::f32, kCpu);
  const Tensor there = Tensor::ones({2, 2}, DType::f32, Device::null());
  const Tensor ids = Tensor::zeros({2}, DType::u32, Device::null());
  const Tensor row = Tensor::ones({2}, DType::f32, Device::null());
  const std::vector<std::pair<std::string, std::function<Tensor()>>> calls = {
      {"add", [&] { return here + there; }},
      {"maximum", [&] { return there.maximum(here); }},
      {"lt", [&] { return here.lt(there); }},
      {"matmul", [&] { return here.matmul(there); }},
      {"where_cond", [&] { return here.gt(0.0).where_cond(here, there); }},
      {"where_cond", [&] { return here.gt(0.0).where_cond(there, here); }},
      {"where_cond", [&] { return there.gt(0.0).where_cond(here, here); }},
      {"index_select", [&] { return here.index_select(ids, 0); }},
      {"rms_norm", [&] { return rms_norm(here, row, 1e-5F); }},
      {"add_rms_norm", [&] { return add_rms_norm(here, there, row, 1e-5F).sum; }},
      {"layer_norm", [&] { return layer_norm(here, row, row, 1e-5F); }},
  };
  for (const auto& [op, call] : calls) {
    try {
      (void)call();
      ADD_FAILURE() << op << " mixed devices";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::device_mismatch) << error.what();
      EXPECT_THAT(error.what(), AllOf(HasSubstr(op), HasSubstr("cpu"), HasSubstr("null")));
    }
  }
}

TEST(DeviceMismatch, TrackedTensorsAreRefusedTheSame) {
  const Var here = Var::ones({2}, DType::f32, kCpu);
  const Tensor there = Tensor::ones({2}, DType::f32, Device::null());
  EXPECT_THROW((void)(here.tensor() * there), Error);
}

TEST(DeviceMismatch, MovingIsExplicit) {
  const Tensor here = Tensor::of<float>({1, 2, 3}, kCpu);
  EXPECT_EQ(here.to_device(kCpu).storage(), here.storage());
  EXPECT_TRUE(here.to_device(Device::null()).device().same_device(Device::null()));
}

}  // namespace
}  // namespace wick
