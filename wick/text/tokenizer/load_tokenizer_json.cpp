// Hugging Face's tokenizer.json: a list of steps and a model, as https://huggingface.co/docs/tokenizers defines them.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <utility>

#include "wick/base/fail.h"
#include "wick/base/json.h"
#include "wick/text/tokenizer/byte_pair_model.h"
#include "wick/text/tokenizer/tokenizer_json_parts.h"
#include "wick/text/tokenizer/unigram_model.h"
#include "wick/text/tokenizer/word_level_model.h"
#include "wick/text/tokenizer/word_piece_model.h"

namespace wick {
namespace {

// A score as Hugging Face's library reads it (serde_json without float_roundtrip): the digits as a whole number, divided or multiplied by
// a power of ten. One in ten differs from the nearest double by its last bit, which decides between segmentations that score the same.
double as_serde_reads(double number) {
  std::array<char, 40> text{};
  const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), std::abs(number), std::chars_format::scientific);
  if (error != std::errc() || !std::isfinite(number)) return number;
  uint64_t digits = 0;
  int exponent = 0;
  const char* letter = text.data();
  for (; letter != end && *letter != 'e'; ++letter) {
    if (*letter == '.') continue;
    digits = digits * 10 + static_cast<uint64_t>(*letter - '0');
    if (letter != text.data()) --exponent;
  }
  int written = 0;
  std::from_chars(letter + (letter[1] == '+' ? 2 : 1), end, written);
  exponent += written;
  constexpr int kLargestPower = 308;
  if (std::abs(exponent) > kLargestPower) return number;
  double power = 1;
  const std::string power_text = fmt::format("1e{}", std::abs(exponent));
  std::from_chars(power_text.data(), power_text.data() + power_text.size(), power);
  const auto whole = static_cast<double>(digits);
  return std::copysign(exponent < 0 ? whole / power : whole * power, number);
}

class TokenizerJsonReader {
 public:
  TokenizerJsonReader(const JsonReader::Json& json, const std::string& name)
      : root_(json, name, ""), parts_(std::make_unique<TokenizerParts>()) {
    parts_->name = name;
  }

  std::unique_ptr<TokenizerParts> read() {
    const JsonReader model = root_.get("model");
    model_type_ = find_model_type(model);
    if (const auto steps = root_.find("normalizer")) append_json_normalizers(*steps, parts_->normalizers);
    read_vocabulary(model);
    if (const auto steps = root_.find("pre_tokenizer")) append_json_pre_tokenizers(*steps, parts_->pre_tokenizers, facts_);
    read_model(model);
    add_added_tokens();
    if (const auto steps = root_.find("post_processor")) read_json_post_processor(*steps, *parts_);
    read_decoder();
    guess_special_ids();
    complete_tokenizer(*parts_);
    return std::move(parts_);
  }

 private:
  struct Entry {
    std::string_view text;
    double score = 0;
    TokenKind kind = TokenKind::unused;  // until a token has this id
    bool piece = true;
  };

  static std::string find_model_type(const JsonReader& model);
  void read_vocabulary(const JsonReader& model);
  void add_piece(const JsonReader& where, int64_t id, std::string_view text, double score);
  TokenId find_piece(const JsonReader& vocab, const std::string& text);
  void read_added(const JsonReader& vocab, const JsonReader& list);
  void place_added(std::string_view text, const AddedToken& token, bool of_model);
  void read_model(const JsonReader& model);
  void read_byte_pair(const JsonReader& model);
  void read_merges(const JsonReader& list, BytePairModel& model) const;
  void read_unigram(const JsonReader& model);
  void read_word_piece(const JsonReader& model);
  void read_word_level(const JsonReader& model);
  void add_added_tokens();
  void read_decoder();
  void guess_special_ids();
  [[nodiscard]] TokenId find_unknown(const JsonReader& model) const;

  JsonReader root_;
  std::unique_ptr<TokenizerParts> parts_;
  std::string model_type_;
  JsonPreTokenizerFacts facts_;
  std::vector<Entry> entries_;  // by id
  std::vector<std::pair<std::string_view, TokenId>> aliases_;
  std::map<std::string_view, TokenId> pieces_by_text_;  // of a list
  int64_t id_limit_ = 0;
  std::vector<AddedToken> added_;
};

