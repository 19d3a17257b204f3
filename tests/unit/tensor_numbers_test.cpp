// What dtypes make of numbers: conversions of every dtype to every other, operators and comparisons with a number, elements to the host.
// Truth is exact arithmetic in long double, which holds every element of every dtype.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>

#include "unit/cpu_tensors.h"
#include "wick/base/error.h"
#include "wick/tensor/indexer.h"
#include "wick/tensor/tensor.h"

namespace wick {
namespace {

using Exact = long double;
static_assert(std::numeric_limits<Exact>::digits >= 64);

constexpr Exact kExactInfinity = std::numeric_limits<Exact>::infinity();

struct Format {
  DType dtype;
  Exact low;           // of integers: the smallest
  Exact high;          // the largest finite number
  int digits = 0;      // of floats: bits of the significand
  int least_exponent;  // of the smallest normal number
};

const std::array kFormats = {
    Format{DType::u8, 0, 255, 0, 0},
    Format{DType::u32, 0, 4294967295.0L, 0, 0},
    Format{DType::i8, -128, 127, 0, 0},
    Format{DType::i16, -32768, 32767, 0, 0},
    Format{DType::i32, -2147483648.0L, 2147483647, 0, 0},
    Format{DType::i64, -0x1p63L, 9223372036854775807.0L, 0, 0},
    Format{DType::bf16, 0, 0x1.fep127L, 8, -126},
    Format{DType::f16, 0, 65504, 11, -14},
    Format{DType::f32, 0, 0x1.fffffep127L, 24, -126},
    Format{DType::f64, 0, std::numeric_limits<double>::max(), 53, -1022},
    Format{DType::f8e4m3, 0, 448, 4, -6},
};

// A value as the dtype holds it: integers truncate and saturate, NaN becomes 0; floats round to nearest, ties to even, and overflow to
// infinity, or for f8e4m3 to 448.
Exact converted(const Format& to, Exact value) {
  if (to.digits == 0) return std::isnan(value) ? 0 : std::fmin(std::fmax(std::trunc(value), to.low), to.high);
  const bool saturates = to.dtype == DType::f8e4m3;
  if (std::isnan(value) || value == 0) return value;
  if (std::isinf(value)) return saturates ? std::copysign(to.high, value) : value;
  const Exact unit = std::ldexp(Exact{1}, std::max(std::ilogb(value), to.least_exponent) - (to.digits - 1));
  const Exact rounded = std::nearbyint(value / unit) * unit;
  if (std::fabs(rounded) <= to.high) return rounded;
  return std::copysign(saturates ? to.high : kExactInfinity, value);
}

// Between integers the low bits stay, as two's complement has them.
Exact low_bits(const Format& to, Exact value) {
  const auto bits = static_cast<uint64_t>(static_cast<int64_t>(value));
  switch (to.dtype) {
    case DType::u8: return static_cast<uint8_t>(bits);
    case DType::u32: return static_cast<uint32_t>(bits);
    case DType::i8: return static_cast<int8_t>(bits);
    case DType::i16: return static_cast<int16_t>(bits);
    case DType::i32: return static_cast<int32_t>(bits);
    default: return static_cast<int64_t>(bits);
  }
}

std::vector<Exact> read(const Tensor& tensor) {
  std::vector<Exact> values;
  if (is_integer(tensor.dtype())) {
    for (const int64_t value : tensor.to_vector<int64_t>()) values.push_back(static_cast<Exact>(value));
  } else {
    for (const double value : tensor.to_vector<double>()) values.push_back(value);
  }
  return values;
}

// A tensor of that dtype, whose elements are given exactly.
Tensor holding(const Format& format, const std::vector<Exact>& values) {
  std::vector<int64_t> whole;
  std::vector<double> real;
  for (const Exact value : values) {
    if (format.digits == 0) {
      whole.push_back(static_cast<int64_t>(value));
    } else {
      real.push_back(static_cast<double>(value));
    }
  }
  const Shape shape = {static_cast<int64_t>(values.size())};
  const Tensor wide = format.digits == 0 ? Tensor::from_vector(whole, shape, kCpu) : Tensor::from_vector(real, shape, kCpu);
  return wide.to_dtype(format.dtype);
}

// Numbers at the ends of every dtype and at the ties of every rounding, as far as the format holds them.
std::vector<Exact> samples(const Format& format) {
  std::vector<Exact> wanted = {0, 1, 2, 3, 7, 0.5L, 1.5L, 2.5L, 0.1L, 100.75L, 1e-3L, 1e-30L, 255.5L, 1e10L, 1e30L};
  for (const Format& other : kFormats) {
    for (const Exact bound : {other.low, other.high}) {
      for (const Exact step : {-1.0L, -0.5L, 0.0L, 0.5L, 1.0L}) wanted.push_back(bound + step);
    }
    if (other.digits == 0) continue;
    const Exact unit = std::ldexp(Exact{1}, 1 - other.digits);
    for (const int exponent : {0, 5, 8, 30, 60, other.least_exponent, other.least_exponent - other.digits}) {
      for (const Exact factor : {1.0L, 1 + unit / 2, 1 + unit, 1 + 1.5L * unit, 1 + unit / 2 + 0x1p-60L, 1 + unit / 2 - 0x1p-60L}) {
        wanted.push_back(std::ldexp(factor, exponent));
      }
    }
    wanted.push_back(other.high + std::ldexp(unit, std::ilogb(other.high) - 1));  // where rounding begins to overflow
  }
  std::vector<Exact> values;
  for (const Exact magnitude : wanted) {
    for (const Exact value : {magnitude, -magnitude}) values.push_back(converted(format, value));
  }
  if (format.digits > 0) values.insert(values.end(), {kExactInfinity, -kExactInfinity, std::numeric_limits<Exact>::quiet_NaN()});
  for (Exact& value : values) value = converted(format, value);
  return values;
}

TEST(Numbers, EveryDtypeConvertsToEveryOtherExactly) {
  for (const Format& from : kFormats) {
    const std::vector<Exact> values = samples(from);
    const Tensor source = holding(from, values);
    ASSERT_THAT(read(source), testing::Pointwise(testing::NanSensitiveDoubleEq(), std::vector<double>(values.begin(), values.end())));
    for (const Format& to : kFormats) {
      const Tensor result = source.to_dtype(to.dtype);
      ASSERT_EQ(result.dtype(), to.dtype);
      const std::vector<Exact> got = read(result);
      for (size_t i = 0; i < values.size(); ++i) {
        const bool integers = from.digits == 0 && to.digits == 0;
        const Exact expected = integers ? low_bits(to, values[i]) : converted(to, values[i]);
        const bool same = std::isnan(expected) ? std::isnan(got[i]) : got[i] == expected;
        EXPECT_TRUE(same) << to_string(from.dtype) << " " << values[i] << " to " << to_string(to.dtype) << ": " << got[i] << " instead of "
                          << expected;
      }
    }
  }
}

bool holds(CompareKind kind, Exact lhs, Exact rhs) {
  switch (kind) {
    case CompareKind::eq: return lhs == rhs;
    case CompareKind::ne: return lhs != rhs;
    case CompareKind::le: return lhs <= rhs;
    case CompareKind::ge: return lhs >= rhs;
    case CompareKind::lt: return lhs < rhs;
    case CompareKind::gt: return lhs > rhs;
  }
  return false;
}

TEST(Numbers, AnyNumberIsComparedByItsValue) {
  std::vector<double> numbers = {0,   0.5,    -0.5,    1,      -1,     1e-30,   -1e-30,  254.5,    255,       255.5,   256,   300,
                                 448, 448.5,  1000,    -32768, -32769, 65504,   65505,   1e6,      -1e6,      0x1p31,  1e300, -1e300,
                                 NAN, 0x1p63, -0x1p63, 0x1p64, 1e19,   -1.5e19, 0x1p128, INFINITY, -INFINITY, -448.25, 3e38,  4294967295.5};
  for (const Format& format : kFormats) {
    const std::vector<Exact> values = samples(format);
    const Tensor tensor = holding(format, values);
    for (const double number : numbers) {
      // A number within the range of a float dtype is rounded to it.
      const bool in_range = format.digits > 0 && std::fabs(number) <= static_cast<double>(format.high);
      const Exact rhs = in_range ? converted(format, number) : Exact{number};
      for (const CompareKind kind :
           {CompareKind::eq, CompareKind::ne, CompareKind::le, CompareKind::ge, CompareKind::lt, CompareKind::gt}) {
        const std::vector<uint8_t> got = tensor.compare(kind, number).to_vector<uint8_t>();
        for (size_t i = 0; i < values.size(); ++i) {
          EXPECT_EQ(got[i] != 0, holds(kind, values[i], rhs))
              << to_string(format.dtype) << " " << values[i] << " " << to_string(kind) << " " << number;
        }
      }
    }
  }
}

TEST(Numbers, OperatorsKeepTheDtypeAndComputeIntegersByValue) {
  for (const Format& format : kFormats) {
    if (format.digits > 0) continue;
    const std::vector<Exact> values = {0, 1, 2, 7, 100, std::fmin(Exact{200}, format.high)};
    const Tensor tensor = holding(format, values);
    for (const double number : {0.5, 2.0, 100.0, 2.5, -1.5}) {
      const Exact exact = number;
      const auto check = [&](const Tensor& result, const std::function<Exact(Exact)>& function, const char* name) {
        ASSERT_EQ(result.dtype(), format.dtype);
        const std::vector<Exact> got = read(result);
        for (size_t i = 0; i < values.size(); ++i) {
          EXPECT_EQ(got[i], converted(format, function(values[i])))
              << to_string(format.dtype) << " " << name << " " << values[i] << ", " << number;
        }
      };
      check(tensor + number, [&](Exact x) { return x + exact; }, "x + c");
      check(number + tensor, [&](Exact x) { return exact + x; }, "c + x");
      check(tensor - number, [&](Exact x) { return x - exact; }, "x - c");
      check(number - tensor, [&](Exact x) { return exact - x; }, "c - x");
      check(tensor * number, [&](Exact x) { return x * exact; }, "x * c");
      check(number * tensor, [&](Exact x) { return exact * x; }, "c * x");
      check(tensor / number, [&](Exact x) { return x / exact; }, "x / c");
      check(number / tensor, [&](Exact x) { return x == 0 ? 0 : exact / x; }, "c / x");
    }
  }
}

TEST(Numbers, OperatorsOnFloatsRoundOnce) {
  for (const Format& format : kFormats) {
    if (format.digits == 0) continue;
    const std::vector<Exact> values = {0.5L, 1, -3, 10, 0.125L};
    const Tensor tensor = holding(format, values);
    for (const double number : {0.5, 3.0, -4.0}) {  // numbers that all of them have
      const Exact exact = number;
      const auto check = [&](const Tensor& result, const std::function<Exact(Exact)>& function) {
        ASSERT_EQ(result.dtype(), format.dtype);
        for (size_t i = 0; i < values.size(); ++i)
          EXPECT_EQ(read(result)[i], converted(format, function(values[i]))) << to_string(format.dtype);
      };
      check(tensor + number, [&](Exact x) { return x + exact; });
      check(number - tensor, [&](Exact x) { return exact - x; });
      check(tensor * number, [&](Exact x) { return x * exact; });
      if (format.digits > 24) continue;  // a quotient in long double is rounded twice
      check(tensor / number, [&](Exact x) { return x / exact; });
      check(number / tensor, [&](Exact x) { return exact / x; });
    }
  }
}

TEST(Numbers, SixtyFourBitsAreNotLostInADouble) {
  const int64_t large = (int64_t{1} << 60) + 1;
  const Tensor x = Tensor::of<int64_t>({large, -large}, kCpu);
  EXPECT_EQ((x + 1.0).to_vector<int64_t>(), (std::vector<int64_t>{large + 1, -large + 1}));
  EXPECT_EQ((x - 1.0).to_vector<int64_t>(), (std::vector<int64_t>{large - 1, -large - 1}));
  EXPECT_EQ((1.0 - x).to_vector<int64_t>(), (std::vector<int64_t>{1 - large, 1 + large}));
  EXPECT_EQ((x * 3.0).to_vector<int64_t>(), (std::vector<int64_t>{3 * large, -3 * large}));
  EXPECT_EQ((x / 3.0).to_vector<int64_t>(), (std::vector<int64_t>{large / 3, -large / 3}));
  EXPECT_EQ(x.eq(0x1p60).to_vector<uint8_t>(), (std::vector<uint8_t>{0, 0}));
}

TEST(Numbers, MaximumAndMinimumConvertTheirNumberFirst) {
  const Tensor x = Tensor::of<uint8_t>({0, 5, 255}, kCpu);
  EXPECT_EQ(x.maximum(1.75).to_vector<uint8_t>(), (std::vector<uint8_t>{1, 5, 255}));
  EXPECT_EQ(x.maximum(-3).to_vector<uint8_t>(), (std::vector<uint8_t>{0, 5, 255}));
  EXPECT_EQ(x.minimum(300).to_vector<uint8_t>(), (std::vector<uint8_t>{0, 5, 255}));
  EXPECT_EQ(x.clamp(0.5, 100.5).to_vector<uint8_t>(), (std::vector<uint8_t>{0, 5, 100}));
}

TEST(Host, OwnedVectorsAreNotCopied) {
  std::vector<float> values = {1, 2, 3, 4};
  const float* before = values.data();
  const Tensor tensor = Tensor::from_owned(std::move(values), {2, 2}, kCpu);
  EXPECT_EQ(reinterpret_cast<const float*>(tensor.storage()->buffer().host_data()), before);
  EXPECT_EQ(tensor.t().to_vector<float>(), (std::vector<float>{1, 3, 2, 4}));
  EXPECT_THROW((void)Tensor::from_owned(std::vector<float>{1, 2}, {3}, kCpu), Error);
  EXPECT_EQ(Tensor::from_owned(std::vector<double>(), {0, 3}, kCpu).shape(), (Shape{0, 3}));
}

TEST(Host, NestedVectorsFollowTheShape) {
  const Tensor x = Tensor::arange(0, 12, DType::i32, kCpu).reshape({2, 3, 2});
  EXPECT_EQ(x.to_vec3<int64_t>(), (std::vector<std::vector<std::vector<int64_t>>>{{{0, 1}, {2, 3}, {4, 5}}, {{6, 7}, {8, 9}, {10, 11}}}));
  EXPECT_EQ(x.get(1).to_vec2<float>(), (std::vector<std::vector<float>>{{6, 7}, {8, 9}, {10, 11}}));
  EXPECT_EQ(x.i(0, all(), 1).to_vec1<uint8_t>(), (std::vector<uint8_t>{1, 3, 5}));
  EXPECT_EQ(x.i(1, 2, 0).to_scalar<f16>().bits, f16(10.0F).bits);
  EXPECT_EQ(x.i(1, range(2, 3), 0).item(), 10.0);
  EXPECT_EQ(Tensor::zeros({2, 0}, DType::f32, kCpu).to_vec2<float>(), (std::vector<std::vector<float>>(2)));
  EXPECT_EQ(Tensor::zeros({0, 2}, DType::f32, kCpu).to_vec2<float>().size(), 0U);
}

TEST(Host, AnotherRankIsRefused) {
  const Tensor x = Tensor::zeros({1, 2}, DType::f32, kCpu);
  for (const std::function<void()>& wrong : std::vector<std::function<void()>>{
           [&] { (void)x.to_scalar<float>(); }, [&] { (void)x.to_vec1<float>(); }, [&] { (void)x.to_vec3<float>(); },
           [&] { (void)x.item(); }, [&] { (void)x.get(0).to_vec2<float>(); }, [&] { (void)x.i(0, range(0, 1)).to_scalar<float>(); }}) {
    try {
      wrong();
      ADD_FAILURE() << "nothing was thrown";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::shape_mismatch) << error.what();
      EXPECT_THAT(error.what(), testing::HasSubstr("Tensor[["));
    }
  }
}

}  // namespace
}  // namespace wick
