#include "wick/server/request_head.h"

#include <boost/beast/http/error.hpp>
#include <string_view>

#include "wick/base/fail.h"

namespace wick::server {
namespace {

namespace beast = boost::beast;
namespace http = beast::http;

std::string_view text_of(const beast::flat_buffer& buffer) {
  const auto data = buffer.data();
  return {static_cast<const char*>(data.data()), data.size()};
}

// Whether a line of the header ends with a line feed alone, which RFC 9112, 2.2 lets servers take for a line's end; this one does not, as
// what stands in front of it may not either.
bool has_bare_line_feed(const beast::flat_buffer& buffer) {
  const std::string_view text = text_of(buffer);
  const std::string_view header = text.substr(0, text.find("\r\n\r\n"));
  for (size_t at = header.find('\n'); at != std::string_view::npos; at = header.find('\n', at + 1)) {
    if (at == 0 || header[at - 1] != '\r') return true;
  }
  return false;
}

}  // namespace

bool skip_empty_lines(beast::flat_buffer& buffer) {
  while (text_of(buffer).starts_with("\r\n")) buffer.consume(2);
  const std::string_view rest = text_of(buffer);
  return !rest.empty() && rest != "\r";
}

RequestFault find_framing_fault(const RequestParser& parser) {
  const auto& message = parser.get();
  if (message.find(http::field::transfer_encoding) != message.end()) {
    // Beast reads a body of chunks where the field is this word alone, and none at all for "chunked, chunked".
    if (message.version() < 11 || !message.chunked()) {
      return {400, "the request is not HTTP: the last Transfer-Encoding must be chunked, in HTTP/1.1"};
    }
    const bool is_plain =
        message.count(http::field::transfer_encoding) == 1 && beast::iequals(message[http::field::transfer_encoding], "chunked");
    if (!is_plain) return {501, "a Transfer-Encoding other than chunked is not implemented; send the body as it is"};
  }
  // Beast takes several that are equal, as fields or as a list.
  const std::string_view length = message[http::field::content_length];
  if (message.count(http::field::content_length) > 1 || length.find_first_not_of("0123456789") != std::string_view::npos) {
    return {400, "the request is not HTTP: Content-Length must be one number"};
  }
  if (message.version() == 11 && message.count(http::field::host) != 1) {
    return {400, "the request is not HTTP: it must have one Host field"};
  }
  return {};
}

RequestFault find_read_fault(boost::system::error_code error, bool has_header, const beast::flat_buffer& buffer,
                             const HttpServerOptions& options) {
  const bool is_of_http = error.category() == http::make_error_code(http::error::end_of_stream).category();
  if (!is_of_http || error == http::error::end_of_stream) return {};
  if (error == http::error::body_limit) {
    return {413, fmt::format("the body is larger than the {} bytes that this server takes", options.body_bytes)};
  }
  if (error == http::error::buffer_overflow && has_header) {
    return {431, fmt::format("the body's trailer or the line of a chunk's size is larger than the {} bytes that this server takes",
                             kMaxBuffered)};
  }
  if (error == http::error::header_limit || error == http::error::buffer_overflow) {
    return {431, fmt::format("the header is larger than the {} bytes that this server takes", options.header_bytes)};
  }
  if (!has_header && has_bare_line_feed(buffer)) return {400, "the request is not HTTP: its lines must end with CR LF, not with LF alone"};
  if (error == http::error::bad_version) return {505, "this server speaks HTTP/1.1 and HTTP/1.0"};
  return {400, "the request is not HTTP: " + error.message()};
}

bool wants_continue(const RequestParser& parser) {
  return parser.get().version() == 11 && beast::iequals(parser.get()[http::field::expect], "100-continue");
}

HttpRequest request_of(const RequestParser& parser, bool& is_target) {
  const auto& message = parser.get();
  HttpRequest request;
  request.method = std::string(message.method_string());
  for (const auto& field : message) request.headers.add(std::string(field.name_string()), std::string(field.value()));
  is_target = parse_target(std::string_view(message.target()), request);
  return request;
}

}  // namespace wick::server
