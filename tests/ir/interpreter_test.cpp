#include "wick/ir/interpreter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "ir/launch.h"
#include "wick/base/half.h"
#include "wick/ir/builder.h"

namespace wick::ir {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Interpreter, ScalesAsALoopDoes) {
  KernelBuilder k("scale", {.group_size = 32});
  const Memory x = k.buffer("x", Element::f32), y = k.output("y", Element::f32);
  const Value n = k.parameter("n", Type::u32), factor = k.parameter("factor", Type::f32);
  const Value i = k.group_id() * 32U + k.local_id();
  k.when(i < n, [&] { y[i] = x[i] * factor + 1; });
  const Kernel kernel = k.finish();

  std::vector<float> in = test_numbers(100, 1), out(100, -7), expected(100);
  for (std::size_t e = 0; e < 100; ++e) expected[e] = in[e] * 0.25F + 1;
  launch(kernel, {4}, arguments(in, out), {parameter_bits(100U), parameter_bits(0.25F)});
  EXPECT_EQ(out, expected);
}

// One lane computes one expression of integers; the expected value is C++'s.
uint32_t compute_u32(const std::function<Value(KernelBuilder&, Value, Value)>& expression, uint32_t a, uint32_t b) {
  KernelBuilder k("expression", {});
  const Memory y = k.output("y", Element::u32);
  const Value x = k.parameter("a", Type::u32), z = k.parameter("b", Type::u32);
  const Value result = expression(k, x, z);
  y[0] = result.type() == Type::b1 ? cast(Type::u32, result) : bitcast(Type::u32, result);
  std::vector<uint32_t> out(1);
  launch(k.finish(), {}, arguments(out), {a, b});
  return out[0];
}

TEST(Interpreter, IntegersWrapAndShiftAsDeclared) {
  using V = Value;
  const auto as_i32 = [](const V& v) { return bitcast(Type::i32, v); };
  EXPECT_EQ(compute_u32([](auto&, V a, V b) { return a + b; }, 0xffffffffU, 2), 1U);
  EXPECT_EQ(compute_u32([](auto&, V a, V b) { return a - b; }, 1, 2), 0xffffffffU);
  EXPECT_EQ(compute_u32([](auto&, V a, V b) { return a * b; }, 0x10001, 0x10001), 0x20001U);
  EXPECT_EQ(compute_u32([&](auto&, V a, V b) { return as_i32(a) / as_i32(b); }, static_cast<uint32_t>(-7), 2), static_cast<uint32_t>(-3));
  EXPECT_EQ(compute_u32([&](auto&, V a, V b) { return as_i32(a) % as_i32(b); }, static_cast<uint32_t>(-7), 2), static_cast<uint32_t>(-1));
  EXPECT_EQ(compute_u32([&](auto&, V a, V b) { return as_i32(a) >> b; }, 0x80000000U, 31), 0xffffffffU);
  EXPECT_EQ(compute_u32([](auto&, V a, V b) { return a >> b; }, 0x80000000U, 31), 1U);
  EXPECT_EQ(compute_u32([&](auto&, V a, V b) { return as_i32(a) < as_i32(b); }, 0xffffffffU, 0), 1U);
  EXPECT_EQ(compute_u32([](auto&, V a, V b) { return a < b; }, 0xffffffffU, 0), 0U);
  EXPECT_EQ(compute_u32([&](auto&, V a, V) { return -as_i32(a); }, 0x80000000U, 0), 0x80000000U);
  EXPECT_EQ(compute_u32([](auto&, V a, V b) { return select(a < b, a, b) ^ ~b; }, 3, 5), 3U ^ ~5U);
  // (-1)(2) + (-128)(-128) + 127·1 + 0·9 + 100
  EXPECT_EQ(compute_u32([](auto&, V a, V b) { return dot4(a, b, 100); }, 0x007f80ffU, 0x09018002U),
            static_cast<uint32_t>(-2 + 16384 + 127 + 100));
}

