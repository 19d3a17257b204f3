#include "wick/text/chat/chat_parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <deque>
#include <optional>
#include <utility>

#include "wick/base/json.h"
#include "wick/base/utf8.h"
#include "wick/text/chat/call_beginning.h"
#include "wick/text/chat/call_json.h"
#include "wick/text/chat/call_reader.h"
#include "wick/text/chat/tool_schemas.h"
#include "wick/text/tokenizer/tokenizer.h"

namespace wick {
namespace {

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_json_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_json_blank(text.back())) text.remove_suffix(1);
  return text;
}

// What a mark in a text means, other than the beginning of a call.
enum class Mark : uint8_t { reasoning_begin, reasoning_end, noise, header, end };

struct TextMark {
  std::string text;
  Mark mark;
};

std::vector<TextMark> text_marks(const CallSyntax& syntax) {
  if (syntax.harmony) {
    return {{"<|channel|>", Mark::header},
            {"<|start|>", Mark::header},
            {"<|end|>", Mark::end},
            {"<|return|>", Mark::end},
            {"<|call|>", Mark::end}};
  }
  std::vector<TextMark> marks = {{"<think>", Mark::reasoning_begin},      {"</think>", Mark::reasoning_end},
                                 {"[THINK]", Mark::reasoning_begin},      {"[/THINK]", Mark::reasoning_end},
                                 {"<seed:think>", Mark::reasoning_begin}, {"</seed:think>", Mark::reasoning_end}};
  const auto add = [&](std::string_view text, Mark mark) {
    if (!trimmed(text).empty()) marks.push_back({std::string(trimmed(text)), mark});
  };
  add(syntax.reasoning_begin, Mark::reasoning_begin);
  add(syntax.reasoning_end, Mark::reasoning_end);
  add(syntax.content_begin, Mark::noise);
  add(syntax.turn_begin, Mark::noise);
  add(syntax.turn_end, Mark::noise);
  // Ends of calls that come where there is none.
  for (const CallForm& form : syntax.forms) {
    for (const std::string* text : {&form.call_end, &form.end, &form.turn_end}) {
      for (const std::string_view piece : solid_pieces(*text)) {
        if (piece.starts_with('<') && piece.ends_with('>') && piece.find("tool") != std::string_view::npos) add(piece, Mark::noise);
      }
    }
  }
  return marks;
}

}  // namespace

class ChatParser::Machine {
 public:
  explicit Machine(const ChatParserOptions& options)
      : syntax_(options.syntax != nullptr ? options.syntax : find_call_syntax(options.format)),
        schemas_(options.tools),
        tokenizer_(options.tokenizer),
        marks_(text_marks(*syntax_)),
        reasoning_(options.starts_in_reasoning),
        dropping_(options.starts_in_reasoning) {
    for (const CallForm& form : syntax_->forms) begins_.push_back(form.mark());
    if (tokenizer_ != nullptr) find_tokens();
    if (syntax_->harmony) enter_header();
  }

  void push(std::string_view text) {
    for (const char byte : text) step(byte);
  }
  void push(TokenId token, std::string_view text);
  void push_text(std::string_view text);
  void finish();
  std::vector<ChatEvent> take(bool at_end);

 private:
  enum class State : uint8_t { text, object, call, after, code, header };
  enum class Found : uint8_t { none, maybe, found };

  void find_tokens();
  [[nodiscard]] bool is_token(std::string_view mark) const { return std::find(tokens_.begin(), tokens_.end(), mark) != tokens_.end(); }
  // A mark that came as a token.
  void token_mark(const std::string& mark);
  void step(char byte);
  // Whether what follows a call may go on with this mark.
  [[nodiscard]] bool belongs_after(const std::string& mark) const;
  // Whether a text after a call begins another one; with `first`, after the mark that begins all calls.
  [[nodiscard]] CallBeginning next_call(std::string_view text, bool first) const;
  // Looks at what is held back, until more is needed to know what it is.
  void settle();
  [[nodiscard]] Found find_mark(const TextMark*& found) const;
  [[nodiscard]] Found find_call(bool at_end, const CallForm*& form, CallBeginning& beginning) const;
  [[nodiscard]] bool may_begin(size_t form) const;
  void act(Mark mark);
  void begin(const CallForm& form, const CallBeginning& beginning);
  void settle_after();
  void after_ends();

