#include "wick/server/finish_reason.h"

namespace wick::server {

std::string_view finish_reason(StopReason reason) noexcept {
  switch (reason) {
    case StopReason::end_of_sequence:
    case StopReason::stop_sequence: return "stop";
    case StopReason::max_tokens:
    case StopReason::context_full: return "length";
    case StopReason::cancelled: return "abort";
    case StopReason::deadline: return "timeout";
  }
  return "";
}

}  // namespace wick::server
