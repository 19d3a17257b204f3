// The parts of a multipart/form-data body (RFC 7578), which browsers and OpenAI's clients send files in.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace wick::server {

struct FormPart {
  std::string name;
  std::string file_name;          // empty for a field
  std::string_view content = {};  // in the body
};

// Errors: ApiError with status 400 for another content type, and for a body that is not of this form.
[[nodiscard]] std::vector<FormPart> parse_form(std::string_view content_type, std::string_view body);

}  // namespace wick::server
