#include <algorithm>

#include "wick/base/fail.h"
#include "wick/c/guard.h"
#include "wick/device/random_stream.h"
#include "wick/device/registry.h"

namespace wick::c {
namespace {

std::string& last_message() {
  thread_local std::string message;
  return message;
}

std::string linked_names() {
  std::string names;
  for (const Backend* backend : linked_backends()) {
    if (!is_for_users(backend->kind)) continue;
    if (!names.empty()) names += ',';
    names += to_string(backend->kind);
  }
  return names;
}

}  // namespace

wick_status note_failure(wick_status status, const char* message) noexcept {
  try {
    last_message() = message;
  } catch (...) {
    last_message().clear();
  }
  return status;
}

// The statuses are the codes in their order, from 1: test_c_api.c compares the names.
wick_status status_of(ErrorCode code) noexcept { return static_cast<wick_status>(static_cast<int>(code) + 1); }

void need(const void* pointer, const char* function, const char* argument) {
  if (pointer == nullptr) fail(ErrorCode::invalid_argument, "{}: {} is NULL", function, argument);
}

}  // namespace wick::c

extern "C" {

int32_t wick_c_version(void) { return WICK_C_VERSION; }

const char* wick_version(void) { return WICK_VERSION_TEXT; }

void wick_manual_seed(uint64_t seed) {
  (void)wick::c::guarded([&] { wick::manual_seed(seed); });
}

const char* wick_last_error(void) { return wick::c::last_message().c_str(); }

const char* wick_status_name(wick_status status) {
  if (status == WICK_OK) return "ok";
  if (status >= WICK_INVALID_ARGUMENT && status <= WICK_CONTEXT_FULL) return wick::to_string(static_cast<wick::ErrorCode>(status - 1));
  return "internal";
}

const char* wick_backends(void) {
  static const std::string names = wick::c::linked_names();
  return names.c_str();
}

}  // extern "C"
