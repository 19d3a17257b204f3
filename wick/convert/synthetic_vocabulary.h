// A byte-level BPE vocabulary of any size, made up: every text can be encoded, and longer tokens are strings of small letters.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace wick {

struct SyntheticVocabulary {
  std::vector<std::string> tokens;  // in the byte alphabet; the last two are BOS and EOS
  std::vector<std::string> merges;  // "a b", by rank
  std::vector<int32_t> kinds;       // TokenKind's numbers
  uint32_t bos = 0;
  uint32_t eos = 0;
};

// `size` must be at least 258.
[[nodiscard]] SyntheticVocabulary make_synthetic_vocabulary(int64_t size);

}  // namespace wick
