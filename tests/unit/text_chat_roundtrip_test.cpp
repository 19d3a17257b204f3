// What each chat template writes of a conversation is read again by a parser that knows the template alone: the same calls, with the same
// arguments. The table in docs/chat.md is what these tests find.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "shared_data.h"
#include "wick/base/error.h"
#include "wick/text/chat/call_detection.h"
#include "wick/text/chat/chat_output_format.h"
#include "wick/text/chat/chat_parser.h"
#include "wick/text/chat/chat_template.h"
#include "wick/text/grammar/format_matcher.h"
#include "wick/text/grammar/token_constraint.h"
#include "wick/text/tokenizer/byte_alphabet.h"
#include "wick/text/tokenizer/tokenizer.h"

namespace wick {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kAgentTools = R"([
 {"type": "function", "function": {"name": "write_file", "description": "Writes a file.", "parameters": {"type": "object", "properties": {
   "path": {"type": "string", "description": "Where."}, "text": {"type": "string", "description": "What."},
   "mode": {"anyOf": [{"type": "string"}, {"type": "null"}], "description": "How."},
   "lines": {"type": "integer", "description": "How many."}, "tags": {"type": "array", "items": {"type": "string"}, "description": "Tags."}},
   "required": ["path", "text"]}}},
 {"type": "function", "function": {"name": "list", "description": "Lists a folder.", "parameters": {"type": "object", "properties": {
   "path": {"type": "string", "description": "Where."}}, "required": ["path"]}}}])";
// Keys in the order of the alphabet: one template sorts them. White space and quotes in texts.
constexpr const char* kWrite =
    R"({"lines": 2, "mode": "new", "path": "a/b.py", "tags": ["x", "y"], "text": "    if a < b:\n\treturn \"1\"\n"})";
constexpr const char* kList = R"({"path": " c"})";
constexpr std::string_view kSaid = "I look at it.", kThinking = "I have to write.", kQuestion = "What is it?", kResult = "RESULT-7";

struct ReadCall {
  std::string name, arguments;
};
struct ReadAnswer {
  std::string content, reasoning;
  std::vector<ReadCall> calls;
};

void take_events(std::vector<ChatEvent> events, ReadAnswer& answer) {
  for (const ChatEvent& event : events) {
    if (event.kind == ChatEventKind::content) answer.content += event.text;
    if (event.kind == ChatEventKind::reasoning) answer.reasoning += event.text;
    if (event.kind == ChatEventKind::call_begin) answer.calls.push_back({event.name, ""});
    if (event.kind == ChatEventKind::arguments) answer.calls.back().arguments += event.text;
  }
}

std::string trimmed_text(std::string text) {
  text.erase(text.find_last_not_of(" \t\r\n") + 1);
  return text.erase(0, text.find_first_not_of(" \t\r\n"));
}

// Marks as a vocabulary has them.
const std::regex& mark_pattern() {
  static const std::regex kMark(R"(<[^<>\s=]+>|\[/?[A-Z_]+\])");
  return kMark;
}

// Bytes, and the marks of a text as added tokens.
std::shared_ptr<const Tokenizer> tokenizer_of_marks(const std::string& text, bool special) {
  Json added = Json::array(), vocab = Json::object();
  for (int byte = 0; byte < 256; ++byte) vocab[std::string(byte_to_letter(static_cast<uint8_t>(byte)))] = byte;
  std::set<std::string> marks;
  for (std::sregex_iterator mark(text.begin(), text.end(), mark_pattern()); mark != std::sregex_iterator(); ++mark) {
    if (!marks.insert(mark->str()).second) continue;
    added.push_back({{"id", 255 + marks.size()}, {"content", mark->str()}, {"special", special}});
  }
  const Json file = {{"added_tokens", added},
                     {"pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", false}}},
                     {"decoder", {{"type", "ByteLevel"}}},
                     {"model", {{"type", "BPE"}, {"vocab", vocab}, {"merges", Json::array()}}}};
  return Tokenizer::parse(file.dump(), "marks");
}

