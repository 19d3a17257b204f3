#include "ir/kernel_cases.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "ir/launch.h"
#include "wick/base/fail.h"
#include "wick/kernels/attention.h"
#include "wick/kernels/attention_lanes.h"
#include "wick/kernels/attention_tiles.h"
#include "wick/kernels/causal_conv.h"
#include "wick/kernels/conversions.h"
#include "wick/kernels/cumsum.h"
#include "wick/kernels/elementwise.h"
#include "wick/kernels/linear.h"
#include "wick/kernels/linear_lanes.h"
#include "wick/kernels/linear_tiles.h"
#include "wick/kernels/math.h"
#include "wick/kernels/matmul.h"
#include "wick/kernels/normalize.h"
#include "wick/kernels/numbers.h"
#include "wick/kernels/quantized_matvec.h"
#include "wick/kernels/random.h"
#include "wick/kernels/recurrent_step.h"
#include "wick/kernels/reduce.h"
#include "wick/kernels/rope.h"
#include "wick/kernels/strided.h"
#include "wick/op/philox.h"
#include "wick/quant/block_format.h"

namespace wick::ir {
namespace {

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

using Function1 = Value (*)(const Value&);
struct UnaryFunction {
  const char* name;
  Function1 function;
  double (*expected)(double);
  double scale;     // of the arguments; 0: positive ones
  double absolute;  // error allowed beside a few units in the last place, in those of 1
};

const UnaryFunction kUnaryFunctions[] = {
    {"negate", [](const Value& x) { return -x; }, [](double x) { return -x; }, 8, 0},
    {"round", kernels::round, [](double x) { return std::round(x); }, 8, 0},
    {"sqrt", kernels::sqrt, [](double x) { return std::sqrt(x); }, 0, 0},
    {"exp", kernels::exp, [](double x) { return std::exp(x); }, 8, 0},
    {"log", kernels::log, [](double x) { return std::log(x); }, 0, 0},
    {"sin", kernels::sin, [](double x) { return std::sin(x); }, 0x1p18, 4},
    {"cos", kernels::cos, [](double x) { return std::cos(x); }, 100, 4},
    {"tanh", kernels::tanh, [](double x) { return std::tanh(x); }, 8, 0},
    {"erf", kernels::erf, [](double x) { return std::erf(x); }, 4, 1},
    {"gelu", kernels::gelu, [](double x) { return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))); }, 4, 8},
    {"softplus", kernels::softplus, [](double x) { return std::log1p(std::exp(x)); }, 8, 0},
    {"mish", kernels::mish, [](double x) { return x * std::tanh(std::log1p(std::exp(x))); }, 8, 0},
    {"silu", kernels::silu, [](double x) { return x / (1 + std::exp(-x)); }, 8, 0},
    {"atan", kernels::atan, [](double x) { return std::atan(x); }, 8, 0},
    {"asinh", kernels::asinh, [](double x) { return std::asinh(x); }, 8, 0},
    {"acosh", [](const Value& x) { return kernels::acosh(x + 1.0); }, [](double x) { return std::acosh(x + 1); }, 0, 4},
    {"sinh", kernels::sinh, [](double x) { return std::sinh(x); }, 2, 0},
    {"expm1", kernels::expm1, [](double x) { return std::expm1(x); }, 2, 0},
    {"exp2", kernels::exp2, [](double x) { return std::exp2(x); }, 4, 0},
    {"log2", kernels::log2, [](double x) { return std::log2(x); }, 0, 0},
    {"log10", kernels::log10, [](double x) { return std::log10(x); }, 0, 0},
    {"log1p", kernels::log1p, [](double x) { return std::log1p(x); }, 0, 0},
};

Element element_of(DType dtype) { return kernels::element_of(dtype); }

// x[3][2][5][7] read through a transposition of its last two dimensions, from an offset.
KernelCase strided_case(const kernels::Elementwise& op, const Numbers& x, const std::function<double(double)>& expected, double absolute,
                        double relative, const DeviceCaps& caps) {
  Numbers y;
  for (std::size_t a = 0; a < 3; ++a) {
    for (std::size_t b = 0; b < 2; ++b) {
      for (std::size_t c = 0; c < 7; ++c) {
        for (std::size_t d = 0; d < 5; ++d) y.push_back(expected(x[3 + a * 70 + b * 35 + d * 7 + c]));
      }
    }
  }
  KernelCase result;
  result.kernel = kernels::elementwise(op, 1, caps);
  result.name = result.kernel.name;
  result.grid = kernels::groups_for(result.kernel, y.size(), caps);
  result.buffers = {input(element_of(op.inputs[0]), x), output(element_of(op.output), y, absolute, relative)};
  result.parameters = {210, 2, 7, 5, 3, 70, 35, 1, 7, 0, 70, 35, 5, 1};
  return result;
}

KernelCase unary_case(const UnaryFunction& f, DType dtype, const DeviceCaps& caps) {
  const Element element = element_of(dtype);
  Numbers x = numbers(element, 3 + 210, 1, f.scale == 0 ? 8 : f.scale);
  if (f.scale == 0) {
    for (double& v : x) v = std::fabs(v) + 0.25;
  }
  // Arguments up to 8, in the exponent of exp.
  const double unit = dtype == DType::f64 ? 0x1p-52 : 0x1p-23;
  const kernels::Elementwise op{std::string(f.name) + "_" + std::string(to_string(dtype)),     {dtype}, dtype, 0, Type::f32,
                                [&](auto values, auto /*p*/) { return f.function(values[0]); }};
  return strided_case(op, x, f.expected, f.absolute * unit, 20 * unit + epsilon(element), caps);
}

KernelCase convert_case(DType from, DType to, const DeviceCaps& caps) {
  const Numbers x = numbers(element_of(from), 3 + 210, 1, 300);
  const kernels::Elementwise op{"copy_" + std::string(to_string(from)) + "_" + std::string(to_string(to)),     {from}, to, 0, Type::f32,
                                [&](auto values, auto /*p*/) { return kernels::convert(values[0], from, to); }};
  const auto expected = [&](double v) { return to == DType::i8 ? std::clamp(std::trunc(v), -128.0, 127.0) : v; };
  return strided_case(op, x, expected, 0, epsilon(element_of(to)), caps);
}

using Function2 = Value (*)(const Value&, const Value&);
struct BinaryFunction {
  const char* name;
  Function2 function;
  double (*expected)(double, double);
};
const BinaryFunction kBinaryFunctions[] = {
    {"add", [](const Value& a, const Value& b) { return a + b; }, [](double a, double b) { return a + b; }},
    {"multiply", [](const Value& a, const Value& b) { return a * b; }, [](double a, double b) { return a * b; }},
    {"divide", [](const Value& a, const Value& b) { return a / b; }, [](double a, double b) { return a / b; }},
    {"pow", [](const Value& a, const Value& b) { return kernels::pow(abs(a), b); },
     [](double a, double b) { return std::pow(std::fabs(a), b); }},
    {"fmod", kernels::fmod, [](double a, double b) { return std::fmod(a, b); }},
    {"atan2", kernels::atan2, [](double a, double b) { return std::atan2(a, b); }},
};

