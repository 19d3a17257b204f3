#include "wick/text/token_decoder.h"

#include <algorithm>
#include <array>

#include "wick/text/byte_alphabet.h"

namespace wick {
namespace {

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  if (from.empty()) return;
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) text.replace(at, from.size(), to);
}

// What transformers calls clean_up_tokenization, of one token's text.
void clean_up(std::string& text) {
  using Rule = std::pair<std::string_view, std::string_view>;
  static constexpr std::array<Rule, 11> kRules = {{{" .", "."},
                                                   {" ?", "?"},
                                                   {" !", "!"},
                                                   {" ,", ","},
                                                   {" ' ", "'"},
                                                   {" n't", "n't"},
                                                   {" 'm", "'m"},
                                                   {" do not", " don't"},
                                                   {" 's", "'s"},
                                                   {" 've", "'ve"},
                                                   {" 're", "'re"}}};
  for (const auto& [from, to] : kRules) replace_all(text, from, to);
}

}  // namespace

std::string TokenDecoder::plain_bytes(TokenId id, bool drop_spaces) const {
  const std::string_view text = vocabulary_->text(id);
  const TokenKind kind = vocabulary_->kind(id);
  if (kind == TokenKind::unknown) return rules_.unknown_text;
  if (kind == TokenKind::control || (kind == TokenKind::user_defined && rules_.literal_user_defined)) return std::string(text);
  if (rules_.byte_fallback || kind == TokenKind::byte) {
    const int byte = parse_byte_token(text);
    if (byte >= 0) return std::string(1, static_cast<char>(byte));
  }
  if (rules_.letters_to_bytes) {
    if (auto bytes = letters_to_bytes(text)) return *std::move(bytes);
  }
  std::string result(text);
  for (const auto& [from, to] : rules_.replacements) replace_all(result, from, drop_spaces && to == " " ? std::string_view() : to);
  return result;
}

std::string TokenDecoder::bytes(TokenId id) const {
  if (vocabulary_->kind(id) == TokenKind::control) return {};
  DecodeState state{.first_token = false, .any_text = true, .word_ended = false};
  return next(id, true, state);
}

void TokenDecoder::drop_leading_space(std::string& text, const DecodeState& state) const {
  switch (rules_.leading_space) {
    case LeadingSpace::kept:
    case LeadingSpace::drop_all_of_first: return;
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
  std::string text = plain_bytes(id, state.first_token && rules_.leading_space == LeadingSpace::drop_all_of_first);
  if (rules_.word_pieces) {
    const std::string& prefix = rules_.continuing_prefix;
    if (!prefix.empty() && text.starts_with(prefix) && !state.first_token) {
      text.erase(0, prefix.size());
    } else if (!state.first_token) {
      text = ' ' + text;
    }
  }
  if (std::exchange(state.word_ended, false)) text = ' ' + text;
  if (!rules_.word_suffix.empty() && text.ends_with(rules_.word_suffix)) {
    text.resize(text.size() - rules_.word_suffix.size());
    state.word_ended = true;
  }
  if (rules_.clean_up) clean_up(text);
  // A byte token or the unknown text does not begin with the space that encoding added.
  if (kind == TokenKind::normal || kind == TokenKind::user_defined || kind == TokenKind::unused) drop_leading_space(text, state);
  state.first_token = false;
  state.any_text = state.any_text || !text.empty();
  return text;
}

}  // namespace wick
