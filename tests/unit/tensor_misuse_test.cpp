// Mistakes of a caller: each is a wick::Error, whatever the numbers; never an abort, a wild read or a result without meaning.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "wick/base/error.h"
#include "wick/tensor/backward.h"
#include "wick/tensor/custom_op.h"
#include "wick/tensor/indexer.h"
#include "wick/tensor/ops/attention.h"
#include "wick/tensor/ops/linear.h"
#include "wick/tensor/ops/normalize.h"
#include "wick/tensor/variable.h"

namespace wick {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
constexpr int64_t kMin = std::numeric_limits<int64_t>::min();

struct Mistake {
  const char* what;
  std::function<void()> body;
};

void expect_errors(const std::vector<Mistake>& mistakes) {
  for (const Mistake& mistake : mistakes) EXPECT_THROW(mistake.body(), Error) << mistake.what;
}

Tensor numbers(const Shape& shape) {
  std::vector<float> values(static_cast<size_t>(shape.elements()));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  return Tensor::from_vector(values, shape, Device::cpu());
}

TEST(Misuse, ViewsNeverLeaveTheTensor) {
  const Tensor x = numbers({6});
  const Tensor rows = numbers({2, 3});
  expect_errors({
      {"a product of length and step that wraps to 1", [&] { (void)x.stride_slice(0, 0, (int64_t{1} << 62) + 1, 4); }},
      {"a negative length", [&] { (void)x.stride_slice(0, 0, -1, 2); }},
      {"the lowest length", [&] { (void)x.stride_slice(0, 0, kMin, kMax); }},
      {"a step beyond the end", [&] { (void)x.stride_slice(0, 1, 2, kMax); }},
      {"narrow at the largest start", [&] { (void)x.narrow(0, kMax, 1); }},
      {"narrow of the largest length", [&] { (void)x.narrow(0, 1, kMax); }},
      {"narrow of the lowest length", [&] { (void)x.narrow(0, 0, kMin); }},
      {"unfold of the largest window", [&] { (void)x.unfold(0, kMax, 1); }},
      {"unfold without a step", [&] { (void)x.unfold(0, 2, kMin); }},
      {"split by the lowest size", [&] { (void)x.split(kMin, 0); }},
      {"chunk into none", [&] { (void)x.chunk(kMin, 0); }},
      {"get beyond the end", [&] { (void)x.get(kMax); }},
      {"reshape with a product that wraps", [&] { (void)rows.reshape({int64_t{1} << 62, 4, -1}); }},
      {"reshape with the lowest extent", [&] { (void)rows.reshape({kMin, -1}); }},
      {"reshape with two holes", [&] { (void)rows.reshape({-1, -1}); }},
      {"pad by the largest number", [&] { (void)x.pad_with_zeros(0, kMax, kMax); }},
      {"pad with same by the largest number", [&] { (void)x.pad_with_same(0, kMax, kMax); }},
      {"repeat the largest number of times", [&] { (void)rows.repeat({kMax, kMax}); }},
      {"diag of the largest offset", [&] { (void)x.diag(std::numeric_limits<int>::max()); }},
      {"diag of the lowest offset", [&] { (void)x.diag(std::numeric_limits<int>::min()); }},
      {"a layout beyond the storage", [&] { (void)Tensor(x.storage(), Layout({1000000})); }},
      {"a layout before the storage", [&] { (void)Tensor(x.storage(), Layout({1}, -1)); }},
      {"no storage", [&] { (void)Tensor(nullptr, Layout({1})); }},
      {"strides that wrap", [&] { (void)x.storage()->affine(Layout({9}, std::array<int64_t, 1>{int64_t{1} << 61}, 0), 1, 0); }},
      {"cat of extents that wrap",
       [&] {
         const Tensor wide = numbers({1}).broadcast_to({kMax});
         (void)Tensor::cat({wide, wide}, 0);
       }},
      {"rows that wrap", [&] { (void)x.storage()->copy2d(*x.storage(), kMax, 2, kMax, kMax, 0, 0); }},
  });
}

TEST(Misuse, NumbersAtTheLimitsThatMeanSomethingStillWork) {
  const Tensor x = numbers({6});
  const Tensor rows = numbers({2, 3});
  EXPECT_EQ(x.i(range(0, 6, kMax)).to_vector<float>(), (std::vector<float>{0}));
  EXPECT_EQ(x.stride_slice(0, 2, 1, kMax).to_vector<float>(), (std::vector<float>{2}));
  EXPECT_EQ(x.split(kMax, 0).size(), 1U);
  EXPECT_EQ(x.chunk(kMax, 0).size(), 6U);
  EXPECT_EQ(x.unfold(0, 6, kMax).shape(), (Shape{1, 6}));
  EXPECT_EQ(x.roll(kMin, 0).elements(), 6);
  EXPECT_EQ(x.roll(kMax, 0).elements(), 6);
  EXPECT_EQ(rows.diagonal(std::numeric_limits<int>::min()).elements(), 0);
  EXPECT_EQ(rows.diagonal(std::numeric_limits<int>::max()).elements(), 0);
  EXPECT_EQ(rows.tril(std::numeric_limits<int>::min()).sum_all().item(), 0);
  EXPECT_EQ(rows.triu(std::numeric_limits<int>::max()).sum_all().item(), 0);
  EXPECT_EQ(numbers({1}).broadcast_to({kMax}).elements(), kMax);
  // An empty tensor may be as large as it likes in its other dimensions.
  const Layout empty({0, int64_t{1} << 62, int64_t{1} << 62});
  EXPECT_TRUE(empty.is_contiguous());
  EXPECT_EQ(empty.narrow(1, int64_t{1} << 61, 5).flip(1).unsqueeze(0).transpose(1, 2).elements(), 0);
  const Tensor none = Tensor::zeros({0, int64_t{1} << 62, 4}, DType::f32, Device::cpu());
  EXPECT_EQ(none.narrow(1, 7, int64_t{1} << 61).stride_slice(1, 0, 3, int64_t{1} << 59).contiguous().elements(), 0);
  EXPECT_THROW((void)none.flatten(1, 2), Error);
}

TEST(Misuse, ConvolutionsAndPoolsCheckTheirNumbers) {
  const Tensor image = numbers({1, 1, 4, 4});
  const Tensor kernel = numbers({1, 1, 2, 2});
  for (const int64_t large : {int64_t{1} << 40, int64_t{1} << 62, kMax}) {
    expect_errors({
        {"padding", [&] { (void)image.conv2d(kernel, large, 1, 1, 1); }},
        {"stride", [&] { (void)image.conv2d(kernel, 0, large, 1, 1); }},
        {"dilation", [&] { (void)image.conv2d(kernel, 0, 1, large, 1); }},
        {"groups", [&] { (void)image.conv2d(kernel, 0, 1, 1, large); }},
        {"transposed padding", [&] { (void)image.conv_transpose2d(kernel, large, 0, 1, 1); }},
        {"transposed output padding", [&] { (void)image.conv_transpose2d(kernel, 0, large, large, 1); }},
        {"transposed stride", [&] { (void)image.conv_transpose2d(kernel, 0, 0, large, 1); }},
        {"transposed dilation", [&] { (void)image.conv_transpose2d(kernel, 0, 0, 1, large); }},
        {"window", [&] { (void)image.max_pool2d({large, 1}); }},
        {"height", [&] { (void)image.upsample_nearest2d(large, large); }},
        {"scale", [&] { (void)image.upsample_bilinear2d_with_scale(1e300, 1, false); }},
    });
    EXPECT_EQ(image.max_pool2d({2, 2}, std::array{large, large}).shape(), (Shape{1, 1, 1, 1}));
    EXPECT_EQ(image.avg_pool2d({2, 2}, std::array{large, large}).shape(), (Shape{1, 1, 1, 1}));
  }
  expect_errors(
      {{"an endless scale", [&] { (void)image.upsample_bilinear2d_with_scale(std::numeric_limits<double>::infinity(), 1, false); }}});
}

TEST(Misuse, AttentionChecksHowManyPositionsArePast) {
  const Tensor query = numbers({2, 2, 4});
  const Tensor cache = numbers({1, 5, 4});
  for (const int64_t past : {kMax, kMax - 1, int64_t{4}, int64_t{-1}, kMin}) {
    EXPECT_THROW((void)attention(query, cache, cache, {1, past, true}), Error) << past;
  }
  EXPECT_EQ(attention(query, cache, cache, {1, 3, true}).shape(), query.shape());
}

TEST(Misuse, CountsThatNoMachineHoldsAreRefused) {
  const Device cpu = Device::cpu();
  expect_errors({
      {"arange of 1e15", [&] { (void)Tensor::arange(0, 1e15, DType::f32, cpu); }},
      {"arange of 1e300", [&] { (void)Tensor::arange(0, 1e300, DType::f32, cpu); }},
      {"arange of no number", [&] { (void)Tensor::arange(0, std::nan(""), DType::f32, cpu); }},
      {"eye of -1", [&] { (void)Tensor::eye(-1, DType::f32, cpu); }},
      {"eye of the most", [&] { (void)Tensor::eye(kMax, DType::f32, cpu); }},
      {"zeros of the most", [&] { (void)Tensor::zeros({kMax}, DType::f32, cpu); }},
      {"zeros of 2^50", [&] { (void)Tensor::zeros({int64_t{1} << 50}, DType::f32, cpu); }},
      {"rand of 2^50", [&] { (void)Tensor::rand(0, 1, {int64_t{1} << 50}, DType::f32, cpu); }},
      {"topk of the most", [&] { (void)numbers({6}).topk(kMax); }},
      {"topk of the least", [&] { (void)numbers({6}).topk(kMin); }},
  });
}

TEST(Misuse, ATensorThatWasMovedFromSaysSo) {
  Tensor x = numbers({2, 3});
  const Tensor y = std::move(x);
  const std::vector<Mistake> mistakes = {
      {"dtype", [&] { (void)x.dtype(); }},
      {"device", [&] { (void)x.device(); }},
      {"describe", [&] { (void)x.describe(); }},
      {"add", [&] { (void)(x + y); }},
      {"add to", [&] { (void)(y + x); }},
      {"matmul", [&] { (void)y.t().matmul(x); }},
      {"narrow", [&] { (void)x.narrow(0, 0, 1); }},
      {"sum", [&] { (void)x.sum_all(); }},
      {"to_vector", [&] { (void)x.to_vector<float>(); }},
      {"detach", [&] { (void)x.detach(); }},
      {"softmax", [&] { (void)softmax(x, -1); }},
      {"cat", [&] { (void)Tensor::cat({x, x}, 0); }},
      {"slice_set", [&] { y.slice_set(x, 0, 0); }},
      {"write to it", [&] { x.slice_set(y, 0, 0); }},
  };
  for (const Mistake& mistake : mistakes) {
    try {
      mistake.body();
      ADD_FAILURE() << mistake.what << ": no error";
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("moved from"), std::string::npos) << mistake.what << ": " << error.what();
    }
  }
  x = y;
  EXPECT_EQ(x.sum_all().item(), 15);
}

