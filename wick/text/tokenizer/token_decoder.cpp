#include "wick/text/tokenizer/token_decoder.h"

#include <utility>

#include "wick/base/fail.h"
#include "wick/text/tokenizer/byte_alphabet.h"

namespace wick {

std::string TokenDecoder::plain_bytes(TokenId id) const {
  const std::string_view text = vocabulary_->text(id);
  const TokenKind kind = vocabulary_->kind(id);
  if (kind == TokenKind::unknown) return rules_.unknown_text;
  if (kind == TokenKind::control || (kind == TokenKind::user_defined && rules_.literal_user_defined)) return std::string(text);
  if (kind == TokenKind::byte) {
    const int byte = parse_byte_token(text);
    if (byte >= 0) return std::string(1, static_cast<char>(byte));
  }
  if (rules_.letters_to_bytes) {
    if (auto bytes = letters_to_bytes(text)) return *std::move(bytes);
  }
  return rules_.space_marker.empty() ? std::string(text) : replace_all(text, rules_.space_marker, " ");
}

DecodeState TokenDecoder::begin(bool continues_text) const {
  DecodeState state{.first_token = !continues_text, .any_text = continues_text, .steps = std::vector<DecodeStepState>(steps_.size())};
  if (continues_text) {
    for (DecodeStepState& step : state.steps) step.tokens = DecodeStepState::kInside;
  }
  return state;
}

std::string TokenDecoder::bytes(TokenId id) const {
  if (vocabulary_->kind(id) == TokenKind::control) return {};
  DecodeState state = begin(true);
  for (DecodeStepState& step : state.steps) step.bytes_pass = true;
  std::string text = next(id, true, state);
  return text += finish(state);
}

void TokenDecoder::drop_leading_space(std::string& text, const DecodeState& state) const {
  switch (rules_.leading_space) {
    case LeadingSpace::kept: return;
    case LeadingSpace::drop_one:
      if (state.first_token && text.starts_with(' ')) text.erase(0, 1);
      return;
    case LeadingSpace::drop_until_text:
      if (!state.any_text && text.starts_with(' ')) text.erase(0, 1);
      return;
  }
}

std::string TokenDecoder::next(TokenId id, bool skip_special, DecodeState& state) const {
  const TokenKind kind = vocabulary_->kind(id);
  const bool special = kind == TokenKind::control;
  if (special && skip_special) return {};
  std::string text = plain_bytes(id);
  if (rules_.clean_up) text = clean_up_spaces(text);
  // A byte token or the unknown text does not begin with the space that encoding added.
  if (kind == TokenKind::normal || kind == TokenKind::user_defined || kind == TokenKind::unused) drop_leading_space(text, state);
  state.first_token = false;
  state.any_text = state.any_text || !text.empty();
  if (steps_.empty()) return text;
  state.bytes += text.size();
  DecodeStep::Texts texts{std::move(text)};
  return run_steps(std::move(texts), state, false);
}

std::string TokenDecoder::finish(DecodeState& state) const { return steps_.empty() ? std::string() : run_steps({}, state, true); }

std::string TokenDecoder::run_steps(DecodeStep::Texts texts, DecodeState& state, bool last) const {
  for (size_t index = 0; index < steps_.size(); ++index) {
    DecodeStep::Texts rewritten;
    for (const std::string& text : texts) steps_[index]->push(text, state.steps[index], rewritten);
    if (last) steps_[index]->finish(state.steps[index], rewritten);
    texts = std::move(rewritten);
    size_t size = 0;
    for (const std::string& text : texts) size += text.size();
    if (size > largest_rewriting(state.bytes)) {
      fail(ErrorCode::unsupported, "the tokenizer's decoders make more than {} bytes of tokens of {}", largest_rewriting(state.bytes),
           state.bytes);
    }
  }
  std::string result;
  for (const std::string& text : texts) result += text;
  return result;
}

}  // namespace wick
