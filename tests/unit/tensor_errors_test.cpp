// What the mistakes of a caller are answered with: the function that was called, what it was given, and what it takes.
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "unit/message_of.h"
#include "wick/base/error.h"
#include "wick/tensor/backward.h"
#include "wick/tensor/files.h"
#include "wick/tensor/indexer.h"
#include "wick/tensor/ops/einsum.h"
#include "wick/tensor/tensor.h"
#include "wick/tensor/variable.h"

namespace wick {
namespace {

const Tensor kX = Tensor::of<float>({{1, 2, 3}, {4, 5, 6}});  // [2, 3]
const Tensor kOther = Tensor::zeros({4, 5});                  // of another shape
const Tensor kDouble = Tensor::zeros({2, 3}, DType::f64);     // of another dtype
const Tensor kBytes = Tensor::of<uint8_t>({1, 2});            // of integers
const Tensor kScalar = Tensor::full({}, 3);                   // of no dimension
const Tensor kNone = Tensor::zeros({0, 3});                   // of no element
const Tensor kImages = Tensor::zeros({1, 3, 4, 4});           // [batch, channels, height, width]
const Tensor kIds = Tensor::of<uint32_t>({0, 7});             // the second is out of any range here

// Each function that takes a dimension, given one that the tensor does not have.
TEST(Errors, NameTheFunctionTheDimensionAndTheRange) {
  const Tensor& x = kX;
  const Tensor ids = Tensor::zeros({1}, DType::u32);
  const Tensor places = Tensor::zeros({1, 1}, DType::u32);
  const Tensor one = Tensor::zeros({1, 1});
  using Call = std::function<void(int dim)>;
  const std::vector<std::pair<std::string, Call>> functions = {
      {"sum", [&](int dim) { (void)x.sum(dim); }},
      {"mean", [&](int dim) { (void)x.mean(dim); }},
      {"var", [&](int dim) { (void)x.var(dim); }},
      {"std", [&](int dim) { (void)x.std(dim); }},
      {"prod", [&](int dim) { (void)x.prod(dim); }},
      {"any", [&](int dim) { (void)x.any(dim); }},
      {"all", [&](int dim) { (void)x.all(dim); }},
      {"min", [&](int dim) { (void)x.min(dim); }},
      {"max", [&](int dim) { (void)x.max(dim); }},
      {"argmin", [&](int dim) { (void)x.argmin(dim); }},
      {"argmax", [&](int dim) { (void)x.argmax(dim); }},
      {"sum_keepdim", [&](int dim) { (void)x.sum_keepdim(dim); }},
      {"mean_keepdim", [&](int dim) { (void)x.mean_keepdim(dim); }},
      {"var_keepdim", [&](int dim) { (void)x.var_keepdim(dim); }},
      {"std_keepdim", [&](int dim) { (void)x.std_keepdim(dim); }},
      {"prod_keepdim", [&](int dim) { (void)x.prod_keepdim(dim); }},
      {"any_keepdim", [&](int dim) { (void)x.any_keepdim(dim); }},
      {"all_keepdim", [&](int dim) { (void)x.all_keepdim(dim); }},
      {"min_keepdim", [&](int dim) { (void)x.min_keepdim(dim); }},
      {"max_keepdim", [&](int dim) { (void)x.max_keepdim(dim); }},
      {"argmin_keepdim", [&](int dim) { (void)x.argmin_keepdim(dim); }},
      {"argmax_keepdim", [&](int dim) { (void)x.argmax_keepdim(dim); }},
      {"log_sum_exp", [&](int dim) { (void)x.log_sum_exp(dim); }},
      {"cumsum", [&](int dim) { (void)x.cumsum(dim); }},
      {"cumprod", [&](int dim) { (void)x.cumprod(dim); }},
      {"softmax", [&](int dim) { (void)x.softmax(dim); }},
      {"log_softmax", [&](int dim) { (void)x.log_softmax(dim); }},
      {"sort", [&](int dim) { (void)x.sort(dim); }},
      {"argsort", [&](int dim) { (void)x.argsort(dim); }},
      {"median", [&](int dim) { (void)x.median(dim); }},
      {"topk", [&](int dim) { (void)x.topk(1, dim); }},
      {"dim", [&](int dim) { (void)x.dim(dim); }},
      {"normalize_axis", [&](int dim) { (void)x.normalize_axis(dim); }},
      {"narrow", [&](int dim) { (void)x.narrow(dim, 0, 1); }},
      {"transpose", [&](int dim) { (void)x.transpose(0, dim); }},
      {"transpose", [&](int dim) { (void)x.transpose(dim, 0); }},
      {"permute", [&](int dim) { (void)x.permute({0, dim}); }},
      {"squeeze", [&](int dim) { (void)x.squeeze(dim); }},
      {"flip", [&](int dim) { (void)x.flip(dim); }},
      {"stride_slice", [&](int dim) { (void)x.stride_slice(dim, 0, 1, 1); }},
      {"unfold", [&](int dim) { (void)x.unfold(dim, 1, 1); }},
      {"chunk", [&](int dim) { (void)x.chunk(1, dim); }},
      {"split", [&](int dim) { (void)x.split(1, dim); }},
      {"get_on_dim", [&](int dim) { (void)x.get_on_dim(dim, 0); }},
      {"diagonal", [&](int dim) { (void)x.diagonal(0, 0, dim); }},
      {"flatten", [&](int dim) { (void)x.flatten(0, dim); }},
      {"roll", [&](int dim) { (void)x.roll(1, dim); }},
      {"pad_with_zeros", [&](int dim) { (void)x.pad_with_zeros(dim, 1, 1); }},
      {"pad_with_same", [&](int dim) { (void)x.pad_with_same(dim, 1, 1); }},
      {"cat", [&](int dim) { (void)Tensor::cat({x, x}, dim); }},
      {"gather", [&](int dim) { (void)x.gather(places, dim); }},
      {"scatter", [&](int dim) { (void)x.scatter(places, one, dim); }},
      {"scatter_add", [&](int dim) { (void)x.scatter_add(places, one, dim); }},
      {"scatter_set", [&](int dim) { x.scatter_set(places, one, dim); }},
      {"scatter_add_set", [&](int dim) { x.scatter_add_set(places, one, dim); }},
      {"index_select", [&](int dim) { (void)x.index_select(ids, dim); }},
      {"index_add", [&](int dim) { (void)x.index_add(ids, one, dim); }},
      {"slice_scatter", [&](int dim) { (void)x.slice_scatter(x, dim, 0); }},
      {"slice_set", [&](int dim) { x.slice_set(x, dim, 0); }},
  };
  for (const auto& [name, call] : functions) {
    for (const int dim : {2, 7, -3}) {
      EXPECT_EQ(message_of(ErrorCode::index_out_of_range, [&] { call(dim); }),
                name + ": dimension " + std::to_string(dim) + " is out of range for shape [2, 3]; allowed: -2 to 1");
    }
  }
  expect_messages({
      {"unsqueeze: dimension 3 is out of range for shape [2, 3]; allowed: -3 to 2", [&] { (void)x.unsqueeze(3); }},
      {"unsqueeze: dimension -4 is out of range for shape [2, 3]; allowed: -3 to 2", [&] { (void)x.unsqueeze(-4); }},
      {"stack: dimension 5 is out of range for shape [2, 3]; allowed: -3 to 2", [&] { (void)Tensor::stack({x, x}, 5); }},
      {"sum: dimension 0 of a scalar, which has no dimensions", [&] { (void)kScalar.sum(0); }},
      {"sort_last_dim: dimension -1 of a scalar, which has no dimensions", [&] { (void)kScalar.sort_last_dim(true); }},
      {"arg_sort_last_dim: dimension -1 of a scalar, which has no dimensions", [&] { (void)kScalar.arg_sort_last_dim(true); }},
      {"get: dimension 0 of a scalar, which has no dimensions", [&] { (void)kScalar.get(0); }},
      {"sum: dimension 1 of shape [2, 3] is named twice", [&] { (void)x.sum({1, -1}); }},
      {"flip: dimension 0 of shape [2, 3] is named twice", [&] { (void)x.flip({0, 0}); }},
  });
}

TEST(Errors, OfViewsSayWhatFits) {
  const Tensor& x = kX;
  expect_messages({
      {"narrow: start 2 and length 5 are out of range for dimension 1 of shape [2, 3]; allowed: start + length up to 3",
       [&] { (void)x.narrow(1, 2, 5); }},
      {"narrow: start -1 and length 1 are out of range for dimension 1 of shape [2, 3]; allowed: start + length up to 3",
       [&] { (void)x.narrow(1, -1, 1); }},
      {"stride_slice: 3 elements from 0 on by 2 are out of range for dimension 1 of shape [2, 3]; allowed: elements 0 to 2",
       [&] { (void)x.stride_slice(1, 0, 3, 2); }},
      {"stride_slice: -9223372036854775808 elements from 0 on by 1 are out of range for dimension 1 of shape [2, 3]; allowed: elements 0 "
       "to 2",
       [&] { (void)x.stride_slice(1, 0, std::numeric_limits<int64_t>::min(), 1); }},
      {"stride_slice: step 0 for Tensor[[2, 3], f32]; allowed: 1 or more", [&] { (void)x.stride_slice(1, 0, 1, 0); }},
      {"unfold: windows of 5 every 1 elements of dimension 1 of shape [2, 3]; allowed: windows of 0 to 3, a step of 1 or more",
       [&] { (void)x.unfold(1, 5, 1); }},
      {"split: parts of 0 slices of Tensor[[2, 3], f32]; allowed: 1 or more", [&] { (void)x.split(0, 0); }},
      {"chunk: 0 parts of Tensor[[2, 3], f32]; allowed: 1 or more", [&] { (void)x.chunk(0, 0); }},
      {"get: index 9 is out of range for dimension 0 of shape [2, 3]; allowed: 0 to 1", [&] { (void)x.get(9); }},
      {"get: index 0 is out of range for dimension 0 of shape [0, 3]; it is empty", [&] { (void)kNone.get(0); }},
      {"get_on_dim: index -1 is out of range for dimension 1 of shape [2, 3]; allowed: 0 to 2", [&] { (void)x.get_on_dim(1, -1); }},
      {"i: argument 1 of Tensor[[2, 3], f32]: index 5 is out of range for a dimension of 2 elements; allowed: -2 to 1",
       [&] { (void)x.i(5); }},
      {"i: argument 2 of Tensor[[2, 3], f32]: index 4 is out of range for a dimension of 3 elements; allowed: -3 to 3",
       [&] { (void)x.i(0, range(0, 4)); }},
      {"i: argument 2 of Tensor[[2, 3], f32]: a step of 0; allowed: 1 or more", [&] { (void)x.i(0, range(0, 3, 0)); }},
      {"i: 3 arguments for Tensor[[2, 3], f32], which has 2 dimensions", [&] { (void)x.i(0, 0, 0); }},
      {"permute: 1 dimensions for Tensor[[2, 3], f32]; 2 are needed", [&] { (void)x.permute({0}); }},
      {"permute: dimension 0 of shape [2, 3] is named twice", [&] { (void)x.permute({0, 0}); }},
      {"diagonal: row_dim 0 and column_dim -2 are the same dimension of Tensor[[2, 3], f32]", [&] { (void)x.diagonal(0, 0, -2); }},
      {"broadcast_to: shape [2, 3] does not broadcast to [3, 3]", [&] { (void)x.broadcast_to({3, 3}); }},
      {"reshape: Tensor[[2, 3], f32] to [-1, -1]: more than one extent is -1; only one can be inferred",
       [&] { (void)x.reshape({-1, -1}); }},
      {"reshape: Tensor[[2, 3], f32] to [4, -1]: 6 elements cannot be divided by the other extents", [&] { (void)x.reshape({4, -1}); }},
      {"reshape: shape [2, 3] has 6 elements, shape [4, 2] has 8", [&] { (void)x.reshape({4, 2}); }},
      {"repeat: 1 numbers for Tensor[[2, 3], f32]; at least 2 are needed, one for each dimension", [&] { (void)x.repeat({2}); }},
      {"pad_with_zeros: padding -1 and 0 for dimension 0 of Tensor[[2, 3], f32]; both must be 0 or more",
       [&] { (void)x.pad_with_zeros(0, -1, 0); }},
      {"pad_with_same: padding 0 and -2 for dimension 1 of Tensor[[2, 3], f32]; both must be 0 or more",
       [&] { (void)x.pad_with_same(1, 0, -2); }},
  });
}

TEST(Errors, OfMakingAndReadingCountElements) {
  const std::vector<float> three = {1, 2, 3};
  expect_messages({
      {"from_vector: 3 elements given for shape [2, 2], which has 4", [&] { (void)Tensor::from_vector(three, {2, 2}); }},
      {"from_owned: 3 elements given for shape [2, 2], which has 4", [&] { (void)Tensor::from_owned(three, {2, 2}); }},
      {"from_span: 3 elements given for shape [2], which has 2", [&] { (void)Tensor::from_span(std::span(three), {2}); }},
      {"from_bytes: 12 bytes given for shape [2, 2] of f32, which has 16",
       [&] { (void)Tensor::from_bytes(std::as_bytes(std::span(three)), {2, 2}, DType::f32, Device::cpu()); }},
      {"Tensor::of: the nested braces are ragged: one part has shape [1], another [2]", [] { (void)Tensor::of<float>({{1, 2}, {3}}); }},
      {"arange: from 0 to 5 by 0: the step must not be 0, and all must be finite", [] { (void)Tensor::arange(0, 5, 0); }},
      {"item: Tensor[[2, 3], f32] has 6 elements; exactly 1 is needed", [] { (void)kX.item(); }},
      {"to_scalar: Tensor[[2, 3], f32] has rank 2; a tensor of rank 0 is needed", [] { (void)kX.to_scalar<float>(); }},
      {"to_vec1: Tensor[[2, 3], f32] has rank 2; a tensor of rank 1 is needed", [] { (void)kX.to_vec1<float>(); }},
      {"to_vec3: Tensor[[2, 3], f32] has rank 2; a tensor of rank 3 is needed", [] { (void)kX.to_vec3<float>(); }},
      {"dims4: Tensor[[2, 3], f32] has rank 2; a tensor of rank 4 is needed", [] { (void)kX.dims4(); }},
  });
  // No model is here, so nothing is said of one; the function and the bytes are.
  for (const auto& [name, call] : std::vector<std::pair<std::string, std::function<Tensor()>>>{
           {"zeros", [] { return Tensor::zeros({1 << 20, 1 << 30}); }},
           {"ones", [] { return Tensor::ones({1 << 20, 1 << 30}); }},
           {"full", [] { return Tensor::full({1 << 20, 1 << 30}, 2); }},
           {"rand", [] { return Tensor::rand({1 << 20, 1 << 30}); }},
           {"randn", [] { return Tensor::randn({1 << 20, 1 << 30}); }},
       }) {
    const std::string message = message_of(ErrorCode::out_of_memory, [&] { (void)call(); });
    EXPECT_EQ(message.find(name + ": cpu: out of memory: requested 4503599627370496 bytes, "), 0U) << message;
    EXPECT_EQ(message.find("model"), std::string::npos) << message;
  }
}

struct NamedCall {
  std::string function;
  std::function<void()> body;
};

TEST(Errors, OfExtentsNameTheFunctionThatTheyAreGivenTo) {
  const std::string negative = ": shape [-1, 2]: extent -1 is negative; allowed: 0 or more";
  expect_messages({
      {"empty" + negative, [] { (void)Tensor::empty({-1, 2}); }},
      {"zeros" + negative, [] { (void)Tensor::zeros({-1, 2}); }},
      {"ones" + negative, [] { (void)Tensor::ones({-1, 2}); }},
      {"full" + negative, [] { (void)Tensor::full({-1, 2}, 3); }},
      {"from_span" + negative, [] { (void)Tensor::from_span<float>({}, {-1, 2}); }},
      {"from_vector" + negative, [] { (void)Tensor::from_vector<float>({}, {-1, 2}); }},
      {"from_owned" + negative, [] { (void)Tensor::from_owned<float>({}, {-1, 2}); }},
      {"from_bytes" + negative, [] { (void)Tensor::from_bytes({}, {-1, 2}, DType::f32); }},
      {"import_host" + negative, [] { (void)Tensor::import_host({}, {-1, 2}, DType::f32, nullptr); }},
      {"rand" + negative, [] { (void)Tensor::rand({-1, 2}); }},
      {"randn" + negative, [] { (void)Tensor::randn({-1, 2}); }},
      {"zeros" + negative, [] { (void)Var::zeros({-1, 2}); }},
      {"broadcast_to" + negative, [] { (void)kX.broadcast_to({-1, 2}); }},
      {"broadcast_left" + negative, [] { (void)kX.broadcast_left({-1, 2}); }},
      {"repeat" + negative, [] { (void)kX.repeat({-1, 2}); }},
      {"zeros: shape [4294967296, 4294967296]: more than 2^63 - 1 elements",
       [] { (void)Tensor::zeros({int64_t{1} << 32, int64_t{1} << 32}); }},
      {"ones: shape [1, 1, 1, 1, 1, 1, 1, 1, 1]: rank 9 is above 8", [] { (void)Tensor::ones({1, 1, 1, 1, 1, 1, 1, 1, 1}); }},
  });
}

TEST(Errors, OfExtentsThatAFunctionComputesNameIt) {
  const Tensor narrow = Tensor::ones({1, 1, 1, 1, 1, 1, 1, 1});
  expect_messages({
      {"eye: shape [-1, -1]: extent -1 is negative; allowed: 0 or more", [] { (void)Tensor::eye(-1); }},
      {"tril2: shape [-1, -1]: extent -1 is negative; allowed: 0 or more", [] { (void)Tensor::tril2(-1); }},
      {"triu2: shape [-1, -1]: extent -1 is negative; allowed: 0 or more", [] { (void)Tensor::triu2(-1); }},
      {"eye: shape [4294967296, 4294967296]: more than 2^63 - 1 elements", [] { (void)Tensor::eye(int64_t{1} << 32); }},
      {"reshape: shape [-2, 3]: extent -2 is negative; allowed: 0 or more, and one -1 for what is left", [] { (void)kX.reshape({-2, 3}); }},
      {"reshape: shape [1, 1, 1, 1, 1, 1, 1, 2, 3]: rank 9 is above 8", [] { (void)kX.reshape({1, 1, 1, 1, 1, 1, 1, 2, 3}); }},
      {"unsqueeze: shape [1, 1, 1, 1, 1, 1, 1, 1] has the largest rank, 8", [&] { (void)narrow.unsqueeze(0); }},
      {"stack: unsqueeze: shape [1, 1, 1, 1, 1, 1, 1, 1] has the largest rank, 8", [&] { (void)Tensor::stack({narrow}, 0); }},
      {"unfold: shape [1, 1, 1, 1, 1, 1, 1, 1, 1]: rank 9 is above 8", [&] { (void)narrow.unfold(0, 1, 1); }},
      {"broadcast_left: shape [2, 1, 1, 1, 1, 1, 1, 1, 1]: rank 9 is above 8", [&] { (void)narrow.broadcast_left({2}); }},
  });
}

TEST(Errors, OfFilesNameTheTensorThatIsEmpty) {
  const std::string rest = "tensor 'b' is empty: it was never assigned, or was moved from; assign another to it first";
  const NamedTensors tensors = {{"a", kX}, {"b", Tensor()}};
  expect_messages({
      {"save_safetensors: " + rest, [&] { save_safetensors(tensors, "none.safetensors"); }},
      {"save_safetensors_sharded: " + rest, [&] { (void)save_safetensors_sharded(tensors, "none", 1000); }},
  });
  EXPECT_FALSE(std::filesystem::exists("none.safetensors"));
}

TEST(Errors, OfMemoryNameTheFunctionWhoseResultDoesNotFit) {
  const int64_t many = int64_t{1} << 45;
  const Tensor wide = Tensor::zeros({1}).broadcast_to({many});
  const Tensor turned = Tensor::zeros({1 << 11, 1}).broadcast_to({1 << 11, int64_t{1} << 34}).t();
  for (const auto& [function, body] : std::vector<NamedCall>{
           {"empty", [&] { (void)Tensor::empty({many}); }},
           {"arange", [&] { (void)Tensor::arange(0, static_cast<double>(many)); }},
           {"eye", [&] { (void)Tensor::eye(1 << 23); }},
           {"tril2", [&] { (void)Tensor::tril2(1 << 23); }},
           {"copy", [&] { (void)wide.copy(); }},
           {"to_dtype", [&] { (void)wide.to_dtype(DType::f64); }},
           {"reshape", [&] { (void)turned.reshape({many}); }},
           {"cat", [&] { (void)Tensor::cat({wide, wide}, 0); }},
           {"stack", [&] { (void)Tensor::stack({wide, wide}, 0); }},
           {"pad_with_zeros", [&] { (void)Tensor::zeros({1}).pad_with_zeros(0, many, 0); }},
           {"pad_with_same", [&] { (void)Tensor::zeros({1}).pad_with_same(0, many, 0); }},
           {"roll", [&] { (void)wide.roll(1, 0); }},
           {"repeat", [&] { (void)kX.repeat({1 << 22, 1 << 22}); }},
           {"add", [&] { (void)(wide + wide); }},
           {"exp", [&] { (void)wide.exp(); }},
           {"gt", [&] { (void)wide.gt(wide); }},
           {"softmax", [&] { (void)wide.softmax(0); }},
           {"cumsum", [&] { (void)wide.cumsum(0); }},
           {"sum", [&] { (void)Tensor::zeros({1, 1}).broadcast_to({many, 2}).sum(1); }},
           {"matmul", [&] { (void)Tensor::zeros({1 << 23, 1}).matmul(Tensor::zeros({1, 1 << 22})); }},
       }) {
    const std::string message = message_of(ErrorCode::out_of_memory, body);
    EXPECT_EQ(message.find(function + ": "), 0U) << message;
  }
}

TEST(Errors, OfTwoTensorsNameBoth) {
  const Tensor& x = kX;
  expect_messages({
      {"add: shapes [2, 3] and [4] do not broadcast: extents 3 and 4 of dimension -1 differ, and neither is 1",
       [&] { (void)(x + Tensor::zeros({4})); }},
      {"mul: lhs Tensor[[2, 3], f32] and rhs Tensor[[2, 3], f64] differ in dtype; convert one", [&] { (void)(x * kDouble); }},
      {"gt: lhs Tensor[[2, 3], f32] and rhs Tensor[[2, 3], f64] differ in dtype; convert one", [&] { (void)(x > kDouble); }},
      {"logical_and: shapes [2, 3] and [4, 5] do not broadcast: extents 3 and 5 of dimension -1 differ, and neither is 1",
       [&] { (void)x.logical_and(kOther); }},
      {"matmul: lhs [2, 3] and rhs [4, 5]: inner dimensions 3 and 4 differ", [&] { (void)x.matmul(kOther); }},
      {"matmul: lhs Tensor[[2, 3], f32] and rhs Tensor[[2], f32] must have rank 2 or more", [&] { (void)x.matmul(Tensor::zeros({2})); }},
      {"dot: Tensor[[2, 3], f32] and Tensor[[4, 5], f32] must be vectors of one length", [&] { (void)x.dot(kOther); }},
      {"einsum 'ij,jk->iq': output subscript 'q' does not appear in any input", [&] { (void)einsum("ij,jk->iq", {x, x}); }},
      {"cat: tensor 0 is Tensor[[2, 3], f32] and tensor 1 is Tensor[[4, 5], f32]; they may differ in dimension 0 only",
       [&] { (void)Tensor::cat({x, kOther}, 0); }},
      {"cat: tensor 0 is Tensor[[2, 3], f32] and tensor 2 is Tensor[[2, 3], f64]; convert one",
       [&] { (void)Tensor::cat({x, x, kDouble}, 0); }},
      {"cat: no tensors given; at least one is needed", [&] { (void)Tensor::cat(std::span<const Tensor>(), 0); }},
      {"stack: tensor 0 is Tensor[[2, 3], f32] and tensor 1 is Tensor[[4, 5], f32]; all must have one shape",
       [&] { (void)Tensor::stack({x, kOther}, 0); }},
      {"masked_fill: shapes [2, 3] and [4, 5] do not broadcast: extents 3 and 5 of dimension -1 differ, and neither is 1",
       [&] { (void)x.masked_fill(kOther.gt(0.0), 1); }},
      {"where_cond: the condition Tensor[[2, 3], f32] must be u8, u32 or i64", [&] { (void)x.where_cond(x, x); }},
      {"slice_assign: broadcast_to: shape [4, 5] does not broadcast to [3]", [&] { (void)x.slice_assign({0}, kOther); }},
      {"slice_scatter: source Tensor[[4, 5], f32] and Tensor[[2, 3], f32] may differ in dimension 0 only",
       [&] { (void)x.slice_scatter(kOther, 0, 0); }},
      {"slice_scatter: start 1 is out of range for source Tensor[[2, 3], f32] in dimension 0 of Tensor[[2, 3], f32]; allowed: 0 to 0",
       [&] { (void)x.slice_scatter(x, 0, 1); }},
      {"conv2d: x Tensor[[1, 3, 4, 4], f32] has 3 channels; kernel Tensor[[8, 1, 3, 3], f32] takes 1",
       [&] { (void)kImages.conv2d(Tensor::zeros({8, 1, 3, 3}), 0, 1, 1, 1); }},
      {"conv2d: x Tensor[[1, 3, 4, 4], f32] has 3 channels; kernel Tensor[[9, 2, 3, 3], f32] with 3 groups takes 6",
       [&] { (void)kImages.conv2d(Tensor::zeros({9, 2, 3, 3}), 0, 1, 1, 3); }},
      {"max_pool2d: a window of 5 × 5 is larger than the images of Tensor[[1, 3, 4, 4], f32]", [&] { (void)kImages.max_pool2d({5, 5}); }},
      {"avg_pool2d: a window of 0 and a stride of 0; both must be at least 1", [&] { (void)kImages.avg_pool2d({0, 0}); }},
  });
}

TEST(Errors, OfDTypesSayWhichAreTaken) {
  const Tensor& x = kX;
  expect_messages({
      {"exp: not defined for Tensor[[2], u8]: it takes floats only; convert it with to_dtype first", [] { (void)kBytes.exp(); }},
      {"mean: not defined for Tensor[[2], u8]: it takes floats only; convert it with to_dtype first", [] { (void)kBytes.mean(0); }},
      {"std: not defined for Tensor[[2], u8]: it takes floats only; convert it with to_dtype first", [] { (void)kBytes.std(0); }},
      {"norm: not defined for Tensor[[2], u8]: it takes floats only; convert it with to_dtype first", [] { (void)kBytes.norm(); }},
      {"softmax: not defined for Tensor[[2], u8]: it takes floats only; convert it with to_dtype first", [] { (void)kBytes.softmax(0); }},
      {"log_sum_exp: not defined for Tensor[[2], u8]: it takes floats only; convert it with to_dtype first",
       [] { (void)kBytes.log_sum_exp(0); }},
      {"index_select: ids Tensor[[2, 3], f32] must be u8, u32, i32 or i64", [&] { (void)x.index_select(x, 0); }},
      {"gather: ids Tensor[[2, 3], f32] must be u8, u32, i32 or i64", [&] { (void)x.gather(x, 0); }},
      {"Var: Tensor[[2], u8] is not of floats, so it has no gradient; convert it with to_dtype first",
       [] { (void)Var::from_tensor(kBytes); }},
  });
}

TEST(Errors, OfIdsSayWhereTheyAreAndWhichAreAllowed) {
  const Tensor& x = kX;
  expect_messages({
      {"index_select: id 7 at [1] is out of range for dimension 0 of 2 elements; allowed: 0 to 1", [&] { (void)x.index_select(kIds, 0); }},
      {"embedding: index_select: id 7 at [1] is out of range for dimension 0 of 2 elements; allowed: 0 to 1",
       [&] { (void)x.embedding(kIds); }},
      {"gather: id 7 at [0, 1] is out of range for dimension 1 of 3 elements; allowed: 0 to 2",
       [&] { (void)x.gather(kIds.reshape({1, 2}), 1); }},
      {"index_select: id 0 at [0] is out of range for dimension 0 of 0 elements; none is allowed",
       [] { (void)kNone.index_select(kIds, 0); }},
      {"i: argument 1 of Tensor[[2, 3], f32]: index_select: id 7 at [1] is out of range for dimension 0 of 2 elements; allowed: 0 to 1",
       [&] { (void)x.i(kIds); }},
      {"topk: k is 9 for dimension -1 of shape [2, 3]; allowed: 0 to 3", [&] { (void)x.topk(9); }},
      {"argmax: Tensor[[3, 0], f32] has no elements along the reduced dimensions", [] { (void)kNone.t().argmax(1); }},
      {"median: Tensor[[0, 3], f32] has no elements in dimension 0", [] { (void)kNone.median(0); }},
  });
}

TEST(Errors, OfATensorThatWasNeverAssignedNameFunctionAndOperand) {
  const Tensor t, x = kX;
  const Var var = Var::from_tensor(kX);
  const std::string behind = " is empty: it was never assigned, or was moved from; assign another to it first";
  const std::vector<std::pair<std::string, std::function<void()>>> calls = {
      {"add: rhs", [&] { (void)(x + t); }},
      {"add: lhs", [&] { (void)(t + x); }},
      {"add: lhs", [&] { (void)(t + 1); }},
      {"div: rhs", [&] { (void)(1.0 / t); }},
      {"neg: the tensor", [&] { (void)-t; }},
      {"gt: rhs", [&] { (void)(x > t); }},
      {"le: the tensor", [&] { (void)(t <= 1); }},
      {"exp: the tensor", [&] { (void)t.exp(); }},
      {"clamp: high", [&] { (void)x.clamp(x, t); }},
      {"sum: the tensor", [&] { (void)t.sum(); }},
      {"mean: the tensor", [&] { (void)t.mean(0); }},
      {"var_all: the tensor", [&] { (void)t.var(); }},
      {"argmax: the tensor", [&] { (void)t.argmax(0); }},
      {"median_all: the tensor", [&] { (void)t.median_all(); }},
      {"softmax: the tensor", [&] { (void)t.softmax(-1); }},
      {"cumsum: the tensor", [&] { (void)t.cumsum(0); }},
      {"shape: the tensor", [&] { (void)t.shape(); }},
      {"dtype: the tensor", [&] { (void)t.dtype(); }},
      {"detach: the tensor", [&] { (void)t.detach(); }},
      {"narrow: the tensor", [&] { (void)t.narrow(0, 0, 1); }},
      {"transpose: the tensor", [&] { (void)t.t(); }},
      {"reshape: the tensor", [&] { (void)t.reshape({1}); }},
      {"i: the tensor", [&] { (void)t.i(0); }},
      {"get: the tensor", [&] { (void)t.get(0); }},
      {"tril: the tensor", [&] { (void)t.tril(); }},
      {"to_dtype: the tensor", [&] { (void)t.to_dtype(DType::f64); }},
      {"to_vector: the tensor", [&] { (void)t.to_vector<float>(); }},
      {"item: the tensor", [&] { (void)t.item(); }},
      {"matmul: rhs", [&] { (void)x.matmul(t); }},
      {"einsum: tensor 1", [&] { (void)einsum("ij,jk->ik", {x, t}); }},
      {"cat: tensor 1", [&] { (void)Tensor::cat({x, t}, 0); }},
      {"index_select: ids", [&] { (void)x.index_select(t, 0); }},
      {"scatter: source", [&] { (void)x.scatter(x, t, 0); }},
      {"masked_fill: mask", [&] { (void)x.masked_fill(t, 0); }},
      {"where_cond: on_false", [&] { (void)kBytes.where_cond(x, t); }},
      {"slice_set: source", [&] { x.slice_set(t, 0, 0); }},
      {"const_set: the tensor", [&] { t.const_set(1); }},
      {"conv2d: kernel", [&] { (void)kImages.conv2d(t, 0, 1, 1, 1); }},
      {"Var: tensor", [&] { (void)Var::from_tensor(t); }},
      {"Var::set: value", [&] { var.set(t); }},
      {"backward: root", [&] { (void)backward(t); }},
  };
  for (const auto& [name, call] : calls) EXPECT_EQ(message_of(ErrorCode::invalid_argument, call), name + behind);
}

// Also where a function adds its name to the message of one that it calls.
TEST(Errors, AreShownToTheHookOnce) {
  std::vector<std::string> seen;
  set_error_hook([&](const Error& error) { seen.push_back(error.what()); });
  for (const std::function<void()>& call : std::vector<std::function<void()>>{
           [] { (void)kX.embedding(kIds); },
           [] { (void)Tensor::zeros({1 << 20, 1 << 30}); },
           [] { (void)kX.i(kIds); },
           [] { (void)(kX + Tensor()); },
       }) {
    seen.clear();
    EXPECT_THROW(call(), Error);
    EXPECT_EQ(seen.size(), 1U) << testing::PrintToString(seen);
  }
  set_error_hook({});
}

TEST(Errors, OfTheTapeNameTheFunctionThatWasCalled) {
  const Var var = Var::from_tensor(kX);
  const std::string tracked = " is tracked, and a tape cannot see a write in place; detach it, or use a function that copies";
  expect_messages({
      {"backward: Tensor[[2, 3], f32] is not tracked: it was computed from no Var", [] { (void)backward(kX); }},
      {"const_set: Tensor[[2, 3], f32]" + tracked, [&] { var->const_set(1); }},
      {"slice_set: Tensor[[2, 3], f32]" + tracked, [&] { var->slice_set(kX, 0, 0); }},
      {"Var::set: the variable is Tensor[[2, 3], f32], the value Tensor[[4, 5], f32]; the shapes must be equal", [&] { var.set(kOther); }},
      {"Var::set: the variable is Tensor[[2, 3], f32], the value Tensor[[2, 3], f64]; convert it first", [&] { var.set(kDouble); }},
      {"backward: no gradient flowed to Tensor[[2, 3], f32]: the result of backward does not depend on it",
       [&] { (void)*backward(Var::from_tensor(kX)->sum()).get(var); }},
  });
}

}  // namespace
}  // namespace wick
