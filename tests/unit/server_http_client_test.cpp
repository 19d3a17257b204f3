// The HTTP client against a server that sends what a test says, bytes and pauses.
#include "wick/server/http_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "unit/message_of.h"

namespace wick::server {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

// Takes one connection, reads a request with a body of `body_bytes`, sends the parts one after the other, and closes.
class ScriptedServer {
 public:
  struct Part {
    std::string bytes;
    std::chrono::milliseconds pause{0};  // before it
  };
  explicit ScriptedServer(std::vector<Part> parts, size_t body_bytes = 2)
      : listener_(::socket(AF_INET, SOCK_STREAM, 0)), body_bytes_(body_bytes) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    EXPECT_EQ(::bind(listener_, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(::listen(listener_, 1), 0);
    EXPECT_EQ(::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size), 0);
    url_ = {.host = "127.0.0.1", .port = std::to_string(ntohs(address.sin_port)), .path = "/base"};
    thread_ = std::jthread([this, sent = std::move(parts)] { serve(sent); });
  }
  ~ScriptedServer() {
    ::shutdown(listener_, SHUT_RDWR);
    if (thread_.joinable()) thread_.join();
    ::close(listener_);
  }
  ScriptedServer(const ScriptedServer&) = delete;
  ScriptedServer& operator=(const ScriptedServer&) = delete;

  [[nodiscard]] const HttpUrl& url() const { return url_; }
  // When all parts are sent.
  [[nodiscard]] const std::string& request() {
    if (thread_.joinable()) thread_.join();
    return request_;
  }

 private:
  void serve(const std::vector<Part>& parts) {
    const int client = ::accept(listener_, nullptr, nullptr);
    if (client < 0) return;
    std::vector<char> bytes(1 << 16);
    while (request_.find("\r\n\r\n") == std::string::npos || request_.size() - request_.find("\r\n\r\n") - 4 < body_bytes_) {
      const ssize_t count = ::recv(client, bytes.data(), bytes.size(), 0);
      if (count <= 0) break;
      request_.append(bytes.data(), static_cast<size_t>(count));
    }
    for (const Part& part : parts) {
      std::this_thread::sleep_for(part.pause);
      if (::send(client, part.bytes.data(), part.bytes.size(), MSG_NOSIGNAL) < 0) break;
    }
    ::close(client);
  }

  int listener_;
  size_t body_bytes_;
  HttpUrl url_;
  std::string request_;
  std::jthread thread_;
};

struct Answer {
  int status = 0;
  std::vector<std::string> pieces;

  [[nodiscard]] std::string body() const {
    std::string text;
    for (const std::string& piece : pieces) text += piece;
    return text;
  }
};

Answer answer_of(const ScriptedServer& server, const std::string& body = "{}", std::chrono::milliseconds limit = 20s) {
  Answer answer;
  answer.status = post_json_streamed(server.url(), "/v1/x", body, {.limit = limit, .api_key = "secret"},
                                     [&](std::string_view piece) { answer.pieces.emplace_back(piece); });
  return answer;
}

TEST(HttpClient, SendsARequestAndGivesThePiecesOfAnAnswerAsTheyCome) {
  ScriptedServer server(
      {{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"}, {"6\r\n world\r\n", 200ms}, {"0\r\n\r\n", 50ms}});
  const Answer answer = answer_of(server);
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.pieces, (std::vector<std::string>{"hello", " world"}));
  EXPECT_EQ(server.request(), "POST /base/v1/x HTTP/1.1\r\nHost: 127.0.0.1:" + server.url().port +
                                  "\r\nContent-Type: application/json\r\nConnection: close\r\nAuthorization: Bearer secret\r\n"
                                  "Content-Length: 2\r\n\r\n{}");
}

TEST(HttpClient, AnAnswerMayEndByItsLengthOrWithItsConnection) {
  std::string text;
  for (int i = 0; i < 100'000; ++i) text += std::to_string(i);
  const ScriptedServer by_length({{"HTTP/1.1 503 Busy\r\nContent-"},
                                  {"Length: " + std::to_string(text.size()) + "\r\n", 20ms},
                                  {"\r\n" + text.substr(0, 1), 20ms},
                                  {text.substr(1)}});
  const Answer busy = answer_of(by_length);
  EXPECT_EQ(busy.status, 503);
  EXPECT_EQ(busy.body(), text);
  const ScriptedServer by_end({{"HTTP/1.1 200 OK\r\n\r\n" + text.substr(0, 70'000)}, {text.substr(70'000), 20ms}});
  EXPECT_EQ(answer_of(by_end).body(), text);
  const ScriptedServer without({{"HTTP/1.1 204 No Content\r\n\r\n"}});
  const Answer empty = answer_of(without);
  EXPECT_EQ(empty.status, 204);
  EXPECT_EQ(empty.body(), "");
}

TEST(HttpClient, SendsALongBody) {
  const std::string body(3'000'000, 'x');
  ScriptedServer server({{"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"}}, body.size());
  EXPECT_EQ(answer_of(server, body).body(), "ok");
  EXPECT_TRUE(server.request().ends_with("\r\n\r\n" + body));
}

TEST(HttpClient, SilenceAndTricklesEndWithTheTime) {
  const auto begin = std::chrono::steady_clock::now();
  const ScriptedServer silent({{"", 1s}});
  EXPECT_THAT(message_of([&] { (void)answer_of(silent, "{}", 200ms); }), HasSubstr("no answer in time"));
  const ScriptedServer slow({{"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\na"}, {"b", 150ms}, {"c", 150ms}, {"d", 150ms}, {"e", 1s}});
  EXPECT_THAT(message_of([&] { (void)answer_of(slow, "{}", 400ms); }), HasSubstr("no answer in time"));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 60s);
}

TEST(HttpClient, AnAnswerThatIsNoneIsAnErrorWithTheAddress) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "end of stream; a server with TLS has a URL with https://"},
      {"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello", "partial message"},
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "bad chunk"},
      {"no HTTP\r\n\r\n", "bad version"},
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;" + std::string(100'000, 'x'), "buffer overflow"},
  };
  for (const auto& [bytes, error] : cases) {
    const ScriptedServer server({{bytes}});
    EXPECT_EQ(message_of([&] { (void)answer_of(server); }), "http://127.0.0.1:" + server.url().port + ": " + error) << bytes;
  }
}

TEST(HttpClient, WhereNobodyListensThatIsTheError) {
  HttpUrl url{.host = "127.0.0.1", .port = "", .path = ""};
  {
    const ScriptedServer gone({});
    url.port = gone.url().port;
  }
  EXPECT_THAT(message_of([&] { (void)post_json(url, "/", "{}", {.limit = 20s}); }), HasSubstr("Connection refused"));
}

}  // namespace
}  // namespace wick::server
