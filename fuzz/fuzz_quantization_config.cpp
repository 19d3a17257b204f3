// Reads any bytes as the settings of quantized folders, as config.json and hf_quant_config.json have them; only wick::Error may come of it.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>

#include "outcome.h"
#include "wick/base/error.h"
#include "wick/base/json.h"
#include "wick/model/checkpoint/hugging_face_quantization.h"

namespace {

volatile uint64_t sink = 0;

bool reads(const std::function<wick::QuantizationConfig()>& read) {
  try {
    sink = sink + static_cast<uint64_t>(read().bits);
    return true;
  } catch (const wick::Error& error) {
    sink = sink + std::string_view(error.what()).size();
  }
  return false;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const nlohmann::json json = wick::parse_json({reinterpret_cast<const char*>(data), size});
  bool any = reads([&] { return wick::read_quantization(json, "input", ""); });
  any |= reads([&] { return wick::read_mlx_quantization(json, "input", "text_config."); });
  any |= reads([&] { return wick::read_modelopt_quantization(json, "input").value_or(wick::QuantizationConfig{}); });
  ++(any ? wick::fuzz::outcome.accepted : wick::fuzz::outcome.refused);
  return 0;
}