// a[2][1][3][4] and b[1][5][1][4], repeated to [2][5][3][4]; by lanes of one element and of four.
KernelCase binary_case(const BinaryFunction& f, DType dtype, uint32_t width, const DeviceCaps& caps) {
  const Element element = element_of(dtype);
  const Numbers a = numbers(element, 24, 2, 4);
  Numbers b = numbers(element, 20, 3, 4), y;
  for (double& v : b) v += 5;
  for (std::size_t i = 0; i < 120; ++i) y.push_back(f.expected(a[i / 60 * 12 + i % 12], b[i / 12 % 5 * 4 + i % 4]));
  const kernels::Elementwise op{
      std::string(f.name) + "_" + std::string(to_string(dtype)), {dtype, dtype}, dtype, 0, Type::f32, [&](auto values, auto /*p*/) {
        return f.function(values[0], values[1]);
      }};
  KernelCase result;
  result.kernel = kernels::elementwise(op, width, caps);
  result.name = result.kernel.name;
  result.grid = kernels::groups_for(result.kernel, y.size(), caps);
  result.buffers = {input(element, a), input(element, b), output(element, y, 0, epsilon(element) * 2 + 0x1p-18)};
  if (width == 1) {
    result.parameters = {120, 5, 3, 4, 0, 12, 0, 4, 1, 0, 0, 4, 0, 1, 0, 60, 12, 4, 1};
  } else {
    result.parameters = {30, 5, 3, 1, 0, 3, 0, 1, 1, 0, 0, 1, 0, 1, 0, 15, 3, 1, 1};
  }
  return result;
}

// Rows one behind the other, into a row-major result from its first element on.
std::vector<uint32_t> row_parameters(std::size_t rows, std::size_t columns) {
  const auto r = static_cast<uint32_t>(rows), c = static_cast<uint32_t>(columns);
  return {r, c, 0, r, 0, c, 1, 1, c, 0};
}

// The sum of each row, its largest element, or the place of its smallest.
KernelCase reduce_case(Reduce reduce, const DeviceCaps& caps) {
  const std::size_t rows = 3, columns = 300;
  const Numbers x = numbers(Element::f32, rows * columns, 4);
  Numbers y;
  for (std::size_t r = 0; r < rows; ++r) {
    const auto first = x.begin() + static_cast<std::ptrdiff_t>(r * columns), last = first + static_cast<std::ptrdiff_t>(columns);
    double sum = 0;
    for (auto i = first; i != last; ++i) sum += *i;
    const auto least = static_cast<double>(std::min_element(first, last) - first);
    y.push_back(reduce == Reduce::add ? sum : reduce == Reduce::minimum ? least : *std::max_element(first, last));
  }
  const bool sums = reduce == Reduce::add, gives_value = reduce == Reduce::maximum;
  KernelCase result;
  result.kernel = sums ? kernels::reduce_sum(DType::f32, DType::f32, kernels::RowLanes::group, caps)
                       : kernels::reduce_extreme({DType::f32, gives_value, false}, kernels::RowLanes::group, caps);
  result.name = result.kernel.name;
  result.grid = {3, 1, 1};
  result.buffers = {input(Element::f32, x), output(sums || gives_value ? Element::f32 : Element::u32, y, sums ? 1e-5 : 0)};
  result.parameters = row_parameters(rows, columns);
  result.parameters.push_back(sums ? 1 : gives_value ? ~0U : 0);
  return result;
}

KernelCase softmax_case(DType dtype, const DeviceCaps& caps) {
  const std::size_t rows = 2, columns = 301;
  const Element element = kernels::element_of(dtype);
  const Numbers x = numbers(element, rows * columns, 5, 10);
  Numbers y;
  for (std::size_t r = 0; r < rows; ++r) {
    double largest = -1e300, sum = 0;
    for (std::size_t c = 0; c < columns; ++c) largest = std::max(largest, x[r * columns + c]);
    for (std::size_t c = 0; c < columns; ++c) sum += std::exp(x[r * columns + c] - largest);
    for (std::size_t c = 0; c < columns; ++c) y.push_back(std::exp(x[r * columns + c] - largest) / sum);
  }
  KernelCase result;
  result.kernel = kernels::softmax(dtype, false, kernels::RowLanes::group, caps);
  result.name = result.kernel.name;
  result.grid = {2, 1, 1};
  result.buffers = {input(element, x), output(element, y, 1e-7, std::max(epsilon(element), 1e-5))};
  result.parameters = row_parameters(rows, columns);
  return result;
}

KernelCase rms_norm_case(DType dtype, DType norm_dtype, const DeviceCaps& caps) {
  const std::size_t rows = 2, columns = 96;
  const Element element = kernels::element_of(dtype);
  const Numbers x = numbers(element, rows * columns, 6), w = numbers(Element::f32, columns, 7);
  Numbers y;
  for (std::size_t r = 0; r < rows; ++r) {
    double squares = 0;
    for (std::size_t c = 0; c < columns; ++c) squares += x[r * columns + c] * x[r * columns + c];
    for (std::size_t c = 0; c < columns; ++c) y.push_back(x[r * columns + c] / std::sqrt(squares / columns + 1e-5) * w[c]);
  }
  KernelCase result;
  result.kernel = kernels::rms_norm(dtype, norm_dtype, kernels::RowLanes::group, caps);
  result.name = result.kernel.name;
  result.grid = {2, 1, 1};
  const Element norms = kernels::element_of(norm_dtype);
  result.buffers = {input(element, x), input(Element::f32, w), output(norms, y, 1e-6, std::max(epsilon(norms), 1e-5))};
  result.parameters = row_parameters(rows, columns);
  result.parameters.insert(result.parameters.end(), {0, parameter_bits(1e-5F)});
  return result;
}

// `held`: quads that a lane keeps; 0: none.
KernelCase add_rms_norm_case(DType dtype, DType norm_dtype, uint32_t width, uint32_t held, const DeviceCaps& caps) {
  const std::size_t rows = 2, columns = 96;
  const Element element = kernels::element_of(dtype);
  const Numbers x = numbers(element, rows * columns, 6), y = numbers(element, rows * columns, 8), w = numbers(Element::f32, columns, 7);
  Numbers sum, norm;
  for (std::size_t r = 0; r < rows; ++r) {
    double squares = 0;
    for (std::size_t c = 0; c < columns; ++c) {
      sum.push_back(x[r * columns + c] + y[r * columns + c]);
      squares += sum.back() * sum.back();
    }
    for (std::size_t c = 0; c < columns; ++c) norm.push_back(sum[r * columns + c] / std::sqrt(squares / columns + 1e-5) * w[c]);
  }
  KernelCase result;
  result.kernel = held > 0 ? kernels::add_rms_norm_held(norm_dtype, held, kernels::RowLanes::group, caps)
                           : kernels::add_rms_norm(dtype, norm_dtype, width, kernels::RowLanes::group, caps);
  result.name = result.kernel.name;
  result.grid = {2, 1, 1};
  const Element norms = kernels::element_of(norm_dtype);
  result.buffers = {input(element, x), input(element, y), input(Element::f32, w),
                    output(element, sum, 1e-6, std::max(epsilon(element), 1e-5)),
                    output(norms, norm, 1e-6, std::max(epsilon(norms), 1e-5))};
  result.parameters = row_parameters(rows, columns / width);
  result.parameters.insert(result.parameters.end(), {0, 0, 0, parameter_bits(1e-5F)});
  return result;
}

