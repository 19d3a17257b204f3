// The prompt of a text whose middle is to be written: what is before it, what is behind it, and marks that the model knows.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "wick/text/tokenizer/tokenizer.h"

namespace wick::server {

struct InfillText {
  std::string prefix = {}, suffix = {};
  std::string middle = {};  // the beginning of what is to be written
  struct File {
    std::string name = {}, text = {};
  };
  std::vector<File> files = {};  // more that the model is shown first
};

// prefix mark, prefix, suffix mark, suffix, middle mark, middle; empty where the vocabulary has no such marks.
[[nodiscard]] std::optional<std::vector<TokenId>> infill_tokens(const Tokenizer& tokenizer, const InfillText& text);

}  // namespace wick::server
