// What single passes do; that they keep the meaning is in kernels_test.cpp.
#include "wick/ir/passes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "ir/kernel_cases.h"
#include "ir/launch.h"
#include "wick/base/half.h"
#include "wick/ir/builder.h"
#include "wick/ir/lowering.h"

namespace wick::ir {
namespace {

std::size_t count(const Kernel& kernel, StatementKind kind) {
  return static_cast<std::size_t>(
      std::count_if(kernel.body.begin(), kernel.body.end(), [&](const Statement& s) { return s.kind == kind; }));
}
// Statements of one op, and how many of them stand in a loop.
std::pair<int, int> lets_of(const Kernel& kernel, Op op) {
  int all = 0, in_loops = 0, depth = 0;
  for (const Statement& s : kernel.body) {
    if (s.kind == StatementKind::loop) ++depth;
    if (s.kind == StatementKind::end) --depth;
    if (s.kind != StatementKind::let || kernel.node(s.target).op != op) continue;
    ++all;
    in_loops += depth > 0 ? 1 : 0;
  }
  return {all, in_loops};
}

struct Scalars {
  KernelBuilder k{"scalars", {.group_size = 4}};
  Memory x = k.buffer("x", Element::f32), y = k.output("y", Element::f32);
  Value n = k.parameter("n", Type::u32), a = k.parameter("a", Type::f32), t = k.local_id();
};

TEST(Schedule, MovesInvariantsOutOfLoopsAndComputesThemOnce) {
  Scalars s;
  s.k.loop(0, s.n, 1, [&](const Value& i) { s.y[s.t * s.n + i] = s.x[s.t * s.n + i] * native_sqrt(s.a); });
  const Kernel kernel = s.k.finish();
  EXPECT_EQ(lets_of(schedule(kernel), Op::square_root), std::pair(1, 0));
  EXPECT_EQ(lets_of(schedule(kernel, {.move_out_of_loops = false}), Op::square_root), std::pair(1, 1));
  EXPECT_EQ(lets_of(schedule(kernel), Op::multiply), std::pair(2, 1));  // t * n once before the loop, x * √a in it
}

TEST(Schedule, LeavesDivisionsThatMayFaultWhereTheyAreGuarded) {
  KernelBuilder k("guarded", {.group_size = 4});
  const Memory y = k.output("y", Element::u32);
  const Value n = k.parameter("n", Type::u32);
  k.when(n > 0, [&] { k.loop(0, n, 1, [&](const Value& i) { y[k.local_id() * n + i] = 100U / n; }); });
  const Kernel kernel = k.finish();
  EXPECT_EQ(lets_of(schedule(kernel), Op::divide), std::pair(1, 1));
  std::vector<uint32_t> out(8);
  launch(schedule(kernel), {}, arguments(out), {0});
  launch(schedule(kernel), {}, arguments(out), {2});
  EXPECT_EQ(out, std::vector<uint32_t>(8, 50));
}

TEST(Schedule, DropsWhatNothingUses) {
  Scalars s;
  (void)(s.x[s.t] + 1.0F);
  s.k.when(s.n > 3, [&] { (void)Value(s.x[s.t + 1U]); });
  s.y[s.t] = 1.0F;
  const Kernel kernel = schedule(s.k.finish());
  EXPECT_EQ(count(kernel, StatementKind::let), 0U);
  EXPECT_EQ(count(kernel, StatementKind::when), 0U);
}

TEST(FoldConstants, ComputesWhatIsKnown) {
  Scalars s;
  const Value six = s.k.constant(2U) * 3U;
  s.k.when(six == 6U, [&] { s.y[six - 6U + s.t * 1U] = s.k.constant(0.5F) + 0.25F; });
  s.k.when(six < 2U, [&] { s.y[0] = 9.0F; });
  s.k.loop(six, 7, 1, [&](const Value& i) { s.y[s.t + i - 2U] = 1.0F; });
  s.k.loop(9, six, 1, [&](const Value& i) { s.y[i] = 2.0F; });
  const Kernel kernel = schedule(fold_constants(s.k.finish()));
  EXPECT_EQ(count(kernel, StatementKind::when), 0U);
  EXPECT_EQ(count(kernel, StatementKind::loop), 0U);
  EXPECT_EQ(count(kernel, StatementKind::store), 2U);
  EXPECT_EQ(count(kernel, StatementKind::let), 2U);  // t + 6 and that - 2
}

TEST(FoldConstants, KeepsNegativeZeroAndFaults) {
  Scalars s;
  s.y[s.t] = s.x[s.t] + 0.0F;  // turns -0 into 0
  s.y[s.t + 4U] = native_exp2(s.k.constant(3.0F));
  const Kernel kernel = schedule(fold_constants(s.k.finish()));
  EXPECT_EQ(lets_of(kernel, Op::add).first, 2);
  EXPECT_EQ(lets_of(kernel, Op::exp2).first, 1);
}

TEST(Lower, RefusesTilesWhoseMemoryWasWrittenTo) {
  KernelBuilder k("stale_tile", {.group_size = 32, .subgroup_size = 32});
  const Memory a = k.shared(Element::f16, 64);
  const uint32_t left = k.tile(TileRole::left, Element::f16, 8, 8), right = k.tile(TileRole::right, Element::f16, 8, 8);
  const uint32_t sum = k.tile(TileRole::accumulator, Element::f32, 8, 8);
  k.tile_fill(sum, 0);
  k.tile_load(left, a, 0, 8);
  k.tile_load(right, a, 0, 8);
  k.loop(0, 2, 1, [&](const Value&) {
    k.tile_multiply(sum, left, right);
    a[k.local_id()] = k.number_of(Type::f16, 1, 0);
  });
  const Kernel kernel = k.finish();
  EXPECT_EQ(error_of([&] { (void)lower(kernel, plain_caps()); }),
            "kernel stale_tile: tile 0 is multiplied, but was not loaded or its memory was written to since");
}

TEST(Lower, PacksHalvesAsTheReferenceDoes) {
  KernelBuilder k("pack", {.group_size = 256});
  const Memory x = k.buffer("x", Element::f32), h = k.output("h", Element::u32), b = k.output("b", Element::u32);
  const Value i = k.group_id() * 256U + k.local_id();
  h[i] = pack_half(x[i]);
  b[i] = pack_bf16(x[i]);
  const Kernel kernel = k.finish();
  std::vector<float> in;
  // Every half, the two floats beside the middle to the next one, and the middle.
  for (uint32_t bits = 0; bits < 0x7c00; ++bits) {
    const float low = f16_bits_to_float(static_cast<uint16_t>(bits)),
                high = bits == 0x7bff ? 65536.0F : f16_bits_to_float(static_cast<uint16_t>(bits + 1));
    const float middle = low + (high - low) / 2;
    for (const float v : {low, middle, std::nextafter(middle, 0.0F), std::nextafter(middle, 1e30F)}) in.push_back(bits % 2 == 0 ? v : -v);
  }
  for (const float v : {65520.0F, 1e30F, -1e30F, std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()})
    in.push_back(v);
  in.resize((in.size() + 255) / 256 * 256);
  std::vector<uint32_t> halves(in.size()), bfloats(in.size());
  launch(kernel, {static_cast<uint32_t>(in.size() / 256)}, arguments(in, halves, bfloats));
  std::size_t wrong = 0;
  for (std::size_t e = 0; e < in.size(); ++e) {
    wrong += (in[e] == in[e] && halves[e] != float_to_f16_bits(in[e])) || bfloats[e] != float_to_bf16_bits(in[e]) ? 1 : 0;
    if (in[e] != in[e]) {
      EXPECT_GT(halves[e] & 0x7fffU, 0x7c00U);
    }
  }
  EXPECT_EQ(wrong, 0U);
}

// Whole buffers and the same in parts of 16 bytes: every access that a buffer has, by scalars and vectors, with and without gates.
struct Parts {
  std::vector<float> x = test_numbers(16, 1);
  std::vector<uint32_t> counts = std::vector<uint32_t>(8, 3);
  std::vector<float> y = std::vector<float>(16, -1);
};
Kernel every_access() {
  KernelBuilder k("every_access", {.group_size = 4});
  const Memory x = k.buffer("x", Element::f32), counts = k.output("counts", Element::u32), y = k.output("y", Element::f32);
  const Value n = k.parameter("n", Type::u32), t = k.local_id();
  const Vector four = x.load4(t * 4U);
  const Vector gated = x.load4_if(t < 2U, t * 4U, 9.0F);
  y.store(t * 4U, {four[3] + x[t + 5U], four[2], gated[1], x.load_if(t < n, 15U - t, 7.0F)});
  const Value before = counts.atomic(AtomicOp::add, t * 2U, t + 1U);
  y.store_if(t == 3U, 12U, cast(Type::f32, before));
  counts.store(t * 2U + 1U, counts[t * 2U] + 100U);
  return k.finish();
}

TEST(SplitBuffers, KeepsTheMeaningOfEveryAccess) {
  const Kernel whole = schedule(every_access());
  Parts expected;
  launch(whole, {}, arguments(expected.x, expected.counts, expected.y), {3});
  const std::optional<Kernel> split = split_buffers(whole, std::vector<uint32_t>{4, 2, 3}, 16);
  ASSERT_TRUE(split);
  EXPECT_EQ(split->buffers.size(), 9U);
  EXPECT_EQ(split->buffers[0].name, whole.buffers[0].name);
  Parts found;
  const std::span<std::byte> x = std::as_writable_bytes(std::span(found.x)), counts = std::as_writable_bytes(std::span(found.counts)),
                             y = std::as_writable_bytes(std::span(found.y));
  const auto part = [](std::span<std::byte> bytes, std::size_t i) { return bytes.subspan(16 * i, 16); };
  launch(*split, {},
         {part(x, 0), part(counts, 0), part(y, 0), part(x, 1), part(x, 2), part(x, 3), part(counts, 1), part(y, 1), y.subspan(32)}, {3});
  EXPECT_EQ(found.y, expected.y);
  EXPECT_EQ(found.counts, expected.counts);
  EXPECT_NE(found.counts, Parts().counts);
}

TEST(SplitBuffers, RefusesTilesAndTextsThatAreNotOurs) {
  KernelBuilder k("tiles", {.group_size = 8, .subgroup_size = 8});
  const Memory x = k.buffer("x", Element::f32), y = k.output("y", Element::f32);
  const uint32_t sum = k.tile(TileRole::accumulator, Element::f32, 8, 8);
  k.tile_load(sum, x, 0, 8);
  k.tile_store(sum, y, 0, 8);
  Kernel tiles = k.finish();
  EXPECT_FALSE(split_buffers(tiles, std::vector<uint32_t>{2, 1}, 128));
  EXPECT_FALSE(split_buffers(tiles, std::vector<uint32_t>{1, 2}, 128));
  Kernel foreign = every_access();
  foreign.entry = "every_access";
  EXPECT_FALSE(split_buffers(foreign, std::vector<uint32_t>{4, 1, 1}, 16));
}

}  // namespace
}  // namespace wick::ir
