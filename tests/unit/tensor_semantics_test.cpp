// Facts about tensors that users of candle and PyTorch rely on; expected values are whole-number arithmetic or known constants.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "unit/cpu_tensors.h"
#include "unit/message_of.h"
#include "wick/base/error.h"
#include "wick/tensor/backward.h"
#include "wick/tensor/indexer.h"
#include "wick/tensor/ops/normalize.h"
#include "wick/tensor/ops/reduce.h"
#include "wick/tensor/ops/unary.h"
#include "wick/tensor/tensor.h"
#include "wick/tensor/variable.h"

namespace wick {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::FloatNear;
using testing::HasSubstr;

constexpr DType kPlainDTypes[] = {DType::u8,   DType::u32, DType::i8,  DType::i16, DType::i32,   DType::i64,
                                  DType::bf16, DType::f16, DType::f32, DType::f64, DType::f8e4m3};

TEST(Creation, ZerosOnesAndFullHoldTheirValueInEveryDType) {
  for (const DType dtype : kPlainDTypes) {
    EXPECT_THAT(Tensor::zeros({2, 3}, dtype, kCpu).to_vector<double>(), Each(0)) << to_string(dtype);
    EXPECT_THAT(Tensor::ones({2, 3}, dtype, kCpu).to_vector<double>(), Each(1)) << to_string(dtype);
    EXPECT_THAT(Tensor::full({2, 3}, 42, dtype, kCpu).to_vector<double>(), Each(dtype == DType::f8e4m3 ? 40 : 42)) << to_string(dtype);
    EXPECT_EQ(Tensor::ones({2, 3}, dtype, kCpu).dtype(), dtype);
  }
}

TEST(Creation, ArangeStopsBeforeTheEndInEitherDirection) {
  EXPECT_THAT(Tensor::arange(0, 5, DType::u8, kCpu).to_vector<int>(), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THAT(Tensor::arange(0, 5, 2, DType::u8, kCpu).to_vector<int>(), ElementsAre(0, 2, 4));
  EXPECT_THAT(Tensor::arange(0, 5, 3, DType::u8, kCpu).to_vector<int>(), ElementsAre(0, 3));
  EXPECT_THAT(Tensor::arange(5, 0, -1, DType::i64, kCpu).to_vector<int>(), ElementsAre(5, 4, 3, 2, 1));
  EXPECT_THAT(Tensor::arange(0, 5, 2, DType::f8e4m3, kCpu).to_vector<float>(), ElementsAre(0, 2, 4));
  EXPECT_EQ(Tensor::arange(3, 3, DType::f32, kCpu).shape(), Shape({0}));
  EXPECT_EQ(Tensor::arange(3, 1, DType::f32, kCpu).shape(), Shape({0}));
}

TEST(Creation, WrongNumberOfValuesIsAnError) {
  const std::vector<float> four = {1, 2, 3, 4};
  EXPECT_EQ(code_of([&] { (void)Tensor::from_vector(four, {2, 2, 2}, kCpu); }), ErrorCode::shape_mismatch);
  EXPECT_EQ(code_of([&] { (void)Tensor::from_vector(four, {2, 1}, kCpu); }), ErrorCode::shape_mismatch);
  EXPECT_EQ(Tensor::from_vector(std::vector<float>{}, {0, 3}, kCpu).shape(), Shape({0, 3}));
}

TEST(Creation, NestedBracesGiveTheShape) {
  const Tensor t = Tensor::of<float>({{{1, 2, 3}, {4, 5, 6}}, {{3, 1, 4}, {1, 5, 9}}}, kCpu);
  EXPECT_EQ(t.shape(), Shape({2, 2, 3}));
  EXPECT_EQ(t.to_vec3<float>()[1][1][2], 9);
  EXPECT_EQ(Tensor::of<double>(7, kCpu).rank(), 0);
  EXPECT_EQ(code_of([] { (void)Tensor::of<float>({{1, 2}, {3}}, kCpu); }), ErrorCode::shape_mismatch);
}

TEST(Creation, EyeAndTrianglesHaveOnesWhereTheyShould) {
  EXPECT_THAT(Tensor::eye(3, DType::i32, kCpu).to_vector<int>(), ElementsAre(1, 0, 0, 0, 1, 0, 0, 0, 1));
  EXPECT_THAT(Tensor::tril2(3, DType::u8, kCpu).to_vector<int>(), ElementsAre(1, 0, 0, 1, 1, 0, 1, 1, 1));
  EXPECT_THAT(Tensor::triu2(3, DType::f16, kCpu).to_vector<int>(), ElementsAre(1, 1, 1, 0, 1, 1, 0, 0, 1));
}

TEST(Creation, OwnedVectorIsNotCopied) {
  std::vector<float> values = {1, 2, 3};
  const float* address = values.data();
  const Tensor t = Tensor::from_owned(std::move(values), {3}, kCpu);
  EXPECT_EQ(t.to_vector<float>(), std::vector<float>({1, 2, 3}));
  EXPECT_EQ(static_cast<const void*>(t.storage()->buffer().host_data()), static_cast<const void*>(address));
}

TEST(InPlace, ConstSetThroughAViewWritesThatViewAlone) {
  const Tensor t = Tensor::zeros({3, 4}, DType::u32, kCpu);
  t.const_set(42);
  t.narrow(1, 2, 1).const_set(1337);
  t.get(2).const_set(1);
  EXPECT_THAT(t.to_vector<int>(), ElementsAre(42, 42, 1337, 42, 42, 42, 1337, 42, 1, 1, 1, 1));
  t.t().get(0).zero_set();
  EXPECT_THAT(t.narrow(1, 0, 1).to_vector<int>(), ElementsAre(0, 0, 0));
}

TEST(Views, TransposeThenArithmeticThenBack) {
  const Tensor t = Tensor::of<float>({{3, 1, 4, 1, 5}, {2, 1, 7, 8, 2}}, kCpu);
  EXPECT_EQ(t.t().shape(), Shape({5, 2}));
  EXPECT_EQ(((t.t() + 1.0).t() - 1.0).to_vector<float>(), t.to_vector<float>());
}

TEST(Views, NarrowOfATransposedTensor) {
  EXPECT_THAT(count({2, 2, 3}).t().narrow(1, 1, 2).to_vector<int>(), ElementsAre(1, 4, 2, 5, 7, 10, 8, 11));
}

TEST(Views, BroadcastLeftAddsDimensionsInFront) {
  const Tensor t = Tensor::of<float>({3, 1, 4}, kCpu).broadcast_left({2, 1});
  EXPECT_EQ(t.shape(), Shape({2, 1, 3}));
  EXPECT_THAT(t.to_vector<int>(), ElementsAre(3, 1, 4, 3, 1, 4));
}

TEST(Views, FlattenOfATransposedTensorIsInTheOrderOfTheView) {
  EXPECT_THAT(count({2, 3}).t().flatten_all().to_vector<int>(), ElementsAre(0, 3, 1, 4, 2, 5));
}

TEST(Views, ReshapeFillsInOneUnknownExtent) {
  EXPECT_EQ(count({2, 6}).reshape({3, -1}).shape(), Shape({3, 4}));
  EXPECT_THROW((void)count({2, 6}).reshape({5, -1}), Error);
  EXPECT_THROW((void)count({2, 6}).reshape({-1, -1}), Error);
}

TEST(Views, DimensionsCountFromTheEndToo) {
  const Tensor t = count({2, 3, 4});
  EXPECT_EQ(t.transpose(-1, 0).shape(), Shape({4, 3, 2}));
  EXPECT_EQ(t.narrow(-2, 1, 1).shape(), Shape({2, 1, 4}));
  EXPECT_EQ(t.unsqueeze(-1).shape(), Shape({2, 3, 4, 1}));
  EXPECT_EQ(t.sum(-3).shape(), Shape({3, 4}));
  EXPECT_EQ(code_of([&] { (void)t.sum(3); }), ErrorCode::index_out_of_range);
  EXPECT_EQ(code_of([&] { (void)t.sum(-4); }), ErrorCode::index_out_of_range);
}

TEST(Views, FortranOrderIsSeenAsSuch) {
  const Tensor t = count({2, 3, 4});
  EXPECT_TRUE(t.is_contiguous());
  EXPECT_FALSE(t.is_fortran_contiguous());
  EXPECT_TRUE(t.permute({2, 1, 0}).is_fortran_contiguous());
}

TEST(Parts, PlacesAndRangesPickThem) {
  const Tensor t = count({2, 3, 4}, DType::u32);
  EXPECT_EQ(t.i(1, 0, 0).to_scalar<uint32_t>(), 12U);
  EXPECT_EQ(t.i(0, 1, 3).to_scalar<uint32_t>(), 7U);
  EXPECT_THAT(t.i(range(0, 2), 0, 0).to_vector<int>(), ElementsAre(0, 12));
  EXPECT_THAT(t.i(to(2), all(), 3).to_vector<int>(), ElementsAre(3, 7, 11, 15, 19, 23));
  EXPECT_EQ(t.i(1, all(), 3).shape(), Shape({3}));
  EXPECT_EQ(t.i(from(1)).shape(), Shape({1, 3, 4}));
  EXPECT_EQ(t.i(-1, -1, -1).to_scalar<uint32_t>(), 23U);
}

TEST(Parts, RangeThatEndsBeforeItStartsIsEmpty) {
  const Tensor t = count({4, 3});
  EXPECT_EQ(t.i(range(1, 1)).shape(), Shape({0, 3}));
  EXPECT_EQ(t.i(range(1, 0)).shape(), Shape({0, 3}));
}

TEST(Parts, AssignedPartsLeaveTheOriginalAlone) {
  const Tensor t = count({4, 5}, DType::u32);
  const Tensor source = count({3, 2}, DType::u32);
  EXPECT_THAT(t.slice_assign({range(1, 4), range(3, 5)}, source).to_vector<int>(),
              ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 10, 11, 12, 2, 3, 15, 16, 17, 4, 5));
  EXPECT_EQ(t.to_vector<int>(), count({4, 5}).to_vector<int>());
  EXPECT_THROW((void)t.slice_assign({range(0, 2), range(3, 5)}, source), Error);
}

TEST(NoElements, EveryFunctionKeepsTheShape) {
  const Tensor none = Tensor::zeros({4, 0, 1}, DType::f32, kCpu);
  const Tensor some = Tensor::zeros({4, 3, 1}, DType::f32, kCpu);
  EXPECT_EQ(Tensor::cat({none, some}, 1).shape(), Shape({4, 3, 1}));
  EXPECT_EQ(Tensor::cat({none, none}, 1).shape(), Shape({4, 0, 1}));
  EXPECT_EQ(none.sqrt().shape(), Shape({4, 0, 1}));
  EXPECT_EQ((none + 1.0).shape(), Shape({4, 0, 1}));
  EXPECT_EQ(some.matmul(none.t()).shape(), Shape({4, 3, 0}));
  EXPECT_EQ(none.matmul(some.t()).shape(), Shape({4, 0, 3}));
  const Tensor product = none.t().matmul(none);
  EXPECT_EQ(product.shape(), Shape({4, 1, 1}));
  EXPECT_THAT(product.to_vector<float>(), Each(0));
}

TEST(NoElements, RepeatByZeroAndMeshgridOfNothing) {
  EXPECT_EQ(count({2, 2}).repeat({0, 2}).shape(), Shape({0, 4}));
  EXPECT_EQ(count({2, 2}).repeat({2, 0}).shape(), Shape({4, 0}));
  const std::vector<Tensor> axes = {Tensor::zeros({0}, DType::f32, kCpu), count({3})};
  for (const Tensor& grid : Tensor::meshgrid(std::span(axes), false)) EXPECT_EQ(grid.shape(), Shape({0, 3}));
}

TEST(NoElements, SumIsZeroAndMaximumAnError) {
  const Tensor none = Tensor::zeros({2, 0}, DType::f32, kCpu);
  EXPECT_THAT(none.sum(1).to_vector<float>(), ElementsAre(0, 0));
  EXPECT_EQ(none.max(0).shape(), Shape({0}));
  EXPECT_THROW((void)none.max(1), Error);
  EXPECT_THROW((void)none.argmin(1), Error);
}

TEST(Elementwise, SignOfZerosIsZero) {
  const Tensor t = Tensor::of<float>({-1.01, -0.1, 0.0, -0.0, 0.1, 7}, kCpu);
  EXPECT_THAT(t.sign().to_vector<float>(), ElementsAre(-1, -1, 0, 0, 1, 1));
}

TEST(Elementwise, RoundToDecimalsAndToHundreds) {
  const Tensor t = Tensor::of<double>({2997.9246, 314.15926}, kCpu);
  EXPECT_THAT(t.round_to(2).to_vector<double>(), ElementsAre(2997.92, 314.16));
  EXPECT_THAT(t.round_to(-2).to_vector<double>(), ElementsAre(3000, 300));
}

TEST(Elementwise, HalvesRoundAwayFromZero) {
  EXPECT_THAT(Tensor::of<float>({0.5, 1.5, 2.5, -0.5, -2.5}, kCpu).round().to_vector<float>(), ElementsAre(1, 2, 3, -1, -3));
}

TEST(Elementwise, NumbersStandOnEitherSideOfAnOperator) {
  const Tensor t = Tensor::of<float>({1, 2, 4}, kCpu);
  EXPECT_THAT((t + 1.0).to_vector<float>(), ElementsAre(2, 3, 5));
  EXPECT_THAT((1.0 - t).to_vector<float>(), ElementsAre(0, -1, -3));
  EXPECT_THAT((8.0 / t).to_vector<float>(), ElementsAre(8, 4, 2));
  EXPECT_THAT((t / 2.0).to_vector<float>(), ElementsAre(0.5, 1, 2));
  EXPECT_THAT((t * 3.0).to_vector<float>(), ElementsAre(3, 6, 12));
  EXPECT_THAT((-t).to_vector<float>(), ElementsAre(-1, -2, -4));
}

TEST(Elementwise, NumbersKeepTheDTypeOfTheTensor) {
  for (const DType dtype : {DType::u8, DType::u32, DType::i64, DType::f16, DType::bf16}) {
    const Tensor t = Tensor::of<float>({1, 2, 3}, kCpu).to_dtype(dtype);
    const Tensor shifted = t * 2.0 + 5.0;
    EXPECT_EQ(shifted.dtype(), dtype);
    EXPECT_THAT(shifted.to_vector<int>(), ElementsAre(7, 9, 11));
  }
}

TEST(Elementwise, DTypesDoNotMix) {
  const Tensor a = Tensor::ones({2}, DType::f32, kCpu);
  const Tensor b = Tensor::ones({2}, DType::f64, kCpu);
  EXPECT_EQ(code_of([&] { (void)(a + b); }), ErrorCode::dtype_mismatch);
  EXPECT_EQ(code_of([&] { (void)a.eq(b); }), ErrorCode::dtype_mismatch);
}

TEST(Elementwise, ShapesThatDoNotBroadcastAreNamed) {
  try {
    (void)(count({2, 3}) + count({4, 3}));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::shape_mismatch);
    EXPECT_THAT(error.what(), HasSubstr("[2, 3]"));
    EXPECT_THAT(error.what(), HasSubstr("[4, 3]"));
  }
}

