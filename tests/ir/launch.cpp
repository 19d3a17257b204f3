#include "ir/launch.h"

namespace wick::ir {

void launch(const Kernel& kernel, Grid grid, std::vector<std::span<std::byte>> buffers, std::vector<uint32_t> parameters) {
  interpret(kernel, grid, {std::move(buffers), std::move(parameters)});
}

std::string error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

std::vector<float> test_numbers(std::size_t count, uint32_t seed) {
  std::vector<float> numbers(count);
  uint32_t state = seed * 2654435761U + 1;
  for (float& number : numbers) {
    state = state * 1664525U + 1013904223U;
    number = static_cast<float>(static_cast<int>(state >> 21) - 1024) * 0x1p-10F;
  }
  return numbers;
}

}  // namespace wick::ir
