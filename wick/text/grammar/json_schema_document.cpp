#include "wick/text/grammar/json_schema_document.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <vector>

#include "wick/base/fail.h"
#include "wick/base/json.h"
#include "wick/formats/printable.h"
#include "wick/formats/strict_json_builder.h"

namespace wick {
namespace {

constexpr size_t kLongestSchema = size_t{4} << 20;
constexpr int kDeepestSchema = 256;

constexpr std::array<std::string_view, 5> kMapsOfSchemas = {"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"};
constexpr std::array<std::string_view, 4> kListsOfSchemas = {"allOf", "anyOf", "oneOf", "prefixItems"};
constexpr std::array<std::string_view, 12> kSchemas = {"items",
                                                       "additionalProperties",
                                                       "not",
                                                       "if",
                                                       "then",
                                                       "else",
                                                       "contains",
                                                       "propertyNames",
                                                       "contentSchema",
                                                       "unevaluatedProperties",
                                                       "unevaluatedItems",
                                                       "additionalItems"};

std::string escaped_pointer(std::string_view token) {
  std::string result;
  for (const char letter : token) {
    if (letter == '~') {
      result += "~0";
    } else if (letter == '/') {
      result += "~1";
    } else {
      result += letter;
    }
  }
  return result;
}

std::string percent_decoded(std::string_view text) {
  std::string result;
  for (size_t index = 0; index < text.size(); ++index) {
    uint8_t byte = 0;
    if (text[index] == '%' && index + 2 < text.size() + 0 &&
        std::from_chars(text.data() + index + 1, text.data() + index + 3, byte, 16).ptr == text.data() + index + 3) {
      result += static_cast<char>(byte);
      index += 2;
    } else {
      result += text[index];
    }
  }
  return result;
}

// RFC 3986, section 5.2, as far as names of schemas need it.
std::string absolute(const std::string& base, const std::string& reference) {
  if (reference.empty()) return base;
  const size_t colon = reference.find(':');
  if (colon != std::string::npos && reference.find('/') > colon) return reference;
  const size_t authority = base.find("://");
  if (reference.starts_with("/")) {
    const size_t path = authority == std::string::npos ? std::string::npos : base.find('/', authority + 3);
    return (authority == std::string::npos ? std::string() : base.substr(0, path)) + reference;
  }
  const size_t slash = base.rfind('/');
  if (slash == std::string::npos) return reference;
  return base.substr(0, slash + 1) + reference;
}

class SchemaBuilder final : public StrictJsonBuilder<SchemaJson> {
 public:
  SchemaBuilder() : StrictJsonBuilder(kDeepestSchema) {}

