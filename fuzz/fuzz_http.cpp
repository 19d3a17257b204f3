// What a client sends on a connection, in pieces of any size: requests one after another, each with its header, body and trailer, read as
// the server reads them. What is let through must be one request for everybody: without a second length, without what ends a line or a
// text.
#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/system/error_code.hpp>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>

#include "outcome.h"
#include "wick/server/access.h"
#include "wick/server/feed_parser.h"
#include "wick/server/request_head.h"
#include "wick/server/router.h"

namespace {

using boost::system::error_code;
using wick::server::HttpRequest;

constexpr wick::server::HttpServerOptions kOptions = {.body_bytes = 10'000, .header_bytes = 4'000};

// Bytes as a connection gives them: so many at a time, and then its end.
class Connection {
 public:
  Connection(std::span<const uint8_t> bytes, size_t piece) : bytes_(bytes), piece_(piece) {}

  template <class Buffers>
  size_t read_some(const Buffers& buffers, error_code& error) {
    error = {};
    const auto most = std::min({piece_, bytes_.size(), boost::asio::buffer_size(buffers)});
    if (most == 0) error = boost::asio::error::eof;
    boost::asio::buffer_copy(buffers, boost::asio::buffer(bytes_.data(), most));
    bytes_ = bytes_.subspan(most);
    return most;
  }

 private:
  std::span<const uint8_t> bytes_;
  size_t piece_;
};

void require(bool holds) {
  if (!holds) std::abort();
}

bool is_one_line(std::string_view text) { return text.find_first_of(std::string_view("\r\n\0", 3)) == std::string_view::npos; }

// What must be true of a request that was let through, by RFC 9110 and 9112.
void check(const HttpRequest& request, const wick::server::RequestParser& parser) {
  require(!request.method.empty() && is_one_line(request.method) && is_one_line(request.target));
  require(request.path.starts_with('/') && request.path.find('\0') == std::string::npos);
  int lengths = 0, hosts = 0;
  for (const auto& [name, value] : request.headers.all()) {
    require(!name.empty() && name.find_first_of(" \t\r\n:") == std::string::npos && is_one_line(value));
    const auto is = [&name = name](std::string_view other) { return boost::beast::iequals(name, other); };
    if (is("Transfer-Encoding")) require(boost::beast::iequals(value, "chunked"));
    if (is("Content-Length")) require(!value.empty() && value.find_first_not_of("0123456789") == std::string::npos);
    lengths += is("Transfer-Encoding") || is("Content-Length") ? 1 : 0;
    hosts += is("Host") ? 1 : 0;
  }
  require(lengths <= 1 && (parser.get().version() < 11 || hosts == 1));
}

const wick::server::Router& router() {
  static wick::server::Access access({.keys = {"secret"}});
  static const wick::server::Router only = [] {
    wick::server::Router made(access, wick::server::BrowserAccess({.origins = {"*"}}));
    const auto answer = [](HttpRequest&, const wick::server::Exchange&) {};
    made.add("POST", "/v1/completions", wick::server::Dialect::openai, answer);
    made.add("GET", "/v1/jobs/{id}/stream", wick::server::Dialect::fleet, answer);
    made.add("GET", "/v1/models/{id…}", wick::server::Dialect::openai, answer);
    made.add("GET", "/health", wick::server::Dialect::fleet, answer, wick::server::Route::Who::anyone);
    return made;
  }();
  return only;
}

// As the server does.
void read(Connection& connection, boost::beast::flat_buffer& buffer, wick::server::RequestParser& parser, bool all, error_code& error) {
  parser.eager(all);
  while (!error && !(all ? parser.is_done() : parser.is_header_done())) {
    if (!wick::server::needs_more(parser, buffer, error)) continue;
    buffer.commit(connection.read_some(buffer.prepare(wick::server::room_in(buffer)), error));
    wick::server::take_end(parser, error);
  }
}

// Whether another request may follow.
bool read_one(Connection& connection, boost::beast::flat_buffer& buffer) {
  wick::server::RequestParser parser;
  parser.header_limit(kOptions.header_bytes);
  parser.body_limit(kOptions.body_bytes);
  error_code error;
  read(connection, buffer, parser, false, error);
  bool is_target = false;
  HttpRequest request = wick::server::request_of(parser, is_target);
  const bool has_framing_fault = !error && wick::server::find_framing_fault(parser).status != 0;
  if (!error && !has_framing_fault && is_target) {
    check(request, parser);
    (void)wick::server::wants_continue(parser);
    const auto response = router().admit(request);
    require(!response || (response->status >= 200 && response->status < 500));
  }
  if (!error && !has_framing_fault) read(connection, buffer, parser, true, error);
  if (error || has_framing_fault) {
    const auto fault = wick::server::find_read_fault(error, parser.is_header_done(), buffer, kOptions);
    if (fault.status != 0) (void)router().refusal(wick::server::ApiError(fault.status, "INVALID_REQUEST", fault.message), request);
    ++wick::fuzz::outcome.refused;
    return false;
  }
  require(parser.get().body().size() <= kOptions.body_bytes);
  ++wick::fuzz::outcome.accepted;
  return parser.get().keep_alive();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // The last byte tells the size of the pieces.
  if (size == 0) return 0;
  Connection connection({data, size - 1}, size_t{data[size - 1]} * data[size - 1] + 1);
  boost::beast::flat_buffer buffer{wick::server::kMaxBuffered};
  for (bool goes_on = true; goes_on;) {
    error_code error;
    while (!error && !wick::server::skip_empty_lines(buffer)) buffer.commit(connection.read_some(buffer.prepare(4'000), error));
    goes_on = !error && read_one(connection, buffer);
  }
  return 0;
}
