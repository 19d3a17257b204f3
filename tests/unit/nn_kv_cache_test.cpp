// Key/value caches, against positions counted by hand.
#include "wick/nn/kv_cache.h"

#include <gtest/gtest.h>

#include "wick/base/error.h"
#include "wick/tensor/tensor.h"

namespace wick::nn {
namespace {

using Doubles = std::vector<double>;
using Positions = std::vector<int64_t>;

Tensor of(const Doubles& values) { return Tensor::from_vector(values, {static_cast<int64_t>(values.size())}, Device::cpu()); }

TEST(Cache, HoldsWhatWasAppendedAndStartsAnewAfterAReset) {
  Cache cache(0, 8);
  for (int round = 0; round < 2; ++round) {
    EXPECT_FALSE(cache.current_data().has_value());
    cache.append(of({1, 2, 3}));
    cache.append(of({4}));
    cache.append(of({0, 5, 6, 7}));
    EXPECT_EQ(cache.current_data()->to_vector<double>(), (Doubles{1, 2, 3, 4, 0, 5, 6, 7}));
    EXPECT_EQ(cache.current_seq_len(), 8);
    EXPECT_THROW(cache.append(of({1})), Error);
    EXPECT_EQ(cache.current_seq_len(), 8);
    cache.reset();
  }
  EXPECT_THROW(Cache(0, 0), Error);
}

TEST(RotatingCache, KeepsTheLastPositions) {
  RotatingCache cache(0, 6);
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(cache.positions(2), (Positions{0, 1}));
    EXPECT_EQ(cache.append(of({1, 2, 3})).to_vector<double>(), (Doubles{1, 2, 3}));
    EXPECT_EQ(cache.positions(0), (Positions{0, 1, 2}));
    EXPECT_EQ(cache.positions(3), (Positions{0, 1, 2, 3, 4, 5}));
    EXPECT_EQ(cache.positions(4), (Positions{6, 1, 2, 3, 4, 5}));
    EXPECT_EQ(cache.append(of({4})).to_vector<double>(), (Doubles{1, 2, 3, 4}));
    EXPECT_EQ(cache.append(of({0, 5, 6, 7})).to_vector<double>(), (Doubles{6, 7, 3, 4, 0, 5}));
    EXPECT_EQ(cache.offset(), 2);
    EXPECT_EQ(cache.append(of({8})).to_vector<double>(), (Doubles{6, 7, 8, 4, 0, 5}));
    EXPECT_EQ(cache.append(of({9, 10, 11})).to_vector<double>(), (Doubles{6, 7, 8, 9, 10, 11}));
    EXPECT_EQ(cache.append(of({12})).to_vector<double>(), (Doubles{12, 7, 8, 9, 10, 11}));
    EXPECT_EQ(cache.attn_mask(2, Device::cpu())->to_vector<uint8_t>(), (std::vector<uint8_t>{0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
    EXPECT_FALSE(cache.attn_mask(1, Device::cpu()).has_value());
    EXPECT_EQ(cache.positions(8), (Positions{13, 14, 15, 16, 17, 18, 19, 20}));
    const Doubles many = {0, 1, 2, 3, 4, 5, 6, 7, 8};
    EXPECT_EQ(cache.append(of(many)).to_vector<double>(), many);
    EXPECT_EQ(cache.current_seq_len(), 22);
    EXPECT_EQ(cache.positions(0), (Positions{16, 17, 18, 19, 20, 21}));
    EXPECT_EQ(cache.append(of({42})).to_vector<double>(), (Doubles{42, 4, 5, 6, 7, 8}));
    cache.reset();
  }
}

// What the cache says about positions is what it does: each value appended is its own position.
TEST(RotatingCache, PositionsAreThoseOfTheElementsReturned) {
  RotatingCache cache(0, 5);
  double next = 0;
  for (const int64_t added : {1, 3, 2, 5, 4, 7, 1, 1, 6, 2, 3}) {
    Doubles values;
    for (int64_t i = 0; i < added; ++i) values.push_back(next++);
    const Positions expected = cache.positions(added);
    const Doubles got = cache.append(of(values)).to_vector<double>();
    EXPECT_EQ(Positions(got.begin(), got.end()), expected);
  }
}

TEST(ConcatKvCache, GrowsAlongItsDimension) {
  ConcatKvCache cache(1);
  EXPECT_TRUE(cache.is_empty());
  const Tensor step = Tensor::of<float>({{1, 2}, {3, 4}}, Device::cpu());
  (void)cache.append(step, step);
  const auto [key, value] = cache.append(step.narrow(1, 0, 1), step.narrow(1, 1, 1));
  EXPECT_EQ(key.to_vector<float>(), (std::vector<float>{1, 2, 1, 3, 4, 3}));
  EXPECT_EQ(value.to_vector<float>(), (std::vector<float>{1, 2, 2, 3, 4, 4}));
  EXPECT_EQ(cache.current_seq_len(), 3);
}

TEST(ScatteredKvCache, SequencesOfABatchStandAtTheirOwnPositions) {
  ScatteredCacheBuilder builder(2, 4, DType::f32, Device::cpu());
  ScatteredKvCache cache = builder.make_cache(1, 1);
  const auto step = [&](const std::vector<float>& values, bool first, bool second) {
    const auto added = static_cast<int64_t>(values.size()) / 2;
    const bool active[] = {first, second};
    const ScatteredCacheBuilder::Step where = builder.advance(added, active);
    const Tensor positions = Tensor::from_vector(values, {2, 1, added, 1}, Device::cpu());
    (void)cache.append(positions, positions, where.indices);
    return where.mask.to_vector<float>();
  };
  const float hidden = -std::numeric_limits<float>::infinity();
  EXPECT_EQ(step({1, 2, 9, 9}, true, false), (std::vector<float>{0, hidden, hidden, hidden, 0, 0, hidden, hidden, 0, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(builder.positions(), (Positions{2, 0}));
  (void)step({3, 5}, true, true);
  (void)step({4, 6}, true, true);
  EXPECT_EQ(cache.k().to_vector<float>(), (std::vector<float>{1, 2, 3, 4, 5, 6, 0, 0}));
  // The first sequence goes round; the second still has two empty places.
  EXPECT_EQ(step({7, 8}, true, true), (std::vector<float>{0, 0, 0, 0, 0, 0, 0, hidden}));
  EXPECT_EQ(cache.k().to_vector<float>(), (std::vector<float>{7, 2, 3, 4, 5, 6, 8, 0}));
  builder.reset_batch_index(0);
  EXPECT_EQ(builder.positions(), (Positions{0, 3}));
}

}  // namespace
}  // namespace wick::nn
