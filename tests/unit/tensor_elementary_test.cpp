// Elementary functions and divisions against values of mpmath 1.3 (50 digits), NumPy 2.4 and whole-number arithmetic, on every device that
// computes: the CPU's loops, the reference loops and the kernels.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "unit/host_devices.h"
#include "wick/base/error.h"
#include "wick/tensor/ops/binary.h"
#include "wick/tensor/ops/dispatch.h"
#include "wick/tensor/ops/unary.h"

namespace wick {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

struct Points {
  UnaryKind kind;
  std::vector<double> x;
  std::vector<double> y;
};

const std::vector<Points>& values() {
  static const std::vector<Points> table = {
      {UnaryKind::tan,
       {-3.0, -1.5, -0.5, 0.0078125, 0.75, 1.25, 2.5, 100.0},
       {0.1425465430742778, -14.101419947171719, -0.5463024898437905, 0.007812658949600008, 0.9315964599440725, 3.0095696738628313,
        -0.7470222972386603, -0.5872139151569291}},
      {UnaryKind::asin,
       {-1.0, -0.9375, -0.5, 0.0078125, 0.25, 0.75, 0.999755859375, 1.0},
       {-1.5707963267948966, -1.2153751251046732, -0.5235987755982989, 0.007812579475042568, 0.25268025514207865, 0.848062078981481,
        1.5486987902917357, 1.5707963267948966}},
      {UnaryKind::acos,
       {-1.0, -0.9375, -0.5, 0.0078125, 0.25, 0.75, 0.999755859375, 1.0},
       {3.141592653589793, 2.7861714518995697, 2.0943951023931957, 1.562983747319854, 1.318116071652818, 0.7227342478134157,
        0.02209753650316094, 0.0}},
      {UnaryKind::atan,
       {-1000.0, -2.0, -0.5, 0.0078125, 0.375, 1.0, 3.5, 65536.0},
       {-1.5697963271282298, -1.1071487177940904, -0.4636476090008061, 0.007812341060101111, 0.35877067027057225, 0.7853981633974483,
        1.2924966677897853, 1.5707810680058354}},
      {UnaryKind::sinh,
       {-20.0, -1.5, -0.125, 0.0078125, 0.75, 3.0, 12.5, 40.0},
       {-242582597.70489514, -2.1292794550948173, -0.12532577524111546, 0.007812579473102233, 0.82231673193583, 10.017874927409903,
        134168.6432585739, 1.1769263341851e+17}},
      {UnaryKind::cosh,
       {-20.0, -1.5, -0.125, 0.0078125, 0.75, 3.0, 12.5, 40.0},
       {242582597.70489514, 2.352409615243247, 1.0078226778257109, 1.0000305177333457, 1.2946832846768448, 10.067661995777765,
        134168.64326230055, 1.1769263341851e+17}},
      {UnaryKind::asinh,
       {-65536.0, -20.0, -1.5, 0.0078125, 0.75, 3.0, 12.5, 1048576.0},
       {-11.783502069577278, -3.6895038689889055, -1.1947632172871092, 0.007812420529323008, 0.6931471805599453, 1.8184464592320668,
        3.220471998464453, 14.556090791759079}},
      {UnaryKind::acosh,
       {1.0, 1.0078125, 1.25, 2.0, 10.0, 1000.0, 65536.0, 1048576.0},
       {0.0, 0.12491876251108061, 0.6931471805599453, 1.3169578969248168, 2.993222846126381, 7.600902209541989, 11.783502069460862,
        14.556090791758624}},
      {UnaryKind::atanh,
       {-0.9375, -0.5, -0.0078125, 0.0078125, 0.25, 0.75, 0.96875, 0.999755859375},
       {-1.7169936022425731, -0.5493061443340549, -0.007812658951540421, 0.007812658951540421, 0.25541281188299536, 0.9729550745276566,
        2.0715673631957663, 4.505395634757801}},
      {UnaryKind::exp2,
       {-20.5, -3.0, -0.25, 0.0078125, 0.5, 1.75, 10.0, 30.25},
       {6.743495761743046e-07, 0.125, 0.8408964152537145, 1.0054299011128027, 1.4142135623730951, 3.363585661014858, 1024.0,
        1276901416.7767994}},
      {UnaryKind::expm1,
       {-20.0, -1.5, -0.125, 0.0078125, 0.75, 3.0, 12.5, 40.0},
       {-0.9999999979388464, -0.7768698398515702, -0.1175030974154046, 0.007843097206447977, 1.1170000166126746, 19.085536923187668,
        268336.2865208745, 2.3538526683702e+17}},
      {UnaryKind::log2,
       {0.0078125, 0.375, 0.96875, 1.0, 1.03125, 3.0, 1024.0, 1000000.0},
       {-7.0, -1.415037499278844, -0.04580368961312479, 0.0, 0.044394119358453436, 1.584962500721156, 10.0, 19.931568569324174}},
      {UnaryKind::log10,
       {0.0078125, 0.375, 0.96875, 1.0, 1.03125, 3.0, 1000.0, 1000000.0},
       {-2.1072099696478683, -0.42596873227228116, -0.013788284485633297, 0.0, 0.013363961557981502, 0.47712125471966244, 3.0, 6.0}},
      {UnaryKind::log1p,
       {-0.9375, -0.5, -0.0078125, 0.0078125, 0.25, 0.75, 100.0, 1000000.0},
       {-2.772588722239781, -0.6931471805599453, -0.007843177461025893, 0.007782140442054949, 0.22314355131420976, 0.5596157879354227,
        4.61512051684126, 13.815511557963774}},
  };
  return table;
}

double relative_error(double found, double expected) {
  return expected == 0 ? std::fabs(found) : std::fabs(found - expected) / std::fabs(expected);
}

TEST(Elementary, FunctionsHaveTheirValues) {
  for (const Device& device : host_devices()) {
    for (const DType dtype : {DType::f64, DType::f32, DType::f16, DType::bf16}) {
      if (support(device, OpId::unary, dtype) == Support::none) continue;
      // e^40 by a kernel in f32: the exponent's error counts 40 times.
      const double allowed = dtype == DType::f64 ? 1e-13 : dtype == DType::f32 ? 2e-5 : dtype == DType::f16 ? 1.2e-3 : 9e-3;
      for (const Points& row : values()) {
        SCOPED_TRACE(fmt::format("{} {} {}", to_string(row.kind), to_string(dtype), device.location().to_string()));
        const Tensor exact = Tensor::from_vector(row.x, {static_cast<int64_t>(row.x.size())}, device);
        const std::vector<double> y = unary({.kind = row.kind}, exact.to_dtype(dtype)).to_vector<double>();
        for (size_t i = 0; i < y.size(); ++i) {
          const bool representable = exact.to_dtype(dtype).to_vector<double>()[i] == row.x[i];
          const bool normal = dtype != DType::f16 || row.y[i] == 0 || (std::fabs(row.y[i]) > 0x1p-14 && std::fabs(row.y[i]) < 65000);
          if (!representable || !normal) continue;
          EXPECT_LE(relative_error(y[i], row.y[i]), allowed) << "x = " << row.x[i] << ": " << y[i] << ", not " << row.y[i];
        }
      }
    }
  }
}

TEST(Elementary, PowersOfTwoHaveWholeLogarithms) {
  for (const Device& device : host_devices()) {
    const Tensor x = Tensor::of<float>({0.125F, 0.5F, 1, 2, 1024, 0x1p100F, 0x1p-126F}, device);
    EXPECT_EQ(x.log2().to_vec1<float>(), (std::vector<float>{-3, -1, 0, 1, 10, 100, -126})) << device.location().to_string();
  }
}

TEST(Elementary, AtTheEndsOfTheirDomains) {
  for (const Device& device : host_devices()) {
    SCOPED_TRACE(device.location().to_string());
    const auto at = [&](UnaryKind kind, double x) { return unary({.kind = kind}, Tensor::full({1}, x, DType::f32, device)).item(); };
    for (const UnaryKind kind : {UnaryKind::asin, UnaryKind::acos, UnaryKind::atanh}) EXPECT_TRUE(std::isnan(at(kind, 1.5)));
    EXPECT_TRUE(std::isnan(at(UnaryKind::acosh, 0.5)));
    EXPECT_TRUE(std::isnan(at(UnaryKind::log1p, -2)));
    EXPECT_TRUE(std::isnan(at(UnaryKind::log2, -1)));
    EXPECT_EQ(at(UnaryKind::atanh, 1), kInfinity);
    EXPECT_EQ(at(UnaryKind::atanh, -1), -kInfinity);
    EXPECT_EQ(at(UnaryKind::log1p, -1), -kInfinity);
    EXPECT_EQ(at(UnaryKind::log10, 0), -kInfinity);
    EXPECT_EQ(at(UnaryKind::expm1, -kInfinity), -1);
    EXPECT_EQ(at(UnaryKind::exp2, -kInfinity), 0);
    EXPECT_EQ(at(UnaryKind::sinh, -kInfinity), -kInfinity);
    EXPECT_EQ(at(UnaryKind::cosh, -kInfinity), kInfinity);
    EXPECT_FLOAT_EQ(static_cast<float>(at(UnaryKind::atan, kInfinity)), 1.5707964F);
    for (const UnaryInfo& row : kUnaryKinds) {
      EXPECT_TRUE(row.kind == UnaryKind::powf || std::isnan(at(row.kind, kNaN))) << row.name;
    }
  }
}

TEST(Elementary, TruncGoesTowardZero) {
  for (const Device& device : host_devices()) {
    const Tensor x = Tensor::of<float>({-1.5F, -0.5F, 0.75F, 2, 8388609}, device);
    EXPECT_EQ(x.trunc().to_vec1<float>(), (std::vector<float>{-1, 0, 0, 2, 8388609}));
    const Tensor whole = Tensor::of<int64_t>({(int64_t{1} << 62) + 1, -5}, device);
    EXPECT_EQ(whole.trunc().to_vec1<int64_t>(), whole.to_vec1<int64_t>());
  }
}

// NumPy's values. f64 numbers: quotients of f32 would be others.
TEST(Divisions, OfFloatsAreThoseOfNumPy) {
  struct Row {
    double divisor;
    std::vector<double> fmod, remainder, floor_divide;
  };
  const std::vector<double> x = {-7.5, -3, -0.75, 5.25, 1e10, 7};
  const std::vector<Row> rows = {
      {2, {-1.5, -1, -0.75, 1.25, 0, 1}, {0.5, 1, 1.25, 1.25, 0, 1}, {-4, -2, -1, 2, 5e9, 3}},
      {-2, {-1.5, -1, -0.75, 1.25, 0, 1}, {-1.5, -1, -0.75, -0.75, 0, -1}, {3, 1, 0, -3, -5e9, -4}},
      {0.375, {0, 0, 0, 0, 0.25, 0.25}, {0, 0, 0, 0, 0.25, 0.25}, {-20, -8, -2, 14, 26666666666, 18}},
  };
  for (const Device& device : host_devices()) {
    for (const DType dtype : {DType::f64, DType::f32}) {
      if (support(device, OpId::binary, dtype) == Support::none) continue;
      const Tensor lhs = Tensor::from_vector(x, {6}, device).to_dtype(dtype);
      for (const Row& row : rows) {
        SCOPED_TRACE(fmt::format("{} {} {}", row.divisor, to_string(dtype), device.location().to_string()));
        EXPECT_EQ(lhs.fmod(row.divisor).to_vector<double>(), row.fmod);
        EXPECT_EQ(lhs.remainder(row.divisor).to_vector<double>(), row.remainder);
        const std::vector<double> quotients = lhs.floor_divide(row.divisor).to_vector<double>();
        for (size_t i = 0; i < x.size(); ++i) EXPECT_EQ(static_cast<float>(quotients[i]), static_cast<float>(row.floor_divide[i])) << x[i];
      }
    }
  }
}

TEST(Divisions, OfFloatsByZeroAndInfinity) {
  for (const Device& device : host_devices()) {
    SCOPED_TRACE(device.location().to_string());
    const Tensor x = Tensor::of<float>({5, -5, 0, static_cast<float>(kInfinity)}, device);
    for (const double value : x.fmod(0).to_vector<double>()) EXPECT_TRUE(std::isnan(value));
    EXPECT_EQ(x.narrow(0, 0, 3).fmod(kInfinity).to_vec1<float>(), (std::vector<float>{5, -5, 0}));
    EXPECT_EQ(x.narrow(0, 0, 3).remainder(kInfinity).to_vec1<float>(), (std::vector<float>{5, static_cast<float>(kInfinity), 0}));
    EXPECT_EQ(x.narrow(0, 0, 2).floor_divide(0).to_vector<double>(), (std::vector<double>{kInfinity, -kInfinity}));
    EXPECT_EQ(x.narrow(0, 0, 3).floor_divide(kInfinity).to_vec1<float>(), (std::vector<float>{0, -1, 0}));
  }
}

TEST(Divisions, OfIntegersAreExactBeyond53Bits) {
  struct Row {
    int64_t lhs, rhs, fmod, remainder, quotient;
  };
  const std::vector<Row> rows = {
      {4611686018427387907LL, 7LL, 0LL, 0LL, 658812288346769701LL},
      {4611686018427387907LL, -10LL, 7LL, -3LL, -461168601842738791LL},
      {4611686018427387907LL, 9007199254740991LL, 515LL, 515LL, 512LL},
      {-4611686018427387909LL, 7LL, -2LL, 5LL, -658812288346769702LL},
      {-4611686018427387909LL, -10LL, -9LL, -9LL, 461168601842738790LL},
      {-4611686018427387909LL, 9007199254740991LL, -517LL, 9007199254740474LL, -513LL},
      {9007199254740993LL, 7LL, 5LL, 5LL, 1286742750677284LL},
      {9007199254740993LL, -10LL, 3LL, -7LL, -900719925474100LL},
      {9007199254740993LL, 9007199254740991LL, 2LL, 2LL, 1LL},
      {std::numeric_limits<int64_t>::min(), 7LL, -1LL, 6LL, -1317624576693539402LL},
      {std::numeric_limits<int64_t>::min(), -10LL, -8LL, -8LL, 922337203685477580LL},
      {std::numeric_limits<int64_t>::min(), 9007199254740991LL, -1024LL, 9007199254739967LL, -1025LL},
      {std::numeric_limits<int64_t>::min(), -1, 0, 0, std::numeric_limits<int64_t>::min()},
      {-7, 0, 0, 0, 0},
  };
  for (const Device& device : host_devices()) {
    for (const Row& row : rows) {
      const Tensor lhs = Tensor::of<int64_t>({row.lhs}, device), rhs = Tensor::of<int64_t>({row.rhs}, device);
      SCOPED_TRACE(fmt::format("{} by {} on {}", row.lhs, row.rhs, device.location().to_string()));
      EXPECT_EQ(lhs.fmod(rhs).to_vec1<int64_t>().front(), row.fmod);
      EXPECT_EQ(lhs.remainder(rhs).to_vec1<int64_t>().front(), row.remainder);
      EXPECT_EQ(lhs.floor_divide(rhs).to_vec1<int64_t>().front(), row.quotient);
    }
  }
}

TEST(Divisions, OfEachIntegerDTypeAreThoseOfWholeNumbers) {
  for (const Device& device : host_devices()) {
    for (const DType dtype : {DType::u8, DType::i8, DType::i16, DType::i32, DType::u32}) {
      const bool is_signed = dtype != DType::u8 && dtype != DType::u32;
      const std::vector<int64_t> numbers =
          is_signed ? std::vector<int64_t>{-128, -100, -7, -1, 0, 1, 3, 10, 127} : std::vector<int64_t>{0, 1, 3, 7, 10, 200, 255};
      for (const int64_t a : numbers) {
        for (const int64_t b : numbers) {
          if (b == 0 || (a == -128 && b == -1)) continue;
          const Tensor lhs = Tensor::full({1}, static_cast<double>(a), dtype, device),
                       rhs = Tensor::full({1}, static_cast<double>(b), dtype, device);
          const auto floored = static_cast<int64_t>(std::floor(static_cast<double>(a) / static_cast<double>(b)));
          SCOPED_TRACE(fmt::format("{} by {} of {} on {}", a, b, to_string(dtype), device.location().to_string()));
          EXPECT_EQ(lhs.fmod(rhs).to_vector<int64_t>().front(), a % b);
          EXPECT_EQ(lhs.remainder(rhs).to_vector<int64_t>().front(), a - b * floored);
          EXPECT_EQ(lhs.floor_divide(rhs).to_vector<int64_t>().front(), floored);
        }
      }
    }
  }
}

TEST(Atan2, KnowsQuadrantsSignedZerosAndInfinities) {
  const double pi = 3.141592653589793;
  const auto f = [](double x) { return static_cast<float>(x); };
  for (const Device& device : host_devices()) {
    SCOPED_TRACE(device.location().to_string());
    const Tensor y = Tensor::of<float>({0, -0.0F, 1, -1, 3, f(kInfinity), f(-kInfinity), 2, 0, -0.0F}, device);
    const Tensor x = Tensor::of<float>({-1, -1, -1, 0, 4, f(kInfinity), f(-kInfinity), f(-kInfinity), 0, -0.0F}, device);
    const std::vector<double> expected = {pi, -pi, 2.356194490192345, -pi / 2, 0.6435011087932844, pi / 4, -2.356194490192345, pi, 0, -pi};
    const std::vector<double> found = y.atan2(x).to_vector<double>();
    for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-6) << i;
  }
}

TEST(Elementary, IntegersAreRefusedByName) {
  const Tensor x = Tensor::of<int32_t>({1, 2}, Device::cpu());
  for (const UnaryInfo& row : kUnaryKinds) {
    if (row.domain == Domain::numbers) continue;
    try {
      (void)unary({.kind = row.kind, .a = 1}, x);
      FAIL() << row.name;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::unsupported);
      EXPECT_EQ(std::string_view(error.what()).substr(0, row.name.size()), row.name);
    }
  }
  EXPECT_THROW((void)x.atan2(x), Error);
}

}  // namespace
}  // namespace wick
