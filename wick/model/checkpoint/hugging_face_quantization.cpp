#include "wick/model/checkpoint/hugging_face_quantization.h"

#include <optional>

#include "wick/base/fail.h"
#include "wick/formats/printable.h"

namespace wick {
namespace {

using Json = nlohmann::json;

constexpr int64_t kLargestGroup = int64_t{1} << 24;

class QuantizationReader {
 public:
  QuantizationReader(const Json& json, const std::string& file, std::string key) : json_(json), file_(file), key_(std::move(key)) {}

  QuantizationConfig read() {
    const std::optional<std::string> method = text(json_, "quant_method");
    if (!method) {
      // bitsandbytes' first configurations name no method.
      if (flag("load_in_4bit") || flag("load_in_8bit")) refuse("bitsandbytes");
      fail(ErrorCode::corrupt_file, "{}: {}: no text quant_method; download the configuration again", file_, key_);
    }
    made_.name = *method;
    if (*method == "gptq") {
      read_gptq();
    } else if (*method == "awq") {
      read_awq();
    } else if (*method == "auto-round" || *method == "intel/auto-round") {
      read_auto_round();
    } else if (*method == "compressed-tensors") {
      read_compressed();
    } else if (*method == "fp8") {
      read_float8();
    } else if (*method == "modelopt") {
      read_modelopt();
    } else {
      refuse(*method);
    }
    return std::move(made_);
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const { fail_quantization(file_, key_ + ".quant_method", what); }
  // A form of a method that Wick has in another one.
  [[noreturn]] void refuse_value(std::string_view name, const std::string& value, std::string_view has) const {
    fail(ErrorCode::unsupported,
         "{}: {}.{} = {} of {} is not supported; this version reads {}; take the model unquantized, or a GGUF file of it", file_, key_,
         name, value, made_.name, has);
  }
  [[nodiscard]] static std::optional<std::string> text(const Json& object, const char* key) {
    const auto found = object.find(key);
    return found != object.end() && found->is_string() ? std::optional(found->get<std::string>()) : std::nullopt;
  }
  [[nodiscard]] bool flag(const char* key) const {
    const auto found = json_.find(key);
    return found != json_.end() && found->is_boolean() && found->get<bool>();
  }
  [[nodiscard]] std::optional<int64_t> number(const Json& object, const char* key) const {
    const auto found = object.find(key);
    if (found == object.end() || found->is_null()) return std::nullopt;
    if (!found->is_number_integer()) {
      fail(ErrorCode::corrupt_file, "{}: {}.{} = {}: a whole number is needed; download the configuration again", file_, key_, key,
           ascii_json_text(*found).substr(0, 80));
    }
    return found->get<int64_t>();
  }
  void take_group_size(const Json& object) {
    made_.group_size = number(object, "group_size").value_or(made_.group_size);
    if (made_.group_size == -1 || (made_.group_size > 0 && made_.group_size <= kLargestGroup)) return;
    fail(ErrorCode::corrupt_file, "{}: {}.group_size = {}: -1 or a number of columns is needed", file_, key_, made_.group_size);
  }
  void take_bits(std::initializer_list<int> known, const Json& object, const char* key) {
    const int64_t bits = number(object, key).value_or(made_.bits);
    for (const int each : known) {
      if (bits == each) {
        made_.bits = each;
        return;
      }
    }
    refuse_value(key, std::to_string(bits), "4 and 8 bits");
  }

  void read_gptq() {
    made_.method = QuantizationMethod::gptq;
    take_bits({2, 4, 8}, json_, "bits");
    take_group_size(json_);
    const std::string form = text(json_, "checkpoint_format").value_or("gptq");
    if (flag("is_marlin_format")) refuse_value("is_marlin_format", "true", "gptq and gptq_v2");
    if (form != "gptq" && form != "gptq_v2") refuse_value("checkpoint_format", printable(form), "gptq and gptq_v2");
    made_.zeros_less_one = form == "gptq";
    const auto dynamic = json_.find("dynamic");
    if (dynamic != json_.end() && dynamic->is_object() && !dynamic->empty())
      refuse_value("dynamic", "an object", "one width for all matrices");
  }
  void read_awq() {
    made_.method = QuantizationMethod::awq;
    take_bits({4}, json_, json_.contains("w_bit") ? "w_bit" : "bits");
    if (json_.contains("q_group_size")) {
      made_.group_size = number(json_, "q_group_size").value_or(128);
    } else {
      take_group_size(json_);
    }
    const std::string version = text(json_, "version").value_or("gemm");
    if (version != "gemm" && version != "GEMM") refuse_value("version", printable(version), "gemm");
  }
  void read_auto_round() {
    const std::string packing = text(json_, "packing_format").value_or(text(json_, "backend").value_or("auto_round:auto_gptq"));
    if (packing.find("gptq") != std::string::npos) return read_gptq();
    if (packing.find("awq") != std::string::npos) return read_awq();
    refuse_value("packing_format", printable(packing), "GPTQ's and AWQ's");
  }
  void read_compressed() {
    made_.method = QuantizationMethod::packed_rows;
    made_.group_size = -1;
    const std::string form = text(json_, "format").value_or("dense");
    const bool known =
        form == "pack-quantized" || form == "int-quantized" || form == "naive-quantized" || form == "float-quantized" || form == "dense";
    if (!known) refuse_value("format", printable(form), "pack-quantized, int-quantized, naive-quantized and float-quantized");
    if (const std::optional<std::string> sparse = json_.contains("sparsity_config") && json_["sparsity_config"].is_object()
                                                      ? text(json_["sparsity_config"], "format")
                                                      : std::nullopt;
        sparse && *sparse != "dense") {
      refuse_value("sparsity_config.format", printable(*sparse), "dense");
    }
    const auto groups = json_.find("config_groups");
    if (groups == json_.end() || !groups->is_object()) return;
    for (const auto& [name, group] : groups->items()) {
      const auto weights = group.is_object() ? group.find("weights") : group.end();
      if (!group.is_object() || weights == group.end() || !weights->is_object()) continue;
      take_bits({4, 8}, *weights, "num_bits");
      const std::string strategy = text(*weights, "strategy").value_or("channel");
      if (strategy == "group") take_group_size(*weights);
      if (strategy == "block") take_block(*weights, "block_structure");
      if (strategy != "group" && strategy != "block" && strategy != "channel" && strategy != "tensor")
        refuse_value("config_groups." + name + ".weights.strategy", printable(strategy), "tensor, channel, group and block");
    }
  }
  void take_block(const Json& object, const char* key) {
    const auto block = object.find(key);
    if (block == object.end() || block->is_null()) return;
    const auto is_size = [](const Json& size) { return size.is_number_unsigned() && size > 0 && size <= kLargestGroup; };
    if (!block->is_array() || block->size() != 2 || !is_size(block->at(0)) || !is_size(block->at(1))) {
      fail(ErrorCode::corrupt_file, "{}: {}.{} = {}: two sizes are needed, of rows and of columns", file_, key_, key,
           ascii_json_text(*block).substr(0, 80));
    }
    made_.block_rows = block->at(0).get<int64_t>();
    made_.block_columns = block->at(1).get<int64_t>();
  }
  void read_float8() {
    made_.method = QuantizationMethod::float8;
    made_.bits = 8;
    const std::string format = text(json_, "fmt").value_or("e4m3");
    if (format != "e4m3" && format != "float8_e4m3fn") refuse_value("fmt", printable(format), "e4m3");
    take_block(json_, "weight_block_size");
  }
  void read_modelopt() {
    made_.method = QuantizationMethod::float8;
    made_.bits = 8;
    const Json& inner = json_.contains("quantization") && json_["quantization"].is_object() ? json_["quantization"] : json_;
    const std::string algorithm = text(inner, "quant_algo").value_or("none");
    if (algorithm != "FP8") refuse_value("quant_algo", printable(algorithm), "FP8");
  }

  const Json& json_;
  const std::string& file_;
  std::string key_;
  QuantizationConfig made_;
};

}  // namespace

void fail_quantization(const std::string& file, std::string_view key, std::string_view method) {
  fail(ErrorCode::unsupported,
       "{}: {} = {} is not supported; this version reads gptq, awq, auto-round, compressed-tensors, fp8, modelopt (FP8) and gpt-oss' "
       "mxfp4; take the "
       "model unquantized, or a GGUF file of it",
       file, key, printable(method));
}

QuantizationConfig read_quantization(const nlohmann::json& json, const std::string& file, const std::string& prefix) {
  const std::string key = prefix + "quantization_config";
  if (!json.is_object()) {
    fail(ErrorCode::corrupt_file, "{}: {} = {}: an object is needed; download the configuration again", file, key,
         ascii_json_text(json).substr(0, 80));
  }
  return QuantizationReader(json, file, key).read();
}

}  // namespace wick
