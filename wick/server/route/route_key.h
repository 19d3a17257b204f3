// The parts of a request that decide which replica answers it: its model, its session, and the beginning of its prompt.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "wick/server/http_message.h"
#include "wick/server/json.h"

namespace wick::server {

// The router has no tokenizer: its blocks are so many bytes of prompt_text(), where those of the KV cache are tokens.
inline constexpr size_t kPromptBlockBytes = 128;

struct RouteKey {
  std::string model = {};             // empty: any
  std::string session = {};           // empty: none
  std::vector<uint64_t> blocks = {};  // one hash for each full block, of it and all before it, and of the model's name
};

// The members of a request's body that make its prompt, as compact JSON in the order in which templates write them: tools, system,
// instructions, messages, prompt, input. The next turn of a conversation begins with the text of the turn before, but for its end.
[[nodiscard]] std::string prompt_text(const Json& body);

// A chain of hashes, the same in every process.
[[nodiscard]] std::vector<uint64_t> hash_blocks(std::string_view model, std::string_view text);

// A body that is not a JSON object has neither model nor prompt: any replica says what is wrong with it.
// The session is X-Session-Id, else session_id or prompt_cache_key of the body.
[[nodiscard]] RouteKey route_key(const HttpRequest& request);

}  // namespace wick::server
