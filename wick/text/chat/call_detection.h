// How a chat template writes calls, learned by rendering conversations that differ in one thing: with a call and without, with one and with
// two, with texts and numbers as arguments.
#pragma once

#include <memory>

#include "wick/text/chat/call_form.h"
#include "wick/text/chat/chat_template.h"

namespace wick {

// How a template treats conversations.
struct TemplateTraits {
  PromptStyle style = {};     // in which it writes calls, or at least something
  bool writes_calls = false;  // of earlier turns
  bool lists_tools = false;
  std::shared_ptr<const CallSyntax> syntax;
};

[[nodiscard]] TemplateTraits probe_template(const ChatTemplate& chat_template);

}  // namespace wick