struct MarkedToken {
  TokenId token;
  std::string text;
};
std::vector<MarkedToken> tokens_of_marked(const std::string& text, const Tokenizer& tokenizer) {
  std::vector<MarkedToken> tokens;
  const auto add_bytes = [&](size_t begin, size_t end) {
    for (; begin < end; ++begin) tokens.push_back({static_cast<uint8_t>(text[begin]), text.substr(begin, 1)});
  };
  size_t at = 0;
  for (std::sregex_iterator mark(text.begin(), text.end(), mark_pattern()); mark != std::sregex_iterator(); ++mark) {
    const auto begin = static_cast<size_t>(mark->position());
    add_bytes(at, begin);
    tokens.push_back({*tokenizer.find_token(mark->str()), mark->str()});
    at = begin + mark->str().size();
  }
  add_bytes(at, text.size());
  return tokens;
}

enum class TableCell { yes, no, drops_text, drops_reasoning, one_call, no_calls, refuses, text_behind };

// The words of a cell of the table, and why there can be nothing else.
std::string words(TableCell cell) {
  switch (cell) {
    case TableCell::yes: return "yes";
    case TableCell::no: return "NO";
    case TableCell::drops_text: return "– (a)";
    case TableCell::drops_reasoning: return "– (b)";
    case TableCell::one_call: return "– (c)";
    case TableCell::no_calls: return "– (d)";
    case TableCell::refuses: return "– (e)";
    case TableCell::text_behind: return "– (f)";
  }
  return {};
}

class TemplateAgent {
 public:
  TemplateAgent(const std::filesystem::path& file, std::shared_ptr<const Tokenizer> tokenizer)
      : name_(file.stem().string()), template_(parse(file)), tokenizer_(std::move(tokenizer)) {
    template_.set_clock(0);
  }

  // The cells of the table, and what is wrong where something is.
  std::vector<std::pair<TableCell, std::string>> row() {
    std::vector<std::pair<TableCell, std::string>> cells;
    const auto add = [&](TableCell cell) { cells.emplace_back(cell, std::exchange(trouble_, {})); };
    add(calls({}, 1));
    add(calls({}, 2));
    add(calls({.content = std::string(kSaid)}, 1));
    add(calls({.reasoning = std::string(kThinking)}, 1));
    add(tool_result());
    add(null_content());
    add(earlier_reasoning());
    add(prose());
    return cells;
  }
  // A text argument that holds the marks that end a value and a call, after a round trip; none, if the template writes no calls.
  [[nodiscard]] std::optional<std::string> text_with_end_marks() const {
    if (syntax().forms.empty() || syntax().name == "lfm2") return std::nullopt;
    const CallForm& form = syntax().forms.front();
    const Json arguments = {{"path", "a"}, {"text", "x" + form.value_end + form.call_end + form.end + "y"}};
    ChatMessage message{.role = "assistant"};
    message.tool_calls.push_back({"call00001", "write_file", arguments.dump()});
    const ReadAnswer answer = read(output_of(message), 0, true);
    if (answer.calls.size() != 1) return "";
    const Json read = Json::parse(answer.calls.front().arguments, nullptr, false);
    return read == arguments                                             ? "kept"
           : read.is_object() && read.value("text", "").starts_with("x") ? "ended"
                                                                         : answer.calls.front().arguments;
  }
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const CallSyntax& syntax() const { return *template_.traits().syntax; }

 private:
  static ChatTemplate parse(const std::filesystem::path& file) {
    std::ifstream stream(file);
    return ChatTemplate::parse(std::string(std::istreambuf_iterator<char>(stream), {}), file.filename().string());
  }

  [[nodiscard]] std::string render(std::vector<ChatMessage> more, bool begins = false) const {
    more.insert(more.begin(), {.role = "user", .content = std::string(kQuestion)});
    return template_.render(
        {.messages = std::move(more), .tools = kAgentTools, .add_generation_prompt = begins, .eos_token = "<|the_end|>"});
  }
  static ChatMessage called(ChatMessage message, int count) {
    message.role = "assistant";
    message.tool_calls.push_back({"call00001", "write_file", kWrite});
    if (count > 1) message.tool_calls.push_back({"call00002", "list", kList});
    return message;
  }

