// SharedTokenizer is what Python's Tokenizer holds: the tokenizer may belong to a model too.
#pragma once

#include <memory>

#include "wick/text/tokenizer/tokenizer.h"

namespace wick_python {

struct SharedTokenizer {
  std::shared_ptr<const wick::Tokenizer> tokenizer;

  const wick::Tokenizer* operator->() const noexcept { return tokenizer.get(); }
};

}  // namespace wick_python