TEST(Elementwise, ConditionsOfEveryLayoutChooseTheSame) {
  const Tensor condition = Tensor::of<uint8_t>({{0, 1, 0, 1, 0}, {1, 1, 1, 0, 0}}, kCpu);
  const Tensor b = count({2, 5}) + 10.0;
  const std::vector<int> expected = {10, 1, 12, 3, 14, 5, 6, 7, 18, 19};
  EXPECT_EQ(condition.where_cond(count({2, 5}), b).to_vector<int>(), expected);
  EXPECT_EQ(condition.t().contiguous().t().where_cond(count({2, 5}), b.t().contiguous().t()).to_vector<int>(), expected);
  const Tensor seven = Tensor::of<float>(7, kCpu).broadcast_to({2, 5});
  EXPECT_THAT(condition.where_cond(seven, b).to_vector<int>(), ElementsAre(10, 7, 12, 7, 14, 7, 7, 7, 18, 19));
  for (const DType dtype : {DType::u32, DType::i64})
    EXPECT_EQ(condition.to_dtype(dtype).where_cond(count({2, 5}), b).to_vector<int>(), expected);
}

// 0 … 3999 sums to 7,998,000; in halves by parity to 3,998,000 and 4,000,000.
TEST(Reduce, SumsOfLongIntegerTensorsAreExactInEveryLayout) {
  const Tensor flat = count({4000}, DType::u32);
  const Tensor pairs = flat.reshape({2000, 2});
  const Tensor columns = pairs.t().contiguous().t();
  for (const Tensor& t : {pairs, columns}) {
    EXPECT_EQ(t.sum({0, 1}).to_scalar<uint32_t>(), 7998000U);
    EXPECT_EQ(t.sum_keepdim(0).sum_keepdim(1).to_vector<uint32_t>(), std::vector<uint32_t>{7998000});
    EXPECT_THAT(t.sum_keepdim(0).to_vector<uint32_t>(), ElementsAre(3998000, 4000000));
    EXPECT_EQ(t.sum_all().to_scalar<uint32_t>(), 7998000U);
  }
  const Tensor blocks = columns.reshape({200, 5, 4});
  const Tensor mixed = blocks.transpose(0, 2).contiguous().transpose(0, 2);
  for (const Tensor& t : {blocks, mixed}) {
    EXPECT_EQ(t.sum({2, 0, 1}).to_scalar<uint32_t>(), 7998000U);
    EXPECT_EQ(t.sum_keepdim(0).to_vec3<uint32_t>()[0][4][3], 401800U);  // 200 (19 + 3980 / 2) …: Σ 20 k + 19 for k < 200
    EXPECT_EQ(t.sum_keepdim(1).sum_keepdim({0, 2}).to_vector<uint32_t>(), std::vector<uint32_t>{7998000});
  }
}

