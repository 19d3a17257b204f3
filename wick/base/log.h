// The logging hook: the library says things only through it, and a program decides where they go. Silent by default.
#pragma once

#include <fmt/format.h>

#include <functional>
#include <string_view>
#include <utility>

namespace wick {

enum class LogLevel { debug, info, warning };

using LogHook = std::function<void(LogLevel, std::string_view message)>;

// Replaces the hook; an empty one silences. Call before other threads use the library.
void set_log_hook(LogHook hook);
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
