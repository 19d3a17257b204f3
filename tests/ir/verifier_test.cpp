#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/launch.h"
#include "wick/ir/builder.h"
#include "wick/ir/verify.h"

namespace wick::ir {
namespace {

using testing::HasSubstr;

struct Words {
  Memory in, out, scratch;
  Value lane;
};

// The message with which the builder or the verifier refuses a kernel of 16 lanes; empty if they accept it.
std::string refusal(const std::function<void(KernelBuilder&, const Words&)>& body,
                    KernelOptions options = {.group_size = 16, .subgroup_size = 8}) {
  return error_of([&] {
    KernelBuilder k("bad", options);
    const Memory in = k.buffer("in", Element::f32), out = k.output("out", Element::f32);
    body(k, {in, out, k.shared(Element::f32, 16), k.local_id()});
    verify(k.finish());
  });
}

TEST(Verifier, RefusesWrongTypesWhereTheyAreWritten) {
  EXPECT_EQ(refusal([](auto&, const Words& w) { w.out[w.lane] = w.in[w.lane] + w.lane; }),
            "kernel bad: add(f32, u32) gives f32: operands and result have one type");
  EXPECT_EQ(refusal([](auto&, const Words& w) { w.out[w.lane] = w.lane; }),
            "kernel bad: store: an element of f32 is written as f32, not u32");
  EXPECT_EQ(refusal([](auto&, const Words& w) { w.out[w.lane] = w.in[cast(Type::i32, w.lane)]; }),
            "kernel bad: load(i32) gives f32: an index is a u32");
  EXPECT_EQ(refusal([](auto& k, const Words& w) { k.when(w.lane, [] {}); }), "kernel bad: when: a condition is a b1, not a u32");
  EXPECT_EQ(refusal([](auto&, const Words& w) { w.out[w.lane] = w.lane * 0.5F; }), "kernel bad: 0.5 is no u32");
  EXPECT_EQ(refusal([](auto&, const Words& w) { w.out[w.lane] = native_exp2(cast(Type::f64, w.lane)); }),
            "kernel bad: exp2(f64) gives f64: it takes f16 or f32");
  EXPECT_EQ(refusal([](auto&, const Words& w) { w.out[0] = w.in.load4(0)[4]; }), "kernel bad: lane names lane 4 of 4");
  EXPECT_EQ(refusal([](auto&, const Words& w) { w.in[w.lane] = 1.0F; }), "kernel bad: store to buffer in, which is only read");
  EXPECT_EQ(refusal([](auto&, const Words& w) { w.out.atomic(AtomicOp::maximum, 0, 1); }),
            "kernel bad: atomic: atomics are of i32 and u32, and additions of f32");
}

TEST(Verifier, RefusesInfinityAndNaN) {
  const char* message = "kernel bad: a constant is infinite or not a number, which not every language can write; use lowest()";
  EXPECT_EQ(refusal([](auto& k, const Words& w) { w.out[0] = k.constant(-INFINITY); }), message);
  EXPECT_EQ(refusal([](auto& k, const Words& w) { w.out[0] = k.constant(NAN); }), message);
  EXPECT_EQ(refusal([](auto& k, const Words& w) { w.out[0] = cast(Type::f32, k.number_of(Type::f16, 1e6, 0)); }), message);
}

TEST(Verifier, RefusesNamesThatALanguageCouldMisread) {
  const auto name = [](std::string text) { return error_of([&] { (void)KernelBuilder("k", {}).buffer(text, Element::f32); }); };
  EXPECT_EQ(name("x_2"), "");
  for (const char* text : {"", "_x", "x_", "a__b", "X", "2x", "a b"}) {
    EXPECT_THAT(name(text), HasSubstr("names are lower-case words and digits joined by single underscores")) << text;
  }
  EXPECT_EQ(refusal([](auto& k, const Words&) { k.parameter("in", Type::u32); }), "kernel bad: two arguments are called in");
  EXPECT_EQ(refusal([](auto& k, const Words&) { k.parameter("half", Type::f16); }),
            "kernel bad: parameter half is a f16; parameters are i32, u32 or f32");
  EXPECT_THAT(refusal([](auto& k, const Words&) { k.comment("a */ b"); }), HasSubstr("a comment is one line"));
}

TEST(Verifier, RefusesSizesThatNoDeviceHas) {
  EXPECT_EQ(refusal([](auto&, const Words&) {}, {.group_size = 0}), "kernel bad: a group of 0 lanes");
  EXPECT_THAT(refusal([](auto&, const Words&) {}, {.group_size = 24, .subgroup_size = 16}), HasSubstr("subgroups of 16 in a group of 24"));
  EXPECT_EQ(refusal([](auto& k, const Words&) { k.shared(Element::u8, 0); }), "kernel bad: a shared array of 0 elements");
  EXPECT_EQ(refusal([](auto&, const Words& w) { w.out[0] = subgroup_broadcast(w.in[0], 8); }),
            "kernel bad: subgroup_broadcast names subgroup lane 8 of 8");
  EXPECT_EQ(refusal([](auto& k, const Words& w) { w.out[0] = cast(Type::f32, k.subgroup_lane()); }, {.group_size = 16}),
            "kernel bad: subgroup_lane in a kernel without a subgroup size");
  EXPECT_EQ(refusal([](auto& k, const Words&) { k.loop(0, 4, 0, [](Value) {}); }), "kernel bad: loop: a step of 0 never ends");
}

TEST(Verifier, RefusesValuesOutsideTheirBlock) {
  EXPECT_EQ(refusal([](auto& k, const Words& w) {
              Value escaped;
              k.when(w.lane < 3, [&] {
                escaped = w.in[w.lane];
                w.out[0] = escaped;
              });
              w.out[1] = escaped + 1;
            }),
            "kernel bad: store uses a load outside the block that computes it");
  EXPECT_EQ(refusal([](auto& k, const Words& w) {
              Value index;
              k.loop(0, 4, 1, [&](Value i) {
                index = i;
                w.out[i] = 1.0F;
              });
              w.out[index] = 2.0F;
            }),
            "kernel bad: store uses a loop_index outside the block that computes it");
  EXPECT_EQ(refusal([](auto& k, const Words& w) {
              std::vector<Variable> escaped;
              k.when(w.lane < 3, [&] { escaped.push_back(k.variable(1.0F)); });
              w.out[0] = escaped[0];
            }),
            "kernel bad: variable 0 is read outside its block");
}

TEST(Verifier, RefusesBarriersThatNotEveryLaneReaches) {
  const auto tail = [](std::string what) {
    return " stands where lanes of a group may differ: the condition or loop around it depends on " + what;
  };
  EXPECT_EQ(refusal([](auto& k, const Words& w) { k.when(w.lane < 3, [&] { k.barrier(); }); }), "kernel bad: barrier" + tail("local_id"));
  EXPECT_EQ(refusal([](auto& k, const Words& w) { k.loop(0, w.lane, 1, [&](Value) { k.barrier(); }); }),
            "kernel bad: barrier" + tail("local_id"));
  EXPECT_EQ(refusal([](auto& k, const Words& w) { k.when(w.out[0] < 1.0F, [&] { k.barrier(); }); }),
            "kernel bad: barrier" + tail("buffer out, which is written to"));
  EXPECT_EQ(refusal([](auto& k, const Words& w) { k.when(w.scratch[0] < 1.0F, [&] { k.barrier(); }); }),
            "kernel bad: barrier" + tail("shared memory"));
  EXPECT_EQ(
      refusal([](auto& k, const Words& w) { k.when(k.subgroup_id() < 1, [&] { w.out[0] = subgroup_reduce(Reduce::add, w.in[0]); }); }),
      "kernel bad: subgroup_reduce" + tail("subgroup_id"));
  // A variable differs between lanes if what is assigned to it does, or if not all of them assign; also in a later round of a loop.
  EXPECT_EQ(refusal([](auto& k, const Words& w) {
              Variable v = k.variable(k.constant(0U));
              k.loop(0, 4, 1, [&](Value) {
                k.when(v < 2U, [&] { k.barrier(); });
                k.when(w.lane < 2, [&] { v = v + 1; });
              });
            }),
            "kernel bad: barrier" + tail("variable 0"));
}

TEST(Verifier, AcceptsBarriersThatEveryLaneReaches) {
  EXPECT_EQ(refusal([](auto& k, const Words& w) {
              const Value n = k.parameter("n", Type::u32);
              Variable v = k.variable(k.group_id() + n);
              k.loop(0, v, 3, [&](Value i) { k.when(w.in[i] < 0.5F, [&] { k.barrier(); }); });
            }),
            "");
}

TEST(Verifier, RefusesIndicesThatSurelyLeaveSharedMemory) {
  EXPECT_EQ(refusal([](auto&, const Words& w) { w.scratch[w.lane + 1U] = 0.0F; }),
            "kernel bad: store of shared array 0, which has 16 elements, at 16 in lane 15");
  EXPECT_EQ(refusal([](auto& k, const Words& w) { k.loop(0, 5, 2, [&](Value i) { w.scratch[w.lane / 4U + i * 4U] = 0.0F; }); }),
            "kernel bad: store of shared array 0, which has 16 elements, at 16 in lane 0");
  EXPECT_EQ(refusal([](auto& k, const Words& w) { k.loop(0, 4, 1, [&](Value i) { w.scratch[w.lane / 4U + i * 4U] = 0.0F; }); }), "");
  EXPECT_EQ(refusal([](auto& k, const Words& w) { k.when(w.lane < 8, [&] { w.scratch[w.lane + 8U] = 0.0F; }); }), "");
}

TEST(Verifier, RefusesTilesThatDoNotFit) {
  const auto product = [](uint32_t inner) {
    return refusal([&](auto& k, const Words&) {
      const uint32_t a = k.tile(TileRole::left, Element::f16, 8, 8), b = k.tile(TileRole::right, Element::f16, inner, 8);
      k.tile_multiply(k.tile(TileRole::accumulator, Element::f32, 8, 8), a, b);
    });
  };
  EXPECT_EQ(product(8), "");
  EXPECT_EQ(product(16), "kernel bad: tile_multiply: [8, 8] x [16, 8] does not give [8, 8]");
  EXPECT_EQ(refusal([](auto& k, const Words& w) { k.tile_store(k.tile(TileRole::accumulator, Element::f32, 8, 8), w.out, w.lane, 8); }),
            "kernel bad: tile_store: lanes of a subgroup disagree on an operand, which depends on local_id");
  const auto scaled_by = [](TileRole role, uint32_t rows) {
    return refusal([=](auto& k, const Words&) {
      k.tile_scale(k.tile(TileRole::accumulator, Element::f32, 8, 8),
                   k.tile(role, role == TileRole::left ? Element::f16 : Element::f32, rows, 8));
    });
  };
  EXPECT_EQ(scaled_by(TileRole::left, 8), "kernel bad: tile_scale: only accumulators are scaled, by accumulators");
  EXPECT_EQ(scaled_by(TileRole::accumulator, 16), "kernel bad: tile_scale: [8, 8] is not [16, 8]");
  const std::string unlike = "kernel bad: tile_load: tile and memory hold one element type, or the memory words of two f16";
  EXPECT_EQ(refusal([](auto& k, const Words& w) { k.tile_load(k.tile(TileRole::left, Element::f16, 8, 8), w.in, 0, 8); }), unlike);
  const auto from_words = [](uint32_t columns) {
    return refusal([&](auto& k, const Words&) {
      k.tile_load(k.tile(TileRole::left, Element::f16, 8, columns), k.buffer("words", Element::u32), 0, 4);
    });
  };
  EXPECT_EQ(from_words(8), "");
  EXPECT_EQ(from_words(7), unlike);
}

std::string device_refusal(const std::function<void(KernelBuilder&)>& body,
                           KernelOptions options = {.group_size = 64, .subgroup_size = 32}) {
  DeviceCaps caps;
  caps.name = "Small";
  caps.max_shared_bytes = 1024;
  return error_of([&] {
    KernelBuilder k("large", options);
    body(k);
    verify(k.finish(), caps);
  });
}

TEST(Verifier, RefusesWhatTheDeviceLacks) {
  EXPECT_EQ(device_refusal([](auto&) {}), "");
  EXPECT_EQ(device_refusal([](auto&) {}, {.group_size = 256}), "kernel large: 256 lanes of a group, but Small allows 128");
  EXPECT_EQ(device_refusal([](auto& k) { k.shared(Element::f32, 257); }),
            "kernel large: 1040 bytes of shared memory, but Small allows 1024");
  EXPECT_EQ(device_refusal([](auto& k) {
              for (char c = 'a'; c < 'j'; ++c) k.buffer(std::string(1, c), Element::f32);
            }),
            "kernel large: 9 buffers, but Small allows 8");
  EXPECT_EQ(device_refusal([](auto& k) {
              for (char c = 'a'; c < 'r'; ++c) k.parameter(std::string(1, c), Type::f32);
            }),
            "kernel large: 68 bytes of parameters, but Small allows 64");
  EXPECT_EQ(device_refusal([](auto& k) { k.buffer("x", Element::u8); }),
            "kernel large: buffer x needs 8-bit storage, which Small does not have");
  EXPECT_EQ(device_refusal([](auto& k) { k.buffer("x", Element::f64); }), "kernel large: buffer x needs f64, which Small does not have");
  EXPECT_EQ(device_refusal([](auto& k) { k.number_of(Type::i64, 0, 5); }),
            "kernel large: constant needs 64-bit integers, which Small does not have");
  EXPECT_EQ(device_refusal([](auto& k) { (void)dot4(k.local_id(), k.local_id(), 0); }),
            "kernel large: dot4 needs products of bytes, which Small does not have");
  EXPECT_EQ(device_refusal([](auto& k) { (void)subgroup_reduce(Reduce::add, k.local_id()); }),
            "kernel large: subgroup_reduce needs subgroup operations, which Small does not have");
  EXPECT_EQ(device_refusal([](auto& k) { k.output("x", Element::f32).atomic(AtomicOp::add, 0, 1); }),
            "kernel large: an atomic addition needs atomic additions of f32, which Small does not have");
}

TEST(Verifier, RefusesGridsBeyondTheDevice) {
  KernelBuilder k("grid", {});
  const Kernel kernel = k.finish();
  DeviceCaps caps;
  caps.name = "Small";
  EXPECT_EQ(error_of([&] { verify_grid(kernel, {65535, 1, 1}, caps); }), "");
  EXPECT_EQ(error_of([&] { verify_grid(kernel, {1, 65536, 1}, caps); }),
            "kernel grid: 65536 groups in dimension 1, but Small takes 1 to 65535: split the launch");
}

}  // namespace
}  // namespace wick::ir
