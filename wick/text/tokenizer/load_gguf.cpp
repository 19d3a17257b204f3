// The vocabulary in a GGUF file's metadata. Keys and defaults: ggml's docs/gguf.md and llama.cpp's loader, which wrote the files.
#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "wick/base/ascii.h"
#include "wick/base/fail.h"
#include "wick/base/log.h"
#include "wick/formats/gguf.h"
#include "wick/text/tokenizer/byte_alphabet.h"
#include "wick/text/tokenizer/byte_pair_model.h"
#include "wick/text/tokenizer/longest_match_model.h"
#include "wick/text/tokenizer/piece_merge_model.h"
#include "wick/text/tokenizer/pre_tokenizer_patterns.h"
#include "wick/text/tokenizer/tokenizer_parts.h"
#include "wick/text/tokenizer/unigram_model.h"
#include "wick/text/tokenizer/word_piece_model.h"

namespace wick {
namespace {

constexpr const char* kRemedy = "the file is damaged or was converted wrongly; convert it again";

// The files' own names for what this reader needs.
constexpr const char* kModel = "tokenizer.ggml.model";
constexpr const char* kPre = "tokenizer.ggml.pre";
constexpr const char* kTokens = "tokenizer.ggml.tokens";
constexpr const char* kScores = "tokenizer.ggml.scores";
constexpr const char* kTypes = "tokenizer.ggml.token_type";
constexpr const char* kMerges = "tokenizer.ggml.merges";
constexpr const char* kCharacterMap = "tokenizer.ggml.precompiled_charsmap";

class GgufTokenizerReader {
 public:
  explicit GgufTokenizerReader(const GgufFile& file) : file_(file), parts_(std::make_unique<TokenizerParts>()) {}

  std::unique_ptr<TokenizerParts> read() {
    parts_->name = file_.name();
    const auto family = file_.find_string(kModel);
    // llama.cpp's words for it.
    if (!family || *family == "none" || *family == "no_vocab") {
      fail(ErrorCode::not_found, "{}: no {}: the file has no vocabulary; use a model file that has one", file_.name(), kModel);
    }
    read_tokens(*family == "rwkv");
    if (*family == "llama") {
      read_sentencepiece();
    } else if (*family == "gpt2" || *family == "gemma4") {
      read_byte_pair(*family == "gemma4");
    } else if (*family == "t5") {
      read_unigram();
    } else if (*family == "bert") {
      read_word_piece();
    } else if (*family == "rwkv") {
      read_common_ids(find_id("tokenizer.ggml.bos_token_id"), find_id("tokenizer.ggml.eos_token_id"));
      add_ends(false, false);
      complete_rwkv(*parts_);
    } else {
      fail(ErrorCode::unsupported, "{}: {} is '{}'; this build reads llama, gpt2, gemma4, t5, bert and rwkv", file_.name(), kModel,
           *family);
    }
    complete_tokenizer(*parts_, true);
    collect_added_tokens();
    return std::move(parts_);
  }

 private:
  // `escaped`: normal tokens are, as Python's repr of bytes.
  void read_tokens(bool escaped);
  std::vector<int32_t> read_types(size_t count) const;
  std::vector<float> read_scores(size_t count) const;
  void read_sentencepiece();
  void read_byte_pair(bool whole_text);
  void read_merges(BytePairModel& model);
  void read_unigram();
  void read_word_piece();
  void collect_added_tokens();

  // The id under `key`; an id that is not in the vocabulary is reported and taken for absent.
  std::optional<TokenId> find_id(const char* key) const;
  std::optional<TokenId> find_id_or(const char* key, TokenId fallback) const;
  void read_common_ids(std::optional<TokenId> bos, std::optional<TokenId> eos);
  void add_ends(bool bos_by_default, bool eos_by_default);