TEST(Reduce, ExtremesAndTheirPlacesAlongAnyDimension) {
  const Tensor t = (count({1900, 2}, DType::u32) + 200.0).t().contiguous().t();
  EXPECT_THAT(t.min_keepdim(0).to_vector<uint32_t>(), ElementsAre(200, 201));
  EXPECT_THAT(t.max_keepdim(0).to_vector<uint32_t>(), ElementsAre(3998, 3999));
  EXPECT_THAT(t.argmin_keepdim(0).to_vector<uint32_t>(), ElementsAre(0, 0));
  EXPECT_THAT(t.argmax_keepdim(0).to_vector<uint32_t>(), ElementsAre(1899, 1899));
  EXPECT_EQ(t.max_all().to_scalar<uint32_t>(), 3999U);
  EXPECT_EQ(t.min_all().to_scalar<uint32_t>(), 200U);
}

TEST(Reduce, FirstOfEqualOnesIsTheirPlace) {
  const Tensor t = Tensor::of<int32_t>({{3, 1, 3, 1}, {0, 0, 0, 0}}, kCpu);
  EXPECT_THAT(t.argmax(1).to_vector<int>(), ElementsAre(0, 0));
  EXPECT_THAT(t.argmin(1).to_vector<int>(), ElementsAre(1, 0));
}

