#include "wick/base/json.h"

namespace wick {
namespace {

template <class Json>
std::string text_of(const Json& value, int indent, bool ascii) {
  return value.dump(indent, ' ', ascii, Json::error_handler_t::replace);
}

}  // namespace

nlohmann::json parse_json(std::string_view text, bool throws) { return nlohmann::json::parse(text, nullptr, throws); }

nlohmann::ordered_json parse_ordered_json(std::string_view text) {
  return nlohmann::ordered_json::parse(text, nullptr, /*allow_exceptions=*/false);
}

bool is_json(std::string_view text) { return nlohmann::json::accept(text); }

bool parse_json_events(std::string_view text, nlohmann::json_sax<nlohmann::json>& events) {
  return nlohmann::json::sax_parse(text, &events);
}

bool parse_json_events(std::string_view text, nlohmann::json_sax<nlohmann::ordered_json>& events) {
  return nlohmann::ordered_json::sax_parse(text, &events);
}

std::string json_text(const nlohmann::json& value, int indent) { return text_of(value, indent, false); }

std::string json_text(const nlohmann::ordered_json& value, int indent) { return text_of(value, indent, false); }

std::string ascii_json_text(const nlohmann::json& value) { return text_of(value, -1, true); }

}  // namespace wick
