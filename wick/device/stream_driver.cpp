#include "wick/device/stream_driver.h"

namespace wick {

std::optional<size_t> StreamDriver::free_bytes() noexcept {
  const StreamContext& context = queue_->context();
  size_t free = 0, all = 0;
  if (!context.enter()) return std::nullopt;
  return context.api->memory_info.address(&free, &all) == 0 ? std::optional(free) : std::nullopt;
}

std::shared_ptr<const Program> StreamDriver::load(ir::Kernel prepared, std::span<const std::byte> binary) {
  const std::string entry = ir::entry_name(prepared);
  return queue_->load(std::move(prepared), entry, binary.data());
}

}  // namespace wick
