// Copies and fills as kernels, for drivers whose own take whole words alone, or cost more than a launch.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <utility>

#include "wick/device/program.h"
#include "wick/ir/kernel.h"
#include "wick/op/device_caps.h"

namespace wick {

// Takes blocks of the driver's own, and bytes at any place of them; of one block, ranges that do not overlap.
class ByteKernels {
 public:
  using Compile = std::function<std::shared_ptr<const Program>(const ir::Kernel& kernel)>;
  // Launches name programs that live as long as this.
  using Record = std::function<void(const Launch& launch)>;

  // `compile` is called by the first copy or fill that needs the program.
  ByteKernels(const DeviceCaps& caps, Compile compile, Record record)
      : caps_(caps), compile_(std::move(compile)), record_(std::move(record)) {}

  void copy(Buffer& source, size_t source_offset, Buffer& target, size_t target_offset, size_t bytes);
  void fill(Buffer& target, size_t offset, size_t bytes, std::byte value);

 private:
  using Made = std::shared_ptr<const Program>;
  [[nodiscard]] const Program& program(Made& made, ir::Kernel (*kernel)());
  // A kernel argument that covers these bytes.
  [[nodiscard]] BufferArgument view(Buffer& block, size_t offset, size_t bytes) const noexcept;
  // The place of a byte in that, in units of so many.
  [[nodiscard]] uint32_t place(size_t offset, size_t unit) const noexcept;
  [[nodiscard]] size_t bytes_per_launch() const noexcept;
  // A lane for each word that is touched.
  [[nodiscard]] ir::Grid grid(size_t bytes) const noexcept;

  const DeviceCaps& caps_;
  Compile compile_;
  Record record_;
  Made copy_words_, copy_bytes_, fill_words_, fill_bytes_;
};

}  // namespace wick
