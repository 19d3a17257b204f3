#include "wick/text/chat/chat_parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "wick/base/fail.h"
#include "wick/base/json.h"
#include "wick/base/utf8.h"
#include "wick/text/chat/call_json.h"
#include "wick/text/chat/chat_format.h"
#include "wick/text/chat/tool_schemas.h"

namespace wick {
namespace {

using Json = nlohmann::ordered_json;

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_json_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_json_blank(text.back())) text.remove_suffix(1);
  return text;
}

}  // namespace

class ChatParser::Machine {
 public:
  explicit Machine(const ChatParserOptions& options)
      : format_(find_chat_format(options.format)), schemas_(options.tools), reasoning_(options.starts_in_reasoning) {
    if (format_.harmony) enter_header();
    dropping_ = reasoning_;
  }

  void push(std::string_view text) {
    for (const char byte : text) step(byte);
  }
  void finish();
  std::vector<ChatEvent> take(bool at_end);

 private:
  enum class State : uint8_t { text, open, json, list, after, name, raw, xml, tag, value, python, header };

  void step(char byte);
  void plain(char byte);  // a byte that is part of no mark
  void enter(State state) { state_ = state; }
  [[nodiscard]] std::vector<Marker> markers() const;
  void act(Mark mark);

  void text_byte(char byte);
  void open_byte(char byte);
  void json_byte(char byte);
  void begin_json(char byte);
  void raw_byte(char byte);
  void name_ends();
  void enter_header();
  void header_ends();
  void python_ends();

  void emit_text(std::string_view text);
  void begin_call(const std::string& name, const std::string& id = {});
  void arguments(std::string_view text);
  void end_call();
  void add_parameter();
  // What was no call after all: its bytes are text, read again with nothing taken for a mark at their beginning.
  void give_up();
  void to_text() {
    state_ = State::text;
    dropping_ = true;
    raw_.clear();
    name_.clear();
  }

  const ChatFormat& format_;
  ToolSchemas schemas_;
  State state_ = State::text;
  bool reasoning_;
  bool dropping_ = false;  // white space that comes next is not part of the text: a mark was before it
  bool anything_ = false;  // there was text or a call
  std::string pending_;    // may become a mark
  std::string blanks_;     // white space that counts only if text follows
  std::string raw_;        // all of a call while it may turn out to be none
  std::string name_, id_, parameter_, value_, tag_;
  bool in_id_ = false, whole_ = false;
  bool text_parameter_ = false;
  std::optional<CallJson> json_;
  bool in_list_ = false;
  bool calling_ = false, has_arguments_ = false;
  int64_t calls_ = 0;
  std::vector<ChatEvent> events_;
};

// --- Marks ---

std::vector<Marker> ChatParser::Machine::markers() const {
  std::vector<Marker> all;
  const auto add = [&](std::initializer_list<Marker> more) { all.insert(all.end(), more); };
  switch (state_) {
    case State::text:
      if (format_.harmony) {
        add({{"<|channel|>", Mark::header},
             {"<|start|>", Mark::header},
             {"<|end|>", Mark::end},
             {"<|return|>", Mark::end},
             {"<|call|>", Mark::end}});
        return all;
      }
      all = format_.in_text;
      add({{"<think>", Mark::reasoning_begin},
           {"</think>", Mark::reasoning_end},
           {"[THINK]", Mark::reasoning_begin},
           {"[/THINK]", Mark::reasoning_end},
           {"<seed:think>", Mark::reasoning_begin},
           {"</seed:think>", Mark::reasoning_end}});
      if (format_.name == "hermes") add({{"</tool_call>", Mark::calls}});
      return all;
    case State::open: add({kXmlFunction, {"</tool_call>", Mark::call_end}}); return all;
    case State::after: add({{"</tool_call>", Mark::call_end}, {"<tool_call>", Mark::call}, {"</function>", Mark::call_end}}); return all;
    case State::name:
      add({{"[ARGS]", Mark::separator},
           {"[CALL_ID]", Mark::call_id},
           {"[TOOL_CALLS]", Mark::named},
           {"<｜tool▁sep｜>", Mark::separator},
           {"<｜tool▁call▁end｜>", Mark::call_end},
           {"<|tool_call_argument_begin|>", Mark::separator},
           {"<|tool_call_end|>", Mark::call_end},
           {"<arg_key>", Mark::parameter},
           {"</tool_call>", Mark::call_end}});
      return all;
    case State::raw:
      add({{"[TOOL_CALLS]", Mark::named},
           {"```<｜tool▁call▁end｜>", Mark::call_end},
           {"<｜tool▁call▁end｜>", Mark::call_end},
           {"<|tool_call_end|>", Mark::call_end},
           {"<|call|>", Mark::call_end},
           {"</function>", Mark::call_end},
           {"<|end|>", Mark::call_end}});
      return all;
    case State::xml:
      add({{"<parameter=", Mark::parameter},
           {"<parameter name=\"", Mark::parameter},
           {"<｜DSML｜parameter name=\"", Mark::parameter},
           {"<arg_key>", Mark::parameter},
           {"</function>", Mark::call_end},
           {"</invoke>", Mark::call_end},
           {"</｜DSML｜invoke>", Mark::call_end},
           {"</tool_call>", Mark::call_end}});
      return all;
    case State::tag: add({{">", Mark::tag_end}, {"</arg_key>", Mark::tag_end}}); return all;
    case State::value:
      add({{"</parameter>", Mark::parameter_end}, {"</｜DSML｜parameter>", Mark::parameter_end}, {"</arg_value>", Mark::parameter_end}});
      return all;
    case State::header: add({{"<|message|>", Mark::body}}); return all;
    case State::json:
    case State::list:
    case State::python: return all;
  }
  return all;
}

