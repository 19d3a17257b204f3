// What the texts look like: literals, names, and whole kernels as they were looked at when they were last changed.
#include "wick/ir/dialect/dialect.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "ir/dialect_caps.h"
#include "ir/launch.h"
#include "source_root.h"
#include "wick/ir/builder.h"
#include "wick/ir/dialect/hex_float.h"
#include "wick/ir/passes.h"
#include "wick/kernels/matmul.h"
#include "wick/kernels/normalize.h"
#include "wick/kernels/quantized_matvec.h"

namespace wick::ir {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(HexFloat, IsExactAndShort) {
  EXPECT_EQ(hex_float(0), "0x0p+0");
  EXPECT_EQ(hex_float(-0.0), "-0x0p+0");
  EXPECT_EQ(hex_float(1), "0x1p+0");
  EXPECT_EQ(hex_float(-3), "-0x1.8p+1");
  EXPECT_EQ(hex_float(static_cast<double>(3.40282347e+38F)), "0x1.fffffep+127");
  EXPECT_EQ(hex_float(0x1p-149), "0x1p-149");
  for (const double value : {0.1, 1e-300, 123456.789, 0x1.0000000000001p-3})
    EXPECT_EQ(std::strtod(hex_float(value).c_str(), nullptr), value);
}

const std::vector<const Dialect*> kDialects{&cuda_dialect(), &hip_dialect(), &opencl_dialect(),
                                            &glsl_dialect(), &msl_dialect(), &wgsl_dialect()};

TEST(Dialect, TheTextDoesNotDependOnTheOrderInWhichOperandsAreMade) {
  // C++ evaluates the operands of + in any order; both orders must give the same kernel.
  const auto text = [](bool swapped, const Dialect& dialect) {
    KernelBuilder k("order", {.group_size = 32});
    const Memory x = k.buffer("x", Element::f32), y = k.output("y", Element::f32), z = k.output("z", Element::f32);
    const Value t = k.local_id();
    Value a, b;
    if (swapped) {
      b = z[t + 7U];
      a = x[t * 3U];
    } else {
      a = x[t * 3U];
      b = z[t + 7U];
    }
    y[t] = a + b;
    return print(prepare(k.finish(), plain_caps()), dialect);
  };
  for (const Dialect* dialect : kDialects) EXPECT_EQ(text(false, *dialect), text(true, *dialect)) << dialect->name;
}

TEST(Dialect, FastMathIsSaidInTheText) {
  const auto text = [](MathMode math, const Dialect& dialect) {
    KernelBuilder k("math", {.math = math});
    const Memory x = k.buffer("x", Element::f32), y = k.output("y", Element::f32);
    y[0] = x[0] * x[1] + x[2];
    return print(prepare(k.finish(), plain_caps()), dialect);
  };
  EXPECT_THAT(text(MathMode::precise, cuda_dialect()), HasSubstr("__fmul_rn("));
  EXPECT_THAT(text(MathMode::fast, cuda_dialect()), Not(HasSubstr("__fmul_rn(")));
  EXPECT_THAT(text(MathMode::precise, hip_dialect()), HasSubstr("contract(off)"));
  EXPECT_THAT(text(MathMode::fast, hip_dialect()), HasSubstr("contract(fast)"));
  EXPECT_THAT(text(MathMode::precise, opencl_dialect()), HasSubstr("FP_CONTRACT OFF"));
  EXPECT_THAT(text(MathMode::precise, glsl_dialect()), HasSubstr("precise const float"));
  EXPECT_THAT(text(MathMode::precise, msl_dialect()), HasSubstr("math_mode(safe)"));
  EXPECT_THAT(text(MathMode::fast, msl_dialect()), HasSubstr("math_mode(fast)"));
}

TEST(Dialect, SaysWhatItHasNot) {
  KernelBuilder k("long_numbers", {});
  const Memory x = k.output("x", Element::i64);
  x[0] = x[0] + 1;
  DeviceCaps caps = plain_caps();
  caps.int64 = true;
  const Kernel kernel = prepare(k.finish(), caps);
  EXPECT_EQ(error_of([&] { (void)print(kernel, wgsl_dialect()); }), "kernel long_numbers: WGSL has no i64");
}

// The golden texts are under tests/data/ir; with WICK_WRITE_GOLDENS set they are written instead of compared.
void compare_with_golden(const Kernel& kernel, const DeviceCaps& caps, const Dialect& dialect) {
  const std::string text = print(prepare(kernel, caps), dialect);
  const std::string path = fmt::format("{}/tests/data/ir/{}.{}", source_root().string(), kernel.name, dialect.extension);
  if (std::getenv("WICK_WRITE_GOLDENS") != nullptr) std::ofstream(path) << text;
  std::ostringstream golden;
  golden << std::ifstream(path).rdbuf();
  EXPECT_EQ(text, golden.str()) << path;
}

TEST(Dialect, TextsAreThoseThatWereLookedAt) {
  DeviceCaps tiles = tile_caps();
  for (const Dialect* dialect : kDialects) {
    compare_with_golden(kernels::softmax(DType::f32, false, kernels::RowLanes::group, plain_caps()), plain_caps(), *dialect);
    compare_with_golden(kernels::matvec_bytes({{DType::q8_0}}, subgroup_caps()), subgroup_caps(), *dialect);
  }
  for (const Dialect* dialect : {&cuda_dialect(), &glsl_dialect(), &hip_dialect()})
    compare_with_golden(kernels::matmul_tiles({16, 16, 16}, 32), tiles, *dialect);
  compare_with_golden(kernels::matmul_tiles({8, 8, 8}, 32), msl_caps(), msl_dialect());
}

// A language without pointers declares an array of vectors, which takes no more memory than the words.
TEST(Dialect, WideSharedArraysTakeTheBytesThatTheyHold) {
  KernelBuilder k("wide", {.group_size = 16});
  const Memory y = k.output("y", Element::u32), shared = k.shared(Element::u32, 64);
  const Value first = k.local_id() * 4U;
  shared.store(first, {first, first, first, first});
  k.barrier();
  y[k.local_id()] = shared.load4(first)[1];
  const Kernel kernel = prepare(k.finish(), plain_caps());
  EXPECT_THAT(print(kernel, glsl_dialect()), HasSubstr("shared uvec4 s0[16];"));
  EXPECT_THAT(print(kernel, wgsl_dialect()), HasSubstr("array<vec4<u32>, 16>"));
  EXPECT_THAT(print(kernel, opencl_dialect()), HasSubstr("uint s0[64]"));
}

}  // namespace
}  // namespace wick::ir
