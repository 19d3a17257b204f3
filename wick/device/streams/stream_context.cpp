#include "wick/device/streams/stream_context.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace wick {
namespace {

// A context in which work failed refuses everything, and so does whoever opens it again: it is made anew, and all that was in it is gone.
void renew_if_lost(const StreamApi& api, int device) {
  std::vector<std::shared_ptr<OpenContext>> alive;
  const auto [begin, end] = api.contexts.equal_range(device);
  for (auto at = begin; at != end; ++at) {
    if (std::shared_ptr<OpenContext> open = at->second.lock()) alive.push_back(std::move(open));
  }
  if (std::none_of(alive.begin(), alive.end(), [](const auto& open) { return open->lost.load(); })) return;
  for (const std::shared_ptr<OpenContext>& open : alive) open->lost = true;
  api.contexts.erase(device);
  api.context_reset.address(api, device);
}

}  // namespace

StreamContext open_context(const std::shared_ptr<const StreamApi>& api, int device, std::string place) {
  StreamContext context{api, nullptr, std::move(place)};
  const std::lock_guard lock(api->contexts_mutex);
  renew_if_lost(*api, device);
  auto open = std::make_unique<OpenContext>();
  check_status(*api, api->context_open.address(*api, device, &open->handle), api->context_open.name, context.place);
  context.open = {open.release(), [api, device](OpenContext* last) {
                    api->context_close.address(*api, device);
                    delete last;  // NOLINT: what the line above gave up
                  }};
  api->contexts.emplace(device, context.open);
  return context;
}

}  // namespace wick
