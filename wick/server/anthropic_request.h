// Requests of Anthropic's API: what it calls messages.
#pragma once

#include "wick/server/chat_request.h"
#include "wick/server/fields.h"

namespace wick::server {

// Reads a conversation: system, messages, tools, tool_choice, output_format and thinking. What is wrong becomes violations of `fields`.
void read_anthropic_chat(Fields& fields, ChatRequest& chat);

}  // namespace wick::server