void ChatParser::Machine::step(char byte) {
  pending_ += byte;
  while (!pending_.empty()) {
    bool partial = false;
    const std::vector<Marker> all = markers();
    for (const Marker& marker : all) {
      if (marker.text == pending_) {
        raw_ += std::exchange(pending_, {});
        act(marker.mark);
        return;
      }
      partial = partial || marker.text.starts_with(pending_);
    }
    if (partial) return;
    const char first = pending_.front();
    pending_.erase(0, 1);
    plain(first);
  }
}

void ChatParser::Machine::act(Mark mark) {
  switch (mark) {
    case Mark::reasoning_begin:
    case Mark::reasoning_end:
      // A block that the prompt has opened may be opened again; an end without a beginning ends what was there.
      reasoning_ = mark == Mark::reasoning_begin;
      blanks_.clear();
      return to_text();
    case Mark::calls: blanks_.clear(); return to_text();
    case Mark::call:
    case Mark::python: {
      if (state_ == State::after) raw_ = "<tool_call>";
      blanks_ = state_ == State::text ? blanks_ : "";
      if (state_ == State::text) raw_ = std::exchange(blanks_, {}) + raw_;
      return enter(mark == Mark::call ? State::open : State::python);
    }
    case Mark::named:
      if (state_ == State::name) name_ends();
      if (calling_) end_call();
      if (state_ == State::text) raw_ = std::exchange(blanks_, {}) + raw_;
      blanks_.clear();
      name_.clear();
      id_.clear();
      in_id_ = false;
      return enter(State::name);
    case Mark::function:
      if (state_ == State::text) raw_ = std::exchange(blanks_, {}) + raw_;
      name_.clear();
      tag_ = "function";
      return enter(State::tag);
    case Mark::call_id: in_id_ = true; return;
    case Mark::separator:
      // DeepSeek R1 writes "function", the separator, and only then the name.
      if (trimmed(name_) == "function") {
        name_.clear();
        return;
      }
      return name_ends();
    case Mark::parameter:
      if (state_ == State::name) name_ends();
      if (!calling_) return give_up();
      parameter_.clear();
      text_parameter_ = false;
      tag_ = "parameter";
      return enter(State::tag);
    case Mark::tag_end: {
      std::string& name = tag_ == "function" ? name_ : parameter_;
      if (const size_t quote = name.find('"'); quote != std::string::npos) {
        text_parameter_ = name.find("string=\"true\"", quote) != std::string::npos;
        name.resize(quote);
      }
      name = trimmed(name);
      if (tag_ == "parameter") {
        value_.clear();
        return enter(State::value);
      }
      if (name.empty()) return give_up();
      begin_call(name_);
      return enter(State::xml);
    }
    case Mark::parameter_end: add_parameter(); return enter(State::xml);
    case Mark::call_end:
      if (state_ == State::name) name_ends();
      if (state_ == State::open) return give_up();
      if (calling_) end_call();
      blanks_.clear();
      to_text();
      return;
    case Mark::header: blanks_.clear(); return enter_header();
    case Mark::body: return header_ends();
    case Mark::end:
      blanks_.clear();
      reasoning_ = false;
      return to_text();
  }
}

