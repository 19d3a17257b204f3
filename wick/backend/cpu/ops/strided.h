// for_each_run walks the operands of an elementwise op together, whatever their strides: it splits the work over the threads and hands
// out runs in which the output is contiguous and each input is contiguous too, or one element.
//
// Dimensions that lie without gaps in all operands count as one, and they are walked in the order of the output's memory. An input whose
// inner stride is neither 0 nor one element is gathered, tile by tile, along the dimension that it likes best: a transposed operand is
// read in whole cache lines. No operand is copied as a whole.
#pragma once

#include <cstddef>
#include <cstdint>

#include "wick/backend/cpu/cpu_runtime.h"

namespace wick::cpu {

// An input's part of a run.
struct RunInput {
  const std::byte* data = nullptr;
  bool scalar = false;  // one element for the whole run

  template <class T>
  [[nodiscard]] const T* as() const noexcept {
    return reinterpret_cast<const T*>(data);
  }
};

using RunFunction = void (*)(const void* context, std::byte* out, const RunInput* inputs, int64_t n);
void for_each_run_erased(const OpCall& call, RunFunction function, const void* context);

// Calls body(out, inputs, n) for runs of n elements, n ≥ 1, from several threads. Inputs that are scalar in every run: all strides 0.
template <class Body>
void for_each_run(const OpCall& call, const Body& body) {
  for_each_run_erased(
      call,
      [](const void* context, std::byte* out, const RunInput* inputs, int64_t n) { (*static_cast<const Body*>(context))(out, inputs, n); },
      &body);
}

// target[i] = source[i] for elements of 1, 2, 4 or 8 bytes, at steps in bytes.
void copy_elements(const std::byte* source, int64_t source_step, std::byte* target, int64_t target_step, int64_t n, int64_t element_bytes);
// Every one of n elements becomes the one at `value`.
void repeat_element(const std::byte* value, std::byte* target, int64_t n, int64_t element_bytes);

}  // namespace wick::cpu
