#include "wick/text/tokenizer/tokenizer.h"

#include <algorithm>
#include <array>
#include <utility>

#include "wick/base/fail.h"
#include "wick/base/log.h"
#include "wick/base/mapped_file.h"
#include "wick/formats/gguf.h"
#include "wick/text/tokenizer/longest_match_model.h"
#include "wick/text/tokenizer/special_tokens.h"
#include "wick/text/tokenizer/tokenizer_parts.h"
#include "wick/text/tokenizer/word_cache.h"

namespace wick {
namespace {

// Encodes text between added tokens.
class Encoder {
 public:
  Encoder(const TokenizerParts& parts, size_t text_size, std::vector<TokenId>& ids)
      : parts_(parts), cache_(parts.caches_words && text_size >= WordCache::kWorthwhileText), ids_(ids) {}

  void encode_raw(std::string_view text, bool at_beginning, bool parse_special) {
    if (parts_.normalizers.empty() && (parts_.accepts_invalid || is_valid_utf8(text))) {
      return encode_normalized(text, at_beginning, parse_special);
    }
    const std::string normalized = parts_.normalize(text, scratch_.regex);
    encode_normalized(normalized, at_beginning && parts_.keeps_beginning(text, scratch_.regex), parse_special);
  }

 private:
  void encode_normalized(std::string_view text, bool at_beginning, bool parse_special) {
    if (!parts_.added.any(true, parse_special)) return encode_text(text, at_beginning);
    for (const TextSegment& segment : parts_.added.split(text, true, parse_special)) {
      if (segment.id != kNoToken) {
        ids_.push_back(segment.id);
      } else {
        encode_text(text.substr(segment.range.begin, segment.range.end - segment.range.begin), at_beginning && segment.range.begin == 0);
      }
    }
  }

  void encode_text(std::string_view text, bool at_beginning) {
    if (text.empty()) return;
    if (parts_.pre_tokenizers.empty() || (parts_.invalid_whole && !is_valid_utf8(text))) return encode_piece(text);
    PieceList list{.text = std::string(text), .pieces = valid_runs(text), .at_beginning = at_beginning};
    for (const auto& step : parts_.pre_tokenizers) step->apply(list, scratch_.regex);
    for (size_t index = 0; index < list.pieces.size(); ++index) encode_piece(list[index]);
  }

  // Valid text and runs of bytes that are none, apart.
  static std::vector<TextSpan> valid_runs(std::string_view text) {
    if (is_valid_utf8(text)) return {{0, text.size()}};
    std::vector<TextSpan> runs;
    bool valid = false;
    for (size_t offset = 0; offset < text.size();) {
      const DecodedCharacter character = decode_character(text, offset);
      if (runs.empty() || character.valid != valid) runs.push_back({offset, offset});
      valid = character.valid;
      offset += character.length;
      runs.back().end = offset;
    }
    return runs;
  }

  void encode_piece(std::string_view piece) {
    // Offsets inside a piece are 32 bits wide.
    if (piece.size() > size_t{INT32_MAX}) {
      fail(ErrorCode::invalid_argument, "{}: a text of {} bytes without a break; at most 2 GiB can be encoded", parts_.name, piece.size());
    }
    const uint64_t hash = cache_.hash(piece);
    if (cache_.copy(piece, hash, ids_)) return;
    const size_t begin = ids_.size();
    parts_.model->encode(piece, scratch_, ids_);
    cache_.remember(piece, hash, begin, ids_);
  }