class WrongGradient final : public CustomOp1 {
 public:
  [[nodiscard]] std::string_view name() const override { return "wrong_gradient"; }
  [[nodiscard]] Tensor cpu_forward(const CustomOperand& x) const override {
    return Tensor::zeros(x.layout.shape(), DType::f32, x.storage.device());
  }
  [[nodiscard]] std::optional<Tensor> backward(const Tensor& /*x*/, const Tensor& /*result*/, const Tensor& gradient) const override {
    return gradient.flatten_all();
  }
};

TEST(Misuse, AGradientOfAnotherShapeNamesTheOp) {
  const Var x = Var::from_tensor(numbers({2, 3}));
  try {
    (void)backward(x->apply_op1(WrongGradient()).sum_all());
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("wrong_gradient"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("[2, 3]"), std::string::npos) << error.what();
  }
}

TEST(Misuse, LinearTakesOneToThreeWeights) {
  const Tensor x = numbers({2, 3});
  const Tensor weight = numbers({4, 3});
  const std::vector<const Tensor*> four(4, &weight);
  EXPECT_THROW((void)linear(x, std::span<const Tensor* const>(), {}), Error);
  EXPECT_THROW((void)linear(x, four, {}), Error);
}

TEST(Misuse, AScalarHasNoDimensionZero) {
  const Tensor scalar = Tensor::full({}, 3, DType::f32, Device::cpu());
  EXPECT_THROW((void)softmax(scalar, 0), Error);
  EXPECT_THROW((void)log_softmax(scalar, 0), Error);
}

TEST(Misuse, BytesAtAnyAddressCanBeImported) {
  alignas(16) std::array<std::byte, 64> bytes{};
  for (size_t shift = 1; shift < 4; ++shift) {
    const float value = 1.5F;
    std::memcpy(bytes.data() + shift, &value, sizeof(value));
    const Tensor x = Tensor::import_host(std::span(bytes).subspan(shift, 4), {1}, DType::f32, Device::cpu(), nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(x.storage()->buffer().host_data()) % 4, 0U);
    EXPECT_EQ(x.item(), 1.5);
  }
}

}  // namespace
}  // namespace wick
