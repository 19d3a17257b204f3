// "quantization_config" of a config.json.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "wick/base/json.h"
#include "wick/model/checkpoint/hugging_face_quantized.h"

namespace wick {

// Errors: unsupported for methods, forms and widths that Wick has not, naming them and the way out; corrupt_file for what is no object with
// a method. `prefix`: of the configuration's keys, where it is a part of another one.
[[nodiscard]] QuantizationConfig read_quantization(const nlohmann::json& json, const std::string& file, const std::string& prefix);
// The same of MLX's "quantization", whose method has no other name.
[[nodiscard]] QuantizationConfig read_mlx_quantization(const nlohmann::json& json, const std::string& file, const std::string& prefix);
// That of hf_quant_config.json, which modelopt writes beside a config.json without a "quantization_config"; none if it quantizes nothing.
[[nodiscard]] std::optional<QuantizationConfig> read_modelopt_quantization(const nlohmann::json& json, const std::string& file);
// Errors: always unsupported: a method that this version has not.
[[noreturn]] void fail_quantization(const std::string& file, std::string_view key, std::string_view method);

}  // namespace wick
