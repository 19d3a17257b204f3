#include "wick/text/tokenizer/special_tokens.h"

#include <fmt/format.h>

#include <system_error>

#include "wick/base/json.h"
#include "wick/base/mapped_file.h"
#include "wick/text/tokenizer/json_reader.h"

namespace wick {
namespace {

// A text, or an object with it.
std::string text_of(const JsonReader& token) { return token.value().is_object() ? token.get("content").string() : token.string(); }

class FolderReader {
 public:
  explicit FolderReader(const std::filesystem::path& folder) : folder_(folder) { tokens_.origin = folder.string(); }

  SpecialTokens read() {
    read_file("tokenizer_config.json", [&](const JsonReader& root) { read_texts(root); });
    // What generation_config.json says counts more than config.json.
    for (const char* name : {"generation_config.json", "config.json"}) {
      read_file(name, [&](const JsonReader& root) { read_ids(root); });
    }
    return std::move(tokens_);
  }

 private:
  template <class Read>
  void read_file(const char* name, const Read& read) {
    std::error_code ignored;
    const std::filesystem::path path = folder_ / name;
    if (!std::filesystem::is_regular_file(path, ignored)) return;
    const auto mapped = MappedFile::open(path);
    const auto json = parse_json({reinterpret_cast<const char*>(mapped->bytes().data()), mapped->bytes().size()});
    if (!json.is_object()) fail(ErrorCode::corrupt_file, "{}: not a JSON object; download the file again", path.string());
    const std::string file = path.string();
    read(JsonReader(json, file, ""));
  }

  void read_texts(const JsonReader& root) {
    const auto read = [&](const char* key, SpecialTokens::Token& token) {
      if (const auto found = root.find(key)) token.text = text_of(*found);
    };
    read("bos_token", tokens_.bos);
    read("eos_token", tokens_.eos);
    read("pad_token", tokens_.pad);
    if (const auto adds = root.find("add_bos_token")) tokens_.adds_bos = adds->boolean();
  }

  void read_ids(const JsonReader& root) {
    const auto read = [&](const char* key, SpecialTokens::Token& token) {
      const auto found = root.find(key);
      if (found && !token.id) token.id = found->integer();
    };
    read("bos_token_id", tokens_.bos);
    read("pad_token_id", tokens_.pad);
    const auto eos = root.find("eos_token_id");
    if (!eos || !tokens_.ends.empty()) return;
    if (!eos->value().is_array()) return tokens_.ends.push_back(eos->integer());
    for (size_t index = 0; index < eos->value().size(); ++index) tokens_.ends.push_back(eos->at(index).integer());
  }

  const std::filesystem::path& folder_;
  SpecialTokens tokens_;
};

}  // namespace

SpecialTokens read_special_tokens(const std::filesystem::path& folder) { return FolderReader(folder).read(); }

}  // namespace wick
