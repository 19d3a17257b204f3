#include "wick/text/tokenizer/gguf_vocabulary.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <span>
#include <utility>

#include "wick/base/base64.h"
#include "wick/base/fail.h"
#include "wick/base/json.h"
#include "wick/base/mapped_file.h"
#include "wick/text/tokenizer/byte_alphabet.h"
#include "wick/text/tokenizer/longest_match_model.h"
#include "wick/text/tokenizer/pre_tokenizer_patterns.h"
#include "wick/text/tokenizer/special_tokens.h"
#include "wick/text/tokenizer/tokenizer.h"
#include "wick/text/tokenizer/tokenizer_parts.h"
#include "wick/text/unicode/unicode.h"

namespace wick {
namespace {

using VocabularyJson = nlohmann::json;

std::string type_of(const VocabularyJson& step) {
  if (!step.is_object()) return {};
  const auto type = step.find("type");
  return type != step.end() && type->is_string() ? type->get<std::string>() : std::string();
}

bool flag_of(const VocabularyJson& step, const char* key, bool otherwise) {
  const auto found = step.find(key);
  return found != step.end() && found->is_boolean() ? found->get<bool>() : otherwise;
}

std::string text_of(const VocabularyJson& step, const char* key, const std::string& otherwise = {}) {
  const auto found = step.find(key);
  return found != step.end() && found->is_string() ? found->get<std::string>() : otherwise;
}

// A Sequence's steps one after the other; the step itself, or nothing for null.
void flatten(const VocabularyJson& step, const char* key, std::vector<VocabularyJson>& steps) {
  if (!step.is_object()) return;
  if (type_of(step) != "Sequence") return steps.push_back(step);
  const auto list = step.find(key);
  if (list == step.end() || !list->is_array()) return;
  for (const VocabularyJson& each : *list) flatten(each, key, steps);
}

std::vector<VocabularyJson> steps_of(const VocabularyJson& root, const char* name, const char* key) {
  std::vector<VocabularyJson> steps;
  if (const auto found = root.find(name); found != root.end()) flatten(*found, key, steps);
  return steps;
}

// {"String": "…"} or {"Regex": "…"}.
std::string pattern_text(const VocabularyJson& step, const char* kind) {
  const auto pattern = step.find("pattern");
  return pattern != step.end() && pattern->is_object() ? text_of(*pattern, kind) : std::string();
}

bool is_space_marker_replacement(const VocabularyJson& step) {
  return type_of(step) == "Replace" && pattern_text(step, "String") == " " && text_of(step, "content") == kSpaceMarker;
}

class JsonVocabulary {
 public:
  JsonVocabulary(const VocabularyJson& root, const TokenizerParts& parts, const SpecialTokens& special, std::filesystem::path folder)
      : root_(root), parts_(parts), special_(special), folder_(std::move(folder)) {}

  GgufVocabulary make() {
    const VocabularyJson& model = root_.at("model");
    std::string type = text_of(model, "type");
    if (type.empty()) type = model.contains("merges") ? "BPE" : model.at("vocab").is_array() ? "Unigram" : "WordPiece";
    normalizers_ = steps_of(root_, "normalizer", "normalizers");
    pre_tokenizers_ = steps_of(root_, "pre_tokenizer", "pretokenizers");
    if (type == "BPE") {
      make_byte_pair(model);
    } else if (type == "Unigram") {
      make_unigram();
    } else if (type == "WordPiece") {
      make_word_piece(model);
    } else {
      made_.obstacle = fmt::format("GGUF has no tokenizer of type {}", type);
    }
    return std::move(made_);
  }

 private:
  void take_tokens();
  void make_byte_pair(const VocabularyJson& model);
  void make_byte_level(const VocabularyJson& model);
  void make_sentencepiece(const VocabularyJson& model);
  void read_merges(const VocabularyJson& model);
  void score_by_ranks();
  [[nodiscard]] bool score_by_file();
  void make_unigram();
  void make_word_piece(const VocabularyJson& model);
  [[nodiscard]] std::optional<std::vector<std::string>> patterns();
  void block(const VocabularyJson& step) { made_.obstacle = fmt::format("GGUF has no step {} there", type_of(step)); }

