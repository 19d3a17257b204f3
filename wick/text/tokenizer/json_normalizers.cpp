#include <fmt/format.h>

#include "wick/base/base64.h"
#include "wick/text/tokenizer/tokenizer_json_parts.h"

namespace wick {
namespace {

std::unique_ptr<Normalizer> read_bert_normalizer(const JsonReader& json) {
  const bool lowercase = json.flag("lowercase", true);
  return std::make_unique<BertNormalizer>(BertNormalizerOptions{.clean_text = json.flag("clean_text", true),
                                                                .split_ideographs = json.flag("handle_chinese_chars", true),
                                                                .strip_accents = json.flag("strip_accents", lowercase),
                                                                .lowercase = lowercase});
}

std::unique_ptr<Normalizer> read_normalizer(const JsonReader& json) {
  const std::string& type = json.type();
  if (type == "NFC") return std::make_unique<UnicodeFormNormalizer>(NormalForm::nfc);
  if (type == "NFD") return std::make_unique<UnicodeFormNormalizer>(NormalForm::nfd);
  if (type == "NFKC") return std::make_unique<UnicodeFormNormalizer>(NormalForm::nfkc);
  if (type == "NFKD") return std::make_unique<UnicodeFormNormalizer>(NormalForm::nfkd);
  if (type == "Lowercase") return std::make_unique<LowercaseNormalizer>();
  if (type == "StripAccents") return std::make_unique<StripAccentsNormalizer>();
  if (type == "Strip") return std::make_unique<StripNormalizer>(json.flag("strip_left", true), json.flag("strip_right", true));
  if (type == "Replace") return std::make_unique<ReplaceNormalizer>(read_json_pattern(json.get("pattern")), json.get("content").string());
  if (type == "Prepend") return std::make_unique<PrependNormalizer>(json.get("prepend").string());
  if (type == "BertNormalizer") return read_bert_normalizer(json);
  if (type == "ByteLevel") return std::make_unique<ByteLettersNormalizer>();
  if (type == "Nmt") return std::make_unique<NmtNormalizer>();
  if (type == "Precompiled") {
    const JsonReader field = json.get("precompiled_charsmap");
    const auto map = decode_base64(field.string());
    if (!map) field.corrupt("not base64");
    return std::make_unique<PrecompiledNormalizer>(CharacterMap(*map, field.where()));
  }
  json.unsupported(fmt::format("normalizer '{}'", type));
}

}  // namespace

std::optional<std::string> read_literal_pattern(const JsonReader& json) {
  if (json.value().is_string()) return json.string();
  const auto literal = json.find("String");
  return literal ? std::optional(literal->string()) : std::nullopt;
}

Regex read_json_pattern(const JsonReader& json) {
  if (const auto literal = read_literal_pattern(json)) return Regex(quote_literal(*literal), json.where());
  return Regex(json.get("Regex").string(), json.where());
}

void append_json_normalizers(const JsonReader& json, Normalizers& steps) {
  if (json.type() != "Sequence") {
    if (steps.size() == kMaxSteps) json.unsupported(fmt::format("more than {} normalizers", kMaxSteps));
    steps.push_back(read_normalizer(json));
    return;
  }
  for_each_step(json, "normalizers", [&](const JsonReader& step) { append_json_normalizers(step, steps); });
}

}  // namespace wick
