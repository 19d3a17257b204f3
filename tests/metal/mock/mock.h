// What tests see of the mock of Metal: what it is made to be, and what it was called with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

namespace metal_mock {

// METAL_MOCK="devices=0,memory=65536,error=11" makes the first state of a process: the same names, and numbers.
struct State {
  long devices = 1;
  long unified = 1;  // the GPU shares the processor's memory
  long metal3 = 1;   // families of GPUs
  long apple7 = 1;
  long residency = 1;  // macOS 15
  long memory = 1L << 32;
  long largest = 1L << 32;  // bytes of a buffer
  long lanes = 1024;        // of a threadgroup of any kernel
  long shared = 32768;      // bytes of a threadgroup
  long queues = 1;          // 0: the device gives none
  long refuse = 0;          // 1: the compiler refuses all texts
  long error = 0;           // MTLCommandBufferError that command buffers end with; 0: none
  long after = 0;           // so many command buffers later

  long allocated = 0, imported = 0, resident = 0;  // bytes of buffers that are alive; buffers in residency sets
  std::map<std::string, long> calls;               // by method

  [[nodiscard]] long all_calls() const {
    long sum = 0;
    for (const auto& [name, number] : calls) sum += number;
    return sum;
  }
};

[[gnu::visibility("default")]] State& state();

// A kernel as code for this machine: runs all groups of a grid with these buffers and parameters.
using Run = void (*)(const unsigned* grid, unsigned lanes, unsigned subgroup, void* const* buffers, const void* parameters);

// The library of a text of MSL, which stays loaded; nullptr and the compiler's log where it is refused.
[[nodiscard]] void* compile(const std::string& text, std::string& log);
// nullptr: the library has no such kernel.
[[nodiscard]] Run find_kernel(void* library, const std::string& name);

}  // namespace metal_mock