  void text_byte(char byte);
  void object_byte(char byte);
  void call_byte(char byte);
  void enter_header();
  void header_ends();
  void code_ends();

  void emit_text(std::string_view text);
  void begin_call(const std::string& name, const std::string& id);
  void arguments(std::string_view text);
  void end_call();
  // What was no call after all is text.
  void give_up();
  void to_text();

  std::shared_ptr<const CallSyntax> syntax_;
  ToolSchemas schemas_;
  const Tokenizer* tokenizer_;
  std::vector<TextMark> marks_;
  std::vector<std::string> begins_;  // the marks of the forms
  std::vector<std::string> tokens_;  // marks that are tokens of the vocabulary
  std::deque<std::string> late_;     // of these, that came as tokens and whose text did not yet
  State state_ = State::text;
  bool reasoning_;
  bool dropping_ = false;    // white space that comes next is not part of the text: a mark was before it
  bool anything_ = false;    // there was text or a call
  bool line_begins_ = true;  // the next byte begins a line, or the answer
  bool fresh_ = true;        // only white space since the beginning of the answer
  bool is_token_ = false;    // what is held back begins with a token
  std::string pending_;      // may become a mark
  std::string blanks_;       // white space that counts only if text follows
  std::string raw_;          // all of a call while it may turn out to be none
  std::string id_;
  const CallForm* form_ = nullptr;  // of the call that is read, or was read last
  bool any_name_ = false;           // that call's name need be none of the tools'
  std::optional<CallJson> json_;
  std::optional<CallReader> reader_;
  std::vector<std::string> leftovers_;  // of the call that was read last: what may follow it
  bool calling_ = false, has_arguments_ = false;
  int64_t calls_ = 0;
  std::vector<ChatEvent> events_;
};

// --- Tokens ---

void ChatParser::Machine::find_tokens() {
  const auto note = [&](std::string_view mark) {
    const std::optional<TokenId> token = tokenizer_->find_token(mark);
    if (token && tokenizer_->is_added(*token)) tokens_.emplace_back(mark);
  };
  for (const TextMark& mark : marks_) {
    note(mark.text);
    // Of a mark in pieces, such as "<|begin|>assistant", the first one.
    if (const auto pieces = solid_pieces(mark.text); pieces.size() > 1) note(pieces.front());
  }
  for (const std::string& mark : begins_) note(mark);
}

void ChatParser::Machine::push(TokenId token, std::string_view text) {
  const bool is_control = tokenizer_->is_control(token);
  if (is_control) {
    const std::string spelling(tokenizer_->token_text(token));
    if (!tokenizer_->ends_generation(token)) token_mark(spelling);
    return push_text(text);
  }
  if (!tokens_.empty() && tokenizer_->is_added(token) && is_token(tokenizer_->token_text(token))) {
    late_.emplace_back(tokenizer_->token_text(token));
  }
  push_text(text);
}

// The text of a token may come with a later one.
void ChatParser::Machine::push_text(std::string_view text) {
  while (!late_.empty()) {
    const size_t at = text.find(late_.front());
    if (at == std::string_view::npos) break;
    push(text.substr(0, at));
    token_mark(late_.front());
    text.remove_prefix(at + late_.front().size());
    late_.pop_front();
  }
  push(text);
}

void ChatParser::Machine::token_mark(const std::string& mark) {
  if (state_ == State::after && !belongs_after(mark)) after_ends();
  if (state_ != State::text) {
    for (const char byte : mark) step(byte);
    return;
  }
  // What may have become a mark by its bytes is none.
  const std::string held = std::exchange(pending_, {});
  if (std::exchange(is_token_, false) && !held.empty()) {
    pending_ = held + mark;
    is_token_ = true;
    return settle();
  }
  for (const char byte : held) text_byte(byte);
  const bool is_known = is_token(mark) ||
                        std::any_of(begins_.begin(), begins_.end(), [&](const std::string& each) { return each.starts_with(mark); }) ||
                        std::any_of(marks_.begin(), marks_.end(), [&](const TextMark& each) { return each.text.starts_with(mark); });
  if (!is_known) return;
  pending_ = mark;
  is_token_ = true;
  settle();
}

