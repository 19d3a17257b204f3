// A GgufVocabulary is a tokenizer in the keys that GGUF files have for it, which every reader of them knows.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "wick/text/tokenizer/vocabulary.h"

namespace [[gnu::visibility("default")]] wick {
class Tokenizer;
}  // namespace wick

namespace wick {

struct SpecialTokens;

struct GgufVocabulary {
  std::string obstacle;  // why GGUF's keys cannot hold the tokenizer; empty if they can
  std::string model;     // tokenizer.ggml.model: "gpt2", "llama", "t5", "bert", "rwkv"
  std::string pre;       // of "gpt2": the name of its patterns
  std::vector<std::string> tokens, merges;
  std::vector<TokenKind> kinds;  // of the tokens
  std::vector<float> scores;     // of the tokens; empty where the model has none
  std::string character_map;     // precompiled_charsmap
  bool add_space_prefix = false, remove_extra_whitespaces = false;
  bool lowercase = true, strip_accents = true;  // of "bert"
};

// The tokenizer in `file`, which is one of a folder's (find_tokenizer_file). Errors: those of Tokenizer::load.
[[nodiscard]] GgufVocabulary make_gguf_vocabulary(const std::filesystem::path& file, const SpecialTokens& special);

// Texts that tell two readings of a tokenizer apart: fixed ones of many scripts, and `random` ones of the vocabulary's own tokens.
[[nodiscard]] std::vector<std::string> vocabulary_test_texts(const Tokenizer& tokenizer, size_t random);

}  // namespace wick
