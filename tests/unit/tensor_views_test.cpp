// Views of quantized tensors, and the errors of ops whose operands do not belong together.
#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "unit/message_of.h"
#include "wick/base/error.h"
#include "wick/quant/block_format.h"
#include "wick/tensor/ops/attention.h"
#include "wick/tensor/ops/binary.h"
#include "wick/tensor/ops/copy.h"
#include "wick/tensor/ops/embedding.h"
#include "wick/tensor/ops/linear.h"
#include "wick/tensor/ops/matmul.h"
#include "wick/tensor/ops/normalize.h"
#include "wick/tensor/ops/rope.h"

namespace wick {
namespace {

Tensor quantized(const Shape& shape, DType dtype) {
  std::vector<float> values(static_cast<size_t>(shape.elements()));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 97) - 48;
  std::vector<std::byte> bytes(static_cast<size_t>(storage_bytes(dtype, shape.elements())));
  find_block_format(dtype)->pack(values, bytes.data());
  return Tensor::from_bytes(bytes, shape, dtype, Device::cpu());
}

TEST(QuantizedTensor, ViewsOfWholeRowsReadTheirRows) {
  const Tensor base = quantized({6, 64}, DType::q8_0);
  const std::vector<float> all = base.to_vector<float>();
  const std::vector<float> rows(all.begin() + 2 * 64, all.begin() + 5 * 64);
  EXPECT_EQ(base.narrow(0, 2, 3).to_vector<float>(), rows);
  EXPECT_EQ(base.reshape({2, 3, 64}).transpose(0, 1).narrow(0, 0, 1).to_vector<float>(), [&] {
    std::vector<float> two(all.begin(), all.begin() + 64);
    two.insert(two.end(), all.begin() + 3 * 64, all.begin() + 4 * 64);
    return two;
  }());
  EXPECT_EQ(base.reshape({12, 32}).to_vector<float>(), all);
}

TEST(QuantizedTensor, ViewsThatWouldTearBlocksAreRefused) {
  const Tensor base = quantized({4, 64}, DType::q4_0);
  for (const std::function<void()>& tear : std::vector<std::function<void()>>{
           [&] { (void)base.narrow(1, 0, 32); }, [&] { (void)base.narrow(1, 5, 32); }, [&] { (void)base.transpose(0, 1); },
           [&] { (void)base.flip(1); }, [&] { (void)base.unsqueeze(2); }, [&] { (void)base.permute({1, 0}); }}) {
    const std::string text = message_of(ErrorCode::unsupported, tear);
    EXPECT_NE(text.find("Tensor[[4, 64], q4_0]"), std::string::npos) << text;
    EXPECT_NE(text.find("to_dtype"), std::string::npos) << text;
  }
  (void)message_of(ErrorCode::shape_mismatch, [&] { (void)base.reshape({16, 16}); });
}

TEST(Dispatch, OperandsOfTwoDevicesAreRefusedByEveryOpThatTakesSeveral) {
  const Device null = Device::null();
  const Device cpu = Device::cpu();
  const auto there = [&](const Shape& shape, DType dtype = DType::f32) { return Tensor::zeros(shape, dtype, null); };
  const auto here = [&](const Shape& shape, DType dtype = DType::f32) { return Tensor::zeros(shape, dtype, cpu); };
  for (const std::function<void()>& mix : std::vector<std::function<void()>>{
           [&] { (void)here({2}).add(there({2})); }, [&] { (void)there({2}).add(here({2})); }, [&] { copy(here({2}), there({2})); },
           [&] { (void)matmul(here({2, 2}), there({2, 2})); }, [&] { (void)rms_norm(here({1, 2}), there({2}), 1e-5F); },
           [&] { (void)rope(here({1, 1, 4}), there({1, 2, 2}), RopeStyle::interleaved); },
           [&] { (void)embedding(there({2, 2}), here({1}, DType::u32)); }, [&] { (void)embedding(here({2, 2}), there({1}, DType::u32)); },
           [&] { (void)linear(here({1, 4}), there({2, 4})); }, [&] { (void)linear(there({1, 4}), here({2, 4})); },
           [&] { (void)gated_linear(here({1, 4}), here({2, 4}), there({2, 4})); },
           [&] { (void)attention(here({1, 1, 4}), here({1, 2, 4}), there({1, 2, 4}), {1, 0}); }}) {
    const std::string text = message_of(ErrorCode::device_mismatch, mix);
    EXPECT_NE(text.find("cpu"), std::string::npos) << text;
    EXPECT_NE(text.find("null"), std::string::npos) << text;
  }
}

TEST(Dispatch, AsksForShapesThatFit) {
  const Device cpu = Device::cpu();
  const auto zeros = [&](const Shape& shape, DType dtype = DType::f32) { return Tensor::zeros(shape, dtype, cpu); };
  const std::string text = message_of(ErrorCode::shape_mismatch, [&] { (void)matmul(zeros({2, 3, 4096}), zeros({2, 4095, 8})); });
  EXPECT_NE(text.find("4096"), std::string::npos);
  EXPECT_NE(text.find("4095"), std::string::npos);
  (void)message_of(ErrorCode::shape_mismatch, [&] { (void)matmul(zeros({3}), zeros({3, 2})); });
  (void)message_of(ErrorCode::shape_mismatch, [&] { (void)matmul(zeros({2, 2, 3}), zeros({3, 3, 2})); });
  (void)message_of(ErrorCode::dtype_mismatch, [&] { (void)matmul(zeros({2, 3}), zeros({3, 2}, DType::f16)); });
  (void)message_of(ErrorCode::shape_mismatch, [&] { (void)zeros({3}).add(zeros({4})); });
  (void)message_of(ErrorCode::dtype_mismatch, [&] { (void)zeros({3}).add(zeros({3}, DType::f64)); });
  (void)message_of(ErrorCode::shape_mismatch, [&] { (void)linear(zeros({1, 5}), zeros({2, 4})); });
  (void)message_of(ErrorCode::dtype_mismatch, [&] { (void)linear(zeros({1, 4}), zeros({2, 4}, DType::i32)); });
  (void)message_of(ErrorCode::shape_mismatch, [&] { (void)zeros({2, 0}).argmax(-1); });
  (void)message_of(ErrorCode::shape_mismatch, [&] { (void)rms_norm(zeros({2, 4}), zeros({3}), 1e-5F); });
  (void)message_of(ErrorCode::shape_mismatch, [&] { (void)attention(zeros({2, 3, 4}), zeros({2, 9, 4}), zeros({2, 9, 4}), {1, 0}); });
  (void)message_of(ErrorCode::shape_mismatch, [&] { (void)attention(zeros({2, 2, 4}), zeros({2, 9, 4}), zeros({2, 9, 4}), {1, 8}); });
  (void)message_of(ErrorCode::shape_mismatch, [&] { (void)attention(zeros({2, 2, 4}), zeros({2, 9, 4}), zeros({2, 9, 4}), {1, -1}); });
}

TEST(NullDevice, CountsThePeakOfWhatARunWouldAllocate) {
  const Device null = Device::null();
  const size_t before = null.runtime().allocated_bytes();
  {
    const Tensor x = Tensor::zeros({1024, 1024}, DType::f32, null);
    const Tensor y = matmul(x, x);
    EXPECT_EQ(null.runtime().allocated_bytes() - before, size_t{8} << 20);
    EXPECT_EQ(y.shape(), (Shape{1024, 1024}));
  }
  EXPECT_EQ(null.runtime().allocated_bytes(), before);
  EXPECT_GE(null.runtime().peak_allocated_bytes(), before + (size_t{8} << 20));
}

}  // namespace
}  // namespace wick
