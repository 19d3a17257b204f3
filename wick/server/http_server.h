// An HttpServer accepts connections on one address and gives each request to a handler. Keep-alive, limits, and a graceful end are here;
// what a request means is the handler's. HTTP/1.1 (RFC 9112) and 1.0, over TCP, with TLS or without, or a Unix socket.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "wick/server/http_exchange.h"
#include "wick/server/http_message.h"

namespace wick::server {

struct HttpServerOptions {
  std::string host = "127.0.0.1";
  int port = 0;                                    // 0: one that is free
  std::string unix_socket = {};                    // a path: listen there instead; what is left there by a process that is gone is replaced
  std::string tls_certificate = {}, tls_key = {};  // files in PEM: connections are TLS
  int threads = 2;
  uint64_t body_bytes = 16U << 20U;             // more: 413
  uint32_t header_bytes = 16U << 10U;           // more: 431
  uint64_t unsent_bytes = 4U << 20U;            // of one response whose client does not read; more: the client counts as gone
  int connections = 4096;                       // more wait in the system's queue
  std::chrono::milliseconds idle{75'000};       // between two requests of a connection
  std::chrono::milliseconds receive{30'000};    // for a header, and for each receive_bytes of a body; more: 408
  uint64_t receive_bytes = 32U << 10U;          // of a body within `receive`: about 1 KiB/s; the rest of a body has that time, too
  std::chrono::milliseconds send{30'000};       // of one write; more: the client counts as gone
  std::chrono::milliseconds heartbeat{15'000};  // between two heartbeats of a stream
};

struct HttpServerState;

class HttpServer {
 public:
  // Called on the server's threads; must not block. What it throws becomes a response with status 500.
  using Handler = std::function<void(HttpRequest request, std::shared_ptr<HttpExchange> exchange)>;
  // Called when a request's header is there, before its body is read: the response where the body is not wanted. The connection ends with
  // it, unless there is no body. What it sets of the request the handler gets. Empty: all requests go on.
  using Admission = std::function<std::optional<HttpResponse>(HttpRequest& request)>;
  // The response to a request that cannot be read: status, a sentence, and the request as far as it is known, without its body.
  using Refusal = std::function<HttpResponse(int status, const std::string& message, const HttpRequest& request)>;

  // Listens at once. Errors: io naming the address where it is taken or not ours; invalid_argument for a host that is no address.
  HttpServer(HttpServerOptions options, Handler handler, Refusal refuse, Admission admit = {});
  // Aborts what is still under way.
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // The port, or 0 on a Unix socket; the address as a user writes it: "http://127.0.0.1:8080", "unix:/run/wick.sock".
  [[nodiscard]] int port() const noexcept;
  [[nodiscard]] const std::string& address() const noexcept;
  // Requests that have no response yet, and open connections.
  [[nodiscard]] int64_t active_requests() const noexcept;
  [[nodiscard]] int64_t open_connections() const noexcept;

  // Runs a function on a server thread.
  void post(std::function<void()> work);
  // Calls `stop` on a server thread at the first SIGTERM or SIGINT, and `abort` at the second.
  void on_signal(std::function<void()> stop, std::function<void()> abort);
  // Accepts no more, ends idle connections, and lets the others finish their request.
  void drain();
  // drain(), then waits until no request is under way or the time is over. Returns whether all have ended.
  bool wait_drained(std::chrono::milliseconds limit);

 private:
  std::shared_ptr<HttpServerState> state_;
};

}  // namespace wick::server
