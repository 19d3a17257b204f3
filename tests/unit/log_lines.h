// Collects what the library logs while it lives.
#pragma once

#include <string>
#include <string_view>

#include "wick/base/log_hook.h"

namespace wick {

class LogLines {
 public:
  LogLines() {
    set_log_hook([this](LogLevel, std::string_view message) { text_.append(message).append("\n"); });
  }
  ~LogLines() { set_log_hook({}); }
  LogLines(const LogLines&) = delete;
  LogLines& operator=(const LogLines&) = delete;

  [[nodiscard]] const std::string& text() const noexcept { return text_; }

 private:
  std::string text_;
};

}  // namespace wick
