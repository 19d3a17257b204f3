// A RoutedRequest passes a client's request to a replica, and the response back; where the replica leaves it without one, to another.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "wick/server/http_exchange.h"
#include "wick/server/route/replica_set.h"
#include "wick/server/route/upstream_client.h"
#include "wick/server/route/upstream_message.h"

namespace wick::server {

enum class RoutedKind {
  prompt,   // the choice is that of ReplicaChooser
  look_up,  // a thing that one replica has, which one is not known: all are asked until one does not answer 404
};

struct RoutedOptions {
  ReplicaKey key = {};
  int64_t retries = 2;  // further replicas that a request is sent to
};

class RoutedRequest final : public std::enable_shared_from_this<RoutedRequest> {
 public:
  // The replicas and the client outlive it. `request.route` is set.
  RoutedRequest(ReplicaSet& replicas, UpstreamClient& client, const RoutedOptions& options, RoutedKind kind, HttpRequest request,
                Exchange exchange);

  // Sends it with this key.
  void start(RouteKey key);

 private:
  // The response of a replica as far as it has come.
  struct Response {
    int status = 0;
    HeaderFields headers = {};
    bool is_stream = false;
    StreamUnit unit = StreamUnit::bytes;
    std::string text = {};  // of a stream: what is not passed on yet
  };

  // Sends it to a replica that was not tried; where there is none, the client gets the error, or what the last replica said.
  void attempt();
  void send();
  void take_head(const UpstreamHead& head);
  void take_piece(std::string_view piece);
  void take_end(const std::string& error);
  void pass_on(size_t bytes);
  // Whether another replica may answer what this one did not.
  [[nodiscard]] bool is_worth_another() const;
  void end_with(const ApiError& error);
  void cancel();

  ReplicaSet& replicas_;
  UpstreamClient& client_;
  const RoutedOptions& options_;
  RoutedKind kind_;
  HttpRequest request_;
  std::shared_ptr<const std::string> body_;
  Exchange exchange_;
  RouteKey key_;
  std::vector<std::string> tried_;
  std::unique_ptr<ReplicaSet::Lease> lease_;
  std::optional<Response> response_;
  std::optional<Response> refusal_;  // of a replica that another one was tried after
  std::string failure_;              // why the last replica gave no response
  std::mutex mutex_;
  std::shared_ptr<UpstreamCall> call_;
  bool is_gone_ = false;
};

}  // namespace wick::server
