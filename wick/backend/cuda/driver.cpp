#include "wick/backend/cuda/driver.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "wick/base/log.h"

namespace wick::cuda {
namespace {

// A context in which work failed refuses everything, and so does whoever opens it again: it is made anew, and all that was in it is gone.
void renew_if_lost(const Api& api, int device) {
  std::vector<std::shared_ptr<OpenContext>> alive;
  const auto [begin, end] = api.contexts.equal_range(device);
  for (auto at = begin; at != end; ++at) {
    if (std::shared_ptr<OpenContext> open = at->second.lock()) alive.push_back(std::move(open));
  }
  if (std::none_of(alive.begin(), alive.end(), [](const auto& open) { return open->lost.load(); })) return;
  for (const std::shared_ptr<OpenContext>& open : alive) open->lost = true;
  api.contexts.erase(device);
  api.primary_context_reset.address(device);
}

// The device's primary context, which NVIDIA's other libraries use too.
StreamContext retain_context(const std::shared_ptr<const Api>& api, const FoundDevice& device, int index) {
  StreamContext context{api, nullptr, fmt::format("cuda:{} ({})", index, device.caps.name)};
  const std::lock_guard lock(api->mutex);
  renew_if_lost(*api, device.id);
  auto open = std::make_unique<OpenContext>();
  check_status(*api, api->primary_context_retain.address(&open->handle, device.id), api->primary_context_retain.name, context.place);
  context.open = {open.release(), [api, id = device.id](OpenContext* last) {
                    api->primary_context_release.address(id);
                    delete last;  // NOLINT: what the line above gave up
                  }};
  api->contexts.emplace(device.id, context.open);
  return context;
}

}  // namespace

CudaDriver::CudaDriver(const std::shared_ptr<const Api>& api, std::shared_ptr<const Compiler> compiler, const FoundDevice& device,
                       int index, bool uses_libraries, StreamHandle stream)
    : StreamDriver(retain_context(api, device, index), device.caps, stream),
      api_(api),
      compiler_(std::move(compiler)),
      device_(device.id),
      target_(compiler_->target(device.capability)),
      uses_libraries_(uses_libraries) {}

CublasLt* CudaDriver::matrix_library() {
  std::call_once(library_opened_, [&] {
    try {
      library_ = std::make_unique<CublasLt>(queue().context(), api_->version);
    } catch (const Error& error) {
      log_info("{}: products of matrices run by portable kernels: {}", queue().context().place, error.what());
    }
  });
  return library_.get();
}

std::string CudaDriver::binary_key() const {
  // Code for a processor is the driver's concern only where it compiles it.
  return fmt::format("{}\n{}\n{}", compiler_->key(), target_, target_.starts_with("sm_") ? "" : version_text(api_->version));
}

std::vector<std::byte> CudaDriver::compile(const ir::Kernel& /*prepared*/, const std::string& text) {
  return compiler_->compile(text, target_);
}

}  // namespace wick::cuda
