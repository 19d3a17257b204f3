// One CPU device used by several threads at once: calls take turns on its thread pool, and their scratch memory is their own.
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "wick/quant/block_format.h"
#include "wick/tensor/ops/attention.h"
#include "wick/tensor/ops/linear.h"
#include "wick/tensor/ops/matmul.h"
#include "wick/tensor/ops/normalize.h"

namespace wick {
namespace {

Tensor ramp(const Shape& shape, DType dtype, const Device& device) {
  std::vector<float> values(static_cast<size_t>(shape.elements()));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(static_cast<int>(i * 37 % 101) - 50) / 50;
  if (!is_quantized(dtype)) return Tensor::from_vector(values, shape, device);
  std::vector<std::byte> bytes(static_cast<size_t>(storage_bytes(dtype, shape.elements())));
  find_block_format(dtype)->pack(values, bytes.data());
  return Tensor::from_bytes(bytes, shape, dtype, device);
}

// A few ops that borrow scratch memory, on operands whose sizes depend on `number`.
std::vector<std::vector<std::byte>> work(int number, const Device& device) {
  const int64_t rows = 1 + number;
  const Tensor x = ramp({rows, 256}, DType::f32, device);
  const Tensor weight = ramp({33 + number, 256}, DType::q8_0, device);
  prepare_weight(weight);  // at any time: beside these ops, or those of another thread
  const Tensor cache = ramp({2, 40, 16}, DType::f32, device);
  const Tensor query = ramp({rows + 4, 4, 16}, DType::f32, device);
  return {linear(x, weight).to_bytes(), gated_linear(x, weight, weight).to_bytes(), softmax_last_dim(x.transpose(0, 1)).to_bytes(),
          matmul(x, x.transpose(0, 1)).to_bytes(), attention(query, cache, cache, {0.25F, 3}).to_bytes()};
}

TEST(CpuConcurrency, ThreadsThatShareADeviceGetTheResultsOfOneAlone) {
  const Device device = Device::open({DeviceKind::cpu, 0}, {2, ""});
  constexpr int kThreads = 4;
  std::vector<std::vector<std::vector<std::byte>>> expected;
  for (int number = 0; number < kThreads; ++number) expected.push_back(work(number, device));
  std::vector<int> wrong(kThreads, 0);
  std::vector<std::thread> threads;
  for (int number = 0; number < kThreads; ++number) {
    threads.emplace_back([&, number] {
      for (int round = 0; round < 30; ++round) {
        if (work(number, device) != expected[static_cast<size_t>(number)]) ++wrong[static_cast<size_t>(number)];
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(kThreads, 0));
}

}  // namespace
}  // namespace wick
