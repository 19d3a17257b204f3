// Mistral's tekken.json: a pattern, the bytes of tokens in the order of their ranks, and the special tokens, whose ids come first.
#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "wick/base/base64.h"
#include "wick/base/fail.h"
#include "wick/text/tokenizer/byte_alphabet.h"
#include "wick/text/tokenizer/byte_pair_model.h"
#include "wick/text/tokenizer/json_reader.h"
#include "wick/text/tokenizer/tokenizer_json_parts.h"
#include "wick/text/tokenizer/tokenizer_parts.h"

namespace wick {
namespace {

// More than any file has, and few enough that the vocabulary is small.
constexpr int64_t kMaxTekkenTokens = int64_t{1} << 22;

// Of files that do not list them (Mistral Nemo's); those that follow have numbers for names.
constexpr std::array<std::string_view, 20> kFirstSpecials = {"<unk>",
                                                             "<s>",
                                                             "</s>",
                                                             "[INST]",
                                                             "[/INST]",
                                                             "[AVAILABLE_TOOLS]",
                                                             "[/AVAILABLE_TOOLS]",
                                                             "[TOOL_RESULTS]",
                                                             "[/TOOL_RESULTS]",
                                                             "[TOOL_CALLS]",
                                                             "[IMG]",
                                                             "<pad>",
                                                             "[IMG_BREAK]",
                                                             "[IMG_END]",
                                                             "[PREFIX]",
                                                             "[MIDDLE]",
                                                             "[SUFFIX]",
                                                             "[SYSTEM_PROMPT]",
                                                             "[/SYSTEM_PROMPT]",
                                                             "[TOOL_CONTENT]"};

class TekkenReader {
 public:
  TekkenReader(const JsonReader::Json& json, const std::string& name) : root_(json, name, ""), parts_(std::make_unique<TokenizerParts>()) {
    parts_->name = name;
  }

  std::unique_ptr<TokenizerParts> read() {
    const JsonReader config = root_.get("config");
    const int64_t specials = count(config, "default_num_special_tokens");
    const int64_t all = count(config, "default_vocab_size");
    if (specials > all) config.corrupt(fmt::format("{} special tokens of {}", specials, all));
    read_specials(specials);
    read_ranks(root_.get("vocab"), all - specials);
    parts_->vocabulary.build_index();
    const auto find = [&](std::string_view text) -> std::optional<TokenId> {
      const TokenId id = parts_->vocabulary.find(text);
      return id == kNoToken ? std::nullopt : std::optional(id);
    };
    parts_->bos = find("<s>");
    parts_->eos = find("</s>");
    parts_->unk = find("<unk>");
    parts_->pad = find("<pad>");
    if (parts_->bos) parts_->prefix = {*parts_->bos};
    const JsonReader pattern = config.get("pattern");
    parts_->pre_tokenizers.push_back(make_split(pattern.string(), pattern.where()));
    parts_->patterns = {pattern.string()};
    parts_->accepts_invalid = true;
    parts_->caches_words = true;
    parts_->model = std::make_unique<BytePairModel>(parts_->vocabulary, BytePairOptions{.ignore_merges = true, .rank_by_id = true});
    parts_->decoder = TokenDecoder(parts_->vocabulary, DecodeRules{.letters_to_bytes = true});
    complete_tokenizer(*parts_);
    return std::move(parts_);
  }

 private:
  static int64_t count(const JsonReader& config, const char* key) {
    const JsonReader field = config.get(key);
    if (field.integer() < 1 || field.integer() > kMaxTekkenTokens) field.corrupt(fmt::format("want 1 to {}", kMaxTekkenTokens));
    return field.integer();
  }

  struct Special {
    std::string text;
    bool control = true;
  };

  void read_specials(int64_t number) {
    std::vector<Special> specials(static_cast<size_t>(number));
    if (const auto list = root_.find("special_tokens"); list && list->array_size() > 0) {
      for (size_t index = 0; index < list->array_size(); ++index) {
        const JsonReader item = list->at(index);
        const int64_t rank = item.get("rank").integer();
        if (rank < 0 || rank >= number) item.corrupt(fmt::format("its rank is {}, out of 0 to {}", rank, number - 1));
        Special& special = specials[static_cast<size_t>(rank)];
        if (!special.text.empty()) item.corrupt(fmt::format("its rank {} is that of '{}' too", rank, special.text));
        special = {item.get("token_str").string(), item.flag("is_control", true)};
      }
    } else {
      for (size_t rank = 0; rank < std::min(kFirstSpecials.size(), specials.size()); ++rank) specials[rank].text = kFirstSpecials[rank];
    }
    for (size_t rank = 0; rank < specials.size(); ++rank) {
      Special& special = specials[rank];
      if (special.text.empty()) special.text = fmt::format("<SPECIAL_{}>", rank);
      const TokenId id =
          parts_->vocabulary.add(special.text, special.control ? TokenKind::control : TokenKind::user_defined, 0.0, /*piece=*/false);
      parts_->added.add({.text = special.text, .id = id, .special = true});
    }
  }

  // Of a list that is longer, only so many are the model's.
  void read_ranks(const JsonReader& list, int64_t wanted) {
    if (static_cast<int64_t>(list.array_size()) < wanted) {
      list.corrupt(fmt::format("{} tokens, and config.default_vocab_size asks for {}", list.array_size(), wanted));
    }
    for (int64_t rank = 0; rank < wanted; ++rank) {
      const JsonReader item = list.at(static_cast<size_t>(rank));
      if (item.get("rank").integer() != rank) item.corrupt(fmt::format("its rank is {}, want {}", item.get("rank").integer(), rank));
      const JsonReader field = item.get("token_bytes");
      const auto bytes = decode_base64(field.string());
      if (!bytes || bytes->empty()) field.corrupt("not base64");
      std::string letters;
      append_letters(letters, *bytes);
      parts_->vocabulary.add(letters, TokenKind::normal, 0.0);
    }
  }

  JsonReader root_;
  std::unique_ptr<TokenizerParts> parts_;
};

}  // namespace

std::unique_ptr<TokenizerParts> read_tekken(const nlohmann::json& json, const std::string& name) { return TekkenReader(json, name).read(); }

}  // namespace wick
