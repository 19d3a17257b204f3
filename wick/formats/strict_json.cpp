#include "wick/formats/strict_json.h"

#include <utility>
#include <vector>

#include "wick/base/fail.h"
#include "wick/formats/printable.h"

namespace wick {
namespace {

using Json = nlohmann::json;

// Builds the document from the parser's events. The library's own callback looks through the whole of the outer object after each inner
// one, so that a million small objects take hours.
class StrictBuilder final : public nlohmann::json_sax<Json> {
 public:
  StrictBuilder(int max_depth, const JsonSource& source) : max_depth_(static_cast<size_t>(max_depth)), source_(source) {}

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
    const auto [member, inserted] = open_.back()->get_ref<Json::object_t&>().try_emplace(name);
    if (!inserted) {
      fail(ErrorCode::corrupt_file, "{}: {} at byte {}: {} stands there twice; {}", source_.file, source_.part, source_.first_byte,
           printable(name), source_.remedy);
    }
    member_ = &member->second;
    return true;
  }

  bool parse_error(size_t position, const std::string&, const Json::exception& error) override {
    if (dynamic_cast<const Json::out_of_range*>(&error) != nullptr) {
      fail(ErrorCode::corrupt_file, "{}: {} at byte {}: a number is beyond the range of double; {}", source_.file, source_.part,
           source_.first_byte + position, source_.remedy);
    }
    fail(ErrorCode::corrupt_file, "{}: {} at byte {}: not valid JSON; {}", source_.file, source_.part, source_.first_byte + position,
         source_.remedy);
  }

 private:
  Json& place(Json&& value) {
    if (open_.empty()) return document_ = std::move(value);
    if (open_.back()->is_array()) return open_.back()->get_ref<Json::array_t&>().emplace_back(std::move(value));
    return *member_ = std::move(value);
  }

  bool add(Json&& value) {
    place(std::move(value));
    return true;
  }

  bool open(Json&& value) {
    if (open_.size() == max_depth_) {
      fail(ErrorCode::corrupt_file, "{}: {} at byte {}: nested more than {} deep; {}", source_.file, source_.part, source_.first_byte,
           max_depth_, source_.remedy);
    }
    open_.push_back(&place(std::move(value)));
    return true;
  }

  bool close() {
    open_.pop_back();
    return true;
  }

  size_t max_depth_;
  const JsonSource& source_;
  Json document_;
  std::vector<Json*> open_;  // objects and lists, outermost first; none of them moves while it is open
  Json* member_ = nullptr;   // of the innermost object, the value that comes next
};

}  // namespace

Json parse_strict_json(std::span<const std::byte> text, int max_depth, const JsonSource& source) {
  const char* begin = reinterpret_cast<const char*>(text.data());
  StrictBuilder builder(max_depth, source);
  Json::sax_parse(begin, begin + text.size(), &builder);
  return builder.take();
}

}  // namespace wick