  const VocabularyJson& root_;
  const TokenizerParts& parts_;
  const SpecialTokens& special_;
  std::filesystem::path folder_;
  std::vector<VocabularyJson> normalizers_, pre_tokenizers_;
  GgufVocabulary made_;
};

// Texts as files spell them, where normalized ones are searched for.
void JsonVocabulary::take_tokens() {
  const Vocabulary& vocabulary = parts_.vocabulary;
  for (TokenId id = 0; id < vocabulary.size(); ++id) {
    made_.tokens.emplace_back(vocabulary.text(id));
    made_.kinds.push_back(vocabulary.kind(id));
  }
  const auto added = root_.find("added_tokens");
  if (added == root_.end() || !added->is_array()) return;
  for (const VocabularyJson& token : *added) {
    const std::string text = text_of(token, "content");
    const TokenId id = text.empty() ? kNoToken : vocabulary.find(text);
    if (id != kNoToken && vocabulary.kind(id) != TokenKind::normal) made_.tokens[static_cast<size_t>(id)] = text;
  }
}

// What a ByteLevel tokenizer's words are cut by, in order; none where a step is no pattern.
std::optional<std::vector<std::string>> JsonVocabulary::patterns() {
  std::vector<std::string> found;
  for (const VocabularyJson& step : pre_tokenizers_) {
    const std::string type = type_of(step), behavior = text_of(step, "behavior");
    if (type == "ByteLevel") {
      if (flag_of(step, "add_prefix_space", true)) return block(step), std::nullopt;
      if (flag_of(step, "use_regex", true)) found.emplace_back(gpt2_pattern());
    } else if (type == "Split") {
      // Dropping what no pattern matches is the same where they match everything.
      const bool whole = flag_of(step, "invert", false) ? behavior == "Removed" : behavior == "Isolated";
      std::string pattern = pattern_text(step, "Regex");
      if (!whole || pattern.empty()) return block(step), std::nullopt;
      found.push_back(std::move(pattern));
    } else if (type == "Digits") {
      found.emplace_back(flag_of(step, "individual_digits", false) ? R"(\p{N})" : R"(\p{N}+)");
    } else {
      return block(step), std::nullopt;
    }
  }
  return found;
}

void JsonVocabulary::read_merges(const VocabularyJson& model) {
  for (const VocabularyJson& merge : model.at("merges")) {
    if (merge.is_string()) {
      made_.merges.push_back(merge.get<std::string>());
    } else if (merge.is_array() && merge.size() == 2) {
      made_.merges.push_back(merge.at(0).get<std::string>() + " " + merge.at(1).get<std::string>());
    }
  }
}

void JsonVocabulary::make_byte_pair(const VocabularyJson& model) {
  const bool byte_level =
      std::any_of(pre_tokenizers_.begin(), pre_tokenizers_.end(), [](const VocabularyJson& step) { return type_of(step) == "ByteLevel"; });
  if (!text_of(model, "continuing_subword_prefix").empty() || !text_of(model, "end_of_word_suffix").empty()) {
    made_.obstacle = "GGUF has no marks of subwords";
  } else if (byte_level) {
    make_byte_level(model);
  } else {
    make_sentencepiece(model);
  }
}

void JsonVocabulary::make_byte_level(const VocabularyJson& model) {
  for (const VocabularyJson& step : normalizers_) {
    // What it changes of a text is told by the test of the converted file.
    if (type_of(step) != "NFC") return block(step);
  }
  const std::optional<std::vector<std::string>> found = patterns();
  if (!found) return;
  const std::string_view name = find_pre_name(*found, flag_of(model, "ignore_merges", false));
  if (name.empty()) {
    made_.obstacle = "its patterns are none that GGUF has a name for (tokenizer.ggml.pre)";
    return;
  }
  made_.model = "gpt2";
  made_.pre = name;
  take_tokens();
  read_merges(model);
}

// Scores of the SentencePiece model that the file was made of, if it is in the same folder.
bool JsonVocabulary::score_by_file() {
  const std::filesystem::path file = folder_ / "tokenizer.model";
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(file, ignored)) return false;
  const auto mapped = MappedFile::open(file);
  const std::string_view bytes(reinterpret_cast<const char*>(mapped->bytes().data()), mapped->bytes().size());
  if (!bytes.starts_with('\n')) return false;  // tiktoken's
  const std::unique_ptr<TokenizerParts> parts = read_sentencepiece_model(bytes, file.string(), special_);
  const Vocabulary& vocabulary = parts->vocabulary;
  for (size_t id = 0; id < made_.tokens.size(); ++id) {
    const TokenId own = vocabulary.find(made_.tokens[id]);
    made_.scores.push_back(own == kNoToken ? -1000.0F : static_cast<float>(vocabulary.score(own)));
  }
  return true;
}

// The earlier a merge, the higher the score of what it makes; what none makes comes last.
void JsonVocabulary::score_by_ranks() {
  std::map<std::string, size_t, std::less<>> ranks;
  for (size_t rank = 0; rank < made_.merges.size(); ++rank) {
    const size_t space = made_.merges[rank].find(' ', 1);
    if (space == std::string::npos) continue;
    ranks.emplace(made_.merges[rank].substr(0, space) + made_.merges[rank].substr(space + 1), rank);
  }
  for (size_t id = 0; id < made_.tokens.size(); ++id) {
    const auto rank = ranks.find(made_.tokens[id]);
    made_.scores.push_back(-static_cast<float>(rank == ranks.end() ? made_.merges.size() + id : rank->second));
  }
}

// As the models of SentencePiece: characters, "▁" for spaces, and bytes for what has no token.
void JsonVocabulary::make_sentencepiece(const VocabularyJson& model) {
  if (!flag_of(model, "byte_fallback", false)) {
    made_.obstacle = "GGUF has no BPE without bytes";
    return;
  }
  for (const VocabularyJson& step : normalizers_) {
    if (type_of(step) == "Prepend" && text_of(step, "prepend") == kSpaceMarker) {
      made_.add_space_prefix = true;
    } else if (!is_space_marker_replacement(step)) {
      return block(step);
    }
  }
  for (const VocabularyJson& step : pre_tokenizers_) {
    const std::string type = type_of(step);
    if (type == "Metaspace") {
      const std::string scheme = text_of(step, "prepend_scheme", flag_of(step, "add_prefix_space", true) ? "always" : "never");
      made_.add_space_prefix = made_.add_space_prefix || scheme != "never";
    } else if (type != "Split" || pattern_text(step, "String") != " " || text_of(step, "behavior") != "MergedWithPrevious") {
      return block(step);  // spaces are gone by then, so that such a split does nothing
    }
  }
  made_.model = "llama";
  made_.pre = "default";
  take_tokens();
  read_merges(model);
  if (!score_by_file()) score_by_ranks();
  made_.merges.clear();
  for (size_t id = 0; id < made_.tokens.size(); ++id) {
    TokenKind& kind = made_.kinds[id];
    if (kind == TokenKind::normal && parse_byte_token(made_.tokens[id]) >= 0) kind = TokenKind::byte;
    if (parts_.unk == static_cast<TokenId>(id)) kind = TokenKind::unknown;
  }
}

void JsonVocabulary::make_unigram() {
  for (const VocabularyJson& step : normalizers_) {
    const std::string type = type_of(step);
    if (type == "Precompiled") {
      made_.character_map = decode_base64(text_of(step, "precompiled_charsmap")).value_or("");
    } else if (type == "Strip" || (type == "Replace" && pattern_text(step, "Regex") == " {2,}")) {
      made_.remove_extra_whitespaces = true;
    } else if (type == "Prepend" && text_of(step, "prepend") == kSpaceMarker) {
      made_.add_space_prefix = true;
    } else if (type != "Nmt" && !is_space_marker_replacement(step)) {
      return block(step);
    }
  }
  for (const VocabularyJson& step : pre_tokenizers_) {
    const std::string type = type_of(step);
    if (type == "WhitespaceSplit") {
      made_.remove_extra_whitespaces = true;
    } else if (type == "Metaspace") {
      made_.add_space_prefix = text_of(step, "prepend_scheme", flag_of(step, "add_prefix_space", true) ? "always" : "never") != "never";
    } else {
      return block(step);
    }
  }
  made_.model = "t5";
  made_.pre = "default";
  take_tokens();
  const Vocabulary& vocabulary = parts_.vocabulary;
  for (TokenId id = 0; id < vocabulary.size(); ++id) {
    made_.scores.push_back(static_cast<float>(vocabulary.score(id)));
    TokenKind& kind = made_.kinds[static_cast<size_t>(id)];
    if (kind == TokenKind::normal && parse_byte_token(vocabulary.text(id)) >= 0) kind = TokenKind::byte;
    if (parts_.unk == id) kind = TokenKind::unknown;
  }
}

// llama.cpp's form: "▁" begins a word, where BERT's files mark what continues one.
void JsonVocabulary::make_word_piece(const VocabularyJson& model) {
  const std::string prefix = text_of(model, "continuing_subword_prefix", "##");
  for (const VocabularyJson& step : normalizers_) {
    if (type_of(step) != "BertNormalizer" || !flag_of(step, "clean_text", true) || !flag_of(step, "handle_chinese_chars", true))
      return block(step);
    made_.lowercase = flag_of(step, "lowercase", true);
    made_.strip_accents = flag_of(step, "strip_accents", made_.lowercase);
  }
  const bool usual = normalizers_.size() == 1 && pre_tokenizers_.size() == 1 && type_of(pre_tokenizers_.front()) == "BertPreTokenizer";
  if (!usual) {
    made_.obstacle = "GGUF has WordPiece with BERT's words alone";
    return;
  }
  made_.model = "bert";
  made_.pre = "default";
  take_tokens();
  for (size_t id = 0; id < made_.tokens.size(); ++id) {
    if (made_.kinds[id] != TokenKind::normal) continue;
    std::string& text = made_.tokens[id];
    if (text.starts_with(prefix)) {
      text.erase(0, prefix.size());
    } else {
      text.insert(0, kSpaceMarker);
    }
  }
}

// The two tokens that tiktoken would merge last to make this one; none where it would not.
std::optional<std::string> last_merge(const Vocabulary& vocabulary, TokenId token) {
  const std::vector<std::string_view> letters = code_points(vocabulary.text(token));
  std::vector<std::string> parts(letters.begin(), letters.end());
  while (parts.size() > 2) {
    size_t best = parts.size();
    TokenId lowest = token;
    for (size_t index = 0; index + 1 < parts.size(); ++index) {
      const TokenId merged = vocabulary.find_piece(parts[index] + parts[index + 1]);
      if (merged != kNoToken && merged < lowest) {
        lowest = merged;
        best = index;
      }
    }
    if (best == parts.size()) return std::nullopt;
    parts[best] += parts[best + 1];
    parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(best) + 1);
  }
  if (parts.size() != 2) return std::nullopt;
  return parts[0] + " " + parts[1];
}

