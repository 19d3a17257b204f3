#include "wick/ir/arithmetic.h"

#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

#include "wick/base/fail.h"
#include "wick/base/half.h"

namespace wick::ir {
namespace {

// How a register type is computed on the host: f16 as float, rounded when it is written back.
template <Type type>
struct Host;
template <>
struct Host<Type::b1> {
  using T = bool;
  static T get(Bits b) { return b != 0; }
  static Bits put(T v) { return v ? 1 : 0; }
};
template <>
struct Host<Type::i32> {
  using T = int32_t;
  static T get(Bits b) { return static_cast<int32_t>(static_cast<uint32_t>(b)); }
  static Bits put(T v) { return static_cast<uint32_t>(v); }
};
template <>
struct Host<Type::u32> {
  using T = uint32_t;
  static T get(Bits b) { return static_cast<uint32_t>(b); }
  static Bits put(T v) { return v; }
};
template <>
struct Host<Type::i64> {
  using T = int64_t;
  static T get(Bits b) { return static_cast<int64_t>(b); }
  static Bits put(T v) { return static_cast<uint64_t>(v); }
};
template <>
struct Host<Type::f16> {
  using T = float;
  static T get(Bits b) { return f16_bits_to_float(static_cast<uint16_t>(b)); }
  static Bits put(T v) { return float_to_f16_bits(v); }
};
template <>
struct Host<Type::f32> {
  using T = float;
  static T get(Bits b) { return std::bit_cast<float>(static_cast<uint32_t>(b)); }
  static Bits put(T v) { return std::bit_cast<uint32_t>(v); }
};
template <>
struct Host<Type::f64> {
  using T = double;
  static T get(Bits b) { return std::bit_cast<double>(b); }
  static Bits put(T v) { return std::bit_cast<uint64_t>(v); }
};

template <class F>
auto with_type(Type type, F&& f) {
  switch (type) {
    case Type::b1: return f.template operator()<Type::b1>();
    case Type::i32: return f.template operator()<Type::i32>();
    case Type::u32: return f.template operator()<Type::u32>();
    case Type::i64: return f.template operator()<Type::i64>();
    case Type::f16: return f.template operator()<Type::f16>();
    case Type::f32: return f.template operator()<Type::f32>();
    case Type::f64: return f.template operator()<Type::f64>();
  }
  assertion_failed("a type of no kind");
}

template <class T>
struct Unsigned {
  using type = std::make_unsigned_t<T>;
};
template <class T>
using UnsignedOf = typename Unsigned<T>::type;

// Whole numbers outside the range saturate and NaN is 0: one of the results that a cast may have there.
template <class To>
To saturate(double value) {
  if (std::isnan(value)) return 0;
  const double truncated = std::trunc(value);
  if (truncated <= static_cast<double>(std::numeric_limits<To>::min())) return std::numeric_limits<To>::min();
  if (truncated >= static_cast<double>(std::numeric_limits<To>::max())) return std::numeric_limits<To>::max();
  return static_cast<To>(truncated);
}

// One call of evaluate().
struct Lanes {
  std::span<const uint8_t> active;
  std::span<const Bits> a, b, c;
  std::span<Bits> result;
  Fault fault{};

