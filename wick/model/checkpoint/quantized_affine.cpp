// Matrices of MLX and HQQ: codes with a scale and an offset for each group.
#include <fmt/format.h>

#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wick/model/checkpoint/hugging_face_quantized.h"
#include "wick/quant/hqq_layout.h"
#include "wick/quant/mlx_layout.h"

namespace wick {
namespace {

template <class Layout>
QuantizedMatrix matrix_of(const Layout& layout, Shape shape, const SafetensorsTensor& codes, const std::string& module,
                          std::vector<std::shared_ptr<const MappedFile>> files) {
  return {.stored = codes.name,
          .module = module,
          .dtype = quant::affine_dtype(layout),
          .shape = std::move(shape),
          .write = [layout](DType dtype, std::span<std::byte> to) { quant::write_affine(layout, dtype, to); },
          .owner = owners_of(std::move(files))};
}

}  // namespace

QuantizedMatrix QuantizedFolder::mlx(const SafetensorsTensor& codes, const std::string& module) const {
  const SafetensorsTensor& scales = part(module, ".scales", codes.name);
  const SafetensorsTensor& biases = part(module, ".biases", codes.name);
  const int64_t rank = codes.shape.rank();
  if ((rank != 2 && rank != 3) || codes.shape.elements() == 0) {
    refuse(codes, ErrorCode::unsupported,
           "this version reads matrices of MLX, and stacks of them; take the model unquantized, or a GGUF file of it");
  }
  const int64_t words = codes.shape.last();
  const auto own = config_.modules.find(module);
  const ModuleQuantization settings =
      own == config_.modules.end() ? ModuleQuantization{.bits = config_.bits, .group_size = config_.group_size} : own->second;
  // A stack's rows are those of its matrices.
  quant::MlxLayout layout{.rows = codes.shape.elements() / words, .bits = settings.bits, .group_size = settings.group_size};
  layout.columns = words * 32 / settings.bits;
  const std::string why = fmt::format("bits {}, group_size {}", settings.bits, settings.group_size);
  if (words * 32 % settings.bits != 0 || layout.columns % layout.group_size != 0)
    refuse(codes, ErrorCode::shape_mismatch, "the rows are no whole groups of " + why + "; the files do not belong together");
  const auto with_last = [&](int64_t last) { return rank == 2 ? Shape{layout.rows, last} : Shape{codes.shape[0], codes.shape[1], last}; };
  const Shape groups = with_last(layout.columns / layout.group_size);
  check(scales, {DType::f16, DType::bf16, DType::f32}, groups, why);
  check(biases, {DType::f16, DType::bf16, DType::f32}, groups, why);
  layout.scale_dtype = scales.dtype;
  layout.bias_dtype = biases.dtype;
  layout.codes = codes.data;
  layout.scales = scales.data;
  layout.biases = biases.data;
  return matrix_of(layout, with_last(layout.columns), codes, module, {codes.file, scales.file, biases.file});
}

QuantizedMatrix QuantizedFolder::hqq(const SafetensorsTensor& codes, const std::string& module) const {
  const SafetensorsTensor& scales = part(module, ".scale", codes.name);
  const SafetensorsTensor& zeros = part(module, ".zero", codes.name);
  const SafetensorsTensor& shape = part(module, ".shape", codes.name);
  const auto setting = [&](std::string_view end) {
    const SafetensorsTensor& tensor = part(module, end, codes.name);
    check_elements(tensor, DType::i32, 1, "a whole number");
    return quant::number_at<int32_t>(tensor.data, 0);
  };
  check(shape, {DType::i64}, {2}, "the shape of the matrix");
  quant::HqqLayout layout{.rows = quant::number_at<int64_t>(shape.data, 0), .columns = quant::number_at<int64_t>(shape.data, 1)};
  layout.bits = setting(".nbits");
  layout.axis = setting(".axis");
  if (layout.bits != 1 && layout.bits != 2 && layout.bits != 4 && layout.bits != 8) {
    refuse(
        codes, ErrorCode::unsupported,
        fmt::format("nbits = {} is not supported; this version reads 1, 2, 4 and 8 bits; take the model unquantized, or a GGUF file of it",
                    layout.bits));
  }
  if (layout.axis != 0 && layout.axis != 1)
    refuse(codes, ErrorCode::corrupt_file, fmt::format("axis = {}, where 0 or 1 is needed", layout.axis));
  constexpr int64_t kMaxExtent = std::numeric_limits<int32_t>::max();
  const bool has_extents = layout.rows > 0 && layout.columns > 0 && layout.rows <= kMaxExtent && layout.columns <= kMaxExtent;
  const int64_t elements = has_extents ? layout.rows * layout.columns : 0;
  const int64_t per_byte = 8 / layout.bits;
  if (!has_extents || codes.dtype != DType::u8 || codes.shape.elements() != elements / per_byte || elements % per_byte != 0) {
    refuse(codes, ErrorCode::shape_mismatch,
           fmt::format("u8 codes of {} bits of a matrix [{}, {}] are needed; the files do not belong together", layout.bits, layout.rows,
                       layout.columns));
  }
  layout.group_count = scales.shape.elements();
  const bool whole = layout.group_count > 0 && elements % layout.group_count == 0 && layout.table_rows() % per_byte == 0;
  if (!whole) {
    refuse(scales, ErrorCode::shape_mismatch,
           fmt::format("the {} elements of the matrix are no whole groups; the files do not belong together", elements));
  }
  if (const SafetensorsTensor* size = stored_.find(module + ".group_size");
      size != nullptr && size->dtype == DType::i32 && size->shape.elements() == 1) {
    const auto stored = quant::number_at<int32_t>(size->data, 0);
    if (stored != layout.group_size()) {
      refuse(scales, ErrorCode::shape_mismatch,
             fmt::format("group_size = {} needs {} scales; the files do not belong together", stored, stored > 0 ? elements / stored : 0));
    }
  }
  check(scales, {DType::f16, DType::bf16, DType::f32}, scales.shape, "scales");
  check(zeros, {DType::f16, DType::bf16, DType::f32}, scales.shape, "a zero for each scale");
  layout.scale_dtype = scales.dtype;
  layout.zero_dtype = zeros.dtype;
  layout.codes = codes.data;
  layout.scales = scales.data;
  layout.zeros = zeros.data;
  return matrix_of(layout, {layout.rows, layout.columns}, codes, module, {codes.file, scales.file, zeros.file});
}

}  // namespace wick
