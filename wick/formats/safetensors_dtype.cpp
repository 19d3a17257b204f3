#include "wick/formats/safetensors_dtype.h"

#include <array>

#include "wick/formats/gguf_type.h"

namespace wick {
namespace {

struct NamedDType {
  std::string_view name;
  DType dtype;
};

// In the order of the reference implementation's enum, which is that of the alignments.
constexpr std::array kDTypes = {
    NamedDType{"U8", DType::u8},   NamedDType{"I8", DType::i8},     NamedDType{"F8_E4M3", DType::f8e4m3}, NamedDType{"I16", DType::i16},
    NamedDType{"F16", DType::f16}, NamedDType{"BF16", DType::bf16}, NamedDType{"I32", DType::i32},        NamedDType{"U32", DType::u32},
    NamedDType{"F32", DType::f32}, NamedDType{"F64", DType::f64},   NamedDType{"I64", DType::i64},
};

}  // namespace

std::optional<std::string_view> safetensors_name(DType dtype) noexcept {
  for (const NamedDType& known : kDTypes) {
    if (known.dtype == dtype) return known.name;
  }
  return std::nullopt;
}

std::optional<DType> parse_safetensors_dtype(std::string_view name) noexcept {
  if (name == "BOOL") return DType::u8;
  for (const NamedDType& known : kDTypes) {
    if (known.name == name) return known.dtype;
  }
  return std::nullopt;
}

std::string_view file_type_name(DType dtype) noexcept {
  const std::string_view name = ggml_name(dtype);
  return name.empty() ? safetensors_name(dtype).value_or(to_string(dtype)) : name;
}

int safetensors_rank(DType dtype) noexcept {
  int rank = 0;
  while (rank < static_cast<int>(kDTypes.size()) && kDTypes[static_cast<size_t>(rank)].dtype != dtype) ++rank;
  return rank;
}

}  // namespace wick
