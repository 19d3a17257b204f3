// Everything that tensor.h declares is defined: a function that is never called names all of it, so that the linker must find it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>
#include <vector>

#include "pattern.h"
#include "source_root.h"
#include "wick/tensor/custom_op.h"
#include "wick/tensor/indexer.h"
#include "wick/tensor/tensor.h"

namespace wick {

// Reached by nobody, but of external linkage: the compiler must keep it.
std::vector<Tensor> everything_created(const Shape& shape, DType dtype, const Device& device, std::span<const Tensor> list,
                                       const Tensor& x);
std::vector<Tensor> everything_viewed(const Tensor& x, const Shape& shape, std::span<const int> order, const Device& device);
std::vector<Tensor> everything_elementwise(const Tensor& x, const Tensor& y);
std::vector<Tensor> everything_reduced(const Tensor& x, const Tensor& y, const Dims& dims);
std::vector<Tensor> everything_by_index(const Tensor& x, const Tensor& y, std::span<const Index> indices);
std::vector<Tensor> everything_custom(const Tensor& x, const CustomOp1& op1, const CustomOp2& op2, const CustomOp3& op3,
                                      const InplaceOp1& inplace1, const InplaceOp2& inplace2, const InplaceOp3& inplace3);
std::vector<Tensor> everything_of_the_array_api(const Tensor& x, const Tensor& y, const Dims& dims);
void everything_else(const Tensor& x, const Tensor& y);

std::vector<Tensor> everything_created(const Shape& shape, DType dtype, const Device& device, std::span<const Tensor> list,
                                       const Tensor& x) {
  (void)Tensor::meshgrid(list, true);
  return {Tensor::empty(shape, dtype, device),
          Tensor::zeros(shape, dtype, device),
          Tensor::ones(shape, dtype, device),
          Tensor::full(shape, 1, dtype, device),
          x.empty_like(),
          x.zeros_like(),
          x.ones_like(),
          Tensor::of<float>({1, 2}, device),
          Tensor::from_span(std::span<const float>(), shape, device),
          Tensor::from_vector(std::vector<float>(), shape, device),
          Tensor::from_owned(std::vector<float>(), shape, device),
          Tensor::from_bytes({}, shape, dtype, device),
          Tensor::import_host({}, shape, dtype, device, nullptr),
          Tensor::arange(0, 1, 1, dtype, device),
          Tensor::arange(0, 1, dtype, device),
          Tensor::eye(1, dtype, device),
          Tensor::tril2(1, dtype, device),
          Tensor::triu2(1, dtype, device),
          Tensor::rand(0, 1, shape, dtype, device),
          Tensor::randn(0, 1, shape, dtype, device),
          x.rand_like(0, 1),
          x.randn_like(0, 1),
          Tensor::cat(list, 0),
          Tensor::cat({x, x}, 0),
          Tensor::stack(list, 0),
          Tensor::stack({x, x}, 0)};
}

std::vector<Tensor> everything_viewed(const Tensor& x, const Shape& shape, std::span<const int> order, const Device& device) {
  std::vector<Tensor> parts = x.chunk(2, 0);
  const std::vector<Tensor> more = x.split(2, 0);
  parts.insert(parts.end(), more.begin(), more.end());
  const std::vector<Tensor> views = {x.detach(),
                                     x.narrow(0, 0, 1),
                                     x.transpose(0, 1),
                                     x.t(),
                                     x.permute(order),
                                     x.permute({1, 0}),
                                     x.broadcast_to(shape),
                                     x.broadcast_as(shape),
                                     x.expand(shape),
                                     x.broadcast_left(shape),
                                     x.squeeze(0),
                                     x.unsqueeze(0),
                                     x.flip(0),
                                     x.stride_slice(0, 0, 1, 1),
                                     x.unfold(0, 1, 1),
                                     x.get(0),
                                     x.get_on_dim(0, 0),
                                     x.diagonal(),
                                     x.reshape(shape),
                                     x.reshape({-1}),
                                     x.flatten(0, 1),
                                     x.flatten_from(0),
                                     x.flatten_to(1),
                                     x.flatten_all(),
                                     x.contiguous(),
                                     x.force_contiguous(),
                                     x.copy(),
                                     x.to_dtype(DType::f32),
                                     x.to_device(device),
                                     x.repeat(shape),
                                     x.roll(1, 0),
                                     x.pad_with_zeros(0, 1, 1),
                                     x.pad_with_same(0, 1, 1),
                                     x.tril(),
                                     x.triu(),
                                     x.diag()};
  parts.insert(parts.end(), views.begin(), views.end());
  return parts;
}

std::vector<Tensor> everything_elementwise(const Tensor& x, const Tensor& y) {
  return {x.neg(),
          x.abs(),
          x.sign(),
          x.floor(),
          x.ceil(),
          x.round(),
          x.round_to(1),
          x.sqr(),
          x.sqrt(),
          x.rsqrt(),
          x.recip(),
          x.exp(),
          x.log(),
          x.sin(),
          x.cos(),
          x.tanh(),
          x.erf(),
          x.sigmoid(),
          x.silu(),
          x.relu(),
          x.gelu(),
          x.gelu_erf(),
          x.affine(1, 0),
          x.powf(1),
          x.elu(1),
          x.clamp(0, 1),
          x.clamp(x, y),
          x.add(y),
          x.sub(y),
          x.mul(y),
          x.div(y),
          x.pow(y),
          x.minimum(y),
          x.maximum(y),
          x.minimum(1),
          x.maximum(1),
          x.broadcast_add(y),
          x.broadcast_sub(y),
          x.broadcast_mul(y),
          x.broadcast_div(y),
          x.broadcast_pow(y),
          x.broadcast_minimum(y),
          x.broadcast_maximum(y),
          x.compare(CompareKind::eq, y),
          x.compare(CompareKind::eq, 1),
          x.eq(y),
          x.ne(y),
          x.le(y),
          x.ge(y),
          x.lt(y),
          x.gt(y),
          x.eq(1),
          x.ne(1),
          x.le(1),
          x.ge(1),
          x.lt(1),
          x.gt(1),
          x.where_cond(x, y),
          x + y,
          x - y,
          x * y,
          x / y,
          -x,
          x + 1.0,
          x - 1.0,
          x * 1.0,
          x / 1.0,
          1.0 + x,
          1.0 - x,
          1.0 * x,
          1.0 / x};
}

std::vector<Tensor> everything_reduced(const Tensor& x, const Tensor& y, const Dims& dims) {
  return {x.sum(dims),
          x.mean(dims),
          x.var(dims),
          x.min(dims),
          x.max(dims),
          x.argmin(0),
          x.argmax(0),
          x.sum_keepdim(dims),
          x.mean_keepdim(dims),
          x.var_keepdim(dims),
          x.min_keepdim(dims),
          x.max_keepdim(dims),
          x.argmin_keepdim(0),
          x.argmax_keepdim(0),
          x.sum_all(),
          x.mean_all(),
          x.min_all(),
          x.max_all(),
          x.log_sum_exp(dims),
          x.norm(),
          x.cumsum(0),
          x.arg_sort_last_dim(true),
          x.sort_last_dim(true).first,
          x.topk(1).first,
          x.matmul(y),
          x.broadcast_matmul(y),
          x.dot(y),
          x.mv(y),
          x.outer(y)};
}

std::vector<Tensor> everything_by_index(const Tensor& x, const Tensor& y, std::span<const Index> indices) {
  return {x.i(0, range(0, 1), ellipsis, new_axis, y),
          x.index(indices),
          x.index_select(y, 0),
          x.embedding(y),
          x.gather(y, 0),
          x.scatter(y, x, 0),
          x.scatter_add(y, x, 0),
          x.index_add(y, x, 0),
          x.slice_scatter(y, 0, 0),
          x.slice_assign({0}, y),
          x.slice_assign(indices, y),
          x.conv1d(y, 0, 1, 1, 1),
          x.conv_transpose1d(y, 0, 0, 1, 1, 1),
          x.conv2d(y, 0, 1, 1, 1),
          x.conv2d(y, ConvParams{}),
          x.conv_transpose2d(y, 0, 0, 1, 1),
          x.conv_transpose2d(y, ConvParams{}),
          x.avg_pool2d({1, 1}),
          x.max_pool2d({1, 1}),
          x.upsample_nearest1d(1),
          x.upsample_nearest2d(1, 1),
          x.interpolate1d(1),
          x.interpolate2d(1, 1),
          x.upsample_bilinear2d(1, 1, true),
          x.upsample_bilinear2d_with_scale(1, 1, true)};
}

std::vector<Tensor> everything_custom(const Tensor& x, const CustomOp1& op1, const CustomOp2& op2, const CustomOp3& op3,
                                      const InplaceOp1& inplace1, const InplaceOp2& inplace2, const InplaceOp3& inplace3) {
  x.inplace_op1(inplace1);
  x.inplace_op2(x, inplace2);
  x.inplace_op3(x, x, inplace3);
  return {x.apply_op1(std::shared_ptr<const CustomOp1>()),
          x.apply_op2(x, std::shared_ptr<const CustomOp2>()),
          x.apply_op3(x, x, std::shared_ptr<const CustomOp3>()),
          x.apply_op1_no_backward(op1),
          x.apply_op2_no_backward(x, op2),
          x.apply_op3_no_backward(x, x, op3)};
}

std::vector<Tensor> everything_of_the_array_api(const Tensor& x, const Tensor& y, const Dims& dims) {
  return {x.tan(),
          x.asin(),
          x.acos(),
          x.atan(),
          x.sinh(),
          x.cosh(),
          x.asinh(),
          x.acosh(),
          x.atanh(),
          x.exp2(),
          x.expm1(),
          x.log2(),
          x.log10(),
          x.log1p(),
          x.trunc(),
          x.logical_not(),
          x.isnan(),
          x.isinf(),
          x.isfinite(),
          x.var_all(),
          x.std_all(),
          x.prod_all(),
          x.any_all(),
          x.all_all(),
          x.median_all(),
          x.nonzero(),
          x.unique(),
          x.fmod(y),
          x.remainder(y),
          x.floor_divide(y),
          x.atan2(y),
          x.logical_and(y),
          x.logical_or(y),
          x.logical_xor(y),
          x.masked_select(y),
          x.boolean_mask(y),
          x.fmod(1.0),
          x.remainder(1.0),
          x.floor_divide(1.0),
          x.std(dims),
          x.std_keepdim(dims),
          x.prod(dims),
          x.prod_keepdim(dims),
          x.any(dims),
          x.any_keepdim(dims),
          x.all(dims),
          x.all_keepdim(dims),
          x.masked_fill(y, 1),
          x.cumprod(0),
          x.argsort(0),
          x.sort(0).first,
          x.median(0).first,
          x.unique_with_counts().second};
}

void everything_else(const Tensor& x, const Tensor& y) {
  x.const_set(0);
  x.zero_set();
  x.one_set();
  x.slice_set(y, 0, 0);
  x.scatter_set(y, x, 0);
  x.scatter_add_set(y, x, 0);
  (void)storage_bytes_of(x.shape(), x.dtype());
  (void)x.dims1();
  (void)x.dims2();
  (void)x.dims3();
  (void)x.dims4();
  (void)x.dims5();
  (void)Dims(0).resolve(x.shape(), "op");
  (void)(x.dims().size() + x.describe().size() + x.to_bytes().size() + x.to_vec1<float>().size() + x.to_vec2<float>().size() +
         x.to_vec3<float>().size());
  (void)(x.layout().rank() + x.rank() + x.dim(0) + x.elements() + x.normalize_axis(0));
  (void)(x.is_contiguous() || x.is_fortran_contiguous() || x.is_tracked() || x.storage() == nullptr || x.node() == nullptr ||
         x.device().is_cpu());
  (void)(x.item() + x.to_scalar<double>());
  (void)x.defined();
  (void)x.softmax(-1);
  (void)x.log_softmax(-1);
  (void)x.to_vector<uint8_t>();
  (void)x.to_vector<uint32_t>();
  (void)x.to_vector<int16_t>();
  (void)x.to_vector<int32_t>();
  (void)x.to_vector<int64_t>();
  (void)x.to_vector<bf16>();
  (void)x.to_vector<f16>();
  (void)x.to_vector<double>();
  (void)x.to_vector<f8e4m3>();
}

namespace {

std::string text_of(const std::string& path) {
  std::ifstream file(source_root().string() + path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(Declared, EveryPublicFunctionOfTensorIsNamedAbove) {
  const std::string header = text_of("/wick/tensor/tensor.h");
  const size_t begin = header.find("class Tensor {");
  const size_t end = header.find(" private:", begin);
  ASSERT_LT(end, header.size());
  const std::string declarations = header.substr(begin, end - begin);
  const std::string here = text_of("/tests/unit/tensor_declared_test.cpp");
  // A declaration stands at the class's own indentation and names its function before the first parenthesis.
  const Pattern declaration(R"(^  (\[\[nodiscard\]\] |static |void )[^(]*\b(\w+)\()");
  const std::vector<std::string> found = declaration.all(declarations, 2);
  const std::set<std::string> names(found.begin(), found.end());
  EXPECT_GT(names.size(), 150U);
  for (const std::string& name : names) {
    EXPECT_TRUE(Pattern("(\\.|::)" + name + "(<\\w+>)?\\(").found_in(here)) << "tensor.h declares " << name;
  }
}

}  // namespace
}  // namespace wick
