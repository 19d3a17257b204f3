// Reads any bytes as a tokenizer, and encodes any bytes with tokenizers that are right; only wick::Error may come of it.
//   first byte even: the rest is a tokenizer file of any format
//   first byte odd:  the rest is text for built-in vocabularies of each family; valid text must survive where the family is lossless
// An input that begins as a tokenizer file does is one itself, so that real files can be seeds.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "outcome.h"
#include "wick/base/error.h"
#include "wick/formats/gguf.h"
#include "wick/text/tokenizer/byte_alphabet.h"
#include "wick/text/tokenizer/streaming_detokenizer.h"
#include "wick/text/tokenizer/tokenizer.h"
#include "wick/text/unicode/unicode.h"

namespace {

using wick::TokenId;
using wick::Tokenizer;

void require(bool truth) {
  if (!truth) std::abort();
}

std::string json_text(std::string_view text) {
  std::string result = "\"";
  for (const char letter : text) {
    if (letter == '"' || letter == '\\') result += '\\';
    result += letter;
  }
  return result + '"';
}

// Byte-level merges with added tokens: the first two of them are special.
std::string byte_level_json() {
  std::string vocab;
  for (int byte = 0; byte < 256; ++byte) {
    vocab += json_text(wick::byte_to_letter(static_cast<uint8_t>(byte))) + ":" + std::to_string(byte) + ",";
  }
  return R"({"added_tokens":[{"id":260,"content":"<s>","special":true},{"id":261,"content":"<e>","special":true},)"
         R"({"id":262,"content":"<u>","special":false}],"pre_tokenizer":{"type":"ByteLevel","add_prefix_space":false},)"
         R"("post_processor":{"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"<s>"}},{"Sequence":{"id":"A"}}]},)"
         R"("decoder":{"type":"ByteLevel"},"model":{"type":"BPE","vocab":{)" +
         vocab + R"("he":256,"ll":257,"hell":258,"Ġa":259},"merges":["h e","l l","he ll","Ġ a"]}})";
}

// Characters with "▁" and byte fallback.
std::string byte_fallback_json() {
  std::string vocab;
  for (int byte = 0; byte < 256; ++byte) {
    vocab += json_text(wick::byte_token(static_cast<uint8_t>(byte))) + ":" + std::to_string(byte) + ",";
  }
  return R"({"normalizer":{"type":"Sequence","normalizers":[{"type":"Prepend","prepend":"▁"},)"
         R"({"type":"Replace","pattern":{"String":" "},"content":"▁"}]},"decoder":{"type":"Sequence","decoders":[)"
         R"({"type":"Replace","pattern":{"String":"▁"},"content":" "},{"type":"ByteFallback"},{"type":"Fuse"},)"
         R"({"type":"Strip","content":" ","start":1,"stop":0}]},"model":{"type":"BPE","byte_fallback":true,"vocab":{)" +
         vocab + R"("▁":256,"a":257,"b":258,"ab":259,"▁a":260},"merges":["▁ a","a b"]}})";
}

std::string unigram_json() {
  return R"({"normalizer":{"type":"Sequence","normalizers":[{"type":"Nmt"},{"type":"NFKC"},{"type":"Lowercase"}]},)"
         R"("pre_tokenizer":{"type":"Metaspace"},"decoder":{"type":"Metaspace"},"model":{"type":"Unigram","unk_id":0,)"
         R"("vocab":[["<unk>",0],["▁",-2],["a",-3],["▁a",-1.5],["ab",-2.5],["é",-4]]}})";
}

std::string word_piece_json() {
  return R"({"normalizer":{"type":"BertNormalizer"},"pre_tokenizer":{"type":"BertPreTokenizer"},"decoder":{"type":"WordPiece"},)"
         R"("model":{"type":"WordPiece","vocab":{"[UNK]":0,"a":1,"##a":2,"ab":3,"##b":4,"!":5}}})";
}

struct BuiltIn {
  std::shared_ptr<const Tokenizer> tokenizer;
  bool lossless;
};

const std::vector<BuiltIn>& built_in() {
  static const std::vector<BuiltIn> kTokenizers = {{Tokenizer::parse(byte_level_json(), "byte level"), true},
                                                   {Tokenizer::parse(byte_fallback_json(), "byte fallback"), true},
                                                   {Tokenizer::parse(unigram_json(), "unigram"), false},
                                                   {Tokenizer::parse(word_piece_json(), "word piece"), false}};
  return kTokenizers;
}

void check_stream(const std::shared_ptr<const Tokenizer>& tokenizer, const std::vector<TokenId>& ids, const std::string& decoded) {
  wick::StreamingDetokenizer detokenizer(tokenizer);
  std::string text;
  for (const TokenId id : ids) text += detokenizer.push(id);
  require(text + detokenizer.finish() == decoded);
  require(wick::is_valid_utf8(decoded));
}

void encode_with_built_in(std::string_view text) {
  for (const BuiltIn& entry : built_in()) {
    for (const bool parse_special : {false, true}) {
      const std::vector<TokenId> ids = entry.tokenizer->encode(text, {.add_special = parse_special, .parse_special = parse_special});
      for (const TokenId id : ids) require(id >= 0 && id < entry.tokenizer->vocab_size());
      const std::string decoded = entry.tokenizer->decode(ids);
      check_stream(entry.tokenizer, ids, decoded);
      // "▁" in the text itself comes back as a space.
      const bool faithful = entry.lossless && !parse_special && wick::is_valid_utf8(text) && text.find("▁") == std::string_view::npos;
      if (faithful) require(decoded == text);
    }
  }
}

std::shared_ptr<const Tokenizer> read(std::string_view bytes) {
  if (!bytes.starts_with("GGUF")) return Tokenizer::parse(bytes, "input");
  return Tokenizer::from_gguf(wick::GgufFile::parse(std::as_bytes(std::span(bytes)), "input"));
}

void use(const std::shared_ptr<const Tokenizer>& tokenizer) {
  static constexpr std::string_view kText = "Hello  world! ab\n\t12345 é ▁ 日本 🙂 \xFF\xE2\x82 <s></s> don't İ\u0301";
  for (const bool special : {false, true}) {
    const std::vector<TokenId> ids = tokenizer->encode(kText, {.add_special = special, .parse_special = special});
    for (const TokenId id : ids) require(id >= 0 && id < tokenizer->vocab_size());
    check_stream(tokenizer, ids, tokenizer->decode(ids));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view whole(reinterpret_cast<const char*>(data), size);
  const bool is_file = whole.starts_with("GGUF") || whole.starts_with("{\"") || whole.starts_with('\n');
  const std::string_view rest = is_file ? whole : whole.substr(1);
  if (!is_file && data[0] % 2 == 1) {
    encode_with_built_in(rest);
    ++wick::fuzz::outcome.accepted;
    return 0;
  }
  try {
    use(read(rest));
    ++wick::fuzz::outcome.accepted;
  } catch (const wick::Error&) {
    ++wick::fuzz::outcome.refused;
  }
  return 0;
}
