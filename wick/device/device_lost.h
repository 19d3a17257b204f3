// Errors of a device that failed while it was working.
#pragma once

#include <string_view>

#include "wick/base/error.h"

namespace wick {

// device_lost, "<device> is lost (<cause>); the last kernel queued was <kernel>; …"; without a kernel where there was none.
[[nodiscard]] Error device_lost(std::string_view device, std::string_view cause, std::string_view last_kernel);

}  // namespace wick