// --- Bytes that are no mark ---

void ChatParser::Machine::plain(char byte) {
  if (state_ != State::text && state_ != State::after) raw_ += byte;
  switch (state_) {
    case State::text: return text_byte(byte);
    case State::open: return open_byte(byte);
    case State::json: return json_byte(byte);
    case State::list:
      if (byte == '{') return begin_json(byte);
      if (byte == ']') {
        in_list_ = false;
        return enter(State::after);
      }
      if (!is_json_blank(byte) && byte != ',') give_up();
      return;
    case State::after:
      if (is_json_blank(byte) || byte == ';') return;
      if (byte == '{') {
        raw_ = byte;
        return begin_json(byte);
      }
      to_text();
      return text_byte(byte);
    case State::name:
      if (in_id_) {
        id_ += byte;
      } else if (byte == '{' || (byte == '[' && trimmed(name_).empty())) {
        if (byte == '[') {
          in_list_ = true;
          return enter(State::list);
        }
        if (trimmed(name_).empty()) return begin_json(byte);
        name_ends();
        raw_byte(byte);
      } else {
        name_ += byte;
        const bool lines_end_names = format_.name == "deepseek" || format_.name == "hermes";
        if (byte == '\n' && lines_end_names && !trimmed(name_).empty()) name_ends();
      }
      return;
    case State::raw: return raw_byte(byte);
    case State::xml:
      if (byte == '{' && !has_arguments_) {
        enter(State::raw);
        raw_byte(byte);
      }
      return;
    case State::tag: (tag_ == "function" ? name_ : parameter_) += byte; return;
    case State::value: value_ += byte; return;
    case State::python:
      if (byte == '{' && trimmed(std::string_view(raw_).substr(std::string_view("<|python_tag|>").size())) == "{") return begin_json(byte);
      return;
    case State::header: return;
  }
}

void ChatParser::Machine::text_byte(char byte) {
  if (is_json_blank(byte)) {
    if (!dropping_) blanks_ += byte;
    return;
  }
  if (byte == '{' && format_.leading_json && !anything_ && !reasoning_) {
    raw_ = std::exchange(blanks_, {}) + byte;
    whole_ = true;
    return begin_json(byte);
  }
  emit_text(std::exchange(blanks_, {}));
  emit_text(std::string_view(&byte, 1));
  dropping_ = false;
  anything_ = true;
}

// Behind <tool_call>.
void ChatParser::Machine::open_byte(char byte) {
  if (is_json_blank(byte)) return;
  if (byte == '{') return begin_json(byte);
  if (byte == '[') {
    in_list_ = true;
    return enter(State::list);
  }
  name_ = byte;
  in_id_ = false;
  enter(State::name);
}

void ChatParser::Machine::begin_json(char byte) {
  json_.emplace();
  (void)json_->feed(byte);
  enter(State::json);
}

void ChatParser::Machine::json_byte(char byte) {
  const CallJson::Progress progress = json_->feed(byte);
  if (!calling_ && json_->name() && (!json_->name()->empty())) {
    // An id may follow the name: it is waited for only as long as nothing else is known.
    std::string more = json_->take_arguments();
    if (!more.empty() || progress != CallJson::Progress::more) {
      begin_call(*json_->name(), json_->id());
      arguments(more);
    }
  } else if (calling_) {
    arguments(json_->take_arguments());
  }
  if (progress == CallJson::Progress::more) {
    if (whole_ && !calling_ && !json_->may_be_call()) give_up();
    return;
  }
  if (!calling_) return give_up();
  end_call();
  whole_ = false;
  json_.reset();
  if (progress == CallJson::Progress::bad) {
    to_text();
    return text_byte(byte);
  }
  raw_.clear();
  enter(in_list_ ? State::list : State::after);
}

