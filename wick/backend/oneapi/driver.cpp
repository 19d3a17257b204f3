#include "wick/backend/oneapi/driver.h"

#include <fmt/format.h>

#include <utility>

#include "wick/device/submissions/block_size.h"
#include "wick/device/submissions/spirv_module.h"

namespace wick::oneapi {

ZeDriver::ZeDriver(std::shared_ptr<const Api> api, std::shared_ptr<const Compiler> compiler, const FoundDevice& device, std::string place)
    : compiler_(std::move(compiler)), queue_(std::make_shared<ZeQueue>(std::move(api), device, std::move(place))) {}

std::unique_ptr<Buffer> ZeDriver::allocate(size_t bytes) {
  check_block(queue_->place(), bytes, caps().max_buffer_bytes);
  return queue_->allocate(bytes);
}

std::string ZeDriver::binary_key() const {
  const FoundDevice& device = queue_->device();
  return fmt::format("{}\n{}\n{:#x}\n{}\n{}", device.caps.driver, device.caps.name, device.device_id, device.source_options,
                     device.module_options);
}

std::vector<std::byte> ZeDriver::compile(const ir::Kernel& /*prepared*/, const std::string& text) {
  if (is_spirv(text)) return compile_module(*queue_, std::as_bytes(std::span(text)));
  const FoundDevice& device = queue_->device();
  return compile_module(*queue_, compiler_->compile(text, device.device_id, device.source_options));
}

std::shared_ptr<const Program> ZeDriver::load(ir::Kernel prepared, std::span<const std::byte> binary) {
  return load_module(queue_, std::move(prepared), binary);
}

}  // namespace wick::oneapi
