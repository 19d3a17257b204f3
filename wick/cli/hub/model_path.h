// Which model a program opens: the file that is named, the only one of a folder, a Hugging Face folder, or the default model beside the
// program.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "wick/cli/console.h"

namespace wick {

// `named` may be empty: the default model then, and the program says so.
// Errors: not_found (a folder without a model, no default model), invalid_argument (a folder with several models).
[[nodiscard]] std::filesystem::path resolve_model(const Console& console, const std::string& named);
// The same for a name that is not empty; `check`: ModelHub's.
[[nodiscard]] std::filesystem::path resolve_named(const Console& console, const std::string& named, std::function<void()> check = {});

// A path, or hf://OWNER/NAME[:FILE], which is downloaded if it is not in the cache; `check`: ModelHub's. Errors: ModelHub's.
[[nodiscard]] std::filesystem::path resolve_hub(const Console& console, const std::string& named, std::function<void()> check = {});

// The same for programs that need no more than the tokenizer: a folder may have the file of a vocabulary (find_tokenizer_file) instead.
[[nodiscard]] std::filesystem::path resolve_tokenizer(const Console& console, const std::string& named);

// Where the default model is: ../share/wick/models beside the program's folder, else models/ in the program's folder or one above
// it, as in a build tree. Empty if it is nowhere.
[[nodiscard]] std::filesystem::path find_default_model(const std::filesystem::path& executable);

}  // namespace wick