TEST(Reduce, LogSumExpNeitherOverflowsNorUnderflows) {
  const Tensor t = Tensor::of<double>({{{1, 2, 3}, {4, 5, 6}}, {{-1000, -999, -1001}, {1000, 999, 1001}}}, kCpu);
  const double one = 3 + std::log1p(std::exp(-1) + std::exp(-2));  // of 1, 2, 3
  const std::vector<double> found = t.log_sum_exp(-1).to_vector<double>();
  EXPECT_NEAR(found[0], one, 1e-12);
  EXPECT_NEAR(found[1], one + 3, 1e-12);
  EXPECT_NEAR(found[2], one - 1002, 1e-9);
  EXPECT_NEAR(found[3], one + 998, 1e-9);
  EXPECT_THAT(t.log_sum_exp({0, 1}).to_vector<double>(), ElementsAre(1000, 999, 1001));
}

TEST(Reduce, OfNothing) {
  const Tensor empty = Tensor::zeros({2, 0}, DType::f64, kCpu);
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_THAT(empty.log_sum_exp(1).to_vector<double>(), ElementsAre(-infinity, -infinity));
  EXPECT_TRUE(std::isnan(empty.var(1).to_vector<double>()[0]));
  EXPECT_TRUE(std::isnan(empty.std_keepdim(1).to_vector<double>()[1]));
}