TEST(Interpreter, ConversionsRoundAsDeclared) {
  const auto from_float = [](const std::function<Value(Value)>& f, float value) {
    return compute_u32([&](auto&, Value a, Value) { return f(bitcast(Type::f32, a)); }, parameter_bits(value), 0);
  };
  EXPECT_EQ(from_float([](Value v) { return cast(Type::i32, v); }, -2.75F), static_cast<uint32_t>(-2));
  EXPECT_EQ(from_float([](Value v) { return cast(Type::f32, cast(Type::f16, v)); }, 1.0F + 0x1p-11F), parameter_bits(1.0F));
  EXPECT_EQ(from_float([](Value v) { return cast(Type::f32, cast(Type::f16, v)); }, 1.0F + 0x1.8p-10F), parameter_bits(1.0F + 0x1p-9F));
  EXPECT_EQ(compute_u32([](auto&, Value a, Value) { return unpack_half(a); }, 0xffff3555U, 0), parameter_bits(f16_bits_to_float(0x3555)));
  // 1 + 2^-11 is a tie, between 1 and 1 + 2^-10.
  EXPECT_EQ(compute_u32([](auto&, Value a, Value b) { return pack_halves(bitcast(Type::f32, a), bitcast(Type::f32, b)); },
                        parameter_bits(-0.5F), parameter_bits(1.0F + 0x1p-11F)),
            0x3c00b800U);
  EXPECT_EQ(compute_u32([](auto&, Value a, Value) { return cast(Type::f32, a); }, 0x1000001U, 0), parameter_bits(16777216.0F));
}

TEST(Interpreter, NarrowElementsExtendAndCutOff) {
  KernelBuilder k("narrow", {.group_size = 4});
  const Memory bytes = k.buffer("bytes", Element::i8), halves = k.buffer("halves", Element::bf16);
  const Memory out = k.output("out", Element::u8), rounded = k.output("rounded", Element::bf16);
  const Value i = k.local_id();
  out[i] = cast(Type::u32, bytes[i] * 2);
  rounded[i] = halves[i] + 0.00390625F;
  std::vector<int8_t> in{-1, 100, -128, 5};
  std::vector<uint16_t> values{0x3f80, 0xbf80, 0, 0x4000}, sums(4);
  std::vector<uint8_t> result(4);
  launch(k.finish(), {}, arguments(in, values, result, sums));
  EXPECT_THAT(result, ElementsAre(254, 200, 0, 10));
  EXPECT_THAT(sums,
              ElementsAre(float_to_bf16_bits(1.00390625F), float_to_bf16_bits(-0.99609375F), float_to_bf16_bits(0.00390625F), 0x4000));
}

TEST(Interpreter, SumsOfSharedMemoryThroughBarriers) {
  KernelBuilder k("group_sum", {.group_size = 64});
  const Memory x = k.buffer("x", Element::i32), y = k.output("y", Element::i32), scratch = k.shared(Element::i32, 64);
  const Value t = k.local_id();
  scratch[t] = x[k.group_id() * 64U + t];
  k.barrier();
  for (uint32_t half = 32; half > 0; half /= 2) {
    k.when(t < half, [&] { scratch[t] = scratch[t] + scratch[t + half]; });
    k.barrier();
  }
  k.when(t == 0, [&] { y[k.group_id()] = scratch[0]; });
  std::vector<int32_t> in(192), out(3);
  std::iota(in.begin(), in.end(), -50);
  launch(k.finish(), {3}, arguments(in, out));
  for (std::size_t g = 0; g < 3; ++g) EXPECT_EQ(out[g], std::accumulate(&in[g * 64], &in[g * 64] + 64, 0));
}

TEST(Interpreter, LoopsDivergeAndVariablesKeepEachLanesValue) {
  KernelBuilder k("triangle", {.group_size = 8});
  const Memory y = k.output("y", Element::u32);
  Variable sum = k.variable(k.constant(0U));
  k.loop(0, k.local_id(), 1, [&](Value i) { k.when(i % 2U == 1, [&] { sum = sum + i; }); });
  y[k.local_id()] = sum;
  std::vector<uint32_t> out(8);
  launch(k.finish(), {}, arguments(out));
  EXPECT_THAT(out, ElementsAre(0, 0, 1, 1, 4, 4, 9, 9));
}

TEST(Interpreter, ReadsSeeTheWritesBeforeThem) {
  KernelBuilder k("order", {});
  const Memory y = k.output("y", Element::f32);
  Variable a = k.variable(1.0F);
  const Value before = a;
  a = a + 1;
  y[0] = before;
  y[1] = a;
  const Value stored = y[0];
  y[0] = stored + 10;
  y[2] = y[0] + stored;
  std::vector<float> out(3);
  launch(k.finish(), {}, arguments(out));
  EXPECT_THAT(out, ElementsAre(11, 2, 12));
}

