#include "wick/server/http_message.h"

#include <algorithm>
#include <array>

namespace wick::server {
namespace {

struct Reason {
  int status;
  std::string_view phrase;
};
constexpr std::array kReasons = std::to_array<Reason>({{200, "OK"},
                                                       {202, "Accepted"},
                                                       {204, "No Content"},
                                                       {304, "Not Modified"},
                                                       {400, "Bad Request"},
                                                       {401, "Unauthorized"},
                                                       {403, "Forbidden"},
                                                       {404, "Not Found"},
                                                       {405, "Method Not Allowed"},
                                                       {408, "Request Timeout"},
                                                       {409, "Conflict"},
                                                       {410, "Gone"},
                                                       {413, "Content Too Large"},
                                                       {415, "Unsupported Media Type"},
                                                       {422, "Unprocessable Content"},
                                                       {429, "Too Many Requests"},
                                                       {431, "Request Header Fields Too Large"},
                                                       {499, "Client Closed Request"},
                                                       {500, "Internal Server Error"},
                                                       {501, "Not Implemented"},
                                                       {503, "Service Unavailable"},
                                                       {505, "HTTP Version Not Supported"}});

char lowercase(char c) noexcept { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool equals_ignoring_case(std::string_view left, std::string_view right) noexcept {
  return std::ranges::equal(left, right, {}, lowercase, lowercase);
}

int hex_digit(char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// Decodes %XX, and in a query '+' as a space. False for a bad escape or a NUL.
bool decode(std::string_view text, bool is_query, std::string& decoded) {
  decoded.clear();
  decoded.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '%') {
      if (i + 2 >= text.size()) return false;
      const int high = hex_digit(text[i + 1]);
      const int low = hex_digit(text[i + 2]);
      if (high < 0 || low < 0) return false;
      c = static_cast<char>(high * 16 + low);
      i += 2;
    } else if (c == '+' && is_query) {
      c = ' ';
    }
    if (c == '\0') return false;
    decoded += c;
  }
  return true;
}

// The path of a target in absolute form, "http://host/path", which servers must accept, too (RFC 9112, 3.2.2).
std::string_view without_authority(std::string_view target) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!equals_ignoring_case(target.substr(0, scheme.size()), scheme)) continue;
    target.remove_prefix(scheme.size());
    const size_t end = target.find_first_of("/?");
    if (target.empty() || end == 0) return {};
    if (end == std::string_view::npos) return "/";
    return target.substr(end);
  }
  return target;
}

bool climbs(std::string_view path) {
  for (size_t begin = 0; begin <= path.size();) {
    const size_t end = std::min(path.find('/', begin), path.size());
    if (path.substr(begin, end - begin) == "..") return true;
    begin = end + 1;
  }
  return false;
}

}  // namespace

void HeaderFields::set(std::string_view name, std::string value) {
  std::erase_if(fields_, [&](const Field& field) { return equals_ignoring_case(field.first, name); });
  fields_.emplace_back(std::string(name), std::move(value));
}

std::optional<std::string_view> HeaderFields::find(std::string_view name) const noexcept {
  for (const Field& field : fields_) {
    if (equals_ignoring_case(field.first, name)) return field.second;
  }
  return std::nullopt;
}

std::string_view HttpRequest::parameter(std::string_view name) const noexcept {
  for (const auto& [key, value] : parameters) {
    if (key == name) return value;
  }
  return {};
}

const Json& HttpRequest::json() const {
  if (parsed == nullptr) parsed = std::make_shared<const Json>(parse_body(body));
  return *parsed;
}

std::optional<std::string_view> HttpRequest::query_value(std::string_view name) const noexcept {
  for (const auto& [key, value] : query) {
    if (key == name) return value;
  }
  return std::nullopt;
}

bool parse_target(std::string_view target, HttpRequest& request) {
  request.target = target;
  target = without_authority(target);
  const size_t question = std::min(target.find('?'), target.size());
  if (!target.starts_with('/') || !decode(target.substr(0, question), false, request.path) || climbs(request.path)) return false;
  request.query.clear();
  std::string_view rest = question < target.size() ? target.substr(question + 1) : std::string_view{};
  while (!rest.empty()) {
    const std::string_view pair = rest.substr(0, rest.find('&'));
    rest.remove_prefix(std::min(rest.size(), pair.size() + 1));
    if (pair.empty()) continue;
    const size_t equals = std::min(pair.find('='), pair.size());
    std::string key;
    std::string value;
    if (!decode(pair.substr(0, equals), true, key)) return false;
    if (equals < pair.size() && !decode(pair.substr(equals + 1), true, value)) return false;
    request.query.emplace_back(std::move(key), std::move(value));
  }
  return true;
}

HttpResponse json_response(int status, std::string body) {
  return {.status = status, .headers = {{"Content-Type", "application/json"}}, .body = std::move(body)};
}

void append_field(std::string& text, std::string_view name, std::string_view value) {
  text.append(name).append(": ");
  for (const char c : value) text += c == '\r' || c == '\n' || c == '\0' ? ' ' : c;
  text += "\r\n";
}

std::string_view reason_phrase(int status) noexcept {
  const auto* found = std::find_if(kReasons.begin(), kReasons.end(), [status](const Reason& reason) { return reason.status == status; });
  return found == kReasons.end() ? "Status" : found->phrase;
}

}  // namespace wick::server
