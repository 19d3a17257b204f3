#include <gtest/gtest.h>

#include <stdexcept>
#include <thread>

#include "unit/message_of.h"
#include "unit/shared_data.h"
#include "wick/tensor/backward.h"
#include "wick/tensor/defaults.h"
#include "wick/tensor/files.h"
#include "wick/tensor/no_grad.h"
#include "wick/tensor/variable.h"

namespace wick {
namespace {

TEST(Defaults, AreF32AndTheCpu) {
  EXPECT_EQ(default_dtype(), DType::f32);
  EXPECT_TRUE(default_device().is_cpu());
  EXPECT_EQ(Tensor::zeros({2}).dtype(), DType::f32);
}

TEST(Defaults, OfAScopeAreTakenByAllThatMakesTensors) {
  const Device null = Device::null();
  {
    const DefaultsScope defaults({.dtype = DType::f64, .device = null});
    for (const Tensor& tensor : {Tensor::zeros({2}), Tensor::ones({2}), Tensor::full({2}, 3), Tensor::empty({2}), Tensor::rand({2}),
                                 Tensor::randn({2}), Tensor::rand(0, 1, {2}), Tensor::randn(0, 1, {2})}) {
      EXPECT_EQ(tensor.dtype(), DType::f64);
      EXPECT_EQ(tensor.device().location(), null.location());
    }
    EXPECT_EQ(Var::zeros({2})->dtype(), DType::f64);
    EXPECT_EQ(Tensor::import_host({}, {0}, DType::u8, nullptr).device().location(), null.location());
    EXPECT_EQ(read_npy(source_file("tests/data/formats/npy/big_fortran.npy")).device().location(), null.location());
    // The elements say what they are; what is named goes before the default.
    EXPECT_EQ(Tensor::of<float>({1, 2}).dtype(), DType::f32);
    EXPECT_EQ(Tensor::of<float>({1, 2}).device().location(), null.location());
    EXPECT_EQ(Tensor::zeros({2}, DType::u8).dtype(), DType::u8);
    EXPECT_TRUE(Tensor::zeros({2}, DType::u8, Device::cpu()).device().is_cpu());
  }
  EXPECT_EQ(Tensor::zeros({2}).dtype(), DType::f32);
  EXPECT_TRUE(Tensor::zeros({2}).device().is_cpu());
}

TEST(Defaults, ScopesNestEndWithAnExceptionAndBelongToTheirThread) {
  const DefaultsScope outer({.dtype = DType::f64});
  try {
    const DefaultsScope inner({.dtype = DType::bf16});
    const DefaultsScope device_alone({.device = Device::null()});
    EXPECT_EQ(default_dtype(), DType::bf16);
    throw std::runtime_error("out of both");
  } catch (const std::runtime_error&) {}
  EXPECT_EQ(default_dtype(), DType::f64);
  EXPECT_TRUE(default_device().is_cpu());
  DType elsewhere = DType::u8;
  std::thread([&] { elsewhere = default_dtype(); }).join();
  EXPECT_EQ(elsewhere, DType::f32);
}

TEST(Defaults, AreDTypesOfSingleNumbers) {
  EXPECT_EQ(message_of(ErrorCode::invalid_argument, [] { const DefaultsScope scope({.dtype = DType::q4_0}); }),
            "DefaultsScope: dtype is q4_0; allowed: dtypes of single numbers");
  EXPECT_EQ(default_dtype(), DType::f32);
}

TEST(NoGradScope, NestsEndsWithAnExceptionAndBelongsToItsThread) {
  const Var x = Var::ones({2});
  const auto tracked = [&] { return (x.tensor() * 2).is_tracked(); };
  try {
    const NoGradScope outer;
    {
      const NoGradScope inner;
      EXPECT_FALSE(tracked());
    }
    EXPECT_FALSE(tracked());
    EXPECT_TRUE(x->is_tracked());
    bool elsewhere = false;
    std::thread([&] { elsewhere = tracked(); }).join();
    EXPECT_TRUE(elsewhere);
    throw std::runtime_error("out of the scope");
  } catch (const std::runtime_error&) {}
  EXPECT_TRUE(tracked());
  EXPECT_EQ(backward((x.tensor() * 2).sum())[x].to_vector<float>(), (std::vector<float>{2, 2}));
}

}  // namespace
}  // namespace wick