  // What a model writes so that the template writes it again, and whether it begins inside of reasoning.
  struct Output {
    std::string text;
    bool in_reasoning = false;
  };
  [[nodiscard]] Output output_of(const ChatMessage& message) const {
    const std::string prompt = render({}, true), whole = render({message}),
                      plain = render({{.role = "assistant", .content = "THE ANSWER"}});
    size_t begin = static_cast<size_t>(std::mismatch(prompt.begin(), prompt.end(), whole.begin(), whole.end()).first - prompt.begin());
    begin =
        std::max(begin, static_cast<size_t>(std::mismatch(plain.begin(), plain.end(), whole.begin(), whole.end()).first - plain.begin()));
    // Not in the middle of a mark.
    const size_t open = whole.rfind('<', begin), close = whole.find('>', open);
    if (open != std::string::npos && close != std::string::npos && open < begin && close >= begin) begin = open;
    const std::string rest = plain.substr(plain.rfind("THE ANSWER") + 10);
    size_t end = whole.size();
    if (whole.ends_with(rest)) {
      end -= rest.size();
    } else {
      while (end > begin && whole.size() - end < rest.size() && whole[end - 1] == rest[rest.size() - (whole.size() - end) - 1]) --end;
      const size_t mark = whole.find('>', end);
      if (end > 0 && whole[end - 1] != '>' && mark != std::string::npos && whole.find('<', end) > mark) end = mark + 1;
    }
    const bool is_open =
        ends_in_reasoning(whole.substr(0, begin), syntax()) ||
        (!message.reasoning.empty() && whole.substr(begin).starts_with(message.reasoning) && ends_in_reasoning(prompt, syntax()));
    return {whole.substr(begin, end - begin), is_open};
  }

  [[nodiscard]] ReadAnswer read(const Output& output, size_t cut, bool bytes) const {
    ChatParser parser({.syntax = template_.traits().syntax, .starts_in_reasoning = output.in_reasoning, .tools = kAgentTools});
    ReadAnswer answer;
    if (bytes) {
      for (const char byte : output.text) take_events(parser.push(std::string_view(&byte, 1)), answer);
    } else {
      take_events(parser.push(std::string_view(output.text).substr(0, cut)), answer);
      take_events(parser.push(std::string_view(output.text).substr(cut)), answer);
    }
    take_events(parser.finish(), answer);
    return answer;
  }

  [[nodiscard]] ReadAnswer read_tokens(const Output& output, const Tokenizer& tokenizer) const {
    ChatParser parser(
        {.syntax = template_.traits().syntax, .starts_in_reasoning = output.in_reasoning, .tools = kAgentTools, .tokenizer = &tokenizer});
    ReadAnswer answer;
    for (const MarkedToken& token : tokens_of_marked(output.text, tokenizer)) {
      take_events(parser.push(token.token, tokenizer.is_control(token.token) ? "" : token.text), answer);
    }
    take_events(parser.finish(), answer);
    return answer;
  }

  [[nodiscard]] ChatRules rules(const Output& output, ChatRules::Calls calls, int count) const {
    return {.syntax = template_.traits().syntax,
            .template_source = template_.source(),
            .rendered = !output.in_reasoning               ? ""
                        : syntax().reasoning_begin.empty() ? "<think>"
                                                           : std::string_view(syntax().reasoning_begin),
            .calls = calls,
            .tools = kAgentTools,
            .parallel_calls = count > 1};
  }

  // A call whose mark is no token begins a line.
  [[nodiscard]] Output on_a_line(Output output, const Tokenizer& tokenizer) const {
    const std::string mark = syntax().forms.empty() ? "" : syntax().forms.front().mark();
    const size_t at = output.text.find(mark);
    if (!mark.empty() && at != std::string::npos && at > 0 && !tokenizer.find_token(mark)) output.text.insert(at, "\n");
    return output;
  }

