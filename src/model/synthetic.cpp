#include "model/synthetic.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <vector>

#include "base/error.h"
#include "base/thread_pool.h"
#include "formats/gguf_writer.h"
#include "model/random_rows.h"
#include "model/synthetic_vocabulary.h"

namespace wick {
namespace {

// What the tensors of one model are stored as. `file_type` is llama.cpp's number for the mix.
struct Mix {
  std::string_view name;
  DType base;
  DType important;  // of the head, and of attn_v and ffn_down in about half of the layers
  uint32_t file_type;
};

constexpr std::array<Mix, 10> kMixes = {{
    {"f32", DType::f32, DType::f32, 0},
    {"f16", DType::f16, DType::f16, 1},
    {"bf16", DType::bf16, DType::bf16, 32},
    {"q8_0", DType::q8_0, DType::q8_0, 7},
    {"q4_0", DType::q4_0, DType::q4_0, 2},
    {"q4_k", DType::q4_k, DType::q4_k, 14},
    {"q5_k", DType::q5_k, DType::q5_k, 16},
    {"q6_k", DType::q6_k, DType::q6_k, 18},
    {"q4_k_m", DType::q4_k, DType::q6_k, 15},
    {"q5_k_m", DType::q5_k, DType::q6_k, 17},
}};

const Mix& find_mix(std::string_view name) {
  std::string names;
  for (const Mix& mix : kMixes) {
    if (mix.name == name) return mix;
    names += fmt::format("{}{}", names.empty() ? "" : " ", mix.name);
  }
  fail(ErrorCode::invalid_argument, "type '{}': not one of {}", name, names);
}

// llama.cpp's use_more_bits: the first and last eighth of the layers, and every third between.
bool is_important(int64_t layer, int64_t layers) { return layer < layers / 8 || layer >= 7 * layers / 8 || (layer - layers / 8) % 3 == 2; }

struct PlannedTensor {
  std::string name;
  DType dtype;
  int64_t rows;
  int64_t columns;
};

std::vector<PlannedTensor> plan_matrices(const SyntheticShape& shape, const Mix& mix) {
  const int64_t kv_width = shape.width / shape.heads * shape.kv_heads;
  std::vector<PlannedTensor> plan;
  plan.push_back({"token_embd.weight", shape.tied ? mix.important : mix.base, shape.vocabulary, shape.width});
  for (int64_t layer = 0; layer < shape.layers; ++layer) {
    const DType chosen = is_important(layer, shape.layers) ? mix.important : mix.base;
    const std::string prefix = fmt::format("blk.{}.", layer);
    plan.push_back({prefix + "attn_q.weight", mix.base, shape.width, shape.width});
    plan.push_back({prefix + "attn_k.weight", mix.base, kv_width, shape.width});
    plan.push_back({prefix + "attn_v.weight", chosen, kv_width, shape.width});
    plan.push_back({prefix + "attn_output.weight", mix.base, shape.width, shape.width});
    plan.push_back({prefix + "ffn_gate.weight", mix.base, shape.feed_forward, shape.width});
    plan.push_back({prefix + "ffn_up.weight", mix.base, shape.feed_forward, shape.width});
    plan.push_back({prefix + "ffn_down.weight", chosen, shape.width, shape.feed_forward});
  }
  if (!shape.tied) plan.push_back({"output.weight", mix.important, shape.vocabulary, shape.width});
  for (const PlannedTensor& tensor : plan) {
    const int32_t block = info(tensor.dtype).block_elements;
    if (tensor.columns % block != 0) {
      fail(ErrorCode::invalid_argument,
           "shape: {} has rows of {}, which {} cannot hold: they must be a multiple of {}; choose another shape or type", tensor.name,
           tensor.columns, to_string(tensor.dtype), block);
    }
  }
  return plan;
}

void add_metadata(GgufWriter& writer, const SyntheticShape& shape, const Mix& mix) {
  const auto count = [](int64_t value) { return static_cast<uint32_t>(value); };
  writer.add_string("general.architecture", "llama");
  writer.add_string("general.name", fmt::format("Synthetic {} {}", shape.name, mix.name));
  writer.add_uint("general.file_type", mix.file_type);
  writer.add_uint("general.quantization_version", 2);
  writer.add_uint("llama.context_length", 8192);
  writer.add_uint("llama.embedding_length", count(shape.width));
  writer.add_uint("llama.block_count", count(shape.layers));
  writer.add_uint("llama.feed_forward_length", count(shape.feed_forward));
  writer.add_uint("llama.attention.head_count", count(shape.heads));
  writer.add_uint("llama.attention.head_count_kv", count(shape.kv_heads));
  writer.add_float("llama.attention.layer_norm_rms_epsilon", 1e-5F);
  writer.add_uint("llama.rope.dimension_count", count(shape.width / shape.heads));
  writer.add_float("llama.rope.freq_base", 500000);
  writer.add_uint("llama.vocab_size", count(shape.vocabulary));
  const SyntheticVocabulary vocabulary = make_synthetic_vocabulary(shape.vocabulary);
  writer.add_string("tokenizer.ggml.model", "gpt2");
  writer.add_string("tokenizer.ggml.pre", "gpt-2");
  writer.add_strings("tokenizer.ggml.tokens", vocabulary.tokens);
  writer.add_array<int32_t>("tokenizer.ggml.token_type", vocabulary.kinds);
  writer.add_strings("tokenizer.ggml.merges", vocabulary.merges);
  writer.add_uint("tokenizer.ggml.bos_token_id", vocabulary.bos);
  writer.add_uint("tokenizer.ggml.eos_token_id", vocabulary.eos);
  writer.add_bool("tokenizer.ggml.add_bos_token", true);
}

// Hands out the rows of one tensor, some megabytes at a time, filled by all threads.
class RowProducer {
 public:
  RowProducer(const SyntheticOptions& options, uint64_t total) : options_(options), total_(total), pool_(options.threads) {}

