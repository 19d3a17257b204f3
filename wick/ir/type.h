// The types of values in registers, and of elements in memory.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace [[gnu::visibility("default")]] wick {
namespace ir {

// The type of one lane's value. i64 and f64 exist where the device has them; f16 arithmetic is lowered where it has not.
enum class Type : uint8_t { b1, i32, u32, i64, f16, f32, f64 };
inline constexpr int kTypeCount = 7;

// The element type of a buffer or of shared memory. The register type of a load or a store follows from it:
// i8 and i16 are sign-extended to i32, u8 and u16 are zero-extended to u32 and cut off when stored, bf16 becomes f32 (exactly) and is
// rounded to nearest even when stored; the others are themselves. There are no booleans in memory.
enum class Element : uint8_t { i8, u8, i16, u16, bf16, f16, i32, u32, f32, i64, f64 };
inline constexpr int kElementCount = 11;

struct TypeInfo {
  std::string_view name;
  int bytes;  // 0: not in memory
};
struct ElementInfo {
  std::string_view name;
  int bytes;
  Type type;
};

inline constexpr std::array<TypeInfo, kTypeCount> kTypes{
    {{"b1", 0}, {"i32", 4}, {"u32", 4}, {"i64", 8}, {"f16", 2}, {"f32", 4}, {"f64", 8}}};
inline constexpr std::array<ElementInfo, kElementCount> kElements{{{"i8", 1, Type::i32},
                                                                   {"u8", 1, Type::u32},
                                                                   {"i16", 2, Type::i32},
                                                                   {"u16", 2, Type::u32},
                                                                   {"bf16", 2, Type::f32},
                                                                   {"f16", 2, Type::f16},
                                                                   {"i32", 4, Type::i32},
                                                                   {"u32", 4, Type::u32},
                                                                   {"f32", 4, Type::f32},
                                                                   {"i64", 8, Type::i64},
                                                                   {"f64", 8, Type::f64}}};

[[nodiscard]] constexpr const TypeInfo& info(Type type) noexcept { return kTypes[static_cast<std::size_t>(type)]; }
[[nodiscard]] constexpr const ElementInfo& info(Element element) noexcept { return kElements[static_cast<std::size_t>(element)]; }
[[nodiscard]] constexpr std::string_view to_string(Type type) noexcept { return info(type).name; }
[[nodiscard]] constexpr std::string_view to_string(Element element) noexcept { return info(element).name; }
[[nodiscard]] constexpr Type register_type(Element element) noexcept { return info(element).type; }
[[nodiscard]] constexpr bool is_float(Type type) noexcept { return type >= Type::f16; }
[[nodiscard]] constexpr bool is_integer(Type type) noexcept { return type == Type::i32 || type == Type::u32 || type == Type::i64; }
[[nodiscard]] constexpr bool is_narrow(Element element) noexcept { return info(element).bytes < 4; }

}  // namespace ir
}  // namespace wick
