// Views against a model that is only a shape and the list of its elements' places.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "wick/base/error.h"
#include "wick/layout/layout.h"

namespace wick {
namespace {

std::vector<int64_t> places(const Layout& layout) {
  std::vector<int64_t> found;
  for_each_offset(layout, [&](int64_t place) { found.push_back(place); });
  return found;
}

// The place of an index, by the definition of strides.
int64_t place(const Layout& layout, const std::vector<int64_t>& index) {
  int64_t at = layout.offset();
  for (size_t dim = 0; dim < index.size(); ++dim) at += index[dim] * layout.stride(static_cast<int>(dim));
  return at;
}

// Every index of a shape in row-major order.
std::vector<std::vector<int64_t>> indices(const Shape& shape) {
  std::vector<std::vector<int64_t>> all;
  if (shape.elements() == 0) return all;
  std::vector<int64_t> index(static_cast<size_t>(shape.rank()), 0);
  while (true) {
    all.push_back(index);
    int dim = shape.rank() - 1;
    while (dim >= 0 && ++index[static_cast<size_t>(dim)] == shape[dim]) index[static_cast<size_t>(dim--)] = 0;
    if (dim < 0) return all;
  }
}

void expect_error(ErrorCode code, const std::function<void()>& body) {
  try {
    body();
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
  }
}

TEST(Shape, ElementsAreTheProductOfExtents) {
  EXPECT_EQ(Shape().elements(), 1);
  EXPECT_EQ((Shape{2, 3, 4}).elements(), 24);
  EXPECT_EQ((Shape{std::numeric_limits<int64_t>::max(), 0, 7}).elements(), 0);
  EXPECT_EQ((Shape{2, 3}).to_string(), "[2, 3]");
}

TEST(Shape, RefusesNegativeExtentsOverflowAndRankNine) {
  expect_error(ErrorCode::shape_mismatch, [] { (void)Shape{2, -1}; });
  expect_error(ErrorCode::shape_mismatch, [] { (void)Shape{int64_t{1} << 32, int64_t{1} << 32}; });
  expect_error(ErrorCode::shape_mismatch, [] { (void)Shape{1, 1, 1, 1, 1, 1, 1, 1, 1}; });
}

TEST(Shape, BroadcastAlignsAtTheLastDimension) {
  EXPECT_EQ(broadcast_shapes({3, 1, 5}, {4, 1}, "add"), (Shape{3, 4, 5}));
  EXPECT_EQ(broadcast_shapes({}, {2, 0}, "add"), (Shape{2, 0}));
  EXPECT_EQ(broadcast_shapes({1}, {0}, "add"), (Shape{0}));
  expect_error(ErrorCode::shape_mismatch, [] { (void)broadcast_shapes({2, 3}, {2, 4}, "add"); });
}

TEST(Layout, RowMajorPlacesFollowEachOther) {
  const Layout layout(Shape{2, 3, 4}, 5);
  const std::vector<int64_t> found = places(layout);
  ASSERT_EQ(found.size(), 24U);
  for (size_t i = 0; i < found.size(); ++i) EXPECT_EQ(found[i], static_cast<int64_t>(i) + 5);
  EXPECT_TRUE(layout.is_contiguous());
}

TEST(Layout, ForEachOffsetVisitsIndicesInRowMajorOrder) {
  const std::vector<int64_t> strides = {-7, 0, 3};
  const Layout layout(Shape{3, 2, 4}, strides, 40);
  std::vector<int64_t> expected;
  for (const auto& index : indices(layout.shape())) expected.push_back(place(layout, index));
  EXPECT_EQ(places(layout), expected);
}

TEST(Layout, ViewsShowTheElementsTheyName) {
  const Layout base(Shape{3, 4, 5}, 2);
  for (const auto& i : indices(Shape{3, 2, 5})) EXPECT_EQ(place(base.narrow(1, 2, 2), i), place(base, {i[0], i[1] + 2, i[2]}));
  for (const auto& i : indices(Shape{5, 4, 3})) EXPECT_EQ(place(base.transpose(0, 2), i), place(base, {i[2], i[1], i[0]}));
  const std::vector<int> order = {1, 2, 0};
  for (const auto& i : indices(Shape{4, 5, 3})) EXPECT_EQ(place(base.permute(order), i), place(base, {i[2], i[0], i[1]}));
  for (const auto& i : indices(Shape{3, 4, 5})) EXPECT_EQ(place(base.flip(1), i), place(base, {i[0], 3 - i[1], i[2]}));
  const Layout row = base.narrow(0, 1, 1);
  for (const auto& i : indices(Shape{2, 6, 4, 5})) EXPECT_EQ(place(row.broadcast_to({2, 6, 4, 5}), i), place(row, {0, i[2], i[3]}));
  EXPECT_EQ(row.squeeze(0).shape(), (Shape{4, 5}));
  EXPECT_EQ(places(row.squeeze(0)), places(row));
  for (int dim = 0; dim <= 3; ++dim) EXPECT_EQ(places(base.unsqueeze(dim)), places(base)) << dim;
}

TEST(Layout, ViewsRefuseWhatIsNotThere) {
  const Layout base(Shape{3, 4});
  expect_error(ErrorCode::index_out_of_range, [&] { (void)base.narrow(0, 2, 2); });
  expect_error(ErrorCode::index_out_of_range, [&] { (void)base.narrow(0, 1, std::numeric_limits<int64_t>::max()); });
  expect_error(ErrorCode::index_out_of_range, [&] { (void)base.narrow(2, 0, 1); });
  expect_error(ErrorCode::index_out_of_range, [&] { (void)base.transpose(0, -1); });
  expect_error(ErrorCode::shape_mismatch, [&] { (void)base.permute(std::vector<int>{0, 0}); });
  expect_error(ErrorCode::shape_mismatch, [&] { (void)base.broadcast_to({4}); });
  expect_error(ErrorCode::shape_mismatch, [&] { (void)base.squeeze(0); });
  expect_error(ErrorCode::shape_mismatch, [&] { (void)base.reshape({5}); });
}

TEST(Layout, TouchedRangeIsExactForAnyStrides) {
  const std::vector<int64_t> strides = {5, -2, 0};
  const Layout layout(Shape{3, 4, 2}, strides, 11);
  const std::vector<int64_t> found = places(layout);
  const auto [low, high] = layout.touched_range();
  EXPECT_EQ(low, *std::min_element(found.begin(), found.end()));
  EXPECT_EQ(high, *std::max_element(found.begin(), found.end()) + 1);
  EXPECT_EQ(Layout(Shape{0, 3}, 7).touched_range(), std::pair(int64_t{7}, int64_t{7}));
}

// Splits `elements` into factors, with ones between them.
std::vector<int64_t> random_factors(int64_t elements, std::mt19937& random) {
  std::vector<int64_t> factors;
  while (elements > 1 && factors.size() < 5) {
    int64_t factor = 1 + static_cast<int64_t>(random() % 4);
    while (elements % factor != 0) --factor;
    factors.push_back(factor);
    elements /= factor;
  }
  factors.push_back(elements);
  return factors;
}

TEST(Layout, ReshapeKeepsTheOrderOfElementsOrSaysThatItCannot) {
  std::mt19937 random(7);
  int views = 0;
  int copies = 0;
  for (int round = 0; round < 20000; ++round) {
    const std::vector<int64_t> dims = random_factors(24, random);
    Layout layout{Shape(std::span<const int64_t>(dims))};
    if (random() % 2 == 0) {
      const int rank = layout.rank();
      layout = layout.transpose(static_cast<int>(random() % static_cast<unsigned>(rank)),
                                static_cast<int>(random() % static_cast<unsigned>(rank)));
    }
    if (random() % 4 == 0) layout = layout.flip(0);
    if (layout.shape()[0] > 1 && random() % 4 == 0) layout = layout.narrow(0, 1, layout.shape()[0] - 1);
    const std::vector<int64_t> target = random_factors(layout.elements(), random);
    const auto reshaped = layout.reshape(Shape(std::span<const int64_t>(target)));
    if (reshaped) {
      ASSERT_EQ(places(*reshaped), places(layout)) << layout.shape().to_string() << " to " << reshaped->shape().to_string();
      ++views;
    } else {
      ASSERT_FALSE(layout.is_contiguous());
      ++copies;
    }
  }
  EXPECT_GT(views, 1000);
  EXPECT_GT(copies, 1000);
}

TEST(Layout, ReshapeOfATransposedMatrixNeedsACopyOnlyAcrossTheSwap) {
  const Layout swapped = Layout(Shape{4, 6}).transpose(0, 1);
  EXPECT_FALSE(swapped.reshape({24}).has_value());
  ASSERT_TRUE(swapped.reshape({2, 3, 4}).has_value());
  EXPECT_EQ(places(*swapped.reshape({2, 3, 4})), places(swapped));
}

std::vector<int64_t> starts_of(const StridedBlocks& blocks) {
  std::vector<int64_t> starts;
  for_each_offset(blocks.starts, [&](int64_t offset) { starts.push_back(offset); });
  return starts;
}

TEST(Layout, StridedBlocksAreTheLongestRuns) {
  const Layout whole(Shape{2, 3, 4}, 5);
  EXPECT_EQ(strided_blocks(whole).block_length, 24);
  EXPECT_EQ(starts_of(strided_blocks(whole)), (std::vector<int64_t>{5}));
  const StridedBlocks rows = strided_blocks(Layout(Shape{2, 3, 4}).narrow(1, 1, 1));
  EXPECT_EQ(rows.block_length, 4);
  EXPECT_EQ(starts_of(rows), (std::vector<int64_t>{4, 16}));
  const StridedBlocks swapped = strided_blocks(Layout(Shape{2, 3, 4}).transpose(0, 1));
  EXPECT_EQ(swapped.block_length, 4);
  EXPECT_EQ(starts_of(swapped), (std::vector<int64_t>{0, 12, 4, 16, 8, 20}));
  EXPECT_EQ(strided_blocks(Layout(Shape{2, 3}).transpose(0, 1)).block_length, 1);
  EXPECT_EQ(strided_blocks(Layout(Shape{})).block_length, 1);
}

}  // namespace
}  // namespace wick
