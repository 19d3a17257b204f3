#include "wick/tensor/ops/attention.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "wick/base/error.h"
#include "wick/tensor/ops/copy.h"
#include "wick/tensor/ops/recurrent_step.h"
#include "wick/tensor/ops/rope.h"

namespace wick {
namespace {

TEST(Attention, ATokenSeesNothingOfTheLaterOnes) {
  constexpr int64_t kTokens = 70;
  constexpr int64_t kHeads = 4;
  constexpr int64_t kWidth = 16;
  const Device device = Device::cpu();
  const Tensor query = Tensor::full({kTokens, kHeads, kWidth}, 0.5, DType::f32, device);
  const Tensor key = Tensor::full({2, kTokens, kWidth}, 0.25, DType::f32, device);
  std::vector<float> values(2 * kTokens * kWidth, 1.0F);
  for (const size_t bad : {size_t{40}, size_t{69}}) {
    for (size_t head = 0; head < 2; ++head) values[(head * kTokens + bad) * kWidth] = std::numeric_limits<float>::infinity();
  }
  const Tensor value = Tensor::from_vector(values, {2, kTokens, kWidth}, device);
  const std::vector<float> result = attention(query, key, value, {0.25F, 0}).to_vector<float>();
  for (int64_t token = 0; token < kTokens; ++token) {
    const float first = result[static_cast<size_t>(token * kHeads * kWidth)];
    EXPECT_EQ(std::isfinite(first), token < 40) << "token " << token;
    EXPECT_FLOAT_EQ(result[static_cast<size_t>(token * kHeads * kWidth + 1)], 1.0F);
  }
}

// Sequences of a batch, and where blocks of four slots of one cache hold them.
struct Batch {
  std::vector<int32_t> starts, lengths, table;
  int64_t blocks = 0;