void ChatParser::Machine::name_ends() {
  std::string name(trimmed(name_));
  std::string id(trimmed(id_));
  // "functions.get_weather:0": Kimi's ids say the name.
  if (format_.name == "kimi") {
    id = name;
    if (const size_t colon = name.rfind(':'); colon != std::string::npos) name.resize(colon);
    if (name.starts_with("functions.")) name.erase(0, std::string_view("functions.").size());
  }
  if (name.empty()) return give_up();
  begin_call(name, id);
  enter(format_.name == "hermes" ? State::xml : State::raw);
}

void ChatParser::Machine::raw_byte(char byte) {
  if (is_json_blank(byte)) {
    if (has_arguments_) blanks_ += byte;
    return;
  }
  // A fence around the arguments is not part of them.
  value_ += byte;
  if (!has_arguments_) {
    constexpr std::string_view kFence = "```json";
    if (kFence.starts_with(value_)) return;
    arguments(value_.starts_with(kFence) ? std::string_view(value_).substr(kFence.size()) : value_);
    return;
  }
  arguments(std::exchange(blanks_, {}));
  arguments(std::string_view(&byte, 1));
}

// --- gpt-oss ---

void ChatParser::Machine::enter_header() {
  raw_.clear();
  enter(State::header);
}

// "<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>"
void ChatParser::Machine::header_ends() {
  const std::string header = std::exchange(raw_, {});
  const size_t to = header.find("to=");
  reasoning_ = header.find("analysis") != std::string::npos;
  if (to == std::string::npos) return to_text();
  std::string name = header.substr(to + 3);
  name.resize(std::min(name.find_first_of(" <\n\t"), name.size()));
  if (name.starts_with("functions.")) name.erase(0, std::string_view("functions.").size());
  begin_call(name);
  enter(State::raw);
}

// --- Llama 3's <|python_tag|> ---

// name.call(key="value", …), or code.
void ChatParser::Machine::python_ends() {
  const std::string_view text = trimmed(std::string_view(raw_).substr(std::min(raw_.find("<|python_tag|>") + 14, raw_.size())));
  const size_t call = text.find(".call(");
  const bool is_name = call != std::string_view::npos && text.substr(0, call).find_first_of(" \n=(\"'") == std::string_view::npos;
  if (!is_name || !text.ends_with(')')) {
    if (text.empty()) return give_up();
    begin_call("python");
    arguments(json_text(Json{{"code", text}}));
    return end_call();
  }
  begin_call(std::string(text.substr(0, call)));
  Json values = Json::object();
  std::string_view rest = text.substr(call + 6, text.size() - call - 7);
  while (!rest.empty()) {
    const size_t equals = rest.find('=');
    if (equals == std::string_view::npos) break;
    const std::string key(trimmed(rest.substr(0, equals)));
    rest = trimmed(rest.substr(equals + 1));
    size_t end = 0;
    if (rest.starts_with('"')) {
      for (end = 1; end < rest.size() && rest[end] != '"'; ++end) end += rest[end] == '\\' ? 1 : 0;
      end = std::min(end + 1, rest.size());
    } else {
      end = std::min(rest.find(','), rest.size());
    }
    Json value = parse_ordered_json(rest.substr(0, end));
    values[key] = value.is_discarded() ? Json(std::string(trimmed(rest.substr(0, end)))) : std::move(value);
    rest.remove_prefix(end);
    while (!rest.empty() && (rest.front() == ',' || is_json_blank(rest.front()))) rest.remove_prefix(1);
  }
  arguments(json_text(values));
  end_call();
}

// --- Events ---

void ChatParser::Machine::emit_text(std::string_view text) {
  if (text.empty()) return;
  const ChatEventKind kind = reasoning_ ? ChatEventKind::reasoning : ChatEventKind::content;
  if (events_.empty() || events_.back().kind != kind) events_.push_back({.kind = kind});
  events_.back().text += text;
}

void ChatParser::Machine::begin_call(const std::string& name, const std::string& id) {
  calling_ = true;
  has_arguments_ = false;
  anything_ = true;
  value_.clear();
  blanks_.clear();
  events_.push_back(
      {.kind = ChatEventKind::call_begin, .call = calls_, .id = id.empty() ? fmt::format("call_{}", calls_) : id, .name = name});
}

