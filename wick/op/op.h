// The vocabulary that the library and the backends share: which ops there are, and their parameters.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

#include "wick/layout/dtype.h"

namespace [[gnu::visibility("default")]] wick {

enum class OpId : uint8_t {
  fill,              // every element of out = value
  copy,              // out = in, converted to out's dtype
  unary,             // out = f(in)
  binary,            // out = f(lhs, rhs); operands come broadcast to out's shape
  compare,           // out u8 = lhs ? rhs; operands come broadcast to out's shape
  where_cond,        // out = cond != 0 ? on_true : on_false; operands come broadcast to out's shape
  reduce,            // sum, mean, min, max, argmin, argmax over the last dimensions
  cumsum,            // running sums along the last dimension, into out's layout
  sort,              // stable, along the last dimension; out: values and u32 indices, all of them or the first few
  softmax,           // along the last dimension
  rms_norm,          // in / sqrt(mean(in²) + ε) · weight along the last dimension
  add_rms_norm,      // sum = x + y, and rms_norm of it
  layer_norm,        // (in - mean) / sqrt(variance + ε) · weight + bias along the last dimension
  rope,              // rotary position embedding
  rope_into_cache,   // rope of queries and of keys, and keys and values written into a cache
  embedding,         // rows of a table, dequantized
  index_select,      // slices of a dimension by number
  gather,            // out[i, j, k] = in[i, ids[i, j, k], k]
  scatter,           // out[i, ids[i, j, k], k] = (or +=) source[i, j, k], into out's own elements
  index_add,         // slices added into out's slices by number
  matmul,            // batched [m, k] · [k, n]
  linear,            // in · weightᵀ for one to three weights at once
  gated_linear,      // silu(in · gateᵀ) · (in · upᵀ)
  attention,         // causal scaled dot-product attention over a key/value cache
  conv2d,            // cross-correlation with a kernel
  conv_transpose2d,  // its adjoint
  avg_pool2d,        // means over windows
  max_pool2d,        // maxima over windows, and where they were
  upsample2d,        // nearest or bilinear interpolation to a larger (or smaller) image
  random,            // numbers from Philox 4x32-10
  repack,            // a weight's bytes rearranged into the layout that linear likes best on this device
};
inline constexpr int kOpCount = static_cast<int>(OpId::repack) + 1;

inline constexpr std::array<std::string_view, kOpCount> kOpNames = {"fill",
                                                                    "copy",
                                                                    "unary",
                                                                    "binary",
                                                                    "compare",
                                                                    "where_cond",
                                                                    "reduce",
                                                                    "cumsum",
                                                                    "sort",
                                                                    "softmax",
                                                                    "rms_norm",
                                                                    "add_rms_norm",
                                                                    "layer_norm",
                                                                    "rope",
                                                                    "rope_into_cache",
                                                                    "embedding",
                                                                    "index_select",
                                                                    "gather",
                                                                    "scatter",
                                                                    "index_add",
                                                                    "matmul",
                                                                    "linear",
                                                                    "gated_linear",
                                                                    "attention",
                                                                    "conv2d",
                                                                    "conv_transpose2d",
                                                                    "avg_pool2d",
                                                                    "max_pool2d",
                                                                    "upsample2d",
                                                                    "random",
                                                                    "repack"};
[[nodiscard]] constexpr std::string_view to_string(OpId op) noexcept { return kOpNames[static_cast<size_t>(op)]; }

struct FillParams {
  double value = 0;
};

// Functions of one element x; a and b are UnaryParams'. NaN stays NaN in all of them. The sources of the definitions are in
// tensor/ops/unary.cpp.
enum class UnaryKind : uint8_t {
  neg,
  abs,
  sign,  // -1, 0 (also of -0) or 1
  floor,
  ceil,
  round,  // to the nearest whole number, halves away from zero
  sqr,    // x²
  sqrt,
  rsqrt,  // 1 / √x
  recip,  // 1 / x
  exp,
  log,
  sin,
  cos,
  tanh,
  erf,
  sigmoid,       // 1 / (1 + e^-x)
  silu,          // x · sigmoid(x)
  relu,          // max(x, 0)
  gelu,          // x / 2 · (1 + tanh(√(2/π) (x + 0.044715 x³)))
  gelu_erf,      // x / 2 · (1 + erf(x / √2))
  softplus,      // log(1 + e^x)
  mish,          // x · tanh(softplus(x))
  hard_sigmoid,  // clamp(x / 6 + 1/2, 0, 1)
  hard_swish,    // x · hard_sigmoid(x)
  affine,        // a · x + b, in f64 for integers, then as copy converts
  powf,          // x^a
  elu,           // x for x > 0, else a · (e^x - 1)
  leaky_relu,    // x for x > 0, else a · x
  clamp,         // max(a, min(x, b))
};
inline constexpr std::array<std::string_view, 30> kUnaryNames = {
    "neg",      "abs",      "sign", "floor",        "ceil",       "round",  "sqr",     "sqrt", "rsqrt",      "recip",
    "exp",      "log",      "sin",  "cos",          "tanh",       "erf",    "sigmoid", "silu", "relu",       "gelu",
    "gelu_erf", "softplus", "mish", "hard_sigmoid", "hard_swish", "affine", "powf",    "elu",  "leaky_relu", "clamp"};
struct UnaryParams {
  UnaryKind kind = UnaryKind::neg;
  double a = 0;
  double b = 0;
};

enum class BinaryKind : uint8_t { add, sub, mul, div, minimum, maximum, pow };
inline constexpr std::array<std::string_view, 7> kBinaryNames = {"add", "sub", "mul", "div", "minimum", "maximum", "pow"};
struct BinaryParams {
  BinaryKind kind = BinaryKind::add;
};

// Each is false where an operand is NaN, but for ne, which is true.
enum class CompareKind : uint8_t { eq, ne, le, ge, lt, gt };
inline constexpr std::array<std::string_view, 6> kCompareNames = {"eq", "ne", "le", "ge", "lt", "gt"};
struct CompareParams {
  CompareKind kind = CompareKind::eq;
};

// Over the last `dims` dimensions of the input, in any layout; out has the dimensions before them. Sums of floats are in f32 (f64 for
// f64), of integers in their own dtype, wrapping around. argmin and argmax give the u32 place among the reduced elements in row-major
// order, the first of equal ones; NaN counts as smallest and as largest, and min and max of a NaN are NaN.
enum class ReduceKind : uint8_t { sum, mean, min, max, argmin, argmax };
inline constexpr std::array<std::string_view, 6> kReduceNames = {"sum", "mean", "min", "max", "argmin", "argmax"};
struct ReduceParams {
  ReduceKind kind = ReduceKind::sum;
  int dims = 1;
};

// Outputs: values in the input's dtype, indices u32; where their last extent is less than the input's, only the first of the order.
// Stable in both directions; NaN counts as largest, all NaNs as equal, and -0 as 0.
struct SortParams {
  bool descending = false;
};

struct SoftmaxParams {
  bool log = false;  // the logarithm of it: x - max - log Σ e^(x - max)
};

struct LayerNormParams {
  float epsilon = 1e-5F;
};

// index_select and gather: inputs x and ids (u8, u32, i32 or i64). index_add: inputs ids and source. ids of index_select and index_add are
// 1-d. An id outside its dimension: index_out_of_range (fail_index in op/index_range.h), before anything is written.
// But the largest number of the ids' dtype, where it is outside, means "nothing": zeros are read there and nothing is written, as candle
// has it for padding.
struct IndexParams {
  int dim = 0;
};

// Inputs: ids (u8, u32, i32 or i64) and source of one shape, whose extents are at most the output's but along dim. Where an element is
// written more than once, the last in row-major order stays; sums are made in that order, whatever the number of threads. Sums of
// scatter and index_add are in f32 (f64 for f64), rounded once at the end, and of integers in their own dtype, wrapping around.
struct ScatterParams {
  int dim = 0;
  bool add = false;
};

// conv2d: x [batch, in, h, w], kernel [out, in / groups, kh, kw] -> [batch, out, oh, ow],
//   oh = (h + 2 padding - dilation (kh - 1) - 1) / stride + 1.
// conv_transpose2d: x [batch, in, h, w], kernel [in, out / groups, kh, kw] -> [batch, out, oh, ow],
//   oh = (h - 1) stride - 2 padding + dilation (kh - 1) + output_padding + 1.
// Pairs are (height, width).
struct ConvParams {
  std::array<int64_t, 2> padding = {0, 0};
  std::array<int64_t, 2> output_padding = {0, 0};
  std::array<int64_t, 2> stride = {1, 1};
  std::array<int64_t, 2> dilation = {1, 1};
  int64_t groups = 1;
};

// x [batch, channels, h, w] -> [batch, channels, (h - kernel) / stride + 1, …]. max_pool2d has a second output, u32: where in the h · w
// elements of its image each maximum is, the first of equal ones.
struct PoolParams {
  std::array<int64_t, 2> kernel = {1, 1};
  std::array<int64_t, 2> stride = {1, 1};
};

enum class UpsampleMode : uint8_t { nearest, bilinear };
// x [batch, channels, h, w] to the output's extents. step, bilinear's: input pixels per output pixel. op/interpolation.h says where
// each pixel comes from.
struct UpsampleParams {
  UpsampleMode mode = UpsampleMode::nearest;
  bool align_corners = false;
  std::array<double, 2> step = {1, 1};
};

// uniform: [a, b). normal: mean a and standard deviation b. The output's elements in row-major order take the words of the stream from
// `offset` on, which is a multiple of 4; op/philox.h defines them.
enum class RandomKind : uint8_t { uniform, normal };
struct RandomParams {
  RandomKind kind = RandomKind::uniform;
  double a = 0;
  double b = 1;
  uint64_t seed = 0;
  uint64_t offset = 0;
};

// add_rms_norm: inputs x, y and weight, all row-major; outputs sum = x + y and rms_norm(sum), which is that of the sum before it is
// rounded to the dtype.
struct RmsNormParams {
  float epsilon = 1e-5F;
};

// Which elements of a head form a rotated pair: (2i, 2i+1), as Llama's own checkpoints have it, or (i, i + half), as Hugging Face's.
enum class RopeStyle : uint8_t { interleaved, half_split };
// Inputs: x [tokens, heads, head_dim]; table f32 [tokens, rotary_dims / 2, 2] of (cos, sin). Elements from 2·pairs on are copied.
// rope_into_cache: inputs query [tokens, heads, head_dim], key and value [tokens, kv_heads, head_dim] and the table, all f32 and row-major;
// outputs: the places of the keys and of the values in a cache, [kv_heads, tokens, head_dim] of one of kCacheDTypes, whose rows are
// contiguous, and the turned queries, f32.
struct RopeParams {
  RopeStyle style = RopeStyle::interleaved;
};

// Inputs: x [rows, k]; weights [n_i, k], each quantized or float. Outputs: f32 [rows, n_i].
// precise: activations stay f32; otherwise a device may round them to 8 bits per block of 32.
struct LinearParams {
  bool precise = false;
};

// What a key/value cache may be stored as.
inline constexpr std::array<DType, 4> kCacheDTypes = {DType::f32, DType::f16, DType::bf16, DType::q8_0};
[[nodiscard]] constexpr bool is_cache_dtype(DType dtype) noexcept {
  return std::find(kCacheDTypes.begin(), kCacheDTypes.end(), dtype) != kCacheDTypes.end();
}

// Inputs: query [tokens, heads, head_dim] f32; key and value [kv_heads, positions, head_dim], both of one of kCacheDTypes, of which the
// first past + tokens positions are filled. Token t sees positions 0 … past + t. heads must be a multiple of kv_heads.
// precise: all numbers stay what they are; otherwise a device may round scaled queries, keys, values and weights to f16, and an infinity or
// NaN among the values of one of these tokens may reach those before it.
struct AttentionParams {
  float scale = 1;
  int64_t past = 0;
  bool precise = false;
};

}  // namespace wick
