// The man page of a command, in man(7)'s macros.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "wick/cli/flags/command_record.h"

namespace wick {

// "wick gguf set": "wick-gguf-set"
[[nodiscard]] std::string man_name(std::string_view command);

// `above`: the commands that it is a subcommand of, which SEE ALSO names.
[[nodiscard]] std::string man_page(const CommandRecord& command, const std::vector<std::string>& above);

}  // namespace wick
