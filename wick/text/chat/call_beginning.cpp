#include "wick/text/chat/call_beginning.h"

#include <algorithm>

#include "wick/text/chat/call_json.h"

namespace wick {
namespace {

using State = CallBeginning::State;

constexpr size_t kMaxBlanks = 32;
constexpr size_t kLongestName = 256;
constexpr size_t kLongestId = 128;

bool is_name_byte(char byte) {
  constexpr std::string_view kNone = " \t\r\n<>{}[]()\"'`=,;:|\\";
  return kNone.find(byte) == std::string_view::npos && byte != CallForm::kId && byte != CallForm::kNumber;
}
bool is_id_byte(char byte) { return is_name_byte(byte) || byte == ':' || byte == '/'; }

// Reads a text from front to back; `maybe` where it ends too early.
class Cursor {
 public:
  Cursor(std::string_view text, bool at_end) : text_(text), at_end_(at_end) {}

  [[nodiscard]] size_t at() const noexcept { return at_; }
  [[nodiscard]] bool ended() const noexcept { return at_ == text_.size(); }
  [[nodiscard]] bool at_end() const noexcept { return at_end_; }
  [[nodiscard]] char front() const { return text_[at_]; }

  void back(size_t bytes) { at_ -= bytes; }
  // False: too much of it.
  bool skip_blanks() {
    const size_t from = at_;
    while (!ended() && is_json_blank(front())) ++at_;
    return at_ - from <= kMaxBlanks;
  }
  // The longest of the names that comes next.
  [[nodiscard]] std::string take_longest(const ToolSchemas& names) {
    for (size_t length = std::min(names.longest_name(), text_.size() - at_); length > 0; --length) {
      if (!names.has(text_.substr(at_, length))) continue;
      at_ += length;
      return std::string(text_.substr(at_ - length, length));
    }
    return {};
  }
  [[nodiscard]] std::string take(bool (*fits)(char)) {
    const size_t from = at_;
    while (!ended() && fits(front())) ++at_;
    return std::string(text_.substr(from, at_ - from));
  }

  // What is not white space must be there; white space may differ next to marks and in JSON.
  State literal(std::string_view expected, bool is_json) {
    for (size_t index = 0; index < expected.size();) {
      if (is_json_blank(expected[index])) {
        while (index < expected.size() && is_json_blank(expected[index])) ++index;
        if (!skip_blanks()) return State::none;
        continue;
      }
      if (ended()) return State::maybe;
      const char wanted = expected[index];
      const char before = index == 0 ? '>' : expected[index - 1];
      const bool loose = is_json ? std::string_view("{}[]:,\"").find(wanted) != std::string_view::npos &&
                                       !(wanted == '"' && index > 0 && is_letter(before))
                                 : (wanted == '<' || wanted == '[' || wanted == '{') && (before == '>' || before == ']');
      if (loose && is_json_blank(front())) {
        if (!skip_blanks()) return State::none;
        if (ended()) return State::maybe;
      }
      if (front() != wanted) return State::none;
      ++at_;
      ++index;
    }
    return State::found;
  }