 private:
  void refuse_repeated_key(const std::string& name) const override {
    fail(ErrorCode::invalid_argument, "JSON Schema: the key {} is there twice", printable(name));
  }
  void refuse_depth() const override { fail(ErrorCode::invalid_argument, "JSON Schema: nested more than {} deep", kDeepestSchema); }
  void refuse_number(size_t position) const override {
    fail(ErrorCode::invalid_argument, "JSON Schema: byte {}: a number is beyond the range of double", position);
  }
  void refuse_text(size_t position) const override { fail(ErrorCode::invalid_argument, "JSON Schema: byte {}: not valid JSON", position); }
};

SchemaJson parse_schema(std::string_view text) {
  if (text.size() > kLongestSchema) fail(ErrorCode::invalid_argument, "JSON Schema: more than {} bytes", kLongestSchema);
  SchemaBuilder builder;
  parse_json_events(text, builder);
  return builder.take();
}

// Drafts up to 2019-09 list the schemas of an array's first elements in `items`, and have additionalItems for the others: what is
// prefixItems and `items` since.
void rename_listed_items(SchemaJson& schema) {
  if (!schema.is_object()) return;
  const auto items = schema.find("items");
  if (items != schema.end() && items->is_array() && !schema.contains("prefixItems")) {
    schema["prefixItems"] = SchemaJson(*items);
    schema.erase("items");
    if (const auto others = schema.find("additionalItems"); others != schema.end()) {
      schema["items"] = SchemaJson(*others);
      schema.erase("additionalItems");
    }
  }
  for (auto& [keyword, value] : schema.items()) {
    const bool is_map = std::find(kMapsOfSchemas.begin(), kMapsOfSchemas.end(), keyword) != kMapsOfSchemas.end();
    const bool is_list = std::find(kListsOfSchemas.begin(), kListsOfSchemas.end(), keyword) != kListsOfSchemas.end();
    const bool is_schema = std::find(kSchemas.begin(), kSchemas.end(), keyword) != kSchemas.end();
    if (is_schema) rename_listed_items(value);
    if ((is_map && value.is_object()) || (is_list && value.is_array())) {
      for (SchemaJson& child : value) rename_listed_items(child);
    }
  }
}

}  // namespace

SchemaDocument::SchemaDocument(std::string_view text) : root_(parse_schema(text)) {
  rename_listed_items(root_);
  visit(root_, {.pointer = "#", .base = ""});
  resources_.try_emplace("", &root_);
}

const std::string& SchemaDocument::pointer(const SchemaJson& schema) const {
  static const std::string kUnknown = "#";
  const auto place = places_.find(&schema);
  return place == places_.end() ? kUnknown : place->second.pointer;
}

bool SchemaDocument::is_made(const SchemaJson& schema) const {
  const auto place = places_.find(&schema);
  return place != places_.end() && place->second.made;
}

const SchemaJson& SchemaDocument::add(SchemaJson schema, const SchemaJson& like, const char* what) {
  const Place& place = places_.at(&like);
  Place own{.pointer = place.pointer + "/" + what, .base = place.base, .made = true};
  added_.push_back(std::move(schema));
  visit(added_.back(), std::move(own));
  return added_.back();
}

const SchemaJson* SchemaDocument::member(const SchemaJson& object, const std::string& name) {
  constexpr size_t kFew = 16;  // are looked through as quickly
  if (object.size() <= kFew) {
    const auto found = object.find(name);
    return found == object.end() ? nullptr : &*found;
  }
  auto& members = members_[&object];
  if (members.empty()) {
    for (const auto& [key, value] : object.items()) members.emplace(key, &value);
  }
  const auto found = members.find(name);
  return found == members.end() ? nullptr : found->second;
}

size_t SchemaDocument::number_of(const SchemaJson& schema) {
  numbered_.push_back(&schema);
  return numbered_.size() - 1;
}

void SchemaDocument::visit(const SchemaJson& schema, Place place) {
  if (places_.contains(&schema)) return;
  if (!schema.is_object() && !schema.is_boolean()) {
    fail(ErrorCode::invalid_argument, "{}: must be a schema: an object, true or false", place.pointer);
  }
  if (schema.is_object()) {
    if (const auto id = schema.find("$id"); id != schema.end() && id->is_string()) {
      std::string name = id->get<std::string>();
      name = name.substr(0, name.find('#'));
      place.base = absolute(place.base, name);
      resources_.try_emplace(place.base, &schema);
    }
    name_anchors(schema, place.base);
    for (const char* keyword : {"unevaluatedProperties", "unevaluatedItems"}) {
      speaks_of_unevaluated_ = speaks_of_unevaluated_ || schema.contains(keyword);
    }
  }
  const Place& kept = places_.emplace(&schema, std::move(place)).first->second;
  if (!kept.made && !by_pointer_.empty()) by_pointer_.try_emplace(kept.pointer, &schema);
  if (schema.is_object()) visit_children(schema, kept);
}

const SchemaJson* SchemaDocument::find_pointer(const std::string& pointer) {
  if (by_pointer_.empty()) {
    for (const auto& [schema, place] : places_) {
      if (!place.made) by_pointer_.try_emplace(place.pointer, schema);
    }
  }
  const auto found = by_pointer_.find(pointer);
  return found == by_pointer_.end() ? nullptr : found->second;
}

void SchemaDocument::name_anchors(const SchemaJson& schema, const std::string& base) {
  for (const char* keyword : {"$anchor", "$dynamicAnchor"}) {
    const auto anchor = schema.find(keyword);
    if (anchor == schema.end() || !anchor->is_string()) continue;
    const auto name = anchor->get<std::string>();
    anchors_.try_emplace({base, name}, &schema);
    if (std::string_view(keyword) == "$dynamicAnchor") ++dynamic_anchors_[name];
  }
}

void SchemaDocument::visit_children(const SchemaJson& schema, const Place& place) {
  const auto visit_child = [&](const SchemaJson& child, std::string pointer) {
    visit(child, {.pointer = std::move(pointer), .base = place.base, .made = place.made});
  };
  for (const std::string_view keyword : kMapsOfSchemas) {
    const auto map = schema.find(keyword);
    if (map == schema.end()) continue;
    if (!map->is_object()) fail(ErrorCode::invalid_argument, "{}/{}: must be an object of schemas", place.pointer, keyword);
    for (const auto& [name, child] : map->items())
      visit_child(child, fmt::format("{}/{}/{}", place.pointer, keyword, escaped_pointer(name)));
  }
  for (const std::string_view keyword : kListsOfSchemas) {
    const auto list = schema.find(keyword);
    if (list == schema.end()) continue;
    if (!list->is_array() || (list->empty() && keyword != "prefixItems")) {
      fail(ErrorCode::invalid_argument, "{}/{}: must be a list of at least one schema", place.pointer, keyword);
    }
    for (size_t index = 0; index < list->size(); ++index)
      visit_child((*list)[index], fmt::format("{}/{}/{}", place.pointer, keyword, index));
  }
  for (const std::string_view keyword : kSchemas) {
    const auto child = schema.find(keyword);
    if (child == schema.end()) continue;
    if (child->is_array() && keyword == "items") {
      fail(ErrorCode::unsupported, "{}/items: a list of schemas means prefixItems, which are there too", place.pointer);
    }
    visit_child(*child, fmt::format("{}/{}", place.pointer, keyword));
  }
}

const SchemaJson& SchemaDocument::resolve(const SchemaJson& schema, const char* keyword) {
  const SchemaJson& reference = schema.at(keyword);
  const Place& place = places_.at(&schema);
  if (place.made && reference.is_number()) return *numbered_.at(reference.get<size_t>());
  if (!reference.is_string()) fail(ErrorCode::invalid_argument, "{}/{}: must be a string", place.pointer, keyword);
  const auto text = reference.get<std::string>();
  const SchemaJson& target = resolve_text(place, text, keyword);
  if (std::string_view(keyword) != "$dynamicRef") return target;
  // A dynamic reference to a dynamic anchor means the outermost of that name: known, where there is one alone.
  const auto anchor = target.is_object() ? target.find("$dynamicAnchor") : target.end();
  const bool is_dynamic = anchor != target.end() && anchor->is_string() && text.ends_with("#" + anchor->get<std::string>());
  if (is_dynamic && dynamic_anchors_[anchor->get<std::string>()] > 1) {
    fail(ErrorCode::unsupported, "{}/$dynamicRef: several parts have the $dynamicAnchor '{}'; write $ref", place.pointer,
         anchor->get<std::string>());
  }
  return target;
}

const SchemaJson& SchemaDocument::resolve_text(const Place& place, const std::string& reference, const char* keyword) {
  const size_t hash = reference.find('#');
  const std::string fragment = hash == std::string::npos ? "" : percent_decoded(std::string_view(reference).substr(hash + 1));
  const std::string resource_name = absolute(place.base, reference.substr(0, hash));
  const auto resource = resources_.find(resource_name);
  if (resource == resources_.end()) {
    fail(ErrorCode::unsupported, "{}/{}: '{}' is in another document; put it under $defs", place.pointer, keyword, reference);
  }
  if (fragment.empty()) return *resource->second;
  if (!fragment.starts_with("/")) {
    const auto anchor = anchors_.find({resource_name, fragment});
    if (anchor != anchors_.end()) return *anchor->second;
    fail(ErrorCode::invalid_argument, "{}/{}: there is no $anchor '{}'", place.pointer, keyword, fragment);
  }
  // A JSON pointer of the library looks through all members at each step.
  const std::string& resource_pointer = this->pointer(*resource->second);
  if (const SchemaJson* known = find_pointer(resource_pointer + fragment)) return *known;
  const SchemaJson* found = nullptr;
  try {
    found = &resource->second->at(SchemaJson::json_pointer(fragment));
  } catch (const SchemaJson::exception&) {
    fail(ErrorCode::invalid_argument, "{}/{}: there is nothing at '{}'", place.pointer, keyword, reference);
  }
  visit(*found, {.pointer = resource_pointer + fragment, .base = resource_name});
  return *found;
}

}  // namespace wick