  const TokenizerParts& parts_;
  EncodeScratch scratch_;
  WordCache cache_;
  std::vector<TokenId>& ids_;
};

}  // namespace

std::string TokenizerParts::normalize(std::string_view text, RegexScratch& scratch) const {
  size_t written = 0;
  return normalize(text, scratch, written);
}

std::string TokenizerParts::normalize_added(std::string_view text, RegexScratch& scratch, size_t& written) const {
  constexpr size_t kMaxWritten = size_t{32} << 20;
  std::string result = normalize(text, scratch, written);
  if (written > kMaxWritten) {
    fail(ErrorCode::unsupported, "{}: its {} normalizers write more than {} bytes for the texts of its added tokens", name,
         normalizers.size(), kMaxWritten);
  }
  return result;
}

std::string TokenizerParts::normalize(std::string_view text, RegexScratch& scratch, size_t& written) const {
  const bool raw = (normalizers.empty() && accepts_invalid) || (!normalizers.empty() && normalizers.front()->accepts_invalid());
  std::string result = raw || is_valid_utf8(text) ? std::string(text) : replace_invalid(text, InvalidBytes::one_per_subpart);
  for (const auto& step : normalizers) {
    result = step->apply(result, scratch);
    written += result.size();
    if (result.size() > largest_rewriting(text.size())) {
      fail(ErrorCode::unsupported, "{}: the normalizers make more than {} bytes of a text of {}", name, result.size(), text.size());
    }
  }
  return result;
}

bool TokenizerParts::keeps_beginning(std::string_view text, RegexScratch& scratch) const {
  if (text.empty()) return true;
  const DecodedCharacter first = decode_character(text, 0);
  return !normalize(text.substr(0, first.length), scratch).empty();
}

namespace {

// Adds tokens that end a generation by their well-known texts. `control`: they become control tokens.
void complete_end_of_generation(TokenizerParts& parts, bool control) {
  // As they are called in the vocabularies of Llama 3, ChatML, Phi-3, Gemma, GPT-2, Granite, DeepSeek, GPT-OSS, Kimi and others.
  static constexpr std::array<std::string_view, 32> kTexts = {
      "<|eot_id|>", "<|im_end|>", "<|end|>", "<|return|>", "<|call|>", "<|flush|>", "<|calls|>", "<end_of_turn>", "<|endoftext|>", "</s>",
      "<|eom_id|>", "<EOT>", "_<EOT>", "[EOT]", "[EOS]", "<|end_of_text|>", "<end_of_utterance>", "<eos>", "<turn|>", "<|tool_response>",
      "<｜end▁of▁sentence｜>", "[e~[",
      // What pads or parts files in code models: where it comes, the completion has ended.
      "<|fim_pad|>", "<fim-pad>", "<fim_pad>", "<PAD>", "<|fim_repo|>", "<|repo_name|>", "<fim-repo>", "<REPO>", "<reponame>",
      "<|file_sep|>"};
  Vocabulary& vocabulary = parts.vocabulary;
  std::vector<TokenId>& ids = parts.end_of_generation;
  for (const std::string_view text : kTexts) {
    const TokenId id = vocabulary.find(text);
    if (id == kNoToken) continue;
    if (control) vocabulary.set_kind(id, TokenKind::control);
    ids.push_back(id);
  }
  if (parts.eos) ids.push_back(*parts.eos);
  const auto has = [&](std::string_view text) { return vocabulary.find(text) != kNoToken; };
  // GPT-OSS ends messages, not turns, with <|end|>; Gemma 4 has an unused </s>.
  if ((has("<|return|>") || has("<|flush|>")) && (has("<|call|>") || has("<|calls|>"))) std::erase(ids, vocabulary.find("<|end|>"));
  if (has("<|tool_response>")) std::erase(ids, vocabulary.find("</s>"));
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
}

std::optional<TokenId> find_special(const TokenizerParts& parts, const SpecialTokens::Token& token) {
  if (const TokenId named = token.text.empty() ? kNoToken : parts.vocabulary.find(token.text); named != kNoToken) return named;
  if (token.id && *token.id >= 0 && *token.id < parts.vocabulary.size()) return static_cast<TokenId>(*token.id);
  return std::nullopt;
}

void apply_special_tokens(TokenizerParts& parts, const SpecialTokens& special) {
  const auto replace = [&](std::optional<TokenId>& token, const SpecialTokens::Token& said) {
    if (const auto found = find_special(parts, said)) token = found;
  };
  replace(parts.bos, special.bos);
  replace(parts.pad, special.pad);
  std::vector<TokenId>& ends = parts.end_of_generation;
  std::optional<TokenId> first;
  for (const int64_t id : special.ends) {
    const auto found = find_special(parts, {.id = id});
    if (found) ends.push_back(*found);
    if (!found) log_warning("{}: eos_token_id {} is not in the vocabulary of {} tokens", special.origin, id, parts.vocabulary.size());
    if (!first) first = found;
  }
  if (first) parts.eos = first;
  replace(parts.eos, special.eos);
  if (parts.eos) ends.push_back(*parts.eos);
  std::sort(ends.begin(), ends.end());
  ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
  if (special.adds_bos.value_or(false) && parts.bos && parts.prefix.empty()) parts.prefix = {*parts.bos};
}

}  // namespace

std::unique_ptr<TokenizerParts> read_tokenizer(std::string_view bytes, const std::string& name, const SpecialTokens& special) {
  const size_t first = bytes.find_first_not_of(" \t\r\n\xEF\xBB\xBF");
  if (first == std::string_view::npos) fail(ErrorCode::corrupt_file, "{}: an empty file is no tokenizer", name);
  if (bytes[first] == '{') return read_tokenizer_json(bytes, name);
  // A SentencePiece model begins with a piece: field 1, a message. No line of a tiktoken file begins so.
  if (bytes[0] == '\n') return read_sentencepiece_model(bytes, name, special);
  if (is_rwkv_vocabulary(bytes)) return read_rwkv_vocabulary(bytes, name, special);
  return read_tiktoken_model(bytes, name, special);
}

void add_folder_tokens(TokenizerParts& parts, const SpecialTokens& special) {
  Vocabulary& vocabulary = parts.vocabulary;
  const int64_t most = 4 * (int64_t{vocabulary.size()} + std::ssize(special.added)) + 4096;
  for (const SpecialTokens::Added& token : special.added) {
    if (token.id >= most) {
      fail(ErrorCode::corrupt_file, "{}: the added token '{}' has the id {}, out of 0 to {}; the folder's files do not belong together",
           special.origin, token.text, token.id, most - 1);
    }
    const auto id = static_cast<TokenId>(token.id);
    // Files of a vocabulary know what its own tokens are.
    if (id < vocabulary.size() && vocabulary.kind(id) != TokenKind::unused) {
      if (vocabulary.text(id) != token.text || vocabulary.kind(id) == TokenKind::control) continue;
    } else {
      while (vocabulary.size() < id) vocabulary.add("", TokenKind::unused, 0.0);
      const TokenKind kind = token.special ? TokenKind::control : TokenKind::user_defined;
      if (id == vocabulary.size()) vocabulary.add(token.text, kind, 0.0, /*piece=*/false);
    }
    parts.added.add({.text = token.text,
                     .id = id,
                     .special = token.special,
                     .strip_left = token.strip_left,
                     .strip_right = token.strip_right,
                     .single_word = token.single_word});
  }
}

void complete_tokenizer(TokenizerParts& parts, bool control_by_text) {
  const Vocabulary& vocabulary = parts.vocabulary;
  for (TokenId id = 0; id < vocabulary.size() && vocabulary.longest_text() > kLongestToken; ++id) {
    if (vocabulary.text(id).size() <= kLongestToken) continue;
    fail(ErrorCode::unsupported, "{}: token {} is {} bytes long; the longest supported is {}", parts.name, id, vocabulary.text(id).size(),
         kLongestToken);
  }
  complete_end_of_generation(parts, control_by_text);
}

Tokenizer::Tokenizer(std::unique_ptr<TokenizerParts> parts) : parts_(std::move(parts)) { parts_->added.build_index(); }
Tokenizer::~Tokenizer() = default;

std::shared_ptr<const Tokenizer> Tokenizer::from_gguf(const GgufFile& file) {
  return std::make_shared<const Tokenizer>(read_gguf_tokenizer(file));
}

std::shared_ptr<const Tokenizer> Tokenizer::parse(std::string_view bytes, const std::string& name) {
  return parse_tokenizer(bytes, name, {});
}

std::shared_ptr<const Tokenizer> parse_tokenizer(std::string_view bytes, const std::string& name, const SpecialTokens& special) {
  std::unique_ptr<TokenizerParts> parts = read_tokenizer(bytes, name, special);
  apply_special_tokens(*parts, special);
  return std::make_shared<const Tokenizer>(std::move(parts));
}

std::shared_ptr<const Tokenizer> Tokenizer::load(const std::filesystem::path& path) {
  std::error_code ignored;
  std::filesystem::path file = path;
  SpecialTokens special;
  if (std::filesystem::is_directory(path, ignored)) {
    const std::optional<std::filesystem::path> found = find_tokenizer_file(path);
    if (!found) {
      fail(ErrorCode::not_found, "{}: this folder has no tokenizer.json, tekken.json, tokenizer.model or .tiktoken file", path.string());
    }
    file = *found;
    special = read_special_tokens(path);
  }
  const auto mapping = MappedFile::open(file);
  const std::string_view bytes(reinterpret_cast<const char*>(mapping->bytes().data()), mapping->bytes().size());
  if (bytes.starts_with("GGUF")) return from_gguf(GgufFile::open(file));
  return parse_tokenizer(bytes, file.string(), special);
}

std::vector<TokenId> Tokenizer::encode(std::string_view text, const EncodeOptions& options) const {
  std::vector<TokenId> ids;
  ids.reserve(text.size() / 3 + 8);
  if (options.add_special) ids = parts_->prefix;
  Encoder encoder(*parts_, text.size(), ids);
  for (const TextSegment& segment : parts_->added.split(text, false, options.parse_special)) {
    if (segment.id != kNoToken) {
      ids.push_back(segment.id);
    } else {
      encoder.encode_raw(text.substr(segment.range.begin, segment.range.end - segment.range.begin), segment.range.begin == 0,
                         options.parse_special);
    }
  }
  if (options.add_special) ids.insert(ids.end(), parts_->suffix.begin(), parts_->suffix.end());
  return ids;
}

std::string Tokenizer::decode(std::span<const TokenId> ids, bool skip_special) const {
  std::string text;
  DecodeState state = parts_->decoder.begin(false);
  for (const TokenId id : ids) {
    check_id(id);
    text += parts_->decoder.next(id, skip_special, state);
  }
  text += parts_->decoder.finish(state);
  return is_valid_utf8(text) ? text : replace_invalid(text, parts_->decoder.rules().invalid);
}

void Tokenizer::check_id(TokenId id) const {
  if (!parts_->vocabulary.contains(id)) {
    fail(ErrorCode::index_out_of_range, "{}: token id {} is not in the vocabulary of {} tokens", parts_->name, id, vocab_size());
  }
}

int32_t Tokenizer::vocab_size() const noexcept { return parts_->vocabulary.size(); }

std::string_view Tokenizer::token_text(TokenId id) const {
  check_id(id);
  return parts_->vocabulary.text(id);
}

std::string Tokenizer::token_bytes(TokenId id) const {
  check_id(id);
  return parts_->decoder.bytes(id);
}

std::optional<TokenId> Tokenizer::find_token(std::string_view text) const noexcept {
  const TokenId id = parts_->vocabulary.find(text);
  return id == kNoToken ? std::nullopt : std::optional(id);
}

std::optional<TokenId> Tokenizer::bos() const noexcept { return parts_->bos; }
std::optional<TokenId> Tokenizer::eos() const noexcept { return parts_->eos; }
std::optional<TokenId> Tokenizer::unk() const noexcept { return parts_->unk; }
std::optional<TokenId> Tokenizer::pad() const noexcept { return parts_->pad; }

bool Tokenizer::is_control(TokenId id) const noexcept {
  return parts_->vocabulary.contains(id) && parts_->vocabulary.kind(id) == TokenKind::control;
}

bool Tokenizer::is_added(TokenId id) const noexcept {
  return is_control(id) || (parts_->vocabulary.contains(id) && parts_->vocabulary.kind(id) == TokenKind::user_defined);
}

bool Tokenizer::is_special(TokenId id) const noexcept {
  return is_control(id) || (parts_->vocabulary.contains(id) && parts_->vocabulary.kind(id) == TokenKind::unknown);
}

bool Tokenizer::adds_bos() const noexcept { return !parts_->prefix.empty(); }

const std::vector<TokenId>& Tokenizer::end_of_generation() const noexcept { return parts_->end_of_generation; }

bool Tokenizer::ends_generation(TokenId id) const noexcept {
  return std::binary_search(parts_->end_of_generation.begin(), parts_->end_of_generation.end(), id);
}

}  // namespace wick
