#include "wick/model/checkpoint/hugging_face_quantized.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "wick/base/fail.h"
#include "wick/formats/printable.h"
#include "wick/quant/awq_layout.h"
#include "wick/quant/float8_layout.h"
#include "wick/quant/gptq_layout.h"
#include "wick/quant/packed_rows_layout.h"
#include "wick/quant/plain_values.h"

namespace wick {
namespace {

constexpr std::string_view kCodes = ".qweight", kPacked = ".weight_packed", kWeight = ".weight";

template <class Layout>
QuantizedMatrix matrix_of(const Layout& layout, const SafetensorsTensor& codes, const std::string& module) {
  return {.stored = std::string(codes.name),
          .module = module,
          .dtype = quant::fitting_dtype(layout),
          .shape = {layout.rows, layout.columns},
          .write = [layout](DType dtype, std::span<std::byte> to) { quant::write_grouped(layout, dtype, to); },
          .owner = codes.file};
}

constexpr std::string_view kCodesOfHqq = ".W_q";

bool ends_with_one_of(std::string_view name, std::span<const std::string_view> ends) {
  return std::any_of(ends.begin(), ends.end(), [&](std::string_view end) { return name.ends_with(end); });
}

}  // namespace

std::shared_ptr<const void> owners_of(std::vector<std::shared_ptr<const MappedFile>> files) {
  return std::make_shared<const std::vector<std::shared_ptr<const MappedFile>>>(std::move(files));
}

bool QuantizedFolder::is_part(std::string_view name) const {
  // Scales of activations and of the cache, which are not quantized here.
  constexpr std::array<std::string_view, 18> kParts = {".qzeros",
                                                       ".scales",
                                                       ".g_idx",
                                                       ".weight_scale",
                                                       ".weight_scale_inv",
                                                       ".weight_scale_2",
                                                       ".weight_shape",
                                                       ".weight_g_idx",
                                                       ".input_scale",
                                                       ".output_scale",
                                                       ".k_scale",
                                                       ".v_scale",
                                                       ".q_scale",
                                                       ".weight_zero_point",
                                                       ".input_zero_point",
                                                       ".weight_global_scale",
                                                       ".input_global_scale",
                                                       ".activation_scale"};
  constexpr std::array<std::string_view, 7> kPartsOfBitsandbytes = {
      ".weight.absmax", ".weight.quant_map", ".weight.nested_absmax", ".weight.nested_quant_map", ".SCB", ".weight_format", ".SCBt"};
  switch (config_.method) {
    case QuantizationMethod::gptq:
    case QuantizationMethod::awq:
    case QuantizationMethod::packed_rows:
    case QuantizationMethod::float8:
    case QuantizationMethod::bitnet: return ends_with_one_of(name, kParts);
    case QuantizationMethod::mlx: return name.ends_with(".scales") || name.ends_with(".biases");
    case QuantizationMethod::bitsandbytes:
      return ends_with_one_of(name, kPartsOfBitsandbytes) || name.find(".weight.quant_state.bitsandbytes__") != std::string_view::npos;
    case QuantizationMethod::hqq: {
      // Each matrix has about 20 tensors with its settings.
      const std::string module(name.substr(0, std::min(name.rfind('.'), name.size())));
      return !name.ends_with(kCodesOfHqq) && !name.ends_with(".bias") && stored_.find(module + std::string(kCodesOfHqq)) != nullptr;
    }
  }
  return false;
}

const SafetensorsTensor& QuantizedFolder::part(const std::string& module, std::string_view end, std::string_view codes) const {
  const std::string name = module + std::string(end);
  if (const SafetensorsTensor* found = stored_.find(name)) return *found;
  fail(ErrorCode::not_found, "{}: tensor '{}' is missing, which belongs to '{}' ({}); download the folder again", folder_,
       printable_name(name), printable_name(codes), config_.name);
}

void QuantizedFolder::check(const SafetensorsTensor& tensor, std::initializer_list<DType> dtypes, const Shape& shape,
                            std::string_view why) const {
  const bool typed = std::find(dtypes.begin(), dtypes.end(), tensor.dtype) != dtypes.end();
  if (typed && tensor.shape == shape) return;
  fail(ErrorCode::shape_mismatch, "{}: tensor '{}' is {} {}, and {} ({}) needs {} {}; the files do not belong together", folder_,
       printable_name(tensor.name), to_string(tensor.dtype), tensor.shape.to_string(), why, config_.name, to_string(*dtypes.begin()),
       shape.to_string());
}

void QuantizedFolder::check_groups(const SafetensorsTensor& index, int64_t columns, int64_t groups) const {
  check(index, {DType::i32}, {columns}, "a group for each column");
  for (int64_t column = 0; column < columns; ++column) {
    const auto group = quant::number_at<int32_t>(index.data, column);
    if (group >= 0 && group < groups) continue;
    fail(ErrorCode::corrupt_file, "{}: tensor '{}': column {} is of group {}, out of 0 to {}; download the folder again", folder_,
         printable_name(index.name), column, group, groups - 1);
  }
}

void QuantizedFolder::check_elements(const SafetensorsTensor& tensor, DType dtype, int64_t elements, std::string_view why) const {
  if (tensor.dtype == dtype && tensor.shape.elements() == elements) return;
  check(tensor, {dtype}, {elements}, why);
  refuse(tensor, ErrorCode::shape_mismatch, why);
}

void QuantizedFolder::refuse(const SafetensorsTensor& tensor, ErrorCode code, std::string_view why) const {
  fail(code, "{}: tensor '{}' {} {} ({}): {}", folder_, printable_name(tensor.name), to_string(tensor.dtype), tensor.shape.to_string(),
       config_.name, why);
}

float QuantizedFolder::number_of(const SafetensorsTensor& tensor, std::string_view why) const {
  const bool is_number = tensor.dtype == DType::f32 || tensor.dtype == DType::bf16 || tensor.dtype == DType::f16;
  if (!is_number || tensor.shape.elements() != 1) check(tensor, {DType::f32}, {1}, why);
  const float number = quant::float_at(tensor.data, tensor.dtype, 0);
  if (!std::isfinite(number)) refuse(tensor, ErrorCode::corrupt_file, "the number is not finite; download the folder again");
  return number;
}

std::optional<QuantizedMatrix> QuantizedFolder::find_matrix(const SafetensorsTensor& tensor) const {
  const std::string_view name = tensor.name;
  const QuantizationMethod method = config_.method;
  const auto module = [&](std::string_view end) { return std::string(name.substr(0, name.size() - end.size())); };
  if (name.ends_with(kCodes) && method == QuantizationMethod::gptq) return gptq(tensor, module(kCodes));
  if (name.ends_with(kCodes) && method == QuantizationMethod::awq) return awq(tensor, module(kCodes));
  if (name.ends_with(kCodesOfHqq) && method == QuantizationMethod::hqq) return hqq(tensor, module(kCodesOfHqq));
  if (name.ends_with(kPacked)) return tensor.dtype == DType::u8 ? float4(tensor, module(kPacked)) : packed_rows(tensor, module(kPacked));
  if (!name.ends_with(kWeight)) return std::nullopt;
  const std::string of_weight = module(kWeight);
  const bool has_floats = method == QuantizationMethod::float8 || method == QuantizationMethod::packed_rows;
  switch (tensor.dtype) {
    case DType::i8:
      if (method == QuantizationMethod::packed_rows) return packed_rows(tensor, of_weight);
      if (method == QuantizationMethod::bitsandbytes) return int8_rows(tensor, of_weight);
      return std::nullopt;
    case DType::u8:
      if (method == QuantizationMethod::float8) return float4(tensor, of_weight);
      if (method == QuantizationMethod::bitsandbytes) return codebook4(tensor, of_weight);
      if (method == QuantizationMethod::bitnet) return bitnet(tensor, of_weight);
      return std::nullopt;
    case DType::u32: return method == QuantizationMethod::mlx ? std::optional(mlx(tensor, of_weight)) : std::nullopt;
    case DType::f8e4m3: return has_floats ? std::optional(float8(tensor, of_weight)) : std::nullopt;
    default: return std::nullopt;
  }
}

QuantizedMatrix QuantizedFolder::gptq(const SafetensorsTensor& codes, const std::string& module) const {
  const SafetensorsTensor& scales = part(module, ".scales", codes.name);
  const SafetensorsTensor& zeros = part(module, ".qzeros", codes.name);
  const SafetensorsTensor* index = stored_.find(module + ".g_idx");
  const int64_t per_word = 32 / config_.bits;
  quant::GptqLayout layout{.bits = config_.bits, .zeros_less_one = config_.zeros_less_one};
  layout.columns = codes.shape.rank() == 2 ? codes.shape[0] * per_word : 0;
  layout.rows = codes.shape.rank() == 2 ? codes.shape[1] : 0;
  layout.group_size = config_.group_size > 0 ? config_.group_size : std::max<int64_t>(layout.columns, 1);
  layout.group_count = (layout.columns + layout.group_size - 1) / layout.group_size;
  check(codes, {DType::i32}, {layout.columns / per_word, layout.rows}, fmt::format("codes of {} bits", config_.bits));
  if (layout.rows % per_word != 0) {
    fail(ErrorCode::shape_mismatch,
         "{}: tensor '{}' {}: {} rows are no multiple of the {} zeros of a word; the files do not belong together", folder_,
         printable_name(codes.name), codes.shape.to_string(), layout.rows, per_word);
  }
  check(scales, {DType::f16, DType::bf16, DType::f32}, {layout.group_count, layout.rows}, fmt::format("group_size {}", config_.group_size));
  check(zeros, {DType::i32}, {layout.group_count, layout.rows / per_word}, fmt::format("zeros of {} bits", config_.bits));
  if (index != nullptr) {
    check_groups(*index, layout.columns, layout.group_count);
    layout.group_index = index->data;
  }
  layout.scale_dtype = scales.dtype;
  layout.codes = codes.data;
  layout.scales = scales.data;
  layout.zeros = zeros.data;
  QuantizedMatrix matrix = matrix_of(layout, codes, module);
  matrix.owner = owners_of({codes.file, scales.file, zeros.file, index == nullptr ? nullptr : index->file});
  return matrix;
}

QuantizedMatrix QuantizedFolder::awq(const SafetensorsTensor& codes, const std::string& module) const {
  const SafetensorsTensor& scales = part(module, ".scales", codes.name);
  const SafetensorsTensor& zeros = part(module, ".qzeros", codes.name);
  constexpr int64_t kPerWord = 8;
  quant::AwqLayout layout;
  layout.columns = codes.shape.rank() == 2 ? codes.shape[0] : 0;
  layout.rows = codes.shape.rank() == 2 ? codes.shape[1] * kPerWord : 0;
  layout.group_size = config_.group_size > 0 ? config_.group_size : std::max<int64_t>(layout.columns, 1);
  layout.group_count = (layout.columns + layout.group_size - 1) / layout.group_size;
  check(codes, {DType::i32}, {layout.columns, layout.rows / kPerWord}, "codes of 4 bits");
  check(scales, {DType::f16, DType::bf16, DType::f32}, {layout.group_count, layout.rows}, fmt::format("group_size {}", config_.group_size));
  check(zeros, {DType::i32}, {layout.group_count, layout.rows / kPerWord}, "zeros of 4 bits");
  layout.scale_dtype = scales.dtype;
  layout.codes = codes.data;
  layout.scales = scales.data;
  layout.zeros = zeros.data;
  QuantizedMatrix matrix = matrix_of(layout, codes, module);
  matrix.owner = owners_of({codes.file, scales.file, zeros.file});
  return matrix;
}

QuantizedMatrix QuantizedFolder::packed_rows(const SafetensorsTensor& codes, const std::string& module) const {
  const SafetensorsTensor& scales = part(module, ".weight_scale", codes.name);
  const SafetensorsTensor* zeros = stored_.find(module + ".weight_zero_point");
  const SafetensorsTensor* index = stored_.find(module + ".weight_g_idx");
  quant::PackedRowsLayout layout{.bits = config_.bits, .packed = codes.name.ends_with(kPacked)};
  const bool matrix = codes.shape.rank() == 2;
  layout.rows = matrix ? codes.shape[0] : 0;
  layout.columns = matrix ? codes.shape[1] : 0;
  if (layout.packed) {
    const SafetensorsTensor& shape = part(module, ".weight_shape", codes.name);
    check(shape, {DType::i64, DType::i32}, {2}, "the shape of packed codes");
    const auto extent = [&](int64_t axis) {
      return shape.dtype == DType::i64 ? quant::number_at<int64_t>(shape.data, axis) : quant::number_at<int32_t>(shape.data, axis);
    };
    const int64_t words = layout.columns;
    layout.columns = extent(1);
    const bool fits = layout.columns > 0 && words > 0 && extent(0) == layout.rows && words * 32 % layout.columns == 0;
    const int64_t bits = fits ? words * 32 / layout.columns : 0;
    if (bits != 4 && bits != 8) {
      fail(ErrorCode::shape_mismatch,
           "{}: tensor '{}' {} does not hold codes of 4 or 8 bits of a matrix [{}, {}]; the files do not belong together", folder_,
           printable_name(codes.name), codes.shape.to_string(), extent(0), extent(1));
    }
    layout.bits = static_cast<int>(bits);
    check(codes, {DType::i32}, {layout.rows, words}, "packed codes");
  } else {
    layout.bits = 8;
    check(codes, {DType::i8}, {layout.rows, layout.columns}, "codes");
  }
  const bool one = scales.shape.elements() == 1;
  layout.scale_rows = one ? 1 : layout.rows;
  layout.group_count = one || scales.shape.rank() < 2 ? 1 : scales.shape.last();
  const int64_t size = config_.group_size > 0 ? config_.group_size : layout.columns;
  const int64_t wanted = layout.group_count == 1 ? 1 : (layout.columns + size - 1) / size;
  layout.group_size = layout.group_count == 1 ? std::max<int64_t>(layout.columns, 1) : size;
  if (!one) {
    const Shape shape = scales.shape.rank() == 1 ? Shape{layout.rows} : Shape{layout.rows, wanted};
    check(scales, {DType::bf16, DType::f16, DType::f32}, shape, fmt::format("group_size {}", config_.group_size));
  }
  if (index != nullptr) {
    check_groups(*index, layout.columns, layout.group_count);
    layout.group_index = index->data;
  }
  if (zeros != nullptr) {
    layout.packed_zeros = zeros->dtype == DType::i32;
    const int64_t rows = layout.packed_zeros ? (layout.rows * layout.bits + 31) / 32 : layout.rows;
    check(*zeros, {DType::i32, DType::i8}, {rows, layout.group_count}, fmt::format("zeros of {} bits", layout.bits));
    layout.zeros = zeros->data;
  }
  layout.scale_dtype = scales.dtype;
  layout.codes = codes.data;
  layout.scales = scales.data;
  QuantizedMatrix made = matrix_of(layout, codes, module);
  made.owner = owners_of({codes.file, scales.file, zeros == nullptr ? nullptr : zeros->file, index == nullptr ? nullptr : index->file});
  return made;
}

QuantizedMatrix QuantizedFolder::float8(const SafetensorsTensor& codes, const std::string& module) const {
  const bool inverse = stored_.find(module + ".weight_scale_inv") != nullptr;
  const SafetensorsTensor& scales = part(module, inverse ? ".weight_scale_inv" : ".weight_scale", codes.name);
  if (codes.shape.rank() != 2) {
    fail(ErrorCode::unsupported, "{}: tensor '{}' {}: this version reads matrices of 8-bit floats", folder_, printable_name(codes.name),
         codes.shape.to_string());
  }
  quant::Float8Layout layout{.rows = codes.shape[0], .columns = codes.shape[1]};
  const auto rounded_up = [](int64_t size, int64_t block) { return (size + block - 1) / block; };
  if (scales.shape.elements() == 1) {
    layout.block_rows = layout.rows;
    layout.block_columns = layout.columns;
  } else if (config_.block_rows > 0) {
    layout.block_rows = config_.block_rows;
    layout.block_columns = config_.block_columns;
    check(scales, {DType::f32, DType::bf16, DType::f16},
          {rounded_up(layout.rows, layout.block_rows), rounded_up(layout.columns, layout.block_columns)},
          fmt::format("blocks of [{}, {}]", layout.block_rows, layout.block_columns));
  } else {
    layout.block_rows = 1;
    layout.block_columns = layout.columns;
    const Shape shape = scales.shape.rank() == 1 ? Shape{layout.rows} : Shape{layout.rows, 1};
    check(scales, {DType::f32, DType::bf16, DType::f16}, shape, "a scale for each row");
  }
  if (scales.dtype != DType::f32 && scales.dtype != DType::bf16 && scales.dtype != DType::f16)
    check(scales, {DType::f32}, scales.shape, "scales");
  layout.scale_dtype = scales.dtype;
  layout.codes = codes.data;
  layout.scales = scales.data;
  return {.stored = std::string(codes.name),
          .module = module,
          .dtype = layout.fits_f16() ? DType::f16 : DType::f32,
          .shape = {layout.rows, layout.columns},
          .write = [layout](DType dtype, std::span<std::byte> to) { quant::write_values(layout, dtype, to); },
          .owner = owners_of({codes.file, scales.file})};
}

}  // namespace wick
