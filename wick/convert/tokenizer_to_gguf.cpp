#include "wick/convert/tokenizer_to_gguf.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "wick/base/fail.h"
#include "wick/base/log.h"
#include "wick/base/mapped_file.h"
#include "wick/formats/printable.h"
#include "wick/text/tokenizer/gguf_vocabulary.h"
#include "wick/text/tokenizer/special_tokens.h"
#include "wick/text/tokenizer/tokenizer.h"

namespace wick {
namespace {

// Texts of the vocabulary's own tokens, in addition to the fixed ones.
constexpr size_t kRandomTexts = 500;
// Of tokens that only fill the vocabulary, as llama.cpp's converter scores them.
constexpr float kPaddingScore = -1000;

struct KnownToken {
  const char* key;
  std::string_view text;
};

// What llama.cpp finds by texts too; the first of a key counts.
constexpr std::array kKnownTokens = {
    KnownToken{"tokenizer.ggml.eot_token_id", "<|eot_id|>"},
    KnownToken{"tokenizer.ggml.eot_token_id", "<|im_end|>"},
    KnownToken{"tokenizer.ggml.eot_token_id", "<|end|>"},
    KnownToken{"tokenizer.ggml.eot_token_id", "<end_of_turn>"},
    KnownToken{"tokenizer.ggml.eot_token_id", "<|end_of_turn|>"},
    KnownToken{"tokenizer.ggml.eot_token_id", "<|endoftext|>"},
    KnownToken{"tokenizer.ggml.eot_token_id", "<EOT>"},
    KnownToken{"tokenizer.ggml.eot_token_id", "_<EOT>"},
    KnownToken{"tokenizer.ggml.eot_token_id", "[EOT]"},
    KnownToken{"tokenizer.ggml.eot_token_id", "<｜end▁of▁sentence｜>"},
    KnownToken{"tokenizer.ggml.eot_token_id", "<end_of_utterance>"},
    KnownToken{"tokenizer.ggml.eom_token_id", "<|eom_id|>"},
    KnownToken{"tokenizer.ggml.fim_pre_token_id", "<|fim_prefix|>"},
    KnownToken{"tokenizer.ggml.fim_pre_token_id", "<fim-prefix>"},
    KnownToken{"tokenizer.ggml.fim_pre_token_id", "<fim_prefix>"},
    KnownToken{"tokenizer.ggml.fim_pre_token_id", "<｜fim▁begin｜>"},
    KnownToken{"tokenizer.ggml.fim_pre_token_id", "<PRE>"},
    KnownToken{"tokenizer.ggml.fim_pre_token_id", "▁<PRE>"},
    KnownToken{"tokenizer.ggml.fim_pre_token_id", "[PREFIX]"},
    KnownToken{"tokenizer.ggml.fim_suf_token_id", "<|fim_suffix|>"},
    KnownToken{"tokenizer.ggml.fim_suf_token_id", "<fim-suffix>"},
    KnownToken{"tokenizer.ggml.fim_suf_token_id", "<fim_suffix>"},
    KnownToken{"tokenizer.ggml.fim_suf_token_id", "<｜fim▁hole｜>"},
    KnownToken{"tokenizer.ggml.fim_suf_token_id", "<SUF>"},
    KnownToken{"tokenizer.ggml.fim_suf_token_id", "▁<SUF>"},
    KnownToken{"tokenizer.ggml.fim_suf_token_id", "[SUFFIX]"},
    KnownToken{"tokenizer.ggml.fim_mid_token_id", "<|fim_middle|>"},
    KnownToken{"tokenizer.ggml.fim_mid_token_id", "<fim-middle>"},
    KnownToken{"tokenizer.ggml.fim_mid_token_id", "<fim_middle>"},
    KnownToken{"tokenizer.ggml.fim_mid_token_id", "<｜fim▁end｜>"},
    KnownToken{"tokenizer.ggml.fim_mid_token_id", "<MID>"},
    KnownToken{"tokenizer.ggml.fim_mid_token_id", "▁<MID>"},
    KnownToken{"tokenizer.ggml.fim_mid_token_id", "[MIDDLE]"},
    KnownToken{"tokenizer.ggml.fim_pad_token_id", "<|fim_pad|>"},
    KnownToken{"tokenizer.ggml.fim_pad_token_id", "<fim-pad>"},
    KnownToken{"tokenizer.ggml.fim_pad_token_id", "<fim_pad>"},
    KnownToken{"tokenizer.ggml.fim_pad_token_id", "<PAD>"},
    KnownToken{"tokenizer.ggml.fim_rep_token_id", "<|fim_repo|>"},
    KnownToken{"tokenizer.ggml.fim_rep_token_id", "<|repo_name|>"},
    KnownToken{"tokenizer.ggml.fim_rep_token_id", "<fim-repo>"},
    KnownToken{"tokenizer.ggml.fim_rep_token_id", "<REPO>"},
    KnownToken{"tokenizer.ggml.fim_rep_token_id", "<reponame>"},
    KnownToken{"tokenizer.ggml.fim_sep_token_id", "<|file_sep|>"},
};

class TokenizerConversion {
 public:
  TokenizerConversion(const Checkpoint& checkpoint, std::filesystem::path file, int64_t rows)
      : checkpoint_(checkpoint), file_(std::move(file)), rows_(rows), tokenizer_(load_tokenizer(checkpoint)) {}

