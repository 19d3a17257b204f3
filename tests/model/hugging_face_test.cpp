// Checkpoints in Hugging Face form, turned into GGUF as its converters do, against logits that transformers computed in f32.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <numbers>

#include <nlohmann/json.hpp>

#include "unit/shared_data.h"
#include "unit/temporary_folder.h"
#include "wick/formats/gguf_writer.h"
#include "wick/formats/safetensors.h"
#include "wick/model/language_model.h"

namespace wick {
namespace {

using Json = nlohmann::json;

// Hugging Face keeps the halves of a rotated head apart; Llama's GGUF files interleave them: row 2i + h of a head was row h·half + i.
std::vector<std::byte> interleave_heads(const SafetensorsTensor& weight, int64_t heads) {
  std::vector<std::byte> result(weight.data.size());
  const size_t row_bytes = weight.data.size() / static_cast<size_t>(weight.shape[0]);
  const int64_t head_rows = weight.shape[0] / heads;
  for (int64_t row = 0; row < weight.shape[0]; ++row) {
    const int64_t within = row % head_rows;
    const int64_t source = row - within + within % 2 * (head_rows / 2) + within / 2;
    std::memcpy(result.data() + static_cast<size_t>(row) * row_bytes, weight.data.data() + static_cast<size_t>(source) * row_bytes,
                row_bytes);
  }
  return result;
}

// The divisors that converters store for Llama 3.1's frequency scaling.
std::vector<float> llama3_divisors(const Json& rope, int64_t dims) {
  const double factor = rope.at("factor");
  const double low = rope.at("low_freq_factor");
  const double high = rope.at("high_freq_factor");
  const double context = rope.at("original_max_position_embeddings");
  std::vector<float> divisors;
  for (int64_t pair = 0; pair < dims / 2; ++pair) {
    const double wavelength =
        2 * std::numbers::pi * std::pow(rope.at("rope_theta").get<double>(), 2.0 * static_cast<double>(pair) / static_cast<double>(dims));
    if (wavelength < context / high) {
      divisors.push_back(1);
    } else if (wavelength > context / low) {
      divisors.push_back(static_cast<float>(factor));
    } else {
      const double smooth = (context / wavelength - low) / (high - low);
      divisors.push_back(static_cast<float>(1 / ((1 - smooth) / factor + smooth)));
    }
  }
  return divisors;
}

class Converter {
 public:
  Converter(const std::filesystem::path& folder, bool llama3_by_keys)
      : weights_(SafetensorsFile::open(folder / "model.safetensors")),
        config_(Json::parse(std::ifstream(folder / "config.json"))),
        llama3_by_keys_(llama3_by_keys) {}

  void write(const std::filesystem::path& path) {
    architecture_ = config_.at("model_type");
    writer_.add_string("general.architecture", architecture_);
    add_uint("block_count", "num_hidden_layers");
    add_uint("embedding_length", "hidden_size");
    add_uint("feed_forward_length", "intermediate_size");
    add_uint("attention.head_count", "num_attention_heads");
    add_uint("attention.head_count_kv", "num_key_value_heads");
    add_uint("context_length", "max_position_embeddings");
    writer_.add_float(architecture_ + ".attention.layer_norm_rms_epsilon", config_.at("rms_norm_eps"));
    const int64_t head_dim =
        config_.value("head_dim", config_.at("hidden_size").get<int64_t>() / config_.at("num_attention_heads").get<int64_t>());
    writer_.add_uint(architecture_ + ".attention.key_length", static_cast<uint32_t>(head_dim));
    writer_.add_uint(architecture_ + ".attention.value_length", static_cast<uint32_t>(head_dim));
    add_rope(head_dim);
    add("token_embd.weight", "model.embed_tokens.weight");
    add("output_norm.weight", "model.norm.weight");
    if (weights_.find("lm_head.weight") != nullptr) add("output.weight", "lm_head.weight");
    for (int layer = 0; layer < config_.at("num_hidden_layers").get<int>(); ++layer) add_layer(layer);
    writer_.write(path);
  }

 private:
  void add_uint(const std::string& key, const std::string& source) {
    writer_.add_uint(architecture_ + "." + key, config_.at(source).get<uint32_t>());
  }

