// Convolutions, pools and interpolation: small results by hand, and refusals by name.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/cpu_tensors.h"
#include "unit/message_of.h"
#include "wick/tensor/tensor.h"

namespace wick {
namespace {

Tensor doubles(const Shape& shape, double first = 0) {
  return Tensor::arange(first, first + static_cast<double>(shape.elements()), DType::f64, kCpu).reshape(shape);
}

TEST(Conv, AverageOfNeighboursByHand) {
  const Tensor x = doubles({1, 1, 3, 3});
  const Tensor kernel = Tensor::ones({1, 1, 2, 2}, DType::f64, kCpu);
  EXPECT_EQ(x.conv2d(kernel, 0, 1, 1, 1).to_vector<double>(), (std::vector<double>{8, 12, 20, 24}));
  EXPECT_EQ(x.conv2d(kernel, 1, 2, 1, 1).to_vector<double>(), (std::vector<double>{0, 3, 9, 24}));
  EXPECT_EQ(x.conv_transpose2d(kernel, 0, 0, 2, 1).narrow(2, 0, 1).to_vector<double>(), (std::vector<double>{0, 0, 1, 1, 2, 2}));
}

TEST(Conv, OneDimensionIsAnImageOfHeightOne) {
  const Tensor x = Tensor::of<double>({{{1, 2, 3, 4}}}, kCpu);
  const Tensor kernel = Tensor::of<double>({{{1, 10}}}, kCpu);
  EXPECT_EQ(x.conv1d(kernel, 0, 1, 1, 1).to_vector<double>(), (std::vector<double>{21, 32, 43}));
  EXPECT_EQ(x.conv1d(kernel, 1, 2, 2, 1).to_vector<double>(), (std::vector<double>{20, 42}));
  EXPECT_EQ(x.conv_transpose1d(kernel, 0, 0, 1, 1, 1).to_vector<double>(), (std::vector<double>{1, 12, 23, 34, 40}));
}

TEST(Conv, RefusalsNameShapesAndChannels) {
  const Tensor x = Tensor::zeros({1, 3, 4, 4}, DType::f32, kCpu);
  const Tensor kernel = Tensor::zeros({2, 2, 3, 3}, DType::f32, kCpu);
  EXPECT_THAT(message_of([&] { (void)x.conv2d(kernel, 0, 1, 1, 1); }), testing::HasSubstr("[1, 3, 4, 4]"));
  EXPECT_THAT(message_of([&] { (void)x.conv2d(kernel, 0, 1, 1, 2); }), testing::HasSubstr("2 groups"));
  EXPECT_THAT(message_of([&] { (void)x.narrow(1, 0, 2).conv2d(kernel, 0, 0, 1, 1); }), testing::HasSubstr("stride 0"));
  EXPECT_THAT(message_of([&] { (void)x.narrow(1, 0, 2).conv2d(kernel, 0, 1, 2, 1); }), testing::HasSubstr("larger than"));
  EXPECT_THAT(message_of([&] { (void)x.narrow(1, 0, 2).conv_transpose2d(kernel, 0, 1, 1, 1); }), testing::HasSubstr("output_padding 1"));
  EXPECT_THAT(message_of([&] { (void)x.get(0).conv2d(kernel, 0, 1, 1, 1); }), testing::HasSubstr("rank 4"));
}

TEST(Pool, MeansAndMaximaByHand) {
  const Tensor x = doubles({1, 1, 4, 4});
  EXPECT_EQ(x.avg_pool2d({2, 2}).to_vector<double>(), (std::vector<double>{2.5, 4.5, 10.5, 12.5}));
  EXPECT_EQ(x.max_pool2d({2, 3}, std::array<int64_t, 2>{2, 1}).to_vector<double>(), (std::vector<double>{6, 7, 14, 15}));
  EXPECT_THAT(message_of([&] { (void)x.max_pool2d({5, 1}); }), testing::HasSubstr("a window of 5 × 1 is larger"));
}

TEST(Upsample, PixelsByHand) {
  const Tensor x = Tensor::of<double>({{{{0, 4}, {8, 12}}}}, kCpu);
  EXPECT_EQ(x.upsample_nearest2d(3, 3).to_vector<double>(), (std::vector<double>{0, 0, 4, 0, 0, 4, 8, 8, 12}));
  EXPECT_EQ(x.upsample_bilinear2d(2, 4, false).narrow(2, 0, 1).to_vector<double>(), (std::vector<double>{0, 1, 3, 4}));
  EXPECT_EQ(x.upsample_bilinear2d(3, 3, true).to_vector<double>(), (std::vector<double>{0, 2, 4, 4, 6, 8, 8, 10, 12}));
  EXPECT_EQ(x.upsample_bilinear2d_with_scale(2, 1, false).shape(), (Shape{1, 1, 4, 2}));
  EXPECT_EQ(Tensor::of<double>({{{1, 2}}}, kCpu).upsample_nearest1d(4).to_vector<double>(), (std::vector<double>{1, 1, 2, 2}));
}

}  // namespace
}  // namespace wick
