#include "wick/server/router.h"

#include <algorithm>
#include <utility>

#include "wick/base/ascii.h"
#include "wick/base/fail.h"
#include "wick/base/log.h"
#include "wick/server/request_id.h"

namespace wick::server {
namespace {

std::vector<std::string> segments_of(std::string_view path) {
  std::vector<std::string> segments;
  for (size_t begin = 1; begin <= path.size();) {
    const size_t end = std::min(path.find('/', begin), path.size());
    segments.emplace_back(path.substr(begin, end - begin));
    begin = end + 1;
  }
  // "/v1/models/" is "/v1/models".
  if (segments.size() > 1 && segments.back().empty()) segments.pop_back();
  return segments;
}

// A body that is packed would otherwise be refused as one that is not JSON.
void check_encoding(const HttpRequest& request) {
  const std::string_view coding = request.headers.find("Content-Encoding").value_or("identity");
  if (ascii_lowercase(coding) == "identity" || request.body.empty()) return;
  throw ApiError(415, "INVALID_REQUEST", fmt::format("Content-Encoding {}: not supported; send the body as it is", coding));
}

bool is_parameter(std::string_view segment) { return segment.size() > 2 && segment.front() == '{' && segment.back() == '}'; }

constexpr std::string_view kRest = "…}";

}  // namespace

void Router::add(std::string_view method, std::string_view pattern, const Dialect& dialect, Route::Handler handler, Route::Who who) {
  routes_.push_back({std::string(method), segments_of(pattern), &dialect, std::move(handler), who});
}

void Router::add_routes_of(const Router& other, const Route::Handler& handler) {
  for (const Route& route : other.routes_) routes_.push_back({route.method, route.segments, route.dialect, handler, route.who});
}

bool Router::matches(const Route& route, const std::vector<std::string>& segments, HttpRequest& request) {
  request.parameters.clear();
  for (size_t i = 0; i < route.segments.size(); ++i) {
    const std::string& pattern = route.segments[i];
    if (is_parameter(pattern) && pattern.ends_with(kRest)) {
      std::string rest;
      for (size_t j = i; j < segments.size(); ++j) rest += (j > i ? "/" : "") + segments[j];
      request.parameters.emplace_back(pattern.substr(1, pattern.size() - 1 - kRest.size()), std::move(rest));
      return i < segments.size();
    }
    if (i >= segments.size()) return false;
    if (is_parameter(pattern)) {
      if (segments[i].empty()) return false;
      request.parameters.emplace_back(pattern.substr(1, pattern.size() - 2), segments[i]);
    } else if (pattern != segments[i]) {
      return false;
    }
  }
  return segments.size() == route.segments.size();
}

HeaderFields Router::common_fields(const HttpRequest& request) const {
  HeaderFields fields = {{"X-Request-Id", request.request_id}};
  browsers_.add_fields(request, fields);
  return fields;
}

void Router::add_common_fields(const HttpRequest& request, HttpResponse& response) const {
  const HeaderFields common = common_fields(request);
  for (const auto& [name, value] : common.all()) response.headers.add(name, value);
}

const Dialect& Router::Found::dialect() const {
  if (route != nullptr) return *route->dialect;
  if (!others.empty()) return *others.front()->dialect;
  return nearest != nullptr ? *nearest : Dialect::openai;
}

// That of the routes which share the most segments with a path; none, if they are of several APIs or share nothing.
const Dialect* Router::nearest_dialect(const std::vector<std::string>& segments) const {
  const Dialect* nearest = nullptr;
  size_t most = 0;
  for (const Route& route : routes_) {
    const auto [end, ignored] = std::mismatch(segments.begin(), segments.end(), route.segments.begin(), route.segments.end());
    const auto common = static_cast<size_t>(end - segments.begin());
    if (common == 0 || common < most) continue;
    nearest = common > most || nearest == route.dialect ? route.dialect : nullptr;
    most = common;
  }
  return nearest;
}

Router::Found Router::find(HttpRequest& request) const {
  Found found;
  const std::vector<std::string> segments = segments_of(request.path);
  for (const Route& route : routes_) {
    if (!matches(route, segments, request)) continue;
    if (route.method == request.method || (request.method == "HEAD" && route.method == "GET")) {
      found.route = &route;
      return found;
    }
    found.others.push_back(&route);
  }
  if (found.others.empty()) found.nearest = nearest_dialect(segments);
  return found;
}

HttpResponse Router::refusal(const ApiError& error, HttpRequest& request) const {
  if (request.request_id.empty()) request.request_id = request_id_of(request);
  HttpResponse response = error.response(find(request).dialect());
  add_common_fields(request, response);
  return response;
}

std::optional<HttpResponse> Router::admit(HttpRequest& request) const {
  request.request_id = request_id_of(request);
  const Found found = find(request);
  HttpResponse response;
  try {
    browsers_.check(request);
    if (found.route != nullptr) {
      if (found.route->who == Route::Who::with_key) access_.check(request);
      request.route = found.route;
      return std::nullopt;
    }
    response = answer_without_handler(request, found);
  } catch (const ApiError& error) {
    response = error.response(found.dialect());
  }
  add_common_fields(request, response);
  return response;
}

void Router::handle(HttpRequest request, const Exchange& exchange) const {
  WICK_ASSERT(request.route != nullptr);
  const Route& route = *request.route;
  const HeaderFields common = common_fields(request);
  for (const auto& [name, value] : common.all()) exchange->add_header(name, value);
  call(route, request, exchange);
}

void Router::forward(HttpRequest& request, const Exchange& exchange) const {
  const Found found = find(request);
  WICK_ASSERT(found.route != nullptr);
  call(*found.route, request, exchange);
}

void Router::refuse(const ApiError& error, HttpRequest& request, const Exchange& exchange) const {
  exchange->respond(error.response(find(request).dialect()));
}

void Router::call(const Route& route, HttpRequest& request, const Exchange& exchange) {
  try {
    check_encoding(request);
    route.handler(request, exchange);
  } catch (const ApiError& error) {
    exchange->respond(error.response(*route.dialect));
  } catch (const Error& error) {
    exchange->respond(ApiError(error).response(*route.dialect));
  } catch (const std::exception& error) {
    log_warning("{} {}: {}", request.method, request.path, error.what());
    exchange->respond(ApiError(500, "INFERENCE_FAILED", fmt::format("internal error: {}", error.what())).response(*route.dialect));
  }
}

HttpResponse Router::answer_without_handler(const HttpRequest& request, const Found& found) const {
  if (found.others.empty()) {
    return ApiError(404, "NOT_FOUND", fmt::format("there is no {} {}", request.method, request.path)).response(found.dialect());
  }
  std::string allowed;
  for (const Route* route : found.others) {
    if (allowed.find(route->method) == std::string::npos) allowed += (allowed.empty() ? "" : ", ") + route->method;
  }
  if (request.method == "OPTIONS") {
    HttpResponse response{.status = 204, .headers = {{"Allow", allowed + ", OPTIONS"}}, .body = {}};
    browsers_.add_preflight_fields(request, allowed, response.headers);
    return response;
  }
  HttpResponse response = ApiError(405, "METHOD_NOT_ALLOWED", fmt::format("{} takes {}, not {}", request.path, allowed, request.method))
                              .response(found.dialect());
  response.headers.add("Allow", allowed);
  return response;
}

}  // namespace wick::server