TEST(Reduce, ResultsShareNoMemoryWithTheOperand) {
  const Tensor t = count({1, 3});
  for (const Tensor& result : {t.prod(0), t.prod_keepdim(0), t.sum(0), t.max(0), t.cumprod(0), t.mean_keepdim(0)}) {
    EXPECT_NE(result.storage(), t.storage());
  }
}

TEST(Elementwise, NumbersKeepTheSignOfZeros) {
  const Tensor zeros = Tensor::of<double>({0.0, -0.0}, kCpu);
  for (const Tensor& result : {zeros * 0.5, 0.5 * zeros, zeros - 0.0, zeros.round(), round_even(zeros)}) {
    EXPECT_FALSE(std::signbit(result.to_vector<double>()[0]));
    EXPECT_TRUE(std::signbit(result.to_vector<double>()[1]));
  }
}

TEST(Elementwise, HalvesAreRoundedToTheEvenNeighbour) {
  const Tensor t = Tensor::of<double>({0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 0.3, -0.7}, kCpu);
  EXPECT_THAT(round_even(t).to_vector<double>(), ElementsAre(0, 2, 2, 0, -2, -2, 0, -1));
  EXPECT_THAT(round_even(Tensor::of<int32_t>({5, -3}, kCpu)).to_vector<int32_t>(), ElementsAre(5, -3));
}