void ChatParser::Machine::arguments(std::string_view text) {
  if (text.empty()) return;
  has_arguments_ = true;
  if (events_.empty() || events_.back().kind != ChatEventKind::arguments)
    events_.push_back({.kind = ChatEventKind::arguments, .call = calls_});
  events_.back().text += text;
}

void ChatParser::Machine::end_call() {
  if (state_ == State::xml && has_arguments_) arguments("}");
  if (!has_arguments_) arguments("{}");
  events_.push_back({.kind = ChatEventKind::call_end, .call = calls_});
  ++calls_;
  calling_ = false;
  value_.clear();
  blanks_.clear();
}

// XML says nothing of types: the schema does, or what the text looks like.
void ChatParser::Machine::add_parameter() {
  std::string_view value = value_;
  if (value.starts_with("<arg_value>")) value.remove_prefix(std::string_view("<arg_value>").size());
  if (const std::string_view bare = trimmed(value); bare.starts_with("<arg_value>"))
    value = bare.substr(std::string_view("<arg_value>").size());
  if (value.starts_with('\n')) value.remove_prefix(1);
  if (value.ends_with('\n')) value.remove_suffix(1);
  const auto quoted = [](std::string_view text) { return json_text(Json(std::string(text))); };
  const bool text = text_parameter_ || schemas_.is_text(std::string(trimmed(name_)), parameter_) || !is_json(value);
  const std::string field = quoted(parameter_) + ": " + (text ? quoted(value) : std::string(trimmed(value)));
  arguments((has_arguments_ ? ", " : "{") + field);
  value_.clear();
}

void ChatParser::Machine::give_up() {
  const std::string text = std::exchange(raw_, {});
  whole_ = in_list_ = false;
  json_.reset();
  state_ = State::text;
  dropping_ = false;
  anything_ = true;
  name_.clear();
  blanks_.clear();
  emit_text(text);
}

void ChatParser::Machine::finish() {
  // What may have become a mark is none.
  const std::string rest = std::exchange(pending_, {});
  for (const char byte : rest) plain(byte);
  switch (state_) {
    case State::text: emit_text(std::exchange(blanks_, {})); break;
    case State::name:
      if (trimmed(name_).empty()) {
        give_up();
      } else {
        name_ends();
      }
      break;
    case State::python: python_ends(); break;
    case State::open:
    case State::list:
      if (!calling_) give_up();
      break;
    case State::tag:
    case State::json:
      if (!calling_ && json_ && json_->name() && !json_->name()->empty()) {
        begin_call(*json_->name(), json_->id());
      } else if (!calling_) {
        give_up();
      }
      break;
    case State::header: give_up(); break;
    case State::value:
      add_parameter();
      state_ = State::xml;
      break;
    case State::raw:
      if (!has_arguments_ && value_ != "```json") arguments(value_);
      break;
    case State::xml:
    case State::after: break;
  }
  if (calling_) end_call();
}

// Characters stay whole: the beginning of one waits for the rest.
std::vector<ChatEvent> ChatParser::Machine::take(bool at_end) {
  std::vector<ChatEvent> taken = std::exchange(events_, {});
  if (at_end || taken.empty()) return taken;
  ChatEvent& last = taken.back();
  const size_t incomplete = incomplete_suffix(last.text);
  if (incomplete == 0) return taken;
  ChatEvent rest{.kind = last.kind, .text = last.text.substr(last.text.size() - incomplete), .call = last.call};
  last.text.resize(last.text.size() - incomplete);
  if (last.text.empty()) taken.pop_back();
  events_.push_back(std::move(rest));
  return taken;
}

ChatParser::ChatParser(const ChatParserOptions& options) : machine_(std::make_unique<Machine>(options)) {}
ChatParser::~ChatParser() = default;

std::vector<ChatEvent> ChatParser::push(std::string_view text) {
  machine_->push(text);
  return machine_->take(false);
}

std::vector<ChatEvent> ChatParser::finish() {
  machine_->finish();
  return machine_->take(true);
}

bool ends_in_reasoning(std::string_view prompt) {
  prompt = trimmed(prompt);
  return prompt.ends_with("<think>") || prompt.ends_with("[THINK]") || prompt.ends_with("<seed:think>");
}

}  // namespace wick
