// Spellings that languages share: of all, and of those that descend from C.
#pragma once

#include <span>
#include <vector>

#include "wick/ir/dialect/dialect.h"

namespace wick::ir {

// clang-format off
inline constexpr std::array kCommonSpellings{
    Spelling{Op::negate, any(), "-$0"},
    Spelling{Op::logical_not, types(Type::b1), "!$0"},
    Spelling{Op::logical_not, any(), "~$0"},
    Spelling{Op::add, any(), "$0 + $1"},
    Spelling{Op::subtract, any(), "$0 - $1"},
    Spelling{Op::multiply, any(), "$0 * $1"},
    Spelling{Op::divide, any(), "$0 / $1"},
    Spelling{Op::remainder, any(), "$0 % $1"},
    Spelling{Op::bit_and, types(Type::b1), "$0 && $1"},
    Spelling{Op::bit_or, types(Type::b1), "$0 || $1"},
    Spelling{Op::bit_xor, types(Type::b1), "$0 != $1"},
    Spelling{Op::bit_and, any(), "$0 & $1"},
    Spelling{Op::bit_or, any(), "$0 | $1"},
    Spelling{Op::bit_xor, any(), "$0 ^ $1"},
    Spelling{Op::shift_left, any(), "$0 << $1"},
    Spelling{Op::shift_right, any(), "$0 >> $1"},
    Spelling{Op::less, any(), "$0 < $1"},
    Spelling{Op::less_equal, any(), "$0 <= $1"},
    Spelling{Op::equal, any(), "$0 == $1"},
    Spelling{Op::select, any(), "$0 ? $1 : $2"},
    Spelling{Op::minimum, any(), "min($0, $1)"},
    Spelling{Op::maximum, any(), "max($0, $1)"},
    Spelling{Op::absolute, any(), "abs($0)"},
    Spelling{Op::exp2, any(), "exp2($0)"},
    Spelling{Op::log2, any(), "log2($0)"},
    Spelling{Op::sine, any(), "sin($0)"},
    Spelling{Op::square_root, any(), "sqrt($0)"},
    Spelling{Op::truncate, any(), "trunc($0)"},
    Spelling{Op::fma, any(), "fma($0, $1, $2)"},
};

// C leaves the overflow of signed arithmetic undefined: it goes through unsigned words, which wrap.
inline constexpr uint8_t kSigned = types(Type::i32, Type::i64);
inline constexpr std::array kWrappingSpellings{
    Spelling{Op::negate, kSigned, "($T)(0u - ($U)$0)"},
    Spelling{Op::add, kSigned, "($T)(($U)$0 + ($U)$1)"},
    Spelling{Op::subtract, kSigned, "($T)(($U)$0 - ($U)$1)"},
    Spelling{Op::multiply, kSigned, "($T)(($U)$0 * ($U)$1)"},
    Spelling{Op::shift_left, kSigned, "($T)(($U)$0 << $1)"},
};
// clang-format on

template <std::size_t... counts>
[[nodiscard]] constexpr auto join(const std::array<Spelling, counts>&... rows) {
  std::array<Spelling, (counts + ...)> all{};
  std::size_t next = 0;
  const auto append = [&](const auto& some) {
    for (const Spelling& row : some) all[next++] = row;
  };
  (append(rows), ...);
  return all;
}

// A language's own spellings before those of another one that it descends from.
[[nodiscard]] inline std::vector<Spelling> own_before(std::span<const Spelling> own, std::span<const Spelling> others) {
  std::vector<Spelling> all;
  for (const Spelling& row : own) all.push_back(row);
  for (const Spelling& row : others) all.push_back(row);
  return all;
}

}  // namespace wick::ir
