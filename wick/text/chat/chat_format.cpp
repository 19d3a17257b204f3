#include "wick/text/chat/chat_format.h"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "wick/base/fail.h"
#include "wick/text/chat/chat_parser.h"

namespace wick {
namespace {

constexpr Marker kXmlInvoke{"<invoke name=\"", Mark::function};
constexpr Marker kDsmlInvoke{"<｜DSML｜invoke name=\"", Mark::function};

const std::vector<ChatFormat>& formats() {
  static const std::vector<ChatFormat> kFormats = {
      {"plain", {}},
      {"hermes", {{"<tool_call>", Mark::call}, kXmlFunction}},
      {"llama3", {{"<|python_tag|>", Mark::python}, kXmlFunction}, true},
      {"mistral", {{"[TOOL_CALLS]", Mark::named}}},
      {"deepseek",
       {{"<｜tool▁calls▁begin｜>", Mark::calls},
        {"<｜tool▁call▁begin｜>", Mark::named},
        {"<｜tool▁calls▁end｜>", Mark::calls},
        {"<｜DSML｜function_calls>", Mark::calls},
        {"</｜DSML｜function_calls>", Mark::calls},
        kDsmlInvoke}},
      {"kimi",
       {{"<|tool_calls_section_begin|>", Mark::calls}, {"<|tool_call_begin|>", Mark::named}, {"<|tool_calls_section_end|>", Mark::calls}}},
      {"minimax", {{"<minimax:tool_call>", Mark::calls}, {"</minimax:tool_call>", Mark::calls}, kXmlInvoke}},
      {"gpt-oss", {{"<|channel|>", Mark::header}, {"<|start|>", Mark::header}}, false, true},
  };
  return kFormats;
}

// Other names of the same format.
constexpr std::pair<std::string_view, std::string_view> kAliases[] = {{"qwen3", "hermes"}, {"qwen3-coder", "hermes"}, {"xml", "hermes"},
                                                                      {"glm", "hermes"},   {"harmony", "gpt-oss"},    {"llama-3", "llama3"},
                                                                      {"chatml", "hermes"}};

}  // namespace

const ChatFormat& find_chat_format(std::string_view name) {
  for (const auto& [alias, meaning] : kAliases) {
    if (alias == name) name = meaning;
  }
  for (const ChatFormat& format : formats()) {
    if (format.name == name) return format;
  }
  fail(ErrorCode::invalid_argument, "no format '{}' of tool calls; there are {}", name, fmt::join(chat_formats(), ", "));
}

std::vector<std::string_view> chat_formats() {
  std::vector<std::string_view> names;
  for (const ChatFormat& format : formats()) names.push_back(format.name);
  return names;
}

std::string detect_chat_format(std::string_view source) {
  static constexpr std::pair<std::string_view, std::string_view> kSigns[] = {
      {"<|channel|>", "gpt-oss"}, {"[TOOL_CALLS]", "mistral"},     {"<｜tool▁call", "deepseek"},
      {"｜DSML｜", "deepseek"},   {"<|tool_call_begin|>", "kimi"}, {"<minimax:tool_call>", "minimax"},
      {"<tool_call>", "hermes"},  {"<|python_tag|>", "llama3"},    {"<|start_header_id|>", "llama3"},
      {"<function=", "hermes"}};
  for (const auto& [sign, format] : kSigns) {
    if (source.find(sign) != std::string_view::npos) return std::string(format);
  }
  return "plain";
}

}  // namespace wick
