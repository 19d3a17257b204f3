// Kernels drawn by seed: what the passes leave of them must give the same bits, on a device that has everything and on one that has
// nothing.
#include <gtest/gtest.h>

#include <random>

#include "ir/kernel_cases.h"
#include "ir/launch.h"
#include "wick/ir/builder.h"
#include "wick/ir/passes.h"
#include "wick/ir/verify.h"

namespace wick::ir {
namespace {

constexpr uint32_t kLanes = 16;

// Writes random statements over a few variables, a buffer, shared memory and narrow elements. Every choice comes from the generator, in
// statements of their own: the order of C++'s operands must not matter.
class RandomKernel {
 public:
  explicit RandomKernel(uint32_t seed) : random_(seed), k_("random", {.group_size = kLanes, .subgroup_size = 8}) {
    words_ = {k_.buffer("words", Element::u32)};
    reals_ = {k_.buffer("reals", Element::f32)};
    bytes_ = {k_.output("bytes", Element::i8)};
    out_ = {k_.output("out", Element::u32)};
    scratch_ = {k_.shared(Element::u32, kLanes)};
    n_ = k_.parameter("n", Type::u32);
    t_ = k_.local_id();
    for (uint32_t i = 0; i < 3; ++i) {
      u_.push_back(k_.variable(k_.constant(i)));
      f_.push_back(k_.variable(k_.constant(static_cast<float>(i) * 0.25F)));
    }
    bytes_[0][t_] = cast(Type::i32, t_);
  }

  Kernel make() {
    block(12, 0, true);
    for (uint32_t i = 0; i < 3; ++i) {
      out_[0][t_ + i * kLanes] = u_[i];
      out_[0][t_ + (3 + i) * kLanes] = bitcast(Type::u32, f_[i]);
    }
    return k_.finish();
  }

 private:
  uint32_t pick(uint32_t n) { return static_cast<uint32_t>(random_() % n); }

  Value word(int depth) {
    const uint32_t choice = pick(depth > 3 ? 4 : 12);
    if (choice == 0) return k_.constant(pick(2) == 0 ? pick(5) : static_cast<uint32_t>(random_()));
    if (choice == 1) return pick(2) == 0 ? t_ : n_;
    if (choice == 2) return words_[0].load((t_ * (1 + pick(2))) % 16U);
    if (choice == 3) return u_[pick(3)];
    if (choice == 4) return cast(Type::u32, condition(depth + 1));
    if (choice == 5) return bitcast(Type::u32, Value(bytes_[0][t_]));
    const Value a = word(depth + 1), b = word(depth + 1);
    switch (choice) {
      case 6: return a + b;
      case 7: return a * b;
      case 8: return a - b;
      case 9: return pick(2) == 0 ? a & b : a ^ b;
      case 10: return pick(2) == 0 ? a << (b & 31U) : a / (b | 1U);
      default: return bitcast(Type::u32, dot4(a, b, bitcast(Type::i32, a)));
    }
  }

  Value real(int depth) {
    const uint32_t choice = pick(depth > 3 ? 3 : 8);
    if (choice == 0) return k_.constant(static_cast<float>(pick(7)) - 3);
    if (choice == 1) return reals_[0].load((t_ + pick(3)) % 16U);
    if (choice == 2) return f_[pick(3)];
    if (choice == 3) return cast(Type::f32, cast(Type::f16, real(depth + 1) * 0.5F));
    const Value a = real(depth + 1), b = real(depth + 1);
    if (choice == 4) return min(a + b, 1000.0F);
    if (choice == 5) return max(a * b, -1000.0F);
    if (choice == 6)
      return cast(Type::f32, max(cast(Type::f16, min(max(a, -9.0F), 9.0F)) + cast(Type::f16, min(max(b, -9.0F), 9.0F)), 0.5F));
    const Value which = condition(depth + 1);
    return select(which, a, b);
  }

  Value condition(int depth) {
    if (pick(2) == 0) {
      const Value a = word(depth + 1), b = word(depth + 1);
      return pick(2) == 0 ? a < b : a == b;
    }
    const Value a = real(depth + 1), b = real(depth + 1);
    return a <= b;
  }

  // `together`: every lane of the group runs this block.
  void block(uint32_t statements, int depth, bool together) {
    for (uint32_t s = 0; s < statements; ++s) statement(depth, together);
  }

  void statement(int depth, bool together) {
    const uint32_t choice = pick(9);
    if (choice < 2) {
      const Value v = word(0);
      u_[pick(3)] = v;
    } else if (choice < 4) {
      const Value v = real(0);
      f_[pick(3)] = v;
    } else if (choice == 4) {
      const Value v = word(1);
      bytes_[0][t_] = bitcast(Type::i32, v);
    } else if (choice == 5 && depth < 3) {
      const Value c = condition(1);
      k_.when(c, [&] { block(1 + pick(3), depth + 1, false); });
    } else if (choice == 6 && depth < 3) {
      const Value end = pick(2) == 0 ? k_.constant(pick(4)) : n_;
      k_.loop(pick(2), end, 1 + pick(2), [&](const Value& i) {
        u_[pick(3)] = i + u_[0];
        block(1 + pick(3), depth + 1, together);
      });
    } else if (choice == 7 && together) {
      const Value v = word(1);
      scratch_[0][t_] = v;
      k_.barrier();
      u_[pick(3)] = scratch_[0][(t_ + 5U) % kLanes];
      k_.barrier();
    } else if (choice == 8 && together) {
      const Value v = word(1);
      u_[pick(3)] = pick(2) == 0 ? subgroup_reduce(Reduce::maximum, v) : subgroup_shuffle_xor(v, 1 + pick(7));
    }
  }

  std::mt19937 random_;
  KernelBuilder k_;
  std::vector<Memory> words_, reals_, bytes_, out_, scratch_;
  Value n_, t_;
  std::vector<Variable> u_, f_;
};

TEST(Passes, KeepTheBitsOfRandomKernels) {
  DeviceCaps everything = subgroup_caps();
  everything.min_subgroup_size = everything.max_subgroup_size = 8;
  for (uint32_t seed = 0; seed < 150; ++seed) {
    const Kernel kernel = RandomKernel(seed).make();
    KernelCase c;
    std::vector<double> words, reals;
    for (uint32_t i = 0; i < kLanes; ++i) {
      words.push_back(i * 0x1234567U);
      reals.push_back(i * 0.37312 - 2);  // sums of which halves round
    }
    c.buffers = {input(Element::u32, words), input(Element::f32, reals), output(Element::i8, std::vector<double>(kLanes)),
                 output(Element::u32, std::vector<double>(6 * kLanes))};
    c.parameters = {3};
    EXPECT_EQ(error_of([&] {
                verify(kernel);
                const auto expected = interpreted(kernel, c);
                for (const DeviceCaps& caps : {everything, bare_caps()}) {
                  EXPECT_EQ(interpreted(prepare(kernel, caps), c), expected) << "seed " << seed << " on " << caps.name;
                }
              }),
              "")
        << "seed " << seed;
  }
}

}  // namespace
}  // namespace wick::ir
