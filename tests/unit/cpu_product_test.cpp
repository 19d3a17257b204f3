// The register tiles and packing loops of matrix products, for every instruction set that runs here.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <random>
#include <vector>

#include "wick/backend/cpu/simd/simd_kernels.h"
#include "wick/device/device.h"
#include "wick/quant/block_format.h"
#include "wick/tensor/ops/linear.h"
#include "wick/tensor/ops/matmul.h"

namespace wick::cpu {
namespace {

template <class Packed>
Packed packed_value(int number);
template <>
float packed_value<float>(int number) {
  return static_cast<float>(number);
}
template <>
double packed_value<double>(int number) {
  return number;
}
// The pair (number, -1).
template <>
uint32_t packed_value<uint32_t>(int number) {
  return bf16(static_cast<float>(number)).bits | static_cast<uint32_t>(bf16(-1.0F).bits) << 16;
}

double dot(float a, float b) { return static_cast<double>(a) * b; }
double dot(double a, double b) { return a * b; }
double dot(uint32_t a, uint32_t b) {
  const auto half = [](uint32_t bits) { return static_cast<double>(bf16_bits_to_float(static_cast<uint16_t>(bits))); };
  return half(a & 0xffff) * half(b & 0xffff) + half(a >> 16) * half(b >> 16);
}

// Small whole numbers, so that every sum is exact and any wrong lane shows.
template <class Packed, class Sum>
void expect_exact_tiles(const ProductTile<Packed, Sum>& tile, int64_t k, bool accumulate) {
  std::vector<Packed> a(static_cast<size_t>((tile.rows + 1) * kProductStride));
  std::vector<Packed> b(static_cast<size_t>(k * tile.columns));
  for (size_t i = 0; i < a.size(); ++i) a[i] = packed_value<Packed>(static_cast<int>(i * 7 % 11) - 5);
  for (size_t i = 0; i < b.size(); ++i) b[i] = packed_value<Packed>(static_cast<int>(i * 5 % 13) - 6);
  for (int64_t rows = 1; rows <= tile.rows; ++rows) {
    for (int64_t columns = 1; columns <= tile.columns; ++columns) {
      const int64_t stride = columns + 3;
      std::vector<Sum> c(static_cast<size_t>(rows * stride), Sum{100});
      tile.multiply(a.data(), {b.data(), tile.columns, k, tile.columns}, {c.data(), stride, rows, columns}, accumulate, nullptr);
      for (int64_t row = 0; row < rows; ++row) {
        for (int64_t column = 0; column < stride; ++column) {
          double expected = accumulate || column >= columns ? 100 : 0;
          for (int64_t i = 0; i < k && column < columns; ++i) {
            expected += dot(a[static_cast<size_t>(row * kProductStride + i)], b[static_cast<size_t>(i * tile.columns + column)]);
          }
          ASSERT_EQ(static_cast<double>(c[static_cast<size_t>(row * stride + column)]), expected)
              << rows << " rows, " << columns << " columns, element " << row << ", " << column;
        }
      }
    }
  }
}

TEST(CpuProduct, TilesOfEverySizeAreExactOnWholeNumbers) {
  for (const InstructionSet set : usable_instruction_sets()) {
    SCOPED_TRACE(to_string(set));
    const ProductKernels& product = simd_kernels(set).product;
    for (const bool accumulate : {false, true}) {
      for (const int64_t k : {1, 2, 37}) {
        expect_exact_tiles(product.f32, k, accumulate);
        expect_exact_tiles(product.f64, k, accumulate);
        if (product.bf16_pairs.multiply != nullptr) expect_exact_tiles(product.bf16_pairs, k, accumulate);
      }
    }
  }
}

TEST(CpuProduct, TransposeMovesEachElement) {
  for (const InstructionSet set : usable_instruction_sets()) {
    const ProductKernels& product = simd_kernels(set).product;
    for (int64_t rows = 1; rows < 20; ++rows) {
      const int64_t columns = 23 - rows;
      std::vector<float> in(static_cast<size_t>(rows * 24));
      for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i);
      std::vector<float> out(static_cast<size_t>(columns * rows));
      product.f32.transpose({in.data(), 24, rows, columns}, out.data(), rows);
      for (int64_t row = 0; row < rows; ++row) {
        for (int64_t column = 0; column < columns; ++column) {
          ASSERT_EQ(out[static_cast<size_t>(column * rows + row)], static_cast<float>(row * 24 + column)) << to_string(set);
        }
      }
    }
  }
}

std::vector<std::byte> product_bytes(int threads, DType dtype, const Shape& left, const Shape& right) {
  const Device device = Device::open({DeviceKind::cpu, 0}, {.threads = threads, .variant = {}});
  std::mt19937 generator(3);
  const auto random = [&](const Shape& shape) {
    std::vector<std::byte> bytes(static_cast<size_t>(storage_bytes(dtype, shape.elements())));
    std::vector<float> values(static_cast<size_t>(shape.elements()));
    for (float& value : values) value = std::normal_distribution<float>()(generator);
    for (size_t i = 0; i < values.size(); ++i) {
      if (dtype == DType::f32) std::memcpy(bytes.data() + i * 4, &values[i], 4);
      if (dtype == DType::f64) std::memcpy(bytes.data() + i * 8, std::vector<double>{values[i]}.data(), 8);
      const bf16 narrow(values[i]);
      if (dtype == DType::bf16) std::memcpy(bytes.data() + i * 2, &narrow, 2);
    }
    return Tensor::from_bytes(bytes, shape, dtype, device);
  };
  const Tensor lhs = random(left);
  const Tensor rhs = random(right);
  const Tensor result = matmul(lhs, rhs);
  std::vector<std::byte> bytes(static_cast<size_t>(storage_bytes(dtype, result.elements())));
  device.runtime().queue().download(result.storage()->buffer(), 0, bytes.data(), bytes.size());
  return bytes;
}

TEST(CpuProduct, TheNumberOfThreadsChangesNoBit) {
  for (const DType dtype : {DType::f32, DType::f64, DType::bf16}) {
    for (const auto& [left, right] : std::vector<std::pair<Shape, Shape>>{
             {{131, 301}, {301, 143}}, {{3, 65, 300}, {3, 300, 67}}, {{2, 1000}, {1000, 1500}}, {{1500, 999}, {999, 1}}}) {
      const std::vector<std::byte> alone = product_bytes(1, dtype, left, right);
      for (const int threads : {2, 3, 5}) EXPECT_EQ(product_bytes(threads, dtype, left, right), alone) << threads << to_string(dtype);
    }
  }
}

std::vector<float> normal_numbers(int64_t count, uint32_t seed) {
  std::mt19937 generator(seed);
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) value = std::normal_distribution<float>()(generator);
  return values;
}

