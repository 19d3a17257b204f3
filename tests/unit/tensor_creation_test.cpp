// Tensors from numbers alone and from others side by side: values by exact arithmetic, gradients as adjoints.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "unit/cpu_tensors.h"
#include "unit/linear_function.h"
#include "unit/message_of.h"
#include "wick/base/error.h"
#include "wick/tensor/tensor.h"

namespace wick {
namespace {

constexpr std::array kPlain = {DType::u8,   DType::u32, DType::i8,  DType::i16, DType::i32,   DType::i64,
                               DType::bf16, DType::f16, DType::f32, DType::f64, DType::f8e4m3};

using Values = std::vector<double>;

TEST(Creation, EyeAndTrianglesHoldInEveryDtype) {
  for (const DType dtype : kPlain) {
    EXPECT_EQ(values_of(Tensor::eye(3, dtype, kCpu)), (Values{1, 0, 0, 0, 1, 0, 0, 0, 1}));
    EXPECT_EQ(values_of(Tensor::tril2(3, dtype, kCpu)), (Values{1, 0, 0, 1, 1, 0, 1, 1, 1}));
    EXPECT_EQ(values_of(Tensor::triu2(3, dtype, kCpu)), (Values{1, 1, 1, 0, 1, 1, 0, 0, 1}));
    EXPECT_EQ(Tensor::eye(2, dtype, kCpu).dtype(), dtype);
    EXPECT_EQ(Tensor::triu2(2, dtype, kCpu).dtype(), dtype);
  }
  EXPECT_EQ(Tensor::eye(0, DType::f32, kCpu).shape(), (Shape{0, 0}));
  EXPECT_EQ(Tensor::tril2(0, DType::f32, kCpu).shape(), (Shape{0, 0}));
  EXPECT_EQ(values_of(Tensor::eye(1, DType::u8, kCpu)), (Values{1}));
}

// The definition: element (i, j) stays where j - i is at most (at least) the diagonal's number.
TEST(Creation, TrianglesCutMatricesOfAnyShapeAtAnyDiagonal) {
  for (const Shape& shape : {Shape{3, 5}, Shape{5, 3}, Shape{2, 3, 4}, Shape{1, 1}, Shape{2, 0, 3}}) {
    const Tensor x = uneven(shape);
    const Values all = values_of(x);
    for (int diagonal = -6; diagonal <= 6; ++diagonal) {
      Values lower = all;
      Values upper = all;
      for (size_t at = 0; at < all.size(); ++at) {
        const auto column = static_cast<int64_t>(at) % x.dim(-1);
        const auto row = static_cast<int64_t>(at) / x.dim(-1) % x.dim(-2);
        if (column - row > diagonal) lower[at] = 0;
        if (column - row < diagonal) upper[at] = 0;
      }
      EXPECT_EQ(values_of(x.tril(diagonal)), lower) << shape.to_string() << diagonal;
      EXPECT_EQ(values_of(x.triu(diagonal)), upper) << shape.to_string() << diagonal;
    }
  }
  for (const DType dtype : kPlain) {
    const Tensor x = Tensor::of<double>({{1, 2}, {3, 4}}, kCpu).to_dtype(dtype);
    EXPECT_EQ(values_of(x.tril()), (Values{1, 0, 3, 4})) << to_string(dtype);
    EXPECT_EQ(x.triu().dtype(), dtype);
  }
  EXPECT_EQ(code_of([] { (void)uneven({3}).tril(); }), ErrorCode::shape_mismatch);
  // Elements outside are zero even where they are NaN.
  EXPECT_EQ(values_of(Tensor::full({2, 2}, NAN, DType::f32, kCpu).tril(-2)), (Values{0, 0, 0, 0}));
}

TEST(Creation, DiagonalsAreViews) {
  const Tensor x = uneven({3, 4});
  const Values all = values_of(x);
  EXPECT_EQ(values_of(x.diagonal()), (Values{all[0], all[5], all[10]}));
  EXPECT_EQ(values_of(x.diagonal(1)), (Values{all[1], all[6], all[11]}));
  EXPECT_EQ(values_of(x.diagonal(-2)), (Values{all[8]}));
  EXPECT_EQ(values_of(x.t().diagonal(1)), (Values{all[4], all[9]}));
  EXPECT_EQ(x.diagonal(4).shape(), (Shape{0}));
  EXPECT_EQ(x.diagonal(-3).shape(), (Shape{0}));
  EXPECT_EQ(x.diagonal().storage(), x.storage());
  const Tensor cube = uneven({2, 3, 2});
  EXPECT_EQ(cube.diagonal(0, 0, 2).shape(), (Shape{3, 2}));
  const Values blocks = values_of(cube);
  EXPECT_EQ(values_of(cube.diagonal(0, 0, 2)), (Values{blocks[0], blocks[7], blocks[2], blocks[9], blocks[4], blocks[11]}));
  EXPECT_EQ(values_of(Tensor::of<float>({1, 2}, kCpu).diag(1)), (Values{0, 1, 0, 0, 0, 2, 0, 0, 0}));
  EXPECT_EQ(values_of(Tensor::of<float>({{1, 2}, {3, 4}}, kCpu).diag()), (Values{1, 4}));
  EXPECT_EQ(code_of([] { (void)uneven({2, 2}).diagonal(0, 1, -1); }), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of([] { (void)uneven({2, 2, 2}).diag(); }), ErrorCode::shape_mismatch);
}

TEST(Creation, MeshgridFollowsNumPy) {
  const std::array<Tensor, 3> axes = {Tensor::of<float>({1, 2}, kCpu), Tensor::of<float>({10, 20, 30}, kCpu), Tensor::of<float>({5}, kCpu)};
  const std::vector<Tensor> ij = Tensor::meshgrid(axes, false);
  EXPECT_EQ(ij[0].shape(), (Shape{2, 3, 1}));
  EXPECT_EQ(values_of(ij[0]), (Values{1, 1, 1, 2, 2, 2}));
  EXPECT_EQ(values_of(ij[1]), (Values{10, 20, 30, 10, 20, 30}));
  EXPECT_EQ(values_of(ij[2]), (Values(6, 5)));
  const std::vector<Tensor> xy = Tensor::meshgrid(axes, true);
  EXPECT_EQ(xy[0].shape(), (Shape{3, 2, 1}));
  EXPECT_EQ(values_of(xy[0]), (Values{1, 2, 1, 2, 1, 2}));
  EXPECT_EQ(values_of(xy[1]), (Values{10, 10, 20, 20, 30, 30}));
  EXPECT_EQ(Tensor::meshgrid(std::span(axes).first(1), true)[0].shape(), (Shape{2}));
  EXPECT_EQ(code_of([&] { (void)Tensor::meshgrid({}, false); }), ErrorCode::invalid_argument);
  const std::array<Tensor, 1> matrix = {uneven({2, 2})};
  EXPECT_EQ(code_of([&] { (void)Tensor::meshgrid(matrix, false); }), ErrorCode::shape_mismatch);
}

TEST(Creation, ArangeCountsEachElementFromTheStart) {
  EXPECT_EQ(values_of(Tensor::arange(0, 5, DType::u8, kCpu)), (Values{0, 1, 2, 3, 4}));
  EXPECT_EQ(values_of(Tensor::arange(5, 0, -2, DType::i16, kCpu)), (Values{5, 3, 1}));
  EXPECT_EQ(values_of(Tensor::arange(0, 1, 0.25, DType::f8e4m3, kCpu)), (Values{0, 0.25, 0.5, 0.75}));
  EXPECT_EQ(Tensor::arange(3, 3, DType::f32, kCpu).shape(), (Shape{0}));
  EXPECT_EQ(Tensor::arange(3, 1, DType::f32, kCpu).shape(), (Shape{0}));
  const Values tenths = values_of(Tensor::arange(0, 1000, 0.1, DType::f64, kCpu));
  ASSERT_EQ(tenths.size(), 10000U);
  EXPECT_EQ(tenths[9999], 9999 * 0.1);  // no error has gathered
  EXPECT_EQ(code_of([] { (void)Tensor::arange(0, 1, 0, DType::f32, kCpu); }), ErrorCode::invalid_argument);
}

// Element (i, j, …) of the result is element (i mod n0, j mod n1, …) of the source.
TEST(Assembly, RepeatTilesEveryDimension) {
  const Tensor x = uneven({2, 3});
  const Tensor tiled = x.repeat({2, 3, 2});
  ASSERT_EQ(tiled.shape(), (Shape{2, 6, 6}));
  const Values all = values_of(x);
  Values expected;
  for (size_t block = 0; block < 2; ++block) {
    for (size_t row = 0; row < 6; ++row) {
      for (size_t column = 0; column < 6; ++column) expected.push_back(all[row % 2 * 3 + column % 3]);
    }
  }
  EXPECT_EQ(values_of(tiled), expected);
  for (const DType dtype : kPlain) {
    EXPECT_EQ(values_of(Tensor::of<double>({1, 2}, kCpu).to_dtype(dtype).repeat({2})), (Values{1, 2, 1, 2}));
  }
  EXPECT_EQ(x.repeat({0, 2}).shape(), (Shape{0, 6}));
  EXPECT_EQ(uneven({0, 2}).repeat({3, 2}).shape(), (Shape{0, 4}));
  EXPECT_EQ(values_of(Tensor::of<float>(7, kCpu).repeat({2, 2})), (Values{7, 7, 7, 7}));
  EXPECT_EQ(uneven({1, 1, 1, 1, 1, 1, 1, 2}).repeat({2, 1, 2, 1, 1, 1, 1, 1}).shape(), (Shape{2, 1, 2, 1, 1, 1, 1, 2}));
  EXPECT_EQ(code_of([&] { (void)x.repeat({2}); }), ErrorCode::shape_mismatch);
}

TEST(Assembly, RollMovesEveryElementByTheShift) {
  const Tensor x = Tensor::of<float>({{1, 2, 3}, {4, 5, 6}}, kCpu);
  EXPECT_EQ(values_of(x.roll(1, 1)), (Values{3, 1, 2, 6, 4, 5}));
  EXPECT_EQ(values_of(x.roll(-1, -1)), (Values{2, 3, 1, 5, 6, 4}));
  EXPECT_EQ(values_of(x.roll(7, 0)), (Values{4, 5, 6, 1, 2, 3}));
  EXPECT_EQ(values_of(x.roll(-300, 1)), values_of(x));
  EXPECT_EQ(uneven({2, 0}).roll(3, 1).shape(), (Shape{2, 0}));
  EXPECT_EQ(values_of(x.t().to_dtype(DType::f8e4m3).roll(1, 0)), (Values{3, 6, 1, 4, 2, 5}));
}

TEST(Assembly, PaddingRepeatsTheEdges) {
  const Tensor x = Tensor::of<float>({{1, 2, 3}, {4, 5, 6}}, kCpu);
  EXPECT_EQ(values_of(x.pad_with_same(1, 2, 1)), (Values{1, 1, 1, 2, 3, 3, 4, 4, 4, 5, 6, 6}));
  EXPECT_EQ(values_of(x.pad_with_same(-2, 0, 1)), (Values{1, 2, 3, 4, 5, 6, 4, 5, 6}));
  EXPECT_EQ(values_of(x.pad_with_zeros(1, 1, 0)), (Values{0, 1, 2, 3, 0, 4, 5, 6}));
  EXPECT_EQ(x.pad_with_same(0, 0, 0).storage(), x.storage());
  EXPECT_EQ(values_of(x.to_dtype(DType::u8).pad_with_same(0, 1, 0)), (Values{1, 2, 3, 1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(code_of([] { (void)uneven({2, 0}).pad_with_same(1, 1, 0); }), ErrorCode::shape_mismatch);
  EXPECT_EQ(code_of([&] { (void)x.pad_with_same(0, -1, 0); }), ErrorCode::invalid_argument);
}

TEST(Assembly, CatPlacesPartsAlongAnyDimension) {
  const Tensor x = uneven({2, 3, 4});
  for (int dim = 0; dim < 3; ++dim) {
    const std::vector<Tensor> parts = x.split(2, dim);
    EXPECT_EQ(values_of(Tensor::cat(parts, dim)), values_of(x));
    EXPECT_EQ(values_of(Tensor::cat(x.chunk(2, dim), dim - 3)), values_of(x));
    const Tensor turned = x.transpose(0, dim);
    EXPECT_EQ(values_of(Tensor::cat(turned.chunk(2, dim), dim)), values_of(turned));
  }
  for (const DType dtype : kPlain) {
    const Tensor part = Tensor::of<double>({1, 2}, kCpu).to_dtype(dtype);
    EXPECT_EQ(values_of(Tensor::cat({part, part.flip(0)}, 0)), (Values{1, 2, 2, 1})) << to_string(dtype);
    EXPECT_EQ(values_of(Tensor::stack({part, part}, 1)), (Values{1, 1, 2, 2})) << to_string(dtype);
  }
  EXPECT_EQ(Tensor::cat({uneven({2, 0}), uneven({2, 3})}, 1).shape(), (Shape{2, 3}));
  EXPECT_EQ(uneven({2, 0}).chunk(3, 1).size(), 1U);
  EXPECT_EQ(uneven({2, 0}).split(3, 1).front().shape(), (Shape{2, 0}));
  EXPECT_EQ(code_of([] { (void)Tensor::cat(std::span<const Tensor>(), 0); }), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of([&] { (void)Tensor::cat({x, uneven({2, 3, 5})}, 0); }), ErrorCode::shape_mismatch);
  EXPECT_EQ(code_of([&] { (void)Tensor::cat({x, uneven({2, 3})}, 0); }), ErrorCode::shape_mismatch);
  EXPECT_EQ(code_of([&] { (void)Tensor::cat({x, x.to_dtype(DType::f32)}, 0); }), ErrorCode::dtype_mismatch);
  EXPECT_EQ(code_of([&] { (void)Tensor::cat({x, x}, 3); }), ErrorCode::index_out_of_range);
  EXPECT_EQ(code_of([] { (void)Tensor::cat({uneven({}), uneven({})}, 0); }), ErrorCode::index_out_of_range);
}

TEST(Assembly, FlattenKeepsTheOrderOfElements) {
  const Tensor x = uneven({2, 3, 4, 5});
  EXPECT_EQ(x.flatten(1, 2).shape(), (Shape{2, 12, 5}));
  EXPECT_EQ(x.flatten_from(2).shape(), (Shape{2, 3, 20}));
  EXPECT_EQ(x.flatten_to(-3).shape(), (Shape{6, 4, 5}));
  EXPECT_EQ(x.flatten_all().shape(), (Shape{120}));
  EXPECT_EQ(x.flatten(3, 1).shape(), x.shape());
  EXPECT_EQ(uneven({}).flatten_all().shape(), (Shape{1}));
  EXPECT_EQ(uneven({2, 0}).flatten_all().shape(), (Shape{0}));
  EXPECT_EQ(values_of(x.flatten(1, 2)), values_of(x));
  EXPECT_EQ(values_of(x.permute({3, 1, 0, 2}).flatten_all()), values_of(x.permute({3, 1, 0, 2})));
}

TEST(Assembly, OneExtentOfReshapeMayBeLeftOpen) {
  const Tensor x = uneven({2, 3, 4});
  EXPECT_EQ(x.reshape({-1, 4}).shape(), (Shape{6, 4}));
  EXPECT_EQ(x.reshape({2, -1}).shape(), (Shape{2, 12}));
  EXPECT_EQ(uneven({0, 4}).reshape({-1, 4}).shape(), (Shape{0, 4}));
  EXPECT_EQ(uneven({}).reshape({-1}).shape(), (Shape{1}));
  EXPECT_EQ(code_of([&] { (void)x.reshape({-1, 5}); }), ErrorCode::shape_mismatch);
  EXPECT_EQ(code_of([&] { (void)x.reshape({-1, -1}); }), ErrorCode::shape_mismatch);
  EXPECT_EQ(code_of([&] { (void)x.reshape({-1, 0}); }), ErrorCode::shape_mismatch);
  EXPECT_EQ(code_of([&] { (void)x.reshape({5, 5}); }), ErrorCode::shape_mismatch);
}

TEST(Assembly, GradientsAreTheAdjoints) {
  expect_adjoint({3, 4}, [](const Tensor& x) { return x.tril(1); });
  expect_adjoint({2, 3, 3}, [](const Tensor& x) { return x.triu(-1); });
  expect_adjoint({3, 4}, [](const Tensor& x) { return x.diagonal(1); });
  expect_adjoint({2, 3, 2}, [](const Tensor& x) { return x.diagonal(-1, 1, 0); });
  expect_adjoint({3}, [](const Tensor& x) { return x.diag(-2); });
  expect_adjoint({2, 3}, [](const Tensor& x) { return x.repeat({2, 2, 3}); });
  expect_adjoint({2, 3}, [](const Tensor& x) { return x.repeat({0, 1}); });
  expect_adjoint({2, 4}, [](const Tensor& x) { return x.roll(3, 1); });
  expect_adjoint({2, 3}, [](const Tensor& x) { return x.pad_with_same(1, 3, 2); });
  expect_adjoint({2, 3}, [](const Tensor& x) { return x.pad_with_same(0, 0, 2); });
  expect_adjoint({2, 3}, [](const Tensor& x) { return x.pad_with_zeros(1, 3, 2); });
  expect_adjoint({2, 3}, [](const Tensor& x) { return Tensor::cat({x, x.flip(1), x}, 1); });
  expect_adjoint({2, 3}, [](const Tensor& x) { return Tensor::stack({x, x.roll(1, 0)}, -1); });
  expect_adjoint({3}, [](const Tensor& x) { return x.broadcast_left({2, 2}); });
  expect_adjoint({2, 3, 2}, [](const Tensor& x) { return x.transpose(0, 1).flatten(1, 2); });
  expect_adjoint({4}, [](const Tensor& x) { return Tensor::meshgrid(std::array{x, x.narrow(0, 1, 2)}, true)[1]; });
  expect_adjoint({5}, [](const Tensor& x) { return Tensor::cat(x.chunk(3, 0), 0); });
  expect_adjoint({3}, [](const Tensor& x) { return x.outer(Tensor::of<double>({2, -1}, kCpu)); });
}

TEST(Assembly, SecondGradientsPassThroughDiagonals) {
  const Var x = Var::of<double>({1, 2, 3}, kCpu);
  const Tensor cube = (x->diag().matmul(x->diag()).matmul(x->diag())).diagonal().sum_all();
  const Tensor first = *backward(cube, {.create_graph = true}).get(x);
  EXPECT_EQ(values_of(first), (Values{3, 12, 27}));
  EXPECT_EQ(values_of(*backward(first.sum_all()).get(x)), (Values{6, 12, 18}));
}

TEST(Assembly, RankEightTakesEveryFunction) {
  const Shape shape = {2, 1, 2, 1, 2, 1, 2, 2};
  const Tensor x = uneven(shape);
  EXPECT_EQ(values_of(x.roll(1, 0).roll(1, 0)), values_of(x));
  EXPECT_EQ(x.tril().shape(), shape);
  EXPECT_EQ(Tensor::cat({x, x}, 7).dim(7), 4);
  EXPECT_EQ(x.pad_with_same(3, 1, 1).dim(3), 3);
  EXPECT_EQ(x.diagonal().rank(), 7);
  EXPECT_EQ(x.flatten_all().elements(), 32);
  EXPECT_EQ(code_of([&] { (void)Tensor::stack({x, x}, 0); }), ErrorCode::shape_mismatch);
}

}  // namespace
}  // namespace wick
