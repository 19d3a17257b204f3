// Reads test vectors of tokenizers: the small ones of tests/data/text, and the .inp/.out pairs of the shared data.
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "wick/text/tokenizer/tokenizer.h"

namespace wick {

inline constexpr EncodeOptions kPlain{.add_special = false};

struct TokenVector {
  std::string text;
  std::vector<TokenId> ids;
  std::string decoded;
};

inline std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline std::vector<TokenId> parse_ids(const std::string& text) {
  std::istringstream stream(text);
  return {std::istream_iterator<TokenId>(stream), {}};
}

inline std::string parse_hex(std::string_view digits) {
  const auto value = [](char digit) { return digit <= '9' ? digit - '0' : digit - 'a' + 10; };
  std::string bytes;
  for (size_t index = 0; index + 1 < digits.size(); index += 2) {
    bytes.push_back(static_cast<char>(value(digits[index]) * 16 + value(digits[index + 1])));
  }
  return bytes;
}

// Lines of text, ids and decoded text, with tabs between them; texts in hexadecimal.
inline std::vector<TokenVector> read_vectors(const std::filesystem::path& path) {
  std::vector<TokenVector> vectors;
  std::istringstream lines(read_file(path));
  for (std::string line; std::getline(lines, line);) {
    const size_t first = line.find('\t');
    const size_t second = line.find('\t', first + 1);
    vectors.push_back({parse_hex(std::string_view(line).substr(0, first)), parse_ids(line.substr(first + 1, second - first - 1)),
                       parse_hex(std::string_view(line).substr(second + 1))});
  }
  return vectors;
}

// Texts that are each followed by a line "__ggml_vocab_test__", and a file with one line of ids for each.
inline std::vector<TokenVector> read_shared_vectors(const std::filesystem::path& base) {
  constexpr std::string_view kEnd = "\n__ggml_vocab_test__\n";
  std::vector<TokenVector> vectors;
  const std::string texts = read_file(base.string() + ".inp");
  std::istringstream lines(read_file(base.string() + ".out"));
  std::string line;
  for (size_t begin = 0; std::getline(lines, line);) {
    const size_t end = texts.find(kEnd, begin);
    vectors.push_back({texts.substr(begin, end - begin), parse_ids(line), ""});
    begin = end == std::string::npos ? texts.size() : end + kEnd.size();
  }
  return vectors;
}

}  // namespace wick
