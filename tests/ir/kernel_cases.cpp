#include "ir/kernel_cases.h"

#include <algorithm>
#include <cmath>

#include "ir/launch.h"
#include "kernels/attention.h"
#include "kernels/elementwise.h"
#include "kernels/linear.h"
#include "kernels/matmul.h"
#include "kernels/quantized_matvec.h"
#include "kernels/rows.h"
#include "quant/block_format.h"

namespace wick::ir {
namespace {

using kernels::BinaryOp;
using kernels::UnaryOp;
using Numbers = std::vector<double>;

// One rounding of the element type, relative.
double epsilon(Element element) {
  return element == Element::f16 ? 0x1p-10 : element == Element::bf16 ? 0x1p-7 : element == Element::f32 ? 0x1p-22 : 0;
}

// Numbers in [-1, 1) as the element holds them.
Numbers numbers(Element element, std::size_t count, uint32_t seed, double scale = 1) {
  Numbers values;
  for (const float v : test_numbers(count, seed)) values.push_back(static_cast<double>(v) * scale);
  if (!is_float(register_type(element))) {
    for (double& v : values) v = std::trunc(std::fabs(v) * 100);
  }
  Numbers held = numbers_of(element, input(element, values).bytes);
  held.resize(count);
  return held;
}

double apply(UnaryOp op, double x) {
  switch (op) {
    case UnaryOp::copy: return x;
    case UnaryOp::negate: return -x;
    case UnaryOp::absolute: return std::fabs(x);
    case UnaryOp::square: return x * x;
    case UnaryOp::square_root: return std::sqrt(x);
    case UnaryOp::exp: return std::exp(x);
    case UnaryOp::log: return std::log(x);
    case UnaryOp::sine: return std::sin(x);
    case UnaryOp::cosine: return std::cos(x);
    case UnaryOp::tanh: return std::tanh(x);
    case UnaryOp::sigmoid: return 1 / (1 + std::exp(-x));
    case UnaryOp::silu: return x / (1 + std::exp(-x));
    case UnaryOp::gelu: return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
    case UnaryOp::relu: return std::max(x, 0.0);
  }
  return 0;
}

// x[3][2][5][7] read through a transposition of its last two dimensions, from an offset.
KernelCase unary_case(UnaryOp op, Element in, Element out, const DeviceCaps& caps) {
  const bool positive = op == UnaryOp::log || op == UnaryOp::square_root;
  Numbers x = numbers(in, 3 + 210, 1, op == UnaryOp::sine || op == UnaryOp::cosine ? 100 : 8);
  if (positive) {
    for (double& v : x) v = std::fabs(v) + 0.25;
  }
  Numbers y;
  for (std::size_t a = 0; a < 3; ++a) {
    for (std::size_t b = 0; b < 2; ++b) {
      for (std::size_t c = 0; c < 7; ++c) {
        for (std::size_t d = 0; d < 5; ++d) y.push_back(apply(op, x[3 + a * 70 + b * 35 + d * 7 + c]));
      }
    }
  }
  if (!is_float(register_type(out))) {
    for (double& v : y) v = std::trunc(v);
  }
  const bool exact = op == UnaryOp::copy || op == UnaryOp::negate || op == UnaryOp::absolute || op == UnaryOp::relu;
  KernelCase result;
  result.kernel = kernels::unary(op, in, out, caps);
  result.name = result.kernel.name;
  result.grid = kernels::groups_for(result.kernel, y.size(), caps);
  const double absolute = exact ? 0 : op == UnaryOp::sine || op == UnaryOp::cosine ? 0x1p-19 : 0x1p-20;
  result.buffers = {input(in, x), output(out, y, absolute, epsilon(out) * (exact ? (in == out ? 0 : 1) : 4))};
  result.parameters = {210, 2, 7, 5, 3, 70, 35, 1, 7};
  return result;
}

// a[2][1][3][4] and b[1][5][1][4], repeated to [2][5][3][4].
KernelCase binary_case(BinaryOp op, Element element, const DeviceCaps& caps) {
  const Numbers a = numbers(element, 24, 2, 4), b = numbers(element, 20, 3, 4);
  Numbers y;
  for (std::size_t i = 0; i < 120; ++i) {
    const double x = a[i / 60 * 12 + i % 12], z = b[i / 12 % 5 * 4 + i % 4] + (op == BinaryOp::divide ? 5 : 0);
    switch (op) {
      case BinaryOp::add: y.push_back(x + z); break;
      case BinaryOp::subtract: y.push_back(x - z); break;
      case BinaryOp::multiply: y.push_back(x * z); break;
      case BinaryOp::divide: y.push_back(x / z); break;
      case BinaryOp::minimum: y.push_back(std::min(x, z)); break;
      case BinaryOp::maximum: y.push_back(std::max(x, z)); break;
    }
  }
  Numbers shifted = b;
  if (op == BinaryOp::divide) {
    for (double& v : shifted) v += 5;
  }
  KernelCase result;
  result.kernel = kernels::binary(op, element, element, caps);
  result.name = result.kernel.name;
  result.grid = kernels::groups_for(result.kernel, y.size(), caps);
  result.buffers = {input(element, a), input(element, shifted), output(element, y, 0, epsilon(element) * 2)};
  result.parameters = {120, 5, 3, 4, 0, 12, 0, 4, 1, 0, 0, 4, 0, 1};
  return result;
}

KernelCase reduce_case(Reduce reduce, const DeviceCaps& caps) {
  const std::size_t rows = 3, columns = 300;
  const Numbers x = numbers(Element::f32, rows * columns, 4);
  Numbers y;
  for (std::size_t r = 0; r < rows; ++r) {
    const auto first = x.begin() + static_cast<std::ptrdiff_t>(r * columns), last = first + static_cast<std::ptrdiff_t>(columns);
    double sum = 0;
    for (auto i = first; i != last; ++i) sum += *i;
    y.push_back(reduce == Reduce::add ? sum : reduce == Reduce::minimum ? *std::min_element(first, last) : *std::max_element(first, last));
  }
  KernelCase result;
  result.kernel = kernels::reduce_rows(reduce, Element::f32, caps);
  result.name = result.kernel.name;
  result.grid = {3, 1, 1};
  result.buffers = {input(Element::f32, x), output(Element::f32, y, reduce == Reduce::add ? 1e-5 : 0)};
  result.parameters = {static_cast<uint32_t>(columns)};
  return result;
}

KernelCase softmax_case(Element element, const DeviceCaps& caps) {
  const std::size_t rows = 2, columns = 301;
  const Numbers x = numbers(element, rows * columns, 5, 10);
  Numbers y;
  for (std::size_t r = 0; r < rows; ++r) {
    double largest = -1e300, sum = 0;
    for (std::size_t c = 0; c < columns; ++c) largest = std::max(largest, x[r * columns + c]);
    for (std::size_t c = 0; c < columns; ++c) sum += std::exp(x[r * columns + c] - largest);
    for (std::size_t c = 0; c < columns; ++c) y.push_back(std::exp(x[r * columns + c] - largest) / sum);
  }
  KernelCase result;
  result.kernel = kernels::softmax(element, caps);
  result.name = result.kernel.name;
  result.grid = {2, 1, 1};
  result.buffers = {input(element, x), output(element, y, 1e-7, std::max(epsilon(element), 1e-5))};
  result.parameters = {static_cast<uint32_t>(columns)};
  return result;
}

KernelCase rms_norm_case(Element element, const DeviceCaps& caps) {
  const std::size_t rows = 2, columns = 96;
  const Numbers x = numbers(element, rows * columns, 6), w = numbers(element, columns, 7);
  Numbers y;
  for (std::size_t r = 0; r < rows; ++r) {
    double squares = 0;
    for (std::size_t c = 0; c < columns; ++c) squares += x[r * columns + c] * x[r * columns + c];
    for (std::size_t c = 0; c < columns; ++c) y.push_back(x[r * columns + c] / std::sqrt(squares / columns + 1e-5) * w[c]);
  }
  KernelCase result;
  result.kernel = kernels::rms_norm(element, caps);
  result.name = result.kernel.name;
  result.grid = {2, 1, 1};
  result.buffers = {input(element, x), input(element, w), output(element, y, 1e-6, std::max(epsilon(element), 1e-5))};
  result.parameters = {static_cast<uint32_t>(columns), parameter_bits(1e-5F)};
  return result;
}

Numbers product(const Numbers& a, const Numbers& b, std::size_t m, std::size_t n, std::size_t depth) {
  Numbers c(m * n);
  for (std::size_t i = 0; i < m * n; ++i) {
    for (std::size_t d = 0; d < depth; ++d) c[i] += a[i / n * depth + d] * b[d * n + i % n];
  }
  return c;
}

KernelCase matmul_case(const DeviceCaps& caps) {
  const uint32_t m = 70, n = 65, depth = 35;
  const Numbers a = numbers(Element::f32, std::size_t{m} * depth, 8), b = numbers(Element::f32, std::size_t{depth} * n, 9);
  KernelCase result;
  result.kernel = kernels::matmul_f32(caps);
  result.name = result.kernel.name;
  result.grid = {2, 2, 1};
  result.buffers = {input(Element::f32, a), input(Element::f32, b), output(Element::f32, product(a, b, m, n, depth), 1e-5)};
  result.parameters = {m, n, depth};
  return result;
}

KernelCase tiles_case(const TileShape& shape) {
  const TileShape block = kernels::tile_block(shape);
  const uint32_t m = block.m, n = 2 * block.n, depth = 2 * shape.k;
  const Numbers a = numbers(Element::f16, std::size_t{m} * depth, 10), b = numbers(Element::f16, std::size_t{depth} * n, 11);
  KernelCase result;
  result.kernel = kernels::matmul_tiles(shape, 32);
  result.name = result.kernel.name;
  result.grid = {2, 1, 1};
  result.buffers = {input(Element::f16, a), input(Element::f16, b), output(Element::f32, product(a, b, m, n, depth), 1e-5)};
  result.parameters = {m, n, depth};
  return result;
}

// Activations as quantize_q8 makes them.
struct Quantized {
  Numbers bytes, scales, values;
};
Quantized quantized(const Numbers& x) {
  Quantized q;
  for (std::size_t block = 0; block < x.size() / 32; ++block) {
    float largest = 0;
    for (std::size_t i = 0; i < 32; ++i) largest = std::max(largest, static_cast<float>(std::fabs(x[block * 32 + i])));
    const float scale = largest / 127;
    q.scales.push_back(static_cast<double>(scale));
    for (std::size_t i = 0; i < 32; ++i) {
      q.bytes.push_back(largest > 0 ? std::round(x[block * 32 + i] * static_cast<double>(127 / largest)) : 0);
      q.values.push_back(q.bytes.back() * static_cast<double>(scale));
    }
  }
  return q;
}

KernelCase quantize_case(const DeviceCaps& caps) {
  const Numbers x = numbers(Element::f32, 96, 12, 3);
  const Quantized q = quantized(x);
  KernelCase result;
  result.kernel = kernels::quantize_q8(caps);
  result.name = result.kernel.name;
  // Four bytes a word; the bytes are compared as bytes.
  result.buffers = {input(Element::f32, x), output(Element::i8, q.bytes), output(Element::f32, q.scales, 0, 1e-6)};
  result.parameters = {0, 96};
  return result;
}

// y = x · wᵀ; tokens 0: in blocks, for three of them.
KernelCase linear_case(DType dtype, uint32_t tokens, const DeviceCaps& caps) {
  const uint32_t rows = 5, columns = 512, count = tokens == 0 ? 3 : tokens;
  const BlockFormat* format = find_block_format(dtype);
  std::vector<float> w;
  for (const double v : numbers(Element::f32, rows * columns, 13)) w.push_back(static_cast<float>(v));
  std::vector<std::byte> blocks(static_cast<std::size_t>(storage_bytes(dtype, rows * columns)));
  format->pack(w, blocks.data());
  format->unpack(blocks.data(), w);
  const Numbers x = numbers(Element::f32, count * columns, 14, 2);
  Numbers y(count * rows);
  for (std::size_t i = 0; i < y.size() * columns; ++i) {
    const std::size_t at = i / columns, c = i % columns;
    y[at] += static_cast<double>(w[at % rows * columns + c]) * x[at / rows * columns + c];
  }
  const kernels::LinearForm form{dtype, kernels::RowAccess::blocks, false};
  KernelCase result;
  result.kernel = tokens == 0 ? kernels::linear_blocks(form, caps) : kernels::matvec(form, tokens, caps);
  result.name = result.kernel.name;
  const uint32_t per_group = kernels::matvec_rows_per_group(caps);
  result.grid = {tokens == 0 ? 1 : (rows + per_group - 1) / per_group, 1, 1};
  result.buffers = {raw_input(Element::u32, std::move(blocks))};
  if (kernels::has_codebook(dtype)) {
    const std::vector<uint32_t> words = kernels::codebook_words(dtype);
    result.buffers.push_back(input(Element::u32, Numbers(words.begin(), words.end())));
  }
  result.buffers.push_back(input(Element::f32, x));
  result.buffers.push_back(output(Element::f32, y, 1e-3));
  result.parameters = {0, columns / 16, 1, 0, columns, rows, 0};
  if (tokens == 0) result.parameters.push_back(count);
  return result;
}

KernelCase matvec_case(DType dtype, const DeviceCaps& caps) {
  const std::size_t rows = 5, columns = 512;
  const BlockFormat* format = find_block_format(dtype);
  std::vector<float> w;
  for (const double v : numbers(Element::f32, rows * columns, 13)) w.push_back(static_cast<float>(v));
  std::vector<std::byte> blocks(static_cast<std::size_t>(storage_bytes(dtype, static_cast<int64_t>(rows * columns))));
  format->pack(w, blocks.data());
  format->unpack(blocks.data(), w);
  const Quantized x = quantized(numbers(Element::f32, columns, 14, 2));
  Numbers y(rows);
  for (std::size_t i = 0; i < rows * columns; ++i) y[i / columns] += static_cast<double>(w[i]) * x.values[i % columns];
  KernelCase result;
  result.kernel = dtype == DType::q8_0 ? kernels::matvec_q8_0(caps) : kernels::matvec_q4_k(caps);
  result.name = result.kernel.name;
  const uint32_t per_group = kernels::rows_per_group(result.kernel);
  result.grid = {(static_cast<uint32_t>(rows) + per_group - 1) / per_group, 1, 1};
  result.buffers = {raw_input(Element::u32, std::move(blocks)), input(Element::i8, x.bytes), input(Element::f32, x.scales),
                    output(Element::f32, y, 1e-3)};
  result.parameters = {static_cast<uint32_t>(columns) / static_cast<uint32_t>(info(dtype).block_elements), static_cast<uint32_t>(rows), 0,
                       0};
  return result;
}

// One token after 329, in three splits.
KernelCase attention_case(uint32_t rows, kernels::RowAccess access, const DeviceCaps& caps) {
  const std::size_t heads = 4, group = 2, dim = 64, length = 330, capacity = 340, splits = 3, split_length = kernels::attention_lanes(caps);
  const Numbers q = numbers(Element::f32, heads * dim, 15, 4), k = numbers(Element::f16, heads / group * capacity * dim, 16),
                v = numbers(Element::f16, heads / group * capacity * dim, 17);
  Numbers sums(heads * splits * dim), stats;
  for (std::size_t s = 0; s < heads * splits; ++s) {
    const std::size_t h = s / splits, begin = s % splits * split_length, end = std::min(begin + split_length, length);
    const std::size_t cache = h / group * capacity * dim;
    Numbers weights(end - begin);
    double largest = -1e300, sum = 0;
    for (std::size_t p = begin; p < end; ++p) {
      double& score = weights[p - begin];
      for (std::size_t d = 0; d < dim; ++d) score += 0.125 * q[h * dim + d] * k[cache + p * dim + d];
      largest = std::max(largest, score);
    }
    for (double& weight : weights) sum += weight = std::exp(weight - largest);
    for (std::size_t p = begin; p < end; ++p) {
      for (std::size_t d = 0; d < dim; ++d) sums[s * dim + d] += weights[p - begin] * v[cache + p * dim + d];
    }
    stats.push_back(largest);
    stats.push_back(sum);
  }
  KernelCase result;
  result.kernel = kernels::attention({DType::f16, access, rows, 1, true}, caps);
  result.name = result.kernel.name;
  result.grid = {static_cast<uint32_t>(group) / rows, static_cast<uint32_t>(heads / group), static_cast<uint32_t>(splits)};
  result.buffers = {input(Element::f32, q), input(Element::f16, k), input(Element::f16, v), output(Element::f32, sums, 1e-4),
                    output(Element::f32, stats, 1e-5, 1e-5)};
  const uint32_t head = capacity * dim;
  result.parameters = {dim,
                       0,
                       0,
                       head,
                       dim,
                       0,
                       head,
                       dim,
                       static_cast<uint32_t>(group),
                       static_cast<uint32_t>(heads),
                       length - 1,
                       static_cast<uint32_t>(group),
                       static_cast<uint32_t>(split_length),
                       parameter_bits(0.125F),
                       0};
  return result;
}

KernelCase attention_join_case(const DeviceCaps& caps) {
  const std::size_t heads = 3, splits = 5, dim = 64;
  const Numbers sums = numbers(Element::f32, heads * splits * dim, 18);
  Numbers stats = numbers(Element::f32, heads * splits * 2, 19, 4), out(heads * dim);
  for (std::size_t s = 0; s < heads * splits; ++s) stats[2 * s + 1] = std::fabs(stats[2 * s + 1]) + 1;
  for (std::size_t h = 0; h < heads; ++h) {
    double sum = 0;
    for (std::size_t s = h * splits; s < (h + 1) * splits; ++s) sum += std::exp(stats[2 * s]) * stats[2 * s + 1];
    for (std::size_t i = 0; i < splits * dim; ++i) {
      const std::size_t s = h * splits + i / dim;
      out[h * dim + i % dim] += std::exp(stats[2 * s]) * sums[s * dim + i % dim] / sum;
    }
  }
  KernelCase result;
  result.kernel = kernels::attention_join(caps);
  result.name = result.kernel.name;
  result.grid = {static_cast<uint32_t>(heads), 1, 1};
  result.buffers = {input(Element::f32, sums), input(Element::f32, stats), output(Element::f32, out, 1e-5)};
  result.parameters = {static_cast<uint32_t>(dim), static_cast<uint32_t>(splits), 0};
  return result;
}

}  // namespace

std::vector<KernelCase> kernel_cases(const DeviceCaps& caps) {
  std::vector<KernelCase> cases;
  for (int op = 0; op <= static_cast<int>(UnaryOp::relu); ++op)
    cases.push_back(unary_case(static_cast<UnaryOp>(op), Element::f32, Element::f32, caps));
  cases.push_back(unary_case(UnaryOp::silu, Element::f16, Element::f16, caps));
  cases.push_back(unary_case(UnaryOp::exp, Element::bf16, Element::f32, caps));
  cases.push_back(unary_case(UnaryOp::copy, Element::f32, Element::i8, caps));
  cases.push_back(unary_case(UnaryOp::copy, Element::u8, Element::bf16, caps));
  for (int op = 0; op <= static_cast<int>(BinaryOp::maximum); ++op)
    cases.push_back(binary_case(static_cast<BinaryOp>(op), Element::f32, caps));
  cases.push_back(binary_case(BinaryOp::multiply, Element::f16, caps));
  for (const Reduce reduce : {Reduce::add, Reduce::minimum, Reduce::maximum}) cases.push_back(reduce_case(reduce, caps));
  cases.push_back(softmax_case(Element::f32, caps));
  cases.push_back(softmax_case(Element::f16, caps));
  cases.push_back(rms_norm_case(Element::f32, caps));
  cases.push_back(rms_norm_case(Element::bf16, caps));
  cases.push_back(matmul_case(caps));
  cases.push_back(tiles_case(caps.tiles.empty() ? TileShape{8, 8, 8} : caps.tiles.front()));
  cases.push_back(quantize_case(caps));
  cases.push_back(matvec_case(DType::q8_0, caps));
  cases.push_back(matvec_case(DType::q4_k, caps));
  for (const kernels::RowAccess access : {kernels::RowAccess::vectors, kernels::RowAccess::elements}) {
    cases.push_back(attention_case(1, access, caps));
    cases.push_back(attention_case(2, access, caps));
  }
  cases.push_back(linear_case(DType::q6_k, 2, caps));
  cases.push_back(linear_case(DType::iq4_nl, 1, caps));
  cases.push_back(linear_case(DType::q4_k, 0, caps));
  cases.push_back(attention_join_case(caps));
  return cases;
}

}  // namespace wick::ir