  // Its last `tokens` positions of `length`; block i is at first + i · step.
  void add(int32_t tokens, int32_t length, int32_t first, int32_t step) {
    starts.push_back(starts.back() + tokens);
    lengths.push_back(length);
    for (int32_t i = 0; i < blocks; ++i) table.push_back(first + i * step);
  }
  [[nodiscard]] AttentionPlan plan(const Device& device) const {
    const auto count = static_cast<int64_t>(lengths.size());
    return {Tensor::from_vector(starts, {count + 1}, device), Tensor::from_vector(lengths, {count}, device),
            Tensor::from_vector(table, {count, blocks}, device)};
  }
};

Tensor ramp(const Shape& shape, int64_t period, const Device& device) {
  std::vector<float> values(static_cast<size_t>(shape.elements()));
  for (size_t i = 0; i < values.size(); ++i) values[i] = std::sin(static_cast<float>(static_cast<int64_t>(i * i) % period));
  return Tensor::from_vector(values, shape, device);
}

TEST(Attention, DeterministicResultsAreThoseOfEachTokenAloneInAnyBatch) {
  constexpr int64_t kLength = 700, kBlocks = kLength / 4, kHeads = 6, kWidth = 40;
  const Device one = Device::open({DeviceKind::cpu, 0}, {1, ""}), three = Device::open({DeviceKind::cpu, 0}, {3, ""});
  for (const AttentionParams& params : {AttentionParams{.scale = 0.3F, .block_size = 4, .deterministic = true},
                                        AttentionParams{.scale = 0.3F, .block_size = 4, .window = 333, .deterministic = true}}) {
    // The sequence is once in neighbouring blocks, and once in every other one.
    const auto run = [&](const Device& device, std::initializer_list<int32_t> cuts, bool scattered, bool with_others) {
      const Tensor query = ramp({kLength, kHeads, kWidth}, 9973, device), rows = ramp({2, kLength, kWidth}, 7919, device);
      const Tensor cache = Tensor::zeros({2, 4 * kLength, kWidth}, DType::f32, device);
      copy(rows, cache.narrow(1, 0, kLength));
      const Tensor pairs = cache.reshape({2, 2 * kBlocks, 2, 4 * kWidth});
      copy(rows.reshape({2, kBlocks, 1, 4 * kWidth}), pairs.narrow(1, kBlocks, kBlocks).narrow(2, 0, 1));
      std::vector<float> all;
      int32_t begin = 0;
      for (const int32_t end : cuts) {
        Batch batch{{0}, {}, {}, kBlocks};
        if (with_others) batch.add(1, 90, 5, 1);
        batch.add(end - begin, end, scattered ? 2 * kBlocks : 0, scattered ? 2 : 1);
        if (with_others) batch.add(7, 300, 9, 1);
        const int64_t before = with_others ? 1 : 0, behind = with_others ? 7 : 0;
        const Tensor some = Tensor::cat({query.narrow(0, 0, before), query.narrow(0, begin, end - begin), query.narrow(0, 0, behind)}, 0);
        const Tensor result = attention(some, cache, cache, batch.plan(device), params).narrow(0, before, end - begin);
        const std::vector<float> part = result.to_vector<float>();
        all.insert(all.end(), part.begin(), part.end());
        begin = end;
      }
      return all;
    };
    const std::vector<float> expected = run(one, {700}, false, false);
    EXPECT_EQ(run(three, {700}, true, true), expected);
    EXPECT_EQ(run(one, {1, 4, 600, 601, 602, 700}, true, false), expected);
    EXPECT_EQ(run(three, {3, 5, 300, 698, 699, 700}, false, true), expected);
  }
}

TEST(Attention, StatesOfPartsOfThePositionsMakeTheWhole) {
  const Device device = Device::cpu();
  const Tensor query = ramp({3, 2, 8}, 97, device), cache = ramp({1, 60, 8}, 89, device);
  const auto state = [&](int32_t length, int32_t first_block) {
    Batch batch{{0}, {}, {}, 5};
    batch.add(3, length, first_block, 1);
    return attention_state(query, cache, cache, batch.plan(device), {.block_size = 4, .causal = false});
  };
  const AttentionState whole = state(20, 0), first = state(12, 0), second = state(8, 3);
  const std::vector<float> a = first.log_sum_exp.to_vector<float>(), b = second.log_sum_exp.to_vector<float>();
  const std::vector<float> x = first.value.to_vector<float>(), y = second.value.to_vector<float>();
  const std::vector<float> expected = whole.value.to_vector<float>(), total = whole.log_sum_exp.to_vector<float>();
  for (size_t i = 0; i < expected.size(); ++i) {
    const size_t row = i / 8;
    EXPECT_NEAR(total[row], std::log(std::exp(a[row]) + std::exp(b[row])), 1e-6);
    EXPECT_NEAR(expected[i], x[i] * std::exp(a[row] - total[row]) + y[i] * std::exp(b[row] - total[row]), 1e-6);
  }
}

TEST(Attention, APlanThatLeadsOutsideTheCacheIsAnError) {
  const Device device = Device::cpu();
  const Tensor query = ramp({4, 2, 8}, 97, device), cache = ramp({1, 30, 8}, 89, device);
  const auto message = [&](const Batch& batch, const AttentionParams& params = {.block_size = 4}) -> std::string {
    try {
      (void)attention(query, cache, cache, batch.plan(device), params);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
      return error.what();
    }
    return "";
  };
  const auto batch_of = [](std::vector<int32_t> starts, std::vector<int32_t> lengths, std::vector<int32_t> table) {
    return Batch{std::move(starts), std::move(lengths), std::move(table), 3};
  };
  EXPECT_EQ(message(batch_of({0, 4}, {12}, {0, 6, 2})), "");
  EXPECT_EQ(message(batch_of({0, 4}, {10}, {0, 1, 7})), "");  // of the last block, only two slots are used
  using testing::HasSubstr;
  EXPECT_THAT(message(batch_of({0, 4}, {12}, {0, 1, 7})), HasSubstr("its block 2 at 7"));
  EXPECT_THAT(message(batch_of({0, 4}, {12}, {0, -1, 2})), HasSubstr("its block 1 at -1"));
  EXPECT_EQ(message(batch_of({0, 4}, {12}, {-1, 1, 2}), {.block_size = 4, .window = 5}), "");  // nobody looks there
  EXPECT_THAT(message(batch_of({0, 4}, {12}, {-1, 1, 2}), {.block_size = 4, .window = 6}), HasSubstr("its block 0 at -1"));
  EXPECT_THAT(message(batch_of({0, 4}, {13}, {0, 1, 2})), HasSubstr("a length of 13"));
  EXPECT_THAT(message(batch_of({0, 4}, {3}, {0, 1, 2})), HasSubstr("a length of 3"));
  EXPECT_THAT(message(batch_of({0, 4}, {12}, {0, 1, 2}), {.block_size = 4, .longest = 11}), HasSubstr("11 by `longest`"));
  EXPECT_THAT(message(batch_of({0, 3}, {12}, {0, 1, 2})), HasSubstr("from 0 to 4 tokens"));
  EXPECT_THAT(message(batch_of({0, 5, 4}, {5, 5}, {0, 1, 2, 3, 4, 5})), HasSubstr("begins at token 5 and ends at 4"));
  EXPECT_THAT(message(batch_of({0, 4}, {12}, {0, 1, 2}), {.block_size = 0}), HasSubstr("a block size of 0"));
}

TEST(RopeIntoCache, APositionOrSlotThatIsNotThereIsAnError) {
  const Device device = Device::cpu();
  const Tensor heads = ramp({2, 1, 4}, 97, device), table = ramp({3, 2, 2}, 89, device),
               cache = Tensor::zeros({1, 5, 4}, DType::f32, device);
  const auto run = [&](std::vector<int32_t> positions, std::vector<int32_t> slots, const Tensor& angles) {
    const CachePlaces places{Tensor::from_vector(positions, {2}, device), Tensor::from_vector(slots, {2}, device)};
    return rope_into_cache(heads, heads, heads, places, angles, RopeStyle::interleaved, cache, cache);
  };
  using testing::HasSubstr;
  using testing::ThrowsMessage;
  EXPECT_THAT([&] { (void)run({0, 3}, {0, 1}, table); }, ThrowsMessage<Error>(HasSubstr("token 1 is at position 3")));
  EXPECT_THAT([&] { (void)run({-1, 2}, {0, 1}, table); }, ThrowsMessage<Error>(HasSubstr("token 0 is at position -1")));
  EXPECT_THAT([&] { (void)run({0, 1}, {0, 5}, table); }, ThrowsMessage<Error>(HasSubstr("token 1 is for slot 5")));
  EXPECT_THAT([&] { (void)run({0, 1}, {-2, 0}, table); }, ThrowsMessage<Error>(HasSubstr("token 0 is for slot -2")));
  EXPECT_EQ(cache.to_vector<float>(), std::vector<float>(20));  // nothing was written
  // Without pairs nothing turns, and positions count for nothing.
  EXPECT_EQ(run({-7, 90}, {4, -1}, Tensor::zeros({0, 0, 2}, DType::f32, device)).to_vector<float>(), heads.to_vector<float>());
  EXPECT_EQ(cache.narrow(1, 4, 1).to_vector<float>(), heads.narrow(0, 0, 1).to_vector<float>());
}

TEST(RecurrentStep, PositionsOfASequenceGiveTheBitsOfOneAfterTheOther) {
  const Device device = Device::cpu();
  constexpr int64_t positions = 3;
  const Tensor keys = ramp({2 * positions, 1, 5}, 97, device), values = ramp({2 * positions, 2, 4}, 89, device),
               decay = ramp({2 * positions, 2, 5}, 83, device), rate = ramp({2 * positions, 2}, 79, device),
               begin = ramp({4, 40}, 73, device);
  const auto slots = [&](std::vector<int32_t> from, std::vector<int32_t> to) {
    const Shape shape{std::ssize(from)};
    return StateSlots{Tensor::from_vector(from, shape, device), Tensor::from_vector(to, shape, device)};
  };
  for (const bool delta : {false, true}) {
    const RecurrentStepParams params{.delta = delta, .interleaved = false};
    const Tensor at_once = begin.copy(), one_by_one = begin.copy();
    const Tensor result = recurrent_step({keys, keys, values, decay, rate}, slots({0, 3}, {1, 2}), at_once, params);
    for (int64_t row = 0; row < 2 * positions; ++row) {
      const auto of_row = [&](const Tensor& all) { return all.narrow(0, row, 1); };
      const int32_t to = row < positions ? 1 : 2, from = row == 0 ? 0 : row == positions ? 3 : to;
      const RecurrentRows rows{of_row(keys), of_row(keys), of_row(values), of_row(decay), of_row(rate)};
      EXPECT_EQ(recurrent_step(rows, slots({from}, {to}), one_by_one, params).to_vector<float>(), of_row(result).to_vector<float>());
    }
    EXPECT_EQ(at_once.to_vector<float>(), one_by_one.to_vector<float>());
  }
}

TEST(RecurrentStep, ASlotThatIsNotThereOrAShapeThatDoesNotFitIsAnError) {
  const Device device = Device::cpu();
  const Tensor keys = ramp({2, 1, 3}, 97, device), values = ramp({2, 2, 4}, 89, device),
               decay = Tensor::ones({2, 2, 1}, DType::f32, device), rate = Tensor::ones({2, 2}, DType::f32, device),
               states = Tensor::zeros({3, 24}, DType::f32, device);
  const auto run = [&](std::vector<int32_t> from, std::vector<int32_t> to, const Tensor& value, const Tensor& into) {
    const StateSlots slots{Tensor::from_vector(from, {2}, device), Tensor::from_vector(to, {2}, device)};
    return recurrent_step({keys, keys, value, decay, rate}, slots, into, {});
  };
  using testing::HasSubstr;
  using testing::ThrowsMessage;
  EXPECT_THAT([&] { (void)run({0, 3}, {1, 2}, values, states); },
              ThrowsMessage<Error>(HasSubstr("sequence 1 names slot 3; allowed: 0 to 2")));
  EXPECT_THAT([&] { (void)run({0, 0}, {-1, 2}, values, states); }, ThrowsMessage<Error>(HasSubstr("sequence 0 names slot -1")));
  EXPECT_EQ(states.to_vector<float>(), std::vector<float>(72));  // nothing was written
  EXPECT_THAT([&] { (void)run({0, 0}, {1, 2}, values, states.narrow(1, 0, 23)); },
              ThrowsMessage<Error>(HasSubstr("heads · k · v] = [slots, 24]")));
  EXPECT_THAT([&] { (void)run({0, 0}, {1, 2}, ramp({2, 3, 4}, 89, device), states); }, ThrowsMessage<Error>(HasSubstr("decay")));
  const StateSlots of_three{Tensor::from_vector(std::vector<int32_t>{0, 0, 0}, {3}, device),
                            Tensor::from_vector(std::vector<int32_t>{0, 1, 2}, {3}, device)};
  EXPECT_THAT([&] { (void)recurrent_step({keys, keys, values, decay, rate}, of_three, states, {}); },
              ThrowsMessage<Error>(HasSubstr("to which equally many of the 2 rows belong")));
  EXPECT_THAT([&] { (void)run({0, 0}, {1, 2}, Var::from_tensor(values).tensor(), states); },
              ThrowsMessage<Error>(HasSubstr("no gradient")));
}

}  // namespace
}  // namespace wick
