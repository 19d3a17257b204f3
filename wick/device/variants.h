// The variants of most GPU backends: native, a device with all that it can do, and plain, as plain_caps() has it.
#pragma once

#include <string_view>
#include <vector>

#include "wick/device/registry.h"

namespace wick {

// For Backend::variants: plain, then native, which is the usual one.
[[nodiscard]] std::vector<VariantInfo> plain_and_native();

// Whether a device is to be opened as plain; empty: native. Errors: invalid_argument for another name.
[[nodiscard]] bool asks_for_plain(DeviceKind kind, int index, std::string_view variant);

}  // namespace wick
