#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <boost/asio/buffer.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "wick/base/fail.h"
#include "wick/server/tls.h"

namespace wick::server {
namespace {

namespace asio = boost::asio;
namespace ssl = boost::asio::ssl;
using boost::system::error_code;
using Plain = asio::generic::stream_protocol::socket;
using Direction = std::array<char, size_t{16} << 10U>;

constexpr std::chrono::seconds kHandshake{15};  // time for a client to agree on a key
constexpr std::chrono::seconds kLastWrites{2};  // time for what is unsent when the server ends

// One connection: carries bytes both ways until one side ends. On one thread.
class TlsSession : public std::enable_shared_from_this<TlsSession> {
 public:
  TlsSession(asio::io_context& context, ssl::context& keys, Plain remote, Plain local, std::atomic<int>& open)
      : secure_(std::move(remote), keys), local_(std::move(local)), deadline_(context), open_(open) {
    ++open_;
  }
  ~TlsSession() { --open_; }
  TlsSession(const TlsSession&) = delete;
  TlsSession& operator=(const TlsSession&) = delete;

  void start() {
    deadline_.expires_after(kHandshake);
    deadline_.async_wait([self = shared_from_this()](error_code error) {
      if (!error) self->close();
    });
    secure_.async_handshake(ssl::stream_base::server, [self = shared_from_this()](error_code error) {
      self->deadline_.cancel();
      if (error) return self->close();
      self->read_secure();
      self->read_local();
    });
  }

 private:
  void read_secure() {
    secure_.async_read_some(asio::buffer(in_), [self = shared_from_this()](error_code error, size_t bytes) {
      if (error) return self->close();
      asio::async_write(self->local_, asio::buffer(self->in_.data(), bytes), [self](error_code failed, size_t) {
        if (failed) return self->close();
        self->read_secure();
      });
    });
  }

  void read_local() {
    local_.async_read_some(asio::buffer(out_), [self = shared_from_this()](error_code error, size_t bytes) {
      if (error) return self->end();
      asio::async_write(self->secure_, asio::buffer(self->out_.data(), bytes), [self](error_code failed, size_t) {
        if (failed) return self->close();
        self->read_local();
      });
    });
  }

  // The server has closed: says so to the client, so that it can tell an end from a cut.
  void end() {
    deadline_.expires_after(kLastWrites);
    deadline_.async_wait([self = shared_from_this()](error_code error) {
      if (!error) self->close();
    });
    secure_.async_shutdown([self = shared_from_this()](error_code) {
      self->deadline_.cancel();
      self->close();
    });
  }

  void close() {
    error_code ignored;
    local_.close(ignored);
    secure_.lowest_layer().close(ignored);
  }

  ssl::stream<Plain> secure_;
  Plain local_;
  asio::steady_timer deadline_;
  std::atomic<int>& open_;
  Direction in_ = {};
  Direction out_ = {};
};

class OpenSslTls final : public Tls {
 public:
  OpenSslTls(const std::string& certificate, const std::string& key) : keys_(ssl::context::tls_server) {
    keys_.set_options(ssl::context::default_workarounds | ssl::context::no_sslv2 | ssl::context::no_sslv3 | ssl::context::no_tlsv1 |
                      ssl::context::no_tlsv1_1);
    // A key with a passphrase would ask for it on the terminal.
    error_code error;
    keys_.set_password_callback([](size_t, ssl::context::password_purpose) { return std::string(); }, error);
    keys_.use_certificate_chain_file(certificate, error);
    if (error) fail(ErrorCode::invalid_argument, "--tls-cert {}: cannot be used: {}; give a chain in PEM", certificate, error.message());
    keys_.use_private_key_file(key, ssl::context::pem, error);
    if (error) {
      fail(ErrorCode::invalid_argument, "--tls-key {}: cannot be used: {}; give the certificate's private key in PEM, without a passphrase",
           key, error.message());
    }
    thread_ = std::thread([this] { context_.run(); });
  }
  ~OpenSslTls() override {
    const auto end = std::chrono::steady_clock::now() + kLastWrites;
    while (open_ > 0 && std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    context_.stop();
    thread_.join();
  }
  OpenSslTls(const OpenSslTls&) = delete;
  OpenSslTls& operator=(const OpenSslTls&) = delete;

  int accept(int connection) override {
    std::array<int, 2> pair = {};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()) != 0) {
      ::close(connection);
      fail(ErrorCode::io, "TLS: no local socket: too many files are open");
    }
    asio::post(context_, [this, connection, local = pair[0]] {
      Plain remote(context_, asio::generic::stream_protocol(AF_INET, SOCK_STREAM), connection);
      Plain plain(context_, asio::generic::stream_protocol(AF_UNIX, SOCK_STREAM), local);
      std::make_shared<TlsSession>(context_, keys_, std::move(remote), std::move(plain), open_)->start();
    });
    return pair[1];
  }

 private:
  ssl::context keys_;
  std::atomic<int> open_{0};
  asio::io_context context_{1};
  asio::executor_work_guard<asio::io_context::executor_type> work_ = asio::make_work_guard(context_);
  std::thread thread_;
};

}  // namespace

std::unique_ptr<Tls> make_tls(const std::string& certificate, const std::string& key) {
  return std::make_unique<OpenSslTls>(certificate, key);
}

}  // namespace wick::server
