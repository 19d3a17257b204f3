// A Router finds the handler of a request by method and path, checks who asks, and turns what handlers throw into a response.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "wick/server/access.h"
#include "wick/server/api_error.h"
#include "wick/server/http_exchange.h"
#include "wick/server/http_message.h"

namespace wick::server {

class Router {
 public:
  using Handler = std::function<void(HttpRequest& request, const Exchange& exchange)>;
  enum class Who { anyone, with_key };

  // `access` must outlive the router. `cors_origin`: what browsers of other sites may be, "*" for all; empty: none.
  Router(Access& access, std::string cors_origin) : access_(access), cors_origin_(std::move(cors_origin)) {}

  // A pattern is a path whose segments may be "{name}", which match any one segment; "{name…}" at its end matches all that is left.
  void add(std::string_view method, std::string_view pattern, Dialect dialect, Handler handler, Who who = Who::with_key);

  void handle(HttpRequest request, const Exchange& exchange) const;

  // The answer to a request that could not be read, in the words of the API that its path belongs to.
  [[nodiscard]] HttpResponse refusal(const ApiError& error, HttpRequest& request) const;

 private:
  struct Route {
    std::string method;
    std::vector<std::string> segments;
    Dialect dialect;
    Handler handler;
    Who who;
  };
  [[nodiscard]] static bool matches(const Route& route, const std::vector<std::string>& segments, HttpRequest& request);
  // What each answer to the request has: its id, and what lets pages of other sites read it.
  [[nodiscard]] HeaderFields common_fields(const HttpRequest& request) const;
  void refuse(const HttpRequest& request, const std::vector<const Route*>& others, const Exchange& exchange) const;

  Access& access_;
  std::string cors_origin_;
  std::vector<Route> routes_;
};

}  // namespace wick::server
