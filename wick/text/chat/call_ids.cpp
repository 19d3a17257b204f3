#include "wick/text/chat/call_ids.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

namespace wick {
namespace {

constexpr std::string_view kLetters = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
constexpr size_t kLowerLetters = 36;

struct IdShape {
  size_t length;
  size_t letters;  // the first so many of kLetters
};
IdShape shape_of(CallIds form) {
  return form == CallIds::nine_letters  ? IdShape{9, kLetters.size()}
         : form == CallIds::ten_letters ? IdShape{10, kLowerLetters}
                                        : IdShape{24, kLowerLetters};
}

std::string id_of_number(CallIds form, uint64_t number) {
  const IdShape shape = shape_of(form);
  std::string id = form == CallIds::any ? "call_" : "";
  for (size_t index = 0; index < shape.length; ++index) {
    // SplitMix64: each letter of a state of its own.
    number += 0x9E3779B97F4A7C15U;
    uint64_t mixed = (number ^ (number >> 30)) * 0xBF58476D1CE4E5B9U;
    mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EBU;
    id += kLetters[(mixed ^ (mixed >> 31)) % shape.letters];
  }
  return id;
}

// FNV-1a.
uint64_t hash_of(std::string_view text) {
  uint64_t value = 0xCBF29CE484222325U;
  for (const char byte : text) value = (value ^ static_cast<unsigned char>(byte)) * 0x100000001B3U;
  return value;
}

bool has_form(CallIds form, std::string_view id) {
  const IdShape shape = shape_of(form);
  return id.size() == shape.length && id.find_first_not_of(kLetters.substr(0, shape.letters)) == std::string_view::npos;
}

}  // namespace

std::string make_call_id(CallIds form, std::string_view name, size_t calls_before, uint64_t random) {
  if (form == CallIds::counted) return fmt::format("functions.{}:{}", name, calls_before);
  return id_of_number(form, random);
}

size_t count_calls(std::span<const ChatMessage> messages) {
  size_t count = 0;
  for (const ChatMessage& message : messages) count += message.tool_calls.size();
  return count;
}

void rewrite_call_ids(CallIds form, std::span<ChatMessage> messages) {
  if (form == CallIds::any) return;
  size_t calls = 0;
  std::unordered_map<std::string, std::string> ids;  // by what they were; of equal ones the last call counts
  std::vector<std::string> open;                     // of the last calls, whose results come next
  size_t results = 0;
  for (ChatMessage& message : messages) {
    if (!message.tool_calls.empty()) {
      open.clear();
      results = 0;
    }
    for (ToolCall& call : message.tool_calls) {
      const std::string old = call.id;
      if (form == CallIds::counted) {
        call.id = fmt::format("functions.{}:{}", call.name, calls);
      } else if (!has_form(form, old)) {
        call.id = id_of_number(form, hash_of(old.empty() ? fmt::format("{}:{}", call.name, calls) : old));
      }
      ++calls;
      if (!old.empty()) ids[old] = call.id;
      open.push_back(call.id);
    }
    if (message.role != "tool") continue;
    const auto known = ids.find(message.tool_call_id);
    if (known != ids.end()) {
      message.tool_call_id = known->second;
    } else if (message.tool_call_id.empty() && results < open.size()) {
      message.tool_call_id = open[results];
    } else if (!message.tool_call_id.empty() && form != CallIds::counted && !has_form(form, message.tool_call_id)) {
      message.tool_call_id = id_of_number(form, hash_of(message.tool_call_id));
    }
    ++results;
  }
}

}  // namespace wick
