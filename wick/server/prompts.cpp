#include "wick/server/prompts.h"

#include <algorithm>
#include <utility>

#include "wick/base/fail.h"

namespace wick::server {
namespace {

// Reads one prompt after the other; stops at the first that is wrong.
class PromptReader {
 public:
  PromptReader(Fields& fields, const Tokenizer& tokenizer, bool parses_special)
      : fields_(fields), tokenizer_(tokenizer), parses_special_(parses_special) {}

  // Texts alone are prompts of their own; with a token among them they are parts of one.
  static bool is_one(const Json& list) {
    return std::ranges::all_of(list, [](const Json& item) { return item.is_number() || item.is_string(); }) &&
           std::ranges::any_of(list, [](const Json& item) { return item.is_number(); });
  }

  std::optional<Request> read(const Json& prompt, const std::string& path) {
    if (prompt.is_string()) return Request{.prompt = prompt.get<std::string>()};
    if (prompt.is_array() && !prompt.empty()) return read_parts(prompt, path);
    if (prompt.is_object()) return read_object(prompt, path);
    fields_.violate_path(path, "must be a text or a list of token ids that is not empty", shown(prompt));
    return std::nullopt;
  }

 private:
  std::optional<Request> read_parts(const Json& list, const std::string& path) {
    Request request;
    for (size_t i = 0; i < list.size(); ++i) {
      const Json& part = list[i];
      if (part.is_string()) {
        const EncodeOptions options{.add_special = i == 0, .parse_special = parses_special_};
        const std::vector<TokenId> tokens = tokenizer_.encode(part.get_ref<const std::string&>(), options);
        request.tokens.insert(request.tokens.end(), tokens.begin(), tokens.end());
      } else if (is_token(part)) {
        request.tokens.push_back(part.get<TokenId>());
      } else {
        fields_.violate_path(fmt::format("{}[{}]", path, i), fmt::format("must be a token id from 0 to {}", tokenizer_.vocab_size() - 1),
                             shown(part));
        return std::nullopt;
      }
    }
    return request;
  }

  std::optional<Request> read_object(const Json& object, const std::string& path) {
    Fields members(object, path);
    members.require("prompt_string");
    Request request{.prompt = members.text("prompt_string").value_or("")};
    if (members.has("multimodal_data")) members.violate("multimodal_data", "is not supported: this model reads text only");
    const bool is_good = members.violations().empty();
    fields_.take(std::move(members.violations()));
    return is_good ? std::optional(std::move(request)) : std::nullopt;
  }

  [[nodiscard]] bool is_token(const Json& value) const {
    return value.is_number_integer() && value.get<int64_t>() >= 0 && value.get<int64_t>() < tokenizer_.vocab_size();
  }

  Fields& fields_;
  const Tokenizer& tokenizer_;
  bool parses_special_;
};

}  // namespace

std::vector<Request> read_prompts(Fields& fields, const Tokenizer& tokenizer, std::string_view name, size_t most, bool parses_special) {
  const Json* const prompt = fields.find(name);
  if (prompt == nullptr) return {};
  PromptReader reader(fields, tokenizer, parses_special);
  std::vector<Request> requests;
  const auto add = [&](const Json& one, const std::string& path) {
    std::optional<Request> request = reader.read(one, path);
    if (request) requests.push_back(std::move(*request));
    return request.has_value();
  };
  if (!prompt->is_array() || PromptReader::is_one(*prompt)) {
    add(*prompt, fields.path_of(name));
  } else if (prompt->empty() || prompt->size() > most) {
    fields.violate(name, fmt::format("must be a text, a list of token ids, or a list of 1 to {} of these", most));
  } else {
    for (size_t i = 0; i < prompt->size(); ++i) {
      if (!add((*prompt)[i], fmt::format("{}[{}]", fields.path_of(name), i))) return {};
    }
  }
  return requests;
}

Request with_prompt_of(const Request& settings, Request request) {
  Request result = settings;
  result.prompt = std::move(request.prompt);
  result.tokens = std::move(request.tokens);
  return result;
}

}  // namespace wick::server
