#include <fmt/format.h>

#include <algorithm>

#include "wick/text/tokenizer/tokenizer_json_parts.h"
#include "wick/text/unicode/unicode.h"

namespace wick {
namespace {

// Builds the steps; `fused` becomes true where a decoder has joined the tokens to one text.
class DecoderReader {
 public:
  void add(const JsonReader& json) {
    const std::string& type = json.type();
    if (steps.size() == kMaxSteps) json.unsupported(fmt::format("more than {} decoders", kMaxSteps));
    if (type == "Sequence") {
      for_each_step(json, "decoders", [&](const JsonReader& step) { add(step); });
    } else if (type == "Fuse") {
      fused_ = true;
    } else if (type == "ByteLevel") {
      if (fused_) steps.push_back(std::make_unique<FuseStep>());
      steps.push_back(std::make_unique<ByteLettersStep>());
      fused_ = true;
    } else if (type == "Replace") {
      add_replace(json);
    } else if (type == "Strip") {
      add_strip(json);
    } else if (type == "Metaspace") {
      const std::string scheme = json.text("prepend_scheme", json.flag("add_prefix_space", true) ? "always" : "never");
      steps.push_back(std::make_unique<MetaspaceStep>(json.text("replacement", std::string(kSpaceMarker)), scheme != "never", fused_));
    } else {
      add_by_token(json, type);
    }
  }

  DecodeSteps steps;

 private:
  // Steps that look at whole tokens.
  void add_by_token(const JsonReader& json, const std::string& type) {
    if (fused_) steps.push_back(std::make_unique<FuseStep>());
    fused_ = false;
    if (type == "ByteFallback") {
      steps.push_back(std::make_unique<ByteFallbackStep>());
    } else if (type == "WordPiece") {
      steps.push_back(std::make_unique<WordPieceStep>(json.text("prefix", "##"), json.flag("cleanup", true)));
    } else if (type == "BPEDecoder") {
      steps.push_back(std::make_unique<WordSuffixStep>(json.text("suffix", "</w>")));
    } else if (type == "CTC") {
      steps.push_back(
          std::make_unique<CtcStep>(json.text("pad_token", "<pad>"), json.text("word_delimiter_token", "|"), json.flag("cleanup", true)));
    } else {
      json.unsupported(fmt::format("decoder '{}'", type));
    }
  }

  void add_replace(const JsonReader& json) {
    const JsonReader pattern = json.get("pattern");
    const std::string& content = json.get("content").string();
    if (content.size() > kLongestToken) json.unsupported(fmt::format("a content of {} bytes", content.size()));
    if (auto literal = read_literal_pattern(pattern)) {
      steps.push_back(std::make_unique<ReplaceStep>(*std::move(literal), content, fused_));
    } else {
      steps.push_back(std::make_unique<ReplaceStep>(read_json_pattern(pattern), content, fused_));
    }
  }

  void add_strip(const JsonReader& json) {
    const int64_t start = json.integer("start", 0);
    const int64_t stop = json.integer("stop", 0);
    const std::string content = json.text("content", " ");
    if (start < 0 || stop < 0) json.corrupt("a negative number of characters");
    if (content.empty() || decode_character(content, 0).length != content.size()) json.corrupt("its content is not one character");
    steps.push_back(std::make_unique<StripStep>(content, static_cast<size_t>(start), static_cast<size_t>(stop), fused_));
  }

  bool fused_ = false;
};

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
  std::vector<TokenId> after;
  bool text_seen = false;
  constexpr size_t kMaxIds = 4096;
  for (size_t index = 0; index < single.array_size(); ++index) {
    const JsonReader item = single.at(index);
    if (item.find("Sequence")) {
      text_seen = true;
      continue;
    }
    const JsonReader name = item.get("SpecialToken").get("id");
    std::vector<TokenId>& ids = text_seen ? after : before;
    const auto entries = json.find("special_tokens");
    const auto entry = entries ? entries->find(name.string().c_str()) : std::nullopt;
    if (!entry) {
      ids.push_back(special_id(name, parts));
      continue;
    }
    const JsonReader list = entry->get("ids");
    if (list.array_size() > kMaxIds - std::min(kMaxIds, ids.size())) {
      json.unsupported(fmt::format("putting more than {} tokens around a text", kMaxIds));
    }
    for (size_t at = 0; at < list.array_size(); ++at) {
      const int64_t id = list.at(at).integer();
      if (id < 0 || id >= parts.vocabulary.size()) list.corrupt(fmt::format("id {} is not in the vocabulary", id));
      ids.push_back(static_cast<TokenId>(id));
    }
  }
  if (before.size() + after.size() > kMaxIds) json.unsupported(fmt::format("putting more than {} tokens around a text", kMaxIds));
  parts.prefix.insert(parts.prefix.begin(), before.begin(), before.end());
  parts.suffix.insert(parts.suffix.end(), after.begin(), after.end());
}

}  // namespace

DecodeSteps read_json_decoder(const JsonReader& json) {
  DecoderReader reader;
  reader.add(json);
  return std::move(reader.steps);
}

void read_json_post_processor(const JsonReader& json, TokenizerParts& parts) {
  const std::string& type = json.type();
  if (type == "Sequence") {
    for_each_step(json, "processors", [&](const JsonReader& step) { read_json_post_processor(step, parts); });
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
