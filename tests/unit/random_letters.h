// Random texts for tests that compare a search with a slow one.
#pragma once

#include <cstddef>
#include <random>
#include <string>
#include <vector>

namespace wick {

// Letters of one to four bytes, and bytes that are no character or part of one.
inline const std::vector<std::string> kLetters = {"a", "b", "#", "\u00E4", "\u2581", "\U0001F600", "\xE2", "\x96", "\x81"};

// So many of the first `kinds` letters.
inline std::string random_letters(std::mt19937& random, size_t kinds, size_t length) {
  std::string text;
  for (size_t index = 0; index < length; ++index) text += kLetters[random() % kinds];
  return text;
}

}  // namespace wick
