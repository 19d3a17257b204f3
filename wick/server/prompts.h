// The prompt member of completions and embeddings. OpenAI's: a text, a list of tokens, or a list of these; llama.cpp's too: a list of
// tokens and texts is one prompt, and {"prompt_string": …} is a text.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "wick/engine/request.h"
#include "wick/server/fields.h"
#include "wick/text/tokenizer/tokenizer.h"

namespace wick::server {

// Prompts of one request.
inline constexpr size_t kMaxPrompts = 64;

// A request for each prompt, with its text or tokens set. Wrong ones are recorded in `fields`.
// `parses_special`: control tokens spelled out in texts beside tokens are taken for those tokens.
[[nodiscard]] std::vector<Request> read_prompts(Fields& fields, const Tokenizer& tokenizer, std::string_view name, size_t most,
                                                bool parses_special);

// `settings` with the prompt of `request`.
[[nodiscard]] Request with_prompt_of(const Request& settings, Request request);

}  // namespace wick::server
