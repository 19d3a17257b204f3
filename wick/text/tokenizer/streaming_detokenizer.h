// A StreamingDetokenizer turns tokens into text as they come, and holds back a character until all its bytes are there.
#pragma once

#include <memory>
#include <string>

#include "wick/text/tokenizer/token_decoder.h"
#include "wick/text/tokenizer/tokenizer.h"

namespace wick {

// The texts of all calls, put together, are decode() of all tokens.
class StreamingDetokenizer {
 public:
  // `continues_text`: other text comes before the first token, as when a prompt is continued, so that its leading space is kept.
  explicit StreamingDetokenizer(std::shared_ptr<const Tokenizer> tokenizer, bool continues_text = false, bool skip_special = true);

  // The text that became complete, valid UTF-8, often empty. Errors: those of decode().
  [[nodiscard]] std::string push(TokenId id);
  // Held-back bytes as U+FFFD; then starts a new text.
  [[nodiscard]] std::string finish();

 private:
  std::shared_ptr<const Tokenizer> tokenizer_;
  bool continues_text_;
  bool skip_special_;
  DecodeState state_;
  std::string held_back_;  // the first bytes of a character
};

}  // namespace wick
