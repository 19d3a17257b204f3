#include "wick/server/batch/multipart.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include "wick/base/ascii.h"
#include "wick/base/fail.h"
#include "wick/server/api_error.h"

namespace wick::server {
namespace {

constexpr size_t kMaxParts = 64;
constexpr size_t kMaxBoundary = 70;  // RFC 2046, 5.1.1
constexpr std::string_view kLineEnd = "\r\n";

[[noreturn]] void refuse_form(const std::string& message) { throw ApiError(400, "INVALID_REQUEST", message); }

std::string_view trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

// The parameter of a header's value: "form-data; name=\"file\"; filename=\"a.jsonl\"".
std::optional<std::string> parameter_of(std::string_view value, std::string_view name) {
  for (size_t at = std::min(value.find(';'), value.size()); at < value.size();) {
    const std::string_view rest = value.substr(at + 1);
    const size_t equals = rest.find('=');
    if (equals == std::string_view::npos) return std::nullopt;
    const bool is_named = ascii_lowercase(trimmed(rest.substr(0, equals))) == name;
    std::string text;
    size_t end = equals + 1;
    if (end < rest.size() && rest[end] == '"') {
      for (++end; end < rest.size() && rest[end] != '"'; ++end) {
        if (rest[end] == '\\' && end + 1 < rest.size()) ++end;
        text += rest[end];
      }
      end = std::min(rest.find(';', std::min(end, rest.size())), rest.size());
    } else {
      end = std::min(rest.find(';', end), rest.size());
      text = trimmed(rest.substr(equals + 1, end - equals - 1));
    }
    if (is_named) return text;
    at += 1 + end;
  }
  return std::nullopt;
}

FormPart parse_part(std::string_view text) {
  FormPart part;
  bool is_named = false;
  for (;;) {
    const size_t end = text.find(kLineEnd);
    if (end == std::string_view::npos) refuse_form("the form: a part's header does not end");
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end + kLineEnd.size());
    if (line.empty()) break;
    const size_t colon = std::min(line.find(':'), line.size());
    if (ascii_lowercase(trimmed(line.substr(0, colon))) != "content-disposition" || colon == line.size()) continue;
    const std::string_view value = line.substr(colon + 1);
    if (auto name = parameter_of(value, "name")) {
      part.name = std::move(*name);
      is_named = true;
    }
    part.file_name = parameter_of(value, "filename").value_or("");
  }
  if (!is_named) refuse_form("the form: a part has no name");
  part.content = text;
  return part;
}

}  // namespace

std::vector<FormPart> parse_form(std::string_view content_type, std::string_view body) {
  const std::string_view type = trimmed(content_type.substr(0, content_type.find(';')));
  const std::string boundary = parameter_of(content_type, "boundary").value_or("");
  if (ascii_lowercase(type) != "multipart/form-data" || boundary.empty() || boundary.size() > kMaxBoundary) {
    refuse_form("the body must be multipart/form-data with a boundary");
  }
  const std::string mark = "--" + boundary;
  const std::string next = std::string(kLineEnd) + mark;
  size_t at = body.starts_with(mark) ? 0 : body.find(next);
  if (at == std::string_view::npos) refuse_form("the form: its boundary is not in it");
  if (at > 0) at += kLineEnd.size();
  std::vector<FormPart> parts;
  for (;;) {
    at += mark.size();
    if (body.substr(at).starts_with("--")) return parts;
    const size_t line_end = body.find(kLineEnd, at);
    if (line_end == std::string_view::npos || !trimmed(body.substr(at, line_end - at)).empty())
      refuse_form("the form: a boundary has no end");
    const size_t begin = line_end + kLineEnd.size();
    // A part without header and content ends where it begins.
    const size_t end = body.find(next, line_end);
    if (end == std::string_view::npos) refuse_form("the form: its last boundary is missing; was it sent as a whole?");
    if (parts.size() == kMaxParts) refuse_form(fmt::format("the form: more than {} parts", kMaxParts));
    parts.push_back(parse_part(end < begin ? std::string_view() : body.substr(begin, end - begin)));
    at = end + kLineEnd.size();
  }
}

}  // namespace wick::server
