#include "wick/cli/commands/chat_session.h"
#include "wick/base/json.h"
#include "wick/base/terminal_text.h"
#include "wick/cli/flags/adapter_flags.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <ostream>
#include <utility>

#include "wick/base/fail.h"
#include "wick/base/interrupt.h"
#include "wick/cli/commands/line_editor.h"
#include "wick/cli/flags/format_flags.h"
#include "wick/cli/hub/model_path.h"
#include "wick/cli/load_model.h"
#include "wick/cli/text_input.h"
#include "wick/engine/chat.h"
#include "wick/engine/engine_metrics.h"
#include "wick/engine/prompt.h"
#include "wick/text/chat/chat_template.h"

namespace wick {
namespace {

using Json = nlohmann::ordered_json;

// For models without a template: messages and answers are one text. It is no name that --chat-template takes.
constexpr const char* kContinuedText = "{% for message in messages %}{{ message.content }}{% endfor %}";
constexpr int64_t kRestOfContext = int64_t{1} << 30;  // max_tokens: what is left of the context

constexpr const char* kCommands =
    "/system [TEXT]     the system prompt\n"
    "/regen             answer the last message again\n"
    "/edit TEXT         replace the last message and answer it\n"
    "/save FILE         write the conversation as JSON\n"
    "/load FILE         read one\n"
    "/set [NAME VALUE]  parameters of sampling such as top_k, max_tokens, seed, thinking\n"
    "/tools FILE        a JSON array of the tools that the model may call\n"
    "/clear             begin anew\n"
    "/stats             tokens and speed of the last answer\n"
    "/metrics           those of all answers so far, times, and use of the cache\n"
    "/help              print this list\n"
    "/quit              end, as Ctrl-D does\n"
    "\"\"\" begins and ends a message of several lines. Ctrl-C stops an answer or clears the line; a second one ends the program.\n";

// Shows an answer as it comes: reasoning dimmed and calls named on a terminal, else the content alone.
class AnswerPrinter {
 public:
  AnswerPrinter(Console& console, bool color) : console_(console), color_(color) {}

  void show(const ChatEvent& event) {
    const bool terminal = console_.output_is_terminal;
    switch (event.kind) {
      case ChatEventKind::content:
        if (std::exchange(reasoning_, false) && terminal) console_.out << (color_ ? "\033[0m" : "") << "\n\n";
        console_.out << shown(event.text);
        break;
      case ChatEventKind::reasoning:
        if (!terminal) break;
        if (!std::exchange(reasoning_, true) && color_) console_.out << "\033[2m";
        console_.out << shown(event.text);
        break;
      case ChatEventKind::call_begin:
        end();
        console_.out << (terminal ? "\n" : "") << "[" << shown(event.name) << " ";
        break;
      case ChatEventKind::arguments: console_.out << shown(event.text); break;
      case ChatEventKind::call_end: console_.out << "]" << (terminal ? "" : "\n"); break;
    }
    console_.out << std::flush;
    if (!console_.out) fail(ErrorCode::io, "standard output: cannot be written to; is the disk full?");
  }

  // A model must not send escape sequences to a terminal.
  [[nodiscard]] std::string shown(const std::string& text) const {
    return console_.output_is_terminal ? answer_without_controls(text) : text;
  }

  void end() {
    if (std::exchange(reasoning_, false) && color_) console_.out << "\033[0m";
    console_.out << std::flush;
  }

