#include "wick/model/checkpoint/generation_config.h"

#include <cmath>
#include <cstdint>
#include <optional>
#include <system_error>
#include <utility>

#include "wick/base/fail.h"
#include "wick/base/json.h"
#include "wick/base/mapped_file.h"
#include "wick/model/architectures/architecture.h"

namespace wick {
namespace {

constexpr const char* kFile = "generation_config.json";

using Json = nlohmann::json;

class SamplingTranslator {
 public:
  SamplingTranslator(Checkpoint::Folder& folder, const Json& root) : folder_(folder), root_(root) {}

  // What targets of an encoder–decoder begin with: this file counts more than config.json, as in transformers.
  void translate_target_start() {
    if (folder_.architecture == nullptr || !folder_.architecture->encoder_decoder) return;
    for (const char* key : {"decoder_start_token_id", "forced_bos_token_id"}) {
      const Json* const token = find(key);
      if (token == nullptr) continue;
      if (!token->is_number_unsigned()) refuse(key, *token, "the id of one token");
      const std::string name = std::string(folder_.architecture->name) + "." + key;
      std::erase_if(folder_.metadata, [&](const auto& entry) { return entry.first == name; });
      folder_.metadata.emplace_back(name, GgufValue{token->get<uint64_t>()});
      folder_.origins[name] = fmt::format("{}: {}", kFile, key);
    }
  }

  void translate() {
    translate_target_start();
    const Json* const sampled = find("do_sample");
    if (sampled != nullptr && !sampled->is_boolean()) refuse("do_sample", *sampled, "true or false");
    if (sampled != nullptr && !sampled->get<bool>()) {
      add("temp", "do_sample", 0.0);
    } else {
      add_decimal("temp", "temperature");
    }
    if (const auto count = number("top_k")) {
      if (std::trunc(*count) != *count || std::abs(*count) > INT32_MAX) refuse("top_k", root_["top_k"], "a whole number");
      add("top_k", "top_k", static_cast<int64_t>(*count));
    }
    add_decimal("top_p", "top_p");
    add_decimal("min_p", "min_p");
    const auto penalty = number("repetition_penalty");
    if (!penalty || *penalty == 1) return;
    add("penalty_repeat", "repetition_penalty", *penalty);
    add("penalty_last_n", "repetition_penalty", int64_t{-1});
  }

 private:
  // nullptr where the file says nothing.
  [[nodiscard]] const Json* find(const char* key) const {
    const auto found = root_.find(key);
    return found == root_.end() || found->is_null() ? nullptr : &*found;
  }

  [[nodiscard]] std::optional<double> number(const char* key) const {
    const Json* const found = find(key);
    if (found == nullptr) return std::nullopt;
    if (!found->is_number()) refuse(key, *found, "a number");
    return found->get<double>();
  }

  [[noreturn]] void refuse(const char* key, const Json& value, const char* wanted) const {
    fail(ErrorCode::corrupt_file, "{}: {}: {} is {}, but {} is needed; correct it, or take it out of the file", folder_.path.string(),
         kFile, key, ascii_json_text(value).substr(0, 40), wanted);
  }

  void add_decimal(const char* name, const char* own) {
    if (const auto value = number(own)) add(name, own, *value);
  }

  template <class T>
  void add(const char* name, const char* own, T value) {
    const std::string key = std::string("general.sampling.") + name;
    folder_.origins.emplace(key, fmt::format("{}: {}", kFile, own));
    folder_.metadata.emplace_back(key, GgufValue{value});
  }

  Checkpoint::Folder& folder_;
  const Json& root_;
};

}  // namespace

void add_generation_config(Checkpoint::Folder& folder) {
  const std::filesystem::path path = folder.path / kFile;
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return;
  const auto mapped = MappedFile::open(path);
  const Json json = parse_json({reinterpret_cast<const char*>(mapped->bytes().data()), mapped->bytes().size()});
  if (!json.is_object()) fail(ErrorCode::corrupt_file, "{}: not a JSON object; download the file again", path.string());
  SamplingTranslator(folder, json).translate();
}

}  // namespace wick
