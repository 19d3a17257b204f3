// SpecialTokens are the facts about tokens in files next to a vocabulary: which begin and end a text, and which end a generation.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "wick/text/tokenizer/vocabulary.h"

namespace [[gnu::visibility("default")]] wick {
class Tokenizer;
}  // namespace wick

namespace wick {

struct SpecialTokens {
  // By its id or, where that is none, by its text; neither: nothing is said.
  struct Token {
    std::optional<int64_t> id = {};
    std::string text = {};
  };

  // A token that a folder adds to a vocabulary.
  struct Added {
    int64_t id = 0;
    std::string text = {};
    bool special = true, strip_left = false, strip_right = false, single_word = false;
  };

  std::string origin = {};        // for messages
  std::string model_type = {};    // of config.json: tiktoken's files have the pattern of their model's family
  std::vector<Added> added = {};  // by their ids; for vocabularies whose own file has them not
  Token bos = {}, eos = {}, pad = {};
  std::vector<int64_t> ends = {};     // of a generation, in addition to eos
  std::optional<bool> adds_bos = {};  // BOS stands before each text; that it does not is said by the vocabulary's own file
};

// Tokenizer::parse, and what other files say about special tokens, which counts more.
[[nodiscard]] std::shared_ptr<const Tokenizer> parse_tokenizer(std::string_view bytes, const std::string& name,
                                                               const SpecialTokens& special);

// The file of a folder's vocabulary; none where it has none. tokenizer.json counts most, then tekken.json, tokenizer.model and tiktoken's
// files. Errors: invalid_argument for several of tiktoken's.
[[nodiscard]] std::optional<std::filesystem::path> find_tokenizer_file(const std::filesystem::path& folder);

// From a Hugging Face folder: added tokens of tokenizer_config.json and added_tokens.json; "bos_token", "eos_token", "pad_token" and
// "add_bos_token" of tokenizer_config.json; "…_token_id" of generation_config.json and config.json, where "eos_token_id" may be a list.
// Files that are not there say nothing. Errors: corrupt_file for what is no JSON object, and for values of another kind, naming file and
// key.
[[nodiscard]] SpecialTokens read_special_tokens(const std::filesystem::path& folder);

}  // namespace wick
