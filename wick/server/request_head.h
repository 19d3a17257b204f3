// Parsing a request's header: the request, or why it is refused, beyond Beast's checks.
#pragma once

#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <string>

#include "wick/server/http_message.h"
#include "wick/server/http_server.h"

namespace wick::server {

// The most that a connection holds of what it has read. A trailer, or the line of a chunk's size, must fit into it as a whole; and Beast's
// fields, which take no value of 64 KiB, never see one.
constexpr size_t kMaxBuffered = size_t{48} << 10U;

using RequestParser = boost::beast::http::request_parser<boost::beast::http::string_body>;

// Takes the empty lines in front of a request away (RFC 9112, 2.2: some clients end a body by one that is not part of it).
// Whether something else is there, which is the beginning of a request.
[[nodiscard]] bool skip_empty_lines(boost::beast::flat_buffer& buffer);

// Why a request is refused: a status and a sentence. Status 0: it is not.
struct RequestFault {
  int status = 0;
  std::string message = {};
};

// Faults that a proxy in front of this server could parse differently, as two requests (RFC 9112, 3.2 and 6.1).
[[nodiscard]] RequestFault find_framing_fault(const RequestParser& parser);
// The meaning of a read error; none if the client has gone. `buffer`: unparsed bytes.
[[nodiscard]] RequestFault find_read_fault(boost::system::error_code error, bool has_header, const boost::beast::flat_buffer& buffer,
                                           const HttpServerOptions& options);

[[nodiscard]] bool wants_continue(const RequestParser& parser);

// Method, target and fields. To be read before the body is: fields of its trailer are no header fields (RFC 9110, 6.5.1).
// `is_target`: whether the target is one that this server has something for.
[[nodiscard]] HttpRequest request_of(const RequestParser& parser, bool& is_target);

}  // namespace wick::server
