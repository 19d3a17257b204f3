// Scripts that teach a shell to complete a program's subcommands, flags and values.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "wick/cli/flags/command_record.h"

namespace wick {

enum class Shell { bash, zsh, fish };
inline constexpr std::array<std::string_view, 3> kShellNames = {"bash", "zsh", "fish"};
// Errors: invalid_argument.
[[nodiscard]] Shell parse_shell(std::string_view flag, std::string_view text);

[[nodiscard]] std::string completion_script(Shell shell, const CommandRecord& program);

[[nodiscard]] std::string bash_completion(const CommandRecord& program);
[[nodiscard]] std::string zsh_completion(const CommandRecord& program);
[[nodiscard]] std::string fish_completion(const CommandRecord& program);

// Common parts of the scripts.
// "wick-worker-cpu": "_wick_worker_cpu", the name of a function.
[[nodiscard]] std::string function_name(std::string_view program);
// The text within single quotes of sh: "it's" is 'it'\''s'.
[[nodiscard]] std::string quoted_for_sh(std::string_view text);

}  // namespace wick
