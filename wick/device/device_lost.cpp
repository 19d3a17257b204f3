#include "wick/device/device_lost.h"

#include <fmt/format.h>

namespace wick {

Error device_lost(std::string_view device, std::string_view cause, std::string_view last_kernel) {
  return {ErrorCode::device_lost, fmt::format("{} is lost ({}){}{}; what was on it is gone: open it again", device, cause,
                                              last_kernel.empty() ? "" : "; the last kernel queued was ", last_kernel)};
}

}  // namespace wick
