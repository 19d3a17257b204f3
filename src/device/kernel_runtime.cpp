#include "device/kernel_runtime.h"

#include <utility>

#include "base/error.h"
#include "ir/passes.h"

namespace wick {

KernelRuntime::KernelRuntime(std::unique_ptr<KernelDriver> driver)
    : driver_(std::move(driver)), allocator_(std::make_shared<CachingAllocator>(*driver_)) {}

std::unique_ptr<Buffer> KernelRuntime::import_host(std::byte* data, size_t bytes, std::shared_ptr<const void> /*owner*/) {
  std::unique_ptr<Buffer> buffer = allocate(bytes, Lifetime::persistent);
  if (bytes > 0) queue().upload(data, *buffer, 0, bytes);
  return buffer;
}

std::shared_ptr<const Program> KernelRuntime::compile(const ir::Kernel& kernel) {
  ir::Kernel prepared = ir::prepare(kernel, caps());
  const ir::Dialect* dialect = driver_->dialect();
  std::vector<std::byte> binary;
  if (dialect != nullptr) {
    const std::string text = ir::print(prepared, *dialect);
    try {
      binary = driver_->compile(prepared, text);
    } catch (const CompilerError& error) {
      fail(ErrorCode::unsupported, "kernel {}: the {} compiler of {} refused it: {}", prepared.name, dialect->name, caps().name, error.log);
    }
  }
  std::shared_ptr<const Program> program = driver_->load(std::move(prepared), binary);
  if (program == nullptr) fail(ErrorCode::unsupported, "kernel {}: {} does not load its own binary", kernel.name, caps().name);
  return program;
}

}  // namespace wick
