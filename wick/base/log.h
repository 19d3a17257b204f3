// Messages of the library, passed to the logging hook; the program decides where they go (log_hook.h).
#pragma once

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "wick/base/log_hook.h"

namespace wick {

void log_message(LogLevel level, std::string_view message);

template <class... Args>
void log_info(fmt::format_string<Args...> format, Args&&... args) {
  log_message(LogLevel::info, fmt::format(format, std::forward<Args>(args)...));
}

template <class... Args>
void log_warning(fmt::format_string<Args...> format, Args&&... args) {
  log_message(LogLevel::warning, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace wick
