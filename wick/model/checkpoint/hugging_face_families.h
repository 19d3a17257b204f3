// Classes of transformers: which model a configuration is of, and why another one is refused.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "wick/base/json.h"

namespace wick {

inline constexpr const char* kTextConfig = "text_config";
// The end of the names of classes that score a text.
inline constexpr std::string_view kClassifier = "ForSequenceClassification";

// A class with a head, of the base model's: "LlamaModel" is a part of "LlamaForCausalLM", as is what "LlamaForSequenceClassification" has
// a head for scores on.
[[nodiscard]] std::string class_with_head(const std::string& name);
// The configuration of the text model within one that reads images or sound too; none for others. What is around it counts for it where it
// is about the whole: the head, and how weights are quantized.
[[nodiscard]] std::optional<nlohmann::json> text_part(const nlohmann::json& whole, const std::string& name);
// Errors: always unsupported; says what the class is, which of its kind run, and whether a GGUF file of it does.
[[noreturn]] void fail_class(const std::string& file, std::string_view key, const std::string& class_name);

}  // namespace wick
