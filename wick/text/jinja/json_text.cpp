#include "wick/text/jinja/json_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "wick/base/json.h"
#include "wick/text/jinja/python_text.h"
#include "wick/text/unicode/unicode.h"

namespace wick::jinja {
namespace {

class JsonWriter {
 public:
  JsonWriter(Budget& budget, const JsonStyle& style) : budget_(budget), style_(style) {}

  void write(const Value& value, int depth) {
    if (depth > 500) raise("RecursionError", "maximum recursion depth exceeded while encoding a JSON object");
    budget_.step();
    budget_.check_size(text_.size(), 1);
    switch (value.kind()) {
      case Kind::none: text_ += "null"; break;
      case Kind::boolean: text_ += value.whole() != 0 ? "true" : "false"; break;
      case Kind::integer: text_ += fmt::to_string(value.whole()); break;
      case Kind::real: text_ += number(value.number()); break;
      case Kind::string: write_string(value.text()); break;
      case Kind::list:
      case Kind::tuple: write_array(value.sequence().items, depth); break;
      case Kind::dict: write_object(value.dict(), depth); break;
      case Kind::iterator:
      case Kind::view:
        if (style_.takes_iterators) {
          write_array(value.sequence().items, depth);
          break;
        }
        [[fallthrough]];
      default: raise("TypeError", fmt::format("Object of type {} is not JSON serializable", type_name(value)));
    }
  }

  std::string take() { return std::move(text_); }

 private:
  static std::string number(double value) {
    const std::string text = float_text(value);
    return text == "nan" ? "NaN" : text == "inf" ? "Infinity" : text == "-inf" ? "-Infinity" : text;
  }

  void new_line(int depth) {
    if (!style_.indent) return;
    text_ += '\n';
    for (int level = 0; level < depth; ++level) text_ += *style_.indent;
  }

  void write_array(const Values& items, int depth) {
    if (items.empty()) {
      text_ += "[]";
      return;
    }
    text_ += '[';
    for (size_t index = 0; index < items.size(); ++index) {
      if (index > 0) text_ += style_.item_separator;
      new_line(depth + 1);
      write(items[index], depth + 1);
    }
    new_line(depth);
    text_ += ']';
  }

  void write_object(const Dict& dict, int depth) {
    if (dict.entries.empty()) {
      text_ += "{}";
      return;
    }
    std::vector<const std::pair<Value, Value>*> entries;
    for (const auto& entry : dict.entries) entries.push_back(&entry);
    if (style_.sort_keys) {
      std::stable_sort(entries.begin(), entries.end(),
                       [](const auto* left, const auto* right) { return compare(left->first, right->first, "<") < 0; });
    }
    text_ += '{';
    for (size_t index = 0; index < entries.size(); ++index) {
      if (index > 0) text_ += style_.item_separator;
      new_line(depth + 1);
      write_string(key_text(entries[index]->first));
      text_ += style_.key_separator;
      write(entries[index]->second, depth + 1);
    }
    new_line(depth);
    text_ += '}';
  }

  static std::string key_text(const Value& key) {
    switch (key.kind()) {
      case Kind::string: return key.text();
      case Kind::none: return "null";
      case Kind::boolean: return key.whole() != 0 ? "true" : "false";
      case Kind::integer: return fmt::to_string(key.whole());
      case Kind::real: return number(key.number());
      default: raise("TypeError", fmt::format("keys must be str, int, float, bool or None, not {}", type_name(key)));
    }
  }

  void write_string(std::string_view text) {
    text_ += '"';
    for (size_t at = 0; at < text.size();) {
      const DecodedCharacter character = decode_character(text, at);
      write_character(character.code, text.substr(at, character.length));
      at += character.length;
    }
    text_ += '"';
  }

  void write_character(char32_t code, std::string_view bytes) {
    switch (code) {
      case U'"': text_ += "\\\""; return;
      case U'\\': text_ += "\\\\"; return;
      case U'\n': text_ += "\\n"; return;
      case U'\r': text_ += "\\r"; return;
      case U'\t': text_ += "\\t"; return;
      case U'\b': text_ += "\\b"; return;
      case U'\f': text_ += "\\f"; return;
      default: break;
    }
    const auto number = static_cast<uint32_t>(code);
    if (number < 0x20 || (style_.ascii_only && number > 0x7E && number < 0x10000)) {
      text_ += fmt::format("\\u{:04x}", number);
    } else if (style_.ascii_only && number >= 0x10000) {
      const uint32_t rest = number - 0x10000;
      text_ += fmt::format("\\u{:04x}\\u{:04x}", 0xD800 + (rest >> 10), 0xDC00 + (rest & 0x3FF));
    } else {
      text_ += bytes;
    }
  }

  Budget& budget_;
  const JsonStyle& style_;
  std::string text_;
};

// Builds values while the text is read, so that fields keep their order and no second tree is made.
class JsonBuilder final : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit JsonBuilder(Budget& budget) : budget_(budget) {}

  Value take() { return std::move(result_); }

  bool null() override { return add({}); }
  bool boolean(bool value) override { return add(Value::boolean(value)); }
  bool number_integer(int64_t value) override { return add(Value::integer(value)); }
  bool number_unsigned(uint64_t value) override {
    return add(value > INT64_MAX ? Value::real(static_cast<double>(value)) : Value::integer(static_cast<int64_t>(value)));
  }
  bool number_float(double value, const std::string& /*text*/) override { return add(Value::real(value)); }
  bool string(std::string& value) override { return add(make_text(budget_, std::move(value))); }
  bool binary(nlohmann::json::binary_t& /*value*/) override { return false; }
  bool start_object(size_t /*count*/) override { return open(std::make_shared<Dict>(&budget_)); }
  bool start_array(size_t /*count*/) override { return open(nullptr); }
  bool key(std::string& name) override {
    levels_.back().key = make_text(budget_, std::move(name));
    return true;
  }
  bool end_object() override { return close(make_dict(levels_.back().dict)); }
  bool end_array() override { return close(make_list(budget_, std::move(levels_.back().items))); }
  [[noreturn]] bool parse_error(size_t position, const std::string& /*token*/, const nlohmann::json::exception& error) override {
    const std::string what = error.what();
    raise("ValueError", fmt::format("byte {}: {}", position, what.substr(std::min(what.find(": ") + 2, what.size()))));
  }

 private:
  static constexpr size_t kDeepest = 200;
  struct Level {
    std::shared_ptr<Dict> dict;  // none: an array
    Values items;
    Value key;
  };

  bool open(std::shared_ptr<Dict> dict) {
    if (levels_.size() >= kDeepest) raise("ValueError", fmt::format("more than {} arrays and objects inside each other", kDeepest));
    levels_.push_back({std::move(dict), {}, {}});
    return true;
  }
  bool close(Value value) {
    levels_.pop_back();
    return add(std::move(value));
  }
  bool add(Value value) {
    if (levels_.empty()) {
      result_ = std::move(value);
    } else if (levels_.back().dict != nullptr) {
      levels_.back().dict->set(levels_.back().key, std::move(value));
    } else {
      levels_.back().items.push_back(std::move(value));
    }
    return true;
  }

  Budget& budget_;
  std::vector<Level> levels_;
  Value result_;
};

}  // namespace

std::string to_json(Budget& budget, const Value& value, const JsonStyle& style) {
  JsonWriter writer(budget, style);
  writer.write(value, 0);
  return writer.take();
}

Value from_json(Budget& budget, std::string_view text) {
  JsonBuilder builder(budget);
  parse_json_events(text, builder);
  return builder.take();
}

}  // namespace wick::jinja
