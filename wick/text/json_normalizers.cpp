#include <fmt/format.h>

#include "wick/text/tokenizer_json_parts.h"

namespace wick {
namespace {

// The bytes of a base64 text; characters that are none are an error.
std::string decode_character_map(const JsonReader& field) {
  const std::string& text = field.string();
  std::string bytes;
  uint32_t bits = 0;
  int count = 0;
  for (const char letter : text) {
    uint32_t digit = 0;
    if (letter >= 'A' && letter <= 'Z')
      digit = static_cast<uint32_t>(letter - 'A');
    else if (letter >= 'a' && letter <= 'z')
      digit = static_cast<uint32_t>(letter - 'a' + 26);
    else if (letter >= '0' && letter <= '9')
      digit = static_cast<uint32_t>(letter - '0' + 52);
    else if (letter == '+')
      digit = 62;
    else if (letter == '/')
      digit = 63;
    else if (letter == '=')
      break;
    else
      field.corrupt("not base64");
    bits = (bits << 6) | digit;
    count += 6;
    if (count >= 8) {
      count -= 8;
      bytes.push_back(static_cast<char>(bits >> count));
    }
  }
  return bytes;
}

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
  if (type == "Nmt") return std::make_unique<NmtNormalizer>();
  if (type == "Precompiled") {
    const JsonReader field = json.get("precompiled_charsmap");
    return std::make_unique<PrecompiledNormalizer>(CharacterMap(decode_character_map(field), field.where()));
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
    steps.push_back(read_normalizer(json));
    return;
  }
  const JsonReader list = json.get("normalizers");
  for (size_t index = 0; index < list.array_size(); ++index) append_json_normalizers(list.at(index), steps);
}

}  // namespace wick