 private:
  Console& console_;
  bool color_;
  bool reasoning_ = false;
};

Json to_json(const ChatMessage& message) {
  Json json = {{"role", message.role}, {"content", message.content ? Json(*message.content) : Json()}};
  if (!message.reasoning.empty()) json["reasoning_content"] = message.reasoning;
  for (const ToolCall& call : message.tool_calls) {
    json["tool_calls"].push_back(
        {{"id", call.id}, {"type", "function"}, {"function", {{"name", call.name}, {"arguments", call.arguments}}}});
  }
  if (!message.name.empty()) json["name"] = message.name;
  if (!message.tool_call_id.empty()) json["tool_call_id"] = message.tool_call_id;
  return json;
}

ChatMessage message_of(const Json& json) {
  const auto text = [&](const char* key) {
    return json.contains(key) && json[key].is_string() ? json[key].get<std::string>() : std::string();
  };
  ChatMessage message{
      .role = text("role"), .reasoning = text("reasoning_content"), .name = text("name"), .tool_call_id = text("tool_call_id")};
  if (json.contains("content") && json["content"].is_string()) message.content = json["content"].get<std::string>();
  if (json.contains("content") && json["content"].is_array()) message.content_parts = json_text(json["content"]);
  if (!json.contains("tool_calls") || !json["tool_calls"].is_array()) return message;
  for (const Json& call : json["tool_calls"]) {
    if (!call.is_object() || !call.contains("function") || !call["function"].is_object()) continue;
    const Json& function = call["function"];
    ToolCall made{.id = call.value("id", ""), .name = function.value("name", "")};
    if (function.contains("arguments"))
      made.arguments = function["arguments"].is_string() ? function["arguments"].get<std::string>() : json_text(function["arguments"]);
    message.tool_calls.push_back(std::move(made));
  }
  return message;
}

std::string read_tools(const std::string& path) {
  const std::string text = read_text_file(path);
  if (!parse_ordered_json(text).is_array()) fail(ErrorCode::invalid_argument, "{}: not a JSON array of tools", path);
  return text;
}

class Conversation {
 public:
  // `continues_text`: the model has no template; its text is held to what fits into the context.
  Conversation(Console& console, const ChatCommandOptions& options, Chat& chat, InterruptGuard& interrupt, bool continues_text)
      : console_(console),
        options_(options),
        chat_(chat),
        continues_text_(continues_text),
        interrupt_(interrupt),
        params_(options.generate.params),
        system_(options.system) {
    prompt_.variables = options.variables;
    if (!options.tools_file.empty()) take_tools(options.tools_file);
  }

  // Whether Ctrl-C stopped the answer.
  bool say(const std::string& text) {
    messages_.push_back({.role = "user", .content = text});
    return answer();
  }
  void loop();

 private:
  bool answer();
  // Leaves out the oldest messages of a text until it is at most half of the context.
  void shorten_text();
  // False: the program ends.
  bool command(const std::string& line);
  void drop_answer();
  void set(const std::string& rest);
  // Reads a file of tools, and says which schemas cannot be enforced.
  void take_tools(const std::string& path);
  void save(const std::string& path) const;
  void load(const std::string& path);
  void show_statistics() const;
  void show_metrics() const;
  void print_json() const;
  [[nodiscard]] InputLine read_message(LineEditor& editor);