TEST(Reduce, OverNoDimensionNothingChanges) {
  const Tensor t = count({2, 3});
  EXPECT_EQ(t.sum({}).to_vector<float>(), t.to_vector<float>());
  EXPECT_EQ(t.log_sum_exp({}).to_vector<float>(), t.to_vector<float>());
}

TEST(Reduce, VarianceDividesByOneLess) {
  EXPECT_DOUBLE_EQ(Tensor::of<double>({1, 2, 4, 9}, kCpu).var(0).item(), 38.0 / 3);  // mean 4, squares 9 + 4 + 0 + 25
  EXPECT_DOUBLE_EQ(Tensor::of<double>({3, 4}, kCpu).norm().item(), 5);
}

TEST(Reduce, DimensionNamedTwiceIsAnError) { EXPECT_THROW((void)count({2, 3}).sum({1, -1}), Error); }

TEST(Softmax, HugeScoresDoNotOverflow) {
  EXPECT_THAT(softmax(Tensor::of<float>({1234, 0}, kCpu), 0).to_vector<float>(), ElementsAre(1, 0));
  EXPECT_THAT(log_softmax(Tensor::of<float>({1234, 0}, kCpu), 0).to_vector<float>(), ElementsAre(0, -1234));
}

TEST(Softmax, OfLogarithmsAreTheSharesOfTheSum) {
  const Tensor t = Tensor::of<float>({{3, 1, 4}, {1, 5, 10}}, kCpu);
  EXPECT_THAT(softmax(t.log(), 1).to_vector<float>(),
              ElementsAre(FloatNear(0.375F, 1e-6F), FloatNear(0.125F, 1e-6F), FloatNear(0.5F, 1e-6F), FloatNear(0.0625F, 1e-6F),
                          FloatNear(0.3125F, 1e-6F), FloatNear(0.625F, 1e-6F)));
  EXPECT_THAT(softmax(t.log(), 0).narrow(1, 0, 1).to_vector<float>(), ElementsAre(FloatNear(0.75F, 1e-6F), FloatNear(0.25F, 1e-6F)));
}

TEST(RmsNorm, LargeMagnitudesStayFinite) {
  constexpr int kWidth = 6912;
  std::vector<float> values(kWidth);
  for (int i = 0; i < kWidth; ++i) values[static_cast<size_t>(i)] = (i % 2 == 0 ? 7e9F : -7e9F);
  const Tensor t = Tensor::from_vector(values, {1, kWidth}, kCpu);
  const std::vector<float> found = rms_norm(t, Tensor::ones({kWidth}, DType::f32, kCpu), 1e-5F).to_vector<float>();
  for (int i = 0; i < kWidth; ++i) ASSERT_NEAR(found[static_cast<size_t>(i)], i % 2 == 0 ? 1 : -1, 1e-5);
}