std::string TokenizerJsonReader::find_model_type(const JsonReader& model) {
  if (const auto type = model.find("type")) return type->string();
  // Files of before 2020 leave it out.
  if (model.find("merges")) return "BPE";
  const auto vocab = model.find("vocab");
  return vocab && vocab->value().is_array() ? "Unigram" : "WordPiece";
}

void TokenizerJsonReader::add_piece(const JsonReader& where, int64_t id, std::string_view text, double score) {
  // Ids may leave gaps, but not so large that a small file takes all memory.
  if (id < 0 || id >= id_limit_) where.corrupt(fmt::format("'{}' has the id {}, out of 0 to {}", text, id, id_limit_ - 1));
  if (static_cast<size_t>(id) >= entries_.size()) entries_.resize(static_cast<size_t>(id) + 1);
  Entry& entry = entries_[static_cast<size_t>(id)];
  // Several texts may have one id, whose text is then the last of them.
  if (entry.kind != TokenKind::unused) aliases_.emplace_back(entry.text, static_cast<TokenId>(id));
  entry = {.text = text, .score = score, .kind = TokenKind::normal};
}

void TokenizerJsonReader::read_vocabulary(const JsonReader& model) {
  const JsonReader vocab = model.get("vocab");
  const auto added = root_.find("added_tokens");
  const size_t count = vocab.value().size() + (added ? added->array_size() : 0);
  id_limit_ = static_cast<int64_t>(4 * count + 4096);
  if (vocab.value().is_array()) {
    for (size_t index = 0; index < vocab.value().size(); ++index) {
      const JsonReader pair = vocab.at(index);
      if (pair.array_size() != 2) pair.corrupt("not a pair of text and score");
      add_piece(pair, static_cast<int64_t>(index), pair.at(0).string(), as_serde_reads(pair.at(1).number()));
    }
  } else if (vocab.value().is_object()) {
    for (const auto& [text, id] : vocab.value().items()) {
      if (!id.is_number_integer()) vocab.corrupt(fmt::format("the id of '{}' is not a whole number", text));
      add_piece(vocab, id.get<int64_t>(), text, 0.0);
    }
  } else {
    vocab.corrupt("neither an object nor an array");
  }
  if (added) read_added(vocab, *added);
  for (const Entry& entry : entries_) parts_->vocabulary.add(entry.text, entry.kind, entry.score, entry.piece);
  for (const auto& [text, id] : aliases_) parts_->vocabulary.add_alias(text, id);
  parts_->vocabulary.build_index();
  if (parts_->vocabulary.size() == 0) vocab.corrupt("no tokens");
}

TokenId TokenizerJsonReader::find_piece(const JsonReader& vocab, const std::string& text) {
  if (vocab.value().is_object()) {
    const auto found = vocab.value().find(text);
    return found == vocab.value().end() ? kNoToken : found->get<TokenId>();
  }
  if (pieces_by_text_.empty()) {
    for (size_t id = 0; id < vocab.value().size(); ++id) pieces_by_text_[entries_[id].text] = static_cast<TokenId>(id);
  }
  const auto found = pieces_by_text_.find(text);
  return found == pieces_by_text_.end() ? kNoToken : found->second;
}

// As Hugging Face's library adds them: a text that the model has keeps the model's id, another gets the next free one. The ids of the
// file are not read; where it was written by that library they are the same.
void TokenizerJsonReader::read_added(const JsonReader& vocab, const JsonReader& list) {
  auto next = static_cast<TokenId>(vocab.value().size());
  std::map<std::string_view, size_t> known;  // indices of added_
  RegexScratch scratch;
  size_t written = 0;
  for (size_t index = 0; index < list.array_size(); ++index) {
    const JsonReader item = list.at(index);
    const std::string& text = item.get("content").string();
    if (text.empty()) continue;
    const bool special = item.flag("special", false);
    const bool normalized = item.flag("normalized", !special);
    const TokenId piece = find_piece(vocab, text);
    const auto [entry, is_new] = known.try_emplace(text, added_.size());
    if (is_new) added_.push_back({.text = {}, .id = piece != kNoToken ? piece : next++});
    // Of equal texts the last counts, but each may make it special.
    AddedToken& token = added_[entry->second];
    token = {.text = normalized ? parts_->normalize_added(text, scratch, written) : text,
             .id = token.id,
             .special = token.special || special,
             .normalized = normalized,
             .strip_left = item.flag("lstrip", false),
             .strip_right = item.flag("rstrip", false),
             .single_word = item.flag("single_word", false)};
  }
  for (const auto& [text, index] : known) place_added(text, added_[index], find_piece(vocab, std::string(text)) != kNoToken);
}

