#include "wick/formats/gguf_type.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "wick/quant/block_format.h"

namespace wick {
namespace {

struct GgmlType {
  uint32_t id;
  std::string_view name;
  std::optional<DType> dtype;  // none: Wick has no such elements
};

// ggml.h, enum ggml_type: its integers, BitNet's format, and the formats that ggml dropped. One of their numbers, 36, lives on in the fork
// of ggml that BitNet's files are made with.
constexpr GgmlType kOthers[] = {
    {4, "Q4_2", std::nullopt},        {5, "Q4_3", std::nullopt},      {24, "I8", DType::i8},     {25, "I16", DType::i16},
    {26, "I32", DType::i32},          {27, "I64", DType::i64},        {28, "F64", DType::f64},   {31, "Q4_0_4_4", std::nullopt},
    {32, "Q4_0_4_8", std::nullopt},   {33, "Q4_0_8_8", std::nullopt}, {36, "I2_S", DType::i2_s}, {37, "IQ4_NL_4_8", std::nullopt},
    {38, "IQ4_NL_8_8", std::nullopt},
};

#define WICK_TYPE(name, ggml_name, number, ...) GgmlType{number, ggml_name, DType::name},
constexpr auto kBlockTypes = std::to_array<GgmlType>({WICK_BLOCK_FORMATS(WICK_TYPE)});
#undef WICK_TYPE

// All of them, each at the position of its number.
constexpr auto kTypes = [] {
  std::array<GgmlType, std::size(kOthers) + kBlockTypes.size()> types{};
  for (const GgmlType& type : kOthers) types.at(type.id) = type;
  for (const GgmlType& type : kBlockTypes) types.at(type.id) = type;
  return types;
}();
static_assert(std::all_of(kTypes.begin(), kTypes.end(), [](const GgmlType& type) { return !type.name.empty(); }),
              "two types of one number");

const GgmlType* find_type(DType dtype) {
  for (const GgmlType& type : kTypes) {
    if (type.dtype == dtype) return &type;
  }
  return nullptr;
}

}  // namespace

std::optional<DType> dtype_from_ggml_id(uint32_t id) noexcept {
  if (id >= kTypes.size()) return std::nullopt;
  return kTypes[id].dtype;
}

std::optional<uint32_t> ggml_id(DType dtype) noexcept {
  const GgmlType* type = find_type(dtype);
  if (type == nullptr) return std::nullopt;
  return type->id;
}

std::string_view ggml_name(DType dtype) noexcept {
  const GgmlType* type = find_type(dtype);
  return type == nullptr ? std::string_view() : type->name;
}

std::string_view ggml_name_of_id(uint32_t id) noexcept { return id < kTypes.size() ? kTypes[id].name : std::string_view(); }

}  // namespace wick