std::vector<std::byte> packed_numbers(DType dtype, int64_t count, uint32_t seed) {
  std::vector<std::byte> bytes(static_cast<size_t>(storage_bytes(dtype, count)));
  find_block_format(dtype)->pack(normal_numbers(count, seed), bytes.data());
  return bytes;
}

// The threads take ranges of weight rows in another order each time.
TEST(CpuProduct, NeitherThreadsNorTheirTurnsChangeABitOfProductsWithWeights) {
  const Shape shape{520, 256};
  for (const DType dtype : {DType::f16, DType::bf16, DType::q8_0, DType::q4_0, DType::q4_k, DType::q6_k, DType::iq4_nl, DType::tq2_0}) {
    const std::array bytes{packed_numbers(dtype, shape.elements(), 1), packed_numbers(dtype, shape.elements(), 2)};
    for (const int64_t rows : {1, 3, 40}) {
      std::vector<std::vector<std::byte>> alone;
      for (const int threads : {1, 2, 3, 5}) {
        const Device device = Device::open({DeviceKind::cpu, 0}, {.threads = threads, .variant = {}});
        const Tensor x = Tensor::from_vector(normal_numbers(rows * shape.last(), 3), {rows, shape.last()}, device);
        const Tensor gate = Tensor::from_bytes(bytes[0], shape, dtype, device);
        const Tensor up = Tensor::from_bytes(bytes[1], shape, dtype, device);
        for (const Tensor& weight : {gate, up}) prepare_weight(weight);
        device.runtime().finish_preparing();
        for (int turn = 0; turn < 3; ++turn) {
          std::vector<std::vector<std::byte>> results{gated_linear(x, gate, up).to_bytes()};
          for (const Tensor& product : linear(x, std::array{&gate, &up})) results.push_back(product.to_bytes());
          if (alone.empty()) alone = results;
          EXPECT_EQ(results, alone) << to_string(dtype) << ", rows " << rows << ", threads " << threads;
        }
      }
    }
  }
}

}  // namespace
}  // namespace wick::cpu
