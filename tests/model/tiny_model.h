// Small models with random weights, written as GGUF files, and a Llama in plain double loops to compare them with.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "wick/formats/gguf.h"
#include "wick/formats/gguf_writer.h"
#include "wick/quant/block_format.h"
#include "wick/quant/unpack_row.h"

namespace wick {

struct TinyModel {
  std::string architecture = "llama";
  int64_t layers = 2, width = 64, feed_forward = 96, heads = 4, kv_heads = 2, head_dim = 16, vocab = 101, context = 600;
  bool tied = false;
  DType dtype = DType::f32;          // of the layers' matrices
  std::optional<DType> table_dtype;  // of token_embd and output, if it is another
  bool scales = false;               // a ".scale" beside each matrix of a layer
  double rope_base = 10000;
  double rope_stretch = 1;  // what NaiveLlama divides positions by; the file says it in `numbers`
  double norm_epsilon = 1e-5;
  int64_t window = 0;          // positions that NaiveLlama's tokens see, their own included; 0: all. The file says it in `numbers`
  double attention_scale = 0;  // 0: 1 / √head_dim
  // Further metadata, under "<architecture>.".
  std::map<std::string, float> numbers;
  std::map<std::string, std::string> strings;
  std::map<std::string, bool> flags;
  bool biases = false;              // beside every matrix of a layer, and beside the head
  std::vector<std::string> extras;  // tensors of four elements that no model reads

  [[nodiscard]] bool is_bitnet() const { return architecture.starts_with("bitnet"); }
};

// Codes 0, 1, 2 (and a few 3, which mean 0) as the files of BitNet have them, and their scale.
inline std::vector<std::byte> random_i2_s(std::mt19937& generator, int64_t elements, float scale) {
  std::vector<std::byte> bytes(static_cast<size_t>(elements / 4 + 32));
  for (int64_t byte = 0; byte < elements / 4; ++byte) {
    unsigned codes = 0;
    for (int place = 0; place < 4; ++place) codes = codes << 2 | (generator() % 50 == 0 ? 3 : generator() % 3);
    bytes[static_cast<size_t>(byte)] = static_cast<std::byte>(codes);
  }
  std::memcpy(bytes.data() + elements / 4, &scale, sizeof(scale));
  return bytes;
}

// Random floats of variance 1 / columns, packed into the dtype. The same name gives the same bytes.
inline std::vector<std::byte> random_weights(const std::string& name, DType dtype, int64_t rows, int64_t columns) {
  std::mt19937 generator(static_cast<uint32_t>(std::hash<std::string>{}(name)));
  const float deviation = 1.0F / std::sqrt(static_cast<float>(columns));
  if (dtype == DType::i2_s) return random_i2_s(generator, rows * columns, deviation);
  std::normal_distribution<float> normal(0.0F, deviation);
  std::vector<float> values(static_cast<size_t>(rows * columns));
  for (float& value : values) value = normal(generator);
  std::vector<std::byte> bytes(static_cast<size_t>(storage_bytes(dtype, rows * columns)));
  find_block_format(dtype)->pack(values, bytes.data());
  return bytes;
}

inline void write_tiny_model(const TinyModel& model, const std::filesystem::path& path) {
  GgufWriter writer;
  const std::string prefix = model.architecture + ".";
  writer.add_string("general.architecture", model.architecture);
  const std::map<std::string, int64_t> sizes = {{"block_count", model.layers},
                                                {"embedding_length", model.width},
                                                {"feed_forward_length", model.feed_forward},
                                                {"attention.head_count", model.heads},
                                                {"attention.head_count_kv", model.kv_heads},
                                                {"attention.key_length", model.head_dim},
                                                {"attention.value_length", model.head_dim},
                                                {"rope.dimension_count", model.head_dim},
                                                {"context_length", model.context}};
  for (const auto& [key, value] : sizes) writer.add_uint(prefix + key, static_cast<uint32_t>(value));
  writer.add_float(prefix + "rope.freq_base", static_cast<float>(model.rope_base));
  writer.add_float(prefix + "attention.layer_norm_rms_epsilon", static_cast<float>(model.norm_epsilon));
  for (const auto& [key, value] : model.numbers) writer.add_float(prefix + key, value);
  for (const auto& [key, value] : model.strings) writer.add_string(prefix + key, value);
  for (const auto& [key, value] : model.flags) writer.add_bool(prefix + key, value);

  std::vector<std::unique_ptr<std::vector<std::byte>>> kept;
  const auto add = [&](const std::string& name, DType dtype, int64_t rows, int64_t columns) {
    kept.push_back(std::make_unique<std::vector<std::byte>>(random_weights(name, dtype, rows, columns)));
    const Shape shape = rows == 1 ? Shape{columns} : Shape{rows, columns};
    writer.add_tensor(name, dtype, shape, *kept.back());
  };
  const int64_t query = model.heads * model.head_dim;
  const int64_t kv = model.kv_heads * model.head_dim;
  const DType table = model.table_dtype.value_or(model.dtype);
  std::map<std::string, float> scales;
  const auto add_matrix = [&](const std::string& name, int64_t rows, int64_t columns) {
    add(name + ".weight", model.dtype, rows, columns);
    if (model.biases) add(name + ".bias", DType::f32, 1, rows);
    if (model.scales) scales[name + ".scale"] = 0.5F + static_cast<float>(std::hash<std::string>{}(name) % 100) / 100;
  };
  add("token_embd.weight", table, model.vocab, model.width);
  add("output_norm.weight", DType::f32, 1, model.width);
  if (!model.tied) add("output.weight", table, model.vocab, model.width);
  if (model.biases) add("output.bias", DType::f32, 1, model.vocab);
  for (const std::string& name : model.extras) add(name, DType::f32, 1, 4);
  for (int64_t layer = 0; layer < model.layers; ++layer) {
    const std::string block = "blk." + std::to_string(layer) + ".";
    add(block + "attn_norm.weight", DType::f32, 1, model.width);
    add_matrix(block + "attn_q", query, model.width);
    add_matrix(block + "attn_k", kv, model.width);
    add_matrix(block + "attn_v", kv, model.width);
    add_matrix(block + "attn_output", model.width, query);
    if (model.is_bitnet()) add(block + "attn_sub_norm.weight", DType::f32, 1, query);
    if (model.is_bitnet()) add(block + "ffn_sub_norm.weight", DType::f32, 1, model.feed_forward);
    add(block + "ffn_norm.weight", DType::f32, 1, model.width);
    add_matrix(block + "ffn_gate", model.feed_forward, model.width);
    add_matrix(block + "ffn_up", model.feed_forward, model.width);
    add_matrix(block + "ffn_down", model.width, model.feed_forward);
  }
  for (const auto& [name, value] : scales) writer.add_tensor(name, DType::f32, {1}, std::as_bytes(std::span(&value, 1)));
  writer.write(path);
}

// Llama as its paper has it, token by token and number by number, in double: the truth that the real one is held against.
class NaiveLlama {
 public:
  NaiveLlama(const GgufFile& file, const TinyModel& model) : file_(file), model_(model) {}

