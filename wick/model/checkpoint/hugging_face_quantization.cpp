#include "wick/model/checkpoint/hugging_face_quantization.h"

#include <algorithm>
#include <array>
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
      if (flag("load_in_4bit") || flag("load_in_8bit")) {
        read_bitsandbytes();
        return std::move(made_);
      }
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
    } else if (*method == "modelopt" || *method == "modelopt_fp4") {
      read_modelopt();
    } else if (*method == "bitsandbytes") {
      read_bitsandbytes();
    } else if (*method == "hqq") {
      made_.method = QuantizationMethod::hqq;  // the tensors tell the rest
    } else if (*method == "bitnet") {
      read_bitnet();
    } else {
      refuse(*method);
    }
    return std::move(made_);
  }

  // Of modelopt's own file, which names no method; none if it quantizes nothing.
  std::optional<QuantizationConfig> read_modelopt_file() {
    made_.name = "modelopt";
    const auto inner = json_.find("quantization");
    const bool quantizes =
        inner != json_.end() && inner->is_object() && inner->contains("quant_algo") && !inner->at("quant_algo").is_null();
    if (!quantizes) return std::nullopt;
    read_modelopt();
    return std::move(made_);
  }

  QuantizationConfig read_mlx() {
    made_.name = "mlx";
    made_.method = QuantizationMethod::mlx;
    const ModuleQuantization usual = mlx_settings("", json_, {});
    made_.bits = usual.bits;
    made_.group_size = usual.group_size;
    for (const auto& [module, settings] : json_.items()) {
      if (settings.is_object()) made_.modules.emplace(module, mlx_settings(printable_name(module) + ".", settings, usual));
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
  static constexpr std::string_view kForms =
      "pack-quantized, int-quantized, naive-quantized, float-quantized, nvfp4-pack-quantized and mxfp4-pack-quantized";
  [[nodiscard]] static bool is_known_form(std::string_view form) {
    constexpr std::array<std::string_view, 7> kKnown = {"pack-quantized", "int-quantized",        "naive-quantized",     "float-quantized",
                                                        "dense",          "nvfp4-pack-quantized", "mxfp4-pack-quantized"};
    return std::find(kKnown.begin(), kKnown.end(), form) != kKnown.end();
  }
  void read_compressed() {
    made_.method = QuantizationMethod::packed_rows;
    made_.group_size = -1;
    const std::string form = text(json_, "format").value_or("dense");
    if (!is_known_form(form) && form != "mixed-precision") refuse_value("format", printable(form), kForms);
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
      if (const std::optional<std::string> own = text(group, "format"); own && !is_known_form(*own))
        refuse_value("config_groups." + printable_name(name) + ".format", printable(*own), kForms);
      take_bits({4, 8}, *weights, "num_bits");
      const std::string strategy = text(*weights, "strategy").value_or("channel");
      if (strategy == "group") take_group_size(*weights);
      if (strategy == "block") take_block(*weights, "block_structure");
      // "tensor_group" is NVFP4's.
      const bool known =
          strategy == "group" || strategy == "block" || strategy == "channel" || strategy == "tensor" || strategy == "tensor_group";
      if (!known) {
        refuse_value("config_groups." + printable_name(name) + ".weights.strategy", printable(strategy),
                     "tensor, channel, group, block and tensor_group");
      }
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
    // Types of the tensors tell them apart.
    if (algorithm != "FP8" && algorithm != "NVFP4") refuse_value("quant_algo", printable(algorithm), "FP8 and NVFP4");
  }
  void read_bitsandbytes() {
    made_.name = "bitsandbytes";
    made_.method = QuantizationMethod::bitsandbytes;
    const std::string storage = text(json_, "bnb_4bit_quant_storage").value_or("uint8");
    if (storage != "uint8") refuse_value("bnb_4bit_quant_storage", printable(storage), "uint8");
  }
  void read_bitnet() {
    made_.method = QuantizationMethod::bitnet;
    const std::string form = text(json_, "linear_class").value_or("bitlinear");
    if (form != "bitlinear" && form != "autobitlinear") refuse_value("linear_class", printable(form), "bitlinear and autobitlinear");
    made_.divides_by_scale = form == "bitlinear";
    const std::string mode = text(json_, "quantization_mode").value_or("offline");
    if (mode != "offline") refuse_value("quantization_mode", printable(mode), "offline (packed codes)");
    if (flag("use_rms_norm")) refuse_value("use_rms_norm", "true", "models without these norms");
  }
  // A width and group size of MLX; `usual`: where it names none.
  [[nodiscard]] ModuleQuantization mlx_settings(const std::string& prefix, const Json& object, const ModuleQuantization& usual) const {
    const std::string mode = text(object, "mode").value_or("affine");
    if (mode != "affine") refuse_value(prefix + "mode", printable(mode), "affine");
    const int64_t bits = number(object, "bits").value_or(usual.bits), size = number(object, "group_size").value_or(usual.group_size);
    constexpr std::array<int64_t, 6> kBits = {2, 3, 4, 5, 6, 8};
    if (std::find(kBits.begin(), kBits.end(), bits) == kBits.end())
      refuse_value(prefix + "bits", std::to_string(bits), "2 to 6 and 8 bits");
    if (size < 1 || size > kLargestGroup)
      fail(ErrorCode::corrupt_file, "{}: {}.{}group_size = {}: a number of columns is needed", file_, key_, prefix, size);
    return {.bits = static_cast<int>(bits), .group_size = size};
  }

  const Json& json_;
  const std::string& file_;
  std::string key_;
  QuantizationConfig made_;
};

}  // namespace

void fail_quantization(const std::string& file, std::string_view key, std::string_view method) {
  fail(ErrorCode::unsupported,
       "{}: {} = {} is not supported; this version reads gptq, awq, auto-round, compressed-tensors, fp8, modelopt (FP8, NVFP4), "
       "bitsandbytes, hqq, bitnet, MLX's and gpt-oss' mxfp4; take the model unquantized, or a GGUF file of it",
       file, key, printable(method));
}

namespace {

void check_object(const nlohmann::json& json, const std::string& file, const std::string& key) {
  if (json.is_object()) return;
  fail(ErrorCode::corrupt_file, "{}: {} = {}: an object is needed; download the configuration again", file, key,
       ascii_json_text(json).substr(0, 80));
}

}  // namespace

QuantizationConfig read_quantization(const nlohmann::json& json, const std::string& file, const std::string& prefix) {
  const std::string key = prefix + "quantization_config";
  check_object(json, file, key);
  return QuantizationReader(json, file, key).read();
}

QuantizationConfig read_mlx_quantization(const nlohmann::json& json, const std::string& file, const std::string& prefix) {
  const std::string key = prefix + "quantization";
  check_object(json, file, key);
  return QuantizationReader(json, file, key).read_mlx();
}

std::optional<QuantizationConfig> read_modelopt_quantization(const nlohmann::json& json, const std::string& file) {
  if (json.is_discarded()) fail(ErrorCode::corrupt_file, "{}: a JSON object is needed; download the file again", file);
  check_object(json, file, "the file");
  return QuantizationReader(json, file, "quantization").read_modelopt_file();
}

}  // namespace wick