Numbers product(const Numbers& a, const Numbers& b, std::size_t m, std::size_t n, std::size_t depth) {
  Numbers c(m * n);
  for (std::size_t i = 0; i < m * n; ++i) {
    for (std::size_t d = 0; d < depth; ++d) c[i] += a[i / n * depth + d] * b[d * n + i % n];
  }
  return c;
}

// Row-major matrices, one product.
std::vector<uint32_t> matmul_parameters(uint32_t m, uint32_t n, uint32_t depth) {
  return {m, n, depth, 0, depth, 1, 0, 0, 0, n, 1, 0, 0, 0, 1, 0};
}

KernelCase matmul_case(const DeviceCaps& caps) {
  const uint32_t m = 70, n = 65, depth = 35;
  const Numbers a = numbers(Element::f32, std::size_t{m} * depth, 8), b = numbers(Element::f32, std::size_t{depth} * n, 9);
  KernelCase result;
  result.kernel = kernels::matmul_blocks(DType::f32, caps);
  result.name = result.kernel.name;
  const kernels::MatmulBlock block = kernels::matmul_block(caps);
  result.grid = {(n + block.columns - 1) / block.columns, (m + block.rows - 1) / block.rows, 1};
  result.buffers = {input(Element::f32, a), input(Element::f32, b), output(Element::f32, product(a, b, m, n, depth), 1e-5)};
  result.parameters = matmul_parameters(m, n, depth);
  return result;
}

