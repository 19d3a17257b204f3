// A ZeProgram is a kernel that the driver has made code of.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "wick/backend/oneapi/queue.h"
#include "wick/device/program.h"

namespace wick::oneapi {

class ZeProgram final : public Program {
 public:
  ZeProgram(ir::Kernel kernel, std::shared_ptr<ZeQueue> queue, ModuleHandle module, KernelHandle handle)
      : Program(std::move(kernel)), queue_(std::move(queue)), module_(module), handle_(handle) {}
  ~ZeProgram() override;

  [[nodiscard]] ModuleHandle module() const noexcept { return module_; }
  // Its arguments are set and launched by one thread at a time: the queue's lock is theirs too.
  [[nodiscard]] KernelHandle handle() const noexcept { return handle_; }

 private:
  std::shared_ptr<ZeQueue> queue_;
  ModuleHandle module_;
  KernelHandle handle_;
};

// The device's code of a SPIR-V module. Errors: CompilerError with the driver's log.
[[nodiscard]] std::vector<std::byte> compile_module(ZeQueue& queue, std::span<const std::byte> spirv);
// nullptr where the driver refuses the code. Errors: unsupported for groups larger than the device runs this kernel in.
[[nodiscard]] std::shared_ptr<const ZeProgram> load_module(std::shared_ptr<ZeQueue> queue, ir::Kernel prepared,
                                                           std::span<const std::byte> code);

}  // namespace wick::oneapi
