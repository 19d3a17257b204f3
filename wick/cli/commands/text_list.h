// The flags of commands that take one or more texts: each with --text, or the lines of a file.
#pragma once

#include <string>
#include <vector>

#include "wick/cli/console.h"
#include "wick/cli/flags/flags.h"
#include "wick/engine/prompt.h"

namespace wick {

struct TextList {
  std::vector<std::string> texts;
  std::string file;
};

void add_text_list(Flags& flags, TextList& list);
// --truncate: which end of a text that is too long is left out.
void add_truncation(Flags& flags, Truncation& truncation);
// Errors: invalid_argument for no text, an empty one, or one that is no UTF-8; those of read_text_file.
[[nodiscard]] std::vector<std::string> read_text_list(const Console& console, const TextList& list);

}  // namespace wick