TEST(Interpreter, SubgroupsExchange) {
  KernelBuilder k("exchange", {.group_size = 8, .subgroup_size = 4});
  const Memory y = k.output("y", Element::u32);
  const Value t = k.local_id();
  const Value sum = subgroup_reduce(Reduce::add, t * 10U), largest = subgroup_reduce(Reduce::maximum, t);
  y[t] = sum + largest * 1000U + subgroup_shuffle_xor(t, 1) * 10000U + subgroup_broadcast(t, 2) * 100000U;
  std::vector<uint32_t> out(8);
  launch(k.finish(), {}, arguments(out));
  for (uint32_t t = 0; t < 8; ++t) {
    const uint32_t first = t / 4 * 4;
    EXPECT_EQ(out[t], 10 * (4 * first + 6) + (first + 3) * 1000 + (t ^ 1U) * 10000 + (first + 2) * 100000);
  }
}

TEST(Interpreter, VectorsAreTheirLanes) {
  KernelBuilder k("vectors", {.group_size = 2});
  const Memory x = k.buffer("x", Element::f32), y = k.output("y", Element::f32);
  const Value i = k.local_id() * 4U;
  const Vector v = x.load4(i);
  y.store(i, {v[3], v[2], v[1], v[0]});
  std::vector<float> in{1, 2, 3, 4, 5, 6, 7, 8}, out(8);
  launch(k.finish(), {}, arguments(in, out));
  EXPECT_THAT(out, ElementsAre(4, 3, 2, 1, 8, 7, 6, 5));
}

TEST(Interpreter, AtomicsCountEveryLane) {
  KernelBuilder k("histogram", {.group_size = 32});
  const Memory x = k.buffer("x", Element::u32), y = k.output("y", Element::u32), order = k.output("order", Element::u32);
  const Value i = k.group_id() * 32U + k.local_id();
  order[i] = y.atomic(AtomicOp::add, x[i], 1);
  std::vector<uint32_t> in(64), out(3), before(64);
  for (uint32_t e = 0; e < 64; ++e) in[e] = e % 3;
  launch(k.finish(), {2}, arguments(in, out, before));
  EXPECT_THAT(out, ElementsAre(22, 21, 21));
  std::vector<uint32_t> ranks;
  for (std::size_t e = 0; e < 64; e += 3) ranks.push_back(before[e]);
  std::sort(ranks.begin(), ranks.end());
  for (uint32_t e = 0; e < ranks.size(); ++e) EXPECT_EQ(ranks[e], e);
}

TEST(Interpreter, TilesMultiplyMatrices) {
  KernelBuilder k("tiles", {.group_size = 4, .subgroup_size = 4});
  const Memory a = k.buffer("a", Element::f16), b = k.buffer("b", Element::f16), c = k.output("c", Element::f32);
  const uint32_t left = k.tile(TileRole::left, Element::f16, 2, 3), right = k.tile(TileRole::right, Element::f16, 3, 2);
  const uint32_t sum = k.tile(TileRole::accumulator, Element::f32, 2, 2);
  k.tile_fill(sum, 100);
  k.tile_load(left, a, 0, 3);
  k.tile_load(right, b, 0, 2);
  k.tile_multiply(sum, left, right);
  k.tile_store(sum, c, 1, 3);
  std::vector<f16> x, y;
  for (int i = 1; i <= 6; ++i) {
    x.emplace_back(static_cast<float>(i));
    y.emplace_back(static_cast<float>(i * i));
  }
  std::vector<float> out(6);
  launch(k.finish(), {}, arguments(x, y, out));
  // [1 2 3; 4 5 6] × [1 4; 9 16; 25 36] = [94 144; 199 312]
  EXPECT_THAT(out, ElementsAre(0, 194, 244, 0, 299, 412));
}

TEST(Interpreter, ATileIsScaledElementByElement) {
  KernelBuilder k("tiles", {.group_size = 4, .subgroup_size = 4});
  const Memory a = k.buffer("a", Element::f32), b = k.buffer("b", Element::f32), c = k.output("c", Element::f32);
  const uint32_t scaled = k.tile(TileRole::accumulator, Element::f32, 2, 2), factors = k.tile(TileRole::accumulator, Element::f32, 2, 2);
  k.tile_load(scaled, a, 0, 2);
  k.tile_load(factors, b, 0, 2);
  k.tile_scale(scaled, factors);
  k.tile_store(scaled, c, 0, 2);
  std::vector<float> x{1, 2, 3, 4}, y{10, -1, 0.5F, 0};
  std::vector<float> out(4);
  launch(k.finish(), {}, arguments(x, y, out));
  EXPECT_THAT(out, ElementsAre(10, -2, 1.5F, 0));
}