  // Whether these tokens may be written, from one of them on; marks that end a turn may be left.
  [[nodiscard]] bool accepts_tokens(const Output& output, const std::shared_ptr<const Tokenizer>& tokenizer, ChatRules::Calls calls,
                                    int count) const {
    std::string text = output.text;
    // Lists as Python shows them are read, and not written.
    if (const size_t list = text.find("['x', 'y']"); list != std::string::npos) text.replace(list, 10, "[\"x\", \"y\"]");
    const std::vector<MarkedToken> tokens = tokens_of_marked(text, *tokenizer);
    ConstraintCompiler compiler(tokenizer);
    const auto constraint = compiler.compile(*chat_output_format(rules(output, calls, count)));
    for (size_t begin = 0; begin < tokens.size(); ++begin) {
      constraint->reset();
      size_t at = begin;
      try {
        for (; at < tokens.size(); ++at) constraint->accept(tokens[at].token);
      } catch (const Error&) {
        // What is left is looked at.
      }
      std::string rest;
      for (; at < tokens.size(); ++at) rest += tokens[at].text;
      rest = trimmed_text(rest);
      if (rest.empty() || (rest.starts_with("<") && rest.find("path") == std::string::npos)) return true;
      if (calls == ChatRules::Calls::allowed && begin > 1) return false;
    }
    return false;
  }

  TableCell calls(ChatMessage message, int count) {
    Output output;
    if (syntax().name == "lfm2") return named_calls(message, count);
    try {
      output = output_of(called(message, count));
    } catch (const Error& error) {
      trouble_ = error.what();
      return count > 1 && !syntax().forms.empty() ? TableCell::one_call : TableCell::refuses;
    }
    if (syntax().forms.empty()) return TableCell::no_calls;
    const std::string content = message.content.value_or("");
    if (output.text.find("write_file") == std::string::npos) return TableCell::drops_text;
    if (output.text.find(content) == std::string::npos) return TableCell::drops_text;
    if (output.text.find(message.reasoning) == std::string::npos) return TableCell::drops_reasoning;
    if (!content.empty() && output.text.find(content) > output.text.find("write_file")) return TableCell::text_behind;
    if (count > 1 && output.text.find("list") == std::string::npos) return TableCell::one_call;
    return reads_back(output, content, message.reasoning, count) ? TableCell::yes : TableCell::no;
  }

  // The template writes no calls: the model writes them in a form that has a name.
  TableCell named_calls(const ChatMessage& message, int count) {
    std::string text = message.reasoning.empty() ? "" : "<think>" + message.reasoning + "</think>";
    text += message.content.value_or("") + "<|tool_call_start|>[";
    for (int index = 0; index < count; ++index) {
      if (index > 0) text += ", ";
      text += index == 0 ? "write_file(" : "list(";
      const Json arguments = Json::parse(index == 0 ? kWrite : kList);
      for (auto argument = arguments.begin(); argument != arguments.end(); ++argument) {
        text += (argument == arguments.begin() ? "" : ", ") + argument.key() + "=" + argument.value().dump();
      }
      text += ")";
    }
    const Output output{text + "]<|tool_call_end|>", false};
    return reads_back(output, message.content.value_or(""), message.reasoning, count) ? TableCell::yes : TableCell::no;
  }

