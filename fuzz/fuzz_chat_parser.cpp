// Reads any bytes as what a model wrote: the events must be the same whole and byte by byte, and every call that begins must end.
//   first byte: which format, whether the prompt opened a reasoning block, and whether the tools are known
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "outcome.h"
#include "wick/text/chat/chat_parser.h"

namespace {

using Kind = wick::ChatEventKind;

void require(bool truth) {
  if (!truth) std::abort();
}

void append(std::vector<wick::ChatEvent>& all, std::vector<wick::ChatEvent> events) {
  for (wick::ChatEvent& event : events) {
    const bool text = event.kind != Kind::call_begin && event.kind != Kind::call_end;
    if (text && !all.empty() && all.back().kind == event.kind && all.back().call == event.call) {
      all.back().text += event.text;
    } else {
      all.push_back(std::move(event));
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  constexpr const char* kTools =
      R"([{"function":{"name":"f","parameters":{"properties":{"a":{"type":"string"},"p":{"anyOf":[{"type":"integer"},{"$ref":"#"}]}}}}}])";
  const auto formats = wick::chat_formats();
  const wick::ChatParserOptions options{.format = std::string(formats[(data[0] >> 2) % formats.size()]),
                                        .starts_in_reasoning = data[0] % 2 == 1,
                                        .tools = data[0] / 2 % 2 == 1 ? kTools : ""};
  wick::ChatParser whole(options);
  std::vector<wick::ChatEvent> expected;
  append(expected, whole.push(text));
  append(expected, whole.finish());
  wick::ChatParser cut(options);
  std::vector<wick::ChatEvent> events;
  for (const char byte : text) append(events, cut.push(std::string_view(&byte, 1)));
  append(events, cut.finish());
  require(events == expected);
  int64_t open = -1;
  for (const wick::ChatEvent& event : events) {
    if (event.kind == Kind::call_begin) {
      require(open == -1);
      open = event.call;
    }
    if (event.kind == Kind::call_end) {
      require(open == event.call);
      open = -1;
    }
  }
  require(open == -1);
  ++wick::fuzz::outcome.accepted;
  return 0;
}
