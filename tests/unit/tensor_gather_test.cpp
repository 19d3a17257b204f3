// Ops with ids: values and gradients worked out by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/cpu_tensors.h"
#include "unit/message_of.h"
#include "wick/base/error.h"
#include "wick/tensor/backward.h"
#include "wick/tensor/variable.h"

namespace wick {
namespace {

using Doubles = std::vector<double>;

TEST(Gather, TakesTheElementThatEachIdNames) {
  const Tensor x = Tensor::of<float>({{0, 1, 2}, {3, 4, 5}, {6, 7, 8}, {9, 10, 11}}, kCpu);
  const Tensor ids = Tensor::of<uint32_t>({{0}, {2}, {1}, {0}}, kCpu);
  EXPECT_EQ(x.gather(ids, 1).to_vector<float>(), (std::vector<float>{0, 5, 7, 9}));
  const Tensor down = Tensor::of<int64_t>({{0, 2, 0}, {0, 1, 1}}, kCpu);
  EXPECT_EQ(x.gather(down, 0).to_vector<float>(), (std::vector<float>{0, 7, 2, 0, 4, 5}));
}

TEST(Gather, GradientAddsUpWhereAnElementIsTakenTwice) {
  const Var x = Var::of<double>({{1, 2}, {3, 4}}, kCpu);
  const Tensor ids = Tensor::of<uint8_t>({{0, 0, 1}, {1, 1, 1}}, kCpu);
  const Tensor weights = Tensor::of<double>({{1, 10, 100}, {2, 20, 200}}, kCpu);
  EXPECT_EQ(gradient_of((x->gather(ids, 1) * weights).sum_all(), x), (Doubles{11, 100, 0, 222}));
  const Tensor first = *backward((x->gather(ids, 1).sqr() * weights).sum_all(), {.create_graph = true}).get(x);
  EXPECT_EQ(gradient_of(first.sum_all(), x), (Doubles{22, 200, 0, 444}));
}

TEST(Scatter, TheLastOfSeveralWritesStays) {
  const Tensor x = Tensor::zeros({2, 3}, DType::i16, kCpu);
  const Tensor ids = Tensor::of<int64_t>({{1, 1, 0}, {2, 2, 2}}, kCpu);
  const Tensor source = Tensor::of<int16_t>({{1, 2, 3}, {4, 5, 6}}, kCpu);
  EXPECT_EQ(x.scatter(ids, source, 1).to_vector<int16_t>(), (std::vector<int16_t>{3, 2, 0, 0, 0, 6}));
  EXPECT_EQ(x.to_vector<int16_t>(), (std::vector<int16_t>(6)));
  EXPECT_EQ(x.scatter_add(ids, source, 1).to_vector<int16_t>(), (std::vector<int16_t>{3, 3, 0, 0, 0, 15}));
  x.scatter_set(ids, source, 1);
  EXPECT_EQ(x.to_vector<int16_t>(), (std::vector<int16_t>{3, 2, 0, 0, 0, 6}));
  x.scatter_add_set(ids, source, 1);
  EXPECT_EQ(x.to_vector<int16_t>(), (std::vector<int16_t>{6, 5, 0, 0, 0, 21}));
}

TEST(Scatter, GradientGoesOnlyToTheWritesThatStayed) {
  const Var x = Var::of<double>({1, 2, 3, 4}, kCpu);
  const Var source = Var::of<double>({10, 20, 30}, kCpu);
  const Tensor ids = Tensor::of<uint32_t>({1, 3, 1}, kCpu);
  const Tensor weights = Tensor::of<double>({1, 2, 3, 4}, kCpu);
  const Tensor y = x->scatter(ids, source, 0);
  EXPECT_EQ(y.to_vector<double>(), (Doubles{1, 30, 3, 20}));
  const GradStore gradients = backward((y * weights).sum_all());
  EXPECT_EQ(gradients.get(x)->to_vector<double>(), (Doubles{1, 0, 3, 0}));
  EXPECT_EQ(gradients.get(source)->to_vector<double>(), (Doubles{0, 4, 2}));
}

TEST(ScatterAdd, GradientReachesEverySource) {
  const Var x = Var::of<double>({1, 2, 3}, kCpu);
  const Var source = Var::of<double>({10, 20, 30}, kCpu);
  const Tensor y = x->scatter_add(Tensor::of<uint32_t>({1, 2, 1}, kCpu), source, 0);
  EXPECT_EQ(y.to_vector<double>(), (Doubles{1, 42, 23}));
  const GradStore gradients = backward(y.sqr().sum_all());
  EXPECT_EQ(gradients.get(x)->to_vector<double>(), (Doubles{2, 84, 46}));
  EXPECT_EQ(gradients.get(source)->to_vector<double>(), (Doubles{84, 46, 84}));
}

TEST(ScatterAdd, HalvesAreSummedInSinglePrecision) {
  // 2048 + 1 is 2048 in f16; 4000 ones added one by one would stop there.
  const Tensor ids = Tensor::zeros({4000}, DType::u32, kCpu);
  const Tensor ones = Tensor::ones({4000}, DType::f16, kCpu);
  EXPECT_EQ(Tensor::zeros({1}, DType::f16, kCpu).scatter_add(ids, ones, 0).to_vector<float>(), (std::vector<float>{4000}));
  EXPECT_EQ(Tensor::zeros({1}, DType::bf16, kCpu).index_add(ids, ones.to_dtype(DType::bf16), 0).to_vector<float>(),
            (std::vector<float>{4000}));
}

// Small whole numbers, whose sums every dtype holds: rows longer than what is converted at once, in memory and across it.
TEST(IndexAdd, LongRowsOfNarrowFloatsAreAddedAtAnyStrides) {
  constexpr int64_t kLong = 2500;
  std::vector<float> numbers;
  for (int64_t i = 0; i < 3 * kLong; ++i) numbers.push_back(static_cast<float>(i % 4));
  const Tensor source = Tensor::from_vector(numbers, {3, kLong}, kCpu);
  const Tensor rows = Tensor::of<uint32_t>({1, 0, 1}, kCpu);
  const Tensor sums = Tensor::ones({2, kLong}, DType::f32, kCpu).index_add(rows, source, 0);
  const std::vector<float> expected = sums.to_vector<float>();
  for (size_t i = 0; i < kLong; ++i) {
    ASSERT_EQ(expected[i], 1 + numbers[i + kLong]);
    ASSERT_EQ(expected[i + kLong], 1 + numbers[i] + numbers[i + 2 * kLong]);
  }
  const Tensor places = rows.reshape({3, 1}).broadcast_as({3, kLong});
  for (const DType dtype : {DType::bf16, DType::f16, DType::f8e4m3}) {
    const Tensor x = Tensor::ones({2, kLong}, dtype, kCpu);
    const Tensor values = source.to_dtype(dtype);
    const Tensor across = values.t().contiguous().t();
    EXPECT_EQ(x.index_add(rows, values, 0).to_vector<float>(), expected) << to_string(dtype);
    EXPECT_EQ(x.index_add(rows, across, 0).to_vector<float>(), expected) << to_string(dtype);
    EXPECT_EQ(x.scatter_add(places.contiguous(), values, 0).to_vector<float>(), expected) << to_string(dtype);
    EXPECT_EQ(x.t().index_add(rows, values.t(), 1).t().to_vector<float>(), expected) << to_string(dtype);
    const Tensor target = Tensor::ones({kLong, 2}, dtype, kCpu);
    target.t().scatter_add_set(places, across, 0);
    EXPECT_EQ(target.t().to_vector<float>(), expected) << to_string(dtype);
  }
}

TEST(IndexAdd, IntegersWrapAround) {
  const Tensor x = Tensor::of<uint8_t>({250, 3}, kCpu);
  const Tensor sum = x.index_add(Tensor::of<uint32_t>({0, 0}, kCpu), Tensor::of<uint8_t>({5, 4}, kCpu), 0);
  EXPECT_EQ(sum.to_vector<uint8_t>(), (std::vector<uint8_t>{3, 3}));
}

TEST(IndexAdd, GradientOfTheSourceIsWhereItWent) {
  const Var x = Var::of<double>({{1, 2}, {3, 4}}, kCpu);
  const Var source = Var::of<double>({{10, 20}, {30, 40}, {50, 60}}, kCpu);
  const Tensor y = x->index_add(Tensor::of<int32_t>({1, 0, 1}, kCpu), source, 0);
  EXPECT_EQ(y.to_vector<double>(), (Doubles{31, 42, 63, 84}));
  EXPECT_EQ(gradient_of(y.sqr().sum_all(), source), (Doubles{126, 168, 62, 84, 126, 168}));
}

TEST(IndexSelect, TakesRowsAndColumnsOfAnyView) {
  const Tensor x = Tensor::of<float>({{1, 2, 3}, {4, 5, 6}}, kCpu).t();  // [3, 2]
  const Tensor ids = Tensor::of<uint8_t>({2, 0, 2}, kCpu);
  EXPECT_EQ(x.index_select(ids, 0).to_vector<float>(), (std::vector<float>{3, 6, 1, 4, 3, 6}));
  EXPECT_EQ(x.index_select(ids.narrow(0, 1, 1), 1).to_vector<float>(), (std::vector<float>{1, 2, 3}));
}

// Candle pads with it.
TEST(Indexing, TheLargestIdOfItsDtypeMeansNothing) {
  const uint32_t nothing = std::numeric_limits<uint32_t>::max();
  const Var x = Var::of<double>({{1, 2}, {3, 4}, {5, 6}}, kCpu);
  const Tensor rows = Tensor::of<uint32_t>({nothing, 2, nothing}, kCpu);
  EXPECT_EQ(x->index_select(rows, 0).to_vector<double>(), (Doubles{0, 0, 5, 6, 0, 0}));
  EXPECT_EQ(x->embedding(rows).to_vector<double>(), (Doubles{0, 0, 5, 6, 0, 0}));
  EXPECT_EQ(gradient_of(x->index_select(rows, 0).sum_all(), x), (Doubles{0, 0, 0, 0, 1, 1}));
  EXPECT_EQ(x->detach().index_add(rows, Tensor::ones({3, 2}, DType::f64, kCpu), 0).to_vector<double>(), (Doubles{1, 2, 3, 4, 6, 7}));
  const Tensor ids = Tensor::of<uint8_t>({{1, 255}, {255, 0}}, kCpu);
  EXPECT_EQ(x->gather(ids, 0).to_vector<double>(), (Doubles{3, 0, 0, 2}));
  EXPECT_EQ(x->scatter(ids, Tensor::of<double>({{7, 8}, {9, 10}}, kCpu), 0).to_vector<double>(), (Doubles{1, 10, 7, 4, 5, 6}));
  // Where there is an element of that number, it is one like any other.
  const Tensor wide = Tensor::arange(0, 300, DType::f32, kCpu);
  EXPECT_EQ(wide.gather(Tensor::of<uint8_t>({255}, kCpu), 0).item(), 255);
  EXPECT_THROW((void)x->index_select(Tensor::of<uint32_t>({nothing - 1}, kCpu), 0), Error);
}

TEST(Embedding, HasTheTablesDtypeAndTheIdsShape) {
  const Var table = Var::of<double>({{1, 2}, {3, 4}, {5, 6}}, kCpu);
  const Tensor y = table->embedding(Tensor::of<uint32_t>({{2, 0}, {2, 1}}, kCpu));
  EXPECT_EQ(y.shape(), (Shape{2, 2, 2}));
  EXPECT_EQ(y.dtype(), DType::f64);
  EXPECT_EQ(y.to_vector<double>(), (Doubles{5, 6, 1, 2, 5, 6, 3, 4}));
  EXPECT_EQ(gradient_of(y.sum_all(), table), (Doubles{1, 1, 1, 1, 2, 2}));
}

// Two elements of such a target are one in memory: which of the source's would be left?
TEST(SliceSet, RefusesTargetsWhoseElementsShareMemory) {
  const Tensor source = Tensor::of<float>({{1, 2, 3}, {4, 5, 6}}, kCpu);
  const Tensor row = Tensor::zeros({3}, DType::f32, kCpu);
  EXPECT_EQ(code_of([&] { row.broadcast_to({2, 3}).slice_set(source, 0, 0); }), ErrorCode::invalid_argument);
  const Tensor windows = Tensor::zeros({4}, DType::f32, kCpu).unfold(0, 3, 1);
  EXPECT_EQ(code_of([&] { windows.slice_set(source, 0, 0); }), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of([&] { windows.scatter_set(Tensor::zeros({1, 3}, DType::u32, kCpu), source.narrow(0, 0, 1), 0); }),
            ErrorCode::invalid_argument);
  // Windows side by side, transposed and flipped views share nothing.
  const Tensor apart = Tensor::zeros({6}, DType::f32, kCpu);
  apart.unfold(0, 3, 3).slice_set(source, 0, 0);
  EXPECT_EQ(apart.to_vector<float>(), (std::vector<float>{1, 2, 3, 4, 5, 6}));
  apart.reshape({3, 2}).t().flip(1).slice_set(source, 0, 0);
  EXPECT_EQ(apart.to_vector<float>(), (std::vector<float>{3, 6, 2, 5, 1, 4}));
}

TEST(SliceScatter, ReplacesTheSliceAndSplitsTheGradient) {
  const Var x = Var::of<double>({{1, 2, 3}, {4, 5, 6}}, kCpu);
  const Var source = Var::of<double>({{10}, {20}}, kCpu);
  const Tensor y = x->slice_scatter(source, 1, 1);
  EXPECT_EQ(y.to_vector<double>(), (Doubles{1, 10, 3, 4, 20, 6}));
  const GradStore gradients = backward(y.sqr().sum_all());
  EXPECT_EQ(gradients.get(x)->to_vector<double>(), (Doubles{2, 0, 6, 8, 0, 12}));
  EXPECT_EQ(gradients.get(source)->to_vector<double>(), (Doubles{20, 40}));
}

TEST(SliceSet, WritesThroughAViewAndFromTheSameMemory) {
  const Tensor x = Tensor::of<int32_t>({{1, 2, 3}, {4, 5, 6}}, kCpu);
  x.t().slice_set(Tensor::of<int32_t>({{7, 8}}, kCpu), 0, 2);
  EXPECT_EQ(x.to_vector<int32_t>(), (std::vector<int32_t>{1, 2, 7, 4, 5, 8}));
  x.slice_set(x.narrow(1, 0, 2), 1, 1);
  EXPECT_EQ(x.to_vector<int32_t>(), (std::vector<int32_t>{1, 1, 2, 4, 4, 5}));
}

TEST(Indexing, WrongOperandsAreNamed) {
  const Tensor x = Tensor::zeros({3, 4}, DType::f32, kCpu);
  const Tensor ids = Tensor::zeros({3, 4}, DType::u32, kCpu);
  EXPECT_EQ(code_of([&] { (void)x.gather(ids.to_dtype(DType::f32), 0); }), ErrorCode::dtype_mismatch);
  EXPECT_EQ(code_of([&] { (void)x.gather(Tensor::zeros({3, 5}, DType::u32, kCpu), 0); }), ErrorCode::shape_mismatch);
  EXPECT_EQ(code_of([&] { (void)x.scatter(ids, x.to_dtype(DType::f64), 0); }), ErrorCode::dtype_mismatch);
  EXPECT_EQ(code_of([&] { (void)x.scatter(ids, x.narrow(0, 0, 2), 0); }), ErrorCode::shape_mismatch);
  EXPECT_EQ(code_of([&] { (void)x.index_select(ids, 0); }), ErrorCode::shape_mismatch);
  EXPECT_EQ(code_of([&] { x.slice_set(x.narrow(0, 0, 2).copy(), 0, 2); }), ErrorCode::index_out_of_range);
  EXPECT_EQ(code_of([&] { Tensor::zeros({1, 4}, DType::f32, kCpu).broadcast_to({3, 4}).scatter_set(ids, x, 0); }),
            ErrorCode::invalid_argument);
  EXPECT_EQ(code_of([&] { Var::from_tensor(x)->scatter_set(ids, x, 0); }), ErrorCode::unsupported);
}

}  // namespace
}  // namespace wick
