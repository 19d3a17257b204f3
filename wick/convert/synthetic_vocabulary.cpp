#include "wick/convert/synthetic_vocabulary.h"

#include "wick/base/fail.h"
#include "wick/text/tokenizer/byte_alphabet.h"
#include "wick/text/tokenizer/vocabulary.h"

namespace wick {

SyntheticVocabulary make_synthetic_vocabulary(int64_t size) {
  constexpr int64_t kBytes = 256;
  constexpr int64_t kSpecials = 2;
  if (size < kBytes + kSpecials) {
    fail(ErrorCode::invalid_argument, "synthetic vocabulary of {} tokens: bytes and special tokens alone are {}", size, kBytes + kSpecials);
  }
  SyntheticVocabulary vocabulary;
  vocabulary.tokens.reserve(static_cast<size_t>(size));
  for (int byte = 0; byte < kBytes; ++byte) vocabulary.tokens.emplace_back(byte_to_letter(static_cast<uint8_t>(byte)));
  // Each longer token is one that is there already and a letter behind it, so that its merge is known: all strings of two letters
  // (the first may be a space), then of three, and so on.
  std::vector<std::string> shorter = {std::string(byte_to_letter(' '))};
  for (char letter = 'a'; letter <= 'z'; ++letter) shorter.emplace_back(1, letter);
  while (static_cast<int64_t>(vocabulary.tokens.size()) < size - kSpecials) {
    std::vector<std::string> longer;
    for (const std::string& stem : shorter) {
      for (char letter = 'a'; letter <= 'z'; ++letter) {
        if (static_cast<int64_t>(vocabulary.tokens.size()) == size - kSpecials) break;
        vocabulary.merges.push_back(stem + ' ' + letter);
        vocabulary.tokens.push_back(stem + letter);
        longer.push_back(stem + letter);
      }
    }
    shorter = std::move(longer);
  }
  vocabulary.kinds.assign(vocabulary.tokens.size(), static_cast<int32_t>(TokenKind::normal));
  for (const char* special : {"<|begin_of_text|>", "<|end_of_text|>"}) {
    vocabulary.tokens.emplace_back(special);
    vocabulary.kinds.push_back(static_cast<int32_t>(TokenKind::control));
  }
  vocabulary.eos = static_cast<uint32_t>(vocabulary.tokens.size() - 1);
  vocabulary.bos = vocabulary.eos - 1;
  return vocabulary;
}

}  // namespace wick