bool ChatParser::Machine::belongs_after(const std::string& mark) const {
  const auto begins_so = [&](const std::string& text) { return text.starts_with(mark); };
  // A mark in the middle of a call's beginning, such as the one that ends the name.
  for (const bool first : {false, true}) {
    if (!pending_.empty() && next_call(pending_ + mark, first).state != CallBeginning::State::none) return true;
  }
  return std::any_of(leftovers_.begin(), leftovers_.end(), begins_so) ||
         (form_ != nullptr && (begins_so(form_->begin) || begins_so(form_->call_begin)));
}

// --- Marks ---

void ChatParser::Machine::step(char byte) {
  switch (state_) {
    case State::text: pending_ += byte; return settle();
    case State::object: return object_byte(byte);
    case State::call: return call_byte(byte);
    case State::after: pending_ += byte; return settle_after();
    case State::code: raw_ += byte; return;
    case State::header:
      raw_ += byte;
      if (raw_.ends_with("<|message|>")) header_ends();
      return;
  }
}

ChatParser::Machine::Found ChatParser::Machine::find_mark(const TextMark*& found) const {
  Found result = Found::none;
  for (const TextMark& mark : marks_) {
    const bool needs_token = is_token(mark.text) || (tokenizer_ != nullptr && mark.mark == Mark::noise);
    if (!is_token_ && needs_token) continue;
    if (pending_ == mark.text) {
      found = &mark;
      return Found::found;
    }
    if (mark.text.starts_with(pending_)) result = Found::maybe;
  }
  return result;
}

bool ChatParser::Machine::may_begin(size_t form) const {
  if (syntax_->forms[form].only_at_start) return fresh_ && !anything_ && !reasoning_;
  if (tokenizer_ == nullptr || is_token_) return true;
  return !is_token(begins_[form]) && (line_begins_ || fresh_);
}

// The first form that fits, or still may: it decides for those after it.
ChatParser::Machine::Found ChatParser::Machine::find_call(bool at_end, const CallForm*& form, CallBeginning& beginning) const {
  if (syntax_->harmony) return Found::none;
  const bool any_name = tokenizer_ == nullptr || is_token_ || schemas_.empty();
  for (size_t index = 0; index < syntax_->forms.size(); ++index) {
    if (!may_begin(index)) continue;
    form = &syntax_->forms[index];
    beginning = match_beginning(*form, pending_, {.first = true, .names = &schemas_, .any_name = any_name, .at_end = at_end});
    if (beginning.state == CallBeginning::State::found) return Found::found;
    if (beginning.state == CallBeginning::State::maybe && !at_end) return Found::maybe;
  }
  return Found::none;
}

void ChatParser::Machine::settle() {
  while (!pending_.empty() && state_ == State::text) {
    const TextMark* mark = nullptr;
    const Found as_mark = find_mark(mark);
    if (as_mark == Found::found) {
      pending_.clear();
      is_token_ = false;
      act(mark->mark);
      continue;
    }
    const CallForm* form = nullptr;
    CallBeginning beginning;
    const Found as_call = find_call(false, form, beginning);
    if (as_call == Found::found) {
      begin(*form, beginning);
      continue;
    }
    if (as_mark == Found::maybe || as_call == Found::maybe) return;
    // Llama's <|python_tag|> without a call after it.
    const bool is_code = std::any_of(syntax_->forms.begin(), syntax_->forms.end(), [&](const CallForm& each) {
      return each.code && pending_.starts_with(each.begin) && (tokenizer_ == nullptr || is_token_);
    });
    if (is_code) {
      raw_ = std::exchange(pending_, {});
      state_ = State::code;
      return;
    }
    // A token's text is one piece.
    size_t length = 1;
    if (std::exchange(is_token_, false)) {
      for (const std::string& token : tokens_) {
        if (pending_.starts_with(token)) length = std::max(length, token.size());
      }
    }
    const std::string plain = pending_.substr(0, length);
    pending_.erase(0, length);
    for (const char byte : plain) text_byte(byte);
  }
}

void ChatParser::Machine::act(Mark mark) {
  switch (mark) {
    case Mark::reasoning_begin:
    case Mark::reasoning_end:
      // A block that the prompt has opened may be opened again; an end without a beginning ends what was there.
      reasoning_ = mark == Mark::reasoning_begin;
      blanks_.clear();
      fresh_ = true;
      return to_text();
    case Mark::noise: blanks_.clear(); return to_text();
    case Mark::header: blanks_.clear(); return enter_header();
    case Mark::end:
      blanks_.clear();
      reasoning_ = false;
      fresh_ = true;
      return to_text();
  }
}

