// Tensors large enough to be split over threads and vectors, with odd extents, on whole numbers that every dtype here holds exactly:
// each element must be what plain loops over its index say.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "unit/cpu_tensors.h"
#include "wick/tensor/tensor.h"

namespace wick {
namespace {

constexpr int64_t kPlanes = 7;
constexpr int64_t kHeight = 211;
constexpr int64_t kWidth = 133;  // 196,441 elements
constexpr int64_t kCount = kPlanes * kHeight * kWidth;

// 0 … 12 without a pattern along any dimension.
double element(int64_t p, int64_t r, int64_t c) { return static_cast<double>((p * 5 + r * r + 3 * c + p * r * c) % 13); }

struct View {
  std::string name;
  Tensor tensor;  // [kPlanes, kHeight, kWidth]
};

std::vector<double> numbers() {
  std::vector<double> values;
  values.reserve(kCount);
  for (int64_t p = 0; p < kPlanes; ++p) {
    for (int64_t r = 0; r < kHeight; ++r) {
      for (int64_t c = 0; c < kWidth; ++c) values.push_back(element(p, r, c));
    }
  }
  return values;
}

// The same elements, stored in several ways.
std::vector<View> views(DType dtype) {
  const Tensor plain = Tensor::from_vector(numbers(), {kPlanes, kHeight, kWidth}, kCpu).to_dtype(dtype);
  const Tensor wide = Tensor::full({kPlanes, kHeight + 2, kWidth + 3}, 1, dtype, kCpu);
  const Tensor window = wide.narrow(1, 1, kHeight).narrow(2, 2, kWidth);
  for (int64_t p = 0; p < kPlanes; ++p) window.narrow(0, p, 1).slice_set(plain.narrow(0, p, 1), 0, 0);
  return {{"plain", plain},
          {"columns first", plain.transpose(1, 2).copy().transpose(1, 2)},
          {"planes last", plain.permute({1, 2, 0}).copy().permute({2, 0, 1})},
          {"flipped", plain.flip({0, 2}).copy().flip({0, 2})},
          {"window", window}};
}

constexpr DType kDTypes[] = {DType::f32, DType::f64, DType::bf16, DType::f16, DType::u8, DType::i16, DType::i32, DType::u32, DType::i64};

void expect_equal(const Tensor& found, const std::function<double(int64_t, int64_t, int64_t)>& expected, const std::string& what) {
  ASSERT_EQ(found.shape(), Shape({kPlanes, kHeight, kWidth})) << what;
  const std::vector<double> values = found.to_vector<double>();
  size_t at = 0;
  for (int64_t p = 0; p < kPlanes; ++p) {
    for (int64_t r = 0; r < kHeight; ++r) {
      for (int64_t c = 0; c < kWidth; ++c, ++at) {
        ASSERT_EQ(values[at], expected(p, r, c)) << what << " at [" << p << ", " << r << ", " << c << "]";
      }
    }
  }
}

void for_each_view(const std::function<void(const Tensor&, const std::string&)>& body) {
  for (const DType dtype : kDTypes) {
    for (const View& view : views(dtype)) body(view.tensor, std::string(to_string(dtype)) + ", " + view.name);
  }
}

TEST(Large, FunctionsOfOneElement) {
  for_each_view([](const Tensor& x, const std::string& name) {
    expect_equal(x.sqr(), [](auto p, auto r, auto c) { return element(p, r, c) * element(p, r, c); }, "sqr " + name);
    expect_equal(x.affine(3, 2), [](auto p, auto r, auto c) { return 3 * element(p, r, c) + 2; }, "affine " + name);
    expect_equal(x.clamp(2, 9), [](auto p, auto r, auto c) { return std::clamp(element(p, r, c), 2.0, 9.0); }, "clamp " + name);
  });
}

TEST(Large, OperandsBroadcastAlongAnyDimension) {
  for_each_view([](const Tensor& x, const std::string& name) {
    expect_equal(x + x.narrow(1, 3, 1), [](auto p, auto r, auto c) { return element(p, r, c) + element(p, 3, c); }, "add a row " + name);
    expect_equal(x.narrow(2, 5, 1) * x, [](auto p, auto r, auto c) { return element(p, r, 5) * element(p, r, c); }, "mul a column " + name);
    expect_equal(
        x.maximum(x.narrow(0, 1, 1)), [](auto p, auto r, auto c) { return std::max(element(p, r, c), element(1, r, c)); },
        "maximum with a plane " + name);
    expect_equal(
        x.minimum(x.narrow(0, 0, 1).narrow(1, 2, 1).narrow(2, 4, 1)),
        [](auto p, auto r, auto c) { return std::min(element(p, r, c), element(0, 2, 4)); }, "minimum with a number " + name);
  });
}

TEST(Large, ComparisonsAndChoices) {
  for_each_view([](const Tensor& x, const std::string& name) {
    const Tensor row = x.narrow(1, 7, 1);
    expect_equal(x.lt(row), [](auto p, auto r, auto c) { return element(p, r, c) < element(p, 7, c) ? 1.0 : 0.0; }, "lt " + name);
    expect_equal(x.eq(row), [](auto p, auto r, auto c) { return element(p, r, c) == element(p, 7, c) ? 1.0 : 0.0; }, "eq " + name);
    expect_equal(
        x.gt(row).where_cond(x, row), [](auto p, auto r, auto c) { return std::max(element(p, r, c), element(p, 7, c)); },
        "where_cond " + name);
  });
}

TEST(Large, ConversionsBetweenAllDTypes) {
  for_each_view([](const Tensor& x, const std::string& name) {
    for (const DType target : kDTypes) expect_equal(x.to_dtype(target), element, "to " + std::string(to_string(target)) + " from " + name);
  });
}

// Sums of 0 … 12 over up to 211 elements are below 2^12: bf16 (8 bits) and u8 do not hold all of them, and are left out.
TEST(Large, ReductionsOverEachDimension) {
  for_each_view([](const Tensor& x, const std::string& name) {
    const int64_t extents[] = {kPlanes, kHeight, kWidth};
    for (int dim = 0; dim < 3; ++dim) {
      const auto along = [&](int64_t p, int64_t r, int64_t c, int64_t i) {
        return dim == 0 ? element(i, r, c) : dim == 1 ? element(p, i, c) : element(p, r, i);
      };
      const auto fold = [&](const std::function<double(double, double)>& combine, double start) {
        return [=](int64_t p, int64_t r, int64_t c) {
          double value = start;
          for (int64_t i = 0; i < extents[dim]; ++i) value = combine(value, along(p, r, c, i));
          return value;
        };
      };
      const std::string where = " over " + std::to_string(dim) + " of " + name;
      const auto check = [&](const Tensor& kept, const std::function<double(int64_t, int64_t, int64_t)>& expected,
                             const std::string& what) {
        const std::vector<double> values = kept.to_vector<double>();
        size_t at = 0;
        for (int64_t p = 0; p < (dim == 0 ? 1 : kPlanes); ++p) {
          for (int64_t r = 0; r < (dim == 1 ? 1 : kHeight); ++r) {
            for (int64_t c = 0; c < (dim == 2 ? 1 : kWidth); ++c, ++at)
              ASSERT_EQ(values[at], expected(p, r, c)) << what << where << " at " << at;
          }
        }
      };
      check(x.max_keepdim(dim), fold([](double a, double b) { return std::max(a, b); }, 0), "max");
      check(x.min_keepdim(dim), fold([](double a, double b) { return std::min(a, b); }, 99), "min");
      if (x.dtype() == DType::bf16 || x.dtype() == DType::u8) continue;
      if (x.dtype() == DType::f16 && dim != 0) continue;  // beyond 2^11
      check(x.sum_keepdim(dim), fold([](double a, double b) { return a + b; }, 0), "sum");
    }
  });
}

TEST(Large, SumOfEverything) {
  double expected = 0;
  for (const double value : numbers()) expected += value;
  for (const DType dtype : {DType::f32, DType::f64, DType::i32, DType::u32, DType::i64}) {
    for (const View& view : views(dtype)) EXPECT_EQ(view.tensor.sum_all().item(), expected) << to_string(dtype) << ", " << view.name;
  }
}

TEST(Large, FirstOfEqualExtremesWins) {
  for (const View& view : views(DType::f32)) {
    const std::vector<uint32_t> places = view.tensor.argmax(1).to_vector<uint32_t>();
    for (int64_t p = 0; p < kPlanes; ++p) {
      for (int64_t c = 0; c < kWidth; ++c) {
        int64_t best = 0;
        for (int64_t r = 1; r < kHeight; ++r) best = element(p, r, c) > element(p, best, c) ? r : best;
        ASSERT_EQ(places[static_cast<size_t>(p * kWidth + c)], best) << view.name;
      }
    }
  }
}

TEST(Large, SelectionsByIndex) {
  const std::vector<int64_t> order = {200, 3, 3, 0, 210, 77};
  const Tensor ids = Tensor::from_vector(order, {static_cast<int64_t>(order.size())}, kCpu);
  for_each_view([&](const Tensor& x, const std::string& name) {
    const std::vector<double> found = x.index_select(ids, 1).to_vector<double>();
    size_t at = 0;
    for (int64_t p = 0; p < kPlanes; ++p) {
      for (const int64_t r : order) {
        for (int64_t c = 0; c < kWidth; ++c, ++at) ASSERT_EQ(found[at], element(p, r, c)) << name;
      }
    }
  });
}

TEST(Large, ProductsOfMatrices) {
  const std::vector<double> all = numbers();
  std::vector<double> expected(static_cast<size_t>(kPlanes * kHeight * kHeight));
  for (int64_t p = 0; p < kPlanes; ++p) {
    for (int64_t i = 0; i < kHeight; ++i) {
      for (int64_t j = 0; j < kHeight; ++j) {
        double sum = 0;
        for (int64_t c = 0; c < kWidth; ++c) {
          sum += all[static_cast<size_t>((p * kHeight + i) * kWidth + c)] * all[static_cast<size_t>((p * kHeight + j) * kWidth + c)];
        }
        expected[static_cast<size_t>((p * kHeight + i) * kHeight + j)] = sum;  // at most 133 · 144: exact in f32
      }
    }
  }
  for (const DType dtype : {DType::f32, DType::f64}) {
    for (const View& a : views(dtype)) {
      for (const View& b : views(dtype)) {
        EXPECT_EQ(a.tensor.matmul(b.tensor.transpose(1, 2)).to_vector<double>(), expected) << a.name << " by " << b.name;
      }
    }
  }
}

// Were they summed in their own precision, bf16 would stop at 256 and f16 at infinity.
TEST(Large, NarrowFloatsAreSummedInSinglePrecision) {
  EXPECT_EQ(Tensor::ones({4096}, DType::bf16, kCpu).sum(0).item(), 4096);
  EXPECT_EQ(Tensor::ones({70000}, DType::f16, kCpu).mean(0).item(), 1);
  EXPECT_EQ(Tensor::ones({1, 4096}, DType::bf16, kCpu).matmul(Tensor::ones({4096, 1}, DType::bf16, kCpu)).item(), 4096);
  EXPECT_EQ(Tensor::ones({3, 4096}, DType::bf16, kCpu).t().sum(0).narrow(0, 2, 1).item(), 4096);
}

}  // namespace
}  // namespace wick
