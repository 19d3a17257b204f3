#include "wick/server/json.h"

#include <utility>

#include "wick/base/fail.h"
#include "wick/base/utf8.h"
#include "wick/formats/strict_json_builder.h"
#include "wick/server/api_error.h"

namespace wick::server {
namespace {

[[noreturn]] void refuse_body(const std::string& message) { throw ApiError(400, "INVALID_REQUEST", message); }

class BodyBuilder final : public StrictJsonBuilder<Json> {
 public:
  BodyBuilder() : StrictJsonBuilder(kMaxJsonDepth) {}

 private:
  void refuse_repeated_key(const std::string& name) const override {
    refuse_body(fmt::format("the body: the key \"{}\" is there twice", name));
  }
  void refuse_depth() const override { refuse_body(fmt::format("the body: nested more than {} deep", kMaxJsonDepth)); }
  void refuse_number(size_t position) const override {
    refuse_body(fmt::format("the body: byte {}: a number is beyond the range of double", position));
  }
  void refuse_text(size_t position) const override { refuse_body(fmt::format("the body: byte {}: not valid JSON", position)); }
};

}  // namespace

Json parse_body(std::string_view body) {
  if (!is_valid_utf8(body)) refuse_body("the body is not valid UTF-8");
  if (body.find_first_not_of(" \t\r\n") == std::string_view::npos) refuse_body("the body is empty; send a JSON object");
  BodyBuilder builder;
  parse_json_events(body, builder);
  return builder.take();
}

std::string to_text(const Json& json) { return json_text(json); }

Json list_page(Json data, bool has_more) {
  Json first = data.empty() ? Json() : data.front()["id"];
  Json last = data.empty() ? Json() : data.back()["id"];
  return {
      {"object", "list"}, {"data", std::move(data)}, {"first_id", std::move(first)}, {"last_id", std::move(last)}, {"has_more", has_more}};
}

std::string error_message_in(const Json& response) {
  const bool has_message = response.is_object() && response.contains("error") && response["error"].is_object() &&
                           response["error"].contains("message") && response["error"]["message"].is_string();
  return has_message ? response["error"]["message"].get<std::string>() : "";
}

}  // namespace wick::server