  // Adds scale · b · a to a weight: b [rows, rank], a [rank, columns].
  void add_product(const std::string& name, double scale, const std::vector<float>& b, const std::vector<float>& a) {
    (void)weight(name);
    std::vector<Row>& rows = weights_[name];
    const size_t rank = b.size() / rows.size();
    for (size_t row = 0; row < rows.size(); ++row) {
      const size_t columns = rows[row].size();
      for (size_t i = 0; i < rank; ++i) {
        for (size_t column = 0; column < columns; ++column) {
          rows[row][column] += scale * static_cast<double>(b[row * rank + i]) * static_cast<double>(a[i * columns + column]);
        }
      }
    }
  }
  // Logits [tokens][vocab].
  [[nodiscard]] std::vector<std::vector<double>> run(const std::vector<int32_t>& tokens) {
    std::vector<std::vector<double>> logits;
    for (size_t position = 0; position < tokens.size(); ++position) logits.push_back(step(tokens[position], position));
    return logits;
  }

 private:
  using Row = std::vector<double>;

  [[nodiscard]] const std::vector<Row>& weight(const std::string& name) {
    std::vector<Row>& rows = weights_[name];
    if (!rows.empty()) return rows;
    const GgufTensor& tensor = *file_.find_tensor(name);
    const int64_t columns = tensor.shape.last();
    std::vector<float> values(static_cast<size_t>(columns));
    for (int64_t row = 0; row * columns < tensor.shape.elements(); ++row) {
      unpack_row(tensor.dtype, tensor.data.data(), tensor.data.size(), row, values);
      rows.emplace_back(values.begin(), values.end());
    }
    return rows;
  }

  // x · Wᵀ, times the scale that stands beside the matrix, plus its bias.
  [[nodiscard]] Row multiply(const std::string& name, const Row& x) {
    Row result;
    const std::string beside = name.substr(0, name.size() - std::string("weight").size()) + "scale";
    const double scale = file_.find_tensor(beside) == nullptr ? 1 : weight(beside)[0][0];
    for (const Row& row : weight(name)) {
      double sum = 0;
      for (size_t i = 0; i < x.size(); ++i) sum += row[i] * x[i];
      result.push_back(sum * scale);
    }
    const std::string bias = name.substr(0, name.size() - std::string("weight").size()) + "bias";
    if (file_.find_tensor(bias) == nullptr) return result;
    for (size_t i = 0; i < result.size(); ++i) result[i] += weight(bias)[0][i];
    return result;
  }

