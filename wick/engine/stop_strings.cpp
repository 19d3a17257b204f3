#include "wick/engine/stop_strings.h"

#include <algorithm>
#include <utility>

#include "wick/base/fail.h"
#include "wick/text/unicode/unicode.h"

namespace wick {

StopStrings::StopStrings(std::vector<std::string> strings) : strings_(std::move(strings)) {
  std::erase(strings_, std::string());
  for (const std::string& string : strings_) {
    if (!is_valid_utf8(string)) fail(ErrorCode::invalid_argument, "stop: a stop string is not valid UTF-8, so that no text can match it");
  }
}

std::string StopStrings::push(std::string_view piece) {
  pending_ += piece;
  size_t found_at = std::string::npos;
  const std::string* found = nullptr;
  for (const std::string& string : strings_) {
    const size_t at = pending_.find(string);
    if (at == std::string::npos) continue;
    if (found == nullptr || at < found_at || (at == found_at && string.size() > found->size())) {
      found_at = at;
      found = &string;
    }
  }
  if (found != nullptr) {
    matched_ = *found;
    pending_.resize(found_at);
    return std::exchange(pending_, {});
  }
  const size_t safe = pending_.size() - held_back_bytes();
  std::string text = pending_.substr(0, safe);
  pending_.erase(0, safe);
  return text;
}

std::string StopStrings::finish() { return std::exchange(pending_, {}); }

size_t StopStrings::held_back_bytes() const noexcept {
  size_t longest = 0;
  for (const std::string& string : strings_) {
    // The longest end of the text that is a beginning of the string, but not all of it.
    for (size_t length = std::min(pending_.size(), string.size() - 1); length > longest; --length) {
      if (std::string_view(pending_).ends_with(std::string_view(string).substr(0, length))) {
        longest = length;
        break;
      }
    }
  }
  return longest;
}

}  // namespace wick
