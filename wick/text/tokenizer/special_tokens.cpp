#include "wick/text/tokenizer/special_tokens.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <system_error>
#include <utility>

#include "wick/base/fail.h"
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
    read_file("added_tokens.json", [&](const JsonReader& root) { read_added_ids(root); });
    read_file("tokenizer_config.json", [&](const JsonReader& root) { read_texts(root); });
    std::sort(tokens_.added.begin(), tokens_.added.end(), [](const auto& left, const auto& right) { return left.id < right.id; });
    // What generation_config.json says counts more than config.json.
    for (const char* name : {"generation_config.json", "config.json"}) {
      read_file(name, [&](const JsonReader& root) {
        read_ids(root);
        // Of a model that reads images too, which has its text model's among other things.
        if (const auto text = root.find("text_config"); text && text->value().is_object()) read_ids(*text);
        if (const auto type = root.find("model_type"); type && type->value().is_string()) tokens_.model_type = type->string();
      });
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
    file_ = path.string();
    read(JsonReader(json, file_, ""));
  }

  void read_texts(const JsonReader& root) {
    const auto read = [&](const char* key, SpecialTokens::Token& token) {
      if (const auto found = root.find(key)) token.text = text_of(*found);
    };
    read("bos_token", tokens_.bos);
    read("eos_token", tokens_.eos);
    read("pad_token", tokens_.pad);
    if (const auto adds = root.find("add_bos_token")) tokens_.adds_bos = adds->boolean();
    const auto added = root.find("added_tokens_decoder");
    if (!added || !added->value().is_object()) return;
    for (const auto& [key, value] : added->value().items()) {
      const JsonReader item(value, file_, "added_tokens_decoder." + key);
      int64_t id = -1;
      const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), id);
      if (error != std::errc() || end != key.data() + key.size() || id < 0) item.corrupt("its name is no token id");
      add({.id = id,
           .text = item.get("content").string(),
           .special = item.flag("special", false),
           .strip_left = item.flag("lstrip", false),
           .strip_right = item.flag("rstrip", false),
           .single_word = item.flag("single_word", false)});
    }
  }

  // Texts and their ids, in files of before 2023.
  void read_added_ids(const JsonReader& root) {
    for (const auto& [text, id] : root.value().items()) {
      const JsonReader item(id, file_, text);
      if (item.integer() < 0) item.corrupt("its id is negative");
      add({.id = item.integer(), .text = text});
    }
  }

  // The last that says it counts.
  void add(SpecialTokens::Added token) {
    if (token.text.empty()) return;
    std::erase_if(tokens_.added, [&](const SpecialTokens::Added& other) { return other.id == token.id; });
    tokens_.added.push_back(std::move(token));
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
  std::string file_;  // that is read
  SpecialTokens tokens_;
};

}  // namespace

std::optional<std::filesystem::path> find_tokenizer_file(const std::filesystem::path& folder) {
  std::error_code ignored;
  for (const char* name : {"tokenizer.json", "tekken.json", "tokenizer.model", "tiktoken.model", "rwkv_vocab_v20230424.txt"}) {
    if (std::filesystem::is_regular_file(folder / name, ignored)) return folder / name;
  }
  std::vector<std::filesystem::path> found;
  for (std::filesystem::directory_iterator at(folder, ignored), end; !ignored && at != end; at.increment(ignored)) {
    if (at->path().extension() == ".tiktoken") found.push_back(at->path());
  }
  if (found.empty()) return std::nullopt;
  if (found.size() == 1) return found.front();
  std::sort(found.begin(), found.end());
  fail(ErrorCode::invalid_argument, "{}: the folder has {} .tiktoken files, {} and others: leave the model's there", folder.string(),
       found.size(), found.front().filename().string());
}

SpecialTokens read_special_tokens(const std::filesystem::path& folder) { return FolderReader(folder).read(); }

}  // namespace wick
