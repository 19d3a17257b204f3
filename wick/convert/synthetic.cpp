#include "wick/convert/synthetic.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <vector>

#include "wick/base/ascii.h"
#include "wick/base/fail.h"
#include "wick/base/thread_pool.h"
#include "wick/convert/quantize_plan.h"
#include "wick/convert/random_rows.h"
#include "wick/convert/synthetic_family.h"
#include "wick/convert/synthetic_vocabulary.h"
#include "wick/formats/gguf_writer.h"

namespace wick {
namespace {

// Rows that are shorter than a block of the K-quants.
constexpr int64_t kShortRow = 256;

// What the tensors of one model are stored as: all in one format, or in a quantizer's mix.
struct StorageChoice {
  std::string name;
  DType dtype = DType::f32;
  const MixInfo* mix = nullptr;  // nullptr: every matrix has the dtype
  uint32_t file_type = 0;
};

// The number that files of that type carry: the quantizer's for its (smallest) mix of the format.
uint32_t file_type_of(DType dtype) {
  constexpr uint32_t kI2S = 40;  // in the fork of llama.cpp that writes it
  if (dtype == DType::i2_s) return kI2S;
  for (const MixInfo& mix : mix_infos()) {
    if (mix.base == dtype) return mix.file_type;
  }
  WICK_ASSERT(false);
}

StorageChoice parse_type(std::string_view spelling) {
  const std::string name = ascii_lowercase(spelling);
  const std::optional<DType> dtype = parse_dtype(name);
  if (dtype && has_random_rows(*dtype)) return {name, *dtype, nullptr, file_type_of(*dtype)};
  for (const MixInfo& mix : mix_infos()) {
    if (ascii_lowercase(mix.name) == name) return {name, mix.base, &mix, mix.file_type};
  }
  fail(ErrorCode::invalid_argument, "type '{}': not one of {}", spelling, fmt::join(synthetic_types(), " "));
}

bool is_bitnet(const SyntheticOptions& options) { return options.architecture.starts_with("bitnet"); }

Shape shape_of(const PlannedTensor& tensor) {
  return tensor.stack == 1 ? Shape{tensor.rows, tensor.columns} : Shape{tensor.stack, tensor.rows, tensor.columns};
}

void apply_mix(std::vector<PlannedTensor>& plan, const SyntheticOptions& options, const MixInfo& mix) {
  std::vector<GgufTensor> tensors;
  for (const PlannedTensor& tensor : plan) {
    tensors.push_back({.name = tensor.name, .dtype = DType::f32, .shape = shape_of(tensor), .data = {}, .file = nullptr});
  }
  const SyntheticShape& shape = options.shape;
  const QuantizeSource source{.architecture = std::string(gguf_architecture_of(options.architecture)),
                              .layers = shape.layers,
                              .experts = shape.experts,
                              .heads = shape.heads,
                              .kv_heads = shape.kv_heads,
                              .tensors = tensors};
  const std::vector<PlannedType> types = plan_quantization(source, mix, {}, false);
  for (size_t index = 0; index < plan.size(); ++index) {
    if (plan[index].dtype != DType::f32) plan[index].dtype = types[index].wanted;
  }
}

SyntheticPlan plan_tensors(const SyntheticOptions& options, const StorageChoice& choice) {
  SyntheticPlan all = plan_synthetic(options.shape, options.architecture, choice.dtype);
  std::vector<PlannedTensor>& plan = all.matrices;
  if (choice.mix != nullptr) apply_mix(plan, options, *choice.mix);
  for (PlannedTensor& tensor : plan) {
    const bool is_table = tensor.name == "token_embd.weight" || tensor.name == "output.weight";
    if (is_table && is_bitnet(options) && is_quantized(tensor.dtype)) tensor.dtype = DType::f16;  // as in the published files
    // As quantizers do with the short rows of latent attention's keys.
    const bool short_rows = tensor.columns < kShortRow && tensor.columns % info(tensor.dtype).block_elements != 0;
    if (short_rows && tensor.stack > 1) tensor.dtype = DType::q8_0;
    const int32_t block = info(tensor.dtype).block_elements;
    if (tensor.columns % block != 0) {
      fail(ErrorCode::invalid_argument,
           "shape: {} has rows of {}, which {} cannot hold: they must be a multiple of {}; choose another shape or type", tensor.name,
           tensor.columns, to_string(tensor.dtype), block);
    }
  }
  return all;
}

void add_metadata(GgufWriter& writer, const SyntheticOptions& options, const StorageChoice& choice) {
  const SyntheticShape& shape = options.shape;
  const std::string architecture(gguf_architecture_of(options.architecture));
  const std::string prefix = architecture + ".";
  const auto count = [](int64_t value) { return static_cast<uint32_t>(value); };
  writer.add_string("general.architecture", architecture);
  writer.add_string("general.name", fmt::format("Synthetic {} {}", shape.name, choice.name));
  writer.add_uint("general.file_type", choice.file_type);
  writer.add_uint("general.quantization_version", 2);
  writer.add_uint(prefix + "context_length", options.architecture == "gpt2" ? 1024 : 8192);
  writer.add_uint(prefix + "embedding_length", count(shape.width));
  writer.add_uint(prefix + "block_count", count(shape.layers));
  writer.add_uint(prefix + "feed_forward_length", count(shape.feed_forward));
  add_synthetic_keys(writer, shape, options.architecture);
  writer.add_uint(prefix + "vocab_size", count(shape.vocabulary));
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
    const int64_t all_rows = tensor.all_rows();
    const int64_t rows_at_once = std::clamp<int64_t>(kBytesAtOnce / row_bytes, 1, all_rows);
    const uint64_t tensor_seed = mix_seed(options_.seed, number);
    buffer_.resize(static_cast<size_t>(rows_at_once * row_bytes));
    for (int64_t first = 0; first < all_rows; first += rows_at_once) {
      const int64_t rows = std::min(rows_at_once, all_rows - first);
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
    if (tensor.dtype == DType::i2_s) sink(i2_s_tail());
  }

 private:
  static std::span<const std::byte> i2_s_tail() {
    static const std::array<float, 8> kTail = {random_i2_s_scale()};
    return std::as_bytes(std::span(kTail));
  }

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

std::vector<std::string> synthetic_types() {
  std::vector<std::string> names;
  for (int id = 0; id < kDTypeCount; ++id) {
    const auto dtype = static_cast<DType>(id);
    if (has_random_rows(dtype)) names.emplace_back(to_string(dtype));
  }
  for (const MixInfo& mix : mix_infos()) {
    const std::string name = ascii_lowercase(mix.name);
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return names;
}

void check_synthetic_type(const SyntheticShape& shape, const std::string& type) {
  (void)plan_tensors({.shape = shape_of_architecture(shape, "llama"), .type = type}, parse_type(type));
}

void write_synthetic_model(const std::filesystem::path& path, const SyntheticOptions& request) {
  SyntheticOptions options = request;
  check_shape(options.shape);
  options.shape = shape_of_architecture(options.shape, options.architecture);
  const StorageChoice choice = parse_type(options.type);
  const SyntheticPlan plan = plan_tensors(options, choice);
  uint64_t total = 0;
  for (const PlannedTensor& tensor : plan.matrices) {
    total += static_cast<uint64_t>(tensor.all_rows() * storage_bytes(tensor.dtype, tensor.columns));
  }

  GgufWriter writer;
  add_metadata(writer, options, choice);
  RowProducer producer(options, total);
  for (size_t number = 0; number < plan.matrices.size(); ++number) {
    const PlannedTensor& tensor = plan.matrices[number];
    writer.add_tensor(tensor.name, tensor.dtype, shape_of(tensor),
                      [&producer, &tensor, number](const GgufWriter::Sink& sink) { producer.produce(tensor, number, sink); });
  }
  std::vector<std::vector<float>> values;
  values.reserve(plan.vectors.size());
  for (const PlannedVector& vector : plan.vectors) {
    values.emplace_back(static_cast<size_t>(vector.width), vector.value);
    const Shape extents = vector.is_column ? Shape{vector.width, 1} : Shape{vector.width};
    writer.add_tensor(vector.name, DType::f32, extents, std::as_bytes(std::span(values.back())));
  }
  writer.write(path);
}

}  // namespace wick
