// An UpstreamClient sends requests to replicas, many at once, and tells what comes back as it comes. HTTP/1.1 over TCP, TLS or a Unix
// socket, a connection for each request: who closes it cancels the request.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "wick/server/http_message.h"
#include "wick/server/route/replica_list.h"
#include "wick/server/tls.h"

namespace wick::server {

inline constexpr std::string_view kUpstreamEnded = "the connection ended before the response";

struct UpstreamRequest {
  ReplicaAddress to = {};
  std::string head = {};                                          // the request line and the fields, with the empty line
  std::shared_ptr<const std::string> body = {};                   // none: empty
  std::chrono::milliseconds connect_limit{5'000};                 // until the connection is there, and until it has TLS
  std::optional<std::chrono::milliseconds> limit = std::nullopt;  // of all
};

struct UpstreamHead {
  int status = 0;
  HeaderFields headers = {};
  bool has_length = false;  // the body's end is known: what ends before it is an error
};

// Called one after another, on the client's threads, and not after a cancel() whose call has returned on the same thread.
struct UpstreamEvents {
  std::function<void(UpstreamHead head)> head = {};
  std::function<void(std::string_view piece)> piece = {};
  // Empty: the response is complete. Else what went wrong: "Connection refused".
  std::function<void(const std::string& error)> end = {};
};

class UpstreamCall {
 public:
  UpstreamCall() = default;
  virtual ~UpstreamCall() = default;
  UpstreamCall(const UpstreamCall&) = delete;
  UpstreamCall& operator=(const UpstreamCall&) = delete;

  virtual void start() = 0;
  // Closes the connection; nothing is told any more.
  virtual void cancel() = 0;
  // Closes the connection; it ends with this error.
  virtual void abort(std::string error) = 0;
};

struct UpstreamState;

class UpstreamClient {
 public:
  // `tls`: for replicas with https.
  UpstreamClient(int threads, std::shared_ptr<TlsClient> tls);
  ~UpstreamClient();
  UpstreamClient(const UpstreamClient&) = delete;
  UpstreamClient& operator=(const UpstreamClient&) = delete;

  // A request that is still to be started.
  [[nodiscard]] std::shared_ptr<UpstreamCall> make_call(UpstreamRequest request, UpstreamEvents events);
  // Cancels what is under way, and ends the threads. No call may be started any more.
  void stop();

 private:
  std::unique_ptr<UpstreamState> state_;
};

}  // namespace wick::server
