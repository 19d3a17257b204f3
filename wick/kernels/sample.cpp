#include "wick/kernels/sample.h"

#include <functional>

#include "wick/kernels/angles.h"
#include "wick/kernels/group_options.h"
#include "wick/kernels/group_reduce.h"
#include "wick/kernels/order_key.h"
#include "wick/kernels/random.h"
#include "wick/op/sample.h"

namespace wick::kernels {

using namespace ir;

namespace {

// A whole number of 64 bits.
struct Pair {
  Value high, low;
};
Pair add(const Pair& a, const Pair& b) {
  const Value low = a.low + b.low;
  return {a.high + b.high + select(low < b.low, low.builder()->constant(1U), 0U), low};
}
Value is_less(const Pair& a, const Pair& b) { return (a.high < b.high) | ((a.high == b.high) & (a.low < b.low)); }

// Sums of weights, whose lower and upper halves are added up apart: neither leaves 32 bits.
constexpr uint32_t kHalf = kSampleWeightBits / 2;
struct Halves {
  Value upper, lower;
  [[nodiscard]] Pair pair() const { return add({upper >> (32U - kHalf), upper << kHalf}, {lower.builder()->constant(0U), lower}); }
};

// sample_weight.
Value weight(const Value& x) {
  KernelBuilder& k = *x.builder();
  const Value y = cast(Type::u32, min(x * -0x1p24F, kSampleReach * 0x1p24F));
  const Value exponent = multiply_high(y, k.constant(kLog2OfE)), t = exponent << 9;
  Value sum = k.constant(kSampleSeries.back());
  for (size_t i = kSampleSeries.size() - 1; i-- > 0;) sum = k.constant(kSampleSeries[i]) - multiply_high(sum, t);
  const Value shift = exponent >> 23;
  const Value fraction = (k.constant(0x80000000U) - (multiply_high(sum, t) >> 1)) >> (31 - kSampleWeightBits);
  return select(shift > kSampleWeightBits, 0U, fraction >> min(shift, 31U));
}

class Sampling {
 public:
  explicit Sampling(const DeviceCaps& caps)
      : k_("sample", group_options(caps, 256)),
        group_(k_, Type::u32),
        logits_(k_.buffer("logits", Element::f32)),
        settings_(k_.buffer("settings", Element::f32)),
        draws_(k_.buffer("draws", Element::u32)),
        y_(k_.output("y", Element::i32)),
        tokens_(k_.parameter("tokens", Type::u32)),
        lanes_(k_.kernel().group_size),
        lane_(k_.local_id()) {}

  ir::Kernel build() {
    const Value row = k_.group_id(0);
    first_ = k_.parameter("first_logit", Type::u32) + row * tokens_;
    const Value settings = k_.parameter("first_setting", Type::u32) + row * 4U;
    const Value draw = k_.parameter("first_draw", Type::u32) + row * 4U, place = k_.parameter("first_result", Type::u32) + row;
    const Value inverse_temperature = settings_.load(settings), top_k = settings_.load(settings + 1U),
                top_p = settings_.load(settings + 2U), min_p = settings_.load(settings + 3U);
    find_largest();
    const Value greedy = inverse_temperature == 0.0F;
    find_least(!greedy, top_k, top_p);
    least_weight_ = cast(Type::u32, min_p * 0x1p26F);
    const Value usable = (largest_key_ > kMinusInfinity) & (largest_key_ < kPlusInfinity);
    k_.when((lane_ == 0U) & (greedy | !usable), [&] { y_.store(place, select(usable, bitcast(Type::i32, best_), -1)); });
    const std::array<Value, 4> words = philox({draws_.load(draw + 2U), draws_.load(draw + 3U), k_.constant(0U), k_.constant(0U)},
                                              {draws_.load(draw), draws_.load(draw + 1U)});
    k_.when(!greedy, [&] { choose(words[0], inverse_temperature, usable, place); });
    return k_.finish();
  }

 private:
  static constexpr uint32_t kMinusInfinity = 0x007fffff, kPlusInfinity = 0xff800000, kLowest = 0x00800000;  // keys

  [[nodiscard]] Value key(const Value& token) const { return load_key(logits_, DType::f32, first_ + token).high; }
  // logit - largest logit.
  [[nodiscard]] Value distance(const Value& token) const { return logits_.load(first_ + token) - largest_; }

  // Each lane goes over its share of the tokens.
  void each(const std::function<void(const Value& token)>& body) { k_.loop(lane_, tokens_, lanes_, body); }

  void find_largest() {
    Variable most = k_.variable(k_.constant(0U));
    each([&](const Value& token) { most = max(most, key(token)); });
    largest_key_ = group_(Reduce::maximum, most);
    Variable first = k_.variable(k_.constant(0xffffffffU));
    each([&](const Value& token) { first = min(first, select(key(token) == largest_key_, token, 0xffffffffU)); });
    best_ = group_(Reduce::minimum, first);
    largest_ = logits_.load(first_ + best_);
  }

  // Σ weight over the tokens whose key is at least so large.
  [[nodiscard]] Pair sum_from(const Value& least) {
    Variable upper = k_.variable(k_.constant(0U)), lower = k_.variable(k_.constant(0U));
    each([&](const Value& token) {
      k_.when(key(token) >= least, [&] {
        const Value w = weight(distance(token));
        upper = upper + (w >> kHalf);
        lower = lower + (w & ((1U << kHalf) - 1));
      });
    });
    const Value uppers = group_(Reduce::add, upper), lowers = group_(Reduce::add, lower);
    return Halves{uppers, lowers}.pair();
  }

