// A BufferSplitter is a runtime whose programs can be given a buffer in parts, where a device binds less of a buffer at once than it has.
#pragma once

#include <cstdint>
#include <span>

#include "wick/device/program.h"

namespace wick {

class BufferSplitter {
 public:
  BufferSplitter() = default;
  virtual ~BufferSplitter() = default;
  BufferSplitter(const BufferSplitter&) = delete;
  BufferSplitter& operator=(const BufferSplitter&) = delete;

  // The program with buffer i as parts[i] buffers, each of `part_bytes` bytes but the last (ir::split_buffers), made once; nullptr where
  // that cannot be.
  [[nodiscard]] virtual const Program* split(const Program& program, std::span<const uint32_t> parts, uint32_t part_bytes) = 0;
};

}  // namespace wick
