// An OpenClProgram is a kernel that the driver has compiled.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "wick/backend/opencl/device.h"
#include "wick/device/program.h"

namespace wick::opencl {

// Compiles programs: the context of one device.
struct Compiler {
  const Api& api;
  cl_context context;
  const FoundDevice& device;
  const std::string& place;  // "opencl:0 (name)", for errors
};

class OpenClProgram final : public Program {
 public:
  OpenClProgram(ir::Kernel kernel, Owned<cl_program> program, Owned<cl_kernel> handle)
      : Program(std::move(kernel)), program_(std::move(program)), handle_(std::move(handle)) {}

  [[nodiscard]] cl_program program() const noexcept { return program_.get(); }
  // Its arguments are set and launched by one thread at a time: the queue's lock is theirs too.
  [[nodiscard]] cl_kernel handle() const noexcept { return handle_.get(); }

 private:
  Owned<cl_program> program_;
  Owned<cl_kernel> handle_;
};

// The driver's binary of a text. Errors: CompilerError.
[[nodiscard]] std::vector<std::byte> compile_text(const Compiler& compiler, const std::string& text);
// nullptr where the driver refuses the binary. Errors: unsupported for groups larger than the driver runs this kernel in.
[[nodiscard]] std::shared_ptr<const Program> load_binary(const Compiler& compiler, ir::Kernel prepared, std::span<const std::byte> binary);

}  // namespace wick::opencl
