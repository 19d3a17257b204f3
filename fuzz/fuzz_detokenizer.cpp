// Streams any token ids, two bytes each, through vocabularies of each family: no call may emit half a character, and all together
// must be what decode() says. Ids outside the vocabulary must be refused with wick::Error and leave the stream as it was.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "outcome.h"
#include "wick/base/error.h"
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

// 256 single bytes, spelled by `spell`, and a few tokens of several characters; one of them is special.
template <class Spell>
std::shared_ptr<const Tokenizer> make(const Spell& spell, const std::string& more, const std::string& decoder) {
  std::string vocab;
  for (int byte = 0; byte < 256; ++byte) {
    const std::string text(spell(static_cast<uint8_t>(byte)));
    vocab += (text == "\"" || text == "\\" ? "\"\\" + text : "\"" + text) + "\":" + std::to_string(byte) + ",";
  }
  return Tokenizer::parse(R"({"added_tokens":[{"id":300,"content":"<s>","special":true},{"id":301,"content":"<u>","special":false}],)"
                          R"("decoder":)" +
                              decoder + R"(,"model":{"type":"BPE","byte_fallback":true,"merges":[],"vocab":{)" + vocab + more + "}}}",
                          "built-in");
}

const std::vector<std::shared_ptr<const Tokenizer>>& built_in() {
  static const std::vector<std::shared_ptr<const Tokenizer>> kTokenizers = {
      make(wick::byte_to_letter, R"("Ġa":256,"âĤ":257,"ðŁĻ":258,"Ĥ":259,"Ã©":260)", R"({"type":"ByteLevel"})"),
      make(wick::byte_token, R"("▁":256,"▁a":257,"é":258,"▁▁":259)",
           R"({"type":"Sequence","decoders":[{"type":"Replace","pattern":{"String":"▁"},"content":" "},{"type":"ByteFallback"},)"
           R"({"type":"Strip","content":" ","start":1,"stop":0}]})"),
      make(wick::byte_token, R"("▁":256,"▁a":257,"é▁":258)", R"({"type":"Metaspace"})"),
      make(wick::byte_token, R"("##a":256,"a":257,".":258,"##":259)", R"({"type":"WordPiece"})"),
      make(wick::byte_token, R"("a</w>":256,"a":257,"</w>":258)", R"({"type":"BPEDecoder"})")};
  return kTokenizers;
}

void check(const std::shared_ptr<const Tokenizer>& tokenizer, const std::vector<TokenId>& wanted, bool skip_special) {
  wick::StreamingDetokenizer detokenizer(tokenizer, false, skip_special);
  std::vector<TokenId> ids;
  std::string text;
  for (const TokenId id : wanted) {
    try {
      const std::string part = detokenizer.push(id);
      require(id < tokenizer->vocab_size() && wick::is_valid_utf8(part));
      text += part;
      ids.push_back(id);
    } catch (const wick::Error&) {
      require(id >= tokenizer->vocab_size());
    }
  }
  text += detokenizer.finish();
  require(wick::is_valid_utf8(text));
  require(text == tokenizer->decode(ids, skip_special));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::vector<TokenId> ids;
  for (size_t index = 0; index + 1 < size; index += 2) ids.push_back((data[index] | data[index + 1] << 8) % 310);
  for (const auto& tokenizer : built_in()) {
    check(tokenizer, ids, true);
    check(tokenizer, ids, false);
  }
  ++wick::fuzz::outcome.accepted;
  return 0;
}