  bool reads_back(const Output& output, const std::string& content, const std::string& reasoning, int count) {
    const auto is_right = [&](const ReadAnswer& answer) {
      if (answer.calls.size() != static_cast<size_t>(count)) return false;
      const char* const arguments[] = {kWrite, kList};
      for (size_t index = 0; index < answer.calls.size(); ++index) {
        if (answer.calls[index].name != (index == 0 ? "write_file" : "list")) return false;
        // As values, and in the same order.
        if (Json::parse(answer.calls[index].arguments, nullptr, false).dump() != Json::parse(arguments[index]).dump()) return false;
      }
      return trimmed_text(answer.content) == content && trimmed_text(answer.reasoning) == reasoning;
    };
    for (size_t cut = 0; cut <= output.text.size(); ++cut) {
      const ReadAnswer answer = read(output, cut, cut == output.text.size());
      if (is_right(answer)) continue;
      trouble_ =
          "cut at " + std::to_string(cut) + ": " + output.text + "\n content '" + answer.content + "' reasoning '" + answer.reasoning + "'";
      for (const ReadCall& call : answer.calls) trouble_ += "\n " + call.name + " " + call.arguments;
      return false;
    }
    // With a vocabulary that has the marks as tokens. A template that writes no reasoning has a model without tokens for it.
    const bool reasons = reasoning.empty() || template_.source().find("think") != std::string::npos;
    for (const bool special : {true, false}) {
      const std::shared_ptr<const Tokenizer> tokenizer = tokenizer_of_marks(output.text, special);
      const Output spaced = on_a_line(output, *tokenizer);
      const ReadAnswer answer = read_tokens(spaced, *tokenizer);
      trouble_ = std::string(special ? "special tokens: " : "added tokens: ") + spaced.text;
      if (!is_right(answer)) {
        trouble_ += "\n content '" + answer.content + "' reasoning '" + answer.reasoning + "'";
        for (const ReadCall& call : answer.calls) trouble_ += "\n " + call.name + " " + call.arguments;
        return false;
      }
      for (const ChatRules::Calls rule : {ChatRules::Calls::required, ChatRules::Calls::allowed}) {
        if (!reasons || accepts_tokens(spaced, tokenizer, rule, count)) continue;
        trouble_ += rule == ChatRules::Calls::required ? "\nnot accepted, required" : "\nnot accepted, allowed";
        return false;
      }
    }
    // What the model writes is what it may write.
    const auto accepts = [&](ChatRules::Calls calls) {
      FormatMatcher matcher(*chat_output_format(rules(output, calls, count)));
      for (size_t begin = 0; begin < output.text.size(); ++begin) {
        matcher.reset();
        // Lists as Python shows them are read, and not written.
        std::string rest = output.text.substr(begin);
        if (const size_t list = rest.find("['x', 'y']"); list != std::string::npos) rest.replace(list, 10, "[\"x\", \"y\"]");
        const std::optional<size_t> at = matcher.mismatch(rest);
        if (!at || trimmed_text(rest.substr(*at)).empty() || rest.substr(*at).starts_with("<")) return true;
        if (calls == ChatRules::Calls::allowed) return false;
        if (output.text.find("write_file", begin) == std::string::npos) return false;
      }
      return false;
    };
    for (const ChatRules::Calls rule : {ChatRules::Calls::required, ChatRules::Calls::allowed}) {
      if (accepts(rule)) continue;
      trouble_ = "not accepted: " + output.text;
      return false;
    }
    return true;
  }

  TableCell tool_result() {
    try {
      const std::string text = render(
          {called({}, 1), {.role = "tool", .content = std::string(kResult), .name = "write_file", .tool_call_id = "call00001"}}, true);
      return text.find(kResult) != std::string::npos ? TableCell::yes : TableCell::no;
    } catch (const Error& error) {
      trouble_ = error.what();
      return TableCell::refuses;
    }
  }

  TableCell null_content() {
    try {
      const std::string none = render({called({}, 1)}), empty = render({called({.content = ""}, 1)});
      trouble_ = none;
      return none == empty && none.find("None", none.rfind(kQuestion)) == std::string::npos ? TableCell::yes : TableCell::no;
    } catch (const Error& error) {
      trouble_ = error.what();
      return TableCell::refuses;
    }
  }

  TableCell earlier_reasoning() {
    try {
      const ChatMessage result{.role = "tool", .content = std::string(kResult), .name = "write_file", .tool_call_id = "call00001"};
      const std::string text = render({called({.reasoning = std::string(kThinking)}, 1), result}, true);
      return text.find(kThinking) != std::string::npos ? TableCell::yes : TableCell::drops_reasoning;
    } catch (const Error& error) {
      trouble_ = error.what();
      return TableCell::refuses;
    }
  }

