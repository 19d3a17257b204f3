// tiktoken's files: a line for each token, its bytes in base64 and its rank. Pattern and special tokens are not in the file: the
// number of ranks tells which model it is.
#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "wick/base/base64.h"
#include "wick/base/fail.h"
#include "wick/base/log.h"
#include "wick/text/tokenizer/byte_alphabet.h"
#include "wick/text/tokenizer/byte_pair_model.h"
#include "wick/text/tokenizer/pre_tokenizer_patterns.h"
#include "wick/text/tokenizer/special_tokens.h"
#include "wick/text/tokenizer/tokenizer_parts.h"

namespace wick {
namespace {

struct KnownFile {
  TokenId ranks;
  const char* name;
  std::string_view pattern;
  std::vector<std::pair<TokenId, std::string>> specials;
  const char* bos;  // nullptr: none is put before texts
  const char* eos;
};

// Llama 3's 256 special tokens: five with a name, the others reserved.
std::vector<std::pair<TokenId, std::string>> llama3_specials() {
  constexpr TokenId kFirst = 128000;
  std::vector<std::pair<TokenId, std::string>> specials;
  int reserved = 0;
  for (TokenId index = 0; index < 256; ++index) {
    std::string text;
    switch (index) {
      case 0: text = "<|begin_of_text|>"; break;
      case 1: text = "<|end_of_text|>"; break;
      case 6: text = "<|start_header_id|>"; break;
      case 7: text = "<|end_header_id|>"; break;
      case 9: text = "<|eot_id|>"; break;
      default: text = fmt::format("<|reserved_special_token_{}|>", reserved++); break;
    }
    specials.emplace_back(kFirst + index, std::move(text));
  }
  return specials;
}

// Kimi K2's 256 special tokens: those with a name, the others reserved.
std::vector<std::pair<TokenId, std::string>> kimi_specials() {
  constexpr TokenId kFirst = 163584;
  std::vector<std::pair<TokenId, std::string>> specials;
  for (TokenId id = kFirst; id < kFirst + 256; ++id) specials.emplace_back(id, fmt::format("<|reserved_token_{}|>", id));
  const auto name = [&](TokenId index, const char* text) { specials[static_cast<size_t>(index)].second = text; };
  name(0, "[BOS]");
  name(1, "[EOS]");
  name(2, "<|im_end|>");
  name(3, "<|im_user|>");
  name(4, "<|im_assistant|>");
  name(6, "<|start_header_id|>");
  name(7, "<|end_header_id|>");
  name(9, "[EOT]");
  name(10, "<|im_system|>");
  name(11, "<|tool_calls_section_begin|>");
  name(12, "<|tool_calls_section_end|>");
  name(13, "<|tool_call_begin|>");
  name(14, "<|tool_call_argument_begin|>");
  name(15, "<|tool_call_end|>");
  name(17, "<|im_middle|>");
  name(254, "[UNK]");
  name(255, "[PAD]");
  return specials;
}

std::optional<KnownFile> find_known_file(TokenId ranks) {
  switch (ranks) {
    case 128000: return KnownFile{ranks, "Llama 3", llama3_pattern(), llama3_specials(), "<|begin_of_text|>", "<|end_of_text|>"};
    case 100256:
      return KnownFile{ranks,
                       "cl100k_base",
                       llama3_pattern(),
                       {{100257, "<|endoftext|>"},
                        {100258, "<|fim_prefix|>"},
                        {100259, "<|fim_middle|>"},
                        {100260, "<|fim_suffix|>"},
                        {100276, "<|endofprompt|>"}},
                       nullptr,
                       "<|endoftext|>"};
    case 199998:
      return KnownFile{ranks,   "o200k_base",   gpt4o_pattern(), {{199999, "<|endoftext|>"}, {200018, "<|endofprompt|>"}},
                       nullptr, "<|endoftext|>"};
    case 151643:
      return KnownFile{ranks,           "Qwen",
                       qwen2_pattern(), {{151643, "<|endoftext|>"}, {151644, "<|im_start|>"}, {151645, "<|im_end|>"}},
                       nullptr,         "<|endoftext|>"};
    case 163584: return KnownFile{ranks, "Kimi K2", kimi_pattern(), kimi_specials(), nullptr, "[EOS]"};
    case 50256: return KnownFile{ranks, "r50k_base", gpt2_pattern(), {{50256, "<|endoftext|>"}}, nullptr, "<|endoftext|>"};
    default: return std::nullopt;
  }
}

// By "model_type" of config.json, or the file's name: the pattern is in the program that comes with it. Empty for a family that is not
// known.
std::string_view pattern_of_family(std::string_view family) {
  struct Row {
    std::string_view start, pre;  // of the type; the name of the set
  };
  constexpr std::array<Row, 13> kRows = {{{"qwen", "qwen2"},
                                          {"hunyuan", "hunyuan"},
                                          {"hy", "hunyuan"},
                                          {"cl100k", "dbrx"},
                                          {"o200k", "gpt-4o"},
                                          {"kimi", "kimi-k2"},
                                          {"chatglm", "chatglm-bpe"},
                                          {"glm", "glm4"},
                                          {"llama", "llama-bpe"},
                                          {"gpt_oss", "gpt-4o"},
                                          {"dbrx", "dbrx"},
                                          {"phi3small", "dbrx"},
                                          {"gpt2", "gpt-2"}}};
  for (const Row& row : kRows) {
    if (family.starts_with(row.start)) return find_pattern_set(row.pre)->patterns.front();
  }
  return {};
}

// One line's bytes; its rank must be `rank`, ranks are in order and without gaps.
std::string read_line(std::string_view line, TokenId rank, const std::string& name) {
  const size_t space = line.find(' ');
  const auto bytes = space == std::string_view::npos ? std::nullopt : decode_base64(line.substr(0, space));
  if (!bytes) {
    fail(ErrorCode::corrupt_file,
         "{}: line {} is not '<base64> <rank>'; a tokenizer must be a GGUF file, a tokenizer.json, a SentencePiece or a tiktoken .model",
         name, rank + 1);
  }
  TokenId found = 0;
  const char* end = line.data() + line.size();
  const auto [stop, error] = std::from_chars(line.data() + space + 1, end, found);
  if (error != std::errc() || stop != end || found != rank) {
    fail(ErrorCode::corrupt_file, "{}: line {}: its rank is '{}', expected {}; the file is damaged", name, rank + 1, line.substr(space + 1),
         rank);
  }
  return *bytes;
}

void read_ranks(std::string_view bytes, const std::string& name, Vocabulary& vocabulary) {
  while (!bytes.empty()) {
    const size_t end = std::min(bytes.find('\n'), bytes.size());
    std::string_view line = bytes.substr(0, end);
    bytes.remove_prefix(std::min(end + 1, bytes.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty() && bytes.empty()) break;
    std::string letters;
    append_letters(letters, read_line(line, vocabulary.size(), name));
    vocabulary.add(letters, TokenKind::normal, 0.0f);
  }
}

}  // namespace

std::unique_ptr<TokenizerParts> read_tiktoken_model(std::string_view bytes, const std::string& name, const SpecialTokens& special) {
  auto parts = std::make_unique<TokenizerParts>();
  parts->name = name;
  Vocabulary& vocabulary = parts->vocabulary;
  vocabulary.reserve(bytes.size() / 16, bytes.size() / 2);
  read_ranks(bytes, name, vocabulary);
  const std::optional<KnownFile> known = find_known_file(vocabulary.size());
  std::string_view of_family = pattern_of_family(special.model_type);
  if (of_family.empty()) of_family = pattern_of_family(std::filesystem::path(name).filename().string());
  if (!special.added.empty()) {
    add_folder_tokens(*parts, special);
  } else if (known) {
    for (const auto& [id, text] : known->specials) {
      // Numbers between the ranks and the special tokens are free.
      while (vocabulary.size() < id) vocabulary.add("", TokenKind::unused, 0.0f);
      vocabulary.add(text, TokenKind::control, 0.0f);
      parts->added.add({.text = text, .id = id, .special = true});
    }
  }
  if (!known && of_family.empty()) {
    log_warning("{}: {} ranks are of no known model: words are cut as Llama 3 cuts them{}", name, vocabulary.size(),
                special.added.empty() ? ", and there are no special tokens" : "");
  }
  vocabulary.build_index();
  const auto find = [&](const char* text) -> std::optional<TokenId> {
    const TokenId id = text == nullptr ? kNoToken : vocabulary.find(text);
    return id == kNoToken ? std::nullopt : std::optional(id);
  };
  if (known) {
    parts->bos = find(known->bos);
    parts->eos = find(known->eos);
  }
  if (parts->bos) parts->prefix = {*parts->bos};
  const std::string_view pattern = !of_family.empty() ? of_family : known ? known->pattern : llama3_pattern();
  parts->patterns = {std::string(pattern)};
  parts->pre_tokenizers.push_back(std::make_unique<SplitPreTokenizer>(Regex(pattern, name), SplitBehavior::isolated));
  parts->accepts_invalid = true;
  parts->caches_words = true;
  // tiktoken looks each word up whole before it merges; for its own vocabularies that changes nothing.
  parts->model = std::make_unique<BytePairModel>(vocabulary, BytePairOptions{.ignore_merges = true, .rank_by_id = true});
  parts->decoder = TokenDecoder(vocabulary, DecodeRules{.letters_to_bytes = true});
  complete_tokenizer(*parts);
  return parts;
}

}  // namespace wick
