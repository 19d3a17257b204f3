#include "wick/server/json.h"

#include <functional>
#include <set>
#include <utility>
#include <vector>

#include "wick/base/fail.h"
#include "wick/base/utf8.h"
#include "wick/server/api_error.h"

namespace wick::server {
namespace {

[[noreturn]] void refuse(const std::string& message) { throw ApiError(400, "INVALID_REQUEST", message); }

// Builds the document from the parser's events, with limits that the library's own parser has not.
class Builder final : public nlohmann::json_sax<Json> {
 public:
  [[nodiscard]] Json take() { return std::move(document_); }

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(int64_t value) override { return add(value); }
  bool number_unsigned(uint64_t value) override { return add(value); }
  bool number_float(double value, const std::string&) override { return add(value); }
  bool string(std::string& value) override { return add(std::move(value)); }
  bool binary(Json::binary_t& value) override { return add(std::move(value)); }
  bool start_object(size_t) override { return open(Json::object()); }
  bool start_array(size_t) override { return open(Json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(std::string& name) override {
    // ordered_json looks a key up in all others: what is set twice is found without that, in the sorted names of each open object.
    if (!names_.back().insert(name).second) refuse(fmt::format("the body: the key \"{}\" is there twice", name));
    Json::object_t& object = *open_.back()->get_ptr<Json::object_t*>();
    std::vector<Json::object_t::value_type>& members = object;
    members.emplace_back(name, nullptr);
    member_ = &members.back().second;
    return true;
  }

  bool parse_error(size_t position, const std::string&, const Json::exception& error) override {
    if (dynamic_cast<const Json::out_of_range*>(&error) != nullptr) {
      refuse(fmt::format("the body: byte {}: a number is beyond the range of double", position));
    }
    refuse(fmt::format("the body: byte {}: not valid JSON", position));
  }

 private:
  Json& place(Json&& value) {
    if (open_.empty()) return document_ = std::move(value);
    if (open_.back()->is_array()) return open_.back()->get_ptr<Json::array_t*>()->emplace_back(std::move(value));
    return *member_ = std::move(value);
  }
  bool add(Json&& value) {
    place(std::move(value));
    return true;
  }
  bool open(Json&& value) {
    if (open_.size() == kMaxJsonDepth) refuse(fmt::format("the body: nested more than {} deep", kMaxJsonDepth));
    open_.push_back(&place(std::move(value)));
    names_.emplace_back();
    return true;
  }
  bool close() {
    open_.pop_back();
    names_.pop_back();
    return true;
  }

  Json document_;
  std::vector<Json*> open_;  // outermost first; none of them moves while it is open
  std::vector<std::set<std::string, std::less<>>> names_;
  Json* member_ = nullptr;
};

}  // namespace

Json parse_body(std::string_view body) {
  if (!is_valid_utf8(body)) refuse("the body is not valid UTF-8");
  if (body.find_first_not_of(" \t\r\n") == std::string_view::npos) refuse("the body is empty; send a JSON object");
  Builder builder;
  Json::sax_parse(body.begin(), body.end(), &builder);
  return builder.take();
}

std::string to_text(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

}  // namespace wick::server
