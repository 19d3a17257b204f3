// Tls decrypts connections in front of the server, and TlsClient those to other servers: for each it keeps a local socket with the plain
// bytes, which is read and written as any other. Programs are built with them by WICK_TLS.
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <string>

namespace wick::server {

class Tls {
 public:
  Tls() = default;
  virtual ~Tls() = default;
  Tls(const Tls&) = delete;
  Tls& operator=(const Tls&) = delete;

  // Takes the descriptor of an accepted connection, and returns that of the local socket, which is the caller's. Errors: io.
  [[nodiscard]] virtual int accept(int connection) = 0;
};

// `certificate`: a chain in PEM, the server's own first; `key`: its private key in PEM. TLS 1.2 and 1.3.
// Errors: invalid_argument naming --tls-cert or --tls-key; unsupported in a program without TLS.
[[nodiscard]] std::unique_ptr<Tls> make_tls(const std::string& certificate, const std::string& key);

// Why a TlsClient's local socket ended, for who reads it. From any thread.
class TlsFailure {
 public:
  // Empty: the connection has not failed.
  [[nodiscard]] std::string text() const {
    const std::scoped_lock lock(mutex_);
    return text_;
  }
  // The first one counts.
  void set(const std::string& text) {
    const std::scoped_lock lock(mutex_);
    if (text_.empty()) text_ = text;
  }

 private:
  mutable std::mutex mutex_;
  std::string text_;
};

class TlsClient {
 public:
  TlsClient() = default;
  virtual ~TlsClient() = default;
  TlsClient(const TlsClient&) = delete;
  TlsClient& operator=(const TlsClient&) = delete;

  // Takes the descriptor of a connection to `host`, a name or an address, and returns that of the local socket, which is the caller's; -1:
  // too many files are open. Bytes pass once the server's certificate is found to be trusted and for `host`; without that by `deadline` the
  // socket ends. What has gone wrong is in `failure` before the socket's end can be read.
  [[nodiscard]] virtual int connect(int connection, const std::string& host, std::chrono::steady_clock::time_point deadline,
                                    std::shared_ptr<TlsFailure> failure) = 0;
};

[[nodiscard]] bool has_tls() noexcept;

// `authorities`: a file of certificates in PEM that are trusted in place of the system's; empty: the system's.
// Errors: invalid_argument naming --ca; unsupported in a program without TLS.
[[nodiscard]] std::shared_ptr<TlsClient> make_tls_client(const std::string& authorities);

}  // namespace wick::server
