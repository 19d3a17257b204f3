// What a device can do, as plain numbers: filled by its backend, read by whoever chooses or builds a kernel for it.
#pragma once

#include <cstdint>
#include <string>

namespace wick {

struct DeviceCaps {
  std::string name;               // the device's own name: "Intel(R) Xeon(R) Processor"
  std::string driver;             // driver or instruction-set level: "avx512-vnni"
  uint64_t memory_bytes = 0;      // 0: not known
  double memory_bandwidth = 0;    // bytes per second; 0: not known
  int compute_units = 1;          // cores, multiprocessors
  int max_subgroup_size = 1;      // lanes that execute together; a CPU kernel has none of its own
  uint64_t max_shared_bytes = 0;  // scratch memory of one group
  uint64_t max_buffer_bytes = 0;  // 0: no limit beyond the memory
  bool f16_arithmetic = false;
  bool bf16_arithmetic = false;
  bool int8_dot = false;     // four 8-bit products added into 32 bits by one instruction
  bool host_memory = false;  // buffers are ordinary host memory: imports need no copy
};

}  // namespace wick
