// JSON from text and back. Each file that calls the library's parser or writer itself compiles them once more, for a second.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace wick {

// The value, discarded (is_discarded) if the text is not JSON; with `throws` nlohmann::json::parse_error instead, which says where. Of keys
// that are there twice the last one holds.
[[nodiscard]] nlohmann::json parse_json(std::string_view text, bool throws = false);
// The same with the keys of objects in the order in which they stand there.
[[nodiscard]] nlohmann::ordered_json parse_ordered_json(std::string_view text);
[[nodiscard]] bool is_json(std::string_view text);

// Reports each part of the text to `events`. Returns false if one of these stopped it.
bool parse_json_events(std::string_view text, nlohmann::json_sax<nlohmann::json>& events);
bool parse_json_events(std::string_view text, nlohmann::json_sax<nlohmann::ordered_json>& events);

// One line, or with `indent` 0 and more a line per element, indented by so many blanks a level. Invalid UTF-8 becomes U+FFFD.
[[nodiscard]] std::string json_text(const nlohmann::json& value, int indent = -1);
[[nodiscard]] std::string json_text(const nlohmann::ordered_json& value, int indent = -1);
// With each character beyond ASCII as \uXXXX.
[[nodiscard]] std::string ascii_json_text(const nlohmann::json& value);

}  // namespace wick
