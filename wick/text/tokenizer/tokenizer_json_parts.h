// The steps of a tokenizer.json, each as Hugging Face's tokenizers library defines it.
#pragma once

#include "wick/text/tokenizer/json_reader.h"
#include "wick/text/tokenizer/tokenizer_parts.h"

namespace wick {

// Calls visit(step) for each step of the Sequence `json`, whose list is under `key`. Errors: unsupported, where sequences are nested
// deeper than any tokenizer needs.
template <class Visit>
void for_each_step(const JsonReader& json, const char* key, const Visit& visit) {
  constexpr int kDeepest = 8;
  const JsonReader list = json.get(key);
  if (list.arrays() >= kDeepest) list.unsupported(fmt::format("a Sequence inside {} others", kDeepest));
  for (size_t index = 0; index < list.array_size(); ++index) visit(list.at(index));
}

// More normalizers, pre-tokenizers or decoders are refused: each of them works on every text.
inline constexpr size_t kMaxSteps = 256;

// Appends the normalizers that `json` (an object of any type, or a Sequence) describes. Errors: corrupt_file, unsupported.
void append_json_normalizers(const JsonReader& json, Normalizers& steps);

// Facts that pre-tokenizers pass to the model.
struct JsonPreTokenizerFacts {
  bool byte_level = false;       // pieces are to be spelled in the byte alphabet
  bool letters_written = false;  // a step has done so already
};
void append_json_pre_tokenizers(const JsonReader& json, PreTokenizers& steps, JsonPreTokenizerFacts& facts);

[[nodiscard]] DecodeSteps read_json_decoder(const JsonReader& json);

// Mistral's tekken.json, another form that is told by its parts. Errors: corrupt_file.
[[nodiscard]] std::unique_ptr<TokenizerParts> read_tekken(const JsonReader::Json& json, const std::string& name);

// The tokens that the post-processor puts around a text. The vocabulary must hold the added tokens already.
void read_json_post_processor(const JsonReader& json, TokenizerParts& parts);

// A pattern as Split and Replace have it: {"String": "…"} or {"Regex": "…"}.
[[nodiscard]] Regex read_json_pattern(const JsonReader& json);
// The text of a {"String": "…"} pattern; none for a Regex.
[[nodiscard]] std::optional<std::string> read_literal_pattern(const JsonReader& json);

}  // namespace wick
