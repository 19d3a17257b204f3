#include "wick/engine/prompt.h"

#include <algorithm>
#include <utility>

#include "wick/base/fail.h"
#include "wick/base/fail_with.h"
#include "wick/text/unicode/unicode.h"

namespace wick {

void check_prompt(std::string_view prompt, std::string_view name) {
  for (size_t at = 0; at < prompt.size();) {
    const DecodedCharacter character = decode_character(prompt, at);
    if (!character.valid) {
      fail(ErrorCode::invalid_argument, "{}: byte {} (0x{:02x}) is not valid UTF-8; write the prompt in UTF-8", name, at,
           static_cast<unsigned char>(prompt[at]));
    }
    at += character.length;
  }
}

void check_vocabulary(const ModelInfo& model, const Tokenizer& tokenizer) {
  if (tokenizer.vocab_size() <= model.vocab_size) return;
  fail(ErrorCode::invalid_argument, "{}: the tokenizer has {} tokens and the model's embedding {} rows; they belong to different models",
       model.name, tokenizer.vocab_size(), model.vocab_size);
}

std::vector<TokenId> encode_prompt(const Tokenizer& tokenizer, std::string_view model, std::string_view prompt, bool parse_special) {
  check_prompt(prompt);
  // Only the BOS of the special tokens: an EOS behind the prompt would end the text that is to be continued.
  std::vector<TokenId> tokens = tokenizer.encode(prompt, {.add_special = false, .parse_special = parse_special});
  const std::optional<TokenId> bos = tokenizer.bos();
  if (tokens.empty()) {
    if (!bos) fail(ErrorCode::invalid_argument, "the prompt is empty and {} has no BOS token to begin with; give a prompt", model);
    return {*bos};
  }
  const bool spelled_out = parse_special && bos && tokens.front() == *bos;
  if (tokenizer.adds_bos() && bos && !spelled_out) tokens.insert(tokens.begin(), *bos);
  return tokens;
}

std::vector<TokenId> encode_embedded(const Tokenizer& tokenizer, std::string_view model, std::string_view text, bool parse_special) {
  check_prompt(text);
  std::vector<TokenId> tokens = tokenizer.encode(text, {.add_special = true, .parse_special = parse_special});
  return tokens.empty() ? encode_prompt(tokenizer, model, text, parse_special) : tokens;
}

TextPair encode_pair(const Tokenizer& tokenizer, std::string_view query, std::string_view document) {
  check_prompt(query, "query");
  check_prompt(document, "document");
  constexpr EncodeOptions kWhole{.add_special = true, .parse_special = false};
  TextPair pair{.tokens = tokenizer.encode(query, kWhole)};
  std::vector<TokenId> second = tokenizer.encode(document, kWhole);
  pair.second = std::ssize(pair.tokens);
  // The separator takes the place of what begins a text: once more where it ends a text too (RoBERTa), and not for BERT.
  if (!pair.tokens.empty() && !second.empty() && tokenizer.adds_bos()) {
    if (tokenizer.token_text(pair.tokens.back()) == "</s>") {
      second.front() = pair.tokens.back();
    } else {
      second.erase(second.begin());
    }
  }
  pair.tokens.insert(pair.tokens.end(), second.begin(), second.end());
  return pair;
}

std::vector<TokenId> truncated(const Tokenizer& tokenizer, std::vector<TokenId> tokens, int64_t most, Truncation truncation, int64_t kept) {
  const int64_t count = std::ssize(tokens), excess = count - most;
  if (excess <= 0 || truncation == Truncation::none) return tokens;
  const int64_t first = std::max<int64_t>(kept, tokenizer.is_special(tokens.front()) ? 1 : 0);
  const int64_t last = count - (tokenizer.is_special(tokens.back()) ? 1 : 0);
  if (last - first <= excess) {
    fail(ErrorCode::context_full, "of the {} tokens, {} cannot be left out, and the context holds {}; shorten the first text", count,
         count - std::max<int64_t>(last - first, 0), most);
  }
  const auto begin = tokens.begin() + (truncation == Truncation::end ? last - excess : first);
  tokens.erase(begin, begin + excess);
  return tokens;
}

void fail_prompt_too_long(int64_t tokens, int64_t context, int64_t model_context) {
  Remedies remedies{{"shorten the prompt"}};
  if (context < model_context) {
    remedies.push_back({fmt::format("raise {{}}, up to {}", model_context), Setting::context});
  } else {
    remedies.push_back({"take a model with a longer context"});
  }
  fail_with(std::move(remedies), ErrorCode::context_full, "the prompt has {} tokens and the context holds {}", tokens, context);
}

}  // namespace wick
