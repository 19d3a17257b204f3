// The format of a model's output in a conversation, as an OutputFormat: reasoning, then text, possibly constrained, or tool calls.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "wick/text/grammar/token_constraint.h"

namespace [[gnu::visibility("default")]] wick {

struct ChatRules {
  enum class Calls : uint8_t { none, allowed, required };

  std::string format = "hermes";          // of chat_formats()
  std::string_view template_source = {};  // tells in which of a format's ways the model writes, and whether it reasons
  std::string_view rendered = {};         // the prompt: whether it ends inside of a reasoning block, or behind one
  Calls calls = Calls::none;
  std::string tools = {};                   // as in ChatPrompt
  std::string only = {};                    // the one function that may be called; empty: any
  bool parallel_calls = true;               // more than one call in an answer
  std::optional<OutputFormat> answer = {};  // the form of what is no call
};

// None where anything may be written. Arguments of calls fit the schemas of the tools. Errors: invalid_argument for tools that are none;
// unsupported where calls are required and the format ("plain") has none. What schemas cannot have, ConstraintCompiler refuses.
[[nodiscard]] std::optional<OutputFormat> chat_output_format(const ChatRules& rules);

}  // namespace wick
