// Layouts drawn at random: whatever views a tensor went through, a function gives what it gives on a contiguous copy of it.
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "conformance/random.h"
#include "unit/cpu_tensors.h"
#include "wick/base/error.h"
#include "wick/tensor/backward.h"
#include "wick/tensor/ops/normalize.h"
#include "wick/tensor/tensor.h"
#include "wick/tensor/variable.h"

namespace wick {
namespace {

using conformance::Random;

// Whole numbers from -4 to 4: sums and products of a few hundred are exact in f32 in any order.
Tensor whole(const Shape& shape, Random& random, DType dtype) {
  std::vector<float> values(static_cast<size_t>(shape.elements()));
  for (float& value : values) value = static_cast<float>(random.below(9) - 4);
  return Tensor::from_vector(values, shape, kCpu).to_dtype(dtype);
}

Shape random_shape(Random& random) {
  std::vector<int64_t> dims(static_cast<size_t>(random.below(5)));
  for (int64_t& extent : dims) extent = random.below(12) == 0 ? 0 : 1 + random.below(5);
  return Shape(std::span<const int64_t>(dims));
}

Tensor random_view(const Tensor& x, Random& random) {
  const int rank = x.rank();
  if (rank == 0) return x.unsqueeze(0).broadcast_to({1 + random.below(4)});
  const int dim = static_cast<int>(random.below(rank));
  const int64_t extent = x.shape()[dim];
  switch (random.below(8)) {
    case 0: return x.transpose(dim, static_cast<int>(random.below(rank)));
    case 1: {
      const int64_t start = random.below(extent + 1);
      return x.narrow(dim, start, random.below(extent - start + 1));
    }
    case 2: return x.flip(dim);
    case 3: return rank < 6 ? x.unsqueeze(dim) : x;
    case 4: {
      std::vector<int64_t> dims(x.dims().begin(), x.dims().end());
      if (dims[static_cast<size_t>(dim)] == 1) dims[static_cast<size_t>(dim)] = 1 + random.below(3);
      return x.broadcast_to(Shape(std::span<const int64_t>(dims)));
    }
    case 5: return extent > 0 ? x.stride_slice(dim, random.below(2) % extent, (extent + 1) / 2 - (extent % 2), 2) : x;
    case 6: return extent == 1 ? x.squeeze(dim) : x;
    default: return rank < 6 && extent > 1 ? x.unfold(dim, 2, 1) : x;
  }
}

Tensor random_tensor(Random& random, DType dtype) {
  Tensor x = whole(random_shape(random), random, dtype);
  const int64_t steps = random.below(6);
  for (int64_t step = 0; step < steps && x.elements() < 2000; ++step) x = random_view(x, random);
  return x;
}

struct Function {
  std::string name;
  std::function<Tensor(const Tensor&)> run;
};

std::vector<Function> functions(int rank) {
  std::vector<Function> list = {
      {"neg", [](const Tensor& x) { return x.neg(); }},
      {"affine", [](const Tensor& x) { return x.affine(2, 1); }},
      {"add", [](const Tensor& x) { return x + x; }},
      {"lt", [](const Tensor& x) { return x.lt(x.abs()); }},
      {"where_cond", [](const Tensor& x) { return x.gt(0.0).where_cond(x, x.neg()); }},
      {"to f64", [](const Tensor& x) { return x.to_dtype(DType::f64); }},
      {"to i8", [](const Tensor& x) { return x.to_dtype(DType::i8); }},
      {"to i16", [](const Tensor& x) { return x.to_dtype(DType::i16); }},
      {"sum_all", [](const Tensor& x) { return x.sum_all(); }},
      {"flatten", [](const Tensor& x) { return x.flatten_all(); }},
      {"copy", [](const Tensor& x) { return x.copy(); }},
  };
  for (int dim = 0; dim < rank; ++dim) {
    const std::string along = " along " + std::to_string(dim);
    list.push_back({"sum" + along, [dim](const Tensor& x) { return x.sum(dim); }});
    list.push_back({"max" + along, [dim](const Tensor& x) { return x.shape()[dim] > 0 ? x.max_keepdim(dim) : x; }});
    list.push_back({"argmin" + along, [dim](const Tensor& x) { return x.shape()[dim] > 0 ? x.argmin(dim) : x; }});
    list.push_back({"cat" + along, [dim](const Tensor& x) { return Tensor::cat({x, x}, dim); }});
    list.push_back({"roll" + along, [dim](const Tensor& x) { return x.roll(1, dim); }});
    list.push_back({"pad" + along, [dim](const Tensor& x) { return x.pad_with_zeros(dim, 1, 2); }});
    list.push_back({"add a slice" + along, [dim](const Tensor& x) { return x.shape()[dim] > 0 ? x + x.narrow(dim, 0, 1) : x; }});
    list.push_back({"index_select" + along, [dim](const Tensor& x) {
                      const int64_t last = x.shape()[dim] - 1;
                      return last >= 0 ? x.index_select(Tensor::from_vector(std::vector<int64_t>{last, 0}, {2}, kCpu), dim) : x;
                    }});
    list.push_back(
        {"gather" + along, [dim](const Tensor& x) { return x.shape()[dim] > 0 ? x.gather(x.zeros_like().to_dtype(DType::u32), dim) : x; }});
    list.push_back({"index_add" + along, [dim](const Tensor& x) {
                      const int64_t extent = x.shape()[dim];
                      return extent > 0 ? x.index_add(Tensor::zeros({extent}, DType::u32, kCpu), x, dim) : x;
                    }});
  }
  if (rank >= 2) {
    list.push_back({"matmul", [](const Tensor& x) { return is_float(x.dtype()) ? x.matmul(x.transpose(-2, -1)) : x; }});
    list.push_back({"matmul of the first", [](const Tensor& x) { return is_float(x.dtype()) ? x.transpose(-2, -1).matmul(x) : x; }});
  }
  return list;
}

std::string seen(const Tensor& x) {
  std::string text = x.describe() + " with strides";
  for (const int64_t stride : x.layout().strides()) text += " " + std::to_string(stride);
  return text;
}

TEST(AnyLayout, FunctionsGiveWhatTheyGiveOnACopy) {
  Random random(20260);
  for (int round = 0; round < 1500; ++round) {
    const DType dtype =
        std::vector<DType>{DType::f32, DType::f64, DType::i64, DType::i32, DType::f16}[static_cast<size_t>(random.below(5))];
    const Tensor view = random_tensor(random, dtype);
    const Tensor plain = view.copy();
    for (const Function& function : functions(view.rank())) {
      const Tensor found = function.run(view);
      const Tensor expected = function.run(plain);
      ASSERT_EQ(found.shape(), expected.shape()) << function.name << " of " << seen(view);
      ASSERT_EQ(found.to_vector<double>(), expected.to_vector<double>()) << function.name << " of " << seen(view);
    }
  }
}

TEST(AnyLayout, RowFunctionsGiveWhatTheyGiveOnACopy) {
  Random random(777);
  for (int round = 0; round < 400; ++round) {
    const Tensor view = random_tensor(random, DType::f64);
    const Tensor plain = view.copy();
    for (int dim = 0; dim < view.rank(); ++dim) {
      const std::vector<double> found = softmax(view, dim).to_vector<double>();
      const std::vector<double> expected = softmax(plain, dim).to_vector<double>();
      for (size_t i = 0; i < found.size(); ++i) ASSERT_NEAR(found[i], expected[i], 1e-14) << seen(view);
    }
  }
}

// Gradients through a random chain of views: each element of the base counts once for each place where the view shows it.
TEST(AnyLayout, GradientsCountHowOftenAnElementIsSeen) {
  Random random(4242);
  for (int round = 0; round < 600; ++round) {
    const Shape shape = random_shape(random);
    const Var base = Var::from_tensor(Tensor::arange(0, static_cast<double>(shape.elements()), DType::f64, kCpu).reshape(shape));
    Tensor view = base.tensor();
    const int64_t steps = random.below(6);
    for (int64_t step = 0; step < steps && view.elements() < 2000; ++step) view = random_view(view, random);
    std::vector<double> expected(static_cast<size_t>(shape.elements()));
    for (const double place : view.detach().to_vector<double>()) expected[static_cast<size_t>(place)] += 1;
    ASSERT_EQ(backward(view * 1.0).get(base)->to_vector<double>(), expected) << seen(view);
  }
}

}  // namespace
}  // namespace wick
