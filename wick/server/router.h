// A Router finds the handler of a request by method and path, checks who asks, and turns what handlers throw into a response.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "wick/server/access.h"
#include "wick/server/api_error.h"
#include "wick/server/browser_access.h"
#include "wick/server/http_exchange.h"
#include "wick/server/http_message.h"

namespace wick::server {

// The handler for requests of one method and one path pattern.
struct Route {
  enum class Who { anyone, with_key };
  using Handler = std::function<void(HttpRequest& request, const Exchange& exchange)>;

  std::string method;
  std::vector<std::string> segments;
  const Dialect* dialect;
  Handler handler;
  Who who;
};

class Router {
 public:
  // `access` must outlive the router.
  Router(Access& access, BrowserAccess browsers) : access_(access), browsers_(std::move(browsers)) {}

  // A pattern is a path whose segments may be "{name}", which match any one segment; "{name…}" at its end matches all that is left.
  void add(std::string_view method, std::string_view pattern, const Dialect& dialect, Route::Handler handler,
           Route::Who who = Route::Who::with_key);
  // Adds the routes of another router, all with one handler.
  void add_routes_of(const Router& other, const Route::Handler& handler);

  // Finds a request's route and checks who asks, by its header alone. The response where no handler is to answer it: its body need not be
  // read then.
  [[nodiscard]] std::optional<HttpResponse> admit(HttpRequest& request) const;
  // Gives a request that was admitted to its handler.
  void handle(HttpRequest request, const Exchange& exchange) const;
  // Gives a request that another router with the same routes admitted to this one's handler.
  void forward(HttpRequest& request, const Exchange& exchange) const;
  // Answers such a request with an error, in the words of its API.
  void refuse(const ApiError& error, HttpRequest& request, const Exchange& exchange) const;

  // The answer to a request that could not be read, in the words of the API that its path belongs to.
  [[nodiscard]] HttpResponse refusal(const ApiError& error, HttpRequest& request) const;

 private:
  // The routes of a request's path: that of its method, or those of others.
  struct Found {
    const Route* route = nullptr;
    std::vector<const Route*> others = {};
    const Dialect* nearest = nullptr;  // the API of a path that there is not, where its beginning belongs to one API alone
    [[nodiscard]] const Dialect& dialect() const;
  };
  [[nodiscard]] Found find(HttpRequest& request) const;
  [[nodiscard]] const Dialect* nearest_dialect(const std::vector<std::string>& segments) const;
  [[nodiscard]] static bool matches(const Route& route, const std::vector<std::string>& segments, HttpRequest& request);
  // Calls the route's handler; what it throws becomes a response.
  static void call(const Route& route, HttpRequest& request, const Exchange& exchange);
  // Fields of each response: the request's id, and those that let pages of other sites read it.
  [[nodiscard]] HeaderFields common_fields(const HttpRequest& request) const;
  void add_common_fields(const HttpRequest& request, HttpResponse& response) const;
  // The response to a method that a path does not take, or to a path that there is not.
  [[nodiscard]] HttpResponse answer_without_handler(const HttpRequest& request, const Found& found) const;

  Access& access_;
  BrowserAccess browsers_;
  std::vector<Route> routes_;
};

}  // namespace wick::server
