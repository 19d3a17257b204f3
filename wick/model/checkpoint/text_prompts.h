// The prompts that a model of vectors was trained with, which come before a text: "query: ", "passage: ".
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace wick {

class Checkpoint;

struct TextPrompts {
  std::vector<std::pair<std::string, std::string>> all = {};  // by name
  std::string by_default = {};                                // the name of the one that texts have where none is named; empty: none

  // The prompt of that name; none: the default one, or nothing. Errors: invalid_argument for another name, with those that there are.
  [[nodiscard]] std::string_view find(const std::optional<std::string>& name) const;
};

// "<architecture>.prompt_names", ".prompt_texts" and ".default_prompt". Errors: corrupt_file where there are not as many of both.
[[nodiscard]] TextPrompts read_text_prompts(const Checkpoint& checkpoint, std::string_view architecture);

}  // namespace wick
