#include "wick/server/chat_request.h"

#include <algorithm>
#include <utility>

#include "wick/base/fail.h"
#include "wick/server/answer_format.h"
#include "wick/server/prompt_length.h"

namespace wick::server {
namespace {

constexpr size_t kMaxMessages = 100'000;

void read_tool_calls(Fields& message, const std::string& path, ChatMessage& result) {
  const Json* const calls = message.list("tool_calls");
  if (calls == nullptr) return;
  for (size_t i = 0; i < calls->size(); ++i) {
    Fields call((*calls)[i], fmt::format("{}.tool_calls[{}]", path, i));
    call.require("function");
    ToolCall parsed{.id = call.text("id").value_or(""), .name = {}, .arguments = {}};
    if (const Json* const function = call.object("function")) {
      Fields members(*function, fmt::format("{}.tool_calls[{}].function", path, i));
      members.require("name");
      parsed.name = members.text("name").value_or("");
      // OpenAI writes arguments as a text of JSON, Ollama as an object.
      if (const Json* const arguments = members.find("arguments")) {
        parsed.arguments = arguments->is_string() ? arguments->get<std::string>() : to_text(*arguments);
        if (!parsed.arguments.empty() && !is_json(parsed.arguments)) members.violate("arguments", "must be JSON");
      }
      call.take(std::move(members.violations()));
    }
    message.take(std::move(call.violations()));
    result.tool_calls.push_back(std::move(parsed));
  }
}

void offer_tools(ChatRequest& chat, const Json& tools) {
  chat.chat.tools = to_text(tools);
  chat.uses_tools = true;
  chat.calls = ChatRules::Calls::allowed;
}

void read_tools(Fields& fields, ChatRequest& chat) {
  const Json* const tools = fields.list("tools");
  if (tools == nullptr || tools->empty()) return;
  for (size_t i = 0; i < tools->size(); ++i) {
    Fields tool((*tools)[i], fmt::format("tools[{}]", i));
    if (tool.text("type").value_or("function") != "function") tool.violate("type", "must be \"function\"");
    if (tool.require("function")) {
      if (const Json* const function = tool.object("function")) {
        Fields members(*function, fmt::format("tools[{}].function", i));
        (void)read_function_name(members);
        (void)members.text("description");
        (void)members.object("parameters");
        (void)members.boolean("strict");
        tool.take(std::move(members.violations()));
      }
    }
    fields.take(std::move(tool.violations()));
  }
  offer_tools(chat, *tools);
}

}  // namespace

std::string read_function_name(Fields& function) {
  function.require("name");
  std::string name = function.text("name").value_or("");
  if (name.empty() && !function.is_violated("name")) function.violate("name", "must not be empty");
  return name;
}

void read_content(Fields& message, std::string_view name, const std::string& path, ChatMessage& result) {
  const Json* const content = message.find(name);
  if (content == nullptr) return;
  if (content->is_string()) {
    result.content = content->get<std::string>();
    return;
  }
  if (!content->is_array()) {
    message.violate_path(fmt::format("{}.{}", path, name), "must be a text or a list of parts", shown(*content));
    return;
  }
  std::string text;
  for (size_t i = 0; i < content->size(); ++i) {
    const Json& part = (*content)[i];
    const std::string type = part.is_object() ? part.value("type", Json("")).is_string() ? part.value("type", "") : "" : "";
    if (type == "text" || type == "input_text" || type == "output_text") {
      Fields members(part, fmt::format("{}.{}[{}]", path, name, i));
      members.require("text");
      text += members.text("text").value_or("");
      message.take(std::move(members.violations()));
    } else if (type == "refusal") {
      Fields members(part, fmt::format("{}.{}[{}]", path, name, i));
      members.require("refusal");
      text += members.text("refusal").value_or("");
      message.take(std::move(members.violations()));
    } else {
      message.violate_path(fmt::format("{}.{}[{}].type", path, name, i), "must be \"text\": this model reads text only",
                           part.is_object() && part.contains("type") ? shown(part["type"]) : shown(part));
    }
  }
  result.content = std::move(text);
}

void refuse_pictures(Fields& fields) {
  const Json* const images = fields.list("images");
  if (images != nullptr && !images->empty()) fields.violate("images", "must be empty: this model reads text only");
}

ChatMessage read_message(Fields& fields, const Json& json, const std::string& path) {
  Fields message(json, path);
  ChatMessage result;
  if (message.require("role")) {
    result.role = message.text("role").value_or("");
    static constexpr std::string_view kRoles[] = {"system", "developer", "user", "assistant", "tool", "function"};
    const bool is_text = message.find("role")->is_string();
    if (is_text && std::ranges::find(kRoles, result.role) == std::end(kRoles)) {
      message.violate("role", "must be system, developer, user, assistant or tool");
    }
    // What OpenAI calls developer since 2024 is what templates know as system.
    if (result.role == "developer") result.role = "system";
    if (result.role == "function") result.role = "tool";
  }
  read_content(message, "content", path, result);
  read_tool_calls(message, path, result);
  // An assistant's text may be empty if it has calls or reasoning.
  const bool needs_content = result.tool_calls.empty() && result.role != "assistant";
  if (!message.has("content") && needs_content && json.is_object()) message.violate_path(path + ".content", "is required");
  if (const auto refusal = message.text("refusal"); refusal && result.content.value_or("").empty()) result.content = refusal;
  for (const char* name : {"thinking", "reasoning", "reasoning_content"}) {  // of Ollama, OpenRouter and vLLM, DeepSeek
    if (const auto value = message.text(name)) result.reasoning = *value;
  }
  if (message.has("function_call")) message.violate("function_call", "is not supported: write it as tool_calls");
  refuse_pictures(message);
  result.name = message.text(message.has("tool_name") ? "tool_name" : "name").value_or("");  // tool_name: Ollama's
  result.tool_call_id = message.text("tool_call_id").value_or("");
  fields.take(std::move(message.violations()));
  return result;
}

void choose_tool(Fields& fields, const std::string& word, const std::string& name, ChatRequest& chat) {
  if (word == "none") {
    chat.chat.tools.clear();
    chat.uses_tools = false;
    chat.calls = ChatRules::Calls::none;
    return;
  }
  if (word == "auto") return;
  if (word != "required") return fields.violate("tool_choice", "must be none, auto, required, or a function");
  if (!chat.uses_tools) return fields.violate("tool_choice", "needs tools");
  chat.calls = ChatRules::Calls::required;
  chat.only_tool = name;
  if (name.empty()) return;
  for (const Json& tool : parse_ordered_json(chat.chat.tools)) {
    if (tool.is_object() && tool.contains("function") && tool["function"].is_object() && tool["function"].value("name", Json("")) == name)
      return;
  }
  fields.violate("tool_choice", fmt::format("names {}, which is none of the tools", name));
}

namespace {

std::string name_of(const Json& tool) {
  const Json& function = tool.is_object() && tool.contains("function") ? tool["function"] : tool;
  return function.is_object() && function.contains("name") && function["name"].is_string() ? function["name"].get<std::string>() : "";
}

// {"type": "allowed_tools", "mode": "auto" or "required", "tools": […]}, in chat completions with an object of its own around mode and
// tools: only these are offered.
void allow_tools(Fields& choice, ChatRequest& chat) {
  const Json* const inner = choice.has("allowed_tools") ? choice.object("allowed_tools") : nullptr;
  static const Json kNone = Json::object();
  Fields nested(inner == nullptr ? kNone : *inner, "tool_choice.allowed_tools");
  Fields& members = inner == nullptr ? choice : nested;
  const std::string mode = members.text("mode").value_or("auto");
  if (mode != "auto" && mode != "required") members.violate("mode", "must be auto or required");
  const Json* const allowed = members.require("tools") ? members.list("tools") : nullptr;
  if (allowed != nullptr) {
    Json kept = Json::array();
    const Json offered = chat.chat.tools.empty() ? Json::array() : parse_ordered_json(chat.chat.tools);
    for (size_t i = 0; i < allowed->size(); ++i) {
      const std::string name = name_of((*allowed)[i]);
      const auto found = std::find_if(offered.begin(), offered.end(), [&](const Json& tool) { return name_of(tool) == name; });
      if (name.empty() || found == offered.end()) {
        members.violate_path(members.path_of(fmt::format("tools[{}]", i)), "names none of the tools", shown((*allowed)[i]));
      } else {
        kept.push_back(*found);
      }
    }
    if (!kept.empty()) {
      offer_tools(chat, kept);
    } else {
      choose_tool(members, "none", "", chat);
    }
    if (mode == "required") choose_tool(members, "required", "", chat);
  }
  if (inner != nullptr) choice.take(std::move(nested.violations()));
}

}  // namespace

void read_tool_choice(Fields& fields, ChatRequest& chat) {
  chat.parallel_calls = fields.boolean("parallel_tool_calls").value_or(true);
  const Json* const choice = fields.find("tool_choice");
  if (choice == nullptr) return;
  if (choice->is_string()) return choose_tool(fields, choice->get<std::string>(), "", chat);
  Fields members(*choice, "tool_choice");
  if (members.text("type").value_or("") == "allowed_tools") {
    allow_tools(members, chat);
    return fields.take(std::move(members.violations()));
  }
  // OpenAI's responses have the name beside the type.
  const Json* const function = members.has("function") ? members.object("function") : choice;
  const std::string type = members.text("type").value_or("");
  if (type != "function" && type != "custom") {
    members.violate("type", "must be \"function\", \"custom\" or \"allowed_tools\": this server has no tools of its own");
  }
  if (function != nullptr && function->is_object()) {
    Fields named(*function, function == choice ? "tool_choice" : "tool_choice.function");
    named.require("name");
    if (const auto name = named.text("name")) choose_tool(fields, "required", *name, chat);
    members.take(std::move(named.violations()));
  }
  fields.take(std::move(members.violations()));
}

void read_flat_tools(Fields& fields, ChatRequest& chat, const std::function<std::optional<Json>(Fields& tool)>& function_of) {
  const Json* const tools = fields.list("tools");
  if (tools == nullptr || tools->empty()) return;
  Json list = Json::array();
  for (size_t i = 0; i < tools->size(); ++i) {
    Fields tool((*tools)[i], fmt::format("tools[{}]", i));
    if (std::optional<Json> function = function_of(tool)) list.push_back({{"type", "function"}, {"function", std::move(*function)}});
    fields.take(std::move(tool.violations()));
  }
  if (!list.empty()) offer_tools(chat, list);
}

void read_messages(Fields& fields, const std::function<void(const Json& message, const std::string& path)>& read) {
  const Json* const messages = fields.require("messages") ? fields.list("messages") : nullptr;
  if (messages == nullptr) return;
  if (messages->empty()) fields.violate("messages", "must hold at least one message");
  if (messages->size() > kMaxMessages) return fields.violate("messages", fmt::format("must hold at most {} messages", kMaxMessages));
  // A list that is wrong all through gets a few words, not a million.
  for (size_t i = 0; i < messages->size() && fields.violations().size() < 20; ++i) read((*messages)[i], fmt::format("messages[{}]", i));
}

void continue_last_message(std::optional<bool> begins_answer, ChatRequest& chat) {
  const std::vector<ChatMessage>& messages = chat.chat.messages;
  const bool is_open = !messages.empty() && messages.back().role == "assistant" && messages.back().tool_calls.empty();
  // As llama-server does it: what the assistant said last is the beginning of its answer.
  chat.continues_last = chat.continues_last || (is_open && !begins_answer.value_or(false));
  chat.chat.add_generation_prompt = begins_answer.value_or(!chat.continues_last) && !chat.continues_last;
}

void read_openai_chat(Fields& fields, ChatRequest& chat) {
  read_messages(fields,
                [&](const Json& message, const std::string& path) { chat.chat.messages.push_back(read_message(fields, message, path)); });
  for (const char* name : {"functions", "function_call"}) {
    if (fields.has(name)) fields.violate(name, "is not supported: send tools and tool_choice, which took its place");
  }
  read_tools(fields, chat);
  read_tool_choice(fields, chat);
  chat.answer = read_answer_format(fields);
  Json variables = Json::object();
  if (const Json* const more = fields.object("chat_template_kwargs")) {
    variables = *more;
    for (const char* const own : {"messages", "tools", "add_generation_prompt", "bos_token", "eos_token"}) {
      if (!variables.contains(own)) continue;
      fields.violate_path(fmt::format("chat_template_kwargs.{}", own), "must not be there: it is the request's own to give");
      variables.erase(own);
    }
  }
  if (const auto effort = fields.text("reasoning_effort")) variables["reasoning_effort"] = *effort;
  if (!variables.empty()) chat.chat.variables = to_text(variables);
  const std::optional<bool> begins = fields.boolean("add_generation_prompt");
  chat.continues_last = fields.boolean("continue_final_message").value_or(false);
  if (chat.continues_last && begins.value_or(false)) {
    fields.violate("continue_final_message",
                   "cannot be combined with add_generation_prompt: an answer goes on with a message, or begins one");
  }
  continue_last_message(begins, chat);
}

namespace {

// The conversation up to the end of what the assistant said last. A mark after it shows where the template writes it; a template that
// does not write it as it is begins an answer, and the text follows.
std::string render_open(const ChatTemplate& chat_template, const ChatPrompt& prompt) {
  constexpr std::string_view kMark = "wick-continues-here";
  ChatPrompt open = prompt;
  ChatMessage& last = open.messages.back();
  const std::string content = last.content.value_or("");
  last.content = content + std::string(kMark);
  std::string text = chat_template.render(open);
  if (const size_t mark = text.rfind(kMark); mark != std::string::npos) {
    text.resize(mark);
    return text;
  }
  open.messages.pop_back();
  open.add_generation_prompt = true;
  return chat_template.render(open) + content;
}

}  // namespace

size_t count_tokens(const Service& service, const ChatRequest& chat) { return service.engine->encode_prompt(chat.rendered, true).size(); }

void render_chat(const Service& service, ChatRequest& chat) {
  if (const EngineInfo info = service.engine->info(); info.encoder) {
    throw ApiError(
        400, "INVALID_REQUEST",
        fmt::format("{} is an encoder ({}): it gives vectors or scores of texts and holds no conversation; take a decoder to chat",
                    service.model_id, info.architecture));
  }
  if (const EngineInfo info = service.engine->info(); info.source_tokens > 0) {
    throw ApiError(400, "INVALID_REQUEST",
                   fmt::format("{} is an encoder–decoder ({}): it writes one text from another and holds no conversation; use completions",
                               service.model_id, info.architecture));
  }
  if (!service.chat_template) throw ApiError(400, "NO_CHAT_TEMPLATE", service.chat_template_error);
  const Tokenizer& tokenizer = service.engine->tokenizer();
  const auto text_of = [&](std::optional<TokenId> token) { return token ? std::string(tokenizer.token_text(*token)) : std::string(); };
  chat.chat.bos_token = text_of(tokenizer.bos());
  chat.chat.eos_token = text_of(tokenizer.eos());
  try {
    const bool is_open = chat.continues_last && !chat.chat.messages.empty();
    chat.rendered = is_open ? render_open(*service.chat_template, chat.chat) : service.chat_template->render(chat.chat);
  } catch (const Error& error) {
    throw ApiError(400, "INVALID_REQUEST", error.what());
  }
}

void prepare_chat(const Service& service, ChatRequest& chat, bool max_tokens_given) {
  render_chat(service, chat);
  // Control tokens in a rendered conversation are what the template wrote.
  chat.request.params.parse_special = true;
  chat.request.prompt = chat.rendered;
  fit_into_context(*service.engine, chat.request, max_tokens_given);
  constrain(service, chat);
}

}  // namespace wick::server
