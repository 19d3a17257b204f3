#include "wick/server/http_client.h"

#include <algorithm>
#include <array>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <limits>
#include <memory>

#include "wick/base/fail.h"
#include "wick/server/feed_parser.h"
#include "wick/server/http_message.h"
#include "wick/server/tls_socket.h"

namespace wick::server {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using boost::system::error_code;

// One request, step by step, each of which ends with an error when the time is over.
class Post {
 public:
  Post(const HttpUrl& url, const PostOptions& options)
      : url_(url), options_(options), deadline_(std::chrono::steady_clock::now() + options.limit), socket_(context_) {
    parser_.body_limit(std::numeric_limits<uint64_t>::max());
  }

  int run(const std::string& path, const std::string& body, const std::function<void(std::string_view)>& on_piece) {
    connect();
    if (!error_ && url_.is_secure) failure_ = encrypt_connection(socket_, *options_.tls, url_.host, deadline_, error_);
    send(request(path, body));
    while (!error_ && !parser_.is_done()) read_piece(on_piece);
    // What ends with the connection may have been cut off.
    if (!error_ && parser_.need_eof() && failure_ && !failure_->text().empty()) error_ = http::error::partial_message;
    if (error_) fail(ErrorCode::io, "{}: {}", url_.origin(), problem());
    return static_cast<int>(parser_.get().result_int());
  }

 private:
  using Socket = asio::generic::stream_protocol::socket::rebind_executor<asio::io_context::executor_type>::other;

  [[nodiscard]] std::string problem() const {
    if (error_ == asio::error::timed_out) return "no answer in time";
    if (failure_ && !failure_->text().empty()) return failure_->text();
    const char* const hint = error_ == http::error::end_of_stream && !url_.is_secure ? "; a server with TLS has a URL with https://" : "";
    return error_.message() + hint;
  }

  // What takes the end of an operation: its error, and how many bytes it moved.
  auto end() {
    return [this](error_code error, size_t bytes = 0) {
      error_ = error;
      bytes_ = bytes;
    };
  }
  // Runs the operation that was begun.
  void wait() {
    context_.restart();
    context_.run_until(deadline_);
    if (context_.stopped()) return;
    error_code ignored;
    socket_.close(ignored);
    context_.run();
    error_ = asio::error::timed_out;
  }

  void connect() {
    asio::ip::tcp::resolver resolver(context_);
    const auto addresses = resolver.resolve(url_.host, url_.port, error_);
    if (error_) return;
    for (const auto& address : addresses) {
      error_code ignored;
      socket_.close(ignored);
      socket_.async_connect(address.endpoint(), end());
      wait();
      if (!error_ || error_ == asio::error::timed_out) return;
    }
  }

  [[nodiscard]] std::string request(const std::string& path, const std::string& body) const {
    const std::string target = url_.path + path;
    std::string text = fmt::format("POST {} HTTP/1.1\r\n", target.empty() ? "/" : target);
    append_field(text, "Host", url_.port == (url_.is_secure ? "443" : "80") ? url_.host : url_.host + ":" + url_.port);
    append_field(text, "Content-Type", "application/json");
    append_field(text, "Connection", "close");
    if (!options_.api_key.empty()) append_field(text, "Authorization", "Bearer " + options_.api_key);
    append_field(text, "Content-Length", std::to_string(body.size()));
    return text + "\r\n" + body;
  }

  void send(std::string_view text) {
    while (!error_ && !text.empty()) {
      socket_.async_write_some(asio::const_buffer(text.data(), text.size()), end());
      wait();
      text.remove_prefix(bytes_);
    }
  }

  void read_piece(const std::function<void(std::string_view)>& on_piece) {
    auto& body = parser_.get().body();
    body.data = piece_.data();
    body.size = piece_.size();
    const bool reads_on = needs_more(parser_, buffer_, error_);
    const size_t size = piece_.size() - body.size;
    if (size > 0 && on_piece) on_piece({piece_.data(), size});
    if (error_ == http::error::need_buffer) error_ = {};
    if (!reads_on) return;
    socket_.async_read_some(buffer_.prepare(room_in(buffer_)), end());
    wait();
    buffer_.commit(bytes_);
    take_end(parser_, error_);
  }

  const HttpUrl& url_;
  const PostOptions& options_;
  std::chrono::steady_clock::time_point deadline_;
  asio::io_context context_;
  Socket socket_;
  beast::flat_buffer buffer_{size_t{64} << 10U};
  std::array<char, 8192> piece_{};
  http::response_parser<http::buffer_body> parser_;
  std::shared_ptr<TlsFailure> failure_;  // of https
  error_code error_;
  size_t bytes_ = 0;
};

}  // namespace

std::string HttpUrl::host_and_port() const {
  return host.find(':') == std::string::npos ? fmt::format("{}:{}", host, port) : fmt::format("[{}]:{}", host, port);
}

std::string HttpUrl::origin() const { return (is_secure ? "https://" : "http://") + host_and_port(); }

HttpUrl parse_http_url(const std::string& flag, const std::string& url) {
  const bool is_secure = url.starts_with("https://");
  if (!is_secure && !url.starts_with("http://")) {
    fail(ErrorCode::invalid_argument, "{} {}: must begin with http:// or https://", flag, url);
  }
  if (is_secure && !has_tls()) {
    fail(ErrorCode::unsupported,
         "{} {}: this program was built without TLS; build it with -DWICK_TLS=ON, or reach the server through a proxy at http://", flag,
         url);
  }
  std::string rest = url.substr(url.find("://") + 3);
  HttpUrl result{.host = {}, .port = is_secure ? "443" : "80", .path = {}, .is_secure = is_secure};
  if (const size_t slash = rest.find('/'); slash != std::string::npos) {
    result.path = rest.substr(slash);
    rest.resize(slash);
    while (result.path.ends_with('/')) result.path.pop_back();
  }
  const size_t colon = rest.rfind(':');
  if (colon != std::string::npos && rest.find(']', colon) == std::string::npos) {
    result.port = rest.substr(colon + 1);
    rest.resize(colon);
  }
  if (rest.starts_with('[') && rest.ends_with(']')) rest = rest.substr(1, rest.size() - 2);
  result.host = rest;
  const bool is_port = !result.port.empty() && result.port.size() <= 5 && result.port.find_first_not_of("0123456789") == std::string::npos;
  const bool has_blanks = std::ranges::any_of(url, [](unsigned char c) { return c <= ' ' || c == 0x7F; });  // or control characters
  if (result.host.empty() || !is_port || has_blanks) {
    fail(ErrorCode::invalid_argument, "{} {}: not an address; give one such as http://127.0.0.1:8080", flag, url);
  }
  return result;
}

int post_json(const HttpUrl& url, const std::string& path, const std::string& body, const PostOptions& options) {
  return Post(url, options).run(path, body, {});
}

int post_json_streamed(const HttpUrl& url, const std::string& path, const std::string& body, const PostOptions& options,
                       const std::function<void(std::string_view)>& on_piece) {
  return Post(url, options).run(path, body, on_piece);
}

}  // namespace wick::server
