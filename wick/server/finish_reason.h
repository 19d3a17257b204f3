// Why a choice ended, in the words of each API.
#pragma once

#include <string_view>

#include "wick/engine/generation.h"

namespace wick::server {

// OpenAI's: "stop" or "length"; "abort" for what was cancelled, as vLLM has it.
[[nodiscard]] std::string_view finish_reason(StopReason reason) noexcept;

}  // namespace wick::server
