// A Program is a kernel made ready for one device; a Launch runs it once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "wick/device/buffer.h"
#include "wick/ir/kernel.h"

namespace [[gnu::visibility("default")]] wick {

class Program {
 public:
  // The kernel as ir::prepare() wrote it for the device.
  explicit Program(ir::Kernel kernel) : kernel_(std::move(kernel)) {}
  virtual ~Program() = default;
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  [[nodiscard]] const ir::Kernel& kernel() const noexcept { return kernel_; }

 private:
  ir::Kernel kernel_;
};

// The bytes that a kernel sees as one of its buffers: from `offset`, a multiple of DeviceCaps::buffer_offset_alignment, to the end of the
// buffer, or as many as `bytes` says; and what is missing to a multiple of 16, as kernels read whole words and vectors of four.
struct BufferArgument {
  Buffer* buffer = nullptr;
  size_t offset = 0;
  size_t bytes = 0;

  [[nodiscard]] size_t size() const noexcept { return ((bytes > 0 ? bytes : buffer->bytes() - offset) + 15) / 16 * 16; }
};

struct Launch {
  const Program* program = nullptr;
  ir::Grid grid;
  std::span<const BufferArgument> buffers;
  std::span<const uint32_t> parameters;  // the bits of each
};

}  // namespace wick
