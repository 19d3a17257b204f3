// Models with random weights and a working tokenizer: for benchmarks on machines without downloads.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace wick {

struct SyntheticShape {
  int64_t layers = 0;
  int64_t width = 0;         // embedding length; a multiple of heads
  int64_t feed_forward = 0;  // width between gate and down
  int64_t heads = 0;         // a multiple of kv_heads
  int64_t kv_heads = 0;
  int64_t vocabulary = 0;  // at least 258: every byte, BOS and EOS
  bool tied = true;        // the embedding is the head too
  std::string name;        // "1b"
  // Sizes that the architecture adds; 0 until then.
  int64_t head_dim = 0;  // 0: width / heads
  int64_t experts = 0, experts_used = 0, expert_width = 0;
};

// "1b" (16 layers, 2048 wide, FFN 8192, 32/8 heads, vocabulary 32,000, tied), "8b" (Llama 3 8B: 32, 4096, 14336, 32/8, 128,256, not
// tied), or "L,D,F,H,K,V": layers, width, feed-forward width, heads, KV heads, vocabulary; tied.
// Errors: invalid_argument, naming what is wrong with it.
[[nodiscard]] SyntheticShape parse_synthetic_shape(std::string_view text);

struct SyntheticOptions {
  SyntheticShape shape;
  // One of synthetic_architectures(): llama, BitNet as llama.cpp runs it (bitnet) or as Microsoft publishes it (bitnet-b1.58: squared
  // ReLU), qwen3, gemma2, gemma3, phi3, gpt2, qwen3-moe, gpt-oss, deepseek-v2-lite; with states in the place of attention mamba2, and
  // with both granitehybrid, lfm2, qwen3next, qwen35.
  std::string architecture = "llama";
  // One of synthetic_types().
  std::string type = "q8_0";
  uint64_t seed = 1;
  int threads = 1;
  // Told how many bytes of weights are written; may be empty.
  std::function<void(uint64_t done, uint64_t total)> progress = {};
};

// The name of a storage format, "q4_k": every matrix has it. The name of another mix of the quantizer (model/quantize_plan.h), "q4_k_m":
// matrices have the types that it would give them. BitNet's embedding and head are f16 in each case, as in the published files.
[[nodiscard]] std::vector<std::string> synthetic_types();

// Errors: invalid_argument for a type that is not there, or that cannot hold the matrices of that shape.
void check_synthetic_type(const SyntheticShape& shape, const std::string& type);

// Writes a model with weights of mean 0 and standard deviation 0.02, norms of 1, RoPE base 500,000 and context 8192. The bytes depend on
// shape, type and seed only. Memory does not grow with the model.
// Errors: invalid_argument (an unknown type; a width that is no multiple of its block), unsupported (an architecture), io.
void write_synthetic_model(const std::filesystem::path& path, const SyntheticOptions& options);

}  // namespace wick
