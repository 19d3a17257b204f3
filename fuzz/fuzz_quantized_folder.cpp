// Reads any bytes as the safetensors file of a quantized folder, by each layout; only wick::Error may come of it.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "outcome.h"
#include "wick/base/error.h"
#include "wick/model/checkpoint/hugging_face_quantized.h"

namespace {

volatile uint64_t sink = 0;

constexpr int64_t kMaxElements = 1 << 16;

// `other`: other widths, groups and forms.
wick::QuantizationConfig config_of(wick::QuantizationMethod method, bool other) {
  wick::QuantizationConfig config{.method = method, .name = "input", .bits = other ? 8 : 4, .group_size = other ? 64 : 32};
  if (method == wick::QuantizationMethod::float8 && !other) config.block_rows = 6, config.block_columns = 48;
  config.zeros_less_one = !other;
  config.divides_by_scale = other;
  if (other && method != wick::QuantizationMethod::mlx) config.group_size = -1;
  return config;
}

bool read(const wick::SafetensorsTensor& tensor, const wick::QuantizedFolder& folder) {
  try {
    if (folder.is_part(tensor.name)) return false;
    const std::optional<wick::QuantizedMatrix> matrix = folder.find_matrix(tensor);
    if (!matrix || matrix->shape.elements() > kMaxElements) return false;
    for (const wick::DType dtype : {matrix->dtype, wick::DType::f16, wick::DType::f32}) {
      std::vector<std::byte> bytes(static_cast<size_t>(wick::tensor_bytes(dtype, matrix->shape.elements())));
      matrix->write(dtype, bytes);
      for (const std::byte byte : bytes) sink = sink + std::to_integer<uint64_t>(byte);
    }
    return true;
  } catch (const wick::Error& error) {
    sink = sink + std::string_view(error.what()).size();
  }
  return false;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  bool any = false;
  try {
    const auto stored = wick::ShardedSafetensors::of(wick::SafetensorsFile::parse(std::as_bytes(std::span(data, size)), "input"));
    using enum wick::QuantizationMethod;
    for (const auto method : {gptq, awq, packed_rows, float8, bitsandbytes, hqq, mlx, bitnet}) {
      for (const bool other : {false, true}) {
        const wick::QuantizedFolder folder(stored, config_of(method, other), "input");
        for (const wick::SafetensorsTensor& tensor : stored.tensors()) any |= read(tensor, folder);
      }
    }
  } catch (const wick::Error& error) {
    sink = sink + std::string_view(error.what()).size();
  }
  ++(any ? wick::fuzz::outcome.accepted : wick::fuzz::outcome.refused);
  return 0;
}