KernelCase tiles_case(const DeviceCaps& caps) {
  const TileShape shape = caps.tiles.empty() ? TileShape{8, 8, 8} : caps.tiles.front();
  const TileShape block = kernels::tile_block(shape);
  const uint32_t m = block.m - 3, n = block.n + 8, depth = block.k + 8;
  const Numbers a = numbers(Element::f16, std::size_t{m} * depth, 10), b = numbers(Element::f16, std::size_t{depth} * n, 11);
  KernelCase result;
  result.kernel = kernels::matmul_tiles(shape, caps.tiles.empty() ? 32 : static_cast<uint32_t>(caps.max_subgroup_size));
  result.name = result.kernel.name;
  result.grid = {2, 1, 1};
  result.buffers = {input(Element::f16, a), input(Element::f16, b),
                    output(Element::f16, product(a, b, m, n, depth), 1e-5, epsilon(Element::f16))};
  result.parameters = matmul_parameters(m, n, depth);
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

// y = x · wᵀ, of a quantized weight.
struct LinearNumbers {
  static constexpr uint32_t rows = 5, columns = 512;
  std::vector<std::byte> blocks;
  Numbers x, y;

  LinearNumbers(DType dtype, uint32_t tokens, Element of_x) : x(numbers(of_x, tokens * columns, 14, 2)), y(tokens * rows) {
    const BlockFormat* format = find_block_format(dtype);
    std::vector<float> w;
    for (const double v : numbers(Element::f32, rows * columns, 13)) w.push_back(static_cast<float>(v));
    blocks.resize(static_cast<std::size_t>(storage_bytes(dtype, rows * columns)));
    format->pack(w, blocks.data());
    format->unpack(blocks.data(), w);
    for (std::size_t i = 0; i < y.size() * columns; ++i) {
      const std::size_t at = i / columns, c = i % columns;
      y[at] += static_cast<double>(w[at % rows * columns + c]) * x[at / rows * columns + c];
    }
  }
};

// Tokens 0: in blocks, for three of them.
KernelCase linear_case(DType dtype, uint32_t tokens, const DeviceCaps& caps) {
  const uint32_t count = tokens == 0 ? 3 : tokens;
  constexpr uint32_t rows = LinearNumbers::rows, columns = LinearNumbers::columns;
  auto [blocks, x, y] = LinearNumbers(dtype, count, Element::f32);
  const kernels::LinearForm form{dtype, kernels::RowAccess::blocks};
  KernelCase result;
  result.kernel = tokens == 0 ? kernels::linear_blocks(form, caps) : kernels::matvec(form, tokens, caps);
  result.name = result.kernel.name;
  const uint32_t per_group = kernels::matvec_rows_per_group(form, caps);
  result.grid = {tokens == 0 ? 1 : (rows + per_group - 1) / per_group, 1, 1};
  result.buffers = {raw_input(Element::u32, std::move(blocks))};
  if (kernels::has_codebook(dtype)) {
    const std::vector<uint32_t> words = kernels::codebook_words(dtype);
    result.buffers.push_back(input(Element::u32, Numbers(words.begin(), words.end())));
  }
  result.buffers.push_back(input(Element::f32, x));
  result.buffers.push_back(output(Element::f32, y, 1e-3));
  result.parameters = {0, columns / 16, 1, 0, columns, rows, 0, count};
  return result;
}

constexpr uint32_t kTileTokens = 11, kTileWords = 8;  // of the activations in halves

KernelCase halves_case(const DeviceCaps& caps) {
  const uint32_t columns = 70;
  const Numbers x = numbers(Element::f32, std::size_t{kTileTokens} * columns, 15, 3);
  Numbers halves(std::size_t{columns} * kTileWords * 2);
  for (std::size_t token = 0; token < kTileTokens; ++token) {
    for (std::size_t c = 0; c < columns; ++c) halves[c * kTileWords * 2 + token] = x[token * columns + c];
  }
  KernelCase result;
  result.kernel = kernels::halves_by_column(caps);
  result.name = result.kernel.name;
  result.grid = {(columns + kernels::kHalvesColumns - 1) / kernels::kHalvesColumns, 1, 1};
  result.buffers = {input(Element::f32, x), output(Element::f16, halves, 0, epsilon(Element::f16))};
  result.parameters = {0, columns, kTileTokens, kTileWords};
  return result;
}

KernelCase halves_of_weight_case(DType dtype, const DeviceCaps& caps) {
  constexpr uint32_t columns = LinearNumbers::columns, units = LinearNumbers::rows * columns / 16;
  auto [blocks, x, y] = LinearNumbers(dtype, 1, Element::f32);
  std::vector<float> weights(std::size_t{LinearNumbers::rows} * columns);
  find_block_format(dtype)->unpack(blocks.data(), weights);
  KernelCase result;
  result.kernel = kernels::halves_of_weight(dtype, caps);
  result.name = result.kernel.name;
  result.grid = {(units + result.kernel.group_size - 1) / result.kernel.group_size, 1, 1};
  result.buffers = {raw_input(Element::u32, std::move(blocks)),
                    output(Element::f16, Numbers(weights.begin(), weights.end()), 1e-7, epsilon(Element::f16))};
  result.parameters = {0, columns / 16, 1, columns, units};
  return result;
}

// By matrix tiles, the weights rounded to f16.
KernelCase linear_tiles_case(DType dtype, const kernels::LinearTiles& tiles) {
  constexpr uint32_t rows = LinearNumbers::rows, columns = LinearNumbers::columns;
  auto [blocks, x, y] = LinearNumbers(dtype, kTileTokens, Element::f16);
  Numbers halves(std::size_t{columns} * kTileWords * 2);
  for (std::size_t token = 0; token < kTileTokens; ++token) {
    for (std::size_t c = 0; c < columns; ++c) halves[c * kTileWords * 2 + token] = x[token * columns + c];
  }
  KernelCase result;
  result.kernel = kernels::linear_tiles({dtype, kernels::RowAccess::blocks}, tiles);
  result.name = result.kernel.name;
  result.buffers = {raw_input(Element::u32, std::move(blocks)), input(Element::f16, halves), output(Element::f32, y, 1e-2)};
  result.parameters = {0, columns / 16, 1, columns, rows, 0, kTileTokens, kTileWords};
  return result;
}

// By tiles that lanes set, from activations that halves_by_lane has put in order. Gated: one weight is gate and up.
KernelCase linear_lanes_case(DType dtype, const kernels::LaneGroup& group, bool gated, const DeviceCaps& caps) {
  constexpr uint32_t rows = LinearNumbers::rows, columns = LinearNumbers::columns, tokens = kTileTokens;
  auto [blocks, x, y] = LinearNumbers(dtype, tokens, Element::f16);
  if (gated) std::transform(y.begin(), y.end(), y.begin(), [](double v) { return v > 0 ? v * v * v : 0; });
  const kernels::LaneColumns order = *kernels::LaneColumns::of(dtype, kernels::RowAccess::blocks);
  const uint32_t chunks = columns / order.chunk(), token_blocks = (tokens + group.tokens() - 1) / group.tokens();
  const uint32_t vectors = kLaneTileLanes * order.quads() * chunks * group.token_tiles * token_blocks;
  KernelCase prepared;
  prepared.kernel = kernels::halves_by_lane(order, caps);
  prepared.grid = {(vectors + prepared.kernel.group_size - 1) / prepared.kernel.group_size, 1, 1};
  prepared.buffers = {input(Element::f32, x), output(Element::u32, Numbers(std::size_t{vectors} * 4))};
  prepared.parameters = {0, columns, tokens, vectors};
  KernelCase result;
  kernels::LinearForm form{dtype, kernels::RowAccess::blocks};
  if (gated) form.gate = GateKind::relu_sqr;
  result.kernel = kernels::linear_lanes(form, group);
  result.name = result.kernel.name;
  result.grid = {1, token_blocks, 1};
  result.buffers = {raw_input(Element::u32, std::move(blocks))};
  if (kernels::has_codebook(dtype)) {
    const std::vector<uint32_t> words = kernels::codebook_words(dtype);
    result.buffers.push_back(input(Element::u32, Numbers(words.begin(), words.end())));
  }
  if (gated) result.buffers.push_back(result.buffers[0]);
  result.buffers.push_back(raw_input(Element::u32, interpreted(prepared.kernel, prepared)[1]));
  // Weights and scales are rounded to f16.
  result.buffers.push_back(output(Element::f32, y, 3e-2, gated ? 1e-2 : 0));
  result.parameters = {0, columns / 16, 1, chunks, tokens, rows, 0};
  return result;
}

kernels::LaneGroup staged(kernels::LaneGroup group, DType dtype, const DeviceCaps& caps) {
  group.staged_quads = kernels::staged_quads_of(group, *kernels::LaneColumns::of(dtype, kernels::RowAccess::blocks), caps);
  WICK_ASSERT(group.staged_quads > 0);
  return group;
}

// rms_norm in two orders of lanes, for fewer rows than a tile has.
KernelCase norm_by_lane_case(const DeviceCaps& caps) {
  const std::size_t tokens = 3, columns = 512, rows = 8;
  const Numbers x = numbers(Element::f32, tokens * columns, 6), w = numbers(Element::f32, columns, 7);
  Numbers norm;
  for (std::size_t t = 0; t < tokens; ++t) {
    double squares = 0;
    for (std::size_t c = 0; c < columns; ++c) squares += x[t * columns + c] * x[t * columns + c];
    for (std::size_t c = 0; c < columns; ++c) norm.push_back(x[t * columns + c] / std::sqrt(squares / columns + 1e-5) * w[c]);
  }
  const std::array orders{*kernels::LaneColumns::of(DType::q4_k, kernels::RowAccess::blocks),
                          *kernels::LaneColumns::of(DType::f16, kernels::RowAccess::vectors)};
  KernelCase result;
  result.kernel = kernels::norm_by_lane(orders, 1, caps);
  result.name = result.kernel.name;
  result.grid = {static_cast<uint32_t>(rows), 1, 1};
  result.buffers = {input(Element::f32, x), input(Element::f32, w)};
  for (const kernels::LaneColumns& order : orders) {
    // What halves_by_lane makes of the row is tested by products; here of one of q4_k it is written down: quad q of lane t begins at column
    // 64 (t / 2 + q / 4 · 2) + 32 (q / 2 % 2) + 16 (t % 2) + 8 (q % 2) of 256, and of f16 at 32 q + 8 t of 64.
    Numbers halves(rows * columns);
    for (std::size_t t = 0; t < tokens; ++t) {
      for (std::size_t unit = 0; unit < columns / 8; ++unit) {
        const std::size_t lane = unit % 4, quad = unit / 4;
        const std::size_t first =
            order.interleaved() ? quad / 8 * 256 + (lane / 2 + quad % 8 / 4 * 2) * 64 + quad / 2 % 2 * 32 + lane % 2 * 16 + quad % 2 * 8
                                : quad * 32 + lane * 8;
        const std::array<std::size_t, 8> places =
            order.interleaved() ? std::array<std::size_t, 8>{0, 2, 1, 3, 4, 6, 5, 7} : std::array<std::size_t, 8>{0, 1, 2, 3, 4, 5, 6, 7};
        for (std::size_t i = 0; i < 8; ++i) halves[(quad * 32 + t * 4 + lane) * 8 + i] = norm[t * columns + first + places[i]];
      }
    }
    result.buffers.push_back(output(Element::f16, halves, 1e-3, 1e-3));
  }
  result.parameters = {0, 0, static_cast<uint32_t>(columns), static_cast<uint32_t>(tokens), parameter_bits(1e-5F)};
  return result;
}

// y = x · wᵀ by bytes, for five rows of one weight or of each; gated: for five rows of gate and up; with room for one token more
// than there are, where there is room for several.
KernelCase byte_products_case(const kernels::ByteProducts& products, const DeviceCaps& caps) {
  const std::size_t rows = 5, columns = 512, count = products.weights.size(), tokens = products.tokens == 1 ? 1 : products.tokens - 1;
  const Numbers given = numbers(Element::f32, tokens * columns, 14, 2);
  const Quantized x = quantized(given);
  KernelCase result;
  result.kernel = kernels::matvec_bytes(products, caps);
  result.name = result.kernel.name;
  const uint32_t per_group = kernels::rows_per_group(result.kernel), groups = (static_cast<uint32_t>(rows) + per_group - 1) / per_group;
  std::vector<Numbers> y(count, Numbers(tokens * rows));
  for (std::size_t weight = 0; weight < count; ++weight) {
    const DType dtype = products.weights[weight];
    const BlockFormat* format = find_block_format(dtype);
    std::vector<float> w;
    for (const double v : numbers(Element::f32, rows * columns, static_cast<uint32_t>(13 + weight))) w.push_back(static_cast<float>(v));
    std::vector<std::byte> blocks(static_cast<std::size_t>(storage_bytes(dtype, static_cast<int64_t>(rows * columns))));
    format->pack(w, blocks.data());
    format->unpack(blocks.data(), w);
    for (std::size_t i = 0; i < tokens * rows * columns; ++i) {
      const std::size_t row = i / columns, c = i % columns;
      y[weight][row] += static_cast<double>(w[row % rows * columns + c]) * x.values[row / rows * columns + c];
    }
    result.buffers.push_back(raw_input(Element::u32, std::move(blocks)));
  }
  if (products.gate) {
    for (std::size_t i = 0; i < y[0].size(); ++i) y[0][i] *= y[1][i] / (1 + std::exp(-y[0][i]));
    y.pop_back();
  }
  result.grid = {groups * static_cast<uint32_t>(y.size()), 1, 1};
  if (products.rounds > 0) {
    result.buffers.push_back(input(Element::f32, given));
  } else {
    result.buffers.push_back(input(Element::i8, x.bytes));
    result.buffers.push_back(input(Element::f32, x.scales));
    result.parameters.push_back(static_cast<uint32_t>(columns));
  }
  result.parameters.push_back(0);
  result.parameters.insert(result.parameters.end(), count, 0);
  for (const Numbers& numbers : y) {
    result.buffers.push_back(output(Element::f32, numbers, 1e-3, products.gate ? 1e-3 : 0));
    result.parameters.insert(result.parameters.end(), {static_cast<uint32_t>(rows), 0});
  }
  if (products.tokens > 1) result.parameters.push_back(static_cast<uint32_t>(tokens));
  return result;
}

// Seven pairs of three experts, two of which name none, in tiles of two.
KernelCase group_case(const DeviceCaps& caps) {
  KernelCase result;
  result.kernel = kernels::group_by_expert(3, 2, caps);
  result.name = result.kernel.name;
  result.grid = {1, 1, 1};
  const Numbers ids = {2, 0, 2, -1, 2, 7, 0}, plan = {0, 0, 2, 2, 2, 2, 2, 4, 1, 3, 5, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 6, 0, 2, 4, 3, 5};
  result.buffers = {input(Element::i32, ids), output(Element::u32, plan, 0)};
  result.parameters = {0, 7, 7};
  return result;
}

CaseBuffer words(const std::vector<uint32_t>& numbers) {
  std::vector<std::byte> bytes(numbers.size() * sizeof(uint32_t));
  std::memcpy(bytes.data(), numbers.data(), bytes.size());
  return raw_input(Element::u32, std::move(bytes));
}

// One token after 329, in two splits and an empty one; paged: in blocks of 34 positions, the last ones first.
KernelCase attention_case(uint32_t rows, kernels::RowAccess access, bool paged, const DeviceCaps& caps, uint32_t dim = 64) {
  const std::size_t heads = 4, group = 2, length = 330, capacity = 340, splits = 3, block = paged ? 34 : capacity;
  const std::size_t split_length = kernels::attention_split_length(length, splits, kernels::attention_lanes(caps));
  const Numbers q = numbers(Element::f32, heads * dim, 15, 4), k = numbers(Element::f16, heads / group * capacity * dim, 16),
                v = numbers(Element::f16, heads / group * capacity * dim, 17);
  const std::size_t blocks = capacity / block;
  const auto slot = [&](std::size_t p) { return (blocks - 1 - p / block) * block + p % block; };
  Numbers sums(heads * splits * dim), stats;
  for (std::size_t s = 0; s < heads * splits; ++s) {
    const std::size_t h = s / splits, begin = std::min(s % splits * split_length, length), end = std::min(begin + split_length, length);
    const std::size_t cache = h / group * capacity * dim;
    Numbers weights(end - begin);
    double largest = static_cast<double>(std::numeric_limits<float>::lowest()), sum = 0;
    for (std::size_t p = begin; p < end; ++p) {
      double& score = weights[p - begin];
      for (std::size_t d = 0; d < dim; ++d) score += 0.125 * q[h * dim + d] * k[cache + slot(p) * dim + d];
      largest = std::max(largest, score);
    }
    for (double& weight : weights) sum += weight = std::exp(weight - largest);
    for (std::size_t p = begin; p < end; ++p) {
      for (std::size_t d = 0; d < dim; ++d) sums[s * dim + d] += weights[p - begin] * v[cache + slot(p) * dim + d];
    }
    stats.push_back(largest);
    stats.push_back(sum);
  }
  KernelCase result;
  result.kernel = kernels::attention({.access = access, .rows = rows, .splits = true, .paged = paged}, caps);
  result.name = result.kernel.name;
  result.grid = {static_cast<uint32_t>(group) / rows, static_cast<uint32_t>(heads / group), static_cast<uint32_t>(splits)};
  std::vector<uint32_t> table;
  for (std::size_t i = 0; i < blocks; ++i) table.push_back(static_cast<uint32_t>(blocks - 1 - i));
  const auto stats_offset = static_cast<uint32_t>(sums.size());
  sums.insert(sums.end(), stats.begin(), stats.end());
  result.buffers = {input(Element::f32, q), input(Element::f16, k), input(Element::f16, v),
                    words({0, 1, length}),  words(table),           output(Element::f32, sums, 1e-4, 1e-5)};
  const uint32_t head = capacity * dim;
  result.parameters = {dim,
                       dim,
                       0,
                       0,
                       head,
                       dim,
                       0,
                       head,
                       dim,
                       static_cast<uint32_t>(group),
                       static_cast<uint32_t>(heads),
                       parameter_bits(0.125F),
                       0,
                       1,
                       1,
                       0,
                       0,
                       2,
                       0,
                       static_cast<uint32_t>(block),
                       stats_offset};
  if (paged) result.parameters.insert(result.parameters.end(), {static_cast<uint32_t>(blocks), static_cast<uint32_t>(block)});
  return result;
}

// 45 tokens after 40, in blocks of rows, of which the last is not full; with splits in two.
KernelCase attention_block_case(ir::Kernel kernel, DType cache, bool splits, std::size_t head_dim, uint32_t block_rows, std::size_t step) {
  constexpr std::size_t kHeads = 4, kGroup = 2, kTokens = 45, kPast = 40, kPositions = kPast + kTokens, kCapacity = 96;
  const Element element = cache == DType::f16 ? Element::f16 : Element::bf16;
  const Numbers q = numbers(Element::f32, kTokens * kHeads * head_dim, 15, 4),
                k = numbers(element, kHeads / kGroup * kCapacity * head_dim, 16),
                v = numbers(element, kHeads / kGroup * kCapacity * head_dim, 17);
  const std::size_t split_length = splits ? kernels::attention_split_length(kPositions, 2, static_cast<uint32_t>(step)) : kPositions;
  const std::size_t parts = splits ? 2 : 1;
  Numbers out, stats;
  for (std::size_t at = 0; at < kTokens * kHeads * parts; ++at) {
    const std::size_t row = at / parts, begin = at % parts * split_length;
    const std::size_t end = std::min(kPast + row / kHeads + 1, begin + split_length);
    const std::size_t head = row % kHeads / kGroup * kCapacity * head_dim;
    Numbers weights, sums(head_dim);
    double largest = static_cast<double>(std::numeric_limits<float>::lowest()), sum = 0;
    for (std::size_t p = begin; p < end; ++p) {
      double score = 0;
      for (std::size_t d = 0; d < head_dim; ++d) score += 0.125 * q[row * head_dim + d] * k[head + p * head_dim + d];
      weights.push_back(score);
      largest = std::max(largest, score);
    }
    for (std::size_t i = 0; i < weights.size(); ++i) {
      const double weight = std::exp(weights[i] - largest);
      sum += weight;
      for (std::size_t d = 0; d < head_dim; ++d) sums[d] += weight * v[head + (begin + i) * head_dim + d];
    }
    for (const double value : sums) out.push_back(splits ? value : value / sum);
    stats.insert(stats.end(), {largest, sum});
  }
  KernelCase result;
  result.kernel = std::move(kernel);
  result.name = result.kernel.name;
  const uint32_t rows = kTokens * kGroup, width = static_cast<uint32_t>(head_dim), head = kCapacity * width;
  result.grid = {(rows + block_rows - 1) / block_rows, kHeads / kGroup, static_cast<uint32_t>(parts)};
  const auto stats_offset = static_cast<uint32_t>(out.size());
  if (splits) out.insert(out.end(), stats.begin(), stats.end());
  result.buffers = {input(Element::f32, q),          input(element, k), input(element, v),
                    words({0, kTokens, kPositions}), words({0}),        output(Element::f32, out, 2e-3, 2e-3)};
  result.parameters = {width, width,   0, 0, head, width, 0, head,     width, kGroup, kHeads, parameter_bits(0.125F),
                       0,     kTokens, 1, 0, 0,    2,     0, kCapacity};
  if (splits) result.parameters.push_back(stats_offset);
  return result;
}

KernelCase attention_tiles_case(DType cache, bool splits, const kernels::AttentionTiles& tiles) {
  return attention_block_case(
      kernels::attention_tiles({.cache = cache, .access = kernels::RowAccess::vectors, .splits = splits}, 32, tiles), cache, splits, 32,
      tiles.rows(), kernels::kAttentionKeys);
}

KernelCase attention_lanes_case(uint32_t width, bool splits, const kernels::AttentionLanes& lanes, bool halves = false) {
  const kernels::AttentionForm form{.cache = DType::f16, .access = kernels::RowAccess::vectors, .splits = splits, .halves = halves};
  KernelCase result =
      attention_block_case(kernels::attention_by_lanes(form, width, lanes), DType::f16, splits, width, lanes.rows(), lanes.step());
  if (halves) result.buffers.back() = output(Element::f16, Numbers(result.buffers.back().expected), 2e-3, 2e-3);
  return result;
}

KernelCase attention_join_case(DType dtype, const DeviceCaps& caps) {
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
  result.kernel = kernels::attention_join(dtype, false, false, caps);
  result.name = result.kernel.name;
  result.grid = {static_cast<uint32_t>(heads), 1, 1};
  Numbers parts = sums;
  parts.insert(parts.end(), stats.begin(), stats.end());
  const Element element = kernels::element_of(dtype);
  result.buffers = {input(Element::f32, parts), output(element, out, 1e-5, epsilon(element))};
  result.parameters = {static_cast<uint32_t>(dim), static_cast<uint32_t>(splits), static_cast<uint32_t>(heads),
                       static_cast<uint32_t>(sums.size()), 0};
  return result;
}

// Two tokens of three heads of eight, of which three pairs (i, i + 3) turn.
KernelCase rope_case(const DeviceCaps& caps) {
  const std::size_t tokens = 2, heads = 3, dim = 8, pairs = 3;
  const Numbers x = numbers(Element::f32, tokens * heads * dim, 20), table = numbers(Element::f32, tokens * pairs * 2, 21);
  Numbers y = x;
  for (std::size_t row = 0; row < tokens * heads; ++row) {
    for (std::size_t i = 0; i < pairs; ++i) {
      const double *angle = &table[(row / heads * pairs + i) * 2], a = x[row * dim + i], b = x[row * dim + i + pairs];
      y[row * dim + i] = a * angle[0] - b * angle[1];
      y[row * dim + i + pairs] = a * angle[1] + b * angle[0];
    }
  }
  KernelCase result;
  result.kernel = kernels::rope(DType::f32, caps);
  result.name = result.kernel.name;
  result.buffers = {input(Element::f32, x), input(Element::f32, table), output(Element::f32, y, 0x1p-22)};
  result.parameters = {30, 3, 5, 3, 1, 3, 0, 24, 8, 1, 0, 6, 2, 1, 0, 24, 8, 1};
  return result;
}

// Two tokens of three heads of queries and one of keys and values, eight elements each; three pairs turn. The second token comes first in
// the cache, and its angles in the table.
KernelCase rope_into_cache_case(DType dtype, uint32_t unit, bool interleaved, const DeviceCaps& caps) {
  constexpr std::size_t tokens = 2, heads = 3, dim = 8, pairs = 3;
  const Numbers query = numbers(Element::f32, tokens * heads * dim, 20), key = numbers(Element::f32, tokens * dim, 23),
                value = numbers(Element::f32, tokens * dim, 24), table = numbers(Element::f32, tokens * pairs * 2, 21);
  const auto turned = [&](Numbers x, std::size_t count) {
    for (std::size_t row = 0; row < tokens * count; ++row) {
      for (std::size_t i = 0; i < pairs; ++i) {
        const double* angle = &table[((1 - row / count) * pairs + i) * 2];
        double &first = x[row * dim + (interleaved ? 2 * i : i)], &second = x[row * dim + (interleaved ? 2 * i + 1 : i + pairs)];
        const double a = first, b = second;
        first = a * angle[0] - b * angle[1];
        second = a * angle[1] + b * angle[0];
      }
    }
    return x;
  };
  const auto stored = [](Numbers x) {
    std::rotate(x.begin(), x.begin() + dim, x.end());
    return x;
  };
  KernelCase result;
  result.kernel = kernels::rope_into_cache({dtype, unit, interleaved}, caps);
  result.name = result.kernel.name;
  const Element element = kernels::element_of(dtype);
  const double error = std::max(epsilon(element), 0x1p-22);
  result.buffers = {input(Element::f32, query),
                    input(Element::f32, key),
                    input(Element::f32, value),
                    input(Element::f32, table),
                    words({1, 0}),
                    output(element, stored(turned(key, 1)), error, error),
                    output(element, stored(value), error, error),
                    output(Element::f32, turned(query, heads), 0x1p-22)};
  const uint32_t units = dim / unit;
  result.parameters = {
      static_cast<uint32_t>(tokens * (heads + 2) * units), heads, 1, units, units, pairs, 0, 0, 0, 0, 0, 0, 0, 0, units, 0, 0, units, 0};
  return result;
}

// Two sequences of three positions and two heads that share a key; the states of 35 columns are of slots 2 and 0, and go to slots 1 and 0.
KernelCase recurrent_step_case(RecurrentStepParams params, const DeviceCaps& caps) {
  constexpr std::size_t sequences = 2, positions = 3, rows = sequences * positions, heads = 2, keys = 37, values = 35, slots = 3,
                        state = keys * values;
  const Numbers query = numbers(Element::f32, rows * keys, 25), key = numbers(Element::f32, rows * keys, 26),
                value = numbers(Element::f32, rows * heads * values, 27), decay = numbers(Element::f32, rows * heads * keys, 28),
                rate = numbers(Element::f32, rows * heads, 29), states = numbers(Element::f32, slots * heads * state, 30);
  const std::array<std::size_t, sequences> from{2, 0}, to{1, 0};
  Numbers changed = states, y(value.size());
  for (std::size_t row = 0; row < rows * heads; ++row) {
    const std::size_t place = row / heads, sequence = place / positions, head = row % heads;
    double* after = &changed[(to[sequence] * heads + head) * state];
    const double* first = &states[(from[sequence] * heads + head) * state];
    const Numbers before = place % positions == 0 ? Numbers(first, first + state) : Numbers(after, after + state);
    const double *k = &key[place * keys], *left = &decay[row * keys];
    for (std::size_t column = 0; column < values; ++column) {
      double added = value[row * values + column];
      for (std::size_t i = 0; params.delta && i < keys; ++i) added -= left[i] * before[i * values + column] * k[i];
      for (std::size_t i = 0; i < keys; ++i) {
        double& number = after[i * values + column];
        number = left[i] * before[i * values + column] + k[i] * rate[row] * added;
        y[row * values + column] += number * query[place * keys + i];
      }
    }
  }
  KernelCase result;
  const kernels::RecurrentShape shape{.keys = keys, .columns = kernels::recurrent_columns(values, caps), .decays_by_key = true};
  result.kernel = kernels::recurrent_step(params, shape, caps);
  result.name = result.kernel.name;
  const auto groups = static_cast<uint32_t>(sequences * heads * ((values - 1) / shape.columns + 1));
  result.grid = {groups, 1, 1};
  result.buffers = {input(Element::f32, query), input(Element::f32, key), input(Element::f32, value),  input(Element::f32, decay),
                    input(Element::f32, rate),  words({2, 0, 1, 0}),      input(Element::f32, states), output(Element::f32, y, 1e-4, 1e-4)};
  result.buffers[6].expected = changed;
  result.buffers[6].absolute = result.buffers[6].relative = 1e-5;
  result.parameters = {groups, positions, heads, 1, values, 0, 0, 0, 0, 0, 0, 2, 0, heads * state, 0};
  return result;
}

// Two sequences of 18 rows, which two lanes take for each of 5 columns; the second one's state stays in its place.
KernelCase causal_conv_case(const DeviceCaps& caps) {
  constexpr std::size_t sequences = 2, positions = 18, width = 5, taps = 3, slots = 3, kept = (taps - 1) * width;
  const Numbers x = numbers(Element::f32, sequences * positions * width, 31), weight = numbers(Element::f32, taps * width, 32),
                bias = numbers(Element::f32, width, 33), states = numbers(Element::f32, slots * kept, 34);
  const std::array<std::size_t, sequences> from{2, 0}, to{1, 0};
  Numbers changed = states, y;
  for (std::size_t sequence = 0; sequence < sequences; ++sequence) {
    Numbers all(&states[from[sequence] * kept], &states[from[sequence] * kept] + kept);
    all.insert(all.end(), &x[sequence * positions * width], &x[sequence * positions * width] + positions * width);
    for (std::size_t i = 0; i < positions * width; ++i) {
      double sum = bias[i % width];
      for (std::size_t tap = 0; tap < taps; ++tap) sum += weight[tap * width + i % width] * all[i + tap * width];
      y.push_back(sum);
    }
    std::copy(all.end() - kept, all.end(), changed.begin() + static_cast<std::ptrdiff_t>(to[sequence] * kept));
  }
  KernelCase result;
  result.kernel = kernels::causal_conv({.silu = false}, taps, caps);
  result.name = result.kernel.name;
  const auto lanes = static_cast<uint32_t>(sequences * 2 * width);
  result.grid = kernels::groups_for(result.kernel, lanes, caps);
  result.buffers = {input(Element::f32, x), input(Element::f32, weight), input(Element::f32, bias),
                    words({2, 0, 1, 0}),    input(Element::f32, states), output(Element::f32, y, 1e-5, 1e-5)};
  result.buffers[4].expected = changed;
  result.parameters = {lanes, positions, width, width, 0, 0, 0, 0, 2, 0, kept, 0};
  return result;
}

// Two rows, longer than a group takes at once, written from their ends.
KernelCase cumsum_case(const DeviceCaps& caps) {
  const std::size_t rows = 2, length = 1100;
  const Numbers x = numbers(Element::f32, rows * length, 22);
  Numbers y(x.size());
  for (std::size_t row = 0; row < rows; ++row) {
    double sum = 0;
    for (std::size_t i = 0; i < length; ++i) y[(row + 1) * length - 1 - i] = sum += x[row * length + i];
  }
  KernelCase result;
  result.kernel = kernels::cumsum(DType::f32, 1, caps);
  result.name = result.kernel.name;
  result.grid = {2, 1, 1};
  result.buffers = {input(Element::f32, x), output(Element::f32, y, 0, 0x1p-24)};
  result.parameters = {2, 0, 1100, 1099, 1100, 1100, 1, ~0U};
  return result;
}

// Over the place where the lower half of the counter wraps around.
KernelCase random_case(kernels::RandomNumbers kind, const DeviceCaps& caps) {
  const uint64_t seed = 0x123456789abcdef, block = 0xfffffff8;
  const bool uniform = kind == kernels::RandomNumbers::uniform;
  const double unit = 0x1p-32;
  Numbers y;
  for (uint64_t i = 0; i < 71; ++i) {
    const double word = stream_word(seed, block * 4 + i);
    const double first = i % 2 == 0 ? word : stream_word(seed, block * 4 + i - 1);
    const double second = i % 2 == 0 ? stream_word(seed, block * 4 + i + 1) : word;
    const double radius = std::sqrt(-2 * std::log((first + 1) * unit)), angle = 2 * M_PI * second * unit;
    y.push_back(uniform ? std::trunc(word / 256) * 0x1p-24 : radius * (i % 2 == 0 ? std::cos(angle) : std::sin(angle)));
  }
  KernelCase result;
  result.kernel = kernels::random(kind, DType::f32, caps);
  result.name = result.kernel.name;
  result.buffers = {output(Element::f32, y, uniform ? 0 : 0x1p-19)};
  result.parameters = {71, 0, static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32), static_cast<uint32_t>(block), 0};
  // Low, span, cap and scale, of numbers that need no rounding, as WGSL may contract products and sums; or mean and deviation.
  const std::vector<float> numbers = uniform ? std::vector<float>{0, 1, 0x1.fffffep-1F, 1} : std::vector<float>{0, 1};
  for (const float number : numbers) result.parameters.push_back(parameter_bits(number));
  return result;
}

}  // namespace

