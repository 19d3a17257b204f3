// The format of a model's output in a conversation, as an OutputFormat: reasoning, then text, possibly constrained, or tool calls.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "wick/text/chat/call_form.h"
#include "wick/text/grammar/token_constraint.h"

namespace [[gnu::visibility("default")]] wick {

struct ChatRules {
  enum class Calls : uint8_t { none, allowed, required };

  std::string format = "hermes";                  // of chat_formats()
  std::shared_ptr<const CallSyntax> syntax = {};  // instead of the format: what was read from a template
  std::string_view template_source = {};          // tells whether the model reasons
  std::string_view rendered = {};                 // the prompt: whether it ends inside a reasoning block, or after one
  Calls calls = Calls::none;
  std::string tools = {};                   // as in ChatPrompt
  std::string only = {};                    // the one function that may be called; empty: any
  bool parallel_calls = true;               // more than one call in an answer
  std::optional<OutputFormat> answer = {};  // the form of what is no call
};

// None where anything may be written. Arguments of calls fit the schemas of the tools. Where calls are allowed, any text may be written: a
// call begins with a token that is its mark, or, where the mark is text, in the beginning of a line or of the answer, with the mark and the
// whole name of a tool. Errors: invalid_argument for tools that are none; unsupported where calls are required and the syntax has none.
// Unsupported parts of schemas are refused by ConstraintCompiler.
[[nodiscard]] std::optional<OutputFormat> chat_output_format(const ChatRules& rules);

}  // namespace wick
