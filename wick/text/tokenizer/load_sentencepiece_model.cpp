// SentencePiece's .model files: a protocol buffer (sentencepiece_model.proto) with pieces, training and normalizer settings.
#include <bit>
#include <cstring>
#include <utility>

#include "wick/base/fail.h"
#include "wick/text/tokenizer/gguf_vocabulary.h"
#include "wick/text/tokenizer/piece_merge_model.h"
#include "wick/text/tokenizer/special_tokens.h"
#include "wick/text/tokenizer/tokenizer_parts.h"
#include "wick/text/tokenizer/unigram_model.h"
#include "wick/text/tokenizer/wire_reader.h"

namespace wick {
namespace {

enum class ModelType : uint64_t { unigram = 1, bpe = 2, word = 3, character = 4 };

// The settings that matter here, with the defaults of the .proto.
struct Settings {
  ModelType model_type = ModelType::unigram;
  bool byte_fallback = false;
  std::string unknown_surface = " \xE2\x81\x87 ";
  int32_t unknown_id = 0;
  int32_t bos_id = 1;
  int32_t eos_id = 2;
  int32_t pad_id = -1;
  std::string_view character_map;
  std::string_view denormalizer_map;
  SentencePieceNormalizerOptions normalizer;
};

void read_piece(std::string_view message, const std::string& name, Vocabulary& vocabulary) {
  std::string_view text;
  float score = 0;
  uint64_t kind = static_cast<uint64_t>(TokenKind::normal);
  for (WireReader reader(message, name); const auto field = reader.next();) {
    switch (field->number) {
      case 1: text = field->bytes; break;
      case 2: score = std::bit_cast<float>(static_cast<uint32_t>(field->value)); break;
      case 3: kind = field->value; break;
      default: break;
    }
  }
  if (kind < 1 || kind > 6) {
    fail(ErrorCode::corrupt_file, "{}: piece {} is of type {}, which SentencePiece does not have", name, vocabulary.size(), kind);
  }
  vocabulary.add(text, static_cast<TokenKind>(kind), score);
}

void read_trainer(std::string_view message, const std::string& name, Settings& settings) {
  for (WireReader reader(message, name); const auto field = reader.next();) {
    const auto id = static_cast<int32_t>(field->value);
    switch (field->number) {
      case 3: settings.model_type = static_cast<ModelType>(field->value); break;
      case 24: settings.normalizer.treat_whitespace_as_suffix = field->value != 0; break;
      case 35: settings.byte_fallback = field->value != 0; break;
      case 40: settings.unknown_id = id; break;
      case 41: settings.bos_id = id; break;
      case 42: settings.eos_id = id; break;
      case 43: settings.pad_id = id; break;
      case 44: settings.unknown_surface = field->bytes; break;
      default: break;
    }
  }
}

// Other settings of the denormalizer are meant for the normalizer; SentencePiece's trainer turns them off.
void read_denormalizer(std::string_view message, const std::string& name, Settings& settings) {
  for (WireReader reader(message, name); const auto field = reader.next();) {
    if (field->number == 2) settings.denormalizer_map = field->bytes;
  }
}

void read_normalizer(std::string_view message, const std::string& name, Settings& settings) {
  for (WireReader reader(message, name); const auto field = reader.next();) {
    switch (field->number) {
      case 2: settings.character_map = field->bytes; break;
      case 3: settings.normalizer.add_dummy_prefix = field->value != 0; break;
      case 4: settings.normalizer.remove_extra_whitespaces = field->value != 0; break;
      case 5: settings.normalizer.escape_whitespaces = field->value != 0; break;
      default: break;
    }
  }
}

Settings read_settings(std::string_view bytes, const std::string& name, Vocabulary& vocabulary) {
  Settings settings;
  bool trained = false;
  for (WireReader reader(bytes, name); const auto field = reader.next();) {
    switch (field->number) {
      case 1: read_piece(field->bytes, name, vocabulary); break;
      case 2:
        read_trainer(field->bytes, name, settings);
        trained = true;
        break;
      case 3: read_normalizer(field->bytes, name, settings); break;
      case 5: read_denormalizer(field->bytes, name, settings); break;
      default: break;
    }
  }
  // The settings follow the pieces.
  if (!trained) fail(ErrorCode::corrupt_file, "{}: no trainer settings after {} pieces: the file is cut off", name, vocabulary.size());
  if (vocabulary.size() == 0) fail(ErrorCode::corrupt_file, "{}: no pieces: this is no SentencePiece model", name);
  return settings;
}

void make_model(const Settings& settings, TokenizerParts& parts) {
  const Vocabulary& vocabulary = parts.vocabulary;
  const TokenId unknown = parts.unk.value_or(kNoToken);
  if (settings.model_type == ModelType::unigram) {
    parts.model = std::make_unique<UnigramModel>(
        vocabulary, UnigramOptions{.byte_fallback = settings.byte_fallback, .single_precision = true, .unknown = unknown}, parts.name);
    return;
  }
  if (settings.model_type != ModelType::bpe) {
    fail(ErrorCode::unsupported, "{}: a SentencePiece model of type {}; this build reads unigram (1) and bpe (2)", parts.name,
         static_cast<uint64_t>(settings.model_type));
  }
  // With byte fallback no unknown token joins words, so that each can be encoded on its own.
  if (settings.byte_fallback && !settings.normalizer.treat_whitespace_as_suffix && !has_inner_space_marker(vocabulary)) {
    bool user_defined = false;
    for (TokenId id = 0; id < vocabulary.size(); ++id) user_defined = user_defined || vocabulary.kind(id) == TokenKind::user_defined;
    if (!user_defined) {
      parts.pre_tokenizers.push_back(std::make_unique<MarkerPreTokenizer>());
      parts.caches_words = true;
    }
  }
  parts.model = std::make_unique<PieceMergeModel>(
      vocabulary,
      PieceMergeOptions{.byte_fallback = settings.byte_fallback, .fuse_unknown = true, .match_user_defined = true, .unknown = unknown});
}

}  // namespace

std::unique_ptr<TokenizerParts> read_sentencepiece_model(std::string_view bytes, const std::string& name, const SpecialTokens& special) {
  auto parts = std::make_unique<TokenizerParts>();
  parts->name = name;
  Vocabulary& vocabulary = parts->vocabulary;
  const Settings settings = read_settings(bytes, name, vocabulary);
  const TokenId own = vocabulary.size();
  add_folder_tokens(*parts, special);
  vocabulary.build_index();
  const auto known = [&](int32_t id) -> std::optional<TokenId> { return vocabulary.contains(id) ? std::optional(id) : std::nullopt; };
  parts->bos = known(settings.bos_id);
  parts->eos = known(settings.eos_id);
  parts->pad = known(settings.pad_id);
  for (TokenId id = 0; id < vocabulary.size() && !parts->unk; ++id) {
    if (vocabulary.kind(id) == TokenKind::unknown) parts->unk = id;
  }
  std::vector<TextMatcher::Entry> user_defined;
  for (TokenId id = 0; id < vocabulary.size(); ++id) {
    const TokenKind kind = vocabulary.kind(id);
    const std::string_view text = vocabulary.text(id);
    if (kind == TokenKind::user_defined && id < own) user_defined.push_back({text, id});
    if (kind == TokenKind::control && id < own) parts->added.add({.text = std::string(text), .id = id, .special = true});
  }
  CharacterMap map = settings.character_map.empty() ? CharacterMap() : CharacterMap(settings.character_map, name);
  parts->normalizers.push_back(std::make_unique<SentencePieceNormalizer>(settings.normalizer, std::move(map), TextMatcher(user_defined)));
  make_model(settings, *parts);
  const SentencePieceNormalizerOptions& normalizer = settings.normalizer;
  const LeadingSpace leading = normalizer.remove_extra_whitespaces ? LeadingSpace::drop_until_text
                               : normalizer.add_dummy_prefix       ? LeadingSpace::drop_one
                                                                   : LeadingSpace::kept;
  DecodeSteps steps;
  if (!settings.denormalizer_map.empty()) {
    steps.push_back(std::make_unique<CharacterMapStep>(CharacterMap(settings.denormalizer_map, name + ": denormalizer")));
  }
  parts->decoder = TokenDecoder(vocabulary,
                                DecodeRules{.space_marker = std::string(kSpaceMarker),
                                            .leading_space = leading,
                                            .unknown_text = settings.unknown_surface,
                                            .invalid = InvalidBytes::one_per_byte},
                                std::move(steps));
  complete_tokenizer(*parts);
  return parts;
}

GgufVocabulary sentencepiece_gguf_vocabulary(std::string_view bytes, const std::string& name, const SpecialTokens& special) {
  GgufVocabulary made;
  TokenizerParts parts;
  parts.name = name;
  const Settings settings = read_settings(bytes, name, parts.vocabulary);
  add_folder_tokens(parts, special);
  if (settings.model_type == ModelType::bpe && !settings.byte_fallback) {
    made.obstacle = "GGUF has no BPE without bytes";
    return made;
  }
  if (settings.normalizer.treat_whitespace_as_suffix || !settings.normalizer.escape_whitespaces || !settings.denormalizer_map.empty()) {
    made.obstacle = "GGUF has no such way with spaces";
    return made;
  }
  made.model = settings.model_type == ModelType::bpe ? "llama" : "t5";
  made.pre = "default";
  made.add_space_prefix = settings.normalizer.add_dummy_prefix;
  made.remove_extra_whitespaces = settings.normalizer.remove_extra_whitespaces;
  if (settings.model_type == ModelType::unigram) made.character_map = settings.character_map;
  const Vocabulary& vocabulary = parts.vocabulary;
  for (TokenId id = 0; id < vocabulary.size(); ++id) {
    made.tokens.emplace_back(vocabulary.text(id));
    made.kinds.push_back(vocabulary.kind(id));
    made.scores.push_back(static_cast<float>(vocabulary.score(id)));
  }
  return made;
}

}  // namespace wick
