// Builds a JSON document from the library's parser's events, with a bound on its depth and without keys that stand there twice. The
// library's own callback looks through the whole of the outer object after each inner one, so that a million small objects take hours.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "wick/base/json.h"

namespace wick {

// `Json` may sort its keys or keep their order. What is wrong with a text is thrown by the class that derives from this one.
template <class Json>
class StrictJsonBuilder : public nlohmann::json_sax<Json> {
 public:
  explicit StrictJsonBuilder(int max_depth) : max_depth_(static_cast<size_t>(max_depth)) {}

  [[nodiscard]] Json take() { return std::move(document_); }

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(int64_t value) override { return add(value); }
  bool number_unsigned(uint64_t value) override { return add(value); }
  bool number_float(double value, const std::string&) override { return add(value); }
  bool string(std::string& value) override { return add(std::move(value)); }
  bool binary(typename Json::binary_t& value) override { return add(std::move(value)); }

  bool start_object(size_t) override { return open(Json::object()); }
  bool start_array(size_t) override { return open(Json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(std::string& name) override {
    auto& object = open_.back()->template get_ref<typename Json::object_t&>();
    if constexpr (requires { object.try_emplace(name); }) {
      const auto [member, inserted] = object.try_emplace(name);
      if (!inserted) refuse_repeated_key(name);
      member_ = &member->second;
    } else {
      // An object that keeps its order would compare the key with all others.
      if (!names_.back().insert(name).second) refuse_repeated_key(name);
      std::vector<typename Json::object_t::value_type>& members = object;
      member_ = &members.emplace_back(name, nullptr).second;
    }
    return true;
  }

  bool parse_error(size_t position, const std::string&, const nlohmann::detail::exception& error) override {
    if (dynamic_cast<const typename Json::out_of_range*>(&error) != nullptr) refuse_number(position);
    refuse_text(position);
    return false;
  }

 protected:
  [[noreturn]] virtual void refuse_repeated_key(const std::string& name) const = 0;
  [[noreturn]] virtual void refuse_depth() const = 0;
  // A number beyond the range of double, and what is no JSON, at this byte.
  [[noreturn]] virtual void refuse_number(size_t position) const = 0;
  [[noreturn]] virtual void refuse_text(size_t position) const = 0;

 private:
  Json& place(Json&& value) {
    if (open_.empty()) return document_ = std::move(value);
    if (open_.back()->is_array()) return open_.back()->template get_ref<typename Json::array_t&>().emplace_back(std::move(value));
    return *member_ = std::move(value);
  }

  bool add(Json&& value) {
    place(std::move(value));
    return true;
  }

  bool open(Json&& value) {
    if (open_.size() == max_depth_) refuse_depth();
    open_.push_back(&place(std::move(value)));
    names_.emplace_back();
    return true;
  }

  bool close() {
    open_.pop_back();
    names_.pop_back();
    return true;
  }

  size_t max_depth_;
  Json document_;
  std::vector<Json*> open_;                                // objects and lists, outermost first; none of them moves while it is open
  std::vector<std::set<std::string, std::less<>>> names_;  // of the open objects, where the document does not sort them itself
  Json* member_ = nullptr;                                 // of the innermost object, the value that comes next
};

}  // namespace wick
