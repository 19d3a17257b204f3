// The logging hook of a program that sets none: each warning once, to standard error.
#pragma once

#include <string_view>

#include "wick/base/log_hook.h"

namespace wick {

void default_log_hook(LogLevel level, std::string_view message);

}  // namespace wick
