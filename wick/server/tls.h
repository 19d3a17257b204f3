// Tls decrypts connections in front of the server: for each it keeps a local socket with the plain bytes, which the server reads and writes
// as any other. Programs are built with it by WICK_TLS.
#pragma once

#include <memory>
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

}  // namespace wick::server
