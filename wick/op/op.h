// The vocabulary that the library and the backends share: one row for each op and for each kind of op, and their parameters.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "wick/layout/dtype.h"

namespace [[gnu::visibility("default")]] wick {

// The ops, one row each: ROW(name, parameter struct, fewest inputs, most inputs, most outputs, kinds). Everything that has one entry for
// each op derives from these rows: the enumerators, their number and names, the rules (tensor/ops), the launchers (tensor/ops/launchers)
// and the tests of the conformance suite. `kinds` is the number of functions that an op stands for; its parameter struct begins with them.
// clang-format off
#define WICK_OPS(ROW)                                                                                                                    \
  ROW(fill, FillParams, 0, 0, 1, 1)              /* every element of out = value */                                                      \
  ROW(copy, NoParams, 1, 1, 1, 1)                /* out = in, converted to out's dtype */                                                \
  ROW(unary, UnaryParams, 1, 1, 1, kUnaryKindCount)     /* out = f(in) */                                                                \
  ROW(binary, BinaryParams, 2, 2, 1, kBinaryKindCount)  /* out = f(lhs, rhs); operands come broadcast to out's shape */                  \
  ROW(compare, CompareParams, 2, 2, 1, kCompareKindCount)  /* out u8 = lhs ? rhs; operands come broadcast to out's shape */              \
  ROW(where_cond, NoParams, 3, 3, 1, 1)          /* out = cond != 0 ? on_true : on_false; operands come broadcast to out's shape */      \
  ROW(reduce, ReduceParams, 1, 1, 1, kReduceKindCount)  /* over the last dimensions */                                                   \
  ROW(cumsum, NoParams, 1, 1, 1, 1)              /* running sums along the last dimension, into out's layout */                          \
  ROW(sort, SortParams, 1, 1, 2, 1)              /* stable, along the last dimension; values and u32 indices, all or the first few */    \
  ROW(softmax, SoftmaxParams, 1, 1, 1, 1)        /* along the last dimension */                                                          \
  ROW(rms_norm, RmsNormParams, 2, 2, 1, 1)       /* in / sqrt(mean(in^2) + epsilon) * weight along the last dimension */                 \
  ROW(add_rms_norm, RmsNormParams, 3, 3, 2, 1)   /* sum = x + y, and rms_norm of it */                                                   \
  ROW(layer_norm, LayerNormParams, 3, 3, 1, 1)   /* (in - mean) / sqrt(variance + epsilon) * weight + bias along the last dimension */   \
  ROW(rope, RopeParams, 2, 2, 1, 1)              /* rotary position embedding */                                                         \
  ROW(rope_into_cache, RopeParams, 6, 6, 3, 1)   /* rope of queries and of keys, and keys and values written into a cache */             \
  ROW(embedding, NoParams, 2, 2, 1, 1)           /* rows of a table, dequantized */                                                      \
  ROW(index_select, IndexParams, 2, 2, 1, 1)     /* slices of a dimension by number */                                                   \
  ROW(gather, IndexParams, 2, 2, 1, 1)           /* out[i, j, k] = in[i, ids[i, j, k], k] */                                             \
  ROW(scatter, ScatterParams, 2, 2, 1, 1)        /* out[i, ids[i, j, k], k] = (or +=) source[i, j, k], into out's own elements */        \
  ROW(index_add, IndexParams, 2, 2, 1, 1)        /* slices added into out's slices by number */                                          \
  ROW(matmul, NoParams, 2, 2, 1, 1)              /* batched [m, k] x [k, n] */                                                           \
  ROW(linear, LinearParams, 2, 9, 3, 1)          /* in x transposed weight for one to three weights at once */                           \
  ROW(gated_linear, LinearParams, 3, 6, 1, 1)    /* activation(in x transposed gate, in x transposed up) */                              \
  ROW(linear_experts, LinearParams, 3, 4, 1, 1)  /* linear with the weights of those experts that each row names */                      \
  ROW(gated_linear_experts, LinearParams, 4, 6, 1, 1)  /* the same of gated_linear */                                                    \
  ROW(attention, AttentionParams, 6, 9, 2, 1)    /* scaled dot-product attention of a batch of sequences over a key/value cache */       \
  ROW(recurrent_step, RecurrentStepParams, 7, 7, 2, 1)  /* a step of linear attention: states change and are read in one pass */         \
  ROW(causal_conv, CausalConvParams, 5, 5, 2, 1)        /* each column of sequences by itself, with a state of the rows before */         \
  ROW(conv2d, ConvParams, 2, 2, 1, 1)            /* cross-correlation with a kernel */                                                   \
  ROW(conv_transpose2d, ConvParams, 2, 2, 1, 1)  /* its adjoint */                                                                       \
  ROW(avg_pool2d, PoolParams, 1, 1, 1, 1)        /* means over windows */                                                                \
  ROW(max_pool2d, PoolParams, 1, 1, 2, 1)        /* maxima over windows, and where they were */                                          \
  ROW(upsample2d, UpsampleParams, 1, 1, 1, 1)    /* nearest or bilinear interpolation to a larger (or smaller) image */                  \
  ROW(random, RandomParams, 0, 0, 1, 1)          /* numbers from Philox 4x32-10 */                                                       \
  ROW(sample, NoParams, 3, 3, 1, 1)              /* a token of each row of logits: op/sample.h */
// clang-format on

#define WICK_ENUMERATOR(name, ...) name,
enum class OpId : uint8_t { WICK_OPS(WICK_ENUMERATOR) };

struct NoParams {};

struct FillParams {
  double value = 0;
};

// Functions of one element x; a and b are UnaryParams'. NaN stays NaN in all of them. The sources of the definitions are in
// tensor/ops/unary.cpp. ROW(name, domain, how many of a and b it takes); a function of `numbers` maps integers to integers, one of
// `floats` is refused for them.
// clang-format off
#define WICK_UNARY_KINDS(ROW)                                                                  \
  ROW(neg, numbers, 0)                                                                         \
  ROW(abs, numbers, 0)                                                                         \
  ROW(sign, numbers, 0)          /* -1, 0 (also of -0) or 1 */                                 \
  ROW(floor, numbers, 0)                                                                       \
  ROW(ceil, numbers, 0)                                                                        \
  ROW(round, numbers, 0)         /* to the nearest whole number, halves away from zero */      \
  ROW(sqr, numbers, 0)           /* x^2 */                                                     \
  ROW(sqrt, floats, 0)                                                                         \
  ROW(rsqrt, floats, 0)          /* 1 / sqrt(x) */                                             \
  ROW(recip, floats, 0)          /* 1 / x */                                                   \
  ROW(exp, floats, 0)                                                                          \
  ROW(log, floats, 0)                                                                          \
  ROW(sin, floats, 0)                                                                          \
  ROW(cos, floats, 0)                                                                          \
  ROW(tanh, floats, 0)                                                                         \
  ROW(erf, floats, 0)                                                                          \
  ROW(sigmoid, floats, 0)        /* 1 / (1 + e^-x) */                                          \
  ROW(silu, floats, 0)           /* x * sigmoid(x) */                                          \
  ROW(relu, numbers, 0)          /* max(x, 0) */                                               \
  ROW(gelu, floats, 0)           /* x / 2 * (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) */     \
  ROW(gelu_erf, floats, 0)       /* x / 2 * (1 + erf(x / sqrt(2))) */                          \
  ROW(softplus, floats, 0)       /* log(1 + e^x) */                                            \
  ROW(mish, floats, 0)           /* x * tanh(softplus(x)) */                                   \
  ROW(hard_sigmoid, floats, 0)   /* clamp(x / 6 + 1/2, 0, 1) */                                \
  ROW(hard_swish, floats, 0)     /* x * hard_sigmoid(x) */                                     \
  ROW(affine, numbers, 2)        /* a * x + b, in f64 for integers, then as copy converts */   \
  ROW(powf, floats, 1)           /* x^a */                                                     \
  ROW(elu, floats, 1)            /* x for x > 0, else a * (e^x - 1) */                         \
  ROW(leaky_relu, floats, 1)     /* x for x > 0, else a * x */                                 \
  ROW(clamp, numbers, 2)         /* max(a, min(x, b)) */                                       \
  ROW(trunc, numbers, 0)         /* toward zero */                                             \
  ROW(tan, floats, 0)                                                                          \
  ROW(asin, floats, 0)                                                                         \
  ROW(acos, floats, 0)                                                                         \
  ROW(atan, floats, 0)                                                                         \
  ROW(sinh, floats, 0)                                                                         \
  ROW(cosh, floats, 0)                                                                         \
  ROW(asinh, floats, 0)                                                                        \
  ROW(acosh, floats, 0)                                                                        \
  ROW(atanh, floats, 0)                                                                        \
  ROW(exp2, floats, 0)           /* 2^x */                                                     \
  ROW(expm1, floats, 0)          /* e^x - 1 */                                                 \
  ROW(log2, floats, 0)                                                                         \
  ROW(log10, floats, 0)                                                                        \
  ROW(log1p, floats, 0)          /* log(1 + x) */
// clang-format on
enum class UnaryKind : uint8_t { WICK_UNARY_KINDS(WICK_ENUMERATOR) };

enum class Domain : uint8_t { numbers, floats };
struct UnaryInfo {
  UnaryKind kind;
  std::string_view name;
  Domain domain;
  int parameters;
};
#define WICK_UNARY_INFO(name, domain, parameters) UnaryInfo{UnaryKind::name, #name, Domain::domain, parameters},
inline constexpr auto kUnaryKinds = std::to_array<UnaryInfo>({WICK_UNARY_KINDS(WICK_UNARY_INFO)});
inline constexpr int kUnaryKindCount = static_cast<int>(kUnaryKinds.size());
[[nodiscard]] constexpr const UnaryInfo& info(UnaryKind kind) noexcept { return kUnaryKinds[static_cast<size_t>(kind)]; }

struct UnaryParams {
  UnaryKind kind = UnaryKind::neg;
  double a = 0;
  double b = 0;
};

// A row of kinds that have nothing but a name.
template <class Kind>
struct KindInfo {
  Kind kind;
  std::string_view name;
};

// fmod: what division toward zero leaves, with lhs' sign; remainder: what division toward minus infinity leaves, with rhs' sign;
// floor_divide: that quotient; atan2: the angle of the point (rhs, lhs). ROW(name, domain), as for unary kinds.
// clang-format off
#define WICK_BINARY_KINDS(ROW)                                                                                                        \
  ROW(add, numbers) ROW(sub, numbers) ROW(mul, numbers) ROW(div, numbers) ROW(minimum, numbers) ROW(maximum, numbers) ROW(pow, numbers) \
  ROW(fmod, numbers) ROW(remainder, numbers) ROW(floor_divide, numbers) ROW(atan2, floats)
// clang-format on
enum class BinaryKind : uint8_t { WICK_BINARY_KINDS(WICK_ENUMERATOR) };
struct BinaryInfo {
  BinaryKind kind;
  std::string_view name;
  Domain domain;
};
#define WICK_BINARY_INFO(name, domain) BinaryInfo{BinaryKind::name, #name, Domain::domain},
inline constexpr auto kBinaryKinds = std::to_array({WICK_BINARY_KINDS(WICK_BINARY_INFO)});
inline constexpr int kBinaryKindCount = static_cast<int>(kBinaryKinds.size());
[[nodiscard]] constexpr const BinaryInfo& info(BinaryKind kind) noexcept { return kBinaryKinds[static_cast<size_t>(kind)]; }
struct BinaryParams {
  BinaryKind kind = BinaryKind::add;
};

// Each is false where an operand is NaN, but for ne, which is true.
// clang-format off
#define WICK_COMPARE_KINDS(ROW) ROW(eq) ROW(ne) ROW(le) ROW(ge) ROW(lt) ROW(gt)
// clang-format on
enum class CompareKind : uint8_t { WICK_COMPARE_KINDS(WICK_ENUMERATOR) };
#define WICK_COMPARE_INFO(name) KindInfo<CompareKind>{CompareKind::name, #name},
inline constexpr auto kCompareKinds = std::to_array({WICK_COMPARE_KINDS(WICK_COMPARE_INFO)});
inline constexpr int kCompareKindCount = static_cast<int>(kCompareKinds.size());
struct CompareParams {
  CompareKind kind = CompareKind::eq;
};

// Over the last `dims` dimensions of the input, in any layout; out has the dimensions before them. Sums of floats are in f32 (f64 for
// f64), of integers in their own dtype, wrapping around. argmin and argmax give the u32 place among the reduced elements in row-major
// order, the first of equal ones; NaN counts as smallest and as largest, and min and max of a NaN are NaN.
// clang-format off
#define WICK_REDUCE_KINDS(ROW) ROW(sum) ROW(mean) ROW(min) ROW(max) ROW(argmin) ROW(argmax)
// clang-format on
enum class ReduceKind : uint8_t { WICK_REDUCE_KINDS(WICK_ENUMERATOR) };
#define WICK_REDUCE_INFO(name) KindInfo<ReduceKind>{ReduceKind::name, #name},
inline constexpr auto kReduceKinds = std::to_array({WICK_REDUCE_KINDS(WICK_REDUCE_INFO)});
inline constexpr int kReduceKindCount = static_cast<int>(kReduceKinds.size());
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
// rounded to the dtype. deterministic: as LinearParams'.
struct RmsNormParams {
  float epsilon = 1e-5F;
  bool deterministic = false;
};

// Which elements of a head form a rotated pair: (2i, 2i+1), as Llama's own checkpoints have it, or (i, i + half), as Hugging Face's.
enum class RopeStyle : uint8_t { interleaved, half_split };
// Inputs: x [tokens, heads, head_dim]; table f32 [tokens, rotary_dims / 2, 2] of (cos, sin). Elements from 2·pairs on are copied.
// rope_into_cache: inputs query [tokens, heads, d], key [tokens, kv_heads, d], value [tokens, kv_heads, value_d], all f32 and row-major;
// the table [positions, pairs, 2]; positions [tokens] and slots [tokens], i32: which row of the table turns a token, and which row of the
// cache takes its key and value; -1: none does. Outputs: the keys [kv_heads, slots, d] and the values [kv_heads, slots, value_d] of a cache
// of one of kCacheDTypes, whose rows are contiguous and of which only those slots change, and the turned queries, f32.
struct RopeParams {
  RopeStyle style = RopeStyle::interleaved;
};

// The result for a pair of products, g of the gate's rows and u of the up rows (tensor/ops/linear.h has the formulas' sources).
// clang-format off
#define WICK_GATE_KINDS(ROW)                                                           \
  ROW(silu)        /* silu(g) * u */                                                   \
  ROW(gelu)        /* gelu(g) * u, by tanh */                                          \
  ROW(gelu_erf)    /* gelu_erf(g) * u */                                               \
  ROW(relu_sqr)    /* relu(g)^2 * u */                                                 \
  ROW(swiglu_oai)  /* h * sigmoid(1.702 h) * (clamp(u, -7, 7) + 1), h = min(g, 7) */
// clang-format on
enum class GateKind : uint8_t { WICK_GATE_KINDS(WICK_ENUMERATOR) };
#define WICK_GATE_INFO(name) KindInfo<GateKind>{GateKind::name, #name},
inline constexpr auto kGateKinds = std::to_array({WICK_GATE_KINDS(WICK_GATE_INFO)});
inline constexpr int kGateKindCount = static_cast<int>(kGateKinds.size());
[[nodiscard]] constexpr std::string_view to_string(GateKind kind) noexcept { return kGateKinds[static_cast<size_t>(kind)].name; }
inline constexpr float kSwigluSlope = 1.702F;  // swiglu_oai's constants
inline constexpr float kSwigluLimit = 7;

// linear. Inputs: x [rows, k]; weights [n_i, k], each quantized or float, the rows of a quantized one dense and whole blocks; then, each if
// it is named here, f32 and dense: the norm's weight [k], a bias [n_i] of each weight, a residual [rows, n] of the one weight. Outputs: f32
// [rows, n_i] = rms_norm(x, norm) · weightᵀ + bias + residual.
// gated_linear. Inputs: x; gate and up [n, k] of one dtype; the norm's weight; the biases of gate and up. Output: f32 [rows, n] = gate of
// (rms_norm(x, norm) · gateᵀ + gate's bias) and (rms_norm(x, norm) · upᵀ + up's bias). No residual.
// linear_experts. Inputs: x [rows, k], where each row is one token's or one (token, expert) pair's; weight [experts, n, k]; ids i32
// [tokens, used], dense; if named, a bias [experts, n]. rows is tokens or tokens · used. Output: f32 [tokens, used, n] = x · weight[id]ᵀ +
// bias[id]. gated_linear_experts: x; gate and up; ids; the biases of both. An id outside of the experts: index_out_of_range where the host
// sees it (a CPU), NaN for its pair elsewhere. Neither has a norm or a residual.
//
// precise: activations stay f32; otherwise a device may round them to 8 bits per block of 32, but where weights are f16 only as far as
// results stay those of 11 bits. fast: a CPU may round f16 weights, and the activations that meet them, to the 8 bits of bf16.
// deterministic: the result of a row of x has the same bits in every call, beside any other rows and for every number of threads.
struct LinearParams {
  bool precise = false;
  bool fast = false;
  bool deterministic = false;
  GateKind gate = GateKind::silu;
  bool has_norm = false, has_bias = false, has_residual = false;
  float epsilon = 1e-5F;  // of the norm
};

// Dtypes of a key/value cache.
inline constexpr std::array<DType, 4> kCacheDTypes = {DType::f32, DType::f16, DType::bf16, DType::q8_0};
[[nodiscard]] constexpr bool is_cache_dtype(DType dtype) noexcept {
  return std::find(kCacheDTypes.begin(), kCacheDTypes.end(), dtype) != kCacheDTypes.end();
}

// Several sequences at once, whose keys and values lie in blocks of `block_size` slots of a cache that they share.
// Inputs: query [tokens, heads, d] f32, a sequence's tokens one behind the other; key [kv_heads, slots, d] and value [kv_heads, slots,
// value_d], both of one of kCacheDTypes; the plan, i32 and row-major: starts [sequences + 1], where each sequence's tokens begin, from 0 to
// `tokens`; lengths [sequences], how many positions of it are filled, these tokens' own included; table [sequences, blocks]: position p is
// in slot table[p / block_size] · block_size + p % block_size. Then, each if it is named here, f32: sinks [heads], slopes [heads], mask
// [heads, tokens, positions] in any layout. heads is a multiple of kv_heads.
// Outputs: [tokens, heads, value_d] and, if asked for, the logarithm of the softmax's denominator, [tokens, heads]; both f32.
//
// Token t of n stands at position p = length - n + t, and sees all positions of its sequence but those that follow p, if causal; p - window
// and before, if window > 0; those before p - p % chunk, if chunk > 0. Entries of the table for positions that no token sees count for
// nothing. A score is scale · q·k, then softcap · tanh(score / softcap) if softcap > 0, then plus slope · (position - p), then plus the
// mask. A sink is one more score of each token of its head, with a value of 0. A token that sees nothing gives 0, and -inf as logarithm.
// precise: all numbers stay what they are; otherwise a device may round scaled queries, keys, values and weights to f16, and an infinity or
// NaN among the values of one of these tokens may reach those before it.
// deterministic: a token's result has the same bits in every batch, for every way its sequence was cut into batches and every number of
// threads, where blocks hold a multiple of four slots.
// longest: no length is more, nor does it decide what is computed; 0: as many positions as a row of the table has.
struct AttentionParams {
  float scale = 1;
  float softcap = 0;
  int64_t block_size = 1;
  int64_t longest = 0;
  int64_t window = 0;
  int64_t chunk = 0;
  bool causal = true;
  bool precise = false;
  bool deterministic = false;
  bool has_sinks = false, has_slopes = false, has_mask = false;
};

// Positions of some sequences of linear attention, of a state S [k, v] of each head: Mamba 2, the gated delta rule. Each sequence has
// equally many rows, one after the other, and they follow those of the sequence before.
// Inputs, all f32 and row-major but for the slots: query and key [rows, key_heads, k]; value [rows, heads, v]; decay [rows, heads, 1] of a
// state, or [rows, heads, k] of its rows; rate [rows, heads]; from and to [sequences], i32. Outputs: states f32 [slots, heads · k · v],
// whose rows are contiguous and of which only those in `to` change, and the result [rows, heads, v], f32.
// For each head, S is states[from] before its sequence's first position, and states[to] after the last. Each position:
//   S = decay · S;  S = S + key ⊗ rate · value, delta: S + key ⊗ rate · (value - Sᵀ · key);  result = Sᵀ · query.
// heads is a multiple of key_heads. Head h has key head h / (heads / key_heads), interleaved: h % key_heads. `from` and `to` of one
// sequence may be one slot; else none in `to` is one that another sequence has. A result has the same bits beside any other sequences.
struct RecurrentStepParams {
  bool delta = false;
  bool interleaved = false;
};

// A causal convolution of each column by itself over rows of some sequences, which have equally many, as recurrent_step's. Inputs, f32 but
// for the slots: x [rows, width], whose rows are contiguous; weight [kernel, width] with kernel > 1, the furthest position first, and bias
// [width], row-major; from and to [sequences], i32. Outputs: states f32 [slots, (kernel - 1) · width], whose rows are contiguous: the
// kernel
// - 1 rows of x before a sequence's first, in states[from], and those up to its last, in states[to]; and the result [rows, width], f32:
//   result[row] = f(bias + Σ weight[i] · x[row - (kernel - 1) + i]),  f(x) = x, silu: x · sigmoid(x).
// Slots and bits are as recurrent_step's.
struct CausalConvParams {
  bool silu = false;
};

// The table of ops.
struct OpInfo {
  OpId id;
  std::string_view name;
  size_t param_bytes;  // of the parameter struct; 0: the op has none
  int min_inputs, max_inputs, max_outputs;
  int kinds;
};
#define WICK_OP_INFO(name, params, min_in, max_in, out, kinds) \
  OpInfo{OpId::name, #name, std::is_same_v<params, NoParams> ? 0 : sizeof(params), min_in, max_in, out, kinds},
inline constexpr auto kOps = std::to_array<OpInfo>({WICK_OPS(WICK_OP_INFO)});
inline constexpr int kOpCount = static_cast<int>(kOps.size());
[[nodiscard]] constexpr const OpInfo& info(OpId op) noexcept { return kOps[static_cast<size_t>(op)]; }
[[nodiscard]] constexpr std::string_view to_string(OpId op) noexcept { return info(op).name; }

#undef WICK_ENUMERATOR
#undef WICK_UNARY_INFO
#undef WICK_BINARY_INFO
#undef WICK_COMPARE_INFO
#undef WICK_REDUCE_INFO
#undef WICK_GATE_INFO
#undef WICK_OP_INFO

[[nodiscard]] constexpr std::string_view to_string(UnaryKind kind) noexcept { return info(kind).name; }
[[nodiscard]] constexpr std::string_view to_string(BinaryKind kind) noexcept { return info(kind).name; }
[[nodiscard]] constexpr std::string_view to_string(CompareKind kind) noexcept { return kCompareKinds[static_cast<size_t>(kind)].name; }
[[nodiscard]] constexpr std::string_view to_string(ReduceKind kind) noexcept { return kReduceKinds[static_cast<size_t>(kind)].name; }
// The name of a kind by its number: "tanh" of unary; the op's own where it has but one.
[[nodiscard]] constexpr std::string_view kind_name(OpId op, int kind) noexcept {
  switch (op) {
    case OpId::unary: return to_string(static_cast<UnaryKind>(kind));
    case OpId::binary: return to_string(static_cast<BinaryKind>(kind));
    case OpId::compare: return to_string(static_cast<CompareKind>(kind));
    case OpId::reduce: return to_string(static_cast<ReduceKind>(kind));
    default: return to_string(op);
  }
}
// Whether a kind maps numbers of integer dtypes to such numbers.
[[nodiscard]] constexpr bool takes_integers(OpId op, int kind) noexcept {
  if (op == OpId::unary) return info(static_cast<UnaryKind>(kind)).domain == Domain::numbers;
  if (op == OpId::binary) return info(static_cast<BinaryKind>(kind)).domain == Domain::numbers;
  return true;
}
// The number of the kind that an op's parameters name; 0 for an op with one kind.
[[nodiscard]] constexpr int kind_of(OpId op, const void* params) noexcept {
  return info(op).kinds == 1 ? 0 : *static_cast<const uint8_t*>(params);
}

// Rows are found by their enumerator's number, and kinds at the beginning of their parameters.
template <class Rows>
[[nodiscard]] consteval bool in_order(const Rows& rows) {
  for (size_t i = 0; i < rows.size(); ++i) {
    if constexpr (requires { rows[i].kind; }) {
      if (static_cast<size_t>(rows[i].kind) != i) return false;
    } else {
      if (static_cast<size_t>(rows[i].id) != i) return false;
    }
    if (rows[i].name.empty()) return false;
  }
  return !rows.empty();
}
static_assert(in_order(kOps) && in_order(kUnaryKinds) && in_order(kBinaryKinds) && in_order(kCompareKinds) && in_order(kReduceKinds) &&
              in_order(kGateKinds));
static_assert(offsetof(UnaryParams, kind) == 0 && offsetof(BinaryParams, kind) == 0 && offsetof(CompareParams, kind) == 0 &&
              offsetof(ReduceParams, kind) == 0);

}  // namespace wick