  template <class F>
  void each(F&& f) {
    for (std::size_t i = 0; i < result.size(); ++i) {
      if (active[i]) result[i] = f(i);
    }
  }
  template <Type type, class F>
  void unary(F&& f) {
    using H = Host<type>;
    each([&](std::size_t i) { return H::put(static_cast<typename H::T>(f(H::get(a[i])))); });
  }
  template <Type type, class F>
  void binary(F&& f) {
    using H = Host<type>;
    each([&](std::size_t i) { return H::put(static_cast<typename H::T>(f(H::get(a[i]), H::get(b[i])))); });
  }
  template <Type type, class F>
  void compare(F&& f) {
    using H = Host<type>;
    each([&](std::size_t i) -> Bits { return f(H::get(a[i]), H::get(b[i])) ? 1 : 0; });
  }
  Bits stop(FaultKind kind, std::size_t lane) {
    if (fault.kind == FaultKind::none) fault = {kind, lane};
    return 0;
  }
};

// divide and remainder of integers.
template <Type type>
void divide_whole(Lanes& lanes, bool remainder) {
  using H = Host<type>;
  using T = typename H::T;
  lanes.each([&](std::size_t i) -> Bits {
    const T x = H::get(lanes.a[i]), y = H::get(lanes.b[i]);
    if (y == 0) return lanes.stop(FaultKind::divide_by_zero, i);
    if constexpr (std::is_signed_v<T>) {
      if (x == std::numeric_limits<T>::min() && y == -1) return lanes.stop(FaultKind::divide_overflow, i);
    }
    return H::put(remainder ? static_cast<T>(x % y) : static_cast<T>(x / y));
  });
}

template <Type type>
void shift(Lanes& lanes, bool left) {
  using H = Host<type>;
  using T = typename H::T;
  lanes.each([&](std::size_t i) -> Bits {
    const uint64_t count = lanes.b[i];
    if (count >= sizeof(T) * 8) return lanes.stop(FaultKind::shift_count, i);
    const T x = H::get(lanes.a[i]);
    return H::put(left ? static_cast<T>(static_cast<UnsignedOf<T>>(x) << count) : static_cast<T>(x >> count));
  });
}

template <Type type>
void whole_arithmetic(Lanes& lanes, Op op) {
  using T = typename Host<type>::T;
  using U = UnsignedOf<T>;
  switch (op) {
    case Op::negate: return lanes.unary<type>([](T x) { return static_cast<T>(U{0} - static_cast<U>(x)); });
    case Op::logical_not: return lanes.unary<type>([](T x) { return static_cast<T>(~x); });
    case Op::add: return lanes.binary<type>([](T x, T y) { return static_cast<T>(static_cast<U>(x) + static_cast<U>(y)); });
    case Op::subtract: return lanes.binary<type>([](T x, T y) { return static_cast<T>(static_cast<U>(x) - static_cast<U>(y)); });
    case Op::multiply: return lanes.binary<type>([](T x, T y) { return static_cast<T>(static_cast<U>(x) * static_cast<U>(y)); });
    case Op::divide: return divide_whole<type>(lanes, false);
    case Op::remainder: return divide_whole<type>(lanes, true);
    case Op::minimum: return lanes.binary<type>([](T x, T y) { return x < y ? x : y; });
    case Op::maximum: return lanes.binary<type>([](T x, T y) { return x < y ? y : x; });
    case Op::bit_and: return lanes.binary<type>([](T x, T y) { return static_cast<T>(x & y); });
    case Op::bit_or: return lanes.binary<type>([](T x, T y) { return static_cast<T>(x | y); });
    case Op::bit_xor: return lanes.binary<type>([](T x, T y) { return static_cast<T>(x ^ y); });
    case Op::shift_left: return shift<type>(lanes, true);
    case Op::shift_right: return shift<type>(lanes, false);
    default: assertion_failed("integer arithmetic of no kind");
  }
}

template <Type type>
void real_arithmetic(Lanes& lanes, Op op) {
  using H = Host<type>;
  using T = typename H::T;
  switch (op) {
    case Op::negate: return lanes.unary<type>([](T x) { return -x; });
    case Op::absolute: return lanes.unary<type>([](T x) { return std::fabs(x); });
    case Op::exp2: return lanes.unary<type>([](T x) { return static_cast<T>(std::exp2(static_cast<double>(x))); });
    case Op::log2: return lanes.unary<type>([](T x) { return static_cast<T>(std::log2(static_cast<double>(x))); });
    case Op::sine: return lanes.unary<type>([](T x) { return static_cast<T>(std::sin(static_cast<double>(x))); });
    case Op::square_root: return lanes.unary<type>([](T x) { return std::sqrt(x); });
    case Op::truncate: return lanes.unary<type>([](T x) { return std::trunc(x); });
    case Op::add: return lanes.binary<type>([](T x, T y) { return x + y; });
    case Op::subtract: return lanes.binary<type>([](T x, T y) { return x - y; });
    case Op::multiply: return lanes.binary<type>([](T x, T y) { return x * y; });
    case Op::divide: return lanes.binary<type>([](T x, T y) { return x / y; });
    case Op::minimum: return lanes.binary<type>([](T x, T y) { return std::fmin(x, y); });
    case Op::maximum: return lanes.binary<type>([](T x, T y) { return std::fmax(x, y); });
    case Op::fma:
      return lanes.each([&](std::size_t i) { return H::put(std::fma(H::get(lanes.a[i]), H::get(lanes.b[i]), H::get(lanes.c[i]))); });
    default: assertion_failed("floating-point arithmetic of no kind");
  }
}

void boolean_arithmetic(Lanes& lanes, Op op) {
  switch (op) {
    case Op::logical_not: return lanes.unary<Type::b1>([](bool x) { return !x; });
    case Op::bit_and: return lanes.binary<Type::b1>([](bool x, bool y) { return x && y; });
    case Op::bit_or: return lanes.binary<Type::b1>([](bool x, bool y) { return x || y; });
    case Op::bit_xor: return lanes.binary<Type::b1>([](bool x, bool y) { return x != y; });
    default: assertion_failed("arithmetic of booleans of no kind");
  }
}

Bits cast_bits(Type from, Type to, Bits bits) {
  if (to == Type::b1) return (is_float(from) ? real_of(from, bits) != 0 : bits != 0) ? 1 : 0;
  if (!is_float(from)) {
    const int64_t whole = whole_of(from, bits);
    if (!is_float(to)) return bits_of_whole(to, whole);
    return to == Type::f64 ? bits_of_real(to, static_cast<double>(whole)) : Host<Type::f32>::put(static_cast<float>(whole));
  }
  const double real = real_of(from, bits);
  switch (to) {
    case Type::i32: return Host<Type::i32>::put(saturate<int32_t>(real));
    case Type::u32: return Host<Type::u32>::put(saturate<uint32_t>(real));
    case Type::i64: return Host<Type::i64>::put(saturate<int64_t>(real));
    case Type::b1:
    case Type::f16:
    case Type::f32:
    case Type::f64: return bits_of_real(to, real);
  }
  assertion_failed("a cast to no type");
}

Bits dot4_bits(Bits a, Bits b, Bits c) {
  auto sum = static_cast<uint32_t>(c);
  for (int i = 0; i < 4; ++i) {
    const auto x = static_cast<int8_t>(a >> (8 * i)), y = static_cast<int8_t>(b >> (8 * i));
    sum += static_cast<uint32_t>(x * y);
  }
  return sum;
}

Bits fma_halves_bits(Bits a, Bits b, Bits c) {
  Bits result = 0;
  for (int shift = 0; shift < 32; shift += 16) {
    const auto half = [shift](Bits bits) { return f16_bits_to_float(static_cast<uint16_t>(bits >> shift)); };
    result |= Bits{float_to_f16_bits(std::fma(half(a), half(b), half(c)))} << shift;
  }
  return result;
}

void compare(Lanes& lanes, Op op, Type type) {
  with_type(type, [&]<Type t>() {
    using T = typename Host<t>::T;
    if (op == Op::less) return lanes.compare<t>([](T x, T y) { return x < y; });
    if (op == Op::less_equal) return lanes.compare<t>([](T x, T y) { return x <= y; });
    lanes.compare<t>([](T x, T y) { return x == y; });
  });
}

}  // namespace

double real_of(Type type, Bits bits) noexcept {
  if (type == Type::f64) return Host<Type::f64>::get(bits);
  return type == Type::f16 ? static_cast<double>(Host<Type::f16>::get(bits)) : static_cast<double>(Host<Type::f32>::get(bits));
}

int64_t whole_of(Type type, Bits bits) noexcept { return type == Type::i32 ? Host<Type::i32>::get(bits) : static_cast<int64_t>(bits); }

Bits bits_of_real(Type type, double value) noexcept {
  if (type == Type::f64) return Host<Type::f64>::put(value);
  return type == Type::f16 ? Host<Type::f16>::put(round_to_odd(value)) : Host<Type::f32>::put(static_cast<float>(value));
}

Bits bits_of_whole(Type type, int64_t value) noexcept {
  if (type == Type::b1) return value != 0 ? 1 : 0;
  return type == Type::i64 ? static_cast<uint64_t>(value) : static_cast<uint32_t>(value);
}

bool is_finite_constant(Type type, Bits bits) noexcept { return std::isfinite(real_of(type, bits)); }

Fault evaluate(const Node& node, Type operand_type, std::span<const uint8_t> active, std::span<const Bits> a, std::span<const Bits> b,
               std::span<const Bits> c, std::span<Bits> result) {
  Lanes lanes{active, a, b, c, result};
  const Op op = node.op;
  if (is_comparison(op)) {
    compare(lanes, op, operand_type);
  } else if (op == Op::select) {
    lanes.each([&](std::size_t i) { return a[i] ? b[i] : c[i]; });
  } else if (op == Op::dot4) {
    lanes.each([&](std::size_t i) { return dot4_bits(a[i], b[i], c[i]); });
  } else if (op == Op::fma_halves) {
    lanes.each([&](std::size_t i) { return fma_halves_bits(a[i], b[i], c[i]); });
  } else if (op == Op::cast) {
    lanes.each([&](std::size_t i) { return cast_bits(operand_type, node.type, a[i]); });
  } else if (op == Op::bitcast) {
    lanes.each([&](std::size_t i) { return a[i]; });
  } else if (op == Op::unpack_half) {
    lanes.each([&](std::size_t i) { return Host<Type::f32>::put(f16_bits_to_float(static_cast<uint16_t>(a[i]))); });
  } else if (op == Op::pack_halves) {
    const auto half = [](Bits f32) { return Bits{float_to_f16_bits(Host<Type::f32>::get(f32))}; };
    lanes.each([&](std::size_t i) { return half(a[i]) | half(b[i]) << 16; });
  } else {
    with_type(node.type, [&]<Type t>() {
      if constexpr (t == Type::b1) {
        boolean_arithmetic(lanes, op);
      } else if constexpr (is_float(t)) {
        real_arithmetic<t>(lanes, op);
      } else {
        whole_arithmetic<t>(lanes, op);
      }
    });
  }
  return lanes.fault;
}

}  // namespace wick::ir
