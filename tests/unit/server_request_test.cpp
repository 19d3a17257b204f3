// What requests hold: JSON, fields, paths, keys; and what answers them where they are wrong.
#include <gtest/gtest.h>

#include <atomic>
#include <boost/asio/buffer.hpp>
#include <chrono>
#include <fstream>
#include <future>
#include <thread>

#include "wick/base/remedy.h"
#include "wick/server/access.h"
#include "wick/server/feed_parser.h"
#include "wick/server/fields.h"
#include "wick/server/http_client.h"
#include "wick/server/http_message.h"
#include "wick/server/infill.h"
#include "wick/server/json.h"
#include "wick/server/long_requests.h"
#include "wick/server/request_head.h"
#include "wick/server/request_id.h"
#include "wick/server/router.h"

namespace wick::server {
namespace {

std::string refusal(std::string_view body) {
  try {
    (void)parse_body(body);
  } catch (const ApiError& error) {
    EXPECT_EQ(error.status(), 400);
    return error.what();
  }
  return "";
}

TEST(ApiError, RemediesBySettingsAreOfWhoStartedTheServer) {
  const RemediableError full(ErrorCode::context_full, "the prompt is too long",
                             {{"shorten it"}, {"raise {}, up to 64", Setting::context}, {"take {}", Setting::kv_dtype, "q8_0"}});
  EXPECT_STREQ(ApiError(full).what(),
               "the prompt is too long; shorten it, raise the server's --context, up to 64, or take the server's --kv-type q8_0");
  EXPECT_STREQ(ApiError(Error(ErrorCode::io, "a--b")).what(), "a--b");
}

TEST(ServerJson, KeepsTheOrderOfKeys) {
  EXPECT_EQ(to_text(parse_body(R"({"b": 1, "a": [true, null, "x"]})")), R"({"b":1,"a":[true,null,"x"]})");
}

TEST(ServerJson, RefusesWhatIsNoJson) {
  EXPECT_EQ(refusal("  "), "the body is empty; send a JSON object");
  EXPECT_EQ(refusal("{\"a\": }"), "the body: byte 7: not valid JSON");
  EXPECT_EQ(refusal("{\"a\": 1} x"), "the body: byte 10: not valid JSON");
  EXPECT_EQ(refusal("\"\xff\""), "the body is not valid UTF-8");
  EXPECT_EQ(refusal(R"({"a": 1, "a": 2})"), "the body: the key \"a\" is there twice");
  EXPECT_EQ(refusal("1e999"), "the body: byte 5: a number is beyond the range of double");
}

TEST(ServerJson, RefusesDeepNesting) {
  EXPECT_EQ(refusal(std::string(64, '[') + std::string(64, ']')), "");
  EXPECT_EQ(refusal(std::string(65, '[')), "the body: nested more than 64 deep");
  EXPECT_EQ(refusal(std::string(1'000'000, '[')), "the body: nested more than 64 deep");
}

TEST(ServerJson, ReadsManyKeysInLinearTime) {
  std::string body = "{";
  for (int i = 0; i < 200'000; ++i) body += (i > 0 ? ",\"" : "\"") + std::to_string(i) + "\":0";
  EXPECT_EQ(parse_body(body + "}").size(), 200'000U);
}

TEST(Fields, CollectsAllViolations) {
  const Json json = parse_body(R"({"temperature": 3, "max_tokens": "many", "stop": ["a", 1], "stream": 1, "seed": 5.5, "prompt": null})");
  Fields fields(json);
  fields.require("prompt");
  EXPECT_FALSE(fields.number("temperature", 0, 2));
  EXPECT_FALSE(fields.integer("max_tokens", 0));
  EXPECT_TRUE(fields.texts("stop", 4).empty());
  EXPECT_FALSE(fields.boolean("stream"));
  EXPECT_FALSE(fields.integer("seed", 0));
  try {
    fields.check();
    FAIL();
  } catch (const ApiError& error) {
    ASSERT_EQ(error.violations().size(), 6U);
    EXPECT_STREQ(
        error.what(),
        "prompt: is required; temperature: must be a number from 0 to 2, got 3; max_tokens: must be a whole number, 0 or more, got "
        "\"many\"; stop: must be a text or a list of at most 4 texts, got a list of 2; stream: must be true or false, got 1; seed: "
        "must be a whole number, 0 or more, got 5.5");
    EXPECT_EQ(error.violations()[1].field, "temperature");
    EXPECT_EQ(error.violations()[1].value, "3");
  }
}

TEST(Fields, TakesWholeNumbersThatAreWrittenAsDecimals) {
  const Json json = parse_body(R"({"a": 256.0, "b": 18446744073709551615, "c": -1})");
  Fields fields(json);
  EXPECT_EQ(fields.integer("a", 0), 256);
  EXPECT_FALSE(fields.integer("b", 0));
  EXPECT_EQ(fields.integer("c", -1), -1);
  EXPECT_EQ(fields.violations().size(), 1U);
}

TEST(Fields, RefusesABodyThatIsNoObject) {
  const Json json = parse_body("[1]");
  Fields fields(json);
  fields.require("prompt");
  EXPECT_THROW(fields.check(), ApiError);
}

TEST(ApiError, SpeaksEachDialect) {
  const ApiError error(429, "QUEUE_FULL", "busy");
  EXPECT_EQ(error.body(Dialect::openai), R"({"error":{"message":"busy","type":"rate_limit_error","param":null,"code":"QUEUE_FULL"}})");
  EXPECT_EQ(error.body(Dialect::anthropic), R"({"type":"error","error":{"type":"rate_limit_error","message":"busy"}})");
  EXPECT_EQ(error.body(Dialect::ollama), R"({"error":"busy"})");
  EXPECT_EQ(error.body(Dialect::llama), R"({"error":{"code":429,"message":"busy","type":"invalid_request_error"}})");
  EXPECT_EQ(error.body(Dialect::fleet), R"({"error":{"code":"QUEUE_FULL","message":"busy","retriable":false}})");
}

TEST(ApiError, ListsViolationsForTheFleet) {
  const ApiError error(std::vector<Violation>{{"temperature", "must be from 0 to 2", "3"}});
  EXPECT_EQ(
      error.body(Dialect::fleet),
      R"({"error":{"code":"INVALID_REQUEST","message":"temperature: must be from 0 to 2, got 3","retriable":false},)"
      R"("errors":[{"field":"temperature","constraint":"must be from 0 to 2","message":"temperature must be from 0 to 2","value":"3"}]})");
}

TEST(ApiError, NamesTheContextAsOpenAiAndLlamaServerDo) {
  const ApiError error{Error(ErrorCode::context_full, "too long")};
  EXPECT_EQ(error.status(), 400);
  EXPECT_EQ(error.body(Dialect::openai),
            R"({"error":{"message":"too long","type":"exceed_context_size_error","param":null,"code":"context_length_exceeded"}})");
  ApiError longer(400, kContextLengthExceeded, "too long");
  longer.exceeding(700, 512);
  EXPECT_EQ(longer.body(Dialect::openai),
            R"({"error":{"message":"too long","type":"exceed_context_size_error","param":null,"code":"context_length_exceeded",)"
            R"("n_prompt_tokens":700,"n_ctx":512}})");
}

// RFC 9112, 3.2.2: a server must accept the absolute form of a target, which clients send to proxies.
TEST(HttpMessage, TakesTargetsWithAnAuthority) {
  for (const auto& [target, path] :
       {std::pair{"http://h:80/a/b?x=1", "/a/b"}, std::pair{"HTTPS://[::1]/", "/"}, std::pair{"http://h", "/"}}) {
    HttpRequest request;
    ASSERT_TRUE(parse_target(target, request)) << target;
    EXPECT_EQ(request.path, path);
  }
  HttpRequest request;
  ASSERT_TRUE(parse_target("http://h/a?x=1", request));
  EXPECT_EQ(request.query_value("x"), "1");
}

TEST(HttpMessage, DecodesTargets) {
  HttpRequest request;
  ASSERT_TRUE(parse_target("/a%2Fb/%C3%A9?x=1+2&y&z=%26", request));
  EXPECT_EQ(request.path, "/a/b/é");
  EXPECT_EQ(request.query_value("x"), "1 2");
  EXPECT_EQ(request.query_value("y"), "");
  EXPECT_EQ(request.query_value("z"), "&");
  for (const char* bad : {"", "a", "*", "/%", "/%0", "/%gg", "/%00", "/../x", "/a/..", "/a/%2e%2e/b", "h:80", "ftp://h/", "http://",
                          "http:///a", "http://h/../a"}) {
    EXPECT_FALSE(parse_target(bad, request)) << bad;
  }
}

TEST(HttpMessage, ABodyIsParsedOnce) {
  HttpRequest request{.body = R"({"a": 1})"};
  const Json* const first = &request.json();
  EXPECT_EQ(first->at("a"), 1);
  EXPECT_EQ(&request.json(), first);
  const HttpRequest moved = std::move(request);
  EXPECT_EQ(&moved.json(), first);
  EXPECT_THROW((void)HttpRequest{.body = "{"}.json(), ApiError);
}

TEST(HttpMessage, FindsFieldsWhateverTheirCase) {
  HeaderFields fields{{"Content-Type", "a"}, {"X", "b"}};
  EXPECT_EQ(fields.find("content-type"), "a");
  fields.set("CONTENT-TYPE", "c");
  EXPECT_EQ(fields.find("Content-Type"), "c");
  EXPECT_EQ(fields.all().size(), 2U);
  EXPECT_FALSE(fields.find("Y"));
}

HttpRequest with_header(const std::string& name, const std::string& value) {
  HttpRequest request{.method = "GET", .target = "/", .path = "/"};
  request.peer = "1.2.3.4:5";
  if (!name.empty()) request.headers.add(name, value);
  return request;
}

std::string access_code(Access& access, HttpRequest request) {
  try {
    access.check(request);
  } catch (const ApiError& error) {
    return error.code();
  }
  return request.client;
}

TEST(Access, WantsOneOfTheKeys) {
  Access access({.keys = {"alpha", "beta"}});
  EXPECT_EQ(access_code(access, with_header("", "")), "MISSING_API_KEY");
  EXPECT_EQ(access_code(access, with_header("Authorization", "Basic beta")), "MISSING_API_KEY");
  EXPECT_EQ(access_code(access, with_header("Authorization", "Bearer ")), "MISSING_API_KEY");
  EXPECT_EQ(access_code(access, with_header("Authorization", "Bearer bet")), "INVALID_API_KEY");
  EXPECT_EQ(access_code(access, with_header("Authorization", "Bearer betaa")), "INVALID_API_KEY");
  EXPECT_EQ(access_code(access, with_header("Authorization", "Bearer beta")), "key 2");
  EXPECT_EQ(access_code(access, with_header("Authorization", "BEARER beta")), "key 2");
  EXPECT_EQ(access_code(access, with_header("authorization", "bearer alpha")), "key 1");
  EXPECT_EQ(access_code(access, with_header("x-api-key", "beta")), "key 2");
}

TEST(Access, LimitsEachClientByItself) {
  Access access({.keys = {"alpha", "beta"}, .requests_per_minute = 2});
  const HttpRequest alpha = with_header("Authorization", "Bearer alpha");
  EXPECT_EQ(access_code(access, alpha), "key 1");
  EXPECT_EQ(access_code(access, alpha), "key 1");
  EXPECT_EQ(access_code(access, alpha), "RATE_LIMITED");
  EXPECT_EQ(access_code(access, with_header("Authorization", "Bearer beta")), "key 2");
}

TEST(Access, ComparesWholeTexts) {
  EXPECT_TRUE(equals_in_constant_time("", ""));
  EXPECT_FALSE(equals_in_constant_time("", "a"));
  EXPECT_FALSE(equals_in_constant_time("a", ""));
  EXPECT_FALSE(equals_in_constant_time("aa", "a"));
  EXPECT_FALSE(equals_in_constant_time("ab", "abab"));
  EXPECT_TRUE(equals_in_constant_time("abc", "abc"));
}

TEST(RequestId, KeepsTheClientsWhereItIsPlain) {
  EXPECT_EQ(request_id_of(with_header("X-Request-Id", "abc-1")), "abc-1");
  EXPECT_NE(request_id_of(with_header("X-Request-Id", "a b")), "a b");
  EXPECT_NE(request_id_of(with_header("X-Request-Id", std::string(1000, 'a'))).size(), 1000U);
  const std::string id = random_uuid();
  EXPECT_EQ(id.size(), 36U);
  EXPECT_EQ(id[14], '4');
  EXPECT_NE(std::string("89ab").find(id[19]), std::string::npos) << id;
  EXPECT_NE(random_uuid(), id);
}

TEST(HttpClient, ReadsUrlsOfHttpsInProgramsWithTls) {
  if (has_tls()) {
    EXPECT_EQ(parse_http_url("f", "https://h/").origin(), "https://h:443");
    EXPECT_TRUE(parse_http_url("f", "https://[::1]:8443").is_secure);
  } else {
    EXPECT_THROW((void)parse_http_url("f", "https://h/"), Error);
    EXPECT_THROW((void)make_tls_client(""), Error);
  }
}

TEST(HttpClient, ReadsUrls) {
  const HttpUrl url = parse_http_url("--queen-url", "http://queen:8500/base/");
  EXPECT_EQ(url.host, "queen");
  EXPECT_EQ(url.port, "8500");
  EXPECT_EQ(url.path, "/base");
  EXPECT_EQ(parse_http_url("f", "http://[::1]:80").host, "::1");
  EXPECT_EQ(parse_http_url("f", "http://h").port, "80");
  for (const char* bad :
       {"ftp://h", "h:80", "http://", "http://h:x", "http://h:1234567", "http://h\r\n:80", "http://h/\t", "http://h\x7F"}) {
    EXPECT_THROW((void)parse_http_url("--queen-url", bad), Error) << bad;
  }
}

// Collects what a handler answers.
class Recorder : public HttpExchange {
 public:
  void add_header(std::string name, std::string value) override { headers.add(std::move(name), std::move(value)); }
  void respond(HttpResponse given) override { response = std::move(given); }
  void begin(int status, HeaderFields, std::string) override { response.status = status; }
  bool write(std::string piece) override {
    response.body += piece;
    return true;
  }
  void end() override {}
  [[nodiscard]] bool is_gone() const override { return false; }
  void on_gone(std::function<void()>) override {}

  HeaderFields headers;
  HttpResponse response{.status = 0};
};

HttpResponse ask(const Router& router, const std::string& method, const std::string& target) {
  const auto recorder = std::make_shared<Recorder>();
  HttpRequest request{.method = method};
  EXPECT_TRUE(parse_target(target, request));
  if (std::optional<HttpResponse> response = router.admit(request)) return *response;
  router.handle(std::move(request), recorder);
  return recorder->response;
}

TEST(Router, FindsHandlersByMethodAndPath) {
  Access access({});
  Router router(access, BrowserAccess({}));
  const auto says = [](std::string text) {
    return [text](HttpRequest& request, const Exchange& exchange) {
      exchange->respond({.status = 200, .headers = {}, .body = text + std::string(request.parameter("id"))});
    };
  };
  router.add("GET", "/v1/jobs/{id}/stream", Dialect::fleet, says("stream "));
  router.add("DELETE", "/v1/jobs/{id}", Dialect::fleet, says("delete "));
  router.add("GET", "/v1/models/{id…}", Dialect::openai, says("model "));
  router.add("GET", "/", Dialect::openai, says("page"));
  EXPECT_EQ(ask(router, "GET", "/v1/jobs/a/stream").body, "stream a");
  EXPECT_EQ(ask(router, "DELETE", "/v1/jobs/b").body, "delete b");
  EXPECT_EQ(ask(router, "GET", "/v1/models/owner/name").body, "model owner/name");
  EXPECT_EQ(ask(router, "GET", "/").body, "page");
  EXPECT_EQ(ask(router, "HEAD", "/").body, "page");
  EXPECT_EQ(ask(router, "GET", "/v1/jobs/a").status, 405);
  EXPECT_EQ(ask(router, "GET", "/v1/jobs/a").headers.find("Allow"), "DELETE");
  EXPECT_EQ(ask(router, "GET", "/nothing").status, 404);
  EXPECT_EQ(ask(router, "GET", "/v1/jobs//stream").status, 404);
  EXPECT_EQ(ask(router, "OPTIONS", "/v1/jobs/a").status, 204);
}

TEST(Router, TurnsErrorsIntoResponsesOfTheRoutesDialect) {
  Access access({.keys = {"k"}});
  Router router(access, BrowserAccess({}));
  router.add(
      "GET", "/open", Dialect::fleet, [](HttpRequest&, const Exchange&) { throw ApiError(400, "INVALID_REQUEST", "bad"); },
      Route::Who::anyone);
  router.add("GET", "/broken", Dialect::ollama, [](HttpRequest&, const Exchange&) { throw std::runtime_error("oh"); }, Route::Who::anyone);
  router.add("GET", "/closed", Dialect::openai, [](HttpRequest&, const Exchange&) {});
  EXPECT_EQ(ask(router, "GET", "/open").body, R"({"error":{"code":"INVALID_REQUEST","message":"bad","retriable":false}})");
  EXPECT_EQ(ask(router, "GET", "/broken").status, 500);
  EXPECT_EQ(ask(router, "GET", "/closed").status, 401);
  EXPECT_EQ(ask(router, "GET", "/closed").headers.find("WWW-Authenticate"), "Bearer");
}

TEST(Router, RefusesInTheWordsOfTheApiThatAPathBelongsTo) {
  Access access({});
  Router router(access, BrowserAccess({.origins = {"https://page"}}));
  const auto nothing = [](HttpRequest&, const Exchange&) {};
  router.add("POST", "/v1/jobs", Dialect::fleet, nothing);
  router.add("POST", "/v1/messages", Dialect::anthropic, nothing);
  const auto refusal = [&](const std::string& path) {
    HttpRequest request{.path = path, .headers = {{"X-Request-Id", "mine"}, {"Origin", "https://page"}}};
    HttpResponse response = router.refusal(ApiError(413, "INVALID_REQUEST", "large"), request);
    EXPECT_EQ(response.headers.find("X-Request-Id"), "mine");
    EXPECT_EQ(response.headers.find("Access-Control-Allow-Origin"), "https://page");
    return response.body;
  };
  EXPECT_EQ(refusal("/v1/jobs"), R"({"error":{"code":"INVALID_REQUEST","message":"large","retriable":false}})");
  EXPECT_EQ(refusal("/v1/messages"), R"({"type":"error","error":{"type":"request_too_large","message":"large"}})");
  for (const char* path : {"/nothing", ""}) {
    EXPECT_EQ(refusal(path), R"({"error":{"message":"large","type":"invalid_request_error","param":null,"code":"INVALID_REQUEST"}})");
  }
}

// Clients of an API read its errors alone, also where it is not served in full.
TEST(Router, RefusesAnUnknownPathInTheWordsOfTheApiThatItsBeginningBelongsTo) {
  Access access({});
  Router router(access, BrowserAccess({}));
  const auto nothing = [](HttpRequest&, const Exchange&) {};
  router.add("POST", "/v1/jobs", Dialect::fleet, nothing);
  router.add("POST", "/v1/completions", Dialect::openai, nothing);
  router.add("POST", "/v1/messages", Dialect::anthropic, nothing);
  router.add("POST", "/api/chat", Dialect::ollama, nothing);
  router.add("GET", "/api/tags", Dialect::ollama, nothing);
  EXPECT_EQ(ask(router, "POST", "/api/pull").body, R"({"error":"there is no POST /api/pull"})");
  EXPECT_EQ(ask(router, "GET", "/v1/messages/batches").body,
            R"({"type":"error","error":{"type":"not_found_error","message":"there is no GET /v1/messages/batches"}})");
  for (const std::string path : {"/v1/moderations", "/apis", "/"}) {
    EXPECT_EQ(ask(router, "GET", path).body,
              R"({"error":{"message":"there is no GET )" + path + R"(","type":"invalid_request_error","param":null,"code":"NOT_FOUND"}})");
  }
}

// One path may stand for two APIs, by its method.
TEST(Router, RefusesInTheWordsOfTheMethodsApi) {
  Access access({});
  Router router(access, BrowserAccess({}));
  const auto nothing = [](HttpRequest&, const Exchange&) {};
  router.add("GET", "/both", Dialect::openai, nothing);
  router.add("POST", "/both", Dialect::fleet, nothing);
  HttpRequest request{.method = "POST", .path = "/both"};
  EXPECT_EQ(router.refusal(ApiError(413, "INVALID_REQUEST", "large"), request).body,
            R"({"error":{"code":"INVALID_REQUEST","message":"large","retriable":false}})");
}

TEST(Router, RefusesBodiesThatArePacked) {
  Access access({});
  Router router(access, BrowserAccess({}));
  router.add("POST", "/", Dialect::fleet, [](HttpRequest&, const Exchange& exchange) { exchange->respond({.status = 200}); });
  for (const auto& [coding, status] : {std::pair{"gzip", 415}, std::pair{"Identity", 200}}) {
    const auto recorder = std::make_shared<Recorder>();
    HttpRequest request{.method = "POST", .path = "/", .headers = {{"content-encoding", coding}}, .body = "x"};
    ASSERT_FALSE(router.admit(request));
    router.handle(std::move(request), recorder);
    EXPECT_EQ(recorder->response.status, status) << coding;
  }
}

TEST(LongRequests, AreHandledOneAfterAnother) {
  std::promise<void> first_taken, release;
  std::atomic<int> handled{0};
  LongRequests requests([&](const HttpRequest& request, const Exchange&) {
    ++handled;
    if (request.path != "/1") return;
    first_taken.set_value();
    release.get_future().wait();
  });
  const auto exchange = std::make_shared<Recorder>();
  for (const char* path : {"/1", "/2", "/3"}) requests.add({.path = path}, exchange);
  first_taken.get_future().wait();
  EXPECT_EQ(handled, 1);
  release.set_value();
  while (handled < 3) std::this_thread::yield();
}

TEST(LongRequests, ThatWaitAtTheEndAreDropped) {
  std::promise<void> first_taken, release;
  std::atomic<int> handled{0};
  LongRequests requests([&](const HttpRequest&, const Exchange&) {
    if (handled++ == 0) first_taken.set_value();
    release.get_future().wait();
  });
  const auto exchange = std::make_shared<Recorder>();
  requests.add({.path = "/1"}, exchange);
  first_taken.get_future().wait();
  requests.add({.path = "/2"}, exchange);
  std::jthread stopping([&] { requests.stop(); });
  while (exchange.use_count() > 2) std::this_thread::yield();  // the second one's has been let go of
  release.set_value();
  stopping.join();
  requests.add({.path = "/3"}, exchange);
  EXPECT_EQ(handled, 1);
  EXPECT_EQ(exchange.use_count(), 1);
}

TEST(LongRequests, OfAClientThatHasGoneAreNotHandled) {
  class Gone final : public Recorder {
    [[nodiscard]] bool is_gone() const override { return true; }
  };
  std::promise<void> over;
  std::atomic<int> handled{0};
  LongRequests requests([&](const HttpRequest&, const Exchange&) {
    ++handled;
    over.set_value();
  });
  requests.add({.path = "/gone"}, std::make_shared<Gone>());
  requests.add({.path = "/here"}, std::make_shared<Recorder>());
  over.get_future().wait();
  EXPECT_EQ(handled, 1);
}

// Single letters and the marks of one family.
std::shared_ptr<const Tokenizer> infill_tokenizer(const std::string& marks) {
  return Tokenizer::parse(R"({"added_tokens":[)" + marks +
                              R"(],"pre_tokenizer":{"type":"ByteLevel","add_prefix_space":false},"decoder":{"type":"ByteLevel"},)"
                              R"("model":{"type":"BPE","vocab":{"a":0,"b":1,"c":2,"x":3,"\u010a":4},"merges":[]}})",
                          "test");
}

TEST(Infill, MarksStandAroundWhatIsKnown) {
  const auto tokenizer =
      infill_tokenizer(R"({"id":5,"content":"<fim_prefix>","special":true},{"id":6,"content":"<fim_suffix>","special":true},)"
                       R"({"id":7,"content":"<fim_middle>","special":true},{"id":8,"content":"<file_sep>","special":true})");
  EXPECT_EQ(infill_tokens(*tokenizer, {.prefix = "a", .suffix = "b", .middle = "c"}), (std::vector<TokenId>{5, 0, 6, 1, 7, 2}));
  const InfillText with_file{.prefix = "a", .suffix = "", .middle = "", .files = {{.name = "x", .text = "b"}}};
  EXPECT_EQ(infill_tokens(*tokenizer, with_file), (std::vector<TokenId>{8, 3, 4, 1, 4, 8, 5, 0, 6, 7}));
  EXPECT_FALSE(infill_tokens(*infill_tokenizer(R"({"id":5,"content":"<fim_prefix>","special":true})"), {.prefix = "a"}));
}

// Beast asserts that it sees more of a last chunk than its line's three bytes and one more.
TEST(FeedParser, ARequestInTwoPiecesOrByteByByteIsTheRequest) {
  const std::string text =
      "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n0\r\n\r\n1;a=b\r\nx\r\n0\r\nTrailer: t\r\n\r\n";
  const std::string empty = "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n";
  const std::string counted = "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\n0\r\n";
  const auto body_of = [](std::string_view request, size_t first, size_t piece) {
    RequestParser parser;
    boost::beast::flat_buffer buffer{4'000};
    boost::system::error_code error;
    for (size_t at = 0; !parser.is_done() && !error;) {
      if (!needs_more(parser, buffer, error)) continue;
      const std::string_view part = request.substr(at, at == 0 ? first : piece);
      if (part.empty()) return std::string("stalled");
      buffer.commit(boost::asio::buffer_copy(buffer.prepare(part.size()), boost::asio::buffer(part)));
      at += part.size();
    }
    return error ? error.message() : parser.get().body();
  };
  for (const auto& [request, body] : {std::pair(text, "0\r\nx"), std::pair(empty, ""), std::pair(counted, "0\r\n")}) {
    for (size_t first = 1; first < request.size(); ++first) {
      EXPECT_EQ(body_of(request, first, request.size()), body) << first;
      EXPECT_EQ(body_of(request, first, 1), body) << first;
    }
  }
}

}  // namespace
}  // namespace wick::server
