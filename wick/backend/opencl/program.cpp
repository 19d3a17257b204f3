#include "wick/backend/opencl/program.h"

#include <utility>

#include "wick/backend/opencl/status.h"
#include "wick/base/fail.h"
#include "wick/device/kernel_driver.h"
#include "wick/ir/dialect/dialect.h"

namespace wick::opencl {
namespace {

cl_int build(const Compiler& compiler, cl_program program) {
  return compiler.api.build_program(program, 1, &compiler.device.id, compiler.device.build_options.c_str(), nullptr, nullptr);
}

std::string build_log(const Compiler& compiler, cl_program program) {
  size_t bytes = 0;
  const auto get = [&](size_t size, char* text) {
    return compiler.api.get_program_build_info(program, compiler.device.id, CL_PROGRAM_BUILD_LOG, size, text, &bytes) == CL_SUCCESS;
  };
  if (!get(0, nullptr)) return {};
  std::string log(bytes, '\0');
  if (!get(log.size(), log.data())) return {};
  log.resize(log.find_last_not_of(std::string_view("\0\n ", 3)) + 1);
  return log;
}

void check_group_size(const Compiler& compiler, cl_kernel handle, const ir::Kernel& kernel) {
  size_t lanes = 0;
  check(compiler.api.get_kernel_work_group_info(handle, compiler.device.id, CL_KERNEL_WORK_GROUP_SIZE, sizeof(lanes), &lanes, nullptr),
        "clGetKernelWorkGroupInfo", compiler.place);
  if (kernel.group_size <= lanes) return;
  fail(ErrorCode::unsupported, "kernel {}: has groups of {} lanes, and {} runs it in groups of {} at most", kernel.name, kernel.group_size,
       compiler.place, lanes);
}

}  // namespace

std::vector<std::byte> compile_text(const Compiler& compiler, const std::string& text) {
  const Api& api = compiler.api;
  const char* source = text.c_str();
  cl_int status = CL_SUCCESS;
  const Owned<cl_program> program(api.create_program_with_source(compiler.context, 1, &source, nullptr, &status), {api.release_program});
  check(status, "clCreateProgramWithSource", compiler.place);
  status = build(compiler, program.get());
  if (status != CL_SUCCESS) throw CompilerError{fmt::format("{}: {}", status_name(status), build_log(compiler, program.get()))};
  size_t bytes = 0;
  check(api.get_program_info(program.get(), CL_PROGRAM_BINARY_SIZES, sizeof(bytes), &bytes, nullptr), "clGetProgramInfo", compiler.place);
  std::vector<std::byte> binary(bytes);
  std::byte* target = binary.data();
  check(api.get_program_info(program.get(), CL_PROGRAM_BINARIES, sizeof(std::byte*), static_cast<void*>(&target), nullptr),
        "clGetProgramInfo", compiler.place);
  return binary;
}

std::shared_ptr<const Program> load_binary(const Compiler& compiler, ir::Kernel prepared, std::span<const std::byte> binary) {
  const Api& api = compiler.api;
  const auto* bytes = reinterpret_cast<const unsigned char*>(binary.data());
  const size_t size = binary.size();
  cl_int status = CL_SUCCESS;
  Owned<cl_program> program(api.create_program_with_binary(compiler.context, 1, &compiler.device.id, &size, &bytes, nullptr, &status),
                            {api.release_program});
  if (status != CL_SUCCESS || build(compiler, program.get()) != CL_SUCCESS) return nullptr;
  Owned<cl_kernel> handle(api.create_kernel(program.get(), ir::entry_name(prepared).c_str(), &status), {api.release_kernel});
  if (status != CL_SUCCESS) return nullptr;
  if (compiler.device.knows_kernels_groups) check_group_size(compiler, handle.get(), prepared);
  return std::make_shared<const OpenClProgram>(std::move(prepared), std::move(program), std::move(handle));
}

}  // namespace wick::opencl
