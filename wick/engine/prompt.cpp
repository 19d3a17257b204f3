#include "wick/engine/prompt.h"

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

std::vector<TokenId> encode_pair(const Tokenizer& tokenizer, std::string_view query, std::string_view document) {
  check_prompt(query, "query");
  check_prompt(document, "document");
  constexpr EncodeOptions kWhole{.add_special = true, .parse_special = false};
  std::vector<TokenId> pair = tokenizer.encode(query, kWhole);
  std::vector<TokenId> second = tokenizer.encode(document, kWhole);
  if (pair.empty() || second.empty() || !tokenizer.adds_bos()) {
    pair.insert(pair.end(), second.begin(), second.end());
    return pair;
  }
  // The separator takes the place of what begins a text: once more where it ends a text too (RoBERTa), and not for BERT.
  if (tokenizer.token_text(pair.back()) == "</s>") {
    second.front() = pair.back();
  } else {
    second.erase(second.begin());
  }
  pair.insert(pair.end(), second.begin(), second.end());
  return pair;
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
