#include "wick/base/fail.h"

#include <cstdio>
#include <cstdlib>
#include <utility>

namespace wick {

const char* to_string(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::invalid_argument: return "invalid_argument";
    case ErrorCode::not_found: return "not_found";
    case ErrorCode::io: return "io";
    case ErrorCode::corrupt_file: return "corrupt_file";
    case ErrorCode::unsupported: return "unsupported";
    case ErrorCode::shape_mismatch: return "shape_mismatch";
    case ErrorCode::dtype_mismatch: return "dtype_mismatch";
    case ErrorCode::device_mismatch: return "device_mismatch";
    case ErrorCode::index_out_of_range: return "index_out_of_range";
    case ErrorCode::backend_not_linked: return "backend_not_linked";
    case ErrorCode::no_device: return "no_device";
    case ErrorCode::device_lost: return "device_lost";
    case ErrorCode::out_of_memory: return "out_of_memory";
    case ErrorCode::context_full: return "context_full";
  }
  return "unknown";
}

namespace {

ErrorHook& error_hook() {
  static ErrorHook hook;
  return hook;
}

}  // namespace

void set_error_hook(ErrorHook hook) { error_hook() = std::move(hook); }

Error::Error(ErrorCode code, const std::string& message, std::source_location where)
    : std::runtime_error(message), code_(code), where_(where) {
  if (error_hook()) error_hook()(*this);
}

Error::Error(const Error& error, const std::string& message) : std::runtime_error(message), code_(error.code_), where_(error.where_) {}

void assertion_failed(const char* expression, std::source_location where) {
  std::fprintf(stderr, "wick: internal error: %s:%u: %s does not hold. Please report this.\n", where.file_name(),
               static_cast<unsigned>(where.line()), expression);
  std::abort();
}

}  // namespace wick