TEST(Matmul, TransposedOperandsGiveTheSameProduct) {
  const Tensor a = count({2, 2, 3});
  const Tensor b = count({2, 3, 2}) + 2.0;
  const std::vector<float> expected = {16, 19, 52, 64, 214, 235, 304, 334};
  const Tensor a_columns = a.t().contiguous().t();
  const Tensor b_columns = b.t().contiguous().t();
  EXPECT_EQ(a.matmul(b).to_vector<float>(), expected);
  EXPECT_EQ(a_columns.matmul(b).to_vector<float>(), expected);
  EXPECT_EQ(a.matmul(b_columns).to_vector<float>(), expected);
  EXPECT_EQ(a_columns.matmul(b_columns).to_vector<float>(), expected);
  EXPECT_EQ(a.to_dtype(DType::bf16).matmul(b.to_dtype(DType::bf16)).narrow(0, 0, 1).to_vector<float>(),
            std::vector<float>({16, 19, 52, 64}));
}

TEST(Matmul, ExtentsOfOneMayHaveAnyStride) {
  const Tensor a = count({1, 1, 4, 4});
  const Tensor b = count({1, 1, 4, 2});
  const Tensor strange = b.transpose(1, 2).copy().transpose(1, 2);
  EXPECT_EQ(a.matmul(strange).to_vector<float>(), a.matmul(b).to_vector<float>());
}

TEST(Matmul, RowOfASequenceTimesATransposedWeight) {
  const Tensor x = Tensor::ones({1, 8, 16}, DType::f32, kCpu).narrow(1, 7, 1).squeeze(1);
  const Tensor product = x.matmul(Tensor::ones({32, 16}, DType::f32, kCpu).t());
  EXPECT_EQ(product.shape(), Shape({1, 32}));
  EXPECT_THAT(product.to_vector<float>(), Each(16));
}

TEST(Matmul, EmptySumsAreZeroAndEmptyResultsEmpty) {
  const Tensor product = Tensor::ones({2, 0}, DType::f32, kCpu).matmul(Tensor::ones({0, 3}, DType::f32, kCpu));
  EXPECT_THAT(product.to_vector<float>(), ElementsAre(0, 0, 0, 0, 0, 0));
  EXPECT_EQ(Tensor::ones({2, 0, 3}, DType::f32, kCpu).matmul(Tensor::ones({2, 3, 0}, DType::f32, kCpu)).shape(), Shape({2, 0, 0}));
}

TEST(Matmul, ChecksShapesAndDTypesEvenWhereNothingIsComputed) {
  const auto product = [](const Shape& a, DType da, const Shape& b, DType db) {
    return code_of([&] { (void)Tensor::zeros(a, da, kCpu).matmul(Tensor::zeros(b, db, kCpu)); });
  };
  EXPECT_EQ(product({2, 3}, DType::f32, {4, 0}, DType::f32), ErrorCode::shape_mismatch);
  EXPECT_EQ(product({0, 2}, DType::f32, {3, 4}, DType::f32), ErrorCode::shape_mismatch);
  EXPECT_EQ(product({0, 2}, DType::f32, {2, 3}, DType::f16), ErrorCode::dtype_mismatch);
}

// The smallest and largest numbers of each dtype, whose products wrap around in two's complement.
TEST(Matmul, OfIntegersIsExact) {
  for (const DType dtype : {DType::u8, DType::u32, DType::i8, DType::i16, DType::i32, DType::i64}) {
    const std::vector<int64_t> a = {INT64_MIN, INT64_MAX, -1, 3, 0x123456789abcdef, -0x7edcba987654321};
    const std::vector<int64_t> b = {INT64_MAX, 2, 0x0fedcba987654321, -5, INT64_MIN, 0x76543210fedcba9};
    const Tensor left = Tensor::from_vector(a, {2, 3}, kCpu).to_dtype(dtype), right = Tensor::from_vector(b, {3, 2}, kCpu).to_dtype(dtype);
    const std::vector<int64_t> x = left.to_dtype(DType::i64).to_vector<int64_t>(), y = right.to_dtype(DType::i64).to_vector<int64_t>();
    std::vector<int64_t> expected;
    for (size_t row = 0; row < 2; ++row) {
      for (size_t column = 0; column < 2; ++column) {
        uint64_t sum = 0;
        for (size_t i = 0; i < 3; ++i) sum += static_cast<uint64_t>(x[row * 3 + i]) * static_cast<uint64_t>(y[i * 2 + column]);
        expected.push_back(static_cast<int64_t>(sum));
      }
    }
    const Tensor wanted = Tensor::from_vector(expected, {2, 2}, kCpu).to_dtype(dtype);
    EXPECT_EQ(left.matmul(right).to_dtype(DType::i64).to_vector<int64_t>(), wanted.to_dtype(DType::i64).to_vector<int64_t>())
        << to_string(dtype);
  }
  EXPECT_EQ(code_of([] { (void)Tensor::ones({2, 3}, DType::i32, kCpu).matmul(Tensor::ones({2, 3}, DType::i32, kCpu)); }),
            ErrorCode::shape_mismatch);
  EXPECT_EQ(Tensor::ones({2, 0}, DType::i32, kCpu).matmul(Tensor::ones({0, 1}, DType::i32, kCpu)).to_vector<int>(), std::vector<int>(2, 0));
}

