#include "wick/text/chat/call_json.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "wick/base/utf8.h"

namespace wick {
namespace {

constexpr int kDeepest = 200;

}  // namespace

CallJson::Progress CallJson::feed(char byte) {
  if (in_string_) {
    string_byte(byte);
    return Progress::more;
  }
  if (state_ == State::in_value) return in_value(byte);
  if (is_json_blank(byte)) return Progress::more;
  switch (state_) {
    case State::begin:
      if (byte != '{') return Progress::bad;
      objects_ = 1;
      state_ = State::key_or_end;
      return Progress::more;
    case State::key_or_end:
      if (byte == '}') return end_of_object();
      if (byte != '"') return Progress::bad;
      state_ = State::key;
      string_.clear();
      in_string_ = decode_ = true;
      return Progress::more;
    case State::key:
    case State::colon:
      if (byte != ':') return Progress::bad;
      state_ = State::value;
      return Progress::more;
    case State::value: return begin_value(byte);
    case State::comma_or_end:
      if (byte == '}') return end_of_object();
      if (byte != ',') return Progress::bad;
      state_ = State::key_or_end;
      return Progress::more;
    case State::in_value: break;
  }
  return Progress::bad;
}

CallJson::Progress CallJson::end_of_object() {
  state_ = State::comma_or_end;
  return --objects_ == 0 ? Progress::done : Progress::more;
}

CallJson::Progress CallJson::begin_value(char byte) {
  if (byte == '{' && key_ == "function" && objects_ == 1) {
    objects_ = 2;
    state_ = State::key_or_end;
    return Progress::more;
  }
  state_ = State::in_value;
  depth_ = 0;
  scalar_ = false;
  if (byte == '"') {
    string_.clear();
    in_string_ = decode_ = true;
    return Progress::more;
  }
  return in_value(byte);
}

CallJson::Progress CallJson::in_value(char byte) {
  if (depth_ == 0 && scalar_ && (byte == ',' || byte == '}' || is_json_blank(byte))) {
    state_ = State::comma_or_end;
    return is_json_blank(byte) ? Progress::more : feed(byte);
  }
  if (is_arguments()) arguments_ += byte;
  switch (byte) {
    case '{':
    case '[': return ++depth_ > kDeepest ? Progress::bad : Progress::more;
    case '}':
    case ']':
      if (depth_ == 0) return Progress::bad;
      if (--depth_ == 0) state_ = State::comma_or_end;
      return Progress::more;
    case '"':
      in_string_ = true;
      decode_ = false;
      return Progress::more;
    default: break;
  }
  if (depth_ == 0) scalar_ = true;
  return Progress::more;
}

void CallJson::end_string() {
  in_string_ = false;
  if (state_ == State::key) {
    key_ = string_;
    state_ = State::colon;
    static constexpr std::array<std::string_view, 8> kOfCalls = {"name", "tool_name", "arguments", "parameters",
                                                                 "id",   "type",      "function",  "tool_call_id"};
    if (std::exchange(first_key_, false)) may_be_call_ = std::find(kOfCalls.begin(), kOfCalls.end(), key_) != kOfCalls.end();
    return;
  }
  if (!decode_) return;
  state_ = State::comma_or_end;
  if (key_ == "name" || key_ == "tool_name" || (key_ == "function" && !name_)) name_ = string_;
  if (key_ == "id" || key_ == "tool_call_id") id_ = string_;
  if (is_arguments()) arguments_ += string_;
}

void CallJson::string_byte(char byte) {
  if (!decode_) {
    if (is_arguments()) arguments_ += byte;
    if (escaped_) {
      escaped_ = false;
    } else if (byte == '\\') {
      escaped_ = true;
    } else if (byte == '"') {
      end_string();
    }
    return;
  }
  if (!unicode_.empty()) {
    unicode_ += byte;
    if (unicode_.size() < 5) return;
    const auto code = static_cast<uint32_t>(std::strtoul(unicode_.c_str() + 1, nullptr, 16));
    unicode_.clear();
    if (code >= 0xD800 && code < 0xDC00) {
      high_ = code;
      return;
    }
    const bool pair = high_ != 0 && code >= 0xDC00 && code < 0xE000;
    const uint32_t whole = pair ? 0x10000 + ((high_ - 0xD800) << 10) + (code - 0xDC00) : code;
    high_ = 0;
    append_character(string_, whole >= 0xD800 && whole < 0xE000 ? kReplacementCharacter : static_cast<char32_t>(whole));
    return;
  }
  if (escaped_) {
    escaped_ = false;
    static constexpr std::string_view kLetters = "nrtbf";
    static constexpr std::string_view kMeaning = "\n\r\t\b\f";
    if (byte == 'u') {
      unicode_ = "u";
    } else if (const size_t at = kLetters.find(byte); at != std::string_view::npos) {
      string_ += kMeaning[at];
    } else {
      string_ += byte;
    }
  } else if (byte == '\\') {
    escaped_ = true;
  } else if (byte == '"') {
    end_string();
  } else {
    string_ += byte;
  }
}

}  // namespace wick
