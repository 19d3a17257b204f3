#include "wick/text/chat/call_reader.h"

#include <algorithm>
#include <optional>

#include "wick/base/json.h"
#include "wick/text/chat/call_beginning.h"
#include "wick/text/chat/call_json.h"

namespace wick {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kTextMark = "<|\"|>";
constexpr std::string_view kCdata = "<![CDATA[", kCdataEnd = "]]>";
// Between a name and its arguments there are a few marks, not a text.
constexpr size_t kMaxBeforeArguments = 1024;
constexpr int kDeepestValue = 64;

std::string json_string(std::string_view text) { return json_text(Json(std::string(text))); }

std::string_view without_blanks(std::string_view text) {
  while (!text.empty() && is_json_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_json_blank(text.back())) text.remove_suffix(1);
  return text;
}

uint32_t type_of(const Json& value) {
  if (value.is_null()) return JsonTypes::null;
  if (value.is_boolean()) return JsonTypes::boolean;
  if (value.is_number()) return JsonTypes::number;
  if (value.is_string()) return JsonTypes::string;
  return value.is_array() ? JsonTypes::array : JsonTypes::object;
}

// Reads values in the notation of Gemma or of Python.
class ValueReader {
 public:
  explicit ValueReader(std::string_view text) : text_(text) {}

  // One value that is all of the text.
  std::optional<std::string> whole() {
    std::optional<std::string> json = value(0);
    skip();
    return text_.empty() ? json : std::nullopt;
  }

  // key SEPARATOR value, … up to the end of the text; none where it is no such list.
  std::optional<std::string> pairs(char separator) {
    std::string json = "{";
    skip();
    while (!text_.empty()) {
      const std::optional<std::string> pair = this->pair(separator);
      if (!pair) return std::nullopt;
      json += (json.size() > 1 ? ", " : "") + *pair;
      skip();
      if (text_.empty()) break;
      if (!take(",")) return std::nullopt;
      skip();
    }
    return json + "}";
  }

 private:
  void skip() {
    while (!text_.empty() && is_json_blank(text_.front())) text_.remove_prefix(1);
  }
  bool take(std::string_view expected) {
    if (!text_.starts_with(expected)) return false;
    text_.remove_prefix(expected.size());
    return true;
  }

  std::optional<std::string> pair(char separator) {
    std::optional<std::string> key;
    if (text_.starts_with('"') || text_.starts_with('\'') || text_.starts_with(kTextMark)) {
      key = string();
    } else {
      const size_t end = text_.find(separator);
      if (end == std::string_view::npos) return std::nullopt;
      key = json_string(without_blanks(text_.substr(0, end)));
      text_.remove_prefix(end);
    }
    if (!key) return std::nullopt;
    skip();
    if (!take(std::string_view(&separator, 1))) return std::nullopt;
    const std::optional<std::string> value = this->value(0);
    if (!value) return std::nullopt;
    return *key + ": " + *value;
  }

  std::optional<std::string> value(int depth) {
    if (depth > kDeepestValue) return std::nullopt;
    skip();
    if (text_.empty()) return std::nullopt;
    if (take("{")) return list('}', depth, [&] { return pair(':'); }, '{');
    if (take("[")) return list(']', depth, [&] { return value(depth + 1); }, '[');
    if (text_.front() == '"' || text_.front() == '\'' || text_.starts_with(kTextMark)) return string();
    const std::string_view word = without_blanks(text_.substr(0, text_.find_first_of(",}])")));
    if (word.empty()) return std::nullopt;
    text_.remove_prefix(static_cast<size_t>(word.data() + word.size() - text_.data()));
    if (word == "True") return "true";
    if (word == "False") return "false";
    if (word == "None") return "null";
    return is_json(word) ? std::string(word) : json_string(word);
  }

  template <class Read>
  std::optional<std::string> list(char end, int depth, const Read& read, char begin) {
    if (depth > kDeepestValue) return std::nullopt;
    ++nesting_;
    if (nesting_ > kDeepestValue) return std::nullopt;
    std::string json(1, begin);
    skip();
    while (!take(std::string_view(&end, 1))) {
      const std::optional<std::string> item = read();
      if (!item) return std::nullopt;
      json += (json.size() > 1 ? ", " : "") + *item;
      skip();
      if (!take(",") && !text_.starts_with(end)) return std::nullopt;
      skip();
    }
    --nesting_;
    return json + end;
  }

  std::optional<std::string> string() {
    if (take(kTextMark)) {
      const size_t end = text_.find(kTextMark);
      if (end == std::string_view::npos) return std::nullopt;
      const std::string_view inside = text_.substr(0, end);
      text_.remove_prefix(end + kTextMark.size());
      return json_string(inside);
    }
    const char quote = text_.front();
    size_t end = 1;
    while (end < text_.size() && text_[end] != quote) end += text_[end] == '\\' ? 2 : 1;
    if (end >= text_.size()) return std::nullopt;
    const std::string_view whole = text_.substr(0, end + 1);
    text_.remove_prefix(end + 1);
    if (quote == '"' && is_json(whole)) return std::string(whole);
    return json_string(unescaped(whole.substr(1, whole.size() - 2)));
  }

