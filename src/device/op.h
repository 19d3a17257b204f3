// The vocabulary that the library and the backends share: which ops there are, their parameters, and how one call looks.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "device/buffer.h"
#include "layout/dtype.h"
#include "layout/layout.h"

namespace wick {

class Runtime;

enum class OpId : uint8_t {
  fill,          // every element of out = value
  copy,          // out = in, converted to out's dtype
  unary,         // out = f(in)
  binary,        // out = f(lhs, rhs); operands come broadcast to out's shape
  softmax,       // along the last dimension
  argmax,        // along the last dimension; out u32
  rms_norm,      // in / sqrt(mean(in²) + ε) · weight along the last dimension
  rope,          // rotary position embedding
  embedding,     // rows of a table, dequantized
  matmul,        // batched [m, k] · [k, n]
  linear,        // in · weightᵀ for one to three weights at once
  gated_linear,  // silu(in · gateᵀ) · (in · upᵀ)
  attention,     // causal scaled dot-product attention over a key/value cache
  repack,        // a weight's bytes rearranged into the layout that linear likes best on this device
};
inline constexpr int kOpCount = static_cast<int>(OpId::repack) + 1;

inline constexpr std::array<std::string_view, kOpCount> kOpNames = {"fill",   "copy",         "unary",     "binary",    "softmax",
                                                                    "argmax", "rms_norm",     "rope",      "embedding", "matmul",
                                                                    "linear", "gated_linear", "attention", "repack"};
[[nodiscard]] constexpr std::string_view to_string(OpId op) noexcept { return kOpNames[static_cast<size_t>(op)]; }

struct FillParams {
  double value = 0;
};

enum class UnaryKind : uint8_t { neg, abs, exp, sqrt, recip, silu, tanh, relu };
inline constexpr std::array<std::string_view, 8> kUnaryNames = {"neg", "abs", "exp", "sqrt", "recip", "silu", "tanh", "relu"};
struct UnaryParams {
  UnaryKind kind = UnaryKind::neg;
};

enum class BinaryKind : uint8_t { add, sub, mul, div, minimum, maximum };
inline constexpr std::array<std::string_view, 6> kBinaryNames = {"add", "sub", "mul", "div", "minimum", "maximum"};
struct BinaryParams {
  BinaryKind kind = BinaryKind::add;
};

struct RmsNormParams {
  float epsilon = 1e-5F;
};

// Which elements of a head form a rotated pair: (2i, 2i+1), as Llama's own checkpoints have it, or (i, i + half), as Hugging Face's.
enum class RopeStyle : uint8_t { interleaved, half_split };
// Inputs: x [tokens, heads, head_dim]; table f32 [tokens, rotary_dims / 2, 2] of (cos, sin). Elements from 2·pairs on are copied.
struct RopeParams {
  RopeStyle style = RopeStyle::interleaved;
};

// Inputs: x [rows, k]; weights [n_i, k], each quantized or float. Outputs: f32 [rows, n_i].
// precise: activations stay f32; otherwise a device may round them to 8 bits per block of 32.
struct LinearParams {
  bool precise = false;
};

// Inputs: query [tokens, heads, head_dim] f32; key and value [kv_heads, positions, head_dim], f32 or f16, of which the first
// past + tokens positions are filled. Token t sees positions 0 … past + t. heads must be a multiple of kv_heads.
struct AttentionParams {
  float scale = 1;
  int64_t past = 0;
};

// One operand of a call. The layout's offset is in elements of dtype from the buffer's start.
struct Operand {
  Buffer* buffer = nullptr;
  DType dtype = DType::f32;
  const Layout* layout = nullptr;
};

struct OpCall {
  OpId op;
  const void* params = nullptr;  // the op's parameter struct
  std::span<const Operand> inputs;
  std::span<const Operand> outputs;
  Runtime* runtime = nullptr;

  template <class Params>
  [[nodiscard]] const Params& parameters() const noexcept {
    return *static_cast<const Params*>(params);
  }
};

// An implementation of an op for one device. The library has checked every operand before it is called.
using OpFunction = void (*)(const OpCall& call);

}  // namespace wick
