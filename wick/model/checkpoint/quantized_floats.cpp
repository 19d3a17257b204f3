// Matrices of 4-bit floats and of ternary codes.
#include <cmath>
#include <string>
#include <string_view>

#include "wick/model/checkpoint/hugging_face_quantized.h"
#include "wick/quant/bitnet_layout.h"
#include "wick/quant/float4_layout.h"

namespace wick {

QuantizedMatrix QuantizedFolder::float4(const SafetensorsTensor& codes, const std::string& module) const {
  const SafetensorsTensor& scales = part(module, ".weight_scale", codes.name);
  if (codes.shape.rank() != 2 || codes.shape.elements() == 0)
    refuse(codes, ErrorCode::unsupported, "this version reads matrices of 4-bit floats; take the model unquantized, or a GGUF file of it");
  if (const SafetensorsTensor* zeros = stored_.find(module + ".weight_zero_point"))
    refuse(*zeros, ErrorCode::unsupported, "zeros of 4-bit floats are not supported; take the model unquantized, or a GGUF file of it");
  quant::Float4Layout layout{.rows = codes.shape[0], .columns = codes.shape[1] * 2, .codes = codes.data, .scales = scales.data};
  const bool is_mxfp4 = scales.dtype == DType::u8;
  layout.group_size = is_mxfp4 ? quant::Float4Layout::kMxfp4Group : quant::Float4Layout::kNvfp4Group;
  if (layout.columns % layout.group_size != 0)
    refuse(codes, ErrorCode::shape_mismatch, is_mxfp4 ? "rows must be multiples of 32 columns" : "rows must be multiples of 16 columns");
  check(scales, {is_mxfp4 ? DType::u8 : DType::f8e4m3}, {layout.rows, layout.groups_of_row()},
        is_mxfp4 ? "a scale for each 32 columns" : "a scale for each 16 columns");
  if (!layout.has_valid_scales()) {
    refuse(scales, ErrorCode::corrupt_file,
           is_mxfp4 ? "a scale is NaN; download the folder again" : "a scale is NaN or negative; download the folder again");
  }
  std::shared_ptr<const MappedFile> factor_file;
  if (!is_mxfp4) {
    // compressed-tensors stores the divisor, modelopt the factor.
    const SafetensorsTensor* divisor = stored_.find(module + ".weight_global_scale");
    const SafetensorsTensor& factor = divisor == nullptr ? part(module, ".weight_scale_2", codes.name) : *divisor;
    const float number = number_of(factor, "one scale of the matrix");
    layout.factor = divisor == nullptr ? number : 1 / number;
    if (!std::isfinite(layout.factor)) refuse(factor, ErrorCode::corrupt_file, "the divisor is 0; download the folder again");
    factor_file = factor.file;
  }
  return {.stored = codes.name,
          .module = module,
          .dtype = layout.dtype(),
          .shape = {layout.rows, layout.columns},
          .scale = layout.dtype() == DType::nvfp4 ? layout.factor : 1,
          .write = [layout](DType dtype, std::span<std::byte> to) { layout.write(dtype, to); },
          .owner = owners_of({codes.file, scales.file, factor_file})};
}

QuantizedMatrix QuantizedFolder::bitnet(const SafetensorsTensor& codes, const std::string& module) const {
  const SafetensorsTensor& scale = part(module, ".weight_scale", codes.name);
  if (codes.shape.rank() != 2 || codes.shape.elements() == 0)
    refuse(codes, ErrorCode::unsupported, "this version reads matrices of ternary codes; take a GGUF file of the model");
  quant::BitNetLayout layout{.rows = codes.shape[0] * 4, .columns = codes.shape[1], .codes = codes.data};
  const float number = number_of(scale, "one scale of the matrix");
  layout.scale = config_.divides_by_scale ? 1 / number : number;
  if (!std::isfinite(layout.scale)) refuse(scale, ErrorCode::corrupt_file, "the divisor is 0; download the folder again");
  if (!layout.has_valid_codes())
    refuse(codes, ErrorCode::corrupt_file, "a code is 3, where 0, 1 or 2 is needed; download the folder again");
  return {.stored = codes.name,
          .module = module,
          .dtype = layout.dtype(),
          .shape = {layout.rows, layout.columns},
          .write = [layout](DType dtype, std::span<std::byte> to) { layout.write(dtype, to); },
          .owner = owners_of({codes.file, scale.file})};
}

}  // namespace wick
