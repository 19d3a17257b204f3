// The ids of calls in the form that a template's model was trained on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "wick/text/chat/call_form.h"
#include "wick/text/chat/chat_template.h"

namespace [[gnu::visibility("default")]] wick {

// The id of a new call, made of `random` or, where ids are counted, of the name and of how many calls were before it in the conversation.
[[nodiscard]] std::string make_call_id(CallIds form, std::string_view name, size_t calls_before, uint64_t random);
// Rewrites the ids of calls, and of the results that refer to them, where they have another form. The same id becomes the same one in every
// request. A result without an id gets that of the call whose place it has.
void rewrite_call_ids(CallIds form, std::span<ChatMessage> messages);
// How many calls the messages hold.
[[nodiscard]] size_t count_calls(std::span<const ChatMessage> messages);

}  // namespace wick
