// Reads any bytes as a chat template and runs it over a conversation; only wick::Error may come of it, and soon.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "outcome.h"
#include "wick/base/error.h"
#include "wick/text/chat/chat_template.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view source(reinterpret_cast<const char*>(data), size);
  try {
    wick::ChatTemplate chat = wick::ChatTemplate::parse(source, "input");
    chat.set_clock(0);
    chat.set_limits({.steps = 200'000, .output_bytes = 1 << 20, .value_bytes = 1 << 22});
    wick::ChatPrompt prompt;
    prompt.messages = {{.role = "system", .content = "Be é🙂."},
                       {.role = "user", .content = "Hi\n"},
                       {.role = "assistant", .reasoning = "hm", .tool_calls = {{"id", "f", R"({"a":[1,2.5,null,"x"]})"}}},
                       {.role = "tool", .content = "ok", .name = "f", .tool_call_id = "id"}};
    prompt.tools = R"([{"type":"function","function":{"name":"f","parameters":{"type":"object","properties":{"a":{"type":"array"}}}}}])";
    prompt.variables = R"({"enable_thinking":true,"n":3,"d":{"k":[1,[2]]}})";
    (void)chat.render(prompt);
    ++wick::fuzz::outcome.accepted;
  } catch (const wick::Error&) {
    ++wick::fuzz::outcome.refused;
  }
  return 0;
}
