// The reference loops are what every device is compared with, so they are compared with numbers worked out by hand or by the standard.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "wick/base/half.h"
#include "wick/tensor/ops/binary.h"
#include "wick/tensor/ops/copy.h"
#include "wick/tensor/ops/matmul.h"
#include "wick/tensor/ops/normalize.h"
#include "wick/tensor/ops/recurrent_step.h"
#include "wick/tensor/ops/reference.h"
#include "wick/tensor/ops/rope.h"
#include "wick/tensor/ops/unary.h"

namespace wick {
namespace {

const SoftmaxParams kPlainSoftmax;

// What the op's loops give for one output of that shape and dtype.
std::vector<double> reference(OpId op, const void* params, std::vector<ReferenceTensor> inputs, const Shape& shape,
                              DType dtype = DType::f64) {
  std::vector<ReferenceTensor> outputs = {{shape, std::vector<double>(static_cast<size_t>(shape.elements())), dtype}};
  rule(op).reference(params, inputs, outputs);
  return outputs[0].values;
}

std::vector<double> integers(BinaryKind kind, DType dtype, const std::vector<double>& lhs, const std::vector<double>& rhs) {
  const auto n = static_cast<int64_t>(lhs.size());
  const BinaryParams params{kind};
  return reference(OpId::binary, &params, {{{n}, lhs, dtype}, {{n}, rhs, dtype}}, {n}, dtype);
}

TEST(Reference, IntegersWrapAround) {
  EXPECT_EQ(integers(BinaryKind::add, DType::u8, {200, 255}, {100, 1}), (std::vector<double>{44, 0}));
  EXPECT_EQ(integers(BinaryKind::sub, DType::u8, {1}, {2}), (std::vector<double>{255}));
  EXPECT_EQ(integers(BinaryKind::mul, DType::i16, {300, -32768}, {300, -1}), (std::vector<double>{24464, -32768}));
  EXPECT_EQ(integers(BinaryKind::add, DType::i32, {2147483647}, {1}), (std::vector<double>{-2147483648.0}));
  EXPECT_EQ(integers(BinaryKind::sub, DType::u32, {0}, {1}), (std::vector<double>{4294967295.0}));
}

TEST(Reference, IntegerDivisionTruncatesAndByZeroGivesZero) {
  EXPECT_EQ(integers(BinaryKind::div, DType::i32, {7, -7, 5, 0, -2147483648.0}, {2, 2, 0, 0, -1}),
            (std::vector<double>{3, -3, 0, 0, -2147483648.0}));
  EXPECT_EQ(integers(BinaryKind::div, DType::u8, {255, 1}, {2, 0}), (std::vector<double>{127, 0}));
}

TEST(Reference, NegatedIntegersWrapAround) {
  const UnaryParams params{UnaryKind::neg};
  EXPECT_EQ(reference(OpId::unary, &params, {{{2}, {1, 0}, DType::u8}}, {2}, DType::u8), (std::vector<double>{255, 0}));
  EXPECT_EQ(reference(OpId::unary, &params, {{{1}, {-32768}, DType::i16}}, {1}, DType::i16), (std::vector<double>{-32768}));
}

// The same on the CPU's own loops, where i64 is exact to its ends.
TEST(CpuBinary, SixtyFourBitIntegersAreExact) {
  constexpr int64_t kLargest = std::numeric_limits<int64_t>::max();
  constexpr int64_t kSmallest = std::numeric_limits<int64_t>::min();
  const Device cpu = Device::cpu();
  const Tensor lhs = Tensor::from_vector<int64_t>({kLargest, kLargest - 1, kSmallest, 5}, {4}, cpu);
  const Tensor rhs = Tensor::from_vector<int64_t>({1, 1, -1, 0}, {4}, cpu);
  EXPECT_EQ((lhs + rhs).to_vector<int64_t>(), (std::vector<int64_t>{kSmallest, kLargest, kLargest, 5}));
  EXPECT_EQ(lhs.div(rhs).to_vector<int64_t>(), (std::vector<int64_t>{kLargest, kLargest - 1, kSmallest, 0}));
  EXPECT_EQ(lhs.minimum(rhs).to_vector<int64_t>(), (std::vector<int64_t>{1, 1, kSmallest, 0}));
}

TEST(Reference, MinimumAndMaximumPassNanOn) {
  const double nan = std::nan("");
  for (const BinaryKind kind : {BinaryKind::minimum, BinaryKind::maximum}) {
    const BinaryParams params{kind};
    const std::vector<double> got = reference(OpId::binary, &params, {{{3}, {nan, 1, 1}}, {{3}, {1, nan, 2}}}, {3});
    EXPECT_TRUE(std::isnan(got[0]) && std::isnan(got[1]));
    EXPECT_EQ(got[2], kind == BinaryKind::minimum ? 1 : 2);
  }
}

TEST(Reference, MatmulOfABatch) {
  const std::vector<double> got =
      reference(OpId::matmul, nullptr, {{{2, 1, 2}, {1, 2, 3, 4}}, {{2, 2, 2}, {1, 0, 0, 1, 5, 6, 7, 8}}}, {2, 1, 2});
  EXPECT_EQ(got, (std::vector<double>{1, 2, 43, 50}));
}

TEST(Reference, SoftmaxOfEqualNumbersIsUniform) {
  EXPECT_EQ(reference(OpId::softmax, &kPlainSoftmax, {{{2, 4}, {3, 3, 3, 3, 1e300, 1e300, 1e300, 1e300}}}, {2, 4}),
            std::vector<double>(8, 0.25));
}

TEST(Reference, SoftmaxOfTwoNumbersIsALogistic) {
  const std::vector<double> got = reference(OpId::softmax, &kPlainSoftmax, {{{2}, {std::log(3.0), 0}}}, {2});
  EXPECT_NEAR(got[0], 0.75, 1e-15);
  EXPECT_NEAR(got[1], 0.25, 1e-15);
}

TEST(Reference, RmsNormHasUnitMeanSquareBeforeTheWeight) {
  const RmsNormParams params{0};
  const std::vector<double> got = reference(OpId::rms_norm, &params, {{{1, 2}, {3, 4}}, {{2}, {1, 10}}}, {1, 2});
  EXPECT_NEAR(got[0], 3 / std::sqrt(12.5), 1e-15);
  EXPECT_NEAR(got[1], 40 / std::sqrt(12.5), 1e-14);
}

TEST(Reference, RopeTurnsPairsOfBothStyles) {
  // A quarter turn: (a, b) becomes (-b, a); the fifth element is behind the pairs.
  const ReferenceTensor table{{1, 2, 2}, {0, 1, 0, 1}};
  const ReferenceTensor x{{1, 1, 5}, {1, 2, 3, 4, 5}};
  const RopeParams interleaved{RopeStyle::interleaved};
  const RopeParams half_split{RopeStyle::half_split};
  EXPECT_EQ(reference(OpId::rope, &interleaved, {x, table}, {1, 1, 5}), (std::vector<double>{-2, 1, -4, 3, 5}));
  EXPECT_EQ(reference(OpId::rope, &half_split, {x, table}, {1, 1, 5}), (std::vector<double>{-3, -4, 1, 2, 5}));
}

TEST(Reference, AConvolutionSeesTheRowsKeptAndKeepsTheLast) {
  // One column, three taps; the rows kept are 1 and 2, the sequence's 3 and 4.
  const ReferenceTensor x{{2, 1}, {3, 4}}, weight{{3, 1}, {100, 10, 1}}, bias{{1}, {-1123}}, from{{1}, {1}}, to{{1}, {0}};
  const auto run = [&](bool silu) {
    const CausalConvParams params{.silu = silu};
    std::vector<ReferenceTensor> outputs = {{{2, 2}, {0, 0, 1, 2}}, {{2, 1}, {0, 0}}};
    rule(OpId::causal_conv).reference(&params, std::vector{x, weight, bias, from, to}, outputs);
    EXPECT_EQ(outputs[0].values, (std::vector<double>{3, 4, 1, 2}));
    return outputs[1].values;
  };
  EXPECT_EQ(run(false), (std::vector<double>{-1000, -889}));
  EXPECT_NEAR(run(true)[0], 0, 1e-300);
}

TEST(Reference, AStateDecaysTakesAValueInAndIsRead) {
  // One head of two keys and one value: the state (4, 8) becomes (2, 4), which holds 10 under the key (1, 2).
  const ReferenceTensor query{{1, 1, 2}, {1, 10}}, key{{1, 1, 2}, {1, 2}}, value{{1, 1, 1}, {12}}, decay{{1, 1, 1}, {0.5}},
      rate{{1, 1}, {3}}, from{{1}, {1}}, to{{1}, {0}};
  const auto step = [&](bool delta) {
    const RecurrentStepParams params{.delta = delta, .interleaved = false};
    std::vector<ReferenceTensor> outputs = {{{2, 2}, {0, 0, 4, 8}}, {{1, 1, 1}, {0}}};
    rule(OpId::recurrent_step).reference(&params, std::vector{query, key, value, decay, rate, from, to}, outputs);
    std::vector<double> all = outputs[0].values;
    all.push_back(outputs[1].values[0]);
    return all;
  };
  EXPECT_EQ(step(false), (std::vector<double>{2 + 36, 4 + 72, 4, 8, 38 + 760}));
  EXPECT_EQ(step(true), (std::vector<double>{2 + 6, 4 + 12, 4, 8, 8 + 160}));
}

TEST(Reference, AttentionSeesThePastAndItself) {
  // Queries of 0 weigh all visible positions alike: token 0 sees 2 positions, token 1 three; two heads share the values.
  const AttentionParams params{.block_size = 4};
  const ReferenceTensor query{{2, 2, 1}, {0, 0, 0, 0}};
  const ReferenceTensor key{{1, 4, 1}, {1, 2, 3, 4}};
  const ReferenceTensor value{{1, 4, 1}, {2, 4, 9, 1000}};
  EXPECT_EQ(reference(OpId::attention, &params, {query, key, value, {{2}, {0, 2}}, {{1}, {3}}, {{1, 1}, {0}}}, {2, 2, 1}),
            (std::vector<double>{3, 3, 5, 5}));
}

TEST(Reference, GatedLinearIsSiluOfTheGateTimesUp) {
  const LinearParams params;
  const std::vector<double> got = reference(OpId::gated_linear, &params, {{{1, 2}, {1, 2}}, {{1, 2}, {1, 1}}, {{1, 2}, {5, 1}}}, {1, 1});
  EXPECT_NEAR(got[0], 3 / (1 + std::exp(-3.0)) * 7, 1e-14);
}

// Halfway cases and their neighbours in every binade, rounded with integers.
template <class Narrow>
void expect_one_rounding(int mantissa_bits, int lowest, int highest) {
  for (int exponent = lowest; exponent <= highest; ++exponent) {
    for (int64_t step = 0; step < (int64_t{1} << mantissa_bits); step += 1 + (int64_t{1} << mantissa_bits) / 16) {
      const double below = std::ldexp(1 + std::ldexp(static_cast<double>(step), -mantissa_bits), exponent);
      const double ulp = std::ldexp(1.0, exponent - mantissa_bits);
      const double hair = std::ldexp(ulp, -40);
      const double even = step % 2 == 0 ? below : below + ulp;
      EXPECT_EQ(static_cast<double>(Narrow(round_to_odd(below + ulp / 2 - hair))), below);
      EXPECT_EQ(static_cast<double>(Narrow(round_to_odd(below + ulp / 2))), even);
      EXPECT_EQ(static_cast<double>(Narrow(round_to_odd(below + ulp / 2 + hair))), below + ulp);
      EXPECT_EQ(static_cast<double>(Narrow(round_to_odd(-(below + ulp / 2 + hair)))), -(below + ulp));
    }
  }
}

TEST(Half, DoublesAreRoundedOnce) {
  expect_one_rounding<f16>(10, -14, 14);
  expect_one_rounding<bf16>(7, -100, 100);
  expect_one_rounding<f8e4m3>(3, -6, 7);
  EXPECT_TRUE(std::isnan(round_to_odd(std::nan(""))));
  EXPECT_EQ(round_to_odd(std::numeric_limits<double>::infinity()), std::numeric_limits<float>::infinity());
  EXPECT_EQ(static_cast<float>(f16(round_to_odd(1e300))), std::numeric_limits<float>::infinity());
  EXPECT_EQ(std::bit_cast<uint32_t>(round_to_odd(-0.0)), 0x80000000u);
}

TEST(Copy, DoublesAndIntegersBecomeHalvesWithOneRounding) {
  const Device cpu = Device::cpu();
  const Tensor doubles = Tensor::from_vector<double>({1 + 0x1p-11 + 0x1p-40, 1 + 0x1p-11, 65520 - 0x1p-30}, {3}, cpu);
  EXPECT_EQ(doubles.to_dtype(DType::f16).to_vector<double>(), (std::vector<double>{1 + 0x1p-10, 1, 65504}));
  // 2^24 + 2^16 + 1 lies a hair above the middle between two bf16 numbers, and in f32 exactly in the middle.
  const Tensor integers = Tensor::from_vector<int32_t>({16842753, 16842752}, {2}, cpu);
  EXPECT_EQ(integers.to_dtype(DType::bf16).to_vector<double>(), (std::vector<double>{16908288, 16777216}));
}

}  // namespace
}  // namespace wick
