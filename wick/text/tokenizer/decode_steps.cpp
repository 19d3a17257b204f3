#include "wick/text/tokenizer/decode_steps.h"

#include <algorithm>
#include <array>
#include <utility>

#include "wick/text/tokenizer/byte_alphabet.h"
#include "wick/text/tokenizer/vocabulary.h"
#include "wick/text/unicode/unicode.h"

namespace wick {
namespace {

// How many bytes at the end of `text` begin `literal` without being all of it.
size_t begun_literal(std::string_view text, std::string_view literal) noexcept {
  for (size_t length = std::min(text.size(), literal.size() - 1); length > 0; --length) {
    if (literal.starts_with(text.substr(text.size() - length))) return length;
  }
  return 0;
}

}  // namespace

std::string replace_all(std::string_view text, std::string_view from, std::string_view to) {
  std::string result;
  size_t done = 0;
  for (size_t at = text.find(from); !from.empty() && at != std::string_view::npos; at = text.find(from, done)) {
    result.append(text.substr(done, at - done)).append(to);
    done = at + from.size();
  }
  return result.append(text.substr(done));
}

std::string clean_up_spaces(std::string_view text) {
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
  std::string result(text);
  for (const auto& [from, to] : kRules) {
    if (result.find(from) != std::string::npos) result = replace_all(result, from, to);
  }
  return result;
}

void DecodeStep::finish(DecodeStepState& state, Texts& out) const {
  if (!state.held.empty()) out.push_back(std::exchange(state.held, {}));
}

void ByteLettersStep::push(std::string_view token, DecodeStepState&, Texts& out) const {
  auto bytes = letters_to_bytes(token);
  out.push_back(bytes ? *std::move(bytes) : std::string(token));
}

void ByteFallbackStep::push(std::string_view token, DecodeStepState& state, Texts& out) const {
  const int byte = parse_byte_token(token);
  if (byte >= 0) {
    state.held += static_cast<char>(byte);
    if (state.bytes_pass) out.push_back(std::exchange(state.held, {}));
    return;
  }
  finish(state, out);
  out.emplace_back(token);
}

void ByteFallbackStep::finish(DecodeStepState& state, Texts& out) const {
  if (state.held.empty()) return;
  const std::string bytes = std::exchange(state.held, {});
  if (is_valid_utf8(bytes)) {
    out.push_back(bytes);
  } else {
    for (size_t index = 0; index < bytes.size(); ++index) append_character(out.emplace_back(), kReplacementCharacter);
  }
}

std::string ReplaceStep::replace(std::string_view text) const {
  if (!pattern_) return replace_all(text, literal_, content_);
  RegexScratch scratch;
  return pattern_->replace(is_valid_utf8(text) ? std::string(text) : replace_invalid(text, InvalidBytes::one_per_subpart), content_,
                           scratch);
}

void ReplaceStep::push(std::string_view token, DecodeStepState& state, Texts& out) const {
  if (!fused_) {
    out.push_back(replace(token));
    return;
  }
  state.held += token;
  if (pattern_ || literal_.empty()) return;
  const size_t last = state.held.rfind(literal_);
  const size_t settled = last == std::string::npos ? 0 : last + literal_.size();
  const size_t begun = begun_literal(std::string_view(state.held).substr(settled), literal_);
  out.push_back(replace_all(std::string_view(state.held).substr(0, state.held.size() - begun), literal_, content_));
  state.held.erase(0, state.held.size() - begun);
}

void ReplaceStep::finish(DecodeStepState& state, Texts& out) const {
  if (!state.held.empty()) out.push_back(replace(std::exchange(state.held, {})));
}

void StripStep::push(std::string_view token, DecodeStepState& state, Texts& out) const {
  std::string text = std::exchange(state.held, {});
  text += token;
  size_t begin = 0;
  size_t& seen = state.tokens;
  if (!fused_) seen = 0;
  while (seen < start_ && begin < text.size()) {
    if (!std::string_view(text).substr(begin).starts_with(content_)) {
      seen = start_;
    } else {
      begin += content_.size();
      ++seen;
    }
  }
  size_t end = text.size();
  for (size_t count = 0; count < stop_ && end >= begin + content_.size(); ++count) {
    if (!std::string_view(text).substr(0, end).ends_with(content_)) break;
    end -= content_.size();
  }
  // The end of a fused text is not known yet: what would be taken from it is held back, and dropped at last.
  if (fused_) state.held = text.substr(end);
  out.push_back(text.substr(begin, end - begin));
}

void StripStep::finish(DecodeStepState& state, Texts&) const { state.held.clear(); }

void FuseStep::push(std::string_view token, DecodeStepState& state, Texts&) const { state.held += token; }

void FuseStep::finish(DecodeStepState& state, Texts& out) const {
  const std::string text = std::exchange(state.held, {});
  if (!text.empty()) out.push_back(is_valid_utf8(text) ? text : replace_invalid(text, InvalidBytes::one_per_subpart));
}

void WordPieceStep::push(std::string_view token, DecodeStepState& state, Texts& out) const {
  std::string text;
  if (state.tokens++ > 0) {
    if (prefix_ && token.starts_with(*prefix_)) {
      token.remove_prefix(prefix_->size());
    } else {
      text = ' ';
    }
  }
  text += token;
  out.push_back(clean_up_ ? clean_up_spaces(text) : std::move(text));
}

void MetaspaceStep::push(std::string_view token, DecodeStepState& state, Texts& out) const {
  const bool first = fused_ || state.tokens++ == 0;
  out.push_back(replace_all(token, marker_, first && drops_first_ ? std::string_view() : " "));
}

void WordSuffixStep::push(std::string_view token, DecodeStepState& state, Texts& out) const {
  if (state.tokens++ > 0) out.push_back(replace_all(std::exchange(state.held, {}), suffix_, " "));
  state.held = token;
}

void WordSuffixStep::finish(DecodeStepState& state, Texts& out) const {
  out.push_back(replace_all(std::exchange(state.held, {}), suffix_, ""));
}

void CtcStep::push(std::string_view token, DecodeStepState& state, Texts& out) const {
  if (state.tokens++ > 0 && state.held == token) return;
  state.held = token;
  std::string text = replace_all(token, pad_, "");
  if (clean_up_) text = replace_all(clean_up_spaces(text), delimiter_, " ");
  if (!text.empty()) out.push_back(std::move(text));
}

void CtcStep::finish(DecodeStepState& state, Texts&) const { state.held.clear(); }

std::string CharacterMapStep::rewrite(std::string_view text, bool last, size_t& done) const {
  std::string result;
  for (done = 0; done < text.size();) {
    const std::string_view rest = text.substr(done);
    // A longer sequence may begin here than has come so far; so may a character.
    if (!last && (map_.may_continue(rest) || incomplete_suffix(rest) == rest.size())) break;
    const auto match = map_.longest(rest);
    const size_t length = match ? match->length : decode_character(text, done).length;
    result += match ? match->replacement : rest.substr(0, length);
    done += length;
  }
  return result;
}

void CharacterMapStep::push(std::string_view token, DecodeStepState& state, Texts& out) const {
  state.held += token;
  size_t done = 0;
  out.push_back(rewrite(state.held, false, done));
  state.held.erase(0, done);
}

void CharacterMapStep::finish(DecodeStepState& state, Texts& out) const {
  size_t done = 0;
  out.push_back(rewrite(std::exchange(state.held, {}), true, done));
}

}  // namespace wick
