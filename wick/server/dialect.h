// A Dialect is one API of the server: its routes, and the words in which it tells errors.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "wick/server/json.h"

namespace wick::server {

class ApiError;
class Jobs;
class Router;
class Worker;

// The parts that the handlers of an API work with; they must outlive the router that has the handlers.
struct ApiParts {
  Worker& worker;
  Jobs& jobs;
};

struct Dialect {
  std::string_view name;
  // The body of the response that is an error.
  Json (*error_json)(const ApiError& error);
  // How a stream that has begun ends after an error. `body`: the text of its error_json().
  std::string (*stream_end)(const ApiError& error, const std::string& body);
  void (*add_routes)(Router& router, const ApiParts& parts);

  // Each is defined in the file of its API.
  static const Dialect openai, responses, anthropic, ollama, llama, fleet;
  [[nodiscard]] static std::span<const Dialect* const> all() noexcept;
};

}  // namespace wick::server