  // The largest key for which `holds` does, which does for all below; 0 unless it is wanted.
  [[nodiscard]] Value largest_where(const Value& wanted, const std::function<Value(const Value& trial)>& holds) {
    Variable found = k_.variable(k_.constant(0U));
    k_.loop(0, select(wanted, k_.constant(32U), k_.constant(0U)), 1, [&](const Value& bit) {
      const Value trial = found | (k_.constant(0x80000000U) >> bit);
      const Value held = holds(trial);
      found = select(held, trial, found);
    });
    return found;
  }

  // The least key that top_k and top_p let stay.
  void find_least(const Value& draws, const Value& top_k, const Value& top_p) {
    const Value count = cast(Type::u32, top_k);
    const Value has_count = draws & (top_k > 0.0F) & (top_k < cast(Type::f32, tokens_));
    const Value last = largest_where(has_count, [&](const Value& trial) {
      Variable reached = k_.variable(k_.constant(0U));
      each([&](const Value& token) { reached = reached + select(key(token) >= trial, k_.constant(1U), 0U); });
      return group_(Reduce::add, reached) >= count;
    });
    const Value after_count = max(last, kLowest);
    const Value has_share = draws & (top_p < 1.0F);
    Variable nucleus = k_.variable(k_.constant(0U));
    k_.when(has_share, [&] {
      const Pair sum = sum_from(after_count);
      const Value share = cast(Type::u32, top_p * 0x1p24F);
      // ⌊sum · share / 2^24⌋, from the upper bits of the sum and its last 24.
      const Value upper = (sum.high << 8) | (sum.low >> 24), lower = sum.low & 0xffffffU;
      const Pair wanted = add({multiply_high(upper, share), upper * share},
                              {k_.constant(0U), (multiply_high(lower, share) << 8) | ((lower * share) >> 24)});
      nucleus = largest_where(has_share, [&](const Value& trial) { return !is_less(sum_from(max(trial, after_count)), wanted); });
    });
    least_ = max(after_count, min(nucleus, largest_key_));
  }

  // The weight that a token is drawn with.
  void with_weight(const Value& token, const Value& inverse_temperature, const std::function<void(const Value&)>& body) {
    k_.when(key(token) >= least_, [&] {
      const Value x = distance(token);
      body(select(weight(x) >= least_weight_, weight(x * inverse_temperature), 0U));
    });
  }

  // Each lane has neighbouring tokens: the lane whose chunk contains the target finds it there.
  void choose(const Value& word, const Value& inverse_temperature, const Value& usable, const Value& place) {
    const Value share = (tokens_ + (lanes_ - 1)) / lanes_, begin = lane_ * share, end = min(begin + share, tokens_);
    const Memory uppers = k_.shared(Element::u32, lanes_), lowers = k_.shared(Element::u32, lanes_);
    Variable upper = k_.variable(k_.constant(0U)), lower = k_.variable(k_.constant(0U));
    k_.loop(begin, end, 1, [&](const Value& token) {
      with_weight(token, inverse_temperature, [&](const Value& w) {
        upper = upper + (w >> kHalf);
        lower = lower + (w & ((1U << kHalf) - 1));
      });
    });
    uppers[lane_] = Value(upper);
    lowers[lane_] = Value(lower);
    k_.barrier();
    Variable upper_before = k_.variable(k_.constant(0U)), lower_before = k_.variable(k_.constant(0U)),
             all_upper = k_.variable(k_.constant(0U)), all_lower = k_.variable(k_.constant(0U));
    k_.loop(0, lanes_, 1, [&](const Value& other) {
      const Value u = uppers[other], l = lowers[other];
      upper_before = upper_before + select(other < lane_, u, 0U);
      lower_before = lower_before + select(other < lane_, l, 0U);
      all_upper = all_upper + u;
      all_lower = all_lower + l;
    });
    const Pair all = Halves{all_upper, all_lower}.pair(), before = Halves{upper_before, lower_before}.pair(),
               own = Halves{upper, lower}.pair();
    const Pair target = add({multiply_high(all.high, word), all.high * word}, {k_.constant(0U), multiply_high(all.low, word)});
    k_.when(usable & !is_less(target, before) & is_less(target, add(before, own)), [&] {
      Variable high = k_.variable(before.high), low = k_.variable(before.low), found = k_.variable(k_.constant(0xffffffffU));
      k_.loop(begin, end, 1, [&](const Value& token) {
        with_weight(token, inverse_temperature, [&](const Value& w) {
          const Pair reached = add({high, low}, {k_.constant(0U), w});
          high = reached.high;
          low = reached.low;
          found = min(found, select(is_less(target, reached), token, 0xffffffffU));
        });
      });
      y_.store(place, bitcast(Type::i32, found));
    });
  }

  KernelBuilder k_;
  GroupReduce group_;
  Memory logits_, settings_, draws_, y_;
  Value tokens_;
  uint32_t lanes_;
  Value lane_, first_;
  Value largest_key_, largest_, best_, least_, least_weight_;
};

}  // namespace

ir::Kernel sample(const DeviceCaps& caps) { return Sampling(caps).build(); }

}  // namespace wick::kernels
