// A ChatRequest is a conversation to be continued, whatever API it came through.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "wick/engine/request.h"
#include "wick/server/fields.h"
#include "wick/server/worker.h"
#include "wick/text/chat/chat_output_format.h"
#include "wick/text/chat/chat_template.h"
#include "wick/text/grammar/token_constraint.h"

namespace wick::server {

// The form that a request asks for, and the field that says so.
struct AnswerFormat {
  OutputFormat format = {};
  std::string field = {};  // "response_format.json_schema.schema"
};

struct ChatRequest {
  ChatPrompt chat = {};
  std::string rendered = {};  // the conversation as the model's text
  Request request = {};
  bool continues_last = false;  // the answer goes on with the last message, which is the assistant's
  bool streams = false;
  bool uses_tools = false;  // tool calls in the answer are parsed
  // Constraint of the answer (answer_format.h).
  std::optional<AnswerFormat> answer = {};
  ChatRules::Calls calls = ChatRules::Calls::none;
  std::string only_tool = {};  // the one that may be called; empty: any
  bool parallel_calls = true;
  std::vector<std::string> custom_tools = {};  // of OpenAI's responses: called with one text, which the answer has as it is
};

// Renders the conversation by the model's template. Errors: ApiError: 400 for a model without a template, and with the template's own words
// for what it refuses.
void render_chat(const Service& service, ChatRequest& chat);
// The tokens of a rendered conversation, whether they fit into the context or not.
[[nodiscard]] size_t count_tokens(const Service& service, const ChatRequest& chat);
// render_chat(); then request.tokens, which must fit, and what the answer is held to. Errors: also CONTEXT_LENGTH_EXCEEDED.
void prepare_chat(const Service& service, ChatRequest& chat, bool max_tokens_given);

// Whether one of the tools, which are in chat.chat.tools, must be called: "none", "auto", "required", or with `name` that one.
void choose_tool(Fields& fields, const std::string& word, const std::string& name, ChatRequest& chat);
// The name of a function that a tool is, which must be there and not empty.
std::string read_function_name(Fields& function);
// The member `name` as one text: a text, or a list of parts of text. Of other parts the model would know nothing. `path`: the message's.
void read_content(Fields& message, std::string_view name, const std::string& path, ChatMessage& result);
// Ollama's images beside a text.
void refuse_pictures(Fields& fields);
// Calls `read` with each message of the list "messages" and with its path. There must be one; of a list that is wrong all through, only the
// first are read.
void read_messages(Fields& fields, const std::function<void(const Json& message, const std::string& path)>& read);
// One of OpenAI's messages.
[[nodiscard]] ChatMessage read_message(Fields& fields, const Json& json, const std::string& path);
// tool_choice, "auto" or {"type": "function", …}, and parallel_tool_calls.
void read_tool_choice(Fields& fields, ChatRequest& chat);
// The tools of an API where a function has no object of its own around it, brought to the form of OpenAI's chat completions. `function_of`
// reads one of them; nothing for one that is left out.
void read_flat_tools(Fields& fields, ChatRequest& chat, const std::function<std::optional<Json>(Fields& tool)>& function_of);
// Whether the answer goes on with the last message: where that is the assistant's, and the request does not say that an answer begins.
void continue_last_message(std::optional<bool> begins_answer, ChatRequest& chat);
// OpenAI's messages, tools and tool_choice, of which Ollama's are a subset, and the form of the answer.
void read_openai_chat(Fields& fields, ChatRequest& chat);

}  // namespace wick::server
