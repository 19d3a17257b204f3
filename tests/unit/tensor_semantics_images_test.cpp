// Facts about convolutions, windows and interpolation that hold for any numbers, checked on whole ones.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "unit/cpu_tensors.h"
#include "wick/base/error.h"
#include "wick/tensor/tensor.h"

namespace wick {
namespace {

using testing::ElementsAre;

// Whole numbers from -3 to 3 without a pattern, so that sums are exact in f32.
Tensor whole(const Shape& shape, int64_t seed) {
  std::vector<float> values(static_cast<size_t>(shape.elements()));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>((static_cast<int64_t>(i * i * 5 + i * 3) + seed) % 7 - 3);
  return Tensor::from_vector(values, shape, kCpu);
}

double inner(const Tensor& a, const Tensor& b) { return (a * b).sum_all().item(); }

TEST(Conv, KernelOfASingleOneGivesTheImageBack) {
  const Tensor x = whole({2, 1, 4, 5}, 1);
  std::vector<float> delta(9);
  delta[4] = 1;
  EXPECT_EQ(x.conv2d(Tensor::from_vector(delta, {1, 1, 3, 3}, kCpu), 1, 1, 1, 1).to_vector<float>(), x.to_vector<float>());
}

TEST(Conv, OneByOneIsAMatrixProduct) {
  const Tensor x = whole({2, 3, 4, 5}, 2);
  const Tensor w = whole({4, 3, 1, 1}, 3);
  const Tensor product = w.reshape({4, 3}).matmul(x.reshape({2, 3, 20}));
  EXPECT_EQ(x.conv2d(w, 0, 1, 1, 1).to_vector<float>(), product.to_vector<float>());
}

TEST(Conv, GroupsAreConvolutionsOfTheirOwn) {
  const Tensor x = whole({2, 4, 5, 5}, 4);
  const Tensor w = whole({6, 2, 3, 3}, 5);
  const Tensor first = x.narrow(1, 0, 2).conv2d(w.narrow(0, 0, 3), 1, 2, 1, 1);
  const Tensor second = x.narrow(1, 2, 2).conv2d(w.narrow(0, 3, 3), 1, 2, 1, 1);
  EXPECT_EQ(x.conv2d(w, 1, 2, 1, 2).to_vector<float>(), Tensor::cat({first, second}, 1).to_vector<float>());
}

TEST(Conv, OneDimensionIsTwoOfHeightOne) {
  const Tensor x = whole({3, 4, 9}, 6);
  const Tensor w = whole({2, 4, 3}, 7);
  EXPECT_EQ(x.conv1d(w, 0, 2, 2, 1).to_vector<float>(),
            x.unsqueeze(2).conv2d(w.unsqueeze(2), ConvParams{.stride = {1, 2}, .dilation = {1, 2}}).to_vector<float>());
}

// <conv(x, w), y> = <x, conv_transpose(y, w)>, for images of one batch and of three.
TEST(ConvTranspose, IsTheAdjointOfConv) {
  for (const int64_t batch : {1, 3}) {
    const Tensor x = whole({batch, 4, 7}, 8);
    const Tensor w = whole({6, 2, 3}, 9);  // 6 channels out of 4 in 2 groups
    const Tensor y = whole({batch, 6, 3}, 10);
    const Tensor forward = x.conv1d(w, 0, 2, 1, 2);
    ASSERT_EQ(forward.shape(), y.shape());
    EXPECT_EQ(inner(forward, y), inner(x, y.conv_transpose1d(w, 0, 0, 2, 1, 2)));
    const Tensor x2 = whole({batch, 4, 6, 5}, 11);
    const Tensor w2 = whole({3, 4, 3, 2}, 12);
    const Tensor forward2 = x2.conv2d(w2, 1, 2, 1, 1);
    const Tensor y2 = whole(forward2.shape(), 13);
    const Tensor back = y2.conv_transpose2d(w2, ConvParams{.padding = {1, 1}, .output_padding = {1, 1}, .stride = {2, 2}});
    ASSERT_EQ(back.shape(), x2.shape());
    EXPECT_EQ(inner(forward2, y2), inner(x2, back));
  }
}

TEST(ConvTranspose, BatchIsItsImagesOneByOne) {
  const Tensor x = whole({3, 2, 5}, 14);
  const Tensor w = whole({2, 3, 4}, 15);
  const Tensor all = x.conv_transpose1d(w, 1, 1, 2, 1, 1);
  for (int64_t i = 0; i < 3; ++i) {
    EXPECT_EQ(all.narrow(0, i, 1).to_vector<float>(), x.narrow(0, i, 1).conv_transpose1d(w, 1, 1, 2, 1, 1).to_vector<float>());
  }
}

TEST(Conv, ShapesThatDoNotFitAreErrors) {
  const Tensor x = whole({1, 4, 5}, 1);
  EXPECT_THROW((void)x.conv1d(whole({2, 3, 3}, 1), 0, 1, 1, 1), Error);  // 3 channels for 4
  EXPECT_THROW((void)x.conv1d(whole({2, 4, 3}, 1), 0, 1, 1, 3), Error);  // 3 groups of 4 channels
  EXPECT_THROW((void)x.conv1d(whole({2, 4, 6}, 1), 0, 1, 1, 1), Error);  // a kernel longer than the signal
  EXPECT_THROW((void)x.conv1d(whole({2, 4, 3}, 1), 0, 0, 1, 1), Error);  // a stride of 0
}

TEST(Pool, StrideIsTheWindowUnlessSaid) {
  const Tensor x = Tensor::arange(0, 16, DType::f32, kCpu).reshape({1, 1, 4, 4});
  EXPECT_THAT(x.avg_pool2d({2, 2}).to_vector<float>(), ElementsAre(2.5, 4.5, 10.5, 12.5));
  EXPECT_THAT(x.max_pool2d({2, 2}).to_vector<float>(), ElementsAre(5, 7, 13, 15));
  EXPECT_EQ(x.max_pool2d({2, 2}, {{1, 1}}).shape(), Shape({1, 1, 3, 3}));
  EXPECT_THAT(x.avg_pool2d({3, 3}).to_vector<float>(), ElementsAre(5));  // what does not fill a window is left
}

TEST(Pool, NegativeNumbersHaveMaximaToo) { EXPECT_EQ(Tensor::full({1, 1, 2, 2}, -7, DType::f32, kCpu).max_pool2d({2, 2}).item(), -7); }

TEST(Upsample, NearestRepeatsPixels) {
  const Tensor x = Tensor::arange(0, 6, DType::f32, kCpu).reshape({1, 1, 2, 3});
  EXPECT_THAT(x.upsample_nearest2d(4, 6).get(0).get(0).get(1).to_vector<int>(), ElementsAre(0, 0, 1, 1, 2, 2));
  EXPECT_THAT(x.upsample_nearest2d(4, 6).get(0).get(0).get(2).to_vector<int>(), ElementsAre(3, 3, 4, 4, 5, 5));
  EXPECT_THAT(x.get(0).upsample_nearest1d(3).to_vector<int>(), ElementsAre(0, 1, 2, 3, 4, 5));
}

TEST(Upsample, BilinearKeepsCornersWhereTheyAreAligned) {
  const Tensor x = Tensor::of<double>({{{{1, 2}, {3, 4}}}}, kCpu);
  const Tensor y = x.upsample_bilinear2d(4, 4, true).get(0).get(0);
  EXPECT_EQ(y.get(0).get(0).item(), 1);
  EXPECT_NEAR(y.get(0).get(1).item(), 4.0 / 3, 1e-15);
  EXPECT_EQ(y.get(0).get(3).item(), 2);
  EXPECT_EQ(y.get(3).get(0).item(), 3);
  EXPECT_EQ(y.get(3).get(3).item(), 4);
}

TEST(Upsample, BilinearOfTheSameSizeAndOfAConstantChangesNothing) {
  const Tensor x = whole({1, 2, 3, 4}, 3);
  EXPECT_EQ(x.upsample_bilinear2d(3, 4, false).to_vector<float>(), x.to_vector<float>());
  for (const float value : Tensor::full({1, 1, 3, 3}, 5, DType::f32, kCpu).upsample_bilinear2d(7, 4, false).to_vector<float>())
    EXPECT_FLOAT_EQ(value, 5);
}

// Half-pixel centres: twice the size puts them a quarter pixel off, and the rim repeats.
TEST(Upsample, BilinearTwiceAsWideIsQuartersAndThreeQuarters) {
  const Tensor x = Tensor::of<float>({{{{0, 1, 2, 3}}}}, kCpu);
  EXPECT_THAT(x.upsample_bilinear2d(1, 8, false).to_vector<float>(), ElementsAre(0, 0.25, 0.75, 1.25, 1.75, 2.25, 2.75, 3));
}

}  // namespace
}  // namespace wick