std::vector<KernelCase> kernel_cases(const DeviceCaps& caps) {
  std::vector<KernelCase> cases;
  for (const UnaryFunction& f : kUnaryFunctions) cases.push_back(unary_case(f, DType::f32, caps));
  cases.push_back(unary_case(kUnaryFunctions[0], DType::f16, caps));
  if (caps.f64_arithmetic && caps.int64) {
    for (const std::size_t i : {3, 4, 5, 8}) cases.push_back(unary_case(kUnaryFunctions[i], DType::f64, caps));
    cases.push_back(convert_case(DType::f64, DType::f16, caps));
  }
  cases.push_back(convert_case(DType::f32, DType::i8, caps));
  cases.push_back(convert_case(DType::u8, DType::bf16, caps));
  cases.push_back(convert_case(DType::i32, DType::f16, caps));
  for (const BinaryFunction& f : kBinaryFunctions) cases.push_back(binary_case(f, DType::f32, 1, caps));
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) cases.push_back(binary_case(kBinaryFunctions[1], dtype, 4, caps));
  for (const Reduce reduce : {Reduce::add, Reduce::minimum, Reduce::maximum}) cases.push_back(reduce_case(reduce, caps));
  cases.push_back(softmax_case(DType::f32, caps));
  cases.push_back(softmax_case(DType::f16, caps));
  cases.push_back(rms_norm_case(DType::f32, DType::f32, caps));
  cases.push_back(rms_norm_case(DType::bf16, DType::bf16, caps));
  cases.push_back(rms_norm_case(DType::f32, DType::f16, caps));
  for (const DType norms : {DType::f32, DType::f16}) {
    for (const uint32_t width : {1U, 4U}) cases.push_back(add_rms_norm_case(DType::f32, norms, width, 0, caps));
    cases.push_back(add_rms_norm_case(DType::f32, norms, 4, 1, caps));
  }
  cases.push_back(norm_by_lane_case(caps));
  cases.push_back(matmul_case(caps));
  cases.push_back(tiles_case(caps));
  cases.push_back(halves_case(caps));
  cases.push_back(halves_of_weight_case(DType::q4_k, caps));
  const kernels::LinearForm blocks{DType::q4_k, kernels::RowAccess::blocks};
  if (const auto tiles = kernels::linear_tiles_of(blocks, LinearNumbers::rows, kTileTokens, caps)) {
    cases.push_back(linear_tiles_case(blocks.dtype, *tiles));
  }
  for (const DType dtype : {DType::q4_k, DType::q6_k, DType::q8_0, DType::q5_1, DType::iq4_xs}) {
    cases.push_back(linear_lanes_case(dtype, {2, 1, 1, 2}, false, caps));
  }
  cases.push_back(linear_lanes_case(DType::q4_k, {1, 2, 1, 2}, true, caps));
  cases.push_back(linear_lanes_case(DType::q4_0, {1, 2, 2, 1}, false, caps));
  // With activations in shared memory, of one chunk at a time and of two.
  for (const DType dtype : {DType::q4_k, DType::q6_k, DType::q8_0, DType::q4_0}) {
    for (const auto& group : {kernels::LaneGroup{2, 1, 2, 1}, kernels::LaneGroup{2, 1, 1, 2}}) {
      cases.push_back(linear_lanes_case(dtype, staged(group, dtype, caps), false, caps));
    }
  }
  cases.push_back(linear_lanes_case(DType::q4_k, staged({2, 2, 2, 1}, DType::q4_k, caps), true, caps));
  cases.push_back(quantize_case(caps));
  for (const DType dtype : {DType::q8_0, DType::q4_k, DType::q6_k, DType::q5_k}) cases.push_back(byte_products_case({{dtype}}, caps));
  cases.push_back(byte_products_case({{DType::q4_k, DType::q4_k, DType::q6_k}}, caps));
  cases.push_back(byte_products_case({{DType::q8_0, DType::q8_0}, GateKind::silu}, caps));
  cases.push_back(byte_products_case({{DType::q4_k, DType::q6_k}, {}, 512}, caps));
  cases.push_back(byte_products_case({{DType::q4_0}, {}, 0, 4}, caps));
  cases.push_back(group_case(caps));
  for (const kernels::RowAccess access : {kernels::RowAccess::vectors, kernels::RowAccess::elements}) {
    cases.push_back(attention_case(1, access, access == kernels::RowAccess::vectors, caps));
    cases.push_back(attention_case(2, access, access == kernels::RowAccess::elements, caps));
    // As for a device of many units: several loads at a time, here of a number of units that they do not divide.
    DeviceCaps many_units = caps;
    many_units.compute_units = 64;
    cases.push_back(attention_case(2, access, true, many_units, 72));
    cases.back().name += "_together";
  }
  for (const DType cache : {DType::f16, DType::bf16}) {
    const auto tiles = kernels::attention_tiles_of({.cache = cache, .access = kernels::RowAccess::vectors}, 32, caps);
    if (tiles) cases.push_back(attention_tiles_case(cache, cache == DType::bf16, *tiles));
  }
  for (const bool splits : {false, true}) {
    cases.push_back(attention_lanes_case(64, splits, {.row_subgroups = 4, .key_subgroups = 1}));
    cases.push_back(attention_lanes_case(splits ? 64 : 128, splits, {.row_subgroups = 1, .key_subgroups = 4}));
    cases.push_back(attention_lanes_case(splits ? 64 : 128, splits, {.row_subgroups = 4, .key_subgroups = 1, .staged = true}));
  }
  cases.push_back(attention_lanes_case(64, false, {.row_subgroups = 4, .key_subgroups = 1}, true));
  cases.push_back(attention_lanes_case(128, false, {.row_subgroups = 1, .key_subgroups = 4}, true));
  cases.push_back(linear_case(DType::q6_k, 2, caps));
  cases.push_back(linear_case(DType::iq4_nl, 1, caps));
  cases.push_back(linear_case(DType::q4_k, 0, caps));
  for (const DType dtype : {DType::f32, DType::f16}) cases.push_back(attention_join_case(dtype, caps));
  cases.push_back(rope_case(caps));
  cases.push_back(rope_into_cache_case(DType::f32, 4, false, caps));
  cases.push_back(rope_into_cache_case(DType::f16, 1, true, caps));
  cases.push_back(causal_conv_case(caps));
  cases.push_back(recurrent_step_case({.delta = false, .interleaved = false}, caps));
  cases.push_back(recurrent_step_case({.delta = true, .interleaved = true}, caps));
  cases.push_back(cumsum_case(caps));
  cases.push_back(random_case(kernels::RandomNumbers::uniform, caps));
  cases.push_back(random_case(kernels::RandomNumbers::normal, caps));
  return cases;
}

std::vector<KernelCase> device_cases(const DeviceCaps& caps) {
  std::vector<KernelCase> cases = kernel_cases(caps);
  for (KernelCase& c : linear_cases(caps)) cases.push_back(std::move(c));
  for (KernelCase& c : node_cases(caps)) cases.push_back(std::move(c));
  if (!has_lane_tiles(caps))
    std::erase_if(cases,
                  [](const KernelCase& c) { return c.name.starts_with("linear_lanes") || c.name.starts_with("attention_by_lanes"); });
  if (caps.tiles.empty()) std::erase_if(cases, [](const KernelCase& c) { return c.name.starts_with("matmul_tiles"); });
  return cases;
}

}  // namespace wick::ir