  const GgufFile& file_;
  std::unique_ptr<TokenizerParts> parts_;
};

std::vector<int32_t> GgufTokenizerReader::read_types(size_t count) const {
  const GgufArray* types = file_.find_array(kTypes);
  if (types == nullptr) return std::vector<int32_t>(count, static_cast<int32_t>(TokenKind::normal));
  if (types->size != count) {
    fail(ErrorCode::corrupt_file, "{}: {} has {} elements, {} has {}: they must be as many; {}", file_.name(), kTypes, types->size, kTokens,
         count, kRemedy);
  }
  return types->to_vector<int32_t>();
}

std::vector<float> GgufTokenizerReader::read_scores(size_t count) const {
  const GgufArray* scores = file_.find_array(kScores);
  if (scores == nullptr) return std::vector<float>(count, 0.0f);
  if (scores->size != count) {
    fail(ErrorCode::corrupt_file, "{}: {} has {} elements, {} has {}: they must be as many; {}", file_.name(), kScores, scores->size,
         kTokens, count, kRemedy);
  }
  return scores->to_vector<float>();
}

void GgufTokenizerReader::read_tokens(bool escaped) {
  const GgufArray& tokens = file_.get_array(kTokens);
  if (tokens.element_type != GgufType::string) {
    fail(ErrorCode::corrupt_file, "{}: {} is an array of {}, not of strings; {}", file_.name(), kTokens, to_string(tokens.element_type),
         kRemedy);
  }
  if (tokens.strings.empty()) fail(ErrorCode::corrupt_file, "{}: {} is empty; {}", file_.name(), kTokens, kRemedy);
  const size_t count = tokens.strings.size();
  const std::vector<int32_t> types = read_types(count);
  const std::vector<float> scores = read_scores(count);
  size_t text_bytes = 0;
  for (const std::string_view text : tokens.strings) text_bytes += text.size();
  parts_->vocabulary.reserve(count, text_bytes);
  for (size_t index = 0; index < count; ++index) {
    const int32_t type = types[index];
    const auto kind = type >= 1 && type <= 6 ? static_cast<TokenKind>(type) : TokenKind::unused;
    if (!escaped || kind != TokenKind::normal) {
      parts_->vocabulary.add(tokens.strings[index], kind, scores[index]);
      continue;
    }
    const std::optional<std::string> bytes = unescape_token(tokens.strings[index]);
    if (!bytes) fail(ErrorCode::corrupt_file, "{}: {}[{}] ends within an escape; {}", file_.name(), kTokens, index, kRemedy);
    std::string letters;
    append_letters(letters, *bytes);
    parts_->vocabulary.add(letters, kind, scores[index]);
  }
  parts_->vocabulary.build_index();
}

std::optional<TokenId> GgufTokenizerReader::find_id(const char* key) const {
  const auto id = file_.find_uint(key);
  if (!id) return std::nullopt;
  if (*id >= static_cast<uint64_t>(parts_->vocabulary.size())) {
    log_warning("{}: {} is {}, the vocabulary has {} tokens: ignored", file_.name(), key, *id, parts_->vocabulary.size());
    return std::nullopt;
  }
  return static_cast<TokenId>(*id);
}

std::optional<TokenId> GgufTokenizerReader::find_id_or(const char* key, TokenId fallback) const {
  const auto id = find_id(key);
  if (id || !parts_->vocabulary.contains(fallback)) return id;
  return fallback;
}

void GgufTokenizerReader::read_common_ids(std::optional<TokenId> bos, std::optional<TokenId> eos) {
  parts_->bos = bos;
  parts_->eos = eos;
  parts_->pad = find_id("tokenizer.ggml.padding_token_id");
  for (const char* key : {"tokenizer.ggml.eot_token_id", "tokenizer.ggml.eom_token_id", "tokenizer.ggml.fim_pad_token_id",
                          "tokenizer.ggml.fim_rep_token_id", "tokenizer.ggml.fim_sep_token_id"}) {
    if (const auto id = find_id(key)) parts_->end_of_generation.push_back(*id);
  }
  // One id, or several, by which newer files name all tokens that end a generation.
  const GgufValue* more = file_.find("tokenizer.ggml.eos_token_ids");
  if (more == nullptr || !std::holds_alternative<GgufArray>(more->value)) return;
  for (const int64_t id : std::get<GgufArray>(more->value).to_vector<int64_t>()) {
    if (id >= 0 && id < parts_->vocabulary.size()) parts_->end_of_generation.push_back(static_cast<TokenId>(id));
  }
}

void GgufTokenizerReader::add_ends(bool bos_by_default, bool eos_by_default) {
  const auto add = [&](const char* flag, const char* id_key, bool by_default, std::optional<TokenId> id, std::vector<TokenId>& ends) {
    const auto asked = file_.find_bool(flag);
    if (!asked.value_or(by_default)) return;
    if (id) {
      ends.push_back(*id);
    } else if (asked) {
      fail(ErrorCode::corrupt_file, "{}: {} is true, but {} names no token; {}", file_.name(), flag, id_key, kRemedy);
    }
  };
  add("tokenizer.ggml.add_bos_token", "tokenizer.ggml.bos_token_id", bos_by_default, parts_->bos, parts_->prefix);
  add("tokenizer.ggml.add_eos_token", "tokenizer.ggml.eos_token_id", eos_by_default, parts_->eos, parts_->suffix);
}

void GgufTokenizerReader::read_sentencepiece() {
  read_common_ids(find_id_or("tokenizer.ggml.bos_token_id", 1), find_id_or("tokenizer.ggml.eos_token_id", 2));
  parts_->unk = find_id_or("tokenizer.ggml.unknown_token_id", 0);
  add_ends(true, false);
  const bool space_prefix = file_.find_bool("tokenizer.ggml.add_space_prefix").value_or(true);
  parts_->normalizers.push_back(std::make_unique<SentencePieceNormalizer>(
      SentencePieceNormalizerOptions{.add_dummy_prefix = space_prefix, .remove_extra_whitespaces = false, .keep_invalid = true},
      CharacterMap(), TextMatcher()));
  if (!has_inner_space_marker(parts_->vocabulary)) {
    parts_->pre_tokenizers.push_back(std::make_unique<MarkerPreTokenizer>());
    parts_->caches_words = true;
  }
  parts_->accepts_invalid = true;
  parts_->invalid_whole = true;
  parts_->model = std::make_unique<PieceMergeModel>(
      parts_->vocabulary, PieceMergeOptions{.byte_fallback = true, .lead_byte_lengths = true, .unknown = parts_->unk.value_or(kNoToken)});
  parts_->decoder =
      TokenDecoder(parts_->vocabulary, DecodeRules{.space_marker = std::string(kSpaceMarker),
                                                   .leading_space = space_prefix ? LeadingSpace::drop_one : LeadingSpace::kept,
                                                   .literal_user_defined = true,
                                                   .invalid = InvalidBytes::one_per_byte});
}

void GgufTokenizerReader::read_byte_pair(bool whole_text) {
  const std::string_view name = whole_text ? "gemma4" : file_.find_string(kPre).value_or("");
  if (name.empty()) log_warning("{}: no {}: words are cut by the default patterns, which may not be the model's", file_.name(), kPre);
  const PatternSet* set = find_pattern_set(name.empty() ? "default" : name);
  if (set == nullptr) {
    fail(ErrorCode::unsupported, "{}: {} is '{}'; this build knows {}", file_.name(), kPre, name, known_pattern_sets());
  }
  read_common_ids(find_id("tokenizer.ggml.bos_token_id"), find_id("tokenizer.ggml.eos_token_id"));
  parts_->unk = find_id("tokenizer.ggml.unknown_token_id");
  add_ends(set->adds_bos || set->whole_text, false);
  if (set->whole_text) parts_->normalizers.push_back(std::make_unique<ReplaceNormalizer>(Regex(" ", kPre), std::string(kSpaceMarker)));
  for (const std::string_view pattern : set->patterns) {
    parts_->pre_tokenizers.push_back(make_split(pattern, name));
  }
  if (set->whole_text && !has_inner_space_marker(parts_->vocabulary)) {
    parts_->pre_tokenizers.push_back(std::make_unique<MarkerPreTokenizer>());
  }
  parts_->accepts_invalid = !set->whole_text;
  parts_->caches_words = true;
  const bool has_merges = file_.find(kMerges) != nullptr;
  BytePairOptions options{.bytes_to_letters = !set->whole_text,
                          .ignore_merges = set->ignore_merges,
                          .whole_newlines = set->whole_text,
                          .rank_by_id = !has_merges && name == "kimi-k2",
                          .byte_fallback = set->whole_text,
                          .unknown = set->whole_text ? parts_->unk.value_or(kNoToken) : kNoToken};
  const bool rank_by_id = options.rank_by_id;
  auto model = std::make_unique<BytePairModel>(parts_->vocabulary, std::move(options));
  if (!rank_by_id) read_merges(*model);
  parts_->model = std::move(model);
  DecodeRules rules{.letters_to_bytes = !set->whole_text, .literal_user_defined = true};
  if (set->whole_text) rules.space_marker = std::string(kSpaceMarker);
  parts_->decoder = TokenDecoder(parts_->vocabulary, std::move(rules));
}

void GgufTokenizerReader::read_merges(BytePairModel& model) {
  const GgufArray& merges = file_.get_array(kMerges);
  if (merges.element_type != GgufType::string) {
    fail(ErrorCode::corrupt_file, "{}: {} is an array of {}, not of strings; {}", file_.name(), kMerges, to_string(merges.element_type),
         kRemedy);
  }
  model.reserve_merges(merges.strings.size());
  constexpr size_t kBatch = 1024;
  std::vector<MergeTexts> batch;
  std::vector<size_t> unusable;
  for (size_t index = 0; index < merges.strings.size(); ++index) {
    const std::string_view merge = merges.strings[index];
    // The first letter may itself be a space where vocabularies are spelled in characters.
    const size_t space = merge.find(' ', 1);
    if (space == std::string_view::npos || space + 1 == merge.size()) {
      fail(ErrorCode::corrupt_file, "{}: {}[{}] is '{}', not two texts with a space between them; {}", file_.name(), kMerges, index, merge,
           kRemedy);
    }
    batch.push_back({merge.substr(0, space), merge.substr(space + 1)});
    if (batch.size() < kBatch && index + 1 < merges.strings.size()) continue;
    const std::vector<size_t> ranks = model.add_merges(batch);
    unusable.insert(unusable.end(), ranks.begin(), ranks.end());
    batch.clear();
  }
  if (!unusable.empty()) {
    log_warning("{}: {} of {} merges name texts that are no tokens, {}[{}] the first: ignored", file_.name(), unusable.size(),
                merges.strings.size(), kMerges, unusable.front());
  }
}

void GgufTokenizerReader::read_unigram() {
  read_common_ids(find_id("tokenizer.ggml.bos_token_id"), find_id_or("tokenizer.ggml.eos_token_id", 1));
  parts_->unk = find_id_or("tokenizer.ggml.unknown_token_id", 2);
  if (!parts_->pad) parts_->pad = find_id_or("tokenizer.ggml.padding_token_id", 0);
  add_ends(false, true);
  CharacterMap map;
  if (const GgufArray* blob = file_.find_array(kCharacterMap)) {
    if (blob->element_type != GgufType::u8 && blob->element_type != GgufType::i8) {
      fail(ErrorCode::corrupt_file, "{}: {} is an array of {}, not of bytes; {}", file_.name(), kCharacterMap,
           to_string(blob->element_type), kRemedy);
    }
    map = CharacterMap({reinterpret_cast<const char*>(blob->packed.data()), blob->packed.size()}, file_.name());
  }
  const bool space_prefix = file_.find_bool("tokenizer.ggml.add_space_prefix").value_or(false);
  const bool remove_extra = file_.find_bool("tokenizer.ggml.remove_extra_whitespaces").value_or(false);
  parts_->normalizers.push_back(std::make_unique<SentencePieceNormalizer>(
      SentencePieceNormalizerOptions{.add_dummy_prefix = space_prefix || remove_extra, .remove_extra_whitespaces = remove_extra},
      std::move(map), TextMatcher()));
  if (!has_inner_space_marker(parts_->vocabulary)) {
    parts_->pre_tokenizers.push_back(std::make_unique<MarkerPreTokenizer>());
    parts_->caches_words = true;
  }
  parts_->model = std::make_unique<UnigramModel>(
      parts_->vocabulary,
      UnigramOptions{.byte_fallback = parts_->vocabulary.find("<0x00>") != kNoToken, .unknown = parts_->unk.value_or(kNoToken)},
      parts_->name);
  parts_->decoder = TokenDecoder(parts_->vocabulary,
                                 DecodeRules{.space_marker = std::string(kSpaceMarker),
                                             .leading_space = space_prefix || remove_extra ? LeadingSpace::drop_one : LeadingSpace::kept,
                                             .literal_user_defined = true,
                                             .invalid = InvalidBytes::one_per_byte});
}

void GgufTokenizerReader::read_word_piece() {
  auto cls = find_id("tokenizer.ggml.cls_token_id");
  if (!cls) cls = find_id_or("tokenizer.ggml.bos_token_id", 101);
  // The key is misspelled in the files.
  const auto sep = find_id_or("tokenizer.ggml.seperator_token_id", 102);
  read_common_ids(cls, find_id("tokenizer.ggml.eos_token_id"));
  parts_->unk = find_id_or("tokenizer.ggml.unknown_token_id", 100);
  if (cls && file_.find_bool("tokenizer.ggml.add_bos_token").value_or(true)) parts_->prefix = {*cls};
  if (sep && file_.find_bool("tokenizer.ggml.add_sep_token").value_or(true)) parts_->suffix = {*sep};
  const bool lowercase = file_.find_bool("tokenizer.ggml.normalizer.lowercase").value_or(true);
  const bool strip_accents = file_.find_bool("tokenizer.ggml.normalizer.strip_accents").value_or(lowercase);
  parts_->normalizers.push_back(
      std::make_unique<BertNormalizer>(BertNormalizerOptions{.strip_accents = strip_accents, .lowercase = lowercase}));
  parts_->pre_tokenizers.push_back(std::make_unique<CharacterPreTokenizer>(is_whitespace, SplitBehavior::removed));
  parts_->pre_tokenizers.push_back(std::make_unique<CharacterPreTokenizer>(is_punctuation, SplitBehavior::isolated));
  parts_->caches_words = true;
  parts_->model = std::make_unique<WordPieceModel>(
      parts_->vocabulary,
      WordPieceOptions{.first_prefix = std::string(kSpaceMarker), .continuing_prefix = "", .unknown = parts_->unk.value_or(kNoToken)});
  parts_->decoder = TokenDecoder(parts_->vocabulary, DecodeRules{.space_marker = std::string(kSpaceMarker),
                                                                 .leading_space = LeadingSpace::drop_one,
                                                                 .clean_up = true,
                                                                 .literal_user_defined = true});
}

void GgufTokenizerReader::collect_added_tokens() {
  const auto contains = [](std::string_view text, auto... parts) { return ((text.find(parts) != std::string_view::npos) || ...); };
  // The files do not say which tokens take white space along: these models are known for it.
  const bool phi3 = contains(ascii_lowercase(file_.find_string("general.name").value_or("")), "phi-3", "phi3");
  const std::string_view pre = file_.find_string(kPre).value_or("");
  const std::string_view architecture = file_.find_string("general.architecture").value_or("");
  const bool mask_strips =
      contains(pre, "jina-v2-de", "jina-v2-es", "jina-v2-code") || contains(architecture, "nomic-bert-moe", "jina-bert-v3");
  const Vocabulary& vocabulary = parts_->vocabulary;
  for (TokenId id = 0; id < vocabulary.size(); ++id) {
    const TokenKind kind = vocabulary.kind(id);
    if (kind != TokenKind::control && kind != TokenKind::user_defined && kind != TokenKind::unknown) continue;
    const std::string_view text = vocabulary.text(id);
    const bool plain = text == "<unk>" || text == "<s>" || text == "<|endoftext|>";
    parts_->added.add({.text = std::string(text),
                       .id = id,
                       .special = kind != TokenKind::user_defined,
                       .strip_left = (mask_strips && text == "<mask>") || (pre == "modern-bert" && text == "[MASK]"),
                       .strip_right = phi3 && !plain});
  }
}

}  // namespace

std::unique_ptr<TokenizerParts> read_gguf_tokenizer(const GgufFile& file) { return GgufTokenizerReader(file).read(); }

}  // namespace wick