void TokenizerJsonReader::place_added(std::string_view text, const AddedToken& token, bool of_model) {
  const auto id = static_cast<size_t>(token.id);
  if (id >= entries_.size()) entries_.resize(id + 1);
  Entry& entry = entries_[id];
  if (!of_model) {
    if (entry.kind != TokenKind::unused) aliases_.emplace_back(entry.text, token.id);
    if (token.text != text) aliases_.emplace_back(text, token.id);
    // Where ids have gaps, the next free one may be a piece's.
    entry = {.text = token.text, .piece = entry.kind != TokenKind::unused && entry.piece};
  }
  entry.kind = token.special ? TokenKind::control : TokenKind::user_defined;
}

TokenId TokenizerJsonReader::find_unknown(const JsonReader& model) const {
  const auto text = model.find("unk_token");
  return text ? parts_->vocabulary.find_piece(text->string()) : kNoToken;
}

void TokenizerJsonReader::read_model(const JsonReader& model) {
  if (model_type_ == "BPE") return read_byte_pair(model);
  if (facts_.byte_level && !facts_.letters_written) parts_->pre_tokenizers.push_back(std::make_unique<ByteLettersPreTokenizer>());
  if (model_type_ == "Unigram") return read_unigram(model);
  if (model_type_ == "WordPiece") return read_word_piece(model);
  if (model_type_ == "WordLevel") return read_word_level(model);
  model.unsupported(fmt::format("model '{}'", model_type_));
}

void TokenizerJsonReader::read_byte_pair(const JsonReader& model) {
  const TokenId unknown = find_unknown(model);
  if (unknown != kNoToken) parts_->unk = unknown;
  BytePairOptions options{.bytes_to_letters = facts_.byte_level && !facts_.letters_written,
                          .ignore_merges = model.flag("ignore_merges", false),
                          .byte_fallback = model.flag("byte_fallback", false),
                          .fuse_unknown = model.flag("fuse_unk", false),
                          .last_merge_stays = true,
                          .added_letters = true,
                          .unknown = unknown,
                          .continuing_prefix = model.text("continuing_subword_prefix", ""),
                          .word_suffix = model.text("end_of_word_suffix", "")};
  // Prefix and suffix are for vocabularies that are spelled in characters.
  if (!options.continuing_prefix.empty() || !options.word_suffix.empty()) {
    if (options.bytes_to_letters) parts_->pre_tokenizers.push_back(std::make_unique<ByteLettersPreTokenizer>());
    options.bytes_to_letters = false;
  }
  // Where words begin with "▁" and nothing else changes at their ends, they can be encoded one by one.
  const bool whole_text = parts_->pre_tokenizers.empty() && options.continuing_prefix.empty() && options.word_suffix.empty() &&
                          parts_->vocabulary.find_piece(kSpaceMarker) != kNoToken;
  parts_->accepts_invalid = options.bytes_to_letters;
  if (whole_text && options.byte_fallback && !has_inner_space_marker(parts_->vocabulary)) {
    parts_->pre_tokenizers.push_back(std::make_unique<MarkerPreTokenizer>());
  }
  parts_->caches_words = !parts_->pre_tokenizers.empty();
  auto byte_pair = std::make_unique<BytePairModel>(parts_->vocabulary, std::move(options));
  read_merges(model.get("merges"), *byte_pair);
  parts_->model = std::move(byte_pair);
}

void TokenizerJsonReader::read_merges(const JsonReader& list, BytePairModel& model) const {
  const size_t count = list.array_size();
  std::vector<MergeTexts> texts;
  texts.reserve(count);
  for (size_t index = 0; index < count; ++index) {
    // "a b", or ["a", "b"] in newer files, which may hold spaces.
    const JsonReader::Json& merge = list.value()[index];
    std::string_view left;
    std::string_view right;
    if (merge.is_string()) {
      const std::string_view text = merge.get_ref<const std::string&>();
      const size_t space = text.find(' ');
      if (space != std::string_view::npos) {
        left = text.substr(0, space);
        right = text.substr(space + 1);
      }
    } else if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string()) {
      left = merge[0].get_ref<const std::string&>();
      right = merge[1].get_ref<const std::string&>();
    }
    if (left.empty() || right.empty()) list.at(index).corrupt("not a pair of texts");
    texts.push_back({left, right});
  }
  const std::vector<size_t> unusable = model.add_merges(texts);
  if (unusable.empty()) return;
  const MergeTexts& first = texts[unusable.front()];
  list.at(unusable.front()).corrupt(fmt::format("'{}' and '{}' or both together are no tokens", first.left, first.right));
}

