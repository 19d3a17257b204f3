// Capabilities of a device as plain numbers, filled by its backend and read by code that selects or builds a kernel.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace [[gnu::visibility("default")]] wick {

// One product of matrix tiles that a subgroup computes together: f16 [m, k] × f16 [k, n] into f32 [m, n].
struct TileShape {
  uint32_t m = 0, n = 0, k = 0;
  friend bool operator==(const TileShape&, const TileShape&) = default;
};

struct DeviceCaps {
  std::string name;                        // the device's own name: "Intel(R) Xeon(R) Processor"
  std::string driver;                      // driver or instruction-set level: "avx512-vnni"
  uint64_t memory_bytes = 0;               // 0: not known
  double memory_bandwidth = 0;             // bytes per second; 0: not known
  int compute_units = 1;                   // cores, multiprocessors
  int max_subgroup_size = 1;               // lanes that execute together; a CPU kernel has none of its own
  int min_subgroup_size = 1;               // the smallest that can be asked for; 1 and 1: no subgroup operations
  uint64_t max_shared_bytes = 0;           // scratch memory of one group
  uint64_t max_buffer_bytes = 0;           // that a kernel can be given as one buffer; 0: no limit beyond the memory
  uint32_t buffer_offset_alignment = 256;  // where in a buffer a kernel's view of it may begin: at multiples of so many bytes
  // Limits of a kernel and its launch; the defaults are what every device has.
  uint32_t max_group_size = 128;
  uint32_t max_storage_buffers = 8;
  uint32_t max_parameter_bytes = 64;
  std::array<uint32_t, 3> max_group_count{65535, 65535, 65535};
  bool f16_arithmetic = false;
  bool bf16_arithmetic = false;
  bool int8_dot = false;       // four 8-bit products added into 32 bits by one instruction
  bool storage_8bit = false;   // single bytes of buffers and shared memory can be read and written
  bool storage_16bit = false;  // the same of 16 bits
  bool int64 = false;
  bool f64_arithmetic = false;
  bool f32_atomic_add = false;
  bool f32_subnormals = true;    // numbers of f32 below 2^-126 are what they are; else arithmetic may take and give them as zero
  std::vector<TileShape> tiles;  // empty: no matrix tiles
  bool host_memory = false;      // buffers are ordinary host memory: imports need no copy
};

}  // namespace wick
