#include <fmt/format.h>

#include "wick/text/tokenizer/pre_tokenizer_patterns.h"
#include "wick/text/tokenizer/tokenizer_json_parts.h"

namespace wick {
namespace {

SplitBehavior read_behavior(const JsonReader& json, const char* key, const std::string& otherwise) {
  const std::string name = json.text(key, otherwise);
  if (name == "Removed") return SplitBehavior::removed;
  if (name == "Isolated") return SplitBehavior::isolated;
  if (name == "MergedWithPrevious") return SplitBehavior::merged_with_previous;
  if (name == "MergedWithNext") return SplitBehavior::merged_with_next;
  if (name == "Contiguous") return SplitBehavior::contiguous;
  json.unsupported(fmt::format("behavior '{}'", name));
}

std::unique_ptr<PreTokenizer> split_by_class(CharacterPreTokenizer::Predicate separates, SplitBehavior behavior) {
  return std::make_unique<CharacterPreTokenizer>(separates, behavior);
}

std::unique_ptr<PreTokenizer> read_metaspace(const JsonReader& json) {
  // Older files say add_prefix_space, newer ones prepend_scheme.
  const std::string scheme = json.text("prepend_scheme", json.flag("add_prefix_space", true) ? "always" : "never");
  PrependScheme value = PrependScheme::always;
  if (scheme == "first") {
    value = PrependScheme::first;
  } else if (scheme == "never") {
    value = PrependScheme::never;
  } else if (scheme != "always") {
    json.unsupported(fmt::format("prepend_scheme '{}'", scheme));
  }
  const std::string marker = json.text("replacement", std::string(kSpaceMarker));
  if (marker.empty()) json.corrupt("an empty replacement");
  return std::make_unique<MetaspacePreTokenizer>(marker, value, json.flag("split", true));
}

void append_byte_level(const JsonReader& json, PreTokenizers& steps, JsonPreTokenizerFacts& facts) {
  if (json.flag("add_prefix_space", true)) steps.push_back(std::make_unique<PrefixSpacePreTokenizer>());
  if (json.flag("use_regex", true)) {
    steps.push_back(std::make_unique<SplitPreTokenizer>(Regex(gpt2_pattern(), json.where()), SplitBehavior::isolated));
  }
  if (facts.byte_level) json.unsupported("a second ByteLevel");
  facts.byte_level = true;
}

std::unique_ptr<PreTokenizer> read_pre_tokenizer(const JsonReader& json) {
  const std::string& type = json.type();
  if (type == "Split") {
    const SplitBehavior behavior = read_behavior(json, "behavior", "");
    const bool invert = json.flag("invert", false);
    const auto regex = json.get("pattern").value().is_object() ? json.get("pattern").find("Regex") : std::nullopt;
    if (regex && behavior == SplitBehavior::isolated && !invert) return make_split(regex->string(), json.where());
    return std::make_unique<SplitPreTokenizer>(read_json_pattern(json.get("pattern")), behavior, invert);
  }
  if (type == "Digits") {
    return split_by_class(is_number, json.flag("individual_digits", false) ? SplitBehavior::isolated : SplitBehavior::contiguous);
  }
  if (type == "Punctuation") return split_by_class(is_punctuation, read_behavior(json, "behavior", "Isolated"));
  if (type == "Whitespace") {
    // Rust's \w.
    constexpr std::string_view kWords =
        R"([\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\x{200C}\x{200D}]+|[^\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\x{200C}\x{200D}\s]+)";
    return std::make_unique<SplitPreTokenizer>(Regex(kWords, json.where()), SplitBehavior::removed, true);
  }
  if (type == "WhitespaceSplit") return split_by_class(is_whitespace, SplitBehavior::removed);
  if (type == "Metaspace") return read_metaspace(json);
  if (type == "FixedLength") {
    const int64_t length = json.integer("length", 5);
    if (length < 1) json.corrupt(fmt::format("length = {}: at least 1 is needed", length));
    return std::make_unique<FixedLengthPreTokenizer>(static_cast<size_t>(length));
  }
  if (type == "CharDelimiterSplit") {
    return std::make_unique<SplitPreTokenizer>(Regex(quote_literal(json.get("delimiter").string()), json.where()), SplitBehavior::removed);
  }
  json.unsupported(fmt::format("pre-tokenizer '{}'", type));
}

}  // namespace

void append_json_pre_tokenizers(const JsonReader& json, PreTokenizers& steps, JsonPreTokenizerFacts& facts) {
  const std::string& type = json.type();
  if (type == "Sequence") {
    for_each_step(json, "pretokenizers", [&](const JsonReader& step) { append_json_pre_tokenizers(step, steps, facts); });
    return;
  }
  if (steps.size() >= kMaxSteps) json.unsupported(fmt::format("more than {} pre-tokenizers", kMaxSteps));
  // Steps after ByteLevel see the byte alphabet; otherwise the model spells it itself.
  if (facts.byte_level && !facts.letters_written) {
    steps.push_back(std::make_unique<ByteLettersPreTokenizer>());
    facts.letters_written = true;
  }
  if (type == "ByteLevel") {
    append_byte_level(json, steps, facts);
  } else if (type == "BertPreTokenizer") {
    steps.push_back(split_by_class(is_whitespace, SplitBehavior::removed));
    steps.push_back(split_by_class(is_punctuation, SplitBehavior::isolated));
  } else {
    steps.push_back(read_pre_tokenizer(json));
  }
}

}  // namespace wick