  [[nodiscard]] double activated(double gate) const {
    const bool silu = !model_.is_bitnet() || model_.architecture == "bitnet";
    return silu ? gate / (1 + std::exp(-gate)) : gate > 0 ? gate * gate : 0;
  }

  [[nodiscard]] Row norm(const std::string& name, const Row& x) {
    double squares = 0;
    for (const double value : x) squares += value * value;
    const double scale = 1 / std::sqrt(squares / static_cast<double>(x.size()) + static_cast<float>(model_.norm_epsilon));
    Row result = x;
    for (size_t i = 0; i < x.size(); ++i) result[i] *= scale * weight(name)[0][i];
    return result;
  }

  void rotate(Row& x, size_t position) const {
    const auto dims = static_cast<size_t>(model_.head_dim);
    for (size_t head = 0; head * dims < x.size(); ++head) {
      for (size_t pair = 0; pair < dims / 2; ++pair) {
        const double frequency =
            std::pow(static_cast<float>(model_.rope_base), -2.0 * static_cast<double>(pair) / static_cast<double>(dims));
        const double angle = static_cast<double>(position) * frequency / model_.rope_stretch;
        const bool halves = model_.architecture != "llama";
        double& a = x[head * dims + (halves ? pair : 2 * pair)];
        double& b = x[head * dims + (halves ? pair + dims / 2 : 2 * pair + 1)];
        const double rotated = a * std::cos(angle) - b * std::sin(angle);
        b = a * std::sin(angle) + b * std::cos(angle);
        a = rotated;
      }
    }
  }

  [[nodiscard]] Row attend(const Row& query, size_t layer) {
    const auto dims = static_cast<size_t>(model_.head_dim);
    const auto group = static_cast<size_t>(model_.heads / model_.kv_heads);
    Row result(query.size(), 0.0);
    for (size_t head = 0; head * dims < query.size(); ++head) {
      const size_t shared = head / group * dims;
      Row scores;
      double sum = 0;
      const size_t count = keys_[layer].size();
      const double scale = model_.attention_scale > 0 ? model_.attention_scale : 1 / std::sqrt(static_cast<double>(dims));
      for (size_t position = 0; position < count; ++position) {
        const Row& key = keys_[layer][position];
        if (model_.window > 0 && count - position > static_cast<size_t>(model_.window)) {
          scores.push_back(0);
          continue;
        }
        double score = 0;
        for (size_t i = 0; i < dims; ++i) score += query[head * dims + i] * key[shared + i];
        scores.push_back(std::exp(score * scale));
        sum += scores.back();
      }
      for (size_t position = 0; position < scores.size(); ++position) {
        for (size_t i = 0; i < dims; ++i) result[head * dims + i] += scores[position] / sum * values_[layer][position][shared + i];
      }
    }
    return result;
  }

  [[nodiscard]] Row step(int32_t token, size_t position) {
    Row x = weight("token_embd.weight")[static_cast<size_t>(token)];
    const auto add = [&](const Row& y) {
      for (size_t i = 0; i < x.size(); ++i) x[i] += y[i];
    };
    for (size_t layer = 0; layer < static_cast<size_t>(model_.layers); ++layer) {
      const std::string block = "blk." + std::to_string(layer) + ".";
      const Row normed = norm(block + "attn_norm.weight", x);
      Row query = multiply(block + "attn_q.weight", normed);
      Row key = multiply(block + "attn_k.weight", normed);
      rotate(query, position);
      rotate(key, position);
      keys_[layer].push_back(key);
      values_[layer].push_back(multiply(block + "attn_v.weight", normed));
      Row heads = attend(query, layer);
      if (model_.is_bitnet()) heads = norm(block + "attn_sub_norm.weight", heads);
      add(multiply(block + "attn_output.weight", heads));
      const Row inner = norm(block + "ffn_norm.weight", x);
      Row gate = multiply(block + "ffn_gate.weight", inner);
      const Row up = multiply(block + "ffn_up.weight", inner);
      for (size_t i = 0; i < gate.size(); ++i) gate[i] = activated(gate[i]) * up[i];
      if (model_.is_bitnet()) gate = norm(block + "ffn_sub_norm.weight", gate);
      add(multiply(block + "ffn_down.weight", gate));
    }
    return multiply(model_.tied ? "token_embd.weight" : "output.weight", norm("output_norm.weight", x));
  }

  const GgufFile& file_;
  TinyModel model_;
  std::map<std::string, std::vector<Row>> weights_;
  std::map<size_t, std::vector<Row>> keys_;
  std::map<size_t, std::vector<Row>> values_;
};

}  // namespace wick
