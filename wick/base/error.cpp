#include "wick/base/fail.h"

#include <cstdio>
#include <cstdlib>

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

void assertion_failed(const char* expression, std::source_location where) {
  std::fprintf(stderr, "wick: internal error: %s:%u: %s does not hold. Please report this.\n", where.file_name(),
               static_cast<unsigned>(where.line()), expression);
  std::abort();
}

}  // namespace wick