void ChatParser::Machine::begin(const CallForm& form, const CallBeginning& beginning) {
  form_ = &form;
  any_name_ = tokenizer_ == nullptr || is_token_ || schemas_.empty() || state_ == State::after;
  is_token_ = false;
  const std::string rest = pending_.substr(beginning.length);
  pending_.resize(beginning.length);
  if (form.is_object) {
    raw_ = std::exchange(pending_, {});
    json_.emplace();
    (void)json_->feed('{');
    state_ = State::object;
    id_ = beginning.id;
  } else {
    pending_.clear();
    state_ = State::call;
    reader_.emplace(form, schemas_, beginning.name);
    begin_call(beginning.name, beginning.id);
  }
  push(rest);
}

// --- Text ---

void ChatParser::Machine::text_byte(char byte) {
  if (is_json_blank(byte)) {
    if (!dropping_) blanks_ += byte;
    line_begins_ = byte == '\n';
    return;
  }
  emit_text(std::exchange(blanks_, {}));
  emit_text(std::string_view(&byte, 1));
  dropping_ = false;
  line_begins_ = fresh_ = false;
  anything_ = anything_ || !reasoning_;
}

// --- Calls ---

// A call as one object: its name may come late.
void ChatParser::Machine::object_byte(char byte) {
  raw_ += byte;
  const CallJson::Progress progress = json_->feed(byte);
  const bool is_named = json_->name() && !json_->name()->empty();
  if (!calling_ && is_named && !any_name_ && !schemas_.has(*json_->name())) return give_up();
  if (!calling_ && is_named) {
    // An id may follow the name: it is waited for only as long as nothing else is known.
    std::string more = json_->take_arguments();
    if (!more.empty() || progress != CallJson::Progress::more) {
      begin_call(*json_->name(), json_->id().empty() ? id_ : json_->id());
      arguments(more);
    }
  } else if (calling_) {
    arguments(json_->take_arguments());
  }
  if (progress == CallJson::Progress::more) {
    if (!calling_ && !json_->may_be_call()) give_up();
    return;
  }
  if (!calling_) return give_up();
  json_.reset();
  raw_.clear();
  end_call();
  if (progress != CallJson::Progress::bad) return;
  after_ends();
  step(byte);
}

void ChatParser::Machine::call_byte(char byte) {
  const CallReader::Progress progress = reader_->feed(byte);
  arguments(reader_->take_arguments());
  if (progress == CallReader::Progress::more) return;
  reader_.reset();
  end_call();
  if (progress == CallReader::Progress::behind) step(byte);
}

CallBeginning ChatParser::Machine::next_call(std::string_view text, bool first) const {
  if (form_ == nullptr || syntax_->harmony || (first && form_->begin.empty())) return {};
  return match_beginning(*form_, text, {.first = first, .names = &schemas_, .any_name = any_name_});
}

// Behind a call: what the form has between two and at the end, and another call.
void ChatParser::Machine::settle_after() {
  while (!pending_.empty() && state_ == State::after) {
    if (is_json_blank(pending_.front())) {
      if (pending_.front() == '\n') line_begins_ = true;
      pending_.erase(0, 1);
      continue;
    }
    bool maybe = false, swallowed = false;
    for (const std::string& leftover : leftovers_) {
      if (pending_ == leftover) swallowed = true;
      maybe = maybe || (leftover.size() > pending_.size() && leftover.starts_with(pending_));
    }
    for (const bool first : {false, true}) {
      CallBeginning next = next_call(pending_, first);
      if (next.state == CallBeginning::State::found) return begin(*form_, next);
      maybe = maybe || next.state == CallBeginning::State::maybe;
    }
    if (maybe) return;
    if (swallowed) {
      pending_.clear();
      continue;
    }
    after_ends();
  }
}

void ChatParser::Machine::after_ends() {
  const std::string rest = std::exchange(pending_, {});
  to_text();
  push(rest);
}

// --- gpt-oss ---

void ChatParser::Machine::enter_header() {
  raw_.clear();
  state_ = State::header;
}

