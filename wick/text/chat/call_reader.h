// A CallReader reads the arguments of one call, from the end of its name to its end, a byte at a time, and writes them as JSON.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wick/text/chat/call_form.h"
#include "wick/text/chat/tool_schemas.h"

namespace wick {

// The value of an argument that was written without quotes, as JSON. `types`: JsonTypes that its schema allows. A text is kept byte for
// byte where a text is allowed, unless it is exactly a value of another type that is.
[[nodiscard]] std::string bare_value_as_json(std::string_view text, uint32_t types);
// The notations of Gemma, between the braces of a call, and of Python as JSON objects. What is neither
// becomes {"": TEXT}.
[[nodiscard]] std::string gemma_arguments_as_json(std::string_view text);
[[nodiscard]] std::string python_arguments_as_json(std::string_view text);

class CallReader {
 public:
  enum class Progress : uint8_t {
    more,    // the byte is part of the call
    done,    // and its last one
    behind,  // the call ended before it
  };

  // The form and the schemas must live longer.
  CallReader(const CallForm& form, const ToolSchemas& schemas, std::string name);

  Progress feed(char byte);
  // The end of the text: what is there of an argument counts.
  void finish();
  // JSON that was read since the last call. All together is an object once the call is done.
  [[nodiscard]] std::string take_arguments() { return std::exchange(arguments_, {}); }

 private:
  enum class State : uint8_t { before, json, between, key, value, raw };

  Progress before_byte(char byte);
  Progress json_byte(char byte);
  Progress between_byte(char byte);
  Progress key_byte(char byte);
  Progress value_byte(char byte);
  Progress raw_byte(char byte);
  void add_argument();
  void close_object();

  const CallForm& form_;
  const ToolSchemas& schemas_;
  std::string name_;
  State state_ = State::before;
  std::vector<std::string> end_marks_;  // that end a call wherever they come between arguments
  std::string pending_, key_, value_, arguments_;
  int depth_ = 0;
  bool in_string_ = false, escaped_ = false, began_ = false, text_key_ = false;
  char quote_ = 0;
  size_t string_begin_ = 0;  // in value_
  int closings_ = 0;         // ">" that the key's end has yet
};

}  // namespace wick
