// Where the library's messages go: to a hook of the program's. Without one, each warning is printed once to standard error.
#pragma once

#include <functional>
#include <string_view>

namespace [[gnu::visibility("default")]] wick {

enum class LogLevel { debug, info, warning };

using LogHook = std::function<void(LogLevel, std::string_view message)>;

// Replaces the hook; an empty one silences. Call before other threads use the library.
void set_log_hook(LogHook hook);

}  // namespace wick
