#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <boost/asio/buffer.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/error.hpp>
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

// To which server a session of a client belongs.
struct TlsPeer {
  std::string host;
  std::chrono::steady_clock::time_point deadline;
  std::shared_ptr<TlsFailure> failure;
};

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

  void start() { shake_hands(ssl::stream_base::server, std::chrono::steady_clock::now() + kHandshake); }

  void start(TlsPeer peer) {
    peer_ = std::move(peer);
    if (!expect(peer_.host)) return fail_by("the name in its URL cannot be checked");
    shake_hands(ssl::stream_base::client, peer_.deadline);
  }

 private:
  void shake_hands(ssl::stream_base::handshake_type type, std::chrono::steady_clock::time_point end) {
    deadline_.expires_at(end);
    deadline_.async_wait([self = shared_from_this()](error_code error) {
      if (!error) self->fail_by("no answer in time");
    });
    secure_.async_handshake(type, [self = shared_from_this()](error_code error) {
      self->deadline_.cancel();
      if (error) return self->fail_by(self->reason_of(error));
      self->read_secure();
      self->read_local();
    });
  }

  // The certificate is to be for this name or address.
  bool expect(const std::string& host) {
    SSL* const session = secure_.native_handle();
    error_code is_name;
    (void)asio::ip::make_address(host, is_name);
    if (!is_name) return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(session), host.c_str()) == 1;
    std::string name = host;
    SSL_set_hostflags(session, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    return !name.empty() && SSL_ctrl(session, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name, name.data()) == 1 &&
           SSL_set1_host(session, name.c_str()) == 1;
  }

  // Of a handshake.
  [[nodiscard]] std::string reason_of(error_code error) {
    const long verdict = SSL_get_verify_result(secure_.native_handle());
    const char* const said = X509_verify_cert_error_string(verdict);
    switch (verdict) {
      case X509_V_OK: break;
      case X509_V_ERR_HOSTNAME_MISMATCH:
      case X509_V_ERR_IP_ADDRESS_MISMATCH:
        return fmt::format("its certificate is not for {}; write the URL with a name of the certificate, or give the server another one",
                           peer_.host);
      case X509_V_ERR_CERT_HAS_EXPIRED:
      case X509_V_ERR_CERT_NOT_YET_VALID: return fmt::format("{}; renew the server's certificate, or set the clock of this machine", said);
      default:
        return fmt::format("its certificate is not trusted ({}); give its authority's certificate by --ca, or add it to the system's",
                           said);
    }
    if (error == asio::error::eof || error == ssl::error::stream_truncated) {
      return "the connection ended in the TLS handshake; a server without TLS has a URL with http://";
    }
    const int reason = ERR_GET_REASON(static_cast<unsigned long>(error.value()));
    if (error.category() == asio::error::get_ssl_category() && (reason == SSL_R_WRONG_VERSION_NUMBER || reason == SSL_R_HTTP_REQUEST)) {
      return "it does not speak TLS; write http:// in place of https://";
    }
    return fmt::format("no TLS connection: {}", error.message());
  }

  // Who reads the local socket finds the reason there after its end.
  void fail_by(const std::string& reason) {
    if (peer_.failure) peer_.failure->set(reason);
    close();
  }

  void read_secure() {
    secure_.async_read_some(asio::buffer(in_), [self = shared_from_this()](error_code error, size_t bytes) {
      if (error && error != asio::error::eof) return self->fail_by("the TLS connection was cut off");
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
        // A server may have answered what it does not read: its answer comes before the end of read_secure().
        if (failed && !self->peer_.failure) return self->close();
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
  TlsPeer peer_ = {};  // of a client
  Direction in_ = {};
  Direction out_ = {};
};

// The thread of all sessions, and what they share.
class TlsSessions {
 public:
  explicit TlsSessions(ssl::context::method method) : keys_(method) {
    keys_.set_options(ssl::context::default_workarounds | ssl::context::no_sslv2 | ssl::context::no_sslv3 | ssl::context::no_tlsv1 |
                      ssl::context::no_tlsv1_1);
  }
  ~TlsSessions() {
    const auto end = std::chrono::steady_clock::now() + kLastWrites;
    while (open_ > 0 && std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    context_.stop();
    if (thread_.joinable()) thread_.join();
  }
  TlsSessions(const TlsSessions&) = delete;
  TlsSessions& operator=(const TlsSessions&) = delete;

  [[nodiscard]] ssl::context& keys() noexcept { return keys_; }
  // Once the keys are complete.
  void run() {
    thread_ = std::thread([this] { context_.run(); });
  }

  // Begins a session of the connection, by TlsSession::start(arguments…); the local socket, or -1.
  template <class... Arguments>
  int begin(int connection, Arguments... arguments) {
    std::array<int, 2> pair = {};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()) != 0) {
      ::close(connection);
      return -1;
    }
    asio::post(context_, [this, connection, local = pair[0], ... arguments = std::move(arguments)]() mutable {
      Plain remote(context_, asio::generic::stream_protocol(AF_INET, SOCK_STREAM), connection);
      Plain plain(context_, asio::generic::stream_protocol(AF_UNIX, SOCK_STREAM), local);
      std::make_shared<TlsSession>(context_, keys_, std::move(remote), std::move(plain), open_)->start(std::move(arguments)...);
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

class OpenSslTls final : public Tls {
 public:
  OpenSslTls(const std::string& certificate, const std::string& key) {
    ssl::context& keys = sessions_.keys();
    // A key with a passphrase would ask for it on the terminal.
    error_code error;
    keys.set_password_callback([](size_t, ssl::context::password_purpose) { return std::string(); }, error);
    keys.use_certificate_chain_file(certificate, error);
    if (error) fail(ErrorCode::invalid_argument, "--tls-cert {}: cannot be used: {}; give a chain in PEM", certificate, error.message());
    keys.use_private_key_file(key, ssl::context::pem, error);
    if (error) {
      fail(ErrorCode::invalid_argument, "--tls-key {}: cannot be used: {}; give the certificate's private key in PEM, without a passphrase",
           key, error.message());
    }
    sessions_.run();
  }

  int accept(int connection) override {
    const int local = sessions_.begin(connection);
    if (local < 0) fail(ErrorCode::io, "TLS: no local socket: too many files are open");
    return local;
  }

 private:
  TlsSessions sessions_{ssl::context::tls_server};
};

class OpenSslTlsClient final : public TlsClient {
 public:
  explicit OpenSslTlsClient(const std::string& authorities) {
    ssl::context& keys = sessions_.keys();
    keys.set_verify_mode(ssl::verify_peer);
    error_code error;
    if (authorities.empty()) {
      keys.set_default_verify_paths(error);
      if (error) fail(ErrorCode::io, "the system's certificates cannot be read: {}; give others by --ca", error.message());
    } else {
      keys.load_verify_file(authorities, error);
      if (error) fail(ErrorCode::invalid_argument, "--ca {}: cannot be used: {}; give certificates in PEM", authorities, error.message());
      // An authority of the file need not be at the end of a chain.
      X509_STORE_set_flags(SSL_CTX_get_cert_store(keys.native_handle()), X509_V_FLAG_PARTIAL_CHAIN);
    }
    sessions_.run();
  }

  int connect(int connection, const std::string& host, std::chrono::steady_clock::time_point deadline,
              std::shared_ptr<TlsFailure> failure) override {
    return sessions_.begin(connection, TlsPeer{.host = host, .deadline = deadline, .failure = std::move(failure)});
  }

 private:
  TlsSessions sessions_{ssl::context::tls_client};
};

}  // namespace

std::unique_ptr<Tls> make_tls(const std::string& certificate, const std::string& key) {
  return std::make_unique<OpenSslTls>(certificate, key);
}

bool has_tls() noexcept { return true; }

std::shared_ptr<TlsClient> make_tls_client(const std::string& authorities) { return std::make_shared<OpenSslTlsClient>(authorities); }

}  // namespace wick::server
