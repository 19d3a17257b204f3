// The functions that <wick/kernel.h> offers under C's names: over the whole range of their arguments they give what C's give.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "ir/launch.h"
#include "wick/ir/builder.h"
#include "wick/kernels/math.h"

namespace wick::ir {
namespace {

// Every power of two with several mantissas, zeros, infinities, NaN, and what lies beside where functions change or end.
template <class Real>
std::vector<Real> whole_range() {
  using Limits = std::numeric_limits<Real>;
  std::vector<Real> positive = {0, Limits::infinity(), Limits::max(), Limits::min(), Limits::denorm_min(), Limits::epsilon()};
  for (int exponent = Limits::min_exponent - Limits::digits; exponent < Limits::max_exponent; exponent += Limits::digits > 24 ? 5 : 1) {
    for (const double mantissa : {1.0, 1.0000001, 1.2, 1.41421, 1.5, 1.75, 1.9999999}) {
      positive.push_back(static_cast<Real>(std::ldexp(mantissa, exponent)));
    }
  }
  for (int step = 1; step <= 400; ++step) positive.push_back(static_cast<Real>(step) / 16);
  for (const double border : {0.5,
                              1.0,
                              2.0,
                              22.0,
                              60.0,
                              64.0,
                              88.72284,
                              89.0,
                              103.97,
                              127.0,
                              128.0,
                              149.0,
                              150.0,
                              200.0,
                              709.78,
                              710.4,
                              745.13,
                              746.0,
                              1023.0,
                              1024.0,
                              1074.0,
                              1075.0,
                              1.5707963267948966,
                              3.1415926535897931,
                              16777216.0}) {
    const auto at = static_cast<Real>(border);
    for (const Real beside : {at, std::nextafter(at, Real{0}), std::nextafter(at, Limits::infinity())}) positive.push_back(beside);
  }
  std::vector<Real> all = positive;
  for (const Real value : positive) all.push_back(-value);
  all.push_back(Limits::quiet_NaN());
  return all;
}

// What one launch makes of each of the arguments.
template <class Real>
std::vector<Real> computed(const std::function<Value(const Value&, const Value&)>& function, std::vector<Real> x, std::vector<Real> y) {
  const Element element = sizeof(Real) == 8 ? Element::f64 : Element::f32;
  KernelBuilder k("function", {.group_size = 64});
  const Memory in = k.buffer("x", element), other = k.buffer("z", element), out = k.output("y", element);
  const Value n = k.parameter("n", Type::u32), i = k.group_id() * 64U + k.local_id();
  k.when(i < n, [&] { out[i] = function(in[i], other[i]); });
  const Kernel kernel = k.finish();
  std::vector<Real> result(x.size());
  const auto count = static_cast<uint32_t>(x.size());
  launch(kernel, {(count + 63) / 64}, arguments(x, y, result), {count});
  return result;
}

// How many numbers lie between two, of which subnormal ones may count as zero: a device may flush them.
template <class Real>
double ulps_between(Real got, long double want) {
  using Limits = std::numeric_limits<Real>;
  const auto rounded = static_cast<Real>(want);
  if (std::isnan(got) || std::isnan(rounded)) return std::isnan(got) == std::isnan(rounded) ? 0 : HUGE_VAL;
  if (got == rounded) return std::signbit(got) == std::signbit(rounded) ? 0 : HUGE_VAL;
  if (std::isinf(got) || std::isinf(rounded)) {
    // The largest number and infinity are neighbours.
    const Real finite = std::isinf(got) ? rounded : got;
    return std::fabs(finite) >= Limits::max() * (1 - 16 * Limits::epsilon()) && std::signbit(got) == std::signbit(rounded) ? 1 : HUGE_VAL;
  }
  const Real unit = std::max(std::fabs(rounded) * Limits::epsilon(), Limits::denorm_min());
  return static_cast<double>(std::fabs(static_cast<long double>(got) - want) / unit);
}

struct Function {
  const char* name;
  Value (*function)(const Value&);
  long double (*expected)(long double);
  double ulps;  // allowed
};

const Function kFunctions[] = {
    {"floor", kernels::floor, [](long double x) { return std::floor(x); }, 0},
    {"ceil", kernels::ceil, [](long double x) { return std::ceil(x); }, 0},
    {"round", kernels::round, [](long double x) { return std::round(x); }, 0},
    {"sqrt", kernels::sqrt, [](long double x) { return std::sqrt(x); }, 1},
    {"exp", kernels::exp, [](long double x) { return std::exp(x); }, 4},
    {"exp2", kernels::exp2, [](long double x) { return std::exp2(x); }, 4},
    {"expm1", kernels::expm1, [](long double x) { return std::expm1(x); }, 4},
    {"log", kernels::log, [](long double x) { return std::log(x); }, 4},
    {"log2", kernels::log2, [](long double x) { return std::log2(x); }, 4},
    {"log10", kernels::log10, [](long double x) { return std::log10(x); }, 4},
    {"log1p", kernels::log1p, [](long double x) { return std::log1p(x); }, 4},
    {"sin", kernels::sin, [](long double x) { return std::sin(x); }, 4},
    {"cos", kernels::cos, [](long double x) { return std::cos(x); }, 4},
    {"tan", kernels::tan, [](long double x) { return std::tan(x); }, 8},
    {"asin", kernels::asin, [](long double x) { return std::asin(x); }, 4},
    {"acos", kernels::acos, [](long double x) { return std::acos(x); }, 4},
    {"atan", kernels::atan, [](long double x) { return std::atan(x); }, 4},
    {"sinh", kernels::sinh, [](long double x) { return std::sinh(x); }, 8},
    {"cosh", kernels::cosh, [](long double x) { return std::cosh(x); }, 8},
    {"tanh", kernels::tanh, [](long double x) { return std::tanh(x); }, 4},
    {"asinh", kernels::asinh, [](long double x) { return std::asinh(x); }, 8},
    {"acosh", kernels::acosh, [](long double x) { return std::acosh(x); }, 8},
    {"atanh", kernels::atanh, [](long double x) { return std::atanh(x); }, 8},
    {"erf", kernels::erf, [](long double x) { return std::erf(x); }, 8},
    {"sigmoid", kernels::sigmoid, [](long double x) { return 1 / (1 + std::exp(-x)); }, 8},
};

template <class Real>
void expect_as_in_c(const Function& f) {
  const std::vector<Real> x = whole_range<Real>();
  const std::vector<Real> y = computed<Real>([&](const Value& a, const Value& /*b*/) { return f.function(a); }, x, x);
  double worst = 0;
  Real at = 0, got = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double ulps = ulps_between(y[i], f.expected(x[i]));
    if (ulps > worst) worst = ulps, at = x[i], got = y[i];
  }
  EXPECT_LE(worst, f.ulps) << f.name << "(" << at << ") = " << got << ", and C says " << static_cast<Real>(f.expected(at));
}

class MathFunctions : public ::testing::TestWithParam<Function> {};

TEST_P(MathFunctions, AreCsOverTheWholeRangeInF32) { expect_as_in_c<float>(GetParam()); }
TEST_P(MathFunctions, AreCsOverTheWholeRangeInF64) { expect_as_in_c<double>(GetParam()); }

INSTANTIATE_TEST_SUITE_P(All, MathFunctions, ::testing::ValuesIn(kFunctions),
                         [](const auto& entry) { return std::string(entry.param.name); });

// All pairs of some numbers.
template <class Real>
std::pair<std::vector<Real>, std::vector<Real>> pairs(const std::vector<double>& of) {
  std::pair<std::vector<Real>, std::vector<Real>> all;
  for (const double a : of) {
    for (const double b : of) {
      all.first.push_back(static_cast<Real>(a));
      all.second.push_back(static_cast<Real>(b));
    }
  }
  return all;
}

std::vector<double> some_numbers() {
  std::vector<double> numbers = {0,   HUGE_VAL, 1e-40, 1e-20, 0.1,  0.5, 0.75,      1,   1.5,  2,
                                 2.5, 3,        7,     10,    33.3, 100, 12345.678, 1e9, 1e20, 3e38};
  for (size_t i = numbers.size(); i-- > 0;) numbers.push_back(-numbers[i]);
  numbers.push_back(std::nan(""));
  return numbers;
}

struct BinaryFunction {
  const char* name;
  Value (*function)(const Value&, const Value&);
  long double (*expected)(long double, long double);
  double ulps;
};

const BinaryFunction kBinaryFunctions[] = {
    {"fmod", kernels::fmod, [](long double a, long double b) { return std::fmod(a, b); }, 0},
    {"atan2", kernels::atan2, [](long double a, long double b) { return std::atan2(a, b); }, 4},
    // An error of the logarithm's last place times y.
    {"pow", kernels::pow, [](long double a, long double b) { return std::pow(a, b); }, 1500},
};

template <class Real>
void expect_as_in_c(const BinaryFunction& f) {
  const auto [x, y] = pairs<Real>(some_numbers());
  const std::vector<Real> z = computed<Real>([&](const Value& a, const Value& b) { return f.function(a, b); }, x, y);
  for (size_t i = 0; i < x.size(); ++i) {
    const long double want = f.expected(x[i], y[i]);
    EXPECT_LE(ulps_between(z[i], want), f.ulps) << f.name << "(" << x[i] << ", " << y[i] << ") = " << z[i] << ", and C says " << want;
  }
}

TEST(MathFunctionsOfTwo, AreCsForNumbersOfEveryMagnitude) {
  for (const BinaryFunction& f : kBinaryFunctions) {
    expect_as_in_c<float>(f);
    expect_as_in_c<double>(f);
  }
}

}  // namespace
}  // namespace wick::ir
