#include "wick/server/browser_access.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <utility>

#include "wick/base/ascii.h"
#include "wick/base/fail.h"

namespace wick::server {
namespace {

constexpr std::string_view kAny = "*";

struct HostAndPort {
  std::string_view host;  // "127.0.0.1", "::1" without its brackets, "localhost"
  std::string_view port;  // "" where there is none
};

// The parts of "host:port"; nothing where it is neither.
std::optional<HostAndPort> split_host(std::string_view text) {
  HostAndPort parts;
  if (text.starts_with('[')) {
    const size_t end = text.find(']');
    if (end == std::string_view::npos) return std::nullopt;
    parts.host = text.substr(1, end - 1);
    text.remove_prefix(end + 1);
  } else {
    parts.host = text.substr(0, text.find(':'));
    text.remove_prefix(parts.host.size());
  }
  if (parts.host.empty()) return std::nullopt;
  if (text.empty()) return parts;
  parts.port = text.substr(1);
  const bool is_port = text.front() == ':' && !parts.port.empty() && parts.port.find_first_not_of("0123456789") == std::string_view::npos;
  return is_port ? std::optional(parts) : std::nullopt;
}

enum class Address { none, loopback, other };

// What kind of IP address a host is, if it is one.
Address address_of(std::string_view host) {
  std::array<unsigned char, 16> bytes{};
  const std::string text(host);
  if (inet_pton(AF_INET, text.c_str(), bytes.data()) == 1) return bytes[0] == 127 ? Address::loopback : Address::other;
  if (inet_pton(AF_INET6, text.c_str(), bytes.data()) != 1) return Address::none;
  constexpr std::array<unsigned char, 16> kLoopback = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
  constexpr std::array<unsigned char, 13> kMapped127 = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127};  // ::ffff:127.0.0.0/104
  const bool is_mapped = std::equal(kMapped127.begin(), kMapped127.end(), bytes.begin());
  return bytes == kLoopback || is_mapped ? Address::loopback : Address::other;
}

// "localhost." with the dot of the root is the same name.
std::string normalized(std::string_view host) {
  std::string name = ascii_lowercase(host);
  if (name.size() > 1 && name.back() == '.') name.pop_back();
  return name;
}

constexpr std::string_view default_port(std::string_view scheme) {
  if (scheme == "http") return "80";
  return scheme == "https" ? "443" : "";
}

// A list of names of header fields (RFC 9110, 5.1), which may be repeated in a response.
bool is_field_list(std::string_view text) {
  constexpr std::string_view kAllowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!#$%&'*+-.^_`|~, ";
  return !text.empty() && text.find_first_not_of(kAllowed) == std::string_view::npos;
}

}  // namespace

bool is_loopback(std::string_view host) {
  return host == "localhost" || host.ends_with(".localhost") || address_of(host) == Address::loopback;
}

void check_origin(std::string_view flag, const std::string& origin) {
  if (origin == kAny || origin == "null") return;
  const auto refuse = [&](std::string_view why, std::string_view instead) {
    fail(ErrorCode::invalid_argument, "{} '{}': {}; write {}", flag, origin, why, instead);
  };
  constexpr std::string_view kExample = "SCHEME://HOST[:PORT], such as https://chat.example.org, or * for any";
  const size_t mark = origin.find("://");
  if (mark == std::string::npos || mark == 0) refuse("an origin has a scheme", kExample);
  const std::string scheme = origin.substr(0, mark);
  const std::string rest = origin.substr(mark + 3);
  if (rest.find('*') != std::string::npos) refuse("a part of an origin cannot be *", "each origin, or * alone for any");
  const size_t end = rest.find_first_of("/?#");
  const std::string authority = rest.substr(0, end);
  if (authority.find('@') != std::string::npos) refuse("an origin has no user", kExample);
  const std::optional<HostAndPort> parts = split_host(authority);
  if (!parts || authority.find_first_of(" \t,;") != std::string::npos) refuse("this is no origin", kExample);
  const bool has_default = !parts->port.empty() && parts->port == default_port(ascii_lowercase(scheme));
  std::string browser = ascii_lowercase(scheme + "://" + authority);
  if (has_default) browser.resize(browser.size() - parts->port.size() - 1);
  if (browser != origin) {
    const std::string_view why = end != std::string::npos ? "browsers send an origin without a path"
                                 : has_default            ? "browsers send an origin without its scheme's own port"
                                                          : "browsers send an origin in lower case";
    refuse(why, "'" + browser + "'");
  }
}

