// A ChatFormat is how models of one kind mark the calls of tools in what they write.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace wick {

// The meaning of a mark in the text.
enum class Mark : uint8_t {
  reasoning_begin,
  reasoning_end,
  call,       // of a call whose form its first byte tells: JSON, XML, or a name
  calls,      // of a list of calls, JSON or one behind another; it carries nothing itself
  call_end,   // of a call, or of the list
  function,   // "<function=": its name, and then its arguments as JSON or XML
  named,      // a name up to a mark or "{", and then JSON
  python,     // Llama 3's <|python_tag|>: JSON, name.call(…), or code
  separator,  // between a name and what follows
  call_id,    // between a name and an id
  parameter,  // XML: the name of one
  parameter_end,
  tag_end,  // of <function=NAME> and <parameter=NAME>
  header,   // harmony
  body,
  end,
};

struct Marker {
  std::string_view text;
  Mark mark;
};

struct ChatFormat {
  std::string_view name;
  std::vector<Marker> in_text;  // beside those of reasoning
  bool leading_json = false;    // a text that begins with "{" may be a call
  bool harmony = false;
};

// How XML names a function, in the forms of Qwen and Llama.
inline constexpr Marker kXmlFunction{"<function=", Mark::function};

// By name or by another name of it. Errors: invalid_argument, naming the available ones.
[[nodiscard]] const ChatFormat& find_chat_format(std::string_view name);

}  // namespace wick
