// Which web pages may use a server, by what their browsers send: Fetch Standard, RFC 9110; DNS rebinding by Host.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "wick/base/error.h"
#include "wick/server/browser_access.h"
#include "wick/server/utc_time.h"

namespace wick::server {
namespace {

HttpRequest from(const std::string& host, const std::string& origin = "") {
  HttpRequest request{.method = "POST", .path = "/v1/completions", .peer = "127.0.0.1:4000"};
  if (!host.empty()) request.headers.add("Host", host);
  if (!origin.empty()) request.headers.add("Origin", origin);
  return request;
}

// "" where the request may go on, else the code of the refusal.
std::string refusal(const BrowserAccessOptions& options, const HttpRequest& request) {
  try {
    BrowserAccess(options).check(request);
    return "";
  } catch (const ApiError& error) {
    EXPECT_EQ(error.status(), 403);
    return error.code();
  }
}

TEST(BrowserAccess, ANameThatIsNotOursIsRefusedWithoutAKey) {
  for (const char* host : {"localhost", "localhost:8080", "LOCALHOST:80", "localhost.:80", "chat.localhost:1", "127.0.0.1",
                           "127.9.8.7:8080", "[::1]:8080", "[::1]", "[::ffff:127.0.0.1]:80", ""}) {
    EXPECT_EQ(refusal({}, from(host)), "") << host;
  }
  for (const char* host :
       {"attacker.example:8080", "localhost.attacker.example", "127.0.0.1.attacker.example", "10.0.0.7:8080", "0.0.0.0:8080",
        "[2001:db8::1]:8080", "[::1", "localhost:80:80", "localhost:x", ":8080", "127.0.0.1@attacker.example", "127.1", " "}) {
    EXPECT_EQ(refusal({}, from(host)), "HOST_NOT_ALLOWED") << host;
  }
}

TEST(BrowserAccess, AKeyOrAUnixSocketNeedsNoName) {
  EXPECT_EQ(refusal({.is_open = false}, from("attacker.example", "https://attacker.example")), "");
  HttpRequest request = from("attacker.example");
  request.peer = "unix";
  EXPECT_EQ(refusal({}, request), "");
}

TEST(BrowserAccess, FurtherNamesAreAllowedByTheirFlag) {
  const BrowserAccessOptions options{.hosts = {"Wick.example.org", "[2001:db8::1]", "10.0.0.7"}};
  for (const char* host :
       {"wick.example.org", "WICK.example.org:8080", "wick.example.org.", "[2001:db8::1]:80", "10.0.0.7:1", "localhost"}) {
    EXPECT_EQ(refusal(options, from(host)), "") << host;
  }
  EXPECT_EQ(refusal(options, from("sub.wick.example.org")), "HOST_NOT_ALLOWED");
  EXPECT_EQ(refusal({.hosts = {"*"}}, from("anything.example")), "");
  // An address cannot be rebound: where the server listens for other machines, each of its addresses will do.
  EXPECT_EQ(refusal({.is_local = false}, from("10.0.0.7:8080")), "");
  EXPECT_EQ(refusal({.is_local = false}, from("attacker.example:8080")), "HOST_NOT_ALLOWED");
}

TEST(BrowserAccess, APageOfAnotherOriginIsRefusedWithoutAKey) {
  EXPECT_EQ(refusal({}, from("127.0.0.1:8080", "http://127.0.0.1:8080")), "");  // the server's own page
  for (const char* origin : {"https://attacker.example", "http://127.0.0.1:9999", "http://localhost:8080", "null", "file://", "http://"}) {
    EXPECT_EQ(refusal({}, from("127.0.0.1:8080", origin)), "ORIGIN_NOT_ALLOWED") << origin;
  }
  const BrowserAccessOptions two{.origins = {"https://chat.example.org", "http://localhost:3000"}};
  EXPECT_EQ(refusal(two, from("127.0.0.1:8080", "https://chat.example.org")), "");
  EXPECT_EQ(refusal(two, from("127.0.0.1:8080", "http://localhost:3000")), "");
  EXPECT_EQ(refusal(two, from("127.0.0.1:8080", "https://chat.example.org.attacker.example")), "ORIGIN_NOT_ALLOWED");
  EXPECT_EQ(refusal(two, from("127.0.0.1:8080", "http://chat.example.org")), "ORIGIN_NOT_ALLOWED");
  EXPECT_EQ(refusal({.origins = {"*"}}, from("127.0.0.1:8080", "null")), "");
  EXPECT_EQ(refusal({.origins = {"*"}}, from("attacker.example", "null")), "HOST_NOT_ALLOWED");
}

std::string field(const HeaderFields& fields, std::string_view name) { return std::string(fields.find(name).value_or("")); }

TEST(BrowserAccess, OnlyAnAllowedPageIsToldThatItMayRead) {
  const BrowserAccess two({.origins = {"https://a.example", "https://b.example"}});
  for (const char* origin : {"https://a.example", "https://b.example"}) {
    HeaderFields fields;
    two.add_fields(from("localhost", origin), fields);
    EXPECT_EQ(field(fields, "Access-Control-Allow-Origin"), origin);
    EXPECT_EQ(field(fields, "Vary"), "Origin");
  }
  for (const char* origin : {"https://c.example", ""}) {
    HeaderFields fields;
    two.add_fields(from("localhost", origin), fields);
    EXPECT_EQ(field(fields, "Access-Control-Allow-Origin"), "");
    EXPECT_EQ(field(fields, "Vary"), "Origin");  // a cache must not keep this answer for the others
  }
  HeaderFields fields;
  BrowserAccess({.origins = {"*"}}).add_fields(from("localhost", "https://c.example"), fields);
  EXPECT_EQ(field(fields, "Access-Control-Allow-Origin"), "*");
  HeaderFields none;
  BrowserAccess({}).add_fields(from("localhost", "https://c.example"), none);
  EXPECT_TRUE(none.all().empty());
}

TEST(BrowserAccess, APreflightAllowsTheFieldsThatClientsSend) {
  const BrowserAccess access({.origins = {"https://a.example"}});
  HttpRequest request = from("localhost", "https://a.example");
  request.method = "OPTIONS";
  request.headers.add("Access-Control-Request-Headers", "anthropic-dangerous-direct-browser-access,x-stainless-os,x-api-key");
  HeaderFields fields;
  access.add_preflight_fields(request, "POST", fields);
  EXPECT_EQ(field(fields, "Access-Control-Allow-Methods"), "POST");
  EXPECT_EQ(field(fields, "Access-Control-Allow-Headers"), "anthropic-dangerous-direct-browser-access,x-stainless-os,x-api-key");
  request.headers.set("Access-Control-Request-Headers",
                      "a\x01"
                      "b");
  HeaderFields usual;
  access.add_preflight_fields(request, "POST", usual);
  EXPECT_NE(field(usual, "Access-Control-Allow-Headers").find("x-api-key"), std::string::npos);
  HeaderFields none;
  access.add_preflight_fields(from("localhost", "https://other.example"), "POST", none);
  EXPECT_TRUE(none.all().empty());
}

TEST(BrowserAccess, ValuesThatCanMatchNothingAreRefused) {
  const auto message = [](const BrowserAccessOptions& options) -> std::string {
    try {
      BrowserAccess access(options);
      return "";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
      return error.what();
    }
  };
  for (const char* origin : {"https://a.example", "http://localhost:3000", "http://[::1]:3000", "null", "*", "vscode-webview://abc"}) {
    EXPECT_EQ(message({.origins = {origin}}), "") << origin;
  }
  const std::vector<std::pair<std::string, std::string>> wrong = {{"a.example", "SCHEME://HOST"},
                                                                  {"https://a.example/", "'https://a.example'"},
                                                                  {"https://A.example", "'https://a.example'"},
                                                                  {"https://a.example:443", "'https://a.example'"},
                                                                  {"http://a.example:80/x", "'http://a.example'"},
                                                                  {"https://*.a.example", "* alone"},
                                                                  {"https://", "SCHEME://HOST"},
                                                                  {"", "SCHEME://HOST"},
                                                                  {"https://u@a.example", "SCHEME://HOST"},
                                                                  {"https://a.example,https://b.example", "SCHEME://HOST"},
                                                                  {"https://a.example:x", "SCHEME://HOST"}};
  for (const auto& [origin, hint] : wrong) {
    EXPECT_NE(message({.origins = {origin}}).find("--cors-origin '" + origin + "'"), std::string::npos) << origin;
    EXPECT_NE(message({.origins = {origin}}).find(hint), std::string::npos) << origin << ": " << message({.origins = {origin}});
  }
  for (const char* host : {"http://a.example", "a.example:80", "a b", "", "*.example", "a,b"}) {
    EXPECT_NE(message({.hosts = {host}}).find("--allowed-host '"), std::string::npos) << host;
  }
  for (const char* host : {"a.example", "10.0.0.7", "::1", "[::1]", "*"}) EXPECT_EQ(message({.hosts = {host}}), "") << host;
}

TEST(UtcTime, IsADateOfHttp) {
  // RFC 9110, 5.6.7.
  EXPECT_EQ(http_date(std::chrono::system_clock::from_time_t(784111777)), "Sun, 06 Nov 1994 08:49:37 GMT");
}

}  // namespace
}  // namespace wick::server
