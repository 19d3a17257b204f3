// Bodies and targets of HTTP requests: JSON with its limits, fields, prompts. The first line is the target, the rest the body.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "outcome.h"
#include "unit/fake_language_model.h"
#include "wick/server/answer_format.h"
#include "wick/server/chat_request.h"
#include "wick/server/fields.h"
#include "wick/server/generation_fields.h"
#include "wick/server/http_message.h"
#include "wick/server/prompts.h"
#include "wick/server/responses_request.h"

namespace {

// With the vocabulary that texts in requests become tokens of; nothing is generated.
const wick::server::Service& service() {
  static const std::shared_ptr<const wick::Tokenizer> tokenizer =
      wick::Tokenizer::parse(R"({"model":{"type":"BPE","vocab":{"a":0,"b":1,"x":2,"ab":3},"merges":["a b"]}})", "letters");
  static wick::FakeLanguageModel model(tokenizer->vocab_size(), 64, [](const std::vector<int32_t>&) { return 0; });
  static const wick::server::Service only = [] {
    wick::server::Service made;
    made.engine = std::make_unique<wick::Engine>(model, tokenizer);
    return made;
  }();
  return only;
}

// The same body as each kind of request; what is wrong with one says nothing of the others.
void read_conversations(const wick::server::Json& json) {
  wick::server::ChatRequest chat;
  wick::server::Fields openai(json);
  wick::server::read_openai_chat(openai, chat);
  wick::server::ChatRequest response;
  wick::server::Fields items(json);
  wick::server::read_responses(items, service(), response);
  wick::server::Fields form(json);
  (void)wick::server::read_named_format(form, "output_format");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::string_view target = text.substr(0, text.find('\n'));
  const std::string_view body = target.size() < text.size() ? text.substr(target.size() + 1) : std::string_view{};
  wick::server::HttpRequest http;
  (void)wick::server::parse_target(target, http);
  try {
    const wick::server::Json json = wick::server::parse_body(body);
    read_conversations(json);
    wick::server::Fields fields(json);
    fields.require("prompt");
    (void)wick::server::read_prompts(fields, service().engine->tokenizer(), "prompt", 64, /*parses_special=*/true);
    wick::Request request;
    wick::server::read_generation(fields, service(), request);
    wick::server::read_max_tokens(fields, service(), {"max_tokens"}, 16, request);
    fields.check();
    ++wick::fuzz::outcome.accepted;
  } catch (const wick::server::ApiError& error) {
    (void)error.body(wick::server::Dialect::fleet);
    ++wick::fuzz::outcome.refused;
  }
  return 0;
}
