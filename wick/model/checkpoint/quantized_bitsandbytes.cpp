// Matrices of bitsandbytes.
#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <string>
#include <string_view>

#include "wick/base/json.h"
#include "wick/model/checkpoint/hugging_face_quantized.h"
#include "wick/quant/bitsandbytes_layout.h"

namespace wick {
namespace {

// A whole number above 0; 0 for any other value.
int64_t size_of(const nlohmann::json& value) {
  constexpr uint64_t kMax = std::numeric_limits<int32_t>::max();
  return value.is_number_unsigned() && value.get<uint64_t>() <= kMax ? value.get<int64_t>() : 0;
}
int64_t size_of(const nlohmann::json& state, const char* key) {
  const auto found = state.find(key);
  return found == state.end() ? 0 : size_of(*found);
}

}  // namespace

QuantizedMatrix QuantizedFolder::codebook4(const SafetensorsTensor& codes, const std::string& module) const {
  const std::string prefix = module + ".weight.quant_state.bitsandbytes__";
  const SafetensorsTensor* fp4 = stored_.find(prefix + "fp4");
  const SafetensorsTensor& text = fp4 == nullptr ? part(module, ".weight.quant_state.bitsandbytes__nf4", codes.name) : *fp4;
  const SafetensorsTensor& map = part(module, ".weight.quant_map", codes.name);
  const SafetensorsTensor& absmax = part(module, ".weight.absmax", codes.name);
  check_elements(text, DType::u8, text.shape.elements(), "a JSON text");
  const nlohmann::json state = parse_json({reinterpret_cast<const char*>(text.data.data()), text.data.size()});
  quant::Codebook4Layout layout{.codes = codes.data, .map = map.data, .absmax = absmax.data};
  if (state.is_object()) {
    const auto shape = state.find("shape");
    const bool is_matrix = shape != state.end() && shape->is_array() && shape->size() == 2;
    layout.rows = is_matrix ? size_of(shape->at(0)) : 0;
    layout.columns = is_matrix ? size_of(shape->at(1)) : 0;
    layout.block_size = size_of(state, "blocksize");
  }
  if (layout.rows == 0 || layout.columns == 0 || layout.block_size == 0) {
    refuse(text, ErrorCode::corrupt_file, "a JSON text with the shape of a matrix and a blocksize is needed; download the folder again");
  }
  const int64_t elements = layout.rows * layout.columns;
  check_elements(codes, DType::u8, (elements + 1) / 2, fmt::format("a matrix [{}, {}]", layout.rows, layout.columns));
  check_elements(map, DType::f32, 16, "a value for each code");
  const std::string blocks = fmt::format("blocksize {}", layout.block_size);
  std::vector<std::shared_ptr<const MappedFile>> files = {codes.file, map.file, absmax.file};
  if (absmax.dtype != DType::u8) {
    check_elements(absmax, DType::f32, layout.blocks(), blocks);
  } else {
    const SafetensorsTensor& nested = part(module, ".weight.nested_absmax", codes.name);
    const SafetensorsTensor& nested_map = part(module, ".weight.nested_quant_map", codes.name);
    layout.nested_block_size = size_of(state, "nested_blocksize");
    const auto offset = state.find("nested_offset");
    if (layout.nested_block_size == 0 || offset == state.end() || !offset->is_number())
      refuse(text, ErrorCode::corrupt_file, "nested_blocksize and nested_offset are needed; download the folder again");
    layout.nested_offset = offset->get<float>();
    check_elements(absmax, DType::u8, layout.blocks(), blocks);
    check_elements(nested_map, DType::f32, 256, "a value for each code of a scale");
    check_elements(nested, DType::f32, (layout.blocks() + layout.nested_block_size - 1) / layout.nested_block_size,
                   fmt::format("nested_blocksize {}", layout.nested_block_size));
    layout.nested_absmax = nested.data;
    layout.nested_map = nested_map.data;
    files.push_back(nested.file);
    files.push_back(nested_map.file);
  }
  return {.stored = codes.name,
          .module = module,
          .dtype = layout.dtype(),
          .shape = {layout.rows, layout.columns},
          .write = [layout](DType dtype, std::span<std::byte> to) { quant::write_values(layout, dtype, to); },
          .owner = owners_of(std::move(files))};
}

QuantizedMatrix QuantizedFolder::int8_rows(const SafetensorsTensor& codes, const std::string& module) const {
  const SafetensorsTensor& scales = part(module, ".SCB", codes.name);
  if (codes.shape.rank() != 2) refuse(codes, ErrorCode::unsupported, "this version reads matrices; take the model unquantized");
  quant::Int8RowsLayout layout{.rows = codes.shape[0], .columns = codes.shape[1], .codes = codes.data, .scales = scales.data};
  check(scales, {DType::f32}, {layout.rows}, "a scale for each row");
  const SafetensorsTensor* format = stored_.find(module + ".weight_format");
  const bool by_rows = format == nullptr || (format->data.size() == 1 && format->data.front() == std::byte{0});
  if (!by_rows) {
    refuse(*format, ErrorCode::unsupported, "only the format 0 (rows) is supported; take the model unquantized, or a GGUF file of it");
  }
  return {.stored = codes.name,
          .module = module,
          .dtype = layout.dtype(),
          .shape = {layout.rows, layout.columns},
          .write = [layout](DType dtype, std::span<std::byte> to) { quant::write_values(layout, dtype, to); },
          .owner = owners_of({codes.file, scales.file})};
}

}  // namespace wick
