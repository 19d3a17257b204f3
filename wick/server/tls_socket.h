// Encrypts the connection of an HTTP client with TLS.
#pragma once

#include <sys/socket.h>

#include <boost/asio/error.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/system/error_code.hpp>
#include <chrono>
#include <memory>
#include <string>

#include "wick/server/tls.h"

namespace wick::server {

// Puts TlsClient::connect's local socket in place of the connection to `host` that `socket`, one of generic::stream_protocol, has. What is
// written there waits for the handshake. Returns why that socket ends, once it does.
template <class Socket>
[[nodiscard]] std::shared_ptr<TlsFailure> encrypt_connection(Socket& socket, TlsClient& tls, const std::string& host,
                                                             std::chrono::steady_clock::time_point deadline,
                                                             boost::system::error_code& error) {
  auto failure = std::make_shared<TlsFailure>();
  const int connection = socket.release(error);
  if (error) return failure;
  const int local = tls.connect(connection, host, deadline, failure);
  if (local < 0) {
    error = boost::asio::error::no_descriptors;
  } else {
    socket.assign(boost::asio::generic::stream_protocol(AF_UNIX, SOCK_STREAM), local, error);
  }
  return failure;
}

}  // namespace wick::server
