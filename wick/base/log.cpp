#include "wick/base/log.h"

namespace wick {
namespace {

LogHook& hook() {
  static LogHook instance;
  return instance;
}

}  // namespace

void set_log_hook(LogHook replacement) { hook() = std::move(replacement); }

void log_message(LogLevel level, std::string_view message) {
  if (hook()) hook()(level, message);
}

}  // namespace wick
