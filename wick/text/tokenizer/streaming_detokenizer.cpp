#include "wick/text/tokenizer/streaming_detokenizer.h"

#include <utility>

#include "wick/text/tokenizer/tokenizer_parts.h"

namespace wick {

StreamingDetokenizer::StreamingDetokenizer(std::shared_ptr<const Tokenizer> tokenizer, bool continues_text, bool skip_special)
    : tokenizer_(std::move(tokenizer)),
      continues_text_(continues_text),
      skip_special_(skip_special),
      state_(tokenizer_->parts_->decoder.begin(continues_text)) {}

std::string StreamingDetokenizer::push(TokenId id) {
  tokenizer_->check_id(id);
  held_back_ += tokenizer_->parts_->decoder.next(id, skip_special_, state_);
  const size_t complete = held_back_.size() - incomplete_suffix(held_back_);
  if (complete == 0) return {};
  std::string text = std::exchange(held_back_, held_back_.substr(complete));
  text.resize(complete);
  return is_valid_utf8(text) ? text : replace_invalid(text, tokenizer_->parts_->decoder.rules().invalid);
}

std::string StreamingDetokenizer::finish() {
  const TokenDecoder& decoder = tokenizer_->parts_->decoder;
  const std::string rest = std::exchange(held_back_, {}) + decoder.finish(state_);
  state_ = decoder.begin(continues_text_);
  return replace_invalid(rest, decoder.rules().invalid);
}

}  // namespace wick
