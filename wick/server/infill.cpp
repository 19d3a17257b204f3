#include "wick/server/infill.h"

namespace wick::server {
namespace {

struct Marks {
  std::string_view prefix, suffix, middle;
};
// Qwen, StarCoder, Granite, CodeGemma; StarCoder's older spelling; CodeLlama; DeepSeek.
constexpr Marks kMarks[] = {{"<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>"},
                            {"<fim_prefix>", "<fim_suffix>", "<fim_middle>"},
                            {"<fim-prefix>", "<fim-suffix>", "<fim-middle>"},
                            {"▁<PRE>", "▁<SUF>", "▁<MID>"},
                            {"<PRE>", "<SUF>", "<MID>"},
                            {"<｜fim▁begin｜>", "<｜fim▁hole｜>", "<｜fim▁end｜>"}};
constexpr std::string_view kFileMarks[] = {"<|file_sep|>", "<file_sep>"};

void append(const Tokenizer& tokenizer, const std::string& text, std::vector<TokenId>& tokens) {
  const std::vector<TokenId> more = tokenizer.encode(text, {.add_special = false, .parse_special = false});
  tokens.insert(tokens.end(), more.begin(), more.end());
}

void append_files(const Tokenizer& tokenizer, const InfillText& text, std::vector<TokenId>& tokens) {
  std::optional<TokenId> mark;
  for (const std::string_view spelling : kFileMarks) {
    if (!mark) mark = tokenizer.find_token(spelling);
  }
  for (const InfillText::File& file : text.files) {
    if (mark) tokens.push_back(*mark);
    append(tokenizer, file.name.empty() ? file.text + "\n" : file.name + "\n" + file.text + "\n", tokens);
  }
  if (mark && !text.files.empty()) tokens.push_back(*mark);
}

}  // namespace

std::optional<std::vector<TokenId>> infill_tokens(const Tokenizer& tokenizer, const InfillText& text) {
  for (const Marks& marks : kMarks) {
    const std::optional<TokenId> prefix = tokenizer.find_token(marks.prefix);
    const std::optional<TokenId> suffix = tokenizer.find_token(marks.suffix);
    const std::optional<TokenId> middle = tokenizer.find_token(marks.middle);
    if (!prefix || !suffix || !middle) continue;
    std::vector<TokenId> tokens;
    if (tokenizer.adds_bos() && tokenizer.bos()) tokens.push_back(*tokenizer.bos());
    append_files(tokenizer, text, tokens);
    tokens.push_back(*prefix);
    append(tokenizer, text.prefix, tokens);
    tokens.push_back(*suffix);
    append(tokenizer, text.suffix, tokens);
    tokens.push_back(*middle);
    append(tokenizer, text.middle, tokens);
    return tokens;
  }
  return std::nullopt;
}

}  // namespace wick::server