TEST(Reductions, SumInAnotherDTypeOfManyElements) {
  const Tensor x = Tensor::full({300, 2, 1000}, 200, DType::u8, kCpu);
  EXPECT_EQ(sum(x, {0, 1, 2}, DType::i64).to_vector<int64_t>(), std::vector<int64_t>(1, 120000000));
  EXPECT_EQ(sum(x, {0, 1}, DType::i64).to_vector<int64_t>(), std::vector<int64_t>(1000, 120000));
  EXPECT_EQ(sum(x, {2}, DType::i64, true).shape(), Shape({300, 2, 1}));
  EXPECT_EQ(sum(x, {2}, DType::i64).to_vector<int64_t>(), std::vector<int64_t>(600, 200000));
}

TEST(Reductions, GradientsOfNormAndDeviationAreZeroWhereTheseAre) {
  const Var x = Var::zeros({2, 3}, DType::f32, kCpu);
  for (const Tensor& y : {x.tensor().norm(), x.tensor().std(1).sum(), x.tensor().atan2(x.tensor()).sum()}) {
    EXPECT_THAT(backward(y)[x.tensor()].to_vector<float>(), Each(0));
  }
}

TEST(Matmul, BatchesBroadcast) {
  const Tensor a = count({3, 1, 2, 2});
  const Tensor b = count({4, 2, 1});
  const Tensor product = a.broadcast_matmul(b);
  EXPECT_EQ(product.shape(), Shape({3, 4, 2, 1}));
  EXPECT_EQ(product.get(2).get(3).to_vector<float>(), a.get(2).get(0).matmul(b.get(3)).to_vector<float>());
}

TEST(Index, OutOfRangeIsAnError) {
  const Tensor t = count({3, 2});
  for (const uint32_t id : {3U, 4U, 1000000U}) {
    EXPECT_EQ(code_of([&] { (void)t.index_select(Tensor::from_vector(std::vector<uint32_t>{0, id}, {2}, kCpu), 0); }),
              ErrorCode::index_out_of_range);
    EXPECT_EQ(code_of([&] { (void)t.embedding(Tensor::from_vector(std::vector<uint32_t>{id}, {1}, kCpu)); }),
              ErrorCode::index_out_of_range);
  }
  EXPECT_EQ(code_of([&] { (void)t.index_select(Tensor::from_vector(std::vector<int64_t>{-1}, {1}, kCpu), 0); }),
            ErrorCode::index_out_of_range);
}

TEST(Index, EveryIdDTypeSelectsTheSame) {
  const Tensor t = count({4, 3});
  for (const DType dtype : {DType::u8, DType::u32, DType::i64}) {
    const Tensor ids = Tensor::of<uint32_t>({0, 2, 1, 0, 2, 1}, kCpu).to_dtype(dtype);
    EXPECT_THAT(t.index_select(ids, 0).narrow(1, 0, 1).to_vector<int>(), ElementsAre(0, 6, 3, 0, 6, 3));
    EXPECT_THAT(t.index_select(ids, 1).get(3).to_vector<int>(), ElementsAre(9, 11, 10, 9, 11, 10));
  }
  EXPECT_EQ(code_of([&] { (void)t.index_select(Tensor::of<float>({0}, kCpu), 0); }), ErrorCode::dtype_mismatch);
}

TEST(Threads, TensorsAreReadByManyAtOnce) {
  const Tensor t = count({1000});
  std::vector<std::thread> threads;
  std::vector<double> sums(8);
  for (double& sum : sums) threads.emplace_back([&sum, t] { sum = t.add(t).sum_all().item(); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(sums, Each(999000));
}

}  // namespace
}  // namespace wick