// "<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>"
void ChatParser::Machine::header_ends() {
  const std::string header = std::exchange(raw_, {});
  const size_t to = header.find("to=");
  reasoning_ = header.find("analysis") != std::string::npos;
  if (to == std::string::npos) return to_text();
  std::string name = header.substr(to + 3);
  name.resize(std::min(name.find_first_of(" <\n\t\r"), name.size()));
  if (name.starts_with("functions.")) name.erase(0, std::string_view("functions.").size());
  static const CallForm kArguments{.call_end = "<|call|>", .end = "<|end|>"};
  form_ = &kArguments;
  any_name_ = true;
  reader_.emplace(kArguments, schemas_, name);
  state_ = State::call;
  begin_call(name, "");
}

// --- Llama 3's code ---

void ChatParser::Machine::code_ends() {
  const size_t mark = raw_.find('>');
  const std::string_view text = trimmed(std::string_view(raw_).substr(std::min(mark == std::string::npos ? 0 : mark + 1, raw_.size())));
  if (text.empty()) return give_up();
  begin_call("python", "");
  arguments(json_text(nlohmann::ordered_json{{"code", text}}));
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
  if (!has_arguments_) arguments("{}");
  events_.push_back({.kind = ChatEventKind::call_end, .call = calls_});
  ++calls_;
  calling_ = false;
  blanks_.clear();
  pending_.clear();
  leftovers_.clear();
  if (form_ == nullptr) return to_text();
  std::string_view call_end = form_->call_end;
  if (form_->is_object) call_end.remove_prefix(std::min(call_end.rfind('}') + 1, call_end.size()));
  for (const std::string_view text :
       {call_end, std::string_view(form_->between), std::string_view(form_->end), std::string_view(form_->turn_end)}) {
    for (const std::string_view piece : solid_pieces(text)) leftovers_.emplace_back(piece);
  }
  line_begins_ = false;
  state_ = State::after;
}

void ChatParser::Machine::to_text() {
  state_ = State::text;
  dropping_ = true;
  line_begins_ = line_begins_ || fresh_;
  raw_.clear();
}

void ChatParser::Machine::give_up() {
  const std::string text = std::exchange(raw_, {});
  json_.reset();
  state_ = State::text;
  dropping_ = fresh_ = false;
  line_begins_ = text.ends_with('\n');
  anything_ = true;
  emit_text(std::exchange(blanks_, {}));
  emit_text(text);
}

void ChatParser::Machine::finish() {
  while (state_ == State::text && !pending_.empty()) {
    // What may have become a mark is none; what may be a whole name is one.
    const CallForm* form = nullptr;
    CallBeginning beginning;
    if (find_call(true, form, beginning) == Found::found) {
      begin(*form, beginning);
      break;
    }
    is_token_ = false;
    text_byte(pending_.front());
    const std::string rest = pending_.substr(1);
    pending_.clear();
    push(rest);
  }
  switch (state_) {
    case State::text: emit_text(std::exchange(blanks_, {})); break;
    case State::object:
      if (!calling_ && json_->name() && !json_->name()->empty() && (any_name_ || schemas_.has(*json_->name()))) {
        begin_call(*json_->name(), json_->id().empty() ? id_ : json_->id());
      } else if (!calling_) {
        give_up();
      }
      break;
    case State::call:
      reader_->finish();
      arguments(reader_->take_arguments());
      break;
    case State::after:
      if (!pending_.empty()) {
        const bool is_leftover =
            std::any_of(leftovers_.begin(), leftovers_.end(), [&](const std::string& leftover) { return leftover.starts_with(pending_); });
        const std::string rest = std::exchange(pending_, {});
        to_text();
        if (!is_leftover) {
          for (const char byte : rest) text_byte(byte);
        }
      }
      break;
    case State::code: code_ends(); break;
    case State::header: give_up(); break;
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
  machine_->push_text(text);
  return machine_->take(false);
}

std::vector<ChatEvent> ChatParser::push(TokenId token, std::string_view text) {
  machine_->push(token, text);
  return machine_->take(false);
}

std::vector<ChatEvent> ChatParser::finish() {
  machine_->finish();
  return machine_->take(true);
}

bool ends_in_reasoning(std::string_view prompt, const CallSyntax& syntax) {
  prompt = trimmed(prompt);
  const std::string_view own = trimmed(syntax.reasoning_begin);
  return prompt.ends_with("<think>") || prompt.ends_with("[THINK]") || prompt.ends_with("<seed:think>") ||
         (!own.empty() && prompt.ends_with(own));
}

}  // namespace wick
