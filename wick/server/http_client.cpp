#include "wick/server/http_client.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>

#include <array>
#include <limits>

#include "wick/base/fail.h"

namespace wick::server {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using boost::system::error_code;

// One request, step by step, each of which ends with an error when the time is over.
class Post {
 public:
  Post(const HttpUrl& url, const std::string& path, const std::string& body, const std::string& api_key, std::chrono::milliseconds limit)
      : url_(url), limit_(limit), resolver_(context_), stream_(context_) {
    const std::string target = url.path + path;
    request_ = {http::verb::post, target.empty() ? "/" : target, 11};
    request_.set(http::field::host, url.port == "80" ? url.host : url.host + ":" + url.port);
    request_.set(http::field::content_type, "application/json");
    request_.set(http::field::connection, "close");
    if (!api_key.empty()) request_.set(http::field::authorization, "Bearer " + api_key);
    request_.body() = body;
    request_.prepare_payload();
    parser_.body_limit(std::numeric_limits<uint64_t>::max());
  }

  int run(const std::function<void(std::string_view)>& on_piece) {
    on_piece_ = on_piece;
    stream_.expires_after(limit_);
    resolver_.async_resolve(url_.host, url_.port, [this](error_code error, const asio::ip::tcp::resolver::results_type& addresses) {
      if (failed(error)) return;
      stream_.async_connect(addresses, [this](error_code connected, const asio::ip::tcp::endpoint&) {
        if (!failed(connected)) write();
      });
    });
    context_.run_for(limit_);
    if (!parser_.is_done()) {
      fail(ErrorCode::io, "http://{}:{}: {}", url_.host, url_.port, error_ ? error_.message() : std::string("no answer in time"));
    }
    return static_cast<int>(parser_.get().result_int());
  }

 private:
  bool failed(error_code error) {
    error_ = error;
    return static_cast<bool>(error);
  }
  void write() {
    http::async_write(stream_, request_, [this](error_code error, size_t) {
      if (failed(error)) return;
      http::async_read_header(stream_, buffer_, parser_, [this](error_code read, size_t) {
        if (!failed(read)) read_piece();
      });
    });
  }
  void read_piece() {
    if (parser_.is_done()) return;
    parser_.get().body().data = piece_.data();
    parser_.get().body().size = piece_.size();
    http::async_read_some(stream_, buffer_, parser_, [this](error_code error, size_t) {
      if (error == http::error::need_buffer) error = {};
      const size_t size = piece_.size() - parser_.get().body().size;
      if (size > 0 && on_piece_) on_piece_({piece_.data(), size});
      if (!failed(error)) read_piece();
    });
  }

  const HttpUrl& url_;
  std::chrono::milliseconds limit_;
  std::function<void(std::string_view)> on_piece_;
  asio::io_context context_;
  asio::ip::tcp::resolver resolver_;
  beast::tcp_stream stream_;
  http::request<http::string_body> request_;
  beast::flat_buffer buffer_{size_t{64} << 10U};
  std::array<char, 8192> piece_{};
  http::response_parser<http::buffer_body> parser_;
  error_code error_;
};

}  // namespace

HttpUrl parse_http_url(const std::string& flag, const std::string& url) {
  constexpr std::string_view kScheme = "http://";
  if (!url.starts_with(kScheme)) {
    fail(ErrorCode::invalid_argument, "{} {}: must begin with http://; what speaks https goes through a proxy", flag, url);
  }
  std::string rest = url.substr(kScheme.size());
  HttpUrl result{.host = {}, .port = "80", .path = {}};
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
  if (result.host.empty() || !is_port || url.find_first_of(" \r\n") != std::string::npos) {
    fail(ErrorCode::invalid_argument, "{} {}: not an address; give one such as http://127.0.0.1:8080", flag, url);
  }
  return result;
}

int post_json(const HttpUrl& url, const std::string& path, const std::string& body, std::chrono::milliseconds limit) {
  return Post(url, path, body, "", limit).run({});
}

int post_json_streamed(const HttpUrl& url, const std::string& path, const std::string& body, const std::string& api_key,
                       std::chrono::milliseconds limit, const std::function<void(std::string_view)>& on_piece) {
  return Post(url, path, body, api_key, limit).run(on_piece);
}

}  // namespace wick::server