  // The vocabulary has none of the marks: they are text.
  TableCell prose() {
    if (syntax().forms.empty()) return TableCell::no_calls;
    const std::string mark = syntax().forms.front().mark();
    std::string prose =
        "It writes " + mark + " and " + syntax().forms.front().begin + syntax().forms.front().call_begin + "write_file in a line.";
    std::erase_if(prose, [](char byte) { return byte == CallForm::kId; });
    std::replace(prose.begin(), prose.end(), '\n', ' ');
    ChatParser parser({.syntax = template_.traits().syntax, .tools = kAgentTools, .tokenizer = tokenizer_.get()});
    ReadAnswer answer;
    for (const char byte : prose) take_events(parser.push(std::string_view(&byte, 1)), answer);
    take_events(parser.finish(), answer);
    trouble_ = prose + "\n" + answer.content;
    const std::optional<size_t> masked =
        FormatMatcher(*chat_output_format({.syntax = template_.traits().syntax, .calls = ChatRules::Calls::allowed, .tools = kAgentTools}))
            .mismatch(prose);
    if (masked && syntax().content_begin.empty()) trouble_ += "\nmasked at " + std::to_string(*masked);
    return answer.calls.empty() && answer.content == prose && (!masked || !syntax().content_begin.empty()) ? TableCell::yes : TableCell::no;
  }

  std::string name_;
  ChatTemplate template_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  std::string trouble_;
};

TEST(ChatRoundTrip, TheTableInTheDocsIsWhatTheTemplatesDo) {
  const auto folder = shared_data("data/templates");
  const auto vocabulary = shared_data("data/tokenizers/ggml-vocab-gpt-2.gguf");
  if (!folder || !vocabulary) GTEST_SKIP() << kSharedDataMissing;
  const std::shared_ptr<const Tokenizer> tokenizer = Tokenizer::load(*vocabulary);
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(*folder)) {
    if (entry.path().extension() == ".jinja") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  std::string table =
      "| template | call | parallel | after text | after reasoning | result | null | earlier reasoning | prose |\n"
      "|---|---|---|---|---|---|---|---|---|\n";
  for (const std::filesystem::path& file : files) {
    TemplateAgent agent(file, tokenizer);
    std::string row = "| " + agent.name();
    for (const auto& [cell, trouble] : agent.row()) {
      row += " | " + words(cell);
      EXPECT_NE(words(cell), "NO") << agent.name() << ": " << trouble;
    }
    table += row + " |\n";
  }
  std::ifstream stream(source_file("docs/chat.md"));
  const std::string docs(std::istreambuf_iterator<char>(stream), {});
  EXPECT_NE(docs.find(table), std::string::npos) << "docs/chat.md must have this table:\n" << table;
}

// docs/chat.md says which forms keep such a text.
TEST(ChatRoundTrip, ATextThatHoldsTheMarksOfItsFormsEndIsKeptOrEnds) {
  const auto folder = shared_data("data/templates");
  if (!folder) GTEST_SKIP() << kSharedDataMissing;
  size_t kept = 0, ended = 0;
  for (const auto& entry : std::filesystem::directory_iterator(*folder)) {
    if (entry.path().extension() != ".jinja") continue;
    const TemplateAgent agent(entry.path(), nullptr);
    const std::optional<std::string> result = agent.text_with_end_marks();
    if (!result) continue;
    const CallForm& form = agent.syntax().forms.front();
    const bool is_bare = form.arguments == CallForm::Arguments::tagged && !form.cdata;
    EXPECT_EQ(*result, is_bare ? "ended" : "kept") << agent.name();
    ++(is_bare ? ended : kept);
  }
  EXPECT_GE(kept, 15U);
  EXPECT_GE(ended, 5U);
}

}  // namespace
}  // namespace wick