GgufVocabulary of_ranks(const TokenizerParts& parts) {
  GgufVocabulary made;
  std::string_view name = find_pre_name(parts.patterns, true);
  if (name.empty()) name = find_pre_name(parts.patterns, false);
  if (name.empty()) {
    made.obstacle = "its patterns are none that GGUF has a name for (tokenizer.ggml.pre)";
    return made;
  }
  made.model = "gpt2";
  made.pre = name;
  const Vocabulary& vocabulary = parts.vocabulary;
  for (TokenId id = 0; id < vocabulary.size(); ++id) {
    made.tokens.emplace_back(vocabulary.text(id));
    made.kinds.push_back(vocabulary.kind(id));
    if (!vocabulary.is_piece(id) || vocabulary.kind(id) != TokenKind::normal) continue;
    if (std::optional<std::string> merge = last_merge(vocabulary, id)) made.merges.push_back(*std::move(merge));
  }
  return made;
}

GgufVocabulary of_rwkv(const TokenizerParts& parts) {
  GgufVocabulary made;
  made.model = "rwkv";
  const Vocabulary& vocabulary = parts.vocabulary;
  for (TokenId id = 0; id < vocabulary.size(); ++id) {
    const std::optional<std::string> bytes =
        vocabulary.kind(id) == TokenKind::normal ? letters_to_bytes(vocabulary.text(id)) : std::nullopt;
    made.tokens.push_back(bytes ? escape_token(*bytes) : std::string(vocabulary.text(id)));
    made.kinds.push_back(vocabulary.kind(id));
  }
  return made;
}

}  // namespace

