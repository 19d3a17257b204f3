// The flags that say what form a text must have: a JSON Schema, a grammar, a pattern, a list.
#pragma once

#include <optional>

#include "wick/cli/flags/flags.h"
#include "wick/text/grammar/token_constraint.h"

namespace wick {

// --json-schema, --grammar, --regex and --choices, which exclude each other. The format is known once the flags are parsed.
void add_format(Flags& flags, std::optional<OutputFormat>& format);

}  // namespace wick
