#include <fmt/format.h>

#include "wick/text/tokenizer_json_parts.h"

namespace wick {
namespace {

void add_metaspace(const JsonReader& json, DecodeRules& rules) {
  rules.replacements.emplace_back(json.text("replacement", std::string(kSpaceMarker)), " ");
  const std::string scheme = json.text("prepend_scheme", json.flag("add_prefix_space", true) ? "always" : "never");
  if (scheme != "never") rules.leading_space = LeadingSpace::drop_all_of_first;
}

void add_strip(const JsonReader& json, DecodeRules& rules) {
  const int64_t start = json.integer("start", 0);
  const int64_t stop = json.integer("stop", 0);
  if (start == 0 && stop == 0) return;
  if (json.text("content", " ") != " " || start != 1 || stop != 0) json.unsupported("a Strip decoder but for one space at the beginning");
  rules.leading_space = LeadingSpace::drop_one;
}

void add_decoder(const JsonReader& json, DecodeRules& rules) {
  const std::string& type = json.type();
  if (type == "Sequence") {
    const JsonReader list = json.get("decoders");
    for (size_t index = 0; index < list.array_size(); ++index) add_decoder(list.at(index), rules);
  } else if (type == "ByteLevel") {
    rules.letters_to_bytes = true;
  } else if (type == "ByteFallback") {
    rules.byte_fallback = true;
  } else if (type == "Metaspace") {
    add_metaspace(json, rules);
  } else if (type == "Replace") {
    const auto literal = read_literal_pattern(json.get("pattern"));
    if (!literal) json.unsupported("a Replace decoder with a regular expression");
    rules.replacements.emplace_back(*literal, json.get("content").string());
  } else if (type == "Strip") {
    add_strip(json, rules);
  } else if (type == "WordPiece") {
    rules.word_pieces = true;
    rules.continuing_prefix = json.text("prefix", "##");
    rules.clean_up = json.flag("cleanup", true);
  } else if (type == "BPEDecoder") {
    rules.word_suffix = json.text("suffix", "</w>");
  } else if (type != "Fuse") {
    json.unsupported(fmt::format("decoder '{}'", type));
  }
}

// The id of a special token that a post-processor names.
TokenId special_id(const JsonReader& name, const TokenizerParts& parts) {
  const TokenId id = parts.vocabulary.find(name.string());
  if (id == kNoToken) name.corrupt(fmt::format("'{}' is no token", name.string()));
  return id;
}

// A pair ["[SEP]", 102]: the number counts.
TokenId pair_id(const JsonReader& pair, const TokenizerParts& parts) {
  if (pair.array_size() != 2) pair.corrupt("not a pair of text and id");
  const int64_t id = pair.at(1).integer();
  if (id < 0 || id >= parts.vocabulary.size()) pair.corrupt(fmt::format("id {} is not in the vocabulary", id));
  return static_cast<TokenId>(id);
}

void add_template(const JsonReader& json, TokenizerParts& parts) {
  const JsonReader single = json.get("single");
  std::vector<TokenId> before;
  std::vector<TokenId> behind;
  bool text_seen = false;
  for (size_t index = 0; index < single.array_size(); ++index) {
    const JsonReader item = single.at(index);
    if (item.find("Sequence")) {
      text_seen = true;
      continue;
    }
    const JsonReader name = item.get("SpecialToken").get("id");
    std::vector<TokenId>& ids = text_seen ? behind : before;
    const auto entries = json.find("special_tokens");
    const auto entry = entries ? entries->find(name.string().c_str()) : std::nullopt;
    if (!entry) {
      ids.push_back(special_id(name, parts));
      continue;
    }
    const JsonReader list = entry->get("ids");
    for (size_t at = 0; at < list.array_size(); ++at) {
      const int64_t id = list.at(at).integer();
      if (id < 0 || id >= parts.vocabulary.size()) list.corrupt(fmt::format("id {} is not in the vocabulary", id));
      ids.push_back(static_cast<TokenId>(id));
    }
  }
  parts.prefix.insert(parts.prefix.begin(), before.begin(), before.end());
  parts.suffix.insert(parts.suffix.end(), behind.begin(), behind.end());
}

}  // namespace

DecodeRules read_json_decoder(const JsonReader& json) {
  DecodeRules rules;
  add_decoder(json, rules);
  if (rules.byte_fallback) rules.invalid = InvalidBytes::one_per_byte;
  return rules;
}

void read_json_post_processor(const JsonReader& json, TokenizerParts& parts) {
  const std::string& type = json.type();
  if (type == "Sequence") {
    const JsonReader list = json.get("processors");
    for (size_t index = 0; index < list.array_size(); ++index) read_json_post_processor(list.at(index), parts);
  } else if (type == "TemplateProcessing") {
    add_template(json, parts);
  } else if (type == "BertProcessing" || type == "RobertaProcessing") {
    parts.prefix.insert(parts.prefix.begin(), pair_id(json.get("cls"), parts));
    parts.suffix.push_back(pair_id(json.get("sep"), parts));
  } else if (type != "ByteLevel") {
    json.unsupported(fmt::format("post-processor '{}'", type));
  }
}

}  // namespace wick
