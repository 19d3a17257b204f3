// Reads any bytes as what a model wrote: the events must be the same whole and byte by byte, and every call that begins must end; also
// where the marks are tokens, special ones and others.
//   first byte: which format, whether the prompt opened a reasoning block, and whether the tools are known
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "outcome.h"
#include "wick/text/chat/chat_parser.h"
#include "wick/text/tokenizer/byte_alphabet.h"
#include "wick/text/tokenizer/tokenizer.h"

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

void require_calls_end(const std::vector<wick::ChatEvent>& events) {
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
}

constexpr std::string_view kMarks[] = {"<tool_call>",
                                       "</tool_call>",
                                       "<think>",
                                       "</think>",
                                       "[TOOL_CALLS]",
                                       "[ARGS]",
                                       "[CALL_ID]",
                                       "<|python_tag|>",
                                       "<|eom_id|>",
                                       "<|channel|>",
                                       "<|message|>",
                                       "<|start|>",
                                       "<|end|>",
                                       "<|call|>",
                                       "<|constrain|>",
                                       "<|tool_calls_section_begin|>",
                                       "<|tool_call_begin|>",
                                       "<|tool_call_argument_begin|>",
                                       "<|tool_call_end|>",
                                       "<|tool_calls_section_end|>",
                                       "<|tool_call_start|>",
                                       "<|tool_call>",
                                       "<tool_call|>",
                                       "<minimax:tool_call>",
                                       "<｜tool▁calls▁begin｜>",
                                       "<｜tool▁call▁begin｜>",
                                       "<｜tool▁sep｜>",
                                       "<｜tool▁call▁end｜>",
                                       "<｜tool▁calls▁end｜>"};
constexpr wick::TokenId kFirstMark = 256;

// 256 bytes, and the marks.
std::shared_ptr<const wick::Tokenizer> make_tokenizer(bool special) {
  std::string vocab, added;
  for (int byte = 0; byte < 256; ++byte) {
    const std::string letter(wick::byte_to_letter(static_cast<uint8_t>(byte)));
    vocab += (byte == 0 ? "\"" : ",\"") + std::string(letter == "\"" || letter == "\\" ? "\\" : "") + letter + "\":" + std::to_string(byte);
  }
  wick::TokenId id = kFirstMark;
  for (const std::string_view mark : kMarks) {
    added += (added.empty() ? R"({"id":)" : R"(,{"id":)") + std::to_string(id++) + R"(,"content":")" + std::string(mark) +
             R"(","special":)" + (special ? "true}" : "false}");
  }
  return wick::Tokenizer::parse(
      R"({"added_tokens":[)" + added + R"(],"decoder":{"type":"ByteLevel"},"model":{"type":"BPE","merges":[],"vocab":{)" + vocab + "}}}",
      "built-in");
}

// The text as tokens: what is spelled like a mark is its token, all but every third one.
std::vector<wick::ChatEvent> read_tokens(const wick::ChatParserOptions& options, std::string_view text, bool special) {
  wick::ChatParser parser(options);
  std::vector<wick::ChatEvent> events;
  for (size_t marks = 0; !text.empty();) {
    size_t length = 1;
    wick::TokenId token = static_cast<uint8_t>(text.front());
    for (size_t index = 0; index < std::size(kMarks); ++index) {
      if (!text.starts_with(kMarks[index]) || ++marks % 3 == 0) continue;
      length = kMarks[index].size();
      token = kFirstMark + static_cast<wick::TokenId>(index);
      break;
    }
    append(events, parser.push(token, special && token >= kFirstMark ? "" : text.substr(0, length)));
    text.remove_prefix(length);
  }
  append(events, parser.finish());
  return events;
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
  require_calls_end(events);
  for (const bool special : {true, false}) {
    static const std::shared_ptr<const wick::Tokenizer> kTokenizers[] = {make_tokenizer(false), make_tokenizer(true)};
    wick::ChatParserOptions of_tokens = options;
    of_tokens.tokenizer = kTokenizers[special ? 1 : 0].get();
    require_calls_end(read_tokens(of_tokens, text, special));
  }
  ++wick::fuzz::outcome.accepted;
  return 0;
}
