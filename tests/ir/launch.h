// Runs a kernel in the interpreter on ordinary vectors.
#pragma once

#include <bit>
#include <cstring>
#include <functional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "wick/base/error.h"
#include "wick/ir/interpreter.h"

namespace wick::ir {

// The bits of a parameter: of an integer, or of a float.
template <class T>
[[nodiscard]] uint32_t parameter_bits(T value) {
  static_assert(sizeof(T) == 4);
  return std::bit_cast<uint32_t>(value);
}

// Buffers and parameters of one launch: launch(kernel, {4}, arguments(x, y), {parameter_bits(n)}).
template <class... Vectors>
[[nodiscard]] std::vector<std::span<std::byte>> arguments(Vectors&... vectors) {
  return {std::as_writable_bytes(std::span(vectors))...};
}

void launch(const Kernel& kernel, Grid grid, std::vector<std::span<std::byte>> buffers, std::vector<uint32_t> parameters = {});

// The message of the Error that the action fails with; empty if it does not.
[[nodiscard]] std::string error_of(const std::function<void()>& action);

// Numbers that look random and are the same everywhere: multiples of 2^-10 in [-1, 1).
[[nodiscard]] std::vector<float> test_numbers(std::size_t count, uint32_t seed);

}  // namespace wick::ir