  static std::string unescaped(std::string_view text) {
    std::string result;
    for (size_t at = 0; at < text.size(); ++at) {
      if (text[at] != '\\' || at + 1 == text.size()) {
        result += text[at];
        continue;
      }
      const char letter = text[++at];
      constexpr std::string_view kLetters = "nrtbf", kMeaning = "\n\r\t\b\f";
      const size_t known = kLetters.find(letter);
      if (known != std::string_view::npos) {
        result += kMeaning[known];
      } else {
        if (letter != '\'' && letter != '"' && letter != '\\') result += '\\';
        result += letter;
      }
    }
    return result;
  }

  std::string_view text_;
  int nesting_ = 0;
};

}  // namespace

std::string bare_value_as_json(std::string_view text, uint32_t types) {
  const bool may_be_text = (types & JsonTypes::string) != 0;
  const std::string_view value = may_be_text ? text : without_blanks(text);
  if (types == JsonTypes::string) return json_string(text);
  const Json parsed = parse_ordered_json(std::string(value));
  if (!parsed.is_discarded()) {
    // A text is never written with quotes: these are its own.
    if (parsed.is_string() && may_be_text) return json_string(text);
    if ((type_of(parsed) & types) != 0 || !may_be_text) {
      const bool is_whole = !value.empty() && !is_json_blank(value.front()) && !is_json_blank(value.back());
      if (is_whole) return std::string(value);
    }
    return json_string(text);
  }
  // As Python shows a value: some templates write others than texts so.
  if (!may_be_text) {
    if (const std::optional<std::string> json = ValueReader(value).whole(); json && (type_of(parse_ordered_json(*json)) & types) != 0) {
      return *json;
    }
  }
  return json_string(text);
}

std::string gemma_arguments_as_json(std::string_view text) {
  const std::optional<std::string> json = ValueReader(text).pairs(':');
  if (json) return *json;
  // Arguments may be JSON after all.
  std::string whole = "{" + std::string(text) + "}";
  if (is_json(whole)) return whole;
  if (is_json(text) && without_blanks(text).starts_with('{')) return std::string(without_blanks(text));
  return "{\"\": " + json_string(text) + "}";
}

std::string python_arguments_as_json(std::string_view text) {
  const std::optional<std::string> json = ValueReader(text).pairs('=');
  if (json) return *json;
  if (is_json(text) && without_blanks(text).starts_with('{')) return std::string(without_blanks(text));
  return "{\"\": " + json_string(text) + "}";
}

CallReader::CallReader(const CallForm& form, const ToolSchemas& schemas, std::string name)
    : form_(form), schemas_(schemas), name_(std::move(name)) {
  for (const std::string* text : {&form_.call_end, &form_.end, &form_.turn_end}) {
    for (const std::string_view piece : solid_pieces(*text)) {
      if (piece.size() > 2 && (piece.front() == '<' || piece.front() == '[')) end_marks_.emplace_back(piece);
    }
  }
}

CallReader::Progress CallReader::feed(char byte) {
  switch (state_) {
    case State::before: return before_byte(byte);
    case State::json: return json_byte(byte);
    case State::between: return between_byte(byte);
    case State::key: return key_byte(byte);
    case State::value: return value_byte(byte);
    case State::raw: return raw_byte(byte);
  }
  return Progress::behind;
}

// Between the name and the arguments: whatever the form has there.
CallReader::Progress CallReader::before_byte(char byte) {
  using Arguments = CallForm::Arguments;
  if (form_.arguments == Arguments::gemma || form_.arguments == Arguments::python) {
    pending_ += byte;
    if (pending_.size() >= form_.after_name.size()) {
      pending_.clear();
      state_ = State::raw;
    }
    return Progress::more;
  }
  if (form_.arguments == Arguments::json && byte == '{') {
    state_ = State::json;
    return json_byte(byte);
  }
  pending_ += byte;
  for (const std::string& mark : end_marks_) {
    if (pending_.ends_with(mark)) {
      close_object();
      return Progress::done;
    }
  }
  if (form_.arguments == Arguments::tagged && pending_.ends_with(form_.key_begin)) {
    pending_.clear();
    state_ = State::between;
    for (const char each : form_.key_begin) (void)between_byte(each);
    return Progress::more;
  }
  if (pending_.size() <= kMaxBeforeArguments) return Progress::more;
  close_object();
  return Progress::done;
}

CallReader::Progress CallReader::json_byte(char byte) {
  arguments_ += byte;
  began_ = true;
  if (in_string_) {
    if (escaped_) {
      escaped_ = false;
    } else if (byte == '\\') {
      escaped_ = true;
    } else if (byte == '"') {
      in_string_ = false;
    }
    return Progress::more;
  }
  if (byte == '"') in_string_ = true;
  if (byte == '{' || byte == '[') ++depth_;
  if ((byte == '}' || byte == ']') && --depth_ == 0) return Progress::done;
  return Progress::more;
}

