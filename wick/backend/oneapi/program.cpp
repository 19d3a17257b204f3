#include "wick/backend/oneapi/program.h"

#include <fmt/format.h>

#include "wick/base/fail.h"
#include "wick/device/kernel_driver.h"
#include "wick/ir/dialect/dialect.h"

namespace wick::oneapi {
namespace {

struct Made {
  int status = kSuccess;
  ModuleHandle module = nullptr;
  std::string log;
};

Made make_module(const ZeQueue& queue, ModuleFormat format, std::span<const std::byte> bytes) {
  const Api& api = queue.api();
  const ModuleDescription description{.format = format,
                                      .bytes = bytes.size(),
                                      .module = reinterpret_cast<const uint8_t*>(bytes.data()),
                                      .options = queue.device().module_options.c_str()};
  Made made;
  LogHandle log = nullptr;
  made.status = api.module_create.address(queue.context(), queue.device().handle, &description, &made.module, &log);
  if (log == nullptr) return made;
  size_t size = 0;
  if (made.status != kSuccess && api.log_get_text.address(log, &size, nullptr) == kSuccess) {
    made.log.resize(size);
    if (api.log_get_text.address(log, &size, made.log.data()) != kSuccess) made.log.clear();
    made.log.resize(made.log.find_last_not_of(std::string_view("\0\n ", 3)) + 1);
  }
  api.log_destroy.address(log);
  return made;
}

}  // namespace

ZeProgram::~ZeProgram() {
  queue_->finish();
  queue_->api().kernel_destroy.address(handle_);
  queue_->api().module_destroy.address(module_);
}

std::vector<std::byte> compile_module(ZeQueue& queue, std::span<const std::byte> spirv) {
  const Api& api = queue.api();
  const Made made = make_module(queue, ModuleFormat::spirv, spirv);
  if (made.status == kModuleBuildFailure || made.status == kModuleLinkFailure) {
    throw CompilerError{fmt::format("{}: {}: {}", api.module_create.name, status_name(made.status), made.log)};
  }
  queue.check_build(made.status, api.module_create.name);
  size_t size = 0;
  int status = api.module_get_native.address(made.module, &size, nullptr);
  std::vector<std::byte> code(size);
  if (status == kSuccess) status = api.module_get_native.address(made.module, &size, reinterpret_cast<uint8_t*>(code.data()));
  api.module_destroy.address(made.module);
  queue.check_build(status, api.module_get_native.name);
  return code;
}

std::shared_ptr<const ZeProgram> load_module(std::shared_ptr<ZeQueue> queue, ir::Kernel prepared, std::span<const std::byte> code) {
  const Api& api = queue->api();
  const Made made = make_module(*queue, ModuleFormat::native, code);
  if (made.status == kDeviceLost) queue->check_build(made.status, api.module_create.name);
  if (made.status != kSuccess) return nullptr;
  const std::string name = ir::entry_name(prepared);
  const KernelDescription description{.name = name.c_str()};
  KernelHandle handle = nullptr;
  int status = api.kernel_create.address(made.module, &description, &handle);
  if (status == kSuccess) {
    status = api.kernel_set_group_size.address(handle, prepared.group_size, 1, 1);
    if (status == kSuccess) return std::make_shared<const ZeProgram>(std::move(prepared), std::move(queue), made.module, handle);
    api.kernel_destroy.address(handle);
  }
  api.module_destroy.address(made.module);
  if (status != kInvalidGroupSize) return nullptr;
  fail(ErrorCode::unsupported, "kernel {}: has groups of {} lanes, and {} does not run it in groups of so many", prepared.name,
       prepared.group_size, queue->place());
}

}  // namespace wick::oneapi
