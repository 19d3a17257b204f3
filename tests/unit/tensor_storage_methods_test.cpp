// The functions of a storage alone, on offset and strided views, against values worked out by hand.
#include <gtest/gtest.h>

#include <cmath>

#include "unit/cpu_tensors.h"
#include "wick/base/error.h"
#include "wick/tensor/custom_op.h"
#include "wick/tensor/device_storage.h"
#include "wick/tensor/ops/unary.h"

namespace wick {
namespace {

using Doubles = std::vector<double>;

// All elements in the order in which they lie.
Doubles all_of(const SharedStorage& storage) {
  const int64_t count = static_cast<int64_t>(storage->buffer().bytes()) / info(storage->dtype()).block_bytes;
  return Tensor(storage, Layout({count})).to_vector<double>();
}
Doubles first_of(const SharedStorage& storage, int64_t count) { return Tensor(storage, Layout({count})).to_vector<double>(); }

SharedStorage of(const Nested<float>& values) { return device_storage::storage<float>(kCpu, values); }

// [[1, 3], [2, 4]]: a transposed view from the second element on.
const SharedStorage kStorage = of({0, 1, 2, 3, 4, 9});
const Layout kView = Layout({2, 2}, 1).transpose(0, 1);

class Negate : public CustomOp1 {
 public:
  [[nodiscard]] std::string_view name() const override { return "negate"; }
  Tensor cpu_forward(const CustomOperand& x) const override {
    std::vector<float> result;
    for_each_offset(x.layout, [&](int64_t offset) { result.push_back(-(x.data<float>() - x.layout.offset())[offset]); });
    return Tensor::from_vector(result, x.shape(), x.device());
  }
};

class SetToSeven : public InplaceOp1 {
 public:
  [[nodiscard]] std::string_view name() const override { return "set_to_seven"; }
  void cpu_forward(const CustomOperand& x) const override {
    for_each_offset(x.layout, [&](int64_t offset) { (x.data<float>() - x.layout.offset())[offset] = 7; });
  }
};

TEST(StorageMethods, ElementwiseSeeTheirViews) {
  EXPECT_EQ(first_of(kStorage->try_clone(kView), 4), (Doubles{1, 3, 2, 4}));
  EXPECT_EQ(first_of(kStorage->affine(kView, 2, 1), 4), (Doubles{3, 7, 5, 9}));
  EXPECT_EQ(first_of(kStorage->powf(kView, 2), 4), (Doubles{1, 9, 4, 16}));
  EXPECT_EQ(first_of(kStorage->elu(kView, 1), 4), (Doubles{1, 3, 2, 4}));
  EXPECT_EQ(first_of(kStorage->cmp(CompareKind::ge, *kStorage, kView, Layout({2, 2}, 1)), 4), (Doubles{1, 1, 0, 1}));
  EXPECT_EQ(kStorage->to_dtype(kView, DType::i64)->dtype(), DType::i64);
  EXPECT_EQ(first_of(kStorage->to_dtype(kView, DType::i64), 4), (Doubles{1, 3, 2, 4}));
  EXPECT_NE(kStorage->to_dtype(Layout({6}), DType::f32)->shared_buffer(), kStorage->shared_buffer());
  EXPECT_EQ(first_of(kStorage->unary_impl({.kind = UnaryKind::sqr}, kView), 4), (Doubles{1, 9, 4, 16}));
  EXPECT_EQ(first_of(kStorage->binary_impl(BinaryKind::sub, *kStorage, kView, Layout({2, 2}, 1)), 4), (Doubles{0, 1, -1, 0}));
  const SharedStorage condition = device_storage::storage<uint8_t>(kCpu, {1, 0, 0, 1});
  EXPECT_EQ(first_of(condition->where_cond(Layout({2, 2}), *kStorage, kView, *kStorage, Layout({2, 2}, 1)), 4), (Doubles{1, 2, 3, 4}));
  EXPECT_EQ(kStorage->device().location(), kCpu.location());
}

TEST(StorageMethods, ReductionsKeepTheirDimensions) {
  EXPECT_EQ(first_of(kStorage->reduce_op(ReduceKind::sum, kView, std::vector<int>{1}), 2), (Doubles{4, 6}));
  EXPECT_EQ(first_of(kStorage->reduce_op(ReduceKind::min, kView, std::vector<int>{0}), 2), (Doubles{1, 3}));
  EXPECT_EQ(first_of(kStorage->reduce_op(ReduceKind::max, kView, std::vector<int>{0, 1}), 1), (Doubles{4}));
  EXPECT_EQ(first_of(kStorage->reduce_op(ReduceKind::argmax, kView, std::vector<int>{0, 1}), 1), (Doubles{3}));
  EXPECT_EQ(first_of(kStorage->reduce_op(ReduceKind::argmin, kView, std::vector<int>{1}), 2), (Doubles{0, 0}));
}

TEST(StorageMethods, ByIndex) {
  const SharedStorage ids = device_storage::storage<uint32_t>(kCpu, {1, 1, 0});
  EXPECT_EQ(first_of(kStorage->index_select(*ids, kView, Layout({2}), 1), 4), (Doubles{3, 3, 4, 4}));
  EXPECT_EQ(first_of(kStorage->gather(kView, *ids, Layout({1, 2}, 1), 0), 2), (Doubles{2, 3}));
  EXPECT_EQ(first_of(kStorage->index_add(kView, *ids, Layout({1}), *kStorage, Layout({2, 1}), 1), 4), (Doubles{1, 3, 2, 5}));
  const SharedStorage target = of({1, 2, 3, 4, 5});
  const uint64_t version = target->version();
  target->scatter_set(Layout({4}, 1), *ids, Layout({2}, 1), *kStorage, Layout({2}, 4), 0);
  EXPECT_EQ(all_of(target), (Doubles{1, 9, 4, 4, 5}));
  target->scatter_add(Layout({4}, 1), *ids, Layout({2}), *kStorage, Layout({2}, 1), 0);
  EXPECT_EQ(all_of(target), (Doubles{1, 9, 7, 4, 5}));
  EXPECT_GT(target->version(), version);
}

TEST(StorageMethods, ProductsAndImages) {
  EXPECT_EQ(first_of(kStorage->matmul(*kStorage, kView, Layout({2, 2}, 1)), 4), (Doubles{10, 14, 14, 20}));
  const SharedStorage line = of({1, 2, 3, 4});
  const SharedStorage kernel = of({1, 10});
  EXPECT_EQ(first_of(line->conv1d(Layout({1, 1, 4}), *kernel, Layout({1, 1, 2}), {}), 3), (Doubles{21, 32, 43}));
  EXPECT_EQ(first_of(line->conv_transpose1d(Layout({1, 1, 2}), *kernel, Layout({1, 1, 2}), {}), 3), (Doubles{1, 12, 20}));
  EXPECT_EQ(first_of(line->conv2d(Layout({1, 1, 2, 2}), *kernel, Layout({1, 1, 1, 2}), {}), 2), (Doubles{21, 43}));
  EXPECT_EQ(first_of(line->conv_transpose2d(Layout({1, 1, 1, 2}), *kernel, Layout({1, 1, 2, 1}), {}), 4), (Doubles{1, 2, 10, 20}));
  EXPECT_EQ(first_of(line->avg_pool2d(Layout({1, 1, 2, 2}), {2, 2}, {1, 1}), 1), (Doubles{2.5}));
  EXPECT_EQ(first_of(line->max_pool2d(Layout({1, 1, 2, 2}), {1, 2}, {1, 1}), 2), (Doubles{2, 4}));
  EXPECT_EQ(first_of(line->upsample_nearest1d(Layout({1, 1, 2}), 4), 4), (Doubles{1, 1, 2, 2}));
  EXPECT_EQ(first_of(line->upsample_nearest2d(Layout({1, 1, 1, 2}), 2, 2), 4), (Doubles{1, 2, 1, 2}));
  EXPECT_EQ(first_of(line->upsample_bilinear2d(Layout({1, 1, 1, 2}), 1, 3, true), 3), (Doubles{1, 1.5, 2}));
  EXPECT_EQ(first_of(line->upsample_bilinear2d(Layout({1, 1, 1, 2}), 2, 4, false, 2, 2), 4), (Doubles{1, 1.25, 1.75, 2}));
  EXPECT_THROW((void)line->upsample_bilinear2d(Layout({1, 1, 1, 2}), 3, 4, false, 2, 2), Error);
}

TEST(StorageMethods, WritesAndCopies) {
  const SharedStorage target = device_storage::zeros(kCpu, {8}, DType::f32);
  kStorage->copy_strided_src(*target, 2, kView);
  EXPECT_EQ(all_of(target), (Doubles{0, 0, 1, 3, 2, 4, 0, 0}));
  kStorage->copy2d(*target, 2, 1, 3, 7, 1, 0);
  EXPECT_EQ(all_of(target), (Doubles{1, 0, 1, 3, 2, 4, 0, 4}));
  target->const_set(5, Layout({2}, 1));
  EXPECT_EQ(all_of(target), (Doubles{1, 5, 5, 3, 2, 4, 0, 4}));
  target->inplace_op1(Layout({2}, 6), SetToSeven());
  EXPECT_EQ(all_of(target), (Doubles{1, 5, 5, 3, 2, 4, 7, 7}));
  EXPECT_EQ(kStorage->apply_op1(kView, Negate()).to_vector<double>(), (Doubles{-1, -3, -2, -4}));
  EXPECT_THROW((void)kStorage->affine(Layout({4}, 3), 1, 0), Error);
  EXPECT_THROW(kStorage->copy2d(*target, 2, 5, 5, 5, 0, 0), Error);
}

TEST(DeviceStorage, MakesAndTakesNumbers) {
  EXPECT_TRUE(std::isnan(all_of(device_storage::alloc_uninit(kCpu, {3}, DType::f32))[0]));
  const std::vector<float> values = {1, 2, 3};
  EXPECT_EQ(all_of(device_storage::storage_from_slice<float>(kCpu, values)), (Doubles{1, 2, 3}));
  std::vector<float> owned = {4, 5};
  const float* const address = owned.data();
  const SharedStorage taken = device_storage::storage_owned(kCpu, std::move(owned));
  EXPECT_EQ(static_cast<const void*>(taken->buffer().host_data()), address);
  kCpu.set_seed(1);
  const Doubles uniform = all_of(device_storage::rand_uniform(kCpu, {4}, DType::f64, 2, 3));
  const Doubles normal = all_of(device_storage::rand_normal(kCpu, {4}, DType::f64, 0, 1));
  kCpu.set_seed(1);
  EXPECT_EQ(kCpu.get_current_seed(), 1);
  EXPECT_EQ(Tensor::rand(2, 3, {4}, DType::f64, kCpu).to_vector<double>(), uniform);
  EXPECT_EQ(Tensor::randn(0, 1, {4}, DType::f64, kCpu).to_vector<double>(), normal);
  kCpu.synchronize();
}

}  // namespace
}  // namespace wick
