#include "wick/model/checkpoint/text_prompts.h"

#include <algorithm>

#include "wick/base/fail.h"
#include "wick/formats/printable.h"
#include "wick/model/checkpoint/checkpoint.h"

namespace wick {

std::string_view TextPrompts::find(const std::optional<std::string>& name) const {
  const std::string& wanted = name ? *name : by_default;
  const auto found = std::find_if(all.begin(), all.end(), [&](const auto& each) { return each.first == wanted; });
  if (found != all.end()) return found->second;
  if (!name) return {};
  std::string names;
  for (const auto& [each, text] : all) names.append(names.empty() ? "" : ", ").append(printable_name(each));
  fail(ErrorCode::invalid_argument, "the model has no prompt {}; it has {}", printable(wanted), names.empty() ? "none" : names);
}

TextPrompts read_text_prompts(const Checkpoint& checkpoint, std::string_view architecture) {
  const std::string prefix = std::string(architecture) + ".";
  const GgufArray* names = checkpoint.find_array(prefix + "prompt_names");
  const GgufArray* texts = checkpoint.find_array(prefix + "prompt_texts");
  TextPrompts prompts;
  if (names == nullptr && texts == nullptr) return prompts;
  if (names == nullptr || texts == nullptr || names->strings.size() != texts->strings.size()) {
    fail(ErrorCode::corrupt_file, "{}: {} and {} are two lists of as many texts; download the file again", checkpoint.name(),
         checkpoint.where(prefix + "prompt_names"), checkpoint.where(prefix + "prompt_texts"));
  }
  for (size_t index = 0; index < names->strings.size(); ++index) prompts.all.emplace_back(names->strings[index], texts->strings[index]);
  prompts.by_default = checkpoint.find_string(prefix + "default_prompt").value_or("");
  return prompts;
}

}  // namespace wick
