// Facts about gather, scatter and their relatives; expected values are whole-number arithmetic.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "unit/cpu_tensors.h"
#include "unit/message_of.h"
#include "wick/base/error.h"
#include "wick/tensor/tensor.h"

namespace wick {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr DType kIdDTypes[] = {DType::u8, DType::u32, DType::i64};

TEST(Gather, TakesOneElementForEachId) {
  const Tensor t = count({4, 3});
  for (const DType dtype : kIdDTypes) {
    const Tensor columns = Tensor::of<uint32_t>({{0, 0}, {2, 0}, {1, 1}, {0, 2}}, kCpu).to_dtype(dtype);
    EXPECT_THAT(t.gather(columns, 1).to_vector<int>(), ElementsAre(0, 0, 5, 3, 7, 7, 9, 11));
    const Tensor rows = Tensor::of<uint32_t>({{0, 2, 0}, {3, 1, 1}}, kCpu).to_dtype(dtype);
    EXPECT_THAT(t.gather(rows, 0).to_vector<int>(), ElementsAre(0, 7, 2, 9, 4, 5));
  }
}

TEST(Gather, IdsMayBeShorterInOtherDimensions) {
  EXPECT_THAT(count({2, 3, 2}).gather(Tensor::of<int64_t>({{{2}, {0}}}, kCpu), 1).to_vector<int>(), ElementsAre(4, 0));
}

TEST(Gather, IdOutOfRangeIsAnError) {
  const Tensor t = count({4, 3});
  EXPECT_EQ(code_of([&] { (void)t.gather(Tensor::of<uint32_t>({{3}}, kCpu), 1); }), ErrorCode::index_out_of_range);
  EXPECT_EQ(code_of([&] { (void)t.gather(Tensor::of<int64_t>({{-1}}, kCpu), 1); }), ErrorCode::index_out_of_range);
  EXPECT_EQ(code_of([&] { (void)t.gather(Tensor::of<uint8_t>({{4, 0, 0}}, kCpu), 0); }), ErrorCode::index_out_of_range);
}

TEST(Scatter, SetsAndAddsWhereIdsSay) {
  const Tensor source = count({4, 3});
  const Tensor ids = Tensor::of<uint32_t>({{0, 1, 2}, {3, 4, 0}, {3, 3, 1}, {2, 0, 4}}, kCpu);
  for (const DType dtype : kIdDTypes) {
    const Tensor ones = Tensor::ones({4, 5}, DType::f32, kCpu);
    EXPECT_THAT(ones.scatter_add(ids.to_dtype(dtype), source, 1).to_vector<int>(),
                ElementsAre(1, 2, 3, 1, 1, 6, 1, 1, 4, 5, 1, 9, 1, 14, 1, 11, 1, 10, 1, 12));
    EXPECT_THAT(ones.to_vector<int>(), Each(1));
  }
}

TEST(Scatter, LastInRowMajorOrderStays) {
  const Tensor ids = Tensor::of<uint32_t>({{0, 1, 2}, {3, 4, 0}, {3, 3, 1}, {2, 0, 4}}, kCpu);
  EXPECT_THAT(Tensor::ones({4, 5}, DType::f32, kCpu).scatter(ids, count({4, 3}), 1).to_vector<int>(),
              ElementsAre(0, 1, 2, 1, 1, 5, 1, 1, 3, 4, 1, 8, 1, 7, 1, 10, 1, 9, 1, 11));
  const Tensor same = Tensor::zeros({5}, DType::u32, kCpu);
  EXPECT_THAT(Tensor::zeros({2}, DType::f32, kCpu).scatter(same, count({5}), 0).to_vector<int>(), ElementsAre(4, 0));
}

TEST(Scatter, SetWritesInPlaceThroughAView) {
  const Tensor t = Tensor::zeros({2, 6}, DType::i32, kCpu);
  t.narrow(1, 1, 4).scatter_set(Tensor::of<uint32_t>({{3, 0}, {1, 2}}, kCpu), Tensor::of<int32_t>({{7, 8}, {9, 5}}, kCpu), 1);
  EXPECT_THAT(t.to_vector<int>(), ElementsAre(0, 8, 0, 0, 7, 0, 0, 0, 9, 5, 0, 0));
  t.t().scatter_add_set(Tensor::of<uint32_t>({{1, 2}}, kCpu), Tensor::of<int32_t>({{100, 200}}, kCpu), 0);
  EXPECT_THAT(t.to_vector<int>(), ElementsAre(0, 108, 0, 0, 7, 0, 0, 0, 209, 5, 0, 0));
}

TEST(Scatter, IdOutOfRangeWritesNothing) {
  const Tensor t = Tensor::zeros({3, 2}, DType::f32, kCpu);
  const Tensor ids = Tensor::of<uint32_t>({{0, 1}, {2, 3}}, kCpu);  // the very last one is outside
  const Tensor source = Tensor::ones({2, 2}, DType::f32, kCpu);
  EXPECT_EQ(code_of([&] { t.scatter_set(ids, source, 0); }), ErrorCode::index_out_of_range);
  EXPECT_EQ(code_of([&] { t.scatter_add_set(ids, source, 0); }), ErrorCode::index_out_of_range);
  EXPECT_THAT(t.to_vector<float>(), Each(0));
  EXPECT_EQ(code_of([&] { (void)t.index_add(Tensor::of<uint32_t>({0, 3}, kCpu), source, 0); }), ErrorCode::index_out_of_range);
}

TEST(IndexAdd, SourceWithAnOffsetIsReadOnceFromThere) {
  const Tensor source = count({6, 2}).narrow(0, 3, 2);  // 6 7, 8 9
  EXPECT_THAT(Tensor::zeros({3, 2}, DType::f32, kCpu).index_add(Tensor::of<uint32_t>({2, 2}, kCpu), source, 0).to_vector<int>(),
              ElementsAre(0, 0, 0, 0, 14, 16));
}

TEST(IndexAdd, AlongTheLastDimensionSumsColumns) {
  EXPECT_THAT(Tensor::ones({2, 2}, DType::f32, kCpu).index_add(Tensor::of<int64_t>({0, 1, 1}, kCpu), count({2, 3}), 1).to_vector<int>(),
              ElementsAre(1, 4, 4, 10));
}

TEST(SliceSet, FillsACacheInPlace) {
  const Tensor cache = Tensor::zeros({2, 4, 2}, DType::f32, kCpu);
  const Tensor step = count({2, 2, 2}) + 1.0;
  cache.slice_set(step, 1, 1);
  EXPECT_THAT(cache.get(0).to_vector<int>(), ElementsAre(0, 0, 1, 2, 3, 4, 0, 0));
  EXPECT_THAT(cache.get(1).to_vector<int>(), ElementsAre(0, 0, 5, 6, 7, 8, 0, 0));
  cache.slice_set(step.narrow(1, 1, 1), 1, 3);
  EXPECT_THAT(cache.narrow(1, 3, 1).to_vector<int>(), ElementsAre(3, 4, 7, 8));
}

TEST(SliceSet, OutsideOrOntoItselfIsAnError) {
  const Tensor cache = Tensor::zeros({2, 4}, DType::f32, kCpu);
  EXPECT_THROW(cache.slice_set(Tensor::ones({2, 2}, DType::f32, kCpu), 1, 3), Error);
  EXPECT_THROW(cache.slice_set(Tensor::ones({3, 2}, DType::f32, kCpu), 1, 0), Error);
  EXPECT_THROW(cache.slice_set(cache, 0, 0), Error);
}

TEST(SliceScatter, IsACopy) {
  const Tensor t = count({4, 3});
  const Tensor source = count({2, 3}) + 100.0;
  EXPECT_THAT(t.slice_scatter(source, 0, 1).to_vector<int>(), ElementsAre(0, 1, 2, 100, 101, 102, 103, 104, 105, 9, 10, 11));
  EXPECT_EQ(t.to_vector<int>(), count({4, 3}).to_vector<int>());
}

TEST(Sort, TwoThousandDescendingNumbersAreTurnedRound) {
  constexpr int kCount = 2000;
  const Tensor t = Tensor::arange(kCount, 0, -1, DType::f32, kCpu);
  const std::vector<uint32_t> ascending = t.arg_sort_last_dim(true).to_vector<uint32_t>();
  const std::vector<uint32_t> descending = t.arg_sort_last_dim(false).to_vector<uint32_t>();
  for (uint32_t i = 0; i < kCount; ++i) {
    ASSERT_EQ(ascending[i], kCount - 1 - i);
    ASSERT_EQ(descending[i], i);
  }
}

TEST(Sort, ViewsAreSortedByTheirOwnElements) {
  const Tensor view = Tensor::of<float>({{1, 2, 3}, {30, 10, 20}}, kCpu).narrow(0, 1, 1);
  const auto [values, ids] = view.sort_last_dim(true);
  EXPECT_THAT(values.to_vector<int>(), ElementsAre(10, 20, 30));
  EXPECT_THAT(ids.to_vector<int>(), ElementsAre(1, 2, 0));
  const auto [down, down_ids] = view.sort_last_dim(false);
  EXPECT_THAT(down.to_vector<int>(), ElementsAre(30, 20, 10));
  EXPECT_THAT(down_ids.to_vector<int>(), ElementsAre(0, 2, 1));
}

}  // namespace
}  // namespace wick
