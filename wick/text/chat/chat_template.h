// A ChatTemplate turns a conversation into the text that a model continues, by the rules that came with the model.
//
// Templates are written in Jinja. They run as transformers runs them: sandboxed, with trim_blocks, lstrip_blocks, loop controls,
// raise_exception, strftime_now, and tojson without HTML escapes. What one may cost is bounded, so that a hostile one ends with an error.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace [[gnu::visibility("default")]] wick {

class GgufFile;
namespace jinja {
struct Raised;
}

struct ToolCall {
  std::string id = {};
  std::string name = {};
  std::string arguments = {};  // JSON, an object; empty: none

  friend bool operator==(const ToolCall&, const ToolCall&) = default;
};

struct ChatMessage {
  std::string role = {};                    // "system", "user", "assistant", "tool" …
  std::optional<std::string> content = {};  // none: null, as beside tool calls
  std::string content_parts = {};           // JSON, an array of parts such as {"type":"text","text":"…"}; instead of content
  std::string reasoning = {};               // what an assistant thought before it answered
  std::vector<ToolCall> tool_calls = {};    // of an assistant
  std::string name = {};                    // of a tool, for role "tool"
  std::string tool_call_id = {};            // the call that a role "tool" answers

  friend bool operator==(const ChatMessage&, const ChatMessage&) = default;
};

struct ChatPrompt {
  std::vector<ChatMessage> messages = {};
  std::string tools = {};             // JSON, an array of {"type":"function","function":{…}}; empty: none
  bool add_generation_prompt = true;  // end with the beginning of an answer
  std::string variables = {};         // JSON, an object: more of the template's variables, such as {"enable_thinking":false}
  std::string bos_token = {};
  std::string eos_token = {};
};

// How a conversation is handed to a template.
struct PromptStyle {
  bool llama_cpp = false;       // by the rules of llama.cpp's engine instead of transformers'
  bool text_arguments = false;  // arguments of calls as a text of JSON instead of an object
  bool null_content = false;    // content that is empty in a message with calls is none instead of ""
  bool complete_tools = false;  // what a tool's description lacks is there, empty

  friend bool operator==(const PromptStyle&, const PromptStyle&) = default;
};

struct TemplateTraits;

// A list of messages as the OpenAI API has them, JSON. Content may be a text, a list of parts or null; reasoning has any of its names.
// Errors: invalid_argument for what is no list of objects with a role.
[[nodiscard]] std::vector<ChatMessage> chat_messages_from_json(std::string_view json);

struct ChatTemplateLimits {
  int64_t steps = 20'000'000;
  int64_t output_bytes = int64_t{64} << 20;
  int64_t value_bytes = int64_t{512} << 20;
};

class ChatTemplate {
 public:
  // `name` begins every error: a file's path, or "tokenizer.chat_template". Errors: invalid_argument with line and jinja2's words for what
  // is no template.
  [[nodiscard]] static ChatTemplate parse(std::string_view source, std::string name = "chat template");

  // The conversation as text, in the style in which this template writes calls; where it fails, in the others. Content that is null is "",
  // unless the template writes calls only with none. Ids of calls get the form of traits().syntax->ids. Tools for which the template has
  // no place are listed in the system message. Errors: invalid_argument with line and jinja2's words where the template fails or refuses
  // (raise_exception), where it costs more than the limits, and for JSON that is none; for variables that would replace the conversation;
  // unsupported for tools that the template neither lists nor writes calls of.
  [[nodiscard]] std::string render(const ChatPrompt& prompt) const;
  // The same in one style, as it is; none where the template fails.
  [[nodiscard]] std::optional<std::string> try_render(const ChatPrompt& prompt, const PromptStyle& style) const;
  // How the template treats calls and tools, found out once by rendering conversations.
  [[nodiscard]] const TemplateTraits& traits() const;
  // The same from a JSON object, whose fields are the template's variables: {"messages":[…],"tools":[…],"add_generation_prompt":true}.
  [[nodiscard]] std::string render_json(std::string_view variables) const;

  [[nodiscard]] const std::string& source() const noexcept;
  [[nodiscard]] const std::string& name() const noexcept;
  // Whether the template uses tools, so that it can list them.
  [[nodiscard]] bool takes_tools() const noexcept;

  void set_limits(const ChatTemplateLimits& limits) { limits_ = limits; }
  // The current time for strftime_now, in seconds since 1970, as UTC; unset: the local time of the call.
  void set_clock(std::optional<int64_t> seconds) { clock_ = seconds; }

 private:
  struct Parsed;
  explicit ChatTemplate(std::shared_ptr<Parsed> parsed) : parsed_(std::move(parsed)) {}
  // None where the template fails: why, and in which line.
  [[nodiscard]] std::optional<std::string> render_in(const ChatPrompt& prompt, const PromptStyle& style, jinja::Raised& raised,
                                                     int& line) const;

  std::shared_ptr<Parsed> parsed_;
  ChatTemplateLimits limits_;
  std::optional<int64_t> clock_;
};

// --- Where templates come from ---

// A template as it was found, and where.
struct ChatTemplateSource {
  std::string name;  // "default", or the name that it has beside others: "tool_use"
  std::string text;
  std::string origin;  // "model.gguf: tokenizer.chat_template"
};

// All templates of a GGUF file (tokenizer.chat_template, tokenizer.chat_template.NAME), the default first.
[[nodiscard]] std::vector<ChatTemplateSource> find_chat_templates(const GgufFile& file);
// Those of a Hugging Face folder: chat_template.jinja, additional_chat_templates/NAME.jinja, chat_template.json, and "chat_template" of
// tokenizer_config.json (a text, or a list of named ones). Errors: corrupt_file for files that are not what they should be.
[[nodiscard]] std::vector<ChatTemplateSource> find_chat_templates(const std::filesystem::path& folder);

// Templates that Wick brings for models without one: "chatml", "llama3", "mistral" …, sorted.
[[nodiscard]] std::vector<std::string_view> named_chat_templates();

// The template to use: `choice` is a name of named_chat_templates(), a name among `found`, or a file (.jinja, or any that exists); empty:
// the default among `found`, with `with_tools` its "tool_use" if there is one. Errors: not_found where there is none, saying what there is.
[[nodiscard]] ChatTemplate choose_chat_template(const std::vector<ChatTemplateSource>& found, const std::string& choice,
                                                const std::string& model_name, bool with_tools = false);

}  // namespace wick
