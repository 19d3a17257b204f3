// The required format of an answer: OpenAI's response_format, vLLM's guided_*, llama.cpp's grammar and json_schema, Ollama's format; and
// the calls of tools. All become a constraint of the request.
#pragma once

#include <optional>
#include <string>

#include "wick/engine/request.h"
#include "wick/server/chat_request.h"
#include "wick/server/fields.h"
#include "wick/server/worker.h"
#include "wick/text/grammar/token_constraint.h"

namespace wick::server {

// The form that the request asks for under whatever name, or none. Wrong ones, and more than one, are recorded in `fields`.
[[nodiscard]] std::optional<AnswerFormat> read_answer_format(Fields& fields);
// {"type": "json_schema", "schema": …} and its kin, the member `name` of `fields`: Anthropic's, and that of OpenAI's responses.
[[nodiscard]] std::optional<AnswerFormat> read_named_format(Fields& fields, std::string_view name);

// Holds the text of a request to a form. Errors: ApiError 400, naming the field and what in it cannot be enforced.
void constrain(const Service& service, const std::optional<AnswerFormat>& format, Request& request);
// Holds an answer in a conversation, which is rendered already, to its form and to the schemas of the tools. A tool whose schema cannot be
// enforced is refused if it is strict; otherwise its arguments are held to be a JSON object.
void constrain(const Service& service, ChatRequest& chat);

}  // namespace wick::server
