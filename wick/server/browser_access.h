// BrowserAccess decides which web pages may use the server: their origins, and the host names by which they may reach it.
//
// A browser sends requests for any page to any address that it can reach, this machine's among them. Without an API key the only proof of
// who asks is what the browser itself adds: Host, which a page whose name was rebound to this address cannot change, and Origin, which
// names the page (Fetch Standard, 3.2.4; RFC 9110, 7.2).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "wick/server/api_error.h"
#include "wick/server/http_message.h"

namespace wick::server {

struct BrowserAccessOptions {
  std::vector<std::string> origins = {};  // "https://chat.example.org", "null", or "*" for all; empty: none but the server's own
  std::vector<std::string> hosts = {};    // further names of this server in Host, without a port; "*" for all
  bool is_open = true;                    // no API key: Host and Origin are checked
  bool is_local = true;                   // listens on a loopback address or a Unix socket: addresses of other machines are refused, too
};

// "https://Chat.example.org/" is not what a browser sends. Errors: invalid_argument naming the flag, the value and what to write.
void check_origin(std::string_view flag, const std::string& origin);
// A name or an address, without scheme and port. Errors: invalid_argument naming the flag, the value and what to write.
void check_host(std::string_view flag, const std::string& host);

// Whether a host, without a port, is this machine's alone: localhost and the names below it (RFC 6761, 6.3), 127.0.0.0/8, ::1.
[[nodiscard]] bool is_loopback(std::string_view host);

class BrowserAccess {
 public:
  // Errors: those of check_origin and check_host, for --cors-origin and --allowed-host.
  explicit BrowserAccess(BrowserAccessOptions options);

  // Errors: ApiError with status 403: HOST_NOT_ALLOWED, ORIGIN_NOT_ALLOWED.
  void check(const HttpRequest& request) const;
  // Adds the fields that let the requesting page read the response; none for pages that may not, and for programs.
  void add_fields(const HttpRequest& request, HeaderFields& fields) const;
  // Answers a preflight (OPTIONS with Access-Control-Request-Method): the methods and header fields that the browser may
  // send. `methods`: those of the path, "GET, POST".
  void add_preflight_fields(const HttpRequest& request, const std::string& methods, HeaderFields& fields) const;

 private:
  [[nodiscard]] bool allows_host(std::string_view host) const;
  // Whether pages of that origin may read responses.
  [[nodiscard]] bool shares_with(std::string_view origin) const;

  BrowserAccessOptions options_;
  bool any_origin_ = false;
};

}  // namespace wick::server