  void add(GgufWriter& writer) {
    vocabulary_ = make_gguf_vocabulary(file_, read_special_tokens(checkpoint_.folder()));
    bool keep = !vocabulary_.obstacle.empty();
    if (keep) {
      log_warning("{}: {}: other programs will not read the vocabulary of the GGUF file; Wick does", file_.string(), vocabulary_.obstacle);
    } else {
      fill();
      keep = differs();
      add_keys(writer);
    }
    if (keep) keep_file(writer);
    add_special(writer);
  }

 private:
  // Ids without a token, and rows of the embedding after the last.
  void fill() {
    const size_t count = std::max<size_t>(vocabulary_.tokens.size(), static_cast<size_t>(std::max<int64_t>(rows_, 0)));
    vocabulary_.tokens.resize(count);
    vocabulary_.kinds.resize(count, TokenKind::unused);
    if (!vocabulary_.scores.empty()) vocabulary_.scores.resize(count, kPaddingScore);
    for (size_t id = 0; id < count; ++id) {
      if (vocabulary_.tokens[id].empty()) vocabulary_.tokens[id] = fmt::format("[PAD{}]", id);
    }
  }

  void add_keys(GgufWriter& writer) const {
    writer.add_string("tokenizer.ggml.model", vocabulary_.model);
    writer.add_string("tokenizer.ggml.pre", vocabulary_.pre);
    writer.add_strings("tokenizer.ggml.tokens", vocabulary_.tokens);
    std::vector<int32_t> types;
    for (const TokenKind kind : vocabulary_.kinds) types.push_back(static_cast<int32_t>(kind));
    writer.add_array<int32_t>("tokenizer.ggml.token_type", types);
    if (!vocabulary_.scores.empty()) writer.add_array<float>("tokenizer.ggml.scores", vocabulary_.scores);
    if (vocabulary_.model == "gpt2") writer.add_strings("tokenizer.ggml.merges", vocabulary_.merges);
    if (!vocabulary_.character_map.empty()) {
      const auto bytes = std::as_bytes(std::span(vocabulary_.character_map));
      writer.add("tokenizer.ggml.precompiled_charsmap",
                 {GgufArray{.element_type = GgufType::u8, .size = bytes.size(), .packed = bytes, .strings = {}, .arrays = {}}});
    }
    writer.add_bool("tokenizer.ggml.add_space_prefix", vocabulary_.add_space_prefix);
    if (vocabulary_.model == "t5") writer.add_bool("tokenizer.ggml.remove_extra_whitespaces", vocabulary_.remove_extra_whitespaces);
    if (vocabulary_.model == "bert") {
      writer.add_bool("tokenizer.ggml.normalizer.lowercase", vocabulary_.lowercase);
      writer.add_bool("tokenizer.ggml.normalizer.strip_accents", vocabulary_.strip_accents);
    }
  }

