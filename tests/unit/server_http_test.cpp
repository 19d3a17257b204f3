// The HTTP layer by itself: what goes over the socket, byte for byte, with handlers that answer as told.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <future>
#include <mutex>
#include <string>
#include <thread>

#include "wick/base/error.h"
#include "wick/server/event_stream.h"
#include "wick/server/http_server.h"

namespace wick::server {
namespace {

using namespace std::chrono_literals;

class Client {
 public:
  explicit Client(int port) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    timeval limit{.tv_sec = 20, .tv_usec = 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    EXPECT_EQ(::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  }
  ~Client() { close(); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  void send(std::string_view text) const { EXPECT_EQ(::send(socket_, text.data(), text.size(), MSG_NOSIGNAL), std::ssize(text)); }
  // Whether or not the other side still takes it.
  void drip(std::string_view text) const { (void)::send(socket_, text.data(), text.size(), MSG_NOSIGNAL); }
  // Sends no more, but reads.
  void end_sending() const { EXPECT_EQ(::shutdown(socket_, SHUT_WR), 0); }
  // Closes the connection with a TCP reset.
  void reset() {
    const linger at_once{.l_onoff = 1, .l_linger = 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    close();
  }
  void close() {
    if (socket_ >= 0) ::close(socket_);
    socket_ = -1;
  }
  // Until the text has come; everything so far.
  std::string read_until(std::string_view text) {
    while (received_.find(text) == std::string::npos && read_more()) continue;
    return received_;
  }
  std::string read_all() {
    while (read_more()) continue;
    return received_;
  }
  void forget() { received_.clear(); }

 private:
  bool read_more() {
    char bytes[4096];
    const ssize_t count = ::recv(socket_, bytes, sizeof bytes, 0);
    if (count <= 0) return false;
    received_.append(bytes, static_cast<size_t>(count));
    return true;
  }

  int socket_;
  std::string received_;
};

std::shared_ptr<HttpServer> start_server(HttpServer::Handler handler, HttpServerOptions options = {}, HttpServer::Admission admit = {}) {
  return std::make_shared<HttpServer>(
      std::move(options), std::move(handler),
      [](int status, const std::string& message, const HttpRequest& request) {
        return HttpResponse{.status = status, .headers = {{"X-Path", request.path}}, .body = message};
      },
      std::move(admit));
}

void echo(const HttpRequest& request, const Exchange& exchange) {
  exchange->respond({.status = 200, .headers = {{"X-Path", request.path}}, .body = request.method + " " + request.body});
}

TEST(HttpServer, AnswersRequestsOfOneConnectionOneAfterAnother) {
  const auto server = start_server(echo);
  Client client(server->port());
  client.send("POST /a%20b?x=1 HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhello");
  std::string text = client.read_until("POST hello");
  EXPECT_TRUE(text.starts_with("HTTP/1.1 200 OK\r\n")) << text;
  EXPECT_NE(text.find("X-Path: /a b\r\n"), std::string::npos) << text;
  EXPECT_NE(text.find("Content-Length: 10\r\n"), std::string::npos) << text;
  EXPECT_NE(text.find("Connection: keep-alive\r\n"), std::string::npos) << text;
  client.forget();
  client.send("GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
  text = client.read_all();
  EXPECT_NE(text.find("Connection: close\r\n"), std::string::npos) << text;
  EXPECT_TRUE(text.ends_with("\r\n\r\nGET ")) << text;
}

TEST(HttpServer, AnswersPipelinedRequestsInTheirOrder) {
  const auto server = start_server(echo);
  Client client(server->port());
  client.send(
      "POST /1 HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\n1POST /2 HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\n2"
      "GET /3 HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
  const std::string text = client.read_all();
  const size_t first = text.find("POST 1");
  const size_t second = text.find("POST 2");
  const size_t third = text.find("GET ");
  ASSERT_NE(third, std::string::npos) << text;
  EXPECT_LT(first, second);
  EXPECT_LT(second, third);
}

TEST(HttpServer, SendsNoBodyForHead) {
  const auto server = start_server(echo);
  Client client(server->port());
  client.send("HEAD / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
  const std::string text = client.read_all();
  EXPECT_NE(text.find("Content-Length: 5\r\n"), std::string::npos) << text;
  EXPECT_TRUE(text.ends_with("\r\n\r\n")) << text;
}

TEST(HttpServer, RefusesWhatIsNotHttp) {
  const auto server = start_server(echo);
  for (const std::string bad :
       {"nonsense\r\n\r\n", "GET / HTTP/1.1\r\nHost: h\r\nContent-Length: x\r\n\r\n", "GET x HTTP/1.1\r\nHost: h\r\n\r\n",
        "GET /%zz HTTP/1.1\r\nHost: h\r\n\r\n", "GET /a/../b HTTP/1.1\r\nHost: h\r\n\r\n", "GET /%00 HTTP/1.1\r\nHost: h\r\n\r\n",
        // A body with two lengths would be read as two requests by some.
        "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello"}) {
    Client client(server->port());
    client.send(bad);
    client.send("");
    const std::string text = client.read_until("\r\n\r\n");
    EXPECT_TRUE(text.starts_with("HTTP/1.1 400 ")) << bad << "\n" << text;
  }
}

// Somebody in front of this server could see two requests in each of them: the connection ends with the refusal.
TEST(HttpServer, EndsAConnectionWhereARequestsEndIsNotSure) {
  const auto server = start_server(echo);
  for (const std::string bad :
       {"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: xchunked\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked, identity\r\n\r\n",
        "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\nConnection: keep-alive\r\n\r\n", "GET / HTTP/1.1\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\nContent-Length: 0\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 0, 0\r\n\r\n",
        // Read as no body at all by one, and as chunks by others.
        "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked, chunked\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n , chunked\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked;q=1\r\n\r\n0\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: , chunked\r\n\r\n"}) {
    Client client(server->port());
    client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    EXPECT_TRUE(client.read_until("GET ").starts_with("HTTP/1.1 200 "));
    client.forget();
    client.send(bad + "GET /next HTTP/1.1\r\nHost: h\r\n\r\n");
    const std::string text = client.read_all();
    EXPECT_TRUE(text.starts_with("HTTP/1.1 400 ") || text.starts_with("HTTP/1.1 501 ")) << bad << "\n" << text;
    EXPECT_NE(text.find("Connection: close\r\n"), std::string::npos) << text;
    EXPECT_EQ(text.find("/next"), std::string::npos) << text;
  }
}

// RFC 9112, 2.2: some clients end a body by an empty line that is not part of it.
TEST(HttpServer, TakesEmptyLinesBeforeARequest) {
  const auto server = start_server(echo, {.idle = 500ms});
  Client client(server->port());
  client.send("\r\nPOST /1 HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nhi\r\n\r\nGET /2 HTTP/1.1\r\nHost: h\r\n\r\n\r");
  client.read_until("X-Path: /2");
  client.send("\nGET /3 HTTP/1.1\r\nHost: h\r\n\r\n");
  client.read_until("X-Path: /3");
  client.send("\r\n");  // no request: the connection is idle
  const std::string text = client.read_all();
  for (const char* answer : {"POST hi", "X-Path: /1", "X-Path: /2", "X-Path: /3"}) EXPECT_NE(text.find(answer), std::string::npos) << text;
  EXPECT_EQ(text.find("HTTP/1.1 4"), std::string::npos) << text;
}

TEST(HttpServer, RefusesLinesThatEndWithALineFeedAlone) {
  const auto server = start_server(echo);
  for (const std::string bad :
       {"GET / HTTP/1.1\nHost: h\n\n", "GET / HTTP/1.1\r\nHost: h\nX: y\r\n\r\n", "\nGET / HTTP/1.1\r\nHost: h\r\n\r\n"}) {
    Client client(server->port());
    client.send(bad + "GET /next HTTP/1.1\r\nHost: h\r\n\r\n");
    const std::string text = client.read_all();
    EXPECT_TRUE(text.starts_with("HTTP/1.1 400 ")) << bad << "\n" << text;
    EXPECT_NE(text.find("its lines must end with CR LF"), std::string::npos) << bad << "\n" << text;
    EXPECT_EQ(text.find("/next"), std::string::npos) << text;
  }
}

// RFC 9110, 6.5.1: who stands in front of this server looks at header fields, not at those of trailers.
TEST(HttpServer, TakesNoFieldOfATrailerForAHeaderField) {
  const auto server = start_server([](const HttpRequest& request, const Exchange& exchange) {
    exchange->respond({.status = 200, .headers = {}, .body = std::string(request.headers.find("Authorization").value_or("none"))});
  });
  Client client(server->port());
  client.send(
      "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n1\r\nx\r\n0\r\nAuthorization: Bearer "
      "key\r\n\r\n");
  const std::string text = client.read_all();
  EXPECT_TRUE(text.starts_with("HTTP/1.1 200 ")) << text;
  EXPECT_TRUE(text.ends_with("none")) << text;
}

// What is neither header nor body has a limit, too.
TEST(HttpServer, RefusesTrailersAndChunkExtensionsBeyondTheirLimit) {
  const auto server = start_server(echo);
  const std::string head = "POST /long HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (const std::string& bad :
       {"0\r\nX: " + std::string(100'000, 'x') + "\r\n\r\n", "0\r\nX: " + std::string(3'000'000, 'x'),
        "1;x=" + std::string(100'000, 'x') + "\r\nx\r\n0\r\n\r\n", "0\r\n" + std::string(100'000, 'x') + ": y\r\n\r\n"}) {
    Client client(server->port());
    client.drip(head + bad);
    const std::string text = client.read_all();
    EXPECT_TRUE(text.starts_with("HTTP/1.1 431 ")) << bad.substr(0, 20) << "\n" << text;
    EXPECT_NE(text.find("X-Path: /long"), std::string::npos) << text;
  }
  Client client(server->port());
  client.send(head + "1;a=b\r\nx\r\n0\r\nX: " + std::string(20'000, 'x') + "\r\n\r\n");
  EXPECT_NE(client.read_until("POST x").find("POST x"), std::string::npos);
}

TEST(HttpServer, RefusesBodiesAndHeadersBeyondTheirLimits) {
  const auto server = start_server(echo, {.body_bytes = 1000, .header_bytes = 2000});
  {
    Client client(server->port());
    client.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1001\r\n\r\n");
    EXPECT_TRUE(client.read_all().starts_with("HTTP/1.1 413 "));
  }
  {
    Client client(server->port());
    client.send("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n");
    for (int i = 0; i < 3; ++i) client.send("190\r\n" + std::string(400, 'x') + "\r\n");
    EXPECT_TRUE(client.read_all().starts_with("HTTP/1.1 413 "));
  }
  {
    Client client(server->port());
    client.send("GET / HTTP/1.1\r\nHost: h\r\nX: " + std::string(3000, 'x') + "\r\n\r\n");
    EXPECT_TRUE(client.read_all().starts_with("HTTP/1.1 431 "));
  }
  for (int i = 0; i < 20; ++i) {  // the answer reaches a client that is still sending
    Client client(server->port());
    client.send("GET /" + std::string(200'000, 'x') + " HTTP/1.1\r\nHost: h\r\n\r\n");
    EXPECT_TRUE(client.read_all().starts_with("HTTP/1.1 431 "));
  }
}

TEST(HttpServer, RefusesARequestThatDoesNotArriveInTime) {
  const auto server = start_server(echo, {.receive = 200ms});
  Client client(server->port());
  client.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhe");
  EXPECT_TRUE(client.read_all().starts_with("HTTP/1.1 408 "));
  // A byte now and then is not in time either.
  Client slow(server->port());
  std::jthread dripping([&](const std::stop_token& stop) {
    for (int i = 0; i < 100 && !stop.stop_requested(); ++i) {
      slow.drip("x");
      std::this_thread::sleep_for(10ms);
    }
  });
  EXPECT_TRUE(slow.read_all().starts_with("HTTP/1.1 408 "));
}

TEST(HttpServer, ABodyThatGoesOnArrivingHasTheTimeThatItNeeds) {
  const auto server = start_server(echo, {.receive = 300ms, .receive_bytes = 1000});
  Client client(server->port());
  client.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 10000\r\n\r\n");
  for (int i = 0; i < 10; ++i) {  // a second in all
    std::this_thread::sleep_for(100ms);
    client.send(std::string(1000, 'x'));
  }
  const std::string text = client.read_until("POST x");
  EXPECT_TRUE(text.starts_with("HTTP/1.1 200 ")) << text;
}

TEST(HttpServer, EachAnswerHasItsDate) {
  const auto server = start_server(echo);
  Client client(server->port());
  client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  const std::string text = client.read_until("GET ");
  EXPECT_NE(text.find("\r\nDate: "), std::string::npos) << text;
  EXPECT_NE(text.find(" GMT\r\n"), std::string::npos) << text;
}

TEST(HttpServer, AnOldClientGoesOnWhereItSaysSo) {
  const auto server = start_server(echo);
  Client client(server->port());
  client.send("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  EXPECT_NE(client.read_until("\r\n\r\nGET ").find("Connection: keep-alive\r\n"), std::string::npos);
  client.forget();
  client.send("POST / HTTP/1.0\r\nContent-Length: 2\r\n\r\nhi");
  const std::string text = client.read_all();
  EXPECT_NE(text.find("Connection: close\r\n"), std::string::npos) << text;
  EXPECT_TRUE(text.ends_with("POST hi")) << text;
}

TEST(HttpServer, EndsAConnectionThatIsIdle) {
  const auto server = start_server(echo, {.idle = 100ms});
  Client client(server->port());
  EXPECT_EQ(client.read_all(), "");
}

TEST(HttpServer, ContinuesWhereTheClientWaitsForThat) {
  const auto server = start_server(echo);
  Client client(server->port());
  client.send("POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 5\r\nConnection: close\r\n\r\n");
  EXPECT_TRUE(client.read_until("\r\n\r\n").starts_with("HTTP/1.1 100 "));
  client.send("hello");
  EXPECT_TRUE(client.read_all().ends_with("POST hello"));
}

std::optional<HttpResponse> only_key(HttpRequest& request) {
  request.client = "known";
  if (request.headers.find("Authorization") == "key") return std::nullopt;
  return HttpResponse{.status = 401, .headers = {{"X-Path", request.path}}, .body = "no key"};
}

TEST(HttpServer, AnswersBeforeABodyThatIsNotWanted) {
  const auto server = start_server(echo, {}, only_key);
  for (const std::string rest : {"Content-Length: 5000000\r\n\r\n", "Content-Length: 5000000\r\n\r\nhello",
                                 "Transfer-Encoding: chunked\r\n\r\n", "Expect: 100-continue\r\nContent-Length: 5\r\n\r\n"}) {
    Client client(server->port());
    client.send("POST /a HTTP/1.1\r\nHost: h\r\n" + rest);
    const std::string text = client.read_all();
    EXPECT_TRUE(text.starts_with("HTTP/1.1 401 ")) << rest << "\n" << text;
    EXPECT_NE(text.find("X-Path: /a\r\n"), std::string::npos) << text;
    EXPECT_NE(text.find("Connection: close\r\n"), std::string::npos) << text;
    EXPECT_TRUE(text.ends_with("\r\n\r\nno key")) << text;
  }
  // A client that sends all of it reads the answer, too.
  Client eager(server->port());
  eager.send("POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 2000000\r\n\r\n" + std::string(2'000'000, 'x'));
  EXPECT_TRUE(eager.read_all().ends_with("no key"));
}

TEST(HttpServer, GoesOnBehindARefusalOfARequestWithoutABody) {
  const auto server = start_server(
      [](const HttpRequest& request, const Exchange& exchange) {
        exchange->respond({.status = 200, .headers = {}, .body = request.client + " " + request.body});
      },
      {}, only_key);
  Client client(server->port());
  client.send("GET /a HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_NE(client.read_until("no key").find("Connection: keep-alive\r\n"), std::string::npos);
  client.forget();
  client.send("HEAD /a HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_TRUE(client.read_until("\r\n\r\n").ends_with("\r\n\r\n"));
  client.forget();
  client.send("POST /a HTTP/1.1\r\nHost: h\r\nAuthorization: key\r\nContent-Length: 2\r\n\r\nhi");
  EXPECT_TRUE(client.read_until("known hi").starts_with("HTTP/1.1 200 "));
}

TEST(HttpServer, StreamsPiecesAsChunks) {
  const auto server = start_server([](const HttpRequest&, const Exchange& exchange) {
    std::thread([exchange] {
      begin_events(*exchange);
      for (int i = 0; i < 3; ++i) {
        EXPECT_TRUE(exchange->write(event_text("piece " + std::to_string(i))));
        std::this_thread::sleep_for(5ms);
      }
      exchange->end();
    }).detach();
  });
  Client client(server->port());
  client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  const std::string text = client.read_until("0\r\n\r\n");
  EXPECT_NE(text.find("Content-Type: text/event-stream; charset=utf-8\r\n"), std::string::npos) << text;
  EXPECT_NE(text.find("Transfer-Encoding: chunked\r\n"), std::string::npos) << text;
  for (int i = 0; i < 3; ++i) EXPECT_NE(text.find("data: piece " + std::to_string(i) + "\n\n"), std::string::npos) << text;
}

TEST(HttpServer, StreamsToAnOldClientUntilTheConnectionEnds) {
  const auto server = start_server([](const HttpRequest&, const Exchange& exchange) {
    begin_events(*exchange);
    exchange->write("data: x\n\n");
    exchange->end();
  });
  Client client(server->port());
  client.send("GET / HTTP/1.0\r\n\r\n");
  const std::string text = client.read_all();
  EXPECT_TRUE(text.ends_with("\r\n\r\ndata: x\n\n")) << text;
  EXPECT_EQ(text.find("chunked"), std::string::npos) << text;
}

TEST(HttpServer, SendsHeartbeatsWhileNothingHappens) {
  const auto server = start_server([](const HttpRequest&, const Exchange& exchange) { begin_events(*exchange); }, {.heartbeat = 50ms});
  Client client(server->port());
  client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_NE(client.read_until(": keep-alive\n\n").find(": keep-alive\n\n"), std::string::npos);
}

TEST(HttpServer, WaitsForAnAnswerLongerThanForARequest) {
  const auto server = start_server(
      [](const HttpRequest&, const Exchange& exchange) {
        std::thread([exchange] {
          std::this_thread::sleep_for(300ms);
          exchange->respond({.status = 200, .headers = {}, .body = "late"});
        }).detach();
      },
      {.receive = 100ms});
  Client client(server->port());
  client.send("GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
  EXPECT_TRUE(client.read_all().ends_with("late"));
}

TEST(HttpServer, KeepsTheOrderOfPiecesThatAClientReadsLate) {
  constexpr size_t kPieces = 3000, kBytes = 1000;
  const auto server = start_server([](const HttpRequest&, const Exchange& exchange) {
    std::thread([exchange] {
      begin_events(*exchange);
      for (size_t i = 0; i < kPieces; ++i) exchange->write(std::string(kBytes - 1, static_cast<char>('a' + i % 26)) + "\n");
      exchange->end();
    }).detach();
  });
  Client client(server->port());
  client.send("GET / HTTP/1.0\r\n\r\n");
  client.read_until("a");
  std::this_thread::sleep_for(100ms);  // the system's buffers fill up
  std::string text = client.read_all();
  text.erase(0, text.find("\r\n\r\n") + 4);
  ASSERT_EQ(text.size(), kPieces * kBytes);
  for (size_t i = 0; i < kPieces; ++i) {
    const std::string wanted = std::string(kBytes - 1, static_cast<char>('a' + i % 26)) + "\n";
    ASSERT_EQ(std::string_view(text).substr(i * kBytes, kBytes), wanted) << "piece " << i;
  }
}

TEST(HttpServer, TellsThatTheClientHasGone) {
  std::promise<void> gone;
  Exchange kept;
  const auto server = start_server([&](const HttpRequest&, const Exchange& exchange) {
    begin_events(*exchange);
    exchange->on_gone([&] { gone.set_value(); });
    kept = exchange;
  });
  Client client(server->port());
  client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  client.read_until("\r\n\r\n");
  client.close();
  ASSERT_EQ(gone.get_future().wait_for(10s), std::future_status::ready);
  EXPECT_TRUE(kept->is_gone());
  EXPECT_FALSE(kept->write("more"));
}

// Answers after a while, from another thread.
void answer_later(const HttpRequest& request, const Exchange& exchange) {
  std::thread([path = request.path, exchange] {
    std::this_thread::sleep_for(100ms);
    if (path != "/stream") return exchange->respond({.status = 200, .headers = {}, .body = "late " + path});
    begin_events(*exchange);
    for (int i = 0; i < 3; ++i) {
      EXPECT_TRUE(exchange->write(event_text("piece " + std::to_string(i))));
      std::this_thread::sleep_for(20ms);
    }
    exchange->end();
  }).detach();
}

TEST(HttpServer, AnswersAClientThatSendsNoMore) {
  const auto server = start_server(answer_later);
  for (const std::string version : {"1.1", "1.0"}) {
    Client client(server->port());
    client.send("GET /a HTTP/" + version + "\r\nHost: h\r\n\r\n");
    client.end_sending();
    const std::string text = client.read_all();
    EXPECT_NE(text.find("HTTP/1.1 200 "), std::string::npos) << text;
    EXPECT_TRUE(text.ends_with("late /a")) << text;
  }
  Client client(server->port());
  client.send("GET /stream HTTP/1.1\r\nHost: h\r\n\r\n");
  client.end_sending();
  const std::string text = client.read_all();
  EXPECT_NE(text.find("data: piece 2\n\n"), std::string::npos) << text;
  EXPECT_TRUE(text.ends_with("0\r\n\r\n")) << text;
}

// The end of what the client sends may come before the answer, while it is written, or behind it.
TEST(HttpServer, EndsTheConnectionOfAClientThatSendsNoMoreAtOnce) {
  const auto server = start_server(echo);
  const auto begin = std::chrono::steady_clock::now();
  for (int round = 0; round < 200; ++round) {
    Client client(server->port());
    client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\nGET /2 HTTP/1.1\r\nHost: h\r\n\r\n");
    if (round % 4 == 0) std::this_thread::sleep_for(std::chrono::microseconds(50 * (round % 7)));
    client.end_sending();
    const std::string text = client.read_all();
    EXPECT_NE(text.find("X-Path: /2\r\n"), std::string::npos) << text;
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 15s);
}

TEST(HttpServer, AnswersAllThatWasPipelinedBeforeAClientSentNoMore) {
  const auto server = start_server(answer_later);
  Client client(server->port());
  client.send("GET /1 HTTP/1.1\r\nHost: h\r\n\r\nGET /2 HTTP/1.1\r\nHost: h\r\n\r\nGET /3 HTTP/1.1\r\nHo");
  client.end_sending();
  const std::string text = client.read_all();
  EXPECT_LT(text.find("late /1"), text.find("late /2")) << text;
  EXPECT_NE(text.find("late /2"), std::string::npos) << text;
  EXPECT_NE(text.find("HTTP/1.1 400 "), std::string::npos) << "the third one is not whole: " << text;
}

TEST(HttpServer, RefusesARequestWhoseClientSendsNoMoreInTheMiddle) {
  const auto server = start_server(echo);
  for (const std::string part : {"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhe", "POST / HTTP/1.1\r\nHos"}) {
    Client client(server->port());
    client.send(part);
    client.end_sending();
    EXPECT_TRUE(client.read_all().starts_with("HTTP/1.1 400 ")) << part;
  }
}

// Whatever the client ends its connection by, and whether its answer has begun or not.
TEST(HttpServer, TellsThatAClientHasGoneInEachWay) {
  for (const std::string path : {"/", "/stream"}) {
    for (const bool resets : {false, true}) {
      std::promise<void> taken, gone;
      Exchange kept;
      const auto server = start_server([&](const HttpRequest& request, const Exchange& exchange) {
        if (request.path == "/stream") begin_events(*exchange);
        exchange->on_gone([&] { gone.set_value(); });
        kept = exchange;
        taken.set_value();
      });
      Client client(server->port());
      client.send("POST " + path + " HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nhi");
      taken.get_future().wait();
      if (resets) {
        client.reset();
      } else {
        client.close();
      }
      EXPECT_EQ(gone.get_future().wait_for(10s), std::future_status::ready) << path << " " << resets;
    }
  }
}

TEST(HttpServer, GivesUpAClientThatDoesNotRead) {
  std::promise<void> gone;
  const auto server = start_server(
      [&](const HttpRequest&, const Exchange& exchange) {
        std::thread([&, exchange] {
          begin_events(*exchange);
          const std::string piece(100'000, 'x');
          while (exchange->write(piece)) std::this_thread::sleep_for(1ms);
          gone.set_value();
        }).detach();
      },
      {.unsent_bytes = 1'000'000});
  Client client(server->port());
  client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_EQ(gone.get_future().wait_for(20s), std::future_status::ready);
}

TEST(HttpServer, AnswersAnExceptionWithStatus500) {
  const auto server = start_server([](const HttpRequest&, const Exchange&) { throw std::runtime_error("broken"); });
  Client client(server->port());
  client.send("GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
  const std::string text = client.read_all();
  EXPECT_TRUE(text.starts_with("HTTP/1.1 500 ")) << text;
  EXPECT_TRUE(text.ends_with("broken")) << text;
}

TEST(HttpServer, KeepsLineBreaksOutOfHeaders) {
  const auto server = start_server([](const HttpRequest&, const Exchange& exchange) {
    exchange->respond({.status = 200, .headers = {{"X", "a\r\nSet-Cookie: b"}}, .body = ""});
  });
  Client client(server->port());
  client.send("GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
  const std::string text = client.read_all();
  EXPECT_EQ(text.find("\r\nSet-Cookie"), std::string::npos) << text;
}

TEST(HttpServer, DrainsWhatIsUnderWayAndEndsWhatIsIdle) {
  Exchange kept;
  std::promise<void> taken;
  const auto server = start_server([&](const HttpRequest&, const Exchange& exchange) {
    kept = exchange;
    taken.set_value();
  });
  Client idle(server->port());
  Client busy(server->port());
  busy.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  taken.get_future().wait();
  server->drain();
  EXPECT_EQ(idle.read_all(), "");
  EXPECT_FALSE(server->wait_drained(50ms));
  kept->respond({.status = 200, .headers = {}, .body = "done"});
  const std::string text = busy.read_all();
  EXPECT_NE(text.find("Connection: close\r\n"), std::string::npos) << text;
  EXPECT_TRUE(text.ends_with("done")) << text;
  EXPECT_TRUE(server->wait_drained(5s));
  kept.reset();  // before the server
}

TEST(HttpServer, RefusesAPortThatIsTaken) {
  const auto server = start_server(echo);
  try {
    (void)start_server(echo, {.port = server->port()});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::io);
    EXPECT_NE(std::string(error.what()).find("127.0.0.1:" + std::to_string(server->port())), std::string::npos) << error.what();
  }
}

TEST(HttpServer, RefusesAHostThatIsNoAddress) {
  try {
    (void)start_server(echo, {.host = "somewhere"});
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "--host somewhere: not an IP address; give one such as 127.0.0.1 or ::1");
  }
}

TEST(HttpServer, KeepsHundredsOfStreamsOpen) {
  std::mutex mutex;
  std::vector<Exchange> streams;
  const auto server = start_server([&](const HttpRequest&, const Exchange& exchange) {
    begin_events(*exchange);
    const std::scoped_lock lock(mutex);
    streams.push_back(exchange);
  });
  constexpr int kStreams = 400;  // descriptors of both sides are this process's
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < kStreams; ++i) {
    clients.push_back(std::make_unique<Client>(server->port()));
    clients.back()->send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  }
  for (const auto& client : clients) client->read_until("\r\n\r\n");
  {
    const std::scoped_lock lock(mutex);
    ASSERT_EQ(streams.size(), kStreams);
    for (const Exchange& stream : streams) {
      stream->write("data: end\n\n");
      stream->end();
    }
    streams.clear();
  }
  for (const auto& client : clients) EXPECT_NE(client->read_until("0\r\n\r\n").find("data: end"), std::string::npos);
}

}  // namespace
}  // namespace wick::server