GgufVocabulary make_gguf_vocabulary(const std::filesystem::path& file, const SpecialTokens& special) {
  const auto mapped = MappedFile::open(file);
  const std::string_view bytes(reinterpret_cast<const char*>(mapped->bytes().data()), mapped->bytes().size());
  const std::string name = file.string();
  if (bytes.starts_with('\n')) return sentencepiece_gguf_vocabulary(bytes, name, special);
  const std::unique_ptr<TokenizerParts> parts = read_tokenizer(bytes, name, special);
  if (is_rwkv_vocabulary(bytes)) return of_rwkv(*parts);
  if (!parts->patterns.empty()) return of_ranks(*parts);
  const VocabularyJson json = parse_json(bytes);
  return JsonVocabulary(json, *parts, special, file.parent_path()).make();
}

std::vector<std::string> vocabulary_test_texts(const Tokenizer& tokenizer, size_t random) {
  std::vector<std::string> texts = {
      "Hello, world! It's 3.14159 o'clock; we'll see 1,234,567 things.",
      "  two spaces,\ttabs\t\tand\n\nnewlines \r\n at   the end  ",
      "def f(x):\n    return x**2  # CamelCase snake_case HTTPServer ÀÉÎ",
      "Größe, naïve café, Ελληνικά, русский текст, العربية, हिन्दी, ไทย",
      "中文字符和标点。日本語のテキスト、한국어 문장",
      "emoji 🙂👩‍👩‍👧 and ﷽ ½ ² ① \xE2\x80\x8B zero width",
      "e\xCC\x81 and \xC3\xA9; \xEF\xAC\x81 ligature",
      "<s></s><unk>[INST] <|endoftext|> <0x41> ▁ Ġ ##ing",
      " ",
      "\n",
      "'S 'LL 'Re DON'T",
      "1234567890 12 123 1234 0x1F 1e-9",
  };
  // A linear congruential generator (Knuth's MMIX): the same texts on every machine.
  uint64_t state = 59;
  const auto next = [&](uint64_t below) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return (state >> 33) % below;
  };
  for (size_t index = 0; index < random && tokenizer.vocab_size() > 0; ++index) {
    std::string text;
    const uint64_t count = 1 + next(12);
    for (uint64_t token = 0; token < count; ++token) {
      text += tokenizer.token_bytes(static_cast<TokenId>(next(static_cast<uint64_t>(tokenizer.vocab_size()))));
      if (next(3) == 0) text += ' ';
    }
    texts.push_back(is_valid_utf8(text) ? text : replace_invalid(text, InvalidBytes::one_per_subpart));
  }
  return texts;
}

}  // namespace wick