void TokenizerJsonReader::read_unigram(const JsonReader& model) {
  const int64_t unknown = model.integer("unk_id", -1);
  if (unknown >= 0 && unknown < parts_->vocabulary.size()) parts_->unk = static_cast<TokenId>(unknown);
  parts_->caches_words = !parts_->pre_tokenizers.empty();
  parts_->model = std::make_unique<UnigramModel>(
      parts_->vocabulary,
      UnigramOptions{
          .byte_fallback = model.flag("byte_fallback", false), .match_user_defined = false, .unknown = parts_->unk.value_or(kNoToken)},
      parts_->name);
}

void TokenizerJsonReader::read_word_piece(const JsonReader& model) {
  const TokenId unknown = parts_->vocabulary.find_piece(model.text("unk_token", "[UNK]"));
  if (unknown != kNoToken) parts_->unk = unknown;
  parts_->caches_words = true;
  const int64_t longest = model.integer("max_input_chars_per_word", 100);
  parts_->model = std::make_unique<WordPieceModel>(parts_->vocabulary,
                                                   WordPieceOptions{.continuing_prefix = model.text("continuing_subword_prefix", "##"),
                                                                    .longest_word = static_cast<size_t>(std::max<int64_t>(longest, 0)),
                                                                    .unknown = unknown});
}

void TokenizerJsonReader::read_word_level(const JsonReader& model) {
  const TokenId unknown = parts_->vocabulary.find_piece(model.text("unk_token", "<unk>"));
  if (unknown != kNoToken) parts_->unk = unknown;
  parts_->model = std::make_unique<WordLevelModel>(parts_->vocabulary, unknown, model.where());
}

void TokenizerJsonReader::add_added_tokens() {
  for (AddedToken& token : added_) parts_->added.add(std::move(token));
}

void TokenizerJsonReader::read_decoder() {
  DecodeSteps steps;
  if (const auto decoder = root_.find("decoder")) {
    steps = read_json_decoder(*decoder);
  } else {
    // Without a decoder tokens are put together with spaces.
    steps.push_back(std::make_unique<WordPieceStep>(std::nullopt, false));
  }
  parts_->decoder = TokenDecoder(parts_->vocabulary, DecodeRules{}, std::move(steps));
}

void TokenizerJsonReader::guess_special_ids() {
  // The file does not name them: what is first and last around every text, else well-known texts of special tokens.
  const auto find = [&](auto... texts) -> std::optional<TokenId> {
    for (const std::string_view text : {std::string_view(texts)...}) {
      const TokenId id = parts_->vocabulary.find(text);
      if (id != kNoToken && parts_->vocabulary.kind(id) == TokenKind::control) return id;
    }
    return std::nullopt;
  };
  parts_->bos = parts_->prefix.empty() ? find("<|begin_of_text|>", "<s>", "<bos>", "<|startoftext|>", "<｜begin▁of▁sentence｜>", "[CLS]")
                                       : std::optional(parts_->prefix.front());
  parts_->eos = parts_->suffix.empty()
                    ? find("<|end_of_text|>", "</s>", "<eos>", "<|im_end|>", "<|endoftext|>", "<｜end▁of▁sentence｜>", "[SEP]")
                    : std::optional(parts_->suffix.back());
  parts_->pad = find("<pad>", "[PAD]", "<|pad|>");
}

}  // namespace

std::unique_ptr<TokenizerParts> read_tokenizer_json(std::string_view bytes, const std::string& name) {
  constexpr size_t kLargest = size_t{128} << 20;
  if (bytes.size() > kLargest) {
    fail(ErrorCode::unsupported, "{}: {} bytes; a tokenizer.json has at most {}", name, bytes.size(), kLargest);
  }
  JsonReader::Json json;
  try {
    json = parse_json(bytes, /*throws=*/true);
  } catch (const JsonReader::Json::exception& error) {
    fail(ErrorCode::corrupt_file, "{}: {}; the file is no tokenizer.json or was cut off", name, error.what());
  }
  const bool tekken = json.is_object() && json.contains("config") && json.contains("vocab") && !json.contains("model");
  return tekken ? read_tekken(json, name) : TokenizerJsonReader(json, name).read();
}

}  // namespace wick