std::string race_of(const std::function<void(KernelBuilder&, Memory, Memory, Value)>& body, uint32_t groups = 1) {
  KernelBuilder k("race", {.group_size = 4});
  const Memory y = k.output("y", Element::u32), scratch = k.shared(Element::u32, 8);
  body(k, y, scratch, k.local_id());
  const Kernel kernel = k.finish();
  std::vector<uint32_t> out(8);
  return error_of([&] { launch(kernel, {groups}, arguments(out)); });
}

TEST(Interpreter, AReadOfAnotherLanesWriteWithoutABarrierIsARace) {
  const auto rotate = [](bool barrier) {
    return race_of([&](KernelBuilder& k, Memory y, Memory scratch, Value t) {
      scratch[t] = t;
      if (barrier) k.barrier();
      y[t] = scratch[(t + 1U) % 4U];
    });
  };
  EXPECT_EQ(rotate(false),
            "kernel race: a read of shared array 0[1] races with a write by lane 1 of group 0, in lane 0 of group (0, 0, 0)");
  EXPECT_EQ(rotate(true), "");
}

TEST(Interpreter, TwoGroupsWritingOneElementIsARace) {
  const auto write = [](KernelBuilder&, Memory y, Memory, Value t) { y[t] = t; };
  EXPECT_EQ(race_of(write, 1), "");
  EXPECT_THAT(race_of(write, 2), HasSubstr("a write of y[0] races with a write by lane 0 of group 0, in lane 0 of group (1, 0, 0)"));
}

TEST(Interpreter, AtomicsDoNotRaceWithEachOtherButWithWrites) {
  EXPECT_EQ(race_of([](KernelBuilder&, Memory y, Memory, Value) { y.atomic(AtomicOp::add, 0, 1); }, 2), "");
  EXPECT_THAT(race_of([](KernelBuilder& k, Memory y, Memory, Value t) {
                y.atomic(AtomicOp::add, 0, 1);
                k.when(t == 0, [&] { y[0] = 5; });
              }),
              HasSubstr("a write of y[0] races with an atomic update by lane 3 of group 0"));
}

TEST(Interpreter, FaultsNameTheirPlace) {
  EXPECT_EQ(race_of([](KernelBuilder&, Memory y, Memory, Value t) { y[t * 3U] = t; }),
            "kernel race: y[9] of 8 elements, in lane 3 of group (0, 0, 0)");
  EXPECT_EQ(race_of([](KernelBuilder&, Memory y, Memory scratch, Value t) { y[t] = scratch[t]; }),
            "kernel race: shared array 0[0] is read before it is written, in lane 0 of group (0, 0, 0)");
  EXPECT_EQ(race_of([](KernelBuilder&, Memory y, Memory, Value t) { y[t] = 6U / (2U - t); }),
            "kernel race: an integer is divided by zero, in lane 2 of group (0, 0, 0)");
  EXPECT_EQ(race_of([](KernelBuilder&, Memory y, Memory, Value t) { y[t] = t << (t * 16U); }),
            "kernel race: an integer is shifted by its width or more, in lane 2 of group (0, 0, 0)");
  EXPECT_EQ(race_of([](KernelBuilder& k, Memory, Memory, Value t) { k.when(t < 3, [&] { k.barrier(); }); }),
            "kernel race: a barrier that not every lane reaches: missing, in lane 3 of group (0, 0, 0)");
  EXPECT_EQ(race_of([](KernelBuilder&, Memory y, Memory, Value t) { y.store(t, {t, t}); }),
            "kernel race: y[1]: a vector of 2 begins at a multiple of 2, in lane 1 of group (0, 0, 0)");
  EXPECT_EQ(race_of([](KernelBuilder& k, Memory y, Memory, Value t) { k.loop(0xfffffff0U, 0xffffffffU, 16, [&](Value) { y[t] = 1; }); }),
            "kernel race: a loop's index wraps: 4294967280 + 16, in lane 0 of group (0, 0, 0)");
}

TEST(Interpreter, AGatedLoadDoesNotTouchMemory) {
  EXPECT_EQ(race_of([](KernelBuilder&, Memory y, Memory, Value t) { y[t] = y.load_if(t < 0U, t + 100U, 7); }), "");
}

}  // namespace
}  // namespace wick::ir
