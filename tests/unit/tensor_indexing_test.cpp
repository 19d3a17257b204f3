// Tensor::i and slice_assign against index arithmetic.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/cpu_tensors.h"
#include "unit/linear_function.h"
#include "unit/message_of.h"
#include "wick/base/error.h"
#include "wick/tensor/indexer.h"
#include "wick/tensor/tensor.h"

namespace wick {
namespace {

using testing::HasSubstr;

using Values = std::vector<double>;

// Element (i, j, k) is 100 i + 10 j + k.
Tensor coordinates() {
  Values values;
  for (int i = 0; i < 2; ++i) {
    for (int j = 0; j < 3; ++j) {
      for (int k = 0; k < 4; ++k) values.push_back(100 * i + 10 * j + k);
    }
  }
  return Tensor::from_vector(values, {2, 3, 4}, kCpu);
}

TEST(Indexing, PlacesLeaveTheirDimensionOut) {
  const Tensor x = coordinates();
  EXPECT_EQ(values_of(x.i(1, 2, 3)), (Values{123}));
  EXPECT_EQ(x.i(1, 2, 3).rank(), 0);
  EXPECT_EQ(values_of(x.i(-1, -3)), (Values{100, 101, 102, 103}));
  EXPECT_EQ(x.i().shape(), x.shape());
  EXPECT_EQ(values_of(x.i(uint32_t{1}, size_t{0}, int64_t{2})), (Values{102}));
}

TEST(Indexing, RangesNarrow) {
  const Tensor x = coordinates();
  EXPECT_EQ(values_of(x.i(0, range(1, 3), 0)), (Values{10, 20}));
  EXPECT_EQ(values_of(x.i(0, from(-2), 0)), (Values{10, 20}));
  EXPECT_EQ(values_of(x.i(0, to(-1), 0)), (Values{0, 10}));
  EXPECT_EQ(values_of(x.i(all(), 0, 0)), (Values{0, 100}));
  EXPECT_EQ(values_of(x.i(0, 0, range(-3, -1))), (Values{1, 2}));
  EXPECT_EQ(values_of(x.i(0, 0, range(0, 4, 3))), (Values{0, 3}));
  EXPECT_EQ(values_of(x.i(0, 0, range(1, 4, 5))), (Values{1}));
  EXPECT_EQ(x.i(all(), range(1, 1)).shape(), (Shape{2, 0, 4}));
  EXPECT_EQ(x.i(all(), range(3, 3, 2)).shape(), (Shape{2, 0, 4}));
  EXPECT_EQ(x.i(all(), range(1, 3)).storage(), x.storage());
}

TEST(Indexing, EllipsisAndNewAxisTakeNoPlace) {
  const Tensor x = coordinates();
  EXPECT_EQ(values_of(x.i(ellipsis, 1)), (Values{1, 11, 21, 101, 111, 121}));
  EXPECT_EQ(values_of(x.i(1, ellipsis, 1)), (Values{101, 111, 121}));
  EXPECT_EQ(values_of(x.i(1, 2, 3, ellipsis)), (Values{123}));
  EXPECT_EQ(x.i(ellipsis).shape(), x.shape());
  EXPECT_EQ(x.i(new_axis, 0, ellipsis, new_axis, 0).shape(), (Shape{1, 3, 1}));
  EXPECT_EQ(values_of(x.i(new_axis, 0, ellipsis, new_axis, 2)), (Values{2, 12, 22}));
}

TEST(Indexing, IdsChooseSlicesInTheirOrder) {
  const Tensor x = coordinates();
  const Tensor ids = Tensor::of<uint32_t>({2, 0, 2}, kCpu);
  EXPECT_EQ(values_of(x.i(1, ids, 0)), (Values{120, 100, 120}));
  EXPECT_EQ(values_of(x.i(0, range(1, 3), ids.to_dtype(DType::i64))), (Values{12, 10, 12, 22, 20, 22}));
  EXPECT_EQ(values_of(x.i(0, ids, Tensor::of<uint8_t>({1, 0}, kCpu))), (Values{21, 20, 1, 0, 21, 20}));
}

TEST(Indexing, EightArgumentsAreTaken) {
  const Tensor x = uneven({1, 2, 1, 2, 1, 2, 1, 2});
  EXPECT_EQ(values_of(x.i(0, 1, 0, 1, 0, 1, 0, -1)), (Values{values_of(x).back()}));
}

TEST(Indexing, ErrorsNameTheArgumentTheValueAndTheExtent) {
  const Tensor x = coordinates();
  EXPECT_EQ(message_of(ErrorCode::index_out_of_range, [&] { (void)x.i(1, -4); }),
            "i: argument 2 of Tensor[[2, 3, 4], f64]: index -4 is out of range for a dimension of 3 elements; allowed: -3 to 2");
  EXPECT_THAT(message_of(ErrorCode::index_out_of_range, [&] { (void)x.i(ellipsis, 4); }),
              HasSubstr("argument 2 of Tensor[[2, 3, 4], f64]: index 4 is out of range for a dimension of 4 elements; allowed: -4 to 3"));
  EXPECT_THAT(message_of(ErrorCode::index_out_of_range, [&] { (void)x.i(all(), range(0, 4)); }), HasSubstr("index 4 is out of range"));
  EXPECT_EQ(x.i(all(), range(2, 1)).shape(), (Shape{2, 0, 4}));  // empty, as in Python
  EXPECT_THAT(message_of(ErrorCode::invalid_argument, [&] { (void)x.i(range(0, 2, 0)); }), HasSubstr("a step of 0"));
  EXPECT_THAT(message_of(ErrorCode::invalid_argument, [&] { (void)x.i(0, 0, 0, 0); }), HasSubstr("4 arguments"));
  EXPECT_THAT(message_of(ErrorCode::invalid_argument, [&] { (void)x.i(ellipsis, ellipsis); }), HasSubstr("ellipsis"));
  EXPECT_THAT(message_of(ErrorCode::invalid_argument, [&] { (void)x.i(0, x); }), HasSubstr("argument 2"));
  EXPECT_THROW((void)x.i(Tensor::of<uint32_t>({5}, kCpu)), Error);
}

TEST(Indexing, GradientsAreTheAdjoints) {
  expect_adjoint({2, 3, 4}, [](const Tensor& x) { return x.i(-1, range(1, 3), ellipsis); });
  expect_adjoint({2, 3, 4}, [](const Tensor& x) { return x.i(all(), 1, range(0, 4, 3)); });
  expect_adjoint({4, 3}, [](const Tensor& x) { return x.i(Tensor::of<uint32_t>({3, 1, 3}, kCpu), new_axis, from(1)); });
}

TEST(SliceAssign, ReplacesOnlyTheChosenPart) {
  const Tensor x = coordinates();
  const Tensor changed = x.slice_assign({1, range(0, 2), range(0, 4, 2)}, Tensor::of<double>({{-1, -2}, {-3, -4}}, kCpu));
  Values expected = values_of(x);
  expected[12] = -1;
  expected[14] = -2;
  expected[16] = -3;
  expected[18] = -4;
  EXPECT_EQ(values_of(changed), expected);
  EXPECT_EQ(values_of(x), values_of(coordinates()));  // the source stays
  EXPECT_EQ(values_of(x.slice_assign({}, Tensor::of<double>(7, kCpu))), Values(24, 7));
  EXPECT_EQ(values_of(x.i(0, ellipsis).t().slice_assign({ellipsis, 1}, Tensor::of<double>(7, kCpu)).i(0)), (Values{0, 7, 20}));
  EXPECT_EQ(values_of(x.slice_assign({range(1, 1)}, Tensor::of<double>(7, kCpu))), values_of(x));
}

TEST(SliceAssign, RefusesWhatDoesNotFit) {
  const Tensor x = coordinates();
  (void)message_of(ErrorCode::shape_mismatch, [&] { (void)x.slice_assign({0}, uneven({2, 4})); });
  (void)message_of(ErrorCode::dtype_mismatch, [&] { (void)x.slice_assign({0}, Tensor::of<float>(1, kCpu)); });
  EXPECT_THAT(message_of(ErrorCode::invalid_argument,
                         [&] { (void)x.slice_assign({0, Tensor::of<uint32_t>({0}, kCpu)}, Tensor::of<double>(1, kCpu)); }),
              HasSubstr("argument 2"));
  (void)message_of(ErrorCode::index_out_of_range, [&] { (void)x.slice_assign({2}, Tensor::of<double>(1, kCpu)); });
}

TEST(SliceAssign, GradientsAreTheAdjointsOfBothOperands) {
  const Tensor constant = uneven({2, 2});
  expect_adjoint({2, 2}, [&](const Tensor& source) {
    return Tensor::zeros({3, 4}, DType::f64, kCpu).slice_assign({range(1, 3), range(0, 4, 2)}, source);
  });
  expect_adjoint({1, 2}, [&](const Tensor& source) { return Tensor::zeros({3, 2}, DType::f64, kCpu).slice_assign({from(1)}, source); });
  // With a constant part the function of x is affine: the gradient of x itself is zero there.
  const Var x = Var::from_tensor(uneven({3, 2}));
  EXPECT_EQ(values_of(*backward(x->slice_assign({from(1)}, constant).sum_all()).get(x)), (Values{1, 1, 0, 0, 0, 0}));
}

}  // namespace
}  // namespace wick
