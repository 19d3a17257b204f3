#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <vector>

#include "unit/cpu_tensors.h"
#include "wick/base/error.h"
#include "wick/tensor/tensor.h"

namespace wick {
namespace {

void expect_error(ErrorCode code, const std::function<void()>& body) {
  try {
    body();
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
  }
}

TEST(Tensor, ViewsShareMemoryAndReadInRowMajorOrder) {
  const Tensor base = count({2, 3});
  const Tensor swapped = base.transpose(0, 1);
  EXPECT_EQ(&swapped.storage()->buffer(), &base.storage()->buffer());
  EXPECT_EQ(swapped.to_vector<float>(), (std::vector<float>{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(base.narrow(1, 1, 2).to_vector<float>(), (std::vector<float>{1, 2, 4, 5}));
  EXPECT_EQ(base.flip(0).to_vector<float>(), (std::vector<float>{3, 4, 5, 0, 1, 2}));
  EXPECT_EQ(base.narrow(0, 1, 1).broadcast_to({2, 3}).to_vector<float>(), (std::vector<float>{3, 4, 5, 3, 4, 5}));
}

TEST(Tensor, ContiguousAndReshapeCopyOnlyWhereTheyMust) {
  const Tensor base = count({2, 3});
  EXPECT_EQ(&base.contiguous().storage()->buffer(), &base.storage()->buffer());
  EXPECT_EQ(&base.reshape({3, 2}).storage()->buffer(), &base.storage()->buffer());
  const Tensor copied = base.transpose(0, 1).reshape({6});
  EXPECT_NE(&copied.storage()->buffer(), &base.storage()->buffer());
  EXPECT_EQ(copied.to_vector<float>(), (std::vector<float>{0, 3, 1, 4, 2, 5}));
}

TEST(Tensor, EmptyAndScalarShapesHaveTheirElements) {
  EXPECT_TRUE(Tensor::zeros({3, 0}, DType::f32, Device::cpu()).to_vector<float>().empty());
  EXPECT_EQ(Tensor::full({}, 2.5, DType::f64, Device::cpu()).to_vector<double>(), std::vector<double>{2.5});
}

TEST(Tensor, EveryPlainDTypeStoresWhatItIsFilledWith) {
  for (const DType dtype : {DType::u8, DType::u32, DType::i8, DType::i16, DType::i32, DType::i64, DType::bf16, DType::f16, DType::f32,
                            DType::f64, DType::f8e4m3}) {
    const Tensor filled = Tensor::full({2, 2}, 3, dtype, Device::cpu());
    EXPECT_EQ(filled.dtype(), dtype);
    EXPECT_EQ(filled.to_vector<double>(), (std::vector<double>{3, 3, 3, 3})) << to_string(dtype);
    EXPECT_EQ(filled.to_bytes().size(), static_cast<size_t>(4 * info(dtype).block_bytes)) << to_string(dtype);
  }
}

TEST(Tensor, FloatsBecomeIntegersByTruncationAndSaturation) {
  const std::vector<float> values = {1.9F, -1.9F, 1e20F, -1e20F, std::numeric_limits<float>::quiet_NaN()};
  const Tensor tensor = Tensor::from_vector(values, {5}, Device::cpu());
  EXPECT_EQ(tensor.to_vector<int32_t>(),
            (std::vector<int32_t>{1, -1, std::numeric_limits<int32_t>::max(), std::numeric_limits<int32_t>::min(), 0}));
}

TEST(Tensor, RefusesBytesThatDoNotFillTheShape) {
  const std::vector<float> values(5);
  expect_error(ErrorCode::shape_mismatch, [&] { (void)Tensor::from_vector(values, {2, 3}, Device::cpu()); });
  expect_error(ErrorCode::shape_mismatch, [] { (void)Tensor::empty({2, 33}, DType::q8_0, Device::cpu()); });
}

TEST(Tensor, DescribesItself) { EXPECT_EQ(count({2, 3}).describe(), "Tensor[[2, 3], f32]"); }

TEST(Tensor, IsPlannedOnTheNullDeviceWithoutMemory) {
  const Tensor planned = Tensor::empty({int64_t{1} << 20, int64_t{1} << 20, 64}, DType::f32, Device::null());
  EXPECT_EQ(planned.elements(), int64_t{1} << 46);
}

}  // namespace
}  // namespace wick
