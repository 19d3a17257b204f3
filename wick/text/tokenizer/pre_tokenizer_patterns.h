// The patterns by which each family of byte-level vocabularies cuts text into words, by the names that GGUF files give them.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace wick {

struct PatternSet {
  std::vector<std::string_view> patterns;  // applied in order: matches and the text between them are separate pieces
  bool ignore_merges = false;              // a word that is a token is not merged
  bool adds_bos = false;                   // where the file does not say
  bool whole_text = false;                 // characters, not bytes, with "▁" for spaces and byte fallback (Gemma 4)
};

// The set of that name (tokenizer.ggml.pre). nullptr for a name that is not known.
[[nodiscard]] const PatternSet* find_pattern_set(std::string_view name);
// The other way round: a name of a set with these patterns; empty where there is none.
[[nodiscard]] std::string_view find_pre_name(std::span<const std::string> patterns, bool ignore_merges);
// All names, for messages.
[[nodiscard]] std::string known_pattern_sets();

// The patterns that tiktoken files imply.
[[nodiscard]] std::string_view gpt2_pattern() noexcept;
[[nodiscard]] std::string_view llama3_pattern() noexcept;
[[nodiscard]] std::string_view qwen2_pattern() noexcept;
[[nodiscard]] std::string_view gpt4o_pattern() noexcept;
[[nodiscard]] std::string_view kimi_pattern() noexcept;

}  // namespace wick