  void add_rope(int64_t head_dim) {
    const Json& rope = config_.at("rope_parameters");
    const std::string prefix = architecture_ + ".rope.";
    writer_.add_float(prefix + "freq_base", rope.at("rope_theta"));
    if (rope.at("rope_type") != "llama3") return;
    if (llama3_by_keys_) {
      writer_.add_string(prefix + "scaling.type", "llama3");
      writer_.add_float(prefix + "scaling.factor", rope.at("factor"));
      writer_.add_float(prefix + "scaling.low_freq_factor", rope.at("low_freq_factor"));
      writer_.add_float(prefix + "scaling.high_freq_factor", rope.at("high_freq_factor"));
      writer_.add_uint(prefix + "scaling.original_context_length", rope.at("original_max_position_embeddings"));
      return;
    }
    divisors_ = llama3_divisors(rope, head_dim);
    writer_.add_tensor("rope_freqs.weight", DType::f32, {head_dim / 2}, std::as_bytes(std::span(divisors_)));
  }

  void add(const std::string& name, const std::string& source) {
    if (const SafetensorsTensor* tensor = weights_.find(source)) writer_.add_tensor(name, tensor->dtype, tensor->shape, tensor->data);
  }

  // q and k, whose rows Llama's files interleave and Qwen's do not.
  void add_rotated(const std::string& name, const std::string& source, const std::string& heads) {
    const SafetensorsTensor& tensor = weights_.get(source);
    if (architecture_ != "llama") return add(name, source);
    kept_.push_back(std::make_unique<std::vector<std::byte>>(interleave_heads(tensor, config_.at(heads))));
    writer_.add_tensor(name, tensor.dtype, tensor.shape, *kept_.back());
  }

  void add_layer(int layer) {
    const std::string to = "blk." + std::to_string(layer) + ".";
    const std::string from = "model.layers." + std::to_string(layer) + ".";
    add(to + "attn_norm.weight", from + "input_layernorm.weight");
    add_rotated(to + "attn_q.weight", from + "self_attn.q_proj.weight", "num_attention_heads");
    add_rotated(to + "attn_k.weight", from + "self_attn.k_proj.weight", "num_key_value_heads");
    add(to + "attn_v.weight", from + "self_attn.v_proj.weight");
    add(to + "attn_q.bias", from + "self_attn.q_proj.bias");
    add(to + "attn_k.bias", from + "self_attn.k_proj.bias");
    add(to + "attn_v.bias", from + "self_attn.v_proj.bias");
    add(to + "attn_output.weight", from + "self_attn.o_proj.weight");
    add(to + "ffn_norm.weight", from + "post_attention_layernorm.weight");
    add(to + "ffn_gate.weight", from + "mlp.gate_proj.weight");
    add(to + "ffn_up.weight", from + "mlp.up_proj.weight");
    add(to + "ffn_down.weight", from + "mlp.down_proj.weight");
  }

  SafetensorsFile weights_;
  Json config_;
  bool llama3_by_keys_;
  std::string architecture_;
  GgufWriter writer_;
  std::vector<float> divisors_;
  std::vector<std::unique_ptr<std::vector<std::byte>>> kept_;
};

void expect_golden_logits(const std::string& name, bool llama3_by_keys) {
  const auto folder = shared_data("data/hf-tiny/" + name);
  if (!folder) GTEST_SKIP() << kSharedDataMissing;
  const TemporaryFolder temporary;
  const std::filesystem::path path = temporary.path() / "model.gguf";
  Converter(*folder, llama3_by_keys).write(path);
  const SafetensorsFile golden = SafetensorsFile::open(*folder / "golden.safetensors");
  const auto copy_of = [&]<class T>(const std::string& tensor, T) {
    std::vector<T> values(golden.get(tensor).data.size() / sizeof(T));
    std::memcpy(values.data(), golden.get(tensor).data.data(), golden.get(tensor).data.size());
    return values;
  };
  const auto wide = copy_of("input_ids", int64_t{});
  const std::vector<int32_t> ids(wide.begin(), wide.end());
  const GgufFile file = GgufFile::open(path);
  const auto model = load_language_model(file, Device::cpu(), {.precise = true, .progress = {}});
  const auto cache = model->new_sequence(64);
  const std::vector<float> got = model->forward(ids, *cache, LogitRows::all).to_vector<float>();
  const auto want = copy_of("output", float{});
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < want.size(); ++i) ASSERT_NEAR(got[i], want[i], 1e-4) << "element " << i;
}

TEST(HuggingFace, LlamaWithInterleavedPairs) { expect_golden_logits("llama", false); }
TEST(HuggingFace, Llama3FrequenciesFromTheFilesTensor) { expect_golden_logits("llama3-rope", false); }
TEST(HuggingFace, Llama3FrequenciesFromMetadata) { expect_golden_logits("llama3-rope", true); }
TEST(HuggingFace, Qwen2WithHalvesAndBiases) { expect_golden_logits("qwen2", false); }

}  // namespace
}  // namespace wick
