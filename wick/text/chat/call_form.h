// A CallForm is how a model writes the calls of tools: what it may write is held to it, and what it wrote is read by it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "wick/text/grammar/token_constraint.h"

namespace [[gnu::visibility("default")]] wick {

// A call is written as: call_begin NAME after_name ARGUMENTS call_end, with `between` between two calls, `begin` before the first and `end`
// after the last. What is spelled <…> or […] is the token of that name where the vocabulary has one.
struct CallForm {
  enum class Arguments : uint8_t {
    json,    // an object
    tagged,  // each argument between marks of its own, texts without quotes
    gemma,   // {key:value,…} with texts between <|"|>
    python,  // key=value, …
  };
  // Stands in call_begin, after_name or call_end for the id of a call, and for its number (":0") in the answer.
  static constexpr char kId = '\x01';
  static constexpr char kNumber = '\x02';

  std::string begin = {};
  std::string call_begin = {};
  std::string after_name = {};
  Arguments arguments = Arguments::json;
  std::string call_end = {};
  std::string between = {};
  std::string end = {};
  std::string turn_end = {};   // a mark that ends a turn with calls instead of the usual one
  bool is_object = false;      // from the last "{" of call_begin on, a call is one JSON object
  bool parallel = true;        // an answer may hold several calls
  bool only_at_start = false;  // of an answer: the form has no mark of its own
  bool code = false;           // text after `begin` that is no call is code, a call of "python"
  // Arguments::tagged: key_begin KEY key_end [lead] VALUE [tail] value_end, with `separator` after each.
  std::string key_begin = {};
  std::string key_end = {};
  std::string text_key_end = {};  // of texts, where it differs
  std::string lead = {};          // white space that the template puts around a value
  std::string tail = {};
  std::string value_end = {};
  std::string separator = {};
  bool cdata = false;  // texts with "<", "&" or line breaks are written as <![CDATA[…]]>

  friend bool operator==(const CallForm&, const CallForm&) = default;

  // The mark that begins a call: the first piece of begin and call_begin, such as "<tool_call>".
  [[nodiscard]] std::string mark() const;
};

// The form of ids that a model was trained on.
enum class CallIds : uint8_t {
  any,
  nine_letters,  // Mistral: nine letters or digits
  ten_letters,   // Solar: ten lower-case letters or digits
  counted,       // Kimi K2: functions.NAME:N, counted over the conversation
};

// All that is known of how a model writes an answer with calls.
struct CallSyntax {
  std::string name = "plain";        // of chat_formats(), or "template": read from the template
  std::vector<CallForm> forms = {};  // that are calls; the first is the model's own. None: no calls are known
  bool harmony = false;              // gpt-oss: channels
  // Beside the usual marks of reasoning, such as <think> and </think>: this model's own.
  std::string reasoning_begin = {};
  std::string reasoning_end = {};
  std::string content_begin = {};  // before the text of an answer
  std::string turn_begin = {};     // between a reasoning block and what follows it
  std::string turn_end = {};
  CallIds ids = CallIds::any;

  friend bool operator==(const CallSyntax&, const CallSyntax&) = default;
};

// The formats that have names: "hermes", "llama3" …
[[nodiscard]] std::vector<std::string_view> chat_formats();
// By name or by another name of it. Errors: invalid_argument, naming the available ones.
[[nodiscard]] std::shared_ptr<const CallSyntax> find_call_syntax(std::string_view name);

struct CallRules {
  bool parallel = true;  // several calls, where the form has that
  bool required = true;  // the white space before a name is bounded: a model that has to call must come to it
};
// One call or several of `tools` (as in ChatPrompt), with arguments that fit the parameters' schemas, in any order. `only`: the one
// function that may be called; empty: any. Errors: invalid_argument for tools that are no list of functions, and where `only` is none of
// them.
[[nodiscard]] OutputFormat calls_of_form(const CallForm& form, const std::string& tools, const std::string& only, const CallRules& rules);
// How a call of each of these begins, up to the end of its name: what a text before the first call has in no line's beginning.
[[nodiscard]] OutputFormat beginnings_of_calls(const CallForm& form, const std::string& tools, const std::string& only);

// The parts of the tools' schemas that calls can be constrained to.
struct EnforceableTools {
  struct Refusal {
    size_t index = 0;  // of the tool
    std::string name;  // of its function
    std::string reason;
  };
  std::string tools;  // with looser schemas where something cannot be enforced
  std::vector<Refusal> refusals;
};
// The enforceable tools for a model that writes calls in this syntax. If no call form is known, the schemas are refused that no form could
// enforce, and the tools stay as they are. Errors: invalid_argument for tools that are no list of functions, or too many.
[[nodiscard]] EnforceableTools enforceable_tools(const CallSyntax& syntax, const std::string& tools, ConstraintCompiler& constraints);

}  // namespace wick