 private:
  static bool is_letter(char byte) { return byte == '_' || (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z'); }

  std::string_view text_;
  bool at_end_;
  size_t at_ = 0;
};

// A text that may have CallForm::kId and kNumber in it.
State with_id(Cursor& cursor, std::string_view expected, bool is_json, std::string& id, std::string& number) {
  while (!expected.empty()) {
    const size_t hole = expected.find_first_of(std::string_view("\x01\x02", 2));
    const State state = cursor.literal(expected.substr(0, hole), is_json);
    if (state != State::found) return state;
    if (hole == std::string_view::npos) return state;
    if (expected[hole] == CallForm::kId) {
      id = cursor.take(is_id_byte);
      if (id.size() > kLongestId) return State::none;
    } else {
      if (!cursor.ended() && cursor.front() == ':')
        number = cursor.take([](char byte) { return byte == ':' || (byte >= '0' && byte <= '9'); });
      if (number.size() > 8) return State::none;
    }
    if (cursor.ended()) return State::maybe;
    expected.remove_prefix(hole + 1);
  }
  return State::found;
}

// What must follow a name so that it is whole: the first piece of what the form has there.
State name_ends(Cursor cursor, const CallForm& form, bool known, CallBeginning& result) {
  const std::string_view after = form.after_name;
  const size_t solid = after.find_first_not_of(" \t\r\n");
  if (solid == std::string_view::npos) {
    // GLM: white space, and then a key or the end; of a name that is known anything that is not part of one.
    if (cursor.ended()) return cursor.at_end() ? State::found : State::maybe;
    if (known && form.arguments == CallForm::Arguments::tagged) return is_name_byte(cursor.front()) ? State::none : State::found;
    if (!cursor.skip_blanks()) return State::none;
    if (cursor.ended()) return cursor.at_end() ? State::found : State::maybe;
    if (form.arguments == CallForm::Arguments::json) return cursor.front() == '{' ? State::found : State::none;
    Cursor other = cursor;
    const State key = cursor.literal(form.key_begin, false);
    if (key == State::found) return key;
    const State end = other.literal(form.call_end, false);
    return end == State::none ? key : end;
  }
  std::string id, number;
  const size_t hole = after.find_last_of(std::string_view("\x01\x02", 2));
  const std::string_view rest = hole == std::string_view::npos ? after : after.substr(hole + 1);
  const auto pieces = solid_pieces(rest);
  const size_t piece_end =
      pieces.empty() ? after.size() : static_cast<size_t>(pieces.front().data() + pieces.front().size() - after.data());
  const State state = with_id(cursor, after.substr(0, piece_end), false, id, number);
  if (state == State::maybe && cursor.at_end() && cursor.ended()) return State::found;
  if (state == State::found && !id.empty()) result.id = id;
  if (state == State::found && !number.empty()) result.id = "functions." + result.name + number;
  return state;
}

}  // namespace

std::vector<std::string_view> solid_pieces(std::string_view text) {
  std::vector<std::string_view> pieces;
  while (!text.empty()) {
    if (is_json_blank(text.front())) {
      text.remove_prefix(1);
      continue;
    }
    size_t length = 0;
    if (text.front() == '<' || text.front() == '[') {
      const size_t end = text.find(text.front() == '<' ? '>' : ']');
      const size_t inner = text.find_first_of("<[ \t\r\n", 1);
      if (end != std::string_view::npos && (inner == std::string_view::npos || end < inner)) length = end + 1;
      if (length == 0 && text.front() == '<') length = std::min(text.find_first_of("<[", 1), text.size());
    }
    if (length == 0) length = std::min(text.find_first_of("<[ \t\r\n", 1), text.size());
    while (length > 0 && is_json_blank(text[length - 1])) --length;
    pieces.push_back(text.substr(0, length));
    text.remove_prefix(length);
  }
  return pieces;
}

std::string CallForm::mark() const {
  const std::string text = begin + call_begin;
  const auto pieces = solid_pieces(text);
  if (pieces.empty()) return {};
  return std::string(pieces.front().starts_with('{') ? "{" : pieces.front());
}

CallBeginning match_beginning(const CallForm& form, std::string_view text, const BeginningOptions& options) {
  CallBeginning result;
  Cursor cursor(text, options.at_end);
  std::string number;
  std::string expected = (options.first ? form.begin : "") + form.call_begin;
  if (form.is_object) expected.resize(expected.rfind('{') + 1);
  result.state = with_id(cursor, expected, form.is_object, result.id, number);
  if (result.state != State::found) return result;
  result.length = cursor.at();
  if (form.is_object) return result;
  const size_t begin = cursor.at();
  if (options.names != nullptr) result.name = cursor.take_longest(*options.names);
  bool is_known = !result.name.empty();
  if (options.any_name) {
    Cursor word = cursor;
    word.back(result.name.size());
    std::string taken = word.take(is_name_byte);
    if (taken.size() > result.name.size() || !is_known) {
      result.name = std::move(taken);
      cursor = word;
      is_known = false;
    }
  }
  // ".call(": what follows a name may look like more of it.
  const size_t like_name = std::min(form.after_name.find_first_of("(<[{\" \n>"), form.after_name.size());
  if (like_name > 0 && is_name_byte(form.after_name.front()) && result.name.ends_with(form.after_name.substr(0, like_name))) {
    result.name.resize(result.name.size() - like_name);
    cursor.back(like_name);
  }
  result.length = cursor.at();
  const bool may_go_on = options.names != nullptr && options.names->has_beginning(text.substr(begin));
  const bool is_too_long = result.name.size() > kLongestName && !is_known;
  if (!is_too_long && !options.at_end && (cursor.ended() || may_go_on)) {
    result.state = State::maybe;
  } else if (is_too_long || result.name.empty()) {
    result.state = State::none;
  } else {
    result.state = name_ends(cursor, form, is_known, result);
  }
  return result;
}

}  // namespace wick