  // What is put around texts, and the tokens of a use.
  void add_special(GgufWriter& writer) const {
    const auto add_id = [&](const char* key, std::optional<TokenId> id) {
      if (id) writer.add_uint(key, static_cast<uint32_t>(*id));
    };
    const std::vector<TokenId> around = tokenizer_->encode("");
    const size_t before = tokenizer_->adds_bos() ? 1 : 0;
    const bool word_piece = vocabulary_.model == "bert";
    const std::optional<TokenId> last = around.size() > before ? std::optional(around.back()) : std::nullopt;
    // What is put before texts is BOS to readers of GGUF files.
    add_id("tokenizer.ggml.bos_token_id", before > 0 ? std::optional(around.front()) : tokenizer_->bos());
    add_id("tokenizer.ggml.eos_token_id", tokenizer_->eos());
    add_id("tokenizer.ggml.unknown_token_id", tokenizer_->unk());
    add_id("tokenizer.ggml.padding_token_id", tokenizer_->pad());
    if (word_piece) {
      if (before > 0) add_id("tokenizer.ggml.cls_token_id", around.front());
      add_id("tokenizer.ggml.seperator_token_id", last);  // GGUF's spelling
      add_id("tokenizer.ggml.mask_token_id", tokenizer_->find_token("[MASK]"));
    }
    writer.add_bool("tokenizer.ggml.add_bos_token", before > 0);
    writer.add_bool("tokenizer.ggml.add_eos_token", last.has_value() && !word_piece);
    if (word_piece) writer.add_bool("tokenizer.ggml.add_sep_token", last.has_value());
    std::string_view added;
    for (const KnownToken& known : kKnownTokens) {
      const std::optional<TokenId> id = tokenizer_->find_token(known.text);
      if (added == known.key || !id || id == tokenizer_->eos()) continue;
      add_id(known.key, id);
      added = known.key;
    }
    writer.add_array<int32_t>("tokenizer.ggml.eos_token_ids", tokenizer_->end_of_generation());
  }

  void keep_file(GgufWriter& writer) const {
    if (file_.extension() != ".json") return;  // no key holds another form
    const std::shared_ptr<MappedFile> mapped = MappedFile::open(file_);
    writer.add_string("tokenizer.huggingface.json",
                      std::string_view(reinterpret_cast<const char*>(mapped->bytes().data()), mapped->bytes().size()));
  }

  // Whether a text has other tokens by the keys than by the folder's file, which a warning names.
  [[nodiscard]] bool differs() const {
    GgufWriter keys;
    keys.add_string("general.architecture", checkpoint_.get_string("general.architecture"));
    add_keys(keys);
    add_special(keys);
    const std::vector<std::byte> bytes = keys.metadata_file();
    const std::string name = file_.string() + " in GGUF's keys";
    const GgufFile file = GgufFile::parse(bytes, name);
    const std::shared_ptr<const Tokenizer> reread = Tokenizer::from_gguf(file);
    size_t different = 0;
    std::string first;
    const std::vector<std::string> texts = vocabulary_test_texts(*tokenizer_, kRandomTexts);
    for (const std::string& text : texts) {
      const std::vector<TokenId> own = tokenizer_->encode(text), theirs = reread->encode(text);
      if (own == theirs) continue;
      if (different++ == 0) {
        const auto differing = std::mismatch(own.begin(), own.end(), theirs.begin(), theirs.end());
        first = fmt::format(
            "{} has the tokens [{}] from the {}th on, and not [{}]", printable(text),
            fmt::join(std::span(differing.first, own.end()).first(std::min<size_t>(8, static_cast<size_t>(own.end() - differing.first))),
                      " "),
            differing.first - own.begin(),
            fmt::join(
                std::span(differing.second, theirs.end()).first(std::min<size_t>(8, static_cast<size_t>(theirs.end() - differing.second))),
                " "));
      }
    }
    if (different == 0) return false;
    log_warning("{}: {} of {} texts have other tokens in the keys of GGUF, which other programs read: {}{}", file_.string(), different,
                texts.size(), first,
                file_.extension() == ".json" ? "; the file is kept with them, and Wick reads it"
                                             : "; no key holds the file itself, so Wick reads these too");
    return true;
  }

  const Checkpoint& checkpoint_;
  std::filesystem::path file_;
  int64_t rows_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  GgufVocabulary vocabulary_;
};

}  // namespace

void add_tokenizer(GgufWriter& writer, const Checkpoint& checkpoint, int64_t rows) {
  for (const ChatTemplateSource& source : find_chat_templates(checkpoint)) {
    writer.add_string(source.name == "default" ? "tokenizer.chat_template" : "tokenizer.chat_template." + source.name, source.text);
  }
  const std::optional<std::filesystem::path> file = find_tokenizer_file(checkpoint.folder());
  if (file) return TokenizerConversion(checkpoint, *file, rows).add(writer);
  writer.add_string("tokenizer.ggml.model", "none");
}

}  // namespace wick
