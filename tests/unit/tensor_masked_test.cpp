// Reductions and choices that PyTorch and NumPy have: values are those of NumPy 2.4, and of PyTorch's definitions where NumPy has none.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "unit/host_devices.h"
#include "unit/message_of.h"
#include "wick/tensor/tensor.h"

namespace wick {
namespace {

using U8 = std::vector<uint8_t>;
using U32 = std::vector<uint32_t>;
using F32 = std::vector<float>;

constexpr float kFloatInfinity = std::numeric_limits<float>::infinity();
constexpr float kFloatNaN = std::numeric_limits<float>::quiet_NaN();

TEST(Reductions, StdIsTheRootOfVar) {
  for (const Device& device : host_devices()) {
    const Tensor x = Tensor::of<double>({{1, 2, 4, 8}, {3, 3, -1, 0.5}}, device);
    const std::vector<double> rows = x.std(1).to_vec1<double>();
    EXPECT_NEAR(rows[0], 3.0956959368344519, 1e-14);
    EXPECT_NEAR(rows[1], 1.973786547054502, 1e-14);
    EXPECT_NEAR(x.var_all().item(), 7.388392857142857, 1e-13);
    EXPECT_NEAR(x.std_all().item(), std::sqrt(7.388392857142857), 1e-13);
    EXPECT_EQ(x.std_keepdim(0).shape(), (Shape{1, 4}));
  }
}

TEST(Reductions, ProdMultipliesInTheDTypeOfItsElements) {
  for (const Device& device : host_devices()) {
    const Tensor x = Tensor::arange(1, 25, DType::i64, device).reshape({2, 3, 4});
    EXPECT_EQ(x.prod({0, 2}).to_vec1<int64_t>(), (std::vector<int64_t>{24LL * 43680, 1680LL * 116280, 11880LL * 255024}));
    EXPECT_EQ(x.prod_keepdim(1).shape(), (Shape{2, 1, 4}));
    EXPECT_EQ(Tensor::of<int64_t>({(1LL << 31) + 1, (1LL << 31) - 1, 1}, device).prod_all().to_scalar<int64_t>(), (1LL << 62) - 1);
    EXPECT_EQ(Tensor::of<uint8_t>({16, 17}, device).prod(0).to_scalar<uint8_t>(), 16);  // 272 modulo 256
    EXPECT_EQ(Tensor::zeros({2, 0}, DType::f32, device).prod(1).to_vec1<float>(), (F32{1, 1}));
    EXPECT_EQ(Tensor::zeros({0, 2}, DType::f32, device).prod(1).shape(), (Shape{0}));
    EXPECT_EQ(Tensor::of<float>(3, device).prod_all().to_scalar<float>(), 3);
    // 1.0009765625^5 is 1.00489 in f16; rounded after each factor it would be 1.00488 + an ulp.
    const Tensor narrow = Tensor::full({5}, 1.0009765625, DType::f16, device);
    EXPECT_EQ(narrow.prod(0).item(), 1.0048828125);
    EXPECT_EQ(narrow.prod(0).dtype(), DType::f16);
  }
}

TEST(Reductions, CumprodMultipliesFromTheStart) {
  for (const Device& device : host_devices()) {
    const Tensor x = Tensor::of<float>({{1, 2, 3, 4, 5, 6, 7}, {2, 0.5F, -1, 3, 0, 9, 1}}, device);
    EXPECT_EQ(x.cumprod(1).to_vec2<float>(), (std::vector<F32>{{1, 2, 6, 24, 120, 720, 5040}, {2, 1, -1, -3, 0, 0, 0}}));
    EXPECT_EQ(x.cumprod(0).to_vec2<float>()[1], (F32{2, 1, -3, 12, 0, 54, 7}));
    EXPECT_EQ(Tensor::zeros({3, 0}, DType::f32, device).cumprod(1).shape(), (Shape{3, 0}));
    EXPECT_EQ(Tensor::of<uint8_t>({100, 3, 1}, device).cumprod(-1).to_vec1<uint8_t>(), (U8{100, 44, 44}));
  }
}

TEST(Reductions, AnyAndAllCountNaNAndOfNothingAreFalseAndTrue) {
  for (const Device& device : host_devices()) {
    const Tensor x = Tensor::of<float>({{0, 0}, {0, kFloatNaN}, {1, -2}}, device);
    EXPECT_EQ(x.any(1).to_vec1<uint8_t>(), (U8{0, 1, 1}));
    EXPECT_EQ(x.all(1).to_vec1<uint8_t>(), (U8{0, 0, 1}));
    EXPECT_EQ(x.any_keepdim(0).to_vec2<uint8_t>(), (std::vector<U8>{{1, 1}}));
    EXPECT_EQ(x.all_keepdim(0).to_vec2<uint8_t>(), (std::vector<U8>{{0, 0}}));
    EXPECT_EQ(x.any_all().to_scalar<uint8_t>(), 1);
    EXPECT_EQ(x.all_all().to_scalar<uint8_t>(), 0);
    const Tensor none = Tensor::zeros({2, 0}, DType::i32, device);
    EXPECT_EQ(none.any(1).to_vec1<uint8_t>(), (U8{0, 0}));
    EXPECT_EQ(none.all(1).to_vec1<uint8_t>(), (U8{1, 1}));
    EXPECT_EQ(none.all_all().to_scalar<uint8_t>(), 1);
    EXPECT_EQ(Tensor::ones({300}, DType::i64, device).any(0).to_scalar<uint8_t>(), 1);
  }
}

TEST(Logical, OfOperandsOfAnyDType) {
  for (const Device& device : host_devices()) {
    const Tensor a = Tensor::of<float>({0, 0, -0.0F, 2, kFloatNaN}, device), b = Tensor::of<int32_t>({0, 3, -1, 256, 0}, device);
    EXPECT_EQ(a.logical_and(b).to_vec1<uint8_t>(), (U8{0, 0, 0, 1, 0}));
    EXPECT_EQ(a.logical_or(b).to_vec1<uint8_t>(), (U8{0, 1, 1, 1, 1}));
    EXPECT_EQ(a.logical_xor(b).to_vec1<uint8_t>(), (U8{0, 1, 1, 0, 1}));
    EXPECT_EQ(a.logical_not().to_vec1<uint8_t>(), (U8{1, 1, 1, 0, 0}));
    EXPECT_EQ(a.logical_or(Tensor::of<uint8_t>({{1}, {0}}, device)).shape(), (Shape{2, 5}));
  }
}

TEST(Logical, KindsOfNumbers) {
  for (const Device& device : host_devices()) {
    for (const DType dtype : {DType::f32, DType::f64, DType::f16, DType::bf16}) {
      const Tensor x = Tensor::of<float>({0, 1, kFloatInfinity, -kFloatInfinity, kFloatNaN, -60000}, device).to_dtype(dtype);
      EXPECT_EQ(x.isnan().to_vec1<uint8_t>(), (U8{0, 0, 0, 0, 1, 0})) << to_string(dtype);
      EXPECT_EQ(x.isinf().to_vec1<uint8_t>(), (U8{0, 0, 1, 1, 0, 0})) << to_string(dtype);
      EXPECT_EQ(x.isfinite().to_vec1<uint8_t>(), (U8{1, 1, 0, 0, 0, 1})) << to_string(dtype);
    }
    const Tensor smallest = Tensor::of<int8_t>({-128, 0}, device);
    EXPECT_EQ(smallest.isfinite().to_vec1<uint8_t>(), (U8{1, 1}));
    EXPECT_EQ(smallest.isinf().to_vec1<uint8_t>(), (U8{0, 0}));
    EXPECT_EQ(smallest.isnan().to_vec1<uint8_t>(), (U8{0, 0}));
  }
}

TEST(Order, SortAndMedianAlongAnyDimension) {
  for (const Device& device : host_devices()) {
    const Tensor x = Tensor::of<float>({{3, 1, 2}, {0, 5, 2}}, device);
    EXPECT_EQ(x.sort(0).first.to_vec2<float>(), (std::vector<F32>{{0, 1, 2}, {3, 5, 2}}));
    EXPECT_EQ(x.sort(1, true).first.to_vec2<float>(), (std::vector<F32>{{3, 2, 1}, {5, 2, 0}}));
    EXPECT_EQ(x.sort(0, true).second.to_vec2<uint32_t>(), (std::vector<U32>{{0, 1, 0}, {1, 0, 1}}));
    EXPECT_EQ(x.argsort(1).to_vec2<uint32_t>(), (std::vector<U32>{{1, 2, 0}, {0, 2, 1}}));
    EXPECT_EQ(x.median(1).first.to_vec1<float>(), (F32{2, 2}));
    EXPECT_EQ(x.median(1).second.to_vec1<uint32_t>(), (U32{2, 2}));
    EXPECT_EQ(x.median(0).first.to_vec1<float>(), (F32{0, 1, 2}));  // the smaller one of two
    EXPECT_EQ(x.median_all().to_scalar<float>(), 2);
    const Tensor missing = Tensor::of<float>({4, kFloatNaN, 1, kFloatNaN}, device);
    EXPECT_TRUE(std::isnan(missing.median(0).first.to_scalar<float>()));
    EXPECT_EQ(missing.median(0).second.to_scalar<uint32_t>(), 1U);
    EXPECT_EQ(Tensor::of<int64_t>({7, -3, 9, 1}, device).median_all().to_scalar<int64_t>(), 1);
    const std::string message = message_of([&] { (void)Tensor::zeros({2, 0}, DType::f32, device).median(1); });
    EXPECT_NE(message.find("median: Tensor[[2, 0], f32"), std::string::npos) << message;
  }
}

TEST(Masks, FillAndSelect) {
  for (const Device& device : host_devices()) {
    const Tensor x = Tensor::of<float>({{1, 2, 3}, {4, 5, 6}}, device);
    const Tensor row = Tensor::of<uint8_t>({0, 1, 0}, device);
    EXPECT_EQ(x.masked_fill(row, -kFloatInfinity).to_vec2<float>(), (std::vector<F32>{{1, -kFloatInfinity, 3}, {4, -kFloatInfinity, 6}}));
    EXPECT_EQ(x.masked_fill(Tensor::of<float>({{0.5F}, {0}}, device), 9).to_vec2<float>(), (std::vector<F32>{{9, 9, 9}, {4, 5, 6}}));
    EXPECT_EQ(x.masked_select(row).to_vec1<float>(), (F32{2, 5}));
    EXPECT_EQ(x.masked_select(x.gt(2.5)).to_vec1<float>(), (F32{3, 4, 5, 6}));
    EXPECT_EQ(x.t().masked_select(x.t().gt(2.5)).to_vec1<float>(), (F32{4, 5, 3, 6}));
    EXPECT_EQ(x.masked_select(x.gt(100)).shape(), (Shape{0}));
    EXPECT_EQ(x.boolean_mask(Tensor::of<uint8_t>({0, 1}, device)).to_vec2<float>(), (std::vector<F32>{{4, 5, 6}}));
    EXPECT_EQ(x.boolean_mask(x.ne(2)).to_vec1<float>(), (F32{1, 3, 4, 5, 6}));
    EXPECT_EQ(x.boolean_mask(Tensor::of<uint8_t>({0, 0}, device)).shape(), (Shape{0, 3}));
    EXPECT_NE(message_of([&] { (void)x.masked_fill(Tensor::zeros({4, 2, 3}, DType::u8, device), 0); }).find("masked_fill: the mask"),
              std::string::npos);
    EXPECT_NE(message_of([&] { (void)x.boolean_mask(row); }).find("boolean_mask: the mask"), std::string::npos);
  }
}

TEST(Masks, NonzeroNamesElementsInRowMajorOrder) {
  for (const Device& device : host_devices()) {
    const Tensor x = Tensor::of<float>({{0, 2, 0}, {kFloatNaN, 0, -1}}, device);
    EXPECT_EQ(x.nonzero().to_vec2<uint32_t>(), (std::vector<U32>{{0, 1}, {1, 0}, {1, 2}}));
    EXPECT_EQ(x.t().nonzero().to_vec2<uint32_t>(), (std::vector<U32>{{0, 1}, {1, 0}, {2, 1}}));
    EXPECT_EQ(Tensor::zeros({2, 3}, DType::i64, device).nonzero().shape(), (Shape{0, 2}));
    EXPECT_EQ(Tensor::of<float>(7, device).nonzero().shape(), (Shape{1, 0}));
    EXPECT_EQ(Tensor::zeros({0, 3}, DType::u8, device).nonzero().shape(), (Shape{0, 2}));
  }
}

TEST(Masks, UniqueIsSortedAndCounts) {
  for (const Device& device : host_devices()) {
    const Tensor x = Tensor::of<int64_t>({{3, -1, 3}, {(1LL << 62) + 1, 1LL << 62, -1}}, device);
    EXPECT_EQ(x.unique().to_vec1<int64_t>(), (std::vector<int64_t>{-1, 3, 1LL << 62, (1LL << 62) + 1}));
    const auto [values, counts] = x.unique_with_counts();
    EXPECT_EQ(values.to_vec1<int64_t>(), x.unique().to_vec1<int64_t>());
    EXPECT_EQ(counts.to_vec1<uint32_t>(), (U32{2, 2, 1, 1}));
    const Tensor floats = Tensor::of<float>({kFloatNaN, 0, 1, -0.0F, kFloatNaN, -kFloatInfinity}, device);
    const F32 found = floats.unique().to_vec1<float>();
    ASSERT_EQ(found.size(), 5U);  // -inf, 0, 1 and each NaN
    EXPECT_EQ(found[0], -kFloatInfinity);
    EXPECT_TRUE(found[1] == 0 && found[2] == 1 && std::isnan(found[3]) && std::isnan(found[4]));
    EXPECT_EQ(Tensor::zeros({0, 2}, DType::f32, device).unique().shape(), (Shape{0}));
    EXPECT_EQ(Tensor::zeros({0}, DType::f32, device).unique_with_counts().second.shape(), (Shape{0}));
  }
}

TEST(Masks, QuantizedTensorsAreRefusedByTheNameOfTheFunction) {
  const Tensor x = Tensor::from_bytes(std::vector<std::byte>(2 * 34), {2, 32}, DType::q8_0, Device::cpu());
  for (const auto& [name, call] : std::vector<std::pair<std::string, std::function<void()>>>{
           {"prod", [&] { (void)x.prod(1); }},
           {"cumprod", [&] { (void)x.cumprod(1); }},
           {"any", [&] { (void)x.any(1); }},
           {"isnan", [&] { (void)x.isnan(); }},
           {"masked_fill", [&] { (void)x.masked_fill(Tensor::zeros({32}, DType::u8, Device::cpu()), 1); }},
           {"nonzero", [&] { (void)x.nonzero(); }}}) {
    EXPECT_EQ(message_of(call).substr(0, name.size() + 1), name + ":");
  }
}

}  // namespace
}  // namespace wick