// Between two arguments: a key or the end of the call. What is neither says nothing.
CallReader::Progress CallReader::between_byte(char byte) {
  pending_ += byte;
  while (!pending_.empty()) {
    bool partial = form_.key_begin.starts_with(pending_);
    if (pending_ == form_.key_begin) {
      pending_.clear();
      key_.clear();
      state_ = State::key;
      closings_ = static_cast<int>(std::count(form_.key_end.begin(), form_.key_end.end(), '>'));
      return Progress::more;
    }
    for (const std::string& mark : end_marks_) {
      if (pending_ == mark) {
        close_object();
        return Progress::done;
      }
      partial = partial || mark.starts_with(pending_);
    }
    if (partial) return Progress::more;
    pending_.erase(0, 1);
  }
  return Progress::more;
}

// A key's end is told by its ">": <parameter=KEY>, <parameter name="KEY" string="true">, <arg_key>KEY</arg_key><arg_value>.
CallReader::Progress CallReader::key_byte(char byte) {
  key_ += byte;
  if (byte != '>' || --closings_ > 0) return Progress::more;
  text_key_ = !form_.text_key_end.empty() && key_.find(without_blanks(form_.text_key_end)) != std::string::npos;
  key_.resize(std::min(key_.find_first_of("\"<>"), key_.size()));
  key_ = without_blanks(key_);
  value_.clear();
  state_ = State::value;
  return Progress::more;
}

CallReader::Progress CallReader::value_byte(char byte) {
  value_ += byte;
  if (byte != form_.value_end.back() || !value_.ends_with(form_.value_end)) return Progress::more;
  if (form_.cdata && without_blanks(value_).starts_with(kCdata)) {
    const std::string_view inside = std::string_view(value_).substr(0, value_.size() - form_.value_end.size());
    if (!without_blanks(inside).ends_with(kCdataEnd)) return Progress::more;
  }
  value_.resize(value_.size() - form_.value_end.size());
  add_argument();
  state_ = State::between;
  return Progress::more;
}

void CallReader::add_argument() {
  std::string_view value = value_;
  const bool is_wrapped = form_.cdata && without_blanks(value).starts_with(kCdata) && without_blanks(value).ends_with(kCdataEnd) &&
                          without_blanks(value).size() >= kCdata.size() + kCdataEnd.size();
  uint32_t types = schemas_.types(name_, key_);
  if (is_wrapped) {
    value = without_blanks(value);
    value = value.substr(kCdata.size(), value.size() - kCdata.size() - kCdataEnd.size());
    types = (types & JsonTypes::string) != 0 ? static_cast<uint32_t>(JsonTypes::string) : types;
  } else {
    if (!form_.lead.empty() && value.starts_with(form_.lead)) value.remove_prefix(form_.lead.size());
    if (!form_.tail.empty() && value.ends_with(form_.tail)) value.remove_suffix(form_.tail.size());
  }
  if (text_key_) types = JsonTypes::string;
  // A form that says which values are texts says that the others are none.
  if (!form_.text_key_end.empty() && !text_key_ && is_json(value)) types &= ~static_cast<uint32_t>(JsonTypes::string);
  arguments_ += (began_ ? ", " : "{") + json_string(key_) + ": " +
                bare_value_as_json(value, types == 0 ? static_cast<uint32_t>(JsonTypes::all) : types);
  began_ = true;
  value_.clear();
}

// Up to the bracket that closes what the name opened.
CallReader::Progress CallReader::raw_byte(char byte) {
  const bool is_python = form_.arguments == CallForm::Arguments::python;
  value_ += byte;
  if (in_string_) {
    if (is_python) {
      if (escaped_) {
        escaped_ = false;
      } else if (byte == '\\') {
        escaped_ = true;
      } else if (byte == quote_) {
        in_string_ = false;
      }
    } else if (value_.size() >= string_begin_ + 2 * kTextMark.size() && value_.ends_with(kTextMark)) {
      in_string_ = false;
    }
    return Progress::more;
  }
  if (is_python && (byte == '"' || byte == '\'')) {
    in_string_ = true;
    quote_ = byte;
  } else if (!is_python && value_.ends_with(kTextMark)) {
    in_string_ = true;
    string_begin_ = value_.size() - kTextMark.size();
  } else if (byte == '(' || byte == '{' || byte == '[') {
    ++depth_;
  } else if ((byte == ')' || byte == '}' || byte == ']') && --depth_ < 0) {
    value_.pop_back();
    finish();
    return Progress::done;
  }
  return Progress::more;
}

void CallReader::close_object() { arguments_ += began_ ? "}" : "{}"; }

void CallReader::finish() {
  switch (state_) {
    case State::json: return;
    case State::before: return close_object();
    case State::raw:
      arguments_ += form_.arguments == CallForm::Arguments::python ? python_arguments_as_json(value_) : gemma_arguments_as_json(value_);
      return;
    case State::value:
      for (size_t length = std::min(form_.value_end.size(), value_.size()); length > 0; --length) {
        if (!value_.ends_with(std::string_view(form_.value_end).substr(0, length))) continue;
        value_.resize(value_.size() - length);
        break;
      }
      add_argument();
      return close_object();
    case State::between:
    case State::key: return close_object();
  }
}

}  // namespace wick
