// A CallJson reads a call written as JSON, {"name": …, "arguments": {…}}, a byte at a time, in any order of its fields.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace wick {

// Whitespace that JSON allows between tokens.
[[nodiscard]] constexpr bool is_json_blank(char byte) noexcept { return byte == ' ' || byte == '\n' || byte == '\t' || byte == '\r'; }

class CallJson {
 public:
  enum class Progress : uint8_t { more, done, bad };

  // The next byte; the first is "{".
  Progress feed(char byte);

  [[nodiscard]] const std::optional<std::string>& name() const noexcept { return name_; }
  [[nodiscard]] const std::string& id() const noexcept { return id_; }
  // Arguments that were read since the last call.
  [[nodiscard]] std::string take_arguments() { return std::exchange(arguments_, {}); }
  // False as soon as the first field is none of a call.
  [[nodiscard]] bool may_be_call() const noexcept { return may_be_call_; }

 private:
  enum class State : uint8_t { begin, key_or_end, key, colon, value, in_value, comma_or_end };

  Progress begin_value(char byte);
  Progress in_value(char byte);
  Progress end_of_object();
  void string_byte(char byte);
  void end_string();
  [[nodiscard]] bool is_arguments() const { return key_ == "arguments" || key_ == "parameters"; }

  State state_ = State::begin;
  int objects_ = 0;  // that are open and read field by field: the call's, and its "function"
  int depth_ = 0;    // of arrays and objects inside of a value
  bool in_string_ = false, escaped_ = false;
  bool scalar_ = false;       // the value is a number or a word
  bool decode_ = false;       // the value is a string that is read: name, id, or arguments written as a string
  std::string key_, string_;  // without escapes
  std::string unicode_;       // digits of \u
  uint32_t high_ = 0;         // the first half of a surrogate pair
  std::optional<std::string> name_;
  std::string id_;
  std::string arguments_;
  bool first_key_ = true, may_be_call_ = true;
};

}  // namespace wick
