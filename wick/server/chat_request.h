// A ChatRequest is a conversation to be continued, whatever API it came through.
#pragma once

#include <string>

#include "wick/engine/request.h"
#include "wick/server/fields.h"
#include "wick/server/worker.h"
#include "wick/text/chat_template.h"

namespace wick::server {

struct ChatRequest {
  ChatPrompt chat = {};
  std::string rendered = {};  // the conversation as the model's text
  Request request = {};
  bool streams = false;
  bool uses_tools = false;  // tool calls in the answer are parsed
};

// Renders the conversation by the model's template into request.tokens, and checks that it fits.
// Errors: ApiError: 400 for a model without a template, and with the template's own words for what it refuses; CONTEXT_LENGTH_EXCEEDED.
void render_chat(const Service& service, ChatRequest& chat, bool max_tokens_given);

// OpenAI's messages, tools and tool_choice, of which Ollama's are a subset.
void read_openai_chat(Fields& fields, ChatRequest& chat);

}  // namespace wick::server
