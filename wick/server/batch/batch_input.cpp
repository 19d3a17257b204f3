#include "wick/server/batch/batch_input.h"

#include <algorithm>
#include <numeric>
#include <span>
#include <utility>

#include "wick/base/fail.h"
#include "wick/server/api_error.h"
#include "wick/server/batch/file_lines.h"
#include "wick/server/fields.h"

namespace wick::server {
namespace {

constexpr size_t kMaxProblems = 100;
constexpr size_t kFirstPrefix = 64;
// The members of a body that a prompt begins with, in the order in which templates write them.
constexpr std::array<const char*, 6> kPromptMembers = {"tools", "instructions", "messages", "prompt", "query", "input"};

bool is_blank(std::string_view text) { return text.find_first_not_of(" \t\r") == std::string_view::npos; }

uint64_t hash_of(uint64_t hash, std::string_view text) { return fnv1a(hash, std::as_bytes(std::span(text))); }

// The text at a member's place; none where it is absent or something else.
const std::string* text_at(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? &found->get_ref<const std::string&>() : nullptr;
}

// A parser's message about a body, of which the line is one here.
std::string about_line(std::string message) {
  constexpr std::string_view kBody = "the body: ";
  if (message.starts_with(kBody)) return message.substr(kBody.size());
  if (message.starts_with("the body")) message.replace(0, std::string_view("the body").size(), "the line");
  return message;
}

}  // namespace

std::string all_batch_urls() { return fmt::format("{}", fmt::join(kBatchUrls, ", ")); }

BatchInput::BatchInput(const std::filesystem::path& path, std::optional<std::string_view> url) : file_(MappedFile::open(path)) {
  for_each_line(*file_, [&](int64_t line, std::string_view text, bool) {
    if (!is_blank(text)) read_line(text, line, url);
  });
  if (requests_.empty() && problems_.empty()) add_problem(0, "empty_file", "there is no request in it");
}

void BatchInput::add_problem(int64_t line, std::string code, std::string message) {
  if (problems_.size() < kMaxProblems) problems_.push_back({line, std::move(code), std::move(message)});
}

void BatchInput::read_line(std::string_view text, int64_t line, std::optional<std::string_view> url) {
  try {
    read_request(parse_body(text), text, line, url);
  } catch (const ApiError& error) {
    add_problem(line, "invalid_json_line", about_line(error.what()));
  }
}

void BatchInput::read_request(const Json& json, std::string_view text, int64_t line, std::optional<std::string_view> url) {
  if (!json.is_object()) return add_problem(line, "invalid_json_line", "must be a JSON object with custom_id, method, url and body");
  const std::string* const id = text_at(json, "custom_id");
  if (id == nullptr || id->empty()) return add_problem(line, "missing_custom_id", "custom_id: is required: a text of your own choice");
  const std::string* const method = text_at(json, "method");
  if (method == nullptr || *method != "POST") return add_problem(line, "invalid_method", "method: must be \"POST\"");
  const std::string* const own_url = text_at(json, "url");
  if (own_url == nullptr) return add_problem(line, "invalid_url", fmt::format("url: is required: one of {}", all_batch_urls()));
  const auto found = std::find(kBatchUrls.begin(), kBatchUrls.end(), *own_url);
  if (found == kBatchUrls.end()) {
    return add_problem(line, "invalid_url", fmt::format("url {}: must be one of {}", shown(*own_url), all_batch_urls()));
  }
  if (url && *own_url != *url) return add_problem(line, "mismatched_url", fmt::format("url {}: this batch is for {}", *own_url, *url));
  const auto body = json.find("body");
  if (body == json.end() || !body->is_object()) return add_problem(line, "invalid_body", "body: must be a JSON object: the request");
  if (const auto stream = body->find("stream"); stream != body->end() && stream->is_boolean() && stream->get<bool>()) {
    return add_problem(line, "invalid_body", "body.stream: must not be true in a batch; leave it out");
  }
  const auto [member, is_new] = indices_.try_emplace(*id, requests_.size());
  if (!is_new) {
    return add_problem(line, "duplicate_custom_id", fmt::format("custom_id {}: another line before has it, too", shown(*id)));
  }
  const auto index = static_cast<uint8_t>(found - kBatchUrls.begin());
  requests_.push_back({.custom_id = &member->first, .line = text, .url = index, .prefixes = hash_prefixes(index, *body)});
}

Json BatchInput::body(size_t index) const { return parse_body(requests_[index].line)["body"]; }

std::optional<size_t> BatchInput::find(std::string_view custom_id) const {
  const auto found = indices_.find(custom_id);
  return found == indices_.end() ? std::nullopt : std::optional(found->second);
}

BatchInput::PrefixHashes BatchInput::hash_prefixes(size_t url, const Json& body) {
  const std::string* const model = text_at(body, "model");
  uint64_t hash = hash_of(fnv1a(kFnvBasis, url), model == nullptr ? std::string_view() : *model);
  std::string prompt;
  for (const char* name : kPromptMembers) {
    if (const auto found = body.find(name); found != body.end()) prompt += to_text(*found);
  }
  PrefixHashes hashes = {};
  size_t begin = 0;
  size_t end = kFirstPrefix;
  for (uint64_t& prefix : hashes) {
    const std::string_view piece = std::string_view(prompt).substr(std::min(begin, prompt.size()), end - begin);
    prefix = hash = hash_of(hash, piece);
    begin = end;
    end *= 2;
  }
  return hashes;
}

std::vector<size_t> BatchInput::in_order_of_prompts() const {
  std::vector<size_t> order(requests_.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::sort(order, {}, [this](size_t index) { return std::pair(requests_[index].prefixes, index); });
  return order;
}

}  // namespace wick::server
