#include "wick/base/log.h"

#include <cstdio>
#include <mutex>
#include <set>
#include <string>

#include "wick/base/default_log_hook.h"

namespace wick {
namespace {

LogHook& hook() {
  static LogHook instance = &default_log_hook;
  return instance;
}

// A program that runs for long may have any number of different warnings.
constexpr size_t kMaxRemembered = 256;

}  // namespace

void set_log_hook(LogHook replacement) { hook() = std::move(replacement); }

void default_log_hook(LogLevel level, std::string_view message) {
  static std::mutex mutex;
  static std::set<std::string, std::less<>> said;
  if (level != LogLevel::warning) return;
  const std::lock_guard lock(mutex);
  if (said.size() >= kMaxRemembered) said.clear();
  if (said.emplace(message).second) fmt::print(stderr, "wick: warning: {}\n", message);
}

void log_message(LogLevel level, std::string_view message) {
  if (hook()) hook()(level, message);
}

}  // namespace wick