  Console& console_;
  const ChatCommandOptions& options_;
  Chat& chat_;
  bool continues_text_;
  bool has_told_of_length_ = false;
  InterruptGuard& interrupt_;
  GenerationParams params_;
  std::string system_;
  ChatPrompt prompt_;
  std::vector<ChatMessage> messages_;
  ChatAnswer last_;
};

bool Conversation::answer() {
  prompt_.messages.clear();
  if (!system_.empty()) prompt_.messages.push_back({.role = "system", .content = system_});
  prompt_.messages.insert(prompt_.messages.end(), messages_.begin(), messages_.end());
  if (continues_text_) shorten_text();
  GenerationParams params = params_;
  params.is_cancelled = [this] { return interrupt_.requested(); };
  AnswerPrinter printer(console_, console_.output_is_terminal && !console_.plain_terminal && !options_.no_color);
  try {
    last_ = chat_.answer(prompt_, params, [&](const ChatEvent& event) {
      if (!options_.generate.json) printer.show(event);
      return !interrupt_.requested();
    });
  } catch (const Error&) {
    printer.end();
    messages_.pop_back();  // what cannot be answered is not part of the conversation
    throw;
  }
  printer.end();
  messages_.push_back(last_.message);
  if (options_.generate.json) {
    print_json();
    return interrupt_.requested();
  }
  if (console_.output_is_terminal) console_.out << std::endl;
  if (last_.stop_reason == StopReason::context_full) {
    console_.warn(fmt::format("the answer ends early: the context of {} tokens is full; /clear resets it", chat_.context()));
  }
  if (!options_.generate.no_timings) show_statistics();
  return interrupt_.requested();
}

void Conversation::shorten_text() {
  std::vector<ChatMessage>& messages = prompt_.messages;
  const size_t all = messages.size();
  while (messages.size() > 1 && chat_.count_tokens(prompt_) > chat_.context() / 2) messages.erase(messages.begin());
  if (messages.size() == all || std::exchange(has_told_of_length_, true)) return;
  console_.note(fmt::format("the text is longer than half of the context of {} tokens: the model reads its last part", chat_.context()));
}

void Conversation::show_statistics() const {
  const auto rate = [](int64_t count, double seconds) {
    return seconds > 0 ? fmt::format(", {:.1f} tokens/s", static_cast<double>(count) / seconds) : "";
  };
  const std::string drafted =
      last_.draft_tokens > 0 ? fmt::format("; draft {} of {} tokens right", last_.accepted_tokens, last_.draft_tokens) : "";
  console_.note(fmt::format("prompt {} tokens, {} of them cached{}; answer {} tokens{}{}; stopped by {}", last_.prompt_tokens,
                            last_.cached_tokens, rate(last_.prompt_tokens - last_.cached_tokens, last_.prefill_seconds),
                            last_.completion_tokens, rate(last_.completion_tokens - 1, last_.decode_seconds), drafted,
                            to_string(last_.stop_reason)));
}

// The engine's counters, on this terminal as /metrics of a server has them for Prometheus.
void Conversation::show_metrics() const {
  const EngineMetrics metrics = chat_.metrics();
  uint64_t answers = 0;
  for (const uint64_t count : metrics.finished) answers += count;
  const auto line = [&](std::string_view name, const std::string& value) { console_.err << fmt::format("{:<22} {}\n", name, value); };
  const auto mean = [](const LatencyHistogram& times) {
    return times.count() == 0 ? std::string("-") : fmt::format("{:.1f} ms", 1000 * times.sum() / static_cast<double>(times.count()));
  };
  line("answers", fmt::format("{}, {} failed", answers, metrics.failed));
  line("prompt tokens", fmt::format("{}, {} of them cached", metrics.prompt_tokens, metrics.prefix_hit_tokens));
  line("answer tokens", fmt::to_string(metrics.generated_tokens));
  line("time to first token", mean(metrics.time_to_first_token));
  line("time between tokens", mean(metrics.inter_token));
  const double rate = metrics.inter_token.sum() > 0 ? static_cast<double>(metrics.inter_token.count()) / metrics.inter_token.sum() : 0;
  line("tokens per second", rate > 0 ? fmt::format("{:.1f}", rate) : "-");
  line("KV cache",
       fmt::format("{} of {} blocks in use, {} more keep prefixes", metrics.kv_blocks_used, metrics.kv_blocks, metrics.kv_blocks_kept));
  if (metrics.draft_tokens > 0)
    line("draft tokens", fmt::format("{}, {} of them right", metrics.draft_tokens, metrics.accepted_draft_tokens));
}

void Conversation::print_json() const {
  const Json json = {
      {"message", to_json(last_.message)},
      {"finish_reason", to_string(last_.stop_reason)},
      {"usage",
       {{"prompt_tokens", last_.prompt_tokens}, {"cached_tokens", last_.cached_tokens}, {"completion_tokens", last_.completion_tokens}}},
      {"seed", last_.seed},
      {"prefill_seconds", last_.prefill_seconds},
      {"decode_seconds", last_.decode_seconds}};
  console_.out << json_text(json, 2) << std::endl;
  if (!console_.out) fail(ErrorCode::io, "standard output: cannot be written to; is the disk full?");
}

// Forgets the last message of the user and what came after it, but leaves the message where `keep` says so.
void Conversation::drop_answer() {
  while (!messages_.empty() && messages_.back().role != "user") messages_.pop_back();
  if (messages_.empty()) fail(ErrorCode::invalid_argument, "there is no message to answer yet");
}

void Conversation::take_tools(const std::string& path) {
  std::string tools = read_tools(path);
  for (const EnforceableTools::Refusal& refusal : chat_.held_tools(tools).refusals) {
    console_.warn(fmt::format("tool {}: calls are not held to all of its schema: {}", refusal.name, refusal.reason));
  }
  prompt_.tools = std::move(tools);
}

void Conversation::set(const std::string& rest) {
  const size_t space = rest.find(' ');
  const std::string name = rest.substr(0, space);
  const std::string value = space == std::string::npos ? "" : rest.substr(space + 1);
  SamplingParams& sampling = params_.sampling;
  const auto* const parameter =
      std::find_if(kSamplingParameters.begin(), kSamplingParameters.end(), [&](const SamplingParameter& row) { return row.name == name; });
  if (name.empty()) {
    for (const SamplingParameter& row : kSamplingParameters) {
      row.visit(sampling, [&](auto value) { console_.err << fmt::format("{} {:g}, ", row.name, static_cast<double>(value)); });
    }
    console_.err << fmt::format("max_tokens {}, seed {}\n",
                                params_.max_tokens == kRestOfContext ? "what is left of the context" : fmt::to_string(params_.max_tokens),
                                sampling.seed ? fmt::to_string(*sampling.seed) : "random");
  } else if (parameter != kSamplingParameters.end()) {
    parse_sampling_parameter(*parameter, "/set " + name, value)(sampling);
  } else if (name == "max_tokens") {
    params_.max_tokens = parse_integer("/set max_tokens", value, 0, 1'000'000'000);
  } else if (name == "seed") {
    sampling.seed = parse_seed("/set seed", value);
  } else if (name == "thinking") {
    prompt_.variables = parse_switch("/set thinking", value) ? R"({"enable_thinking":true})" : R"({"enable_thinking":false})";
  } else {
    fail(ErrorCode::invalid_argument, "/set {}: there are the parameters that /set lists, and thinking", name);
  }
}

void Conversation::save(const std::string& path) const {
  Json json = {{"messages", Json::array()}};
  if (!system_.empty()) json["messages"].push_back({{"role", "system"}, {"content", system_}});
  for (const ChatMessage& message : messages_) json["messages"].push_back(to_json(message));
  std::ofstream file(path);
  file << json_text(json, 2) << '\n';
  if (!file.flush()) fail(ErrorCode::io, "{}: cannot be written", path);
  console_.note(fmt::format("saved {} messages to {}", messages_.size(), path));
}

void Conversation::load(const std::string& path) {
  const Json json = parse_ordered_json(read_text_file(path));
  const Json* list = json.is_array() ? &json : json.is_object() && json.contains("messages") ? &json["messages"] : nullptr;
  if (list == nullptr || !list->is_array()) fail(ErrorCode::invalid_argument, "{}: no JSON with a list of messages", path);
  std::vector<ChatMessage> messages;
  std::string system;
  for (const Json& each : *list) {
    if (!each.is_object() || !each.contains("role")) fail(ErrorCode::invalid_argument, "{}: a message has no role", path);
    ChatMessage message = message_of(each);
    if (message.role == "system" && messages.empty()) {
      system = message.content.value_or("");
    } else {
      messages.push_back(std::move(message));
    }
  }
  messages_ = std::move(messages);
  system_ = std::move(system);
  console_.note(fmt::format("loaded {} messages from {}", messages_.size(), path));
}

bool Conversation::command(const std::string& line) {
  const size_t space = line.find(' ');
  const std::string name = line.substr(0, space);
  std::string rest =
      space == std::string::npos
          ? ""
          : line.substr(line.find_first_not_of(' ', space) == std::string::npos ? line.size() : line.find_first_not_of(' ', space));
  const auto file = [&] {
    if (rest.empty()) fail(ErrorCode::invalid_argument, "{}: name a file", name);
    return rest;
  };
  if (name == "/quit" || name == "/exit" || name == "/bye") return false;
  if (name == "/help" || name == "/?") {
    console_.err << kCommands;
  } else if (name == "/system") {
    if (rest.empty()) {
      console_.err << (system_.empty() ? "no system message" : system_) << '\n';
    } else {
      system_ = rest;
    }
  } else if (name == "/regen") {
    drop_answer();
    (void)answer();
  } else if (name == "/edit") {
    if (rest.empty()) fail(ErrorCode::invalid_argument, "/edit: write the new message behind it");
    drop_answer();
    messages_.pop_back();
    (void)say(rest);
  } else if (name == "/save") {
    save(file());
  } else if (name == "/load") {
    load(file());
  } else if (name == "/set") {
    set(rest);
  } else if (name == "/tools") {
    take_tools(file());
  } else if (name == "/clear") {
    messages_.clear();
  } else if (name == "/stats") {
    show_statistics();
  } else if (name == "/metrics") {
    show_metrics();
  } else {
    fail(ErrorCode::invalid_argument, "no command '{}'; /help lists them", name);
  }
  return true;
}

// A line, or several between """ or joined by a backslash at their ends.
InputLine Conversation::read_message(LineEditor& editor) {
  InputLine line = editor.read();
  constexpr std::string_view kQuotes = "\"\"\"";
  if (line.kind != InputLine::Kind::text) return line;
  if (line.text.starts_with(kQuotes)) {
    std::string text = line.text.substr(kQuotes.size());
    while (!text.ends_with(kQuotes)) {
      const InputLine more = editor.read();
      if (more.kind != InputLine::Kind::text) return more;
      text += (text.empty() ? "" : "\n") + more.text;
    }
    line.text = text.substr(0, text.size() - kQuotes.size());
    return line;
  }
  while (line.text.ends_with('\\')) {
    line.text.pop_back();
    const InputLine more = editor.read();
    if (more.kind != InputLine::Kind::text) return more;
    line.text += "\n" + more.text;
  }
  return line;
}

void Conversation::loop() {
  if (!continues_text_) console_.err << fmt::format("chat template: {}; ", chat_.chat_template().name());
  console_.err << "/help lists commands, Ctrl-D ends.\n";
  LineEditor editor(console_, interrupt_);
  bool interrupted = false;
  for (;;) {
    const InputLine line = read_message(editor);
    if (line.kind == InputLine::Kind::end) break;
    if (line.kind == InputLine::Kind::interrupt) {
      console_.err << std::endl;
      if (interrupted && line.text.empty()) {
        console_.exit_code = kExitInterrupted;
        return;
      }
      interrupted = true;
      console_.err << "Ctrl-C again ends the program, as Ctrl-D does." << std::endl;
      continue;
    }
    interrupted = false;
    if (line.text.find_first_not_of(" \t\n") == std::string::npos) continue;
    try {
      if (!line.text.starts_with('/')) {
        (void)say(line.text);
      } else if (!command(line.text)) {
        return;
      }
    } catch (const Error& error) {
      console_.error(console_.message_of(error));
    }
  }
  console_.err << std::endl;
}

std::optional<std::string> first_message(const Console& console, const GenerateOptions& options) {
  std::string text;
  if (options.prompt) {
    text = *options.prompt;
  } else if (!options.file.empty() && options.file != "-") {
    text = read_text_file(options.file);
  } else if (console.input_is_terminal && options.file != "-") {
    return std::nullopt;
  } else {
    text = read_standard_input(console, "give --prompt");
  }
  while (text.ends_with('\n') || text.ends_with('\r')) text.pop_back();
  if (text.empty())
    fail(ErrorCode::invalid_argument, "the message is empty; give --prompt TEXT or --file FILE, or write it to standard input");
  check_prompt(text, "message");
  return text;
}

}  // namespace

void ChatFlags::add_to(Flags& flags) {
  const char* group = "Chat";
  flags.add_switch("--chat", "treat the prompt as a message, and answer it using the model's chat template", chat).group(group);
  flags.add_text("--system,--system-prompt", "TEXT", "the system prompt; implies --chat", system).group(group);
  flags.add_text("--tools", "FILE", "a JSON array of the tools that the model may call; implies --chat", tools).group(group);
}

void chat_once(Console& console, const GenerateOptions& generate, const ChatFlags& flags, const std::string& chat_template,
               const std::function<ModelDevice()>& open_device) {
  if (!generate.receipt.empty()) fail(ErrorCode::invalid_argument, "--chat: --receipt is for texts that are continued");
  ChatCommandOptions options;
  options.generate = generate;
  options.system = flags.system;
  options.tools_file = flags.tools;
  options.chat_template = chat_template;
  chat(console, options, open_device);
}

void add_chat_flags(Flags& flags, ChatCommandOptions& options, Console& console) {
  GenerateOptions& generate = options.generate;
  generate.params.max_tokens = kRestOfContext;
  add_model(flags, generate.model);
  const Flags::Added prompt = flags.add_value("-p,--prompt", "TEXT", "answer this one message and end",
                                              [&generate](const std::string& text) { generate.prompt = text; });
  flags.add_text("-f,--file", "FILE", "read the one message from FILE; - is standard input", generate.file).excludes(prompt);
  flags.add_text("--system,--system-prompt", "TEXT", "the system prompt", options.system);
  flags.add_text("--tools", "FILE", "a JSON array of the tools that the model may call", options.tools_file);
  flags.add_text("--chat-template", "NAME|FILE",
                 "the chat template: a name (chatml, llama3, mistral, gemma …) or a Jinja file (the model's own)", options.chat_template);
  flags.add_text(
      "--chat-format", "NAME",
      "how the model writes tool calls: hermes, qwen3, qwen3-coder, glm, llama3, mistral, deepseek, kimi, minimax, gpt-oss, lfm2, gemma4, "
      "plain (as the template writes them)",
      options.format);
  flags.add_text("--chat-template-kwargs", "JSON", "more variables for the template, such as {\"enable_thinking\":false}",
                 options.variables);
  flags.add_integer("-n,--max-tokens,--n-predict,--predict", "maximum number of tokens in an answer (what is left of the context)",
                    generate.params.max_tokens, 0);
  add_context(flags, generate.context, "context size in tokens, for the whole conversation (the model's, at most 4096)", 1);
  add_threads(flags, generate.threads);
  add_adapter_files(flags, generate.adapters);
  add_precision(flags, generate.precision);
  add_draft(flags, generate.draft);
  add_mlock(flags, generate.mlock);
  flags.add_values("-r,--stop,--reverse-prompt", "TEXT", "stop an answer at this text, which is not printed; repeatable",
                   generate.params.stop);
  flags.add_switch("--json", "print the answer to one message as a JSON object: message, finish reason, tokens, timings", generate.json);
  add_format(flags, generate.format);
  add_sampling(flags, generate.sampling);
  flags.add_switch("--no-color", "no colours on a terminal", options.no_color);
  add_verbosity(flags, console);
  flags.add_switch("--no-timings,--no-show-timings", "do not print tokens and speed after an answer", generate.no_timings).group("General");
}

void chat(Console& console, const ChatCommandOptions& options, const std::function<ModelDevice()>& open_device) {
  const GenerateOptions& generate = options.generate;
  const std::optional<std::string> message = first_message(console, generate);
  check_prompt(options.system, "--system");
  if (generate.json && !message) fail(ErrorCode::invalid_argument, "--json: answers one message; give --prompt, --file, or standard input");
  const std::filesystem::path path = resolve_model(console, generate.model);
  lock_memory_if(generate.mlock);
  const LoadedModel loaded = load_model(console, path, open_device(), generate.precision);
  check_chats(loaded.model->info());
  const std::vector<ChatTemplateSource> templates = find_chat_templates(loaded.file);
  const bool continues_text = templates.empty() && options.chat_template.empty() && options.tools_file.empty() && options.format.empty();
  ChatTemplate chosen =
      continues_text ? ChatTemplate::parse(kContinuedText, "continued text")
                     : choose_chat_template(templates, options.chat_template, loaded.model->info().name, !options.tools_file.empty());
  if (continues_text) {
    console.warn(
        fmt::format("{} has no chat template: it does not answer, it continues the text of the messages; --chat-template chooses one",
                    loaded.model->info().name));
  }
  if (!options.tools_file.empty() && !chosen.takes_tools()) console.warn("--tools: the chat template does not tell the model of tools");
  ChatCommandOptions resolved = options;
  load_adapters(generate.adapters, *loaded.model, resolved.generate.params);
  const std::shared_ptr<LanguageModel> draft = load_draft(console, generate.draft, loaded, generate.precision);
  Chat chat(*loaded.model, loaded.tokenizer, std::move(chosen),
            {.context = generate.context,
             .format = options.format,
             .answer = generate.format,
             .draft = draft.get(),
             .draft_tokens = generate.draft.tokens});
  resolved.generate.format.reset();  // the conversation holds answers to it, behind their reasoning
  resolve_with_model(console, resolved.generate, loaded);
  InterruptGuard interrupt;
  Conversation conversation(console, resolved, chat, interrupt, continues_text);
  if (!message) {
    conversation.loop();
  } else if (conversation.say(*message)) {
    console.exit_code = kExitInterrupted;
  }
  note_fallback_ops(console, loaded.model->device());
}

}  // namespace wick
