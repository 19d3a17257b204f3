#include "wick/device/streams/stream_driver.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "wick/base/process.h"

namespace wick {

StreamDriver::StreamDriver(const std::shared_ptr<const StreamApi>& api, std::shared_ptr<const RunTimeCompiler> compiler,
                           const ir::Dialect& dialect, const StreamDevice& device, int index, StreamHandle stream)
    : compiler_(std::move(compiler)), dialect_(dialect), device_(device.id), target_(device.target), caps_(device.caps) {
  const std::string place = fmt::format("{}:{} ({})", to_string(api->kind), index, caps_.name);
  queue_ = std::make_shared<StreamQueue>(open_context(api, device_, place), stream, device.early_launches);
}

std::optional<size_t> StreamDriver::free_bytes() noexcept {
  const StreamContext& context = queue_->context();
  size_t free = 0, all = 0;
  if (!context.enter()) return std::nullopt;
  return context.api->memory_info.address(&free, &all) == 0 ? std::optional(free) : std::nullopt;
}

std::vector<std::byte> StreamDriver::compile(const ir::Kernel& /*prepared*/, const std::string& text) {
  return compiler_->compile(text, target_);
}

std::shared_ptr<const Program> StreamDriver::load(ir::Kernel prepared, std::span<const std::byte> binary) {
  const std::string entry = ir::entry_name(prepared);
  return queue_->load(std::move(prepared), entry, binary.data());
}

// A model has a few dozen kernels, and their compiler takes a core and some hundred MB each.
int StreamDriver::compilers() const noexcept {
  constexpr int kMax = 16;
  return std::clamp(usable_cores(), 2, kMax);
}

std::shared_ptr<const Program> StreamDriver::awaited(ir::Kernel prepared, FutureProgram made) {
  return std::make_shared<const StreamProgram>(std::move(prepared), queue_, std::move(made));
}

}  // namespace wick
