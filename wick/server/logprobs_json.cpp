#include "wick/server/logprobs_json.h"

#include "wick/base/fail.h"
#include "wick/base/utf8.h"

namespace wick::server {
namespace {

// What a token adds to a text; the vocabulary's spelling of control tokens.
std::string bytes_of(const Tokenizer& tokenizer, TokenId token) {
  return tokenizer.is_control(token) ? std::string(tokenizer.token_text(token)) : tokenizer.token_bytes(token);
}

// As OpenAI writes a token that is part of a character: "bytes:\xe2\x82".
std::string text_of(const std::string& bytes) {
  if (is_valid_utf8(bytes)) return bytes;
  std::string text = "bytes:";
  for (const char byte : bytes) text += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
  return text;
}

Json one_logprob(const Tokenizer& tokenizer, const TokenLogprob& value) {
  const std::string bytes = bytes_of(tokenizer, value.token);
  Json numbers = Json::array();
  for (const char byte : bytes) numbers.push_back(static_cast<unsigned char>(byte));
  return {{"token", text_of(bytes)}, {"logprob", value.logprob}, {"bytes", std::move(numbers)}};
}

}  // namespace

Json chat_logprob(const Tokenizer& tokenizer, const GeneratedLogprob& value) {
  Json json = one_logprob(tokenizer, value.chosen);
  Json& top = json["top_logprobs"] = Json::array();
  for (const TokenLogprob& other : value.top) top.push_back(one_logprob(tokenizer, other));
  return json;
}

Json completion_logprobs(const Tokenizer& tokenizer, std::span<const GeneratedLogprob> values, int64_t first_offset) {
  Json tokens = Json::array();
  Json logprobs = Json::array();
  Json tops = Json::array();
  Json offsets = Json::array();
  int64_t offset = first_offset;
  for (const GeneratedLogprob& value : values) {
    const std::string bytes = bytes_of(tokenizer, value.chosen.token);
    tokens.push_back(text_of(bytes));
    logprobs.push_back(value.chosen.logprob);
    offsets.push_back(offset);
    if (!tokenizer.is_control(value.chosen.token)) offset += static_cast<int64_t>(count_characters(bytes));
    Json top = Json::object();
    for (const TokenLogprob& other : value.top) top[text_of(bytes_of(tokenizer, other.token))] = other.logprob;
    tops.push_back(std::move(top));
  }
  return {{"tokens", tokens}, {"token_logprobs", logprobs}, {"top_logprobs", tops}, {"text_offset", offsets}};
}

}  // namespace wick::server
