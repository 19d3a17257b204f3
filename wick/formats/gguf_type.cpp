#include "wick/formats/gguf_type.h"

#include <array>

namespace wick {
namespace {

struct GgmlType {
  uint32_t id;
  std::string_view name;
  std::optional<DType> dtype;  // none: Wick has no such elements
};

// ggml.h, enum ggml_type. The numbers without a dtype are formats that ggml dropped. One of those, 36, lives on in the fork of ggml that
// BitNet's files are made with.
constexpr std::array kTypes = {
    GgmlType{0, "F32", DType::f32},          GgmlType{1, "F16", DType::f16},           GgmlType{2, "Q4_0", DType::q4_0},
    GgmlType{3, "Q4_1", DType::q4_1},        GgmlType{4, "Q4_2", std::nullopt},        GgmlType{5, "Q4_3", std::nullopt},
    GgmlType{6, "Q5_0", DType::q5_0},        GgmlType{7, "Q5_1", DType::q5_1},         GgmlType{8, "Q8_0", DType::q8_0},
    GgmlType{9, "Q8_1", DType::q8_1},        GgmlType{10, "Q2_K", DType::q2_k},        GgmlType{11, "Q3_K", DType::q3_k},
    GgmlType{12, "Q4_K", DType::q4_k},       GgmlType{13, "Q5_K", DType::q5_k},        GgmlType{14, "Q6_K", DType::q6_k},
    GgmlType{15, "Q8_K", DType::q8_k},       GgmlType{16, "IQ2_XXS", DType::iq2_xxs},  GgmlType{17, "IQ2_XS", DType::iq2_xs},
    GgmlType{18, "IQ3_XXS", DType::iq3_xxs}, GgmlType{19, "IQ1_S", DType::iq1_s},      GgmlType{20, "IQ4_NL", DType::iq4_nl},
    GgmlType{21, "IQ3_S", DType::iq3_s},     GgmlType{22, "IQ2_S", DType::iq2_s},      GgmlType{23, "IQ4_XS", DType::iq4_xs},
    GgmlType{24, "I8", DType::i8},           GgmlType{25, "I16", DType::i16},          GgmlType{26, "I32", DType::i32},
    GgmlType{27, "I64", DType::i64},         GgmlType{28, "F64", DType::f64},          GgmlType{29, "IQ1_M", DType::iq1_m},
    GgmlType{30, "BF16", DType::bf16},       GgmlType{31, "Q4_0_4_4", std::nullopt},   GgmlType{32, "Q4_0_4_8", std::nullopt},
    GgmlType{33, "Q4_0_8_8", std::nullopt},  GgmlType{34, "TQ1_0", DType::tq1_0},      GgmlType{35, "TQ2_0", DType::tq2_0},
    GgmlType{36, "I2_S", DType::i2_s},       GgmlType{37, "IQ4_NL_4_8", std::nullopt}, GgmlType{38, "IQ4_NL_8_8", std::nullopt},
    GgmlType{39, "MXFP4", DType::mxfp4},     GgmlType{40, "NVFP4", DType::nvfp4},      GgmlType{41, "Q1_0", DType::q1_0},
    GgmlType{42, "Q2_0", DType::q2_0},
};

constexpr bool ids_are_positions() {
  for (size_t position = 0; position < kTypes.size(); ++position) {
    if (kTypes[position].id != position) return false;
  }
  return true;
}
static_assert(ids_are_positions());

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
