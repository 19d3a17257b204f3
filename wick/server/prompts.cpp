#include "wick/server/prompts.h"

#include <algorithm>

#include "wick/base/fail.h"

namespace wick::server {
namespace {

bool is_token_list(const Json& list) {
  return !list.empty() && std::ranges::all_of(list, [](const Json& item) { return item.is_number_integer(); });
}

std::vector<TokenId> tokens_of(const Json& list) {
  std::vector<TokenId> tokens;
  tokens.reserve(list.size());
  for (const Json& item : list) {
    const auto id = item.get<int64_t>();
    tokens.push_back(id >= 0 && id <= std::numeric_limits<TokenId>::max() ? static_cast<TokenId>(id) : TokenId{-1});
  }
  return tokens;
}

}  // namespace

std::vector<Request> read_prompts(Fields& fields, std::string_view name, size_t most) {
  std::vector<Request> requests;
  const Json* const prompt = fields.find(name);
  if (prompt == nullptr) return requests;
  const auto add_text = [&](const Json& text) { requests.push_back({.prompt = text.get<std::string>()}); };
  const auto add_tokens = [&](const Json& list) { requests.push_back({.tokens = tokens_of(list)}); };
  if (prompt->is_string()) {
    add_text(*prompt);
  } else if (prompt->is_array() && is_token_list(*prompt)) {
    add_tokens(*prompt);
  } else if (prompt->is_array() && !prompt->empty() && prompt->size() <= most) {
    for (const Json& item : *prompt) {
      if (item.is_string()) {
        add_text(item);
      } else if (item.is_array() && is_token_list(item)) {
        add_tokens(item);
      } else {
        fields.violate(name, "must hold texts or lists of token ids");
        return {};
      }
    }
  } else {
    fields.violate(name, fmt::format("must be a text, a list of token ids, or a list of at most {} of these", most));
  }
  return requests;
}

}  // namespace wick::server
