#include "wick/cli/flags/completion.h"

#include <algorithm>

#include "wick/base/fail.h"

namespace wick {

Shell parse_shell(std::string_view flag, std::string_view text) {
  const auto found = std::find(kShellNames.begin(), kShellNames.end(), text);
  if (found == kShellNames.end()) fail(ErrorCode::invalid_argument, "{} '{}': must be bash, zsh or fish", flag, text);
  return static_cast<Shell>(found - kShellNames.begin());
}

std::string completion_script(Shell shell, const CommandRecord& program) {
  switch (shell) {
    case Shell::bash: return bash_completion(program);
    case Shell::zsh: return zsh_completion(program);
    case Shell::fish: return fish_completion(program);
  }
  return {};
}

std::string function_name(std::string_view program) {
  std::string name = "_" + std::string(program);
  std::replace_if(name.begin(), name.end(), [](char letter) { return letter == '-' || letter == ' '; }, '_');
  return name;
}

std::string quoted_for_sh(std::string_view text) {
  std::string quoted = "'";
  for (const char letter : text) quoted += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
  return quoted + "'";
}

}  // namespace wick