  void produce(const PlannedTensor& tensor, uint64_t number, const GgufWriter::Sink& sink) {
    constexpr int64_t kBytesAtOnce = int64_t{4} << 20;
    const int64_t row_bytes = storage_bytes(tensor.dtype, tensor.columns);
    const int64_t rows_at_once = std::clamp<int64_t>(kBytesAtOnce / row_bytes, 1, tensor.rows);
    const uint64_t tensor_seed = mix_seed(options_.seed, number);
    buffer_.resize(static_cast<size_t>(rows_at_once * row_bytes));
    for (int64_t first = 0; first < tensor.rows; first += rows_at_once) {
      const int64_t rows = std::min(rows_at_once, tensor.rows - first);
      pool_.parallel_for(rows, 1, [&](int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; ++row) {
          const auto bytes = std::span(buffer_).subspan(static_cast<size_t>(row * row_bytes), static_cast<size_t>(row_bytes));
          fill_random_row(tensor.dtype, mix_seed(tensor_seed, static_cast<uint64_t>(first + row)), bytes);
        }
      });
      const auto filled = std::span(buffer_).first(static_cast<size_t>(rows * row_bytes));
      sink(filled);
      done_ += filled.size();
      if (options_.progress) options_.progress(done_, total_);
    }
  }

 private:
  const SyntheticOptions& options_;
  uint64_t total_;
  uint64_t done_ = 0;
  ThreadPool pool_;
  std::vector<std::byte> buffer_;
};

void check_shape(const SyntheticShape& shape) {
  const auto require = [](bool good, const char* what) {
    if (!good) fail(ErrorCode::invalid_argument, "shape: {}", what);
  };
  require(shape.width % shape.heads == 0, "the width must be a multiple of the number of heads");
  require(shape.width / shape.heads % 2 == 0, "width / heads must be even: RoPE turns pairs");
  require(shape.heads % shape.kv_heads == 0, "the number of heads must be a multiple of the number of KV heads");
  require(shape.vocabulary >= 258, "the vocabulary must have at least 258 tokens: 256 bytes, BOS and EOS");
}

}  // namespace

SyntheticShape parse_synthetic_shape(std::string_view text) {
  if (text == "1b") return {16, 2048, 8192, 32, 8, 32000, true, "1b"};
  if (text == "8b") return {32, 4096, 14336, 32, 8, 128256, false, "8b"};
  std::array<int64_t, 6> numbers{};
  const char* at = text.data();
  const char* end = text.data() + text.size();
  for (size_t index = 0; index < numbers.size(); ++index) {
    const auto [stop, error] = std::from_chars(at, end, numbers[index]);
    const bool last = index + 1 == numbers.size();
    const bool separated = last ? stop == end : stop != end && *stop == ',';
    if (error != std::errc() || !separated || numbers[index] < 1 || numbers[index] > (int64_t{1} << 24)) {
      fail(ErrorCode::invalid_argument,
           "shape '{}': write 1b, 8b or six numbers from 1 to 16777216: layers,width,feed-forward,heads,KV heads,vocabulary such as "
           "4,256,768,8,4,1000",
           text);
    }
    at = stop + 1;
  }
  SyntheticShape shape{numbers[0], numbers[1], numbers[2], numbers[3], numbers[4], numbers[5], true, std::string(text)};
  check_shape(shape);
  return shape;
}

void write_synthetic_llama(const std::filesystem::path& path, const SyntheticOptions& options) {
  const SyntheticShape& shape = options.shape;
  check_shape(shape);
  const Mix& mix = find_mix(options.type);
  const std::vector<PlannedTensor> plan = plan_matrices(shape, mix);
  uint64_t total = 0;
  for (const PlannedTensor& tensor : plan) total += static_cast<uint64_t>(tensor.rows * storage_bytes(tensor.dtype, tensor.columns));

  GgufWriter writer;
  add_metadata(writer, shape, mix);
  RowProducer producer(options, total);
  for (size_t number = 0; number < plan.size(); ++number) {
    const PlannedTensor& tensor = plan[number];
    writer.add_tensor(tensor.name, tensor.dtype, {tensor.rows, tensor.columns},
                      [&producer, &tensor, number](const GgufWriter::Sink& sink) { producer.produce(tensor, number, sink); });
  }
  const std::vector<float> ones(static_cast<size_t>(shape.width), 1.0F);
  const auto norm = std::as_bytes(std::span(ones));
  for (int64_t layer = 0; layer < shape.layers; ++layer) {
    writer.add_tensor(fmt::format("blk.{}.attn_norm.weight", layer), DType::f32, {shape.width}, norm);
    writer.add_tensor(fmt::format("blk.{}.ffn_norm.weight", layer), DType::f32, {shape.width}, norm);
  }
  writer.add_tensor("output_norm.weight", DType::f32, {shape.width}, norm);
  writer.write(path);
}

}  // namespace wick
