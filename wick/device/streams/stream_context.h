// A StreamContext is what the calls of a stream driver are made in: one device's context, which stays as long as somebody has it.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "wick/device/streams/stream_api.h"

namespace wick {

// A context of the driver. Once it is lost, nothing in it is given back one by one: it goes as a whole.
struct OpenContext {
  StreamHandle handle = nullptr;
  std::atomic<bool> lost = false;
};

struct StreamContext {
  std::shared_ptr<const StreamApi> api;
  std::shared_ptr<OpenContext> open;
  std::string place;  // "cuda:0 (name)", for errors

  int make_current() const { return api->context_enter.address(*api, open->handle); }
  // For destructors: whether there is something to give back to the driver, which then has the context.
  [[nodiscard]] bool enter() const noexcept { return !open->lost && make_current() == 0; }
};

// The context of a device, by the driver's number. Errors: those of the driver.
[[nodiscard]] StreamContext open_context(const std::shared_ptr<const StreamApi>& api, int device, std::string place);

}  // namespace wick