void check_host(std::string_view flag, const std::string& host) {
  if (host == kAny) return;
  const std::optional<HostAndPort> parts = address_of(host) != Address::none ? std::optional(HostAndPort{host, {}}) : split_host(host);
  if (host.find("://") != std::string::npos || host.find_first_of("/ \t,*@") != std::string::npos || !parts || !parts->port.empty()) {
    fail(ErrorCode::invalid_argument,
         "{} '{}': must be a name or an address without scheme and port, such as wick.example.org, or * for any", flag, host);
  }
}

BrowserAccess::BrowserAccess(BrowserAccessOptions options) : options_(std::move(options)) {
  for (const std::string& origin : options_.origins) check_origin("--cors-origin", origin);
  for (std::string& host : options_.hosts) {
    check_host("--allowed-host", host);
    if (host.starts_with('[')) host = host.substr(1, host.size() - 2);
    host = normalized(host);
  }
  any_origin_ = std::find(options_.origins.begin(), options_.origins.end(), kAny) != options_.origins.end();
}

bool BrowserAccess::allows_host(std::string_view field) const {
  const std::optional<HostAndPort> parts = split_host(field);
  if (!parts) return false;
  const std::string name = normalized(parts->host);
  for (const std::string& host : options_.hosts) {
    if (host == kAny || host == name) return true;
  }
  // An address cannot be rebound: who wrote it meant this machine.
  return is_loopback(name) || (!options_.is_local && address_of(name) == Address::other);
}

bool BrowserAccess::shares_with(std::string_view origin) const {
  return any_origin_ || std::find(options_.origins.begin(), options_.origins.end(), origin) != options_.origins.end();
}

void BrowserAccess::check(const HttpRequest& request) const {
  if (!options_.is_open || request.peer == "unix") return;
  // A browser always sends Host; only a program of HTTP/1.0 may leave it out.
  const std::optional<std::string_view> host = request.headers.find("Host");
  if (host && !allows_host(*host)) {
    throw ApiError(403, "HOST_NOT_ALLOWED",
                   fmt::format("Host '{}' is not a name of this server, which has no API key; use 127.0.0.1 or localhost, or start it with "
                               "--allowed-host NAME or an API key",
                               *host));
  }
  const std::optional<std::string_view> origin = request.headers.find("Origin");
  if (!origin || shares_with(*origin)) return;
  // The server's own page: the origin's host and port are those that the request is for.
  const size_t mark = origin->find("://");
  if (host && mark != std::string_view::npos && ascii_lowercase(origin->substr(mark + 3)) == ascii_lowercase(*host)) return;
  throw ApiError(403, "ORIGIN_NOT_ALLOWED",
                 fmt::format("pages of '{}' may not use this server; start it with --cors-origin {} to allow them", *origin, *origin));
}

void BrowserAccess::add_fields(const HttpRequest& request, HeaderFields& fields) const {
  if (options_.origins.empty()) return;
  if (!any_origin_) fields.add("Vary", "Origin");
  const std::optional<std::string_view> origin = request.headers.find("Origin");
  if (!any_origin_ && !(origin && shares_with(*origin))) return;
  fields.add("Access-Control-Allow-Origin", any_origin_ ? std::string(kAny) : std::string(*origin));
  fields.add("Access-Control-Expose-Headers", "X-Request-Id, Retry-After");
}

void BrowserAccess::add_preflight_fields(const HttpRequest& request, const std::string& methods, HeaderFields& fields) const {
  const std::optional<std::string_view> origin = request.headers.find("Origin");
  if (options_.origins.empty() || (!any_origin_ && !(origin && shares_with(*origin)))) return;
  fields.add("Access-Control-Allow-Methods", methods);
  // Clients send fields of their own (x-stainless-*, anthropic-*): a page that may use the server may send any.
  const std::optional<std::string_view> wanted = request.headers.find("Access-Control-Request-Headers");
  if (wanted && is_field_list(*wanted)) {
    fields.add("Access-Control-Allow-Headers", std::string(*wanted));
  } else {
    fields.add("Access-Control-Allow-Headers", "Authorization, Content-Type, X-Request-Id, x-api-key, anthropic-version");
  }
  if (request.headers.find("Access-Control-Request-Private-Network")) fields.add("Access-Control-Allow-Private-Network", "true");
  fields.add("Access-Control-Max-Age", "86400");
}

}  // namespace wick::server
