// The router without sockets: how it chooses a replica, what it reads of requests and lists, what it passes on.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "unit/message_of.h"
#include "wick/server/api_error.h"
#include "wick/server/route/replica_chooser.h"
#include "wick/server/route/replica_list.h"
#include "wick/server/route/replica_poller.h"
#include "wick/server/route/replica_set.h"
#include "wick/server/route/route_key.h"
#include "wick/server/route/route_metrics.h"
#include "wick/server/route/upstream_message.h"

namespace wick::server {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

std::vector<ReplicaCandidate> candidates_of(const std::vector<std::string>& names, std::vector<int64_t> loads = {}) {
  std::vector<ReplicaCandidate> candidates;
  for (size_t i = 0; i < names.size(); ++i) candidates.push_back({.name = names[i], .load = i < loads.size() ? loads[i] : 0});
  return candidates;
}

RouteKey key_of_prompt(const std::string& prompt, const std::string& model = "m") {
  return {.model = model, .blocks = hash_blocks(model, prompt)};
}

std::string words(size_t bytes, char first) {
  std::string text;
  for (size_t i = 0; i < bytes; ++i) text += static_cast<char>(first + static_cast<char>(i % 7));
  return text;
}

const std::vector<std::string> kNames = {"a", "b", "c", "d"};

// Sends a prompt, and returns the name of its replica.
std::string send(ReplicaChooser& chooser, const RouteKey& key, const std::vector<ReplicaCandidate>& candidates) {
  const ReplicaChoice choice = chooser.choose(key, candidates);
  chooser.remember(candidates[choice.index].name, key);
  return std::string(candidates[choice.index].name);
}

TEST(ReplicaChooser, TheLongestPrefixWins) {
  ReplicaChooser chooser(8);
  const std::string shared = words(1000, 'a');
  chooser.remember("b", key_of_prompt(shared));
  chooser.remember("c", key_of_prompt(shared + words(1000, 'h')));
  const ReplicaChoice choice = chooser.choose(key_of_prompt(shared + words(2000, 'h')), candidates_of(kNames));
  EXPECT_EQ(kNames[choice.index], "c");
  EXPECT_EQ(choice.reason, ChoiceReason::prefix);
  EXPECT_EQ(choice.blocks_held, 2000 / kPromptBlockBytes);
}

TEST(ReplicaChooser, OfEqualPrefixesTheLeastLoadedWins) {
  ReplicaChooser chooser(8);
  const RouteKey key = key_of_prompt(words(1000, 'a'));
  chooser.remember("b", key);
  chooser.remember("d", key);
  EXPECT_EQ(kNames[chooser.choose(key, candidates_of(kNames, {0, 5, 0, 4})).index], "d");
}

TEST(ReplicaChooser, AReplicaThatIsBusierByMoreThanTheBoundIsLeftOut) {
  ReplicaChooser chooser(8);
  const RouteKey key = key_of_prompt(words(1000, 'a'));
  chooser.remember("b", key);
  EXPECT_EQ(kNames[chooser.choose(key, candidates_of(kNames, {2, 10, 9, 9})).index], "b");
  const ReplicaChoice choice = chooser.choose(key, candidates_of(kNames, {2, 11, 9, 9}));
  EXPECT_NE(kNames[choice.index], "b");
  EXPECT_EQ(choice.reason, ChoiceReason::home);
}

TEST(ReplicaChooser, OfManyEqualPromptsNoReplicaHasMoreThanTheBoundAboveTheLeast) {
  constexpr int64_t kBound = 4;
  ReplicaChooser chooser(kBound);
  std::vector<int64_t> loads(kNames.size());
  const RouteKey key = key_of_prompt(words(1000, 'a'));
  for (int i = 0; i < 200; ++i) {
    const std::string name = send(chooser, key, candidates_of(kNames, loads));
    ++loads[static_cast<size_t>(name[0] - 'a')];
    EXPECT_LE(std::ranges::max(loads) - std::ranges::min(loads), kBound + 1);
  }
}

TEST(ReplicaChooser, PromptsAndSessionsHaveTheSameHomesInEachRouter) {
  ReplicaChooser one(8);
  ReplicaChooser other(8);
  std::set<std::string> homes;
  std::vector<std::string> reversed(kNames.rbegin(), kNames.rend());
  for (int i = 0; i < 40; ++i) {
    const RouteKey prompt = key_of_prompt(std::to_string(i) + words(500, 'a'));
    const RouteKey session = {.session = std::to_string(i)};
    homes.insert(send(one, prompt, candidates_of(kNames)));
    EXPECT_EQ(send(one, prompt, candidates_of(kNames)), send(other, prompt, candidates_of(reversed)));
    EXPECT_EQ(send(one, session, candidates_of(kNames)), send(other, session, candidates_of(reversed, {9, 0, 0, 0})));
  }
  EXPECT_THAT(homes, SizeIs(4));
}

TEST(ReplicaChooser, OnlyTheSessionsOfAReplicaThatGoesMove) {
  ReplicaChooser chooser(8);
  for (int i = 0; i < 100; ++i) {
    const RouteKey key = {.session = std::to_string(i)};
    const std::string home = send(chooser, key, candidates_of({"a", "b", "c", "d"}));
    if (home == "d") continue;
    EXPECT_EQ(send(chooser, key, candidates_of({"a", "b", "c"})), home);
  }
}

TEST(ReplicaChooser, ASessionStaysWhereItIsBusy) {
  ReplicaChooser chooser(2);
  const RouteKey key = {.session = "s"};
  const ReplicaChoice home = chooser.choose(key, candidates_of(kNames));
  std::vector<int64_t> loads(kNames.size());
  loads[home.index] = 1000;
  const ReplicaChoice again = chooser.choose(key, candidates_of(kNames, loads));
  EXPECT_EQ(again.index, home.index);
  EXPECT_EQ(again.reason, ChoiceReason::session);
}

TEST(ReplicaChooser, ShortPromptsGoRoundTheLeastLoaded) {
  ReplicaChooser chooser(8);
  std::map<std::string, int> counts;
  for (int i = 0; i < 30; ++i) ++counts[send(chooser, key_of_prompt("short"), candidates_of(kNames, {1, 0, 0, 0}))];
  EXPECT_THAT(counts, ElementsAre(testing::Pair("b", 10), testing::Pair("c", 10), testing::Pair("d", 10)));
}

TEST(ReplicaChooser, AnAdapterHasAHome) {
  ReplicaChooser chooser(8);
  std::set<std::string> used;
  for (int i = 0; i < 10; ++i) {
    std::vector<ReplicaCandidate> candidates = candidates_of(kNames);
    for (ReplicaCandidate& candidate : candidates) candidate.model_is_adapter = true;
    used.insert(send(chooser, key_of_prompt("short", "adapter"), candidates));
  }
  EXPECT_THAT(used, SizeIs(1));
}

TEST(ReplicaChooser, AReplicaThatIsForgottenHasNothing) {
  ReplicaChooser chooser(8);
  const RouteKey key = key_of_prompt(words(1000, 'a'));
  chooser.remember("b", key);
  chooser.forget("b");
  EXPECT_EQ(chooser.choose(key, candidates_of(kNames)).blocks_held, 0);
}

TEST(SentBlocks, TheOldestAreForgottenAndTheBeginningLast) {
  SentBlocks sent(10);
  const std::vector<uint64_t> first = {1, 2, 3, 4, 5, 6};
  const std::vector<uint64_t> second = {11, 12, 13, 14, 15, 16, 17};
  sent.add(first);
  EXPECT_EQ(sent.count_known(first), 6);
  sent.add(second);
  EXPECT_EQ(sent.count_known(second), 7);
  EXPECT_EQ(sent.count_known(first), 3);
  const std::vector<uint64_t> longer(first.begin(), first.begin() + 2);
  sent.add(longer);
  EXPECT_EQ(sent.count_known(first), 3);
}

// Against a plain search, for random prompts.
TEST(SentBlocks, KnowsTheSharedBeginningsOfRandomPrompts) {
  std::mt19937 random(1);
  SentBlocks sent(1'000'000);
  std::vector<std::string> prompts;
  for (int i = 0; i < 200; ++i) {
    std::string prompt = prompts.empty() || random() % 3 == 0 ? std::string() : prompts[random() % prompts.size()];
    prompt.resize(prompt.empty() ? 0 : random() % (prompt.size() + 1));
    prompt += words(random() % 600, static_cast<char>('a' + random() % 5));
    size_t expected = 0;
    for (const std::string& earlier : prompts) {
      const auto [end, unused] = std::ranges::mismatch(prompt, earlier);
      expected = std::max(expected, static_cast<size_t>(end - prompt.begin()) / kPromptBlockBytes);
    }
    const std::vector<uint64_t> blocks = hash_blocks("m", prompt);
    EXPECT_EQ(sent.count_known(blocks), expected);
    sent.add(blocks);
    prompts.push_back(prompt);
  }
}

HttpRequest post(const std::string& body, HeaderFields headers = {}) {
  return {.method = "POST", .target = "/v1/chat/completions", .path = "/v1/chat/completions", .headers = std::move(headers), .body = body};
}

TEST(RouteKey, TheNextTurnBeginsWithTheTurnBefore) {
  const std::string system = words(400, 'a');
  const auto turn = [&](const std::string& more) {
    return post(R"({"temperature": 1, "messages": [{"role": "system", "content": ")" + system + R"("}, {"role": "user", "content": ")" +
                words(300, 'k') + R"("})" + more + "]}");
  };
  const std::vector<uint64_t> first = route_key(turn("")).blocks;
  const std::vector<uint64_t> next = route_key(turn(R"(, {"role":"assistant","content":")" + words(300, 'p') + "\"}")).blocks;
  ASSERT_GT(first.size(), 4);
  ASSERT_GT(next.size(), first.size());
  EXPECT_TRUE(std::equal(first.begin(), first.end(), next.begin()));
}

TEST(RouteKey, SpacesAndOtherMembersDoNotMatterAndModelsDo) {
  const std::string text = words(500, 'a');
  const RouteKey plain = route_key(post(R"({"model":"m","prompt":")" + text + "\"}"));
  EXPECT_THAT(plain.blocks, SizeIs(3));
  EXPECT_EQ(plain.model, "m");
  EXPECT_EQ(route_key(post(R"({ "max_tokens": 5, "prompt" : ")" + text + R"(", "model": "m" })")).blocks, plain.blocks);
  EXPECT_NE(route_key(post(R"({"model":"n","prompt":")" + text + "\"}")).blocks, plain.blocks);
  EXPECT_NE(route_key(post(R"({"model":"m","cache_salt":"s","prompt":")" + text + "\"}")).blocks, plain.blocks);
}

TEST(RouteKey, ASessionIsTheHeadersElseTheBodys) {
  EXPECT_EQ(route_key(post(R"({"session_id": "one", "prompt_cache_key": "two"})")).session, "one");
  EXPECT_EQ(route_key(post(R"({"prompt_cache_key": "two", "user": "u"})")).session, "two");
  EXPECT_EQ(route_key(post(R"({"session_id": "one"})", {{"X-Session-Id", "zero"}})).session, "zero");
  EXPECT_EQ(route_key(post(R"({"user": "u"})")).session, "");
}

TEST(RouteKey, ABodyThatIsNoObjectHasNone) {
  for (const char* body : {"", "nope", "[1]", "7", "{\"model\": 5, \"prompt\": null}", "\xff"}) {
    const RouteKey key = route_key(post(body));
    EXPECT_TRUE(key.model.empty() && key.session.empty() && key.blocks.empty()) << body;
  }
}

TEST(ReplicaList, AddressesAreRead) {
  const ReplicaAddress tcp = parse_replica("--replica", "http://Node-1:8080/base/");
  EXPECT_EQ(tcp.name, "http://node-1:8080/base");
  EXPECT_EQ(tcp.url.path, "/base");
  EXPECT_EQ(parse_replica("--replica", "http://[::1]:81").name, "http://[::1]:81");
  EXPECT_EQ(parse_replica("--replica", "http://a").url.port, "80");
  EXPECT_EQ(parse_replica("--replica", "unix:/run/a.sock").unix_socket, "/run/a.sock");
  EXPECT_EQ(parse_replica("--replica", "./a.sock").name, "unix:./a.sock");
}

TEST(ReplicaList, WhatIsNoAddressIsRefusedByName) {
  for (const char* text : {"", "localhost", "localhost:80", "https://a", "http://", "http://:80", "http://a:0", "http://a:70000",
                           "http://a:x", "http://a/?b", "http://a b", "unix:", "http://a:99999999999999999999"}) {
    EXPECT_THAT(message_of([&] { (void)parse_replica("--replica", text); }), HasSubstr("--replica")) << text;
  }
  EXPECT_THAT(message_of([] { (void)parse_replica("--replica", "http://user:secret@a"); }),
              AllOf(HasSubstr("--replica-key"), Not(HasSubstr("secret"))));
}

TEST(ReplicaList, AFileHasAddressesWithAndWithoutNames) {
  const std::vector<ReplicaAddress> list =
      parse_replicas("--replicas f", R"({"replicas": ["http://a:1", {"url": "unix:/b", "name": "b"}]})");
  ASSERT_THAT(list, SizeIs(2));
  EXPECT_EQ(list[0].name, "http://a:1");
  EXPECT_EQ(list[1].name, "b");
  EXPECT_EQ(list[1].unix_socket, "/b");
}

TEST(ReplicaList, AListHasKeysAndModelsOfReplicas) {
  const std::vector<ReplicaAddress> list =
      parse_replicas("--serve a", R"({"replicas": [{"url": "http://a:1", "key": "k-1", "model": "m"}]})");
  ASSERT_THAT(list, SizeIs(1));
  EXPECT_EQ(list[0].key, "k-1");
  EXPECT_EQ(list[0].model, "m");
  // A key goes into a field of HTTP, and is not repeated where it cannot.
  for (const char* key : {"\"\"", "\"SECRET \"", "\"SECRET\\r\\nX: y\"", "[\"SECRET\"]", "\"SECRET\u00e9\""}) {
    const std::string text = fmt::format(R"({{"replicas": [{{"url": "http://a:1", "key": {}}}]}})", key);
    EXPECT_THAT(message_of([&] { (void)parse_replicas("--serve a", text); }),
                AllOf(HasSubstr("--serve a: replicas[0].key: must be a text of 1 to 4096 visible"), Not(HasSubstr("SECRET"))));
  }
  EXPECT_THAT(message_of([] { (void)parse_application("--serve", "unix:/a"); }), HasSubstr("not an address of an application"));
}

// Of random changes to a good list nothing but Error comes, and what is accepted can be written and read again.
TEST(ReplicaList, RandomChangesAreReadOrRefused) {
  std::mt19937 random(7);
  const std::string good = R"({"replicas": ["http://a:1", {"url": "unix:/b", "name": "b"}, "http://[::1]:80/x"]})";
  int accepted = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string text = good;
    for (unsigned change = random() % 4; change-- > 0;) {
      const size_t at = random() % text.size();
      switch (random() % 3) {
        case 0: text[at] = static_cast<char>(random() % 256); break;
        case 1: text.erase(at, random() % 5); break;
        default: text.insert(at, 1, good[random() % good.size()]); break;
      }
    }
    try {
      const std::vector<ReplicaAddress> list = parse_replicas("f", text);
      ++accepted;
      for (const ReplicaAddress& one : list) {
        const bool is_v6 = one.url.host.find(':') != std::string::npos;
        const std::string text_again =
            one.unix_socket.empty() ? "http://" + (is_v6 ? "[" + one.url.host + "]" : one.url.host) + ":" + one.url.port + one.url.path
                                    : "unix:" + one.unix_socket;
        ReplicaAddress again = parse_replica("f", text_again);
        again.name = one.name;
        EXPECT_EQ(again, one) << text_again;
      }
    } catch (const Error&) {
      continue;
    }
  }
  EXPECT_GT(accepted, 1000);
}

TEST(ReplicaList, DuplicatesAndNoneAreRefused) {
  EXPECT_THAT(message_of([] { check_replicas({}); }), HasSubstr("no replicas"));
  const ReplicaAddress one = parse_replica("--replica", "http://a:1");
  ReplicaAddress named = one;
  named.name = "x";
  EXPECT_THAT(message_of([&] { check_replicas({one, named}); }), HasSubstr("same address"));
  ReplicaAddress other = parse_replica("--replica", "http://b:1");
  other.name = one.name;
  EXPECT_THAT(message_of([&] { check_replicas({one, other}); }), HasSubstr("same name"));
}

TEST(UpstreamMessage, FieldsOfTheConnectionStayAndOthersPass) {
  HttpRequest request = post("{}", {{"Host", "router"},
                                    {"Connection", "close, X-Hop"},
                                    {"X-Hop", "1"},
                                    {"Content-Length", "2"},
                                    {"Transfer-Encoding", "chunked"},
                                    {"Origin", "http://page"},
                                    {"Accept-Encoding", "gzip"},
                                    {"Authorization", "Bearer mine"},
                                    {"x-api-key", "mine"}});
  request.target = "http://router/v1/chat/completions?a=%20b";
  request.request_id = "id";
  const ReplicaAddress to = parse_replica("--replica", "http://[::1]:81/base");
  const std::string head = upstream_head(request, 2, to, {});
  EXPECT_THAT(head, testing::StartsWith("POST /base/v1/chat/completions?a=%20b HTTP/1.1\r\nHost: [::1]:81\r\nConnection: close\r\n"));
  EXPECT_THAT(head, AllOf(HasSubstr("Accept-Encoding: gzip\r\n"), HasSubstr("Authorization: Bearer mine\r\n"),
                          HasSubstr("X-Request-Id: id\r\n"), HasSubstr("Content-Length: 2\r\n"), testing::EndsWith("\r\n\r\n")));
  EXPECT_THAT(head, AllOf(Not(HasSubstr("X-Hop")), Not(HasSubstr("chunked")), Not(HasSubstr("Origin")), Not(HasSubstr("Host: router"))));
  const std::string keyed = upstream_head(request, 2, to, {.key = "theirs"});
  EXPECT_THAT(keyed, AllOf(HasSubstr("Authorization: Bearer theirs\r\n"), Not(HasSubstr("mine"))));
  ReplicaAddress own = to;
  own.key = "own";
  EXPECT_THAT(upstream_head(request, 2, own, {.key = "theirs"}),
              AllOf(HasSubstr("Authorization: Bearer own\r\n"), Not(HasSubstr("mine")), Not(HasSubstr("theirs"))));
  EXPECT_THAT(upstream_head(request, 2, to, {.hides_client_key = true}), AllOf(Not(HasSubstr("mine")), Not(HasSubstr("Authorization"))));
}

TEST(UpstreamMessage, WholeUnitsEndWithTheLastOne) {
  EXPECT_EQ(whole_units(StreamUnit::events, "data: a\n\ndata: b"), 9);
  EXPECT_EQ(whole_units(StreamUnit::events, "data: a\r\n\r\nda"), 11);
  EXPECT_EQ(whole_units(StreamUnit::events, "data: a\n"), 0);
  EXPECT_EQ(whole_units(StreamUnit::lines, "{}\n{"), 3);
  EXPECT_EQ(whole_units(StreamUnit::lines, "{"), 0);
  EXPECT_EQ(whole_units(StreamUnit::bytes, "abc"), 3);
  EXPECT_EQ(stream_unit({{"Content-Type", "Text/Event-Stream; charset=utf-8"}}), StreamUnit::events);
  EXPECT_EQ(stream_unit({{"Content-Type", "text/event-stream"}, {"Content-Encoding", "gzip"}}), StreamUnit::bytes);
  EXPECT_EQ(stream_unit({{"content-type", "application/x-ndjson"}}), StreamUnit::lines);
  EXPECT_EQ(stream_unit({}), StreamUnit::bytes);
}

TEST(ReplicaLoad, IsTheSumOfWhatRunsAndWaitsOfAllModels) {
  EXPECT_EQ(load_in_metrics("# HELP vllm:num_requests_running x\nvllm:num_requests_running{model_name=\"a b\"} 2\n"
                            "vllm:num_requests_running{model_name=\"b\"} 3\nvllm:num_requests_waiting{} 4.0\n"),
            9);
  EXPECT_EQ(load_in_metrics("wick:num_slots 4\n"), std::nullopt);
  EXPECT_EQ(load_in_metrics("num_requests_running nan\nnum_requests_running 1e300\nnum_requests_running"), std::nullopt);
}

class ReplicaSetTest : public testing::Test {
 protected:
  void SetUp() override { set_.assign({one_, two_}); }

  void make_ready(const ReplicaAddress& address, const std::vector<std::string>& models, const std::string& version = "1") {
    Json list = Json::array();
    for (const std::string& model : models) list.push_back({{"id", model}});
    set_.is_ready(address, {.models = list, .version = version});
  }
  int status_of(const RouteKey& key, const std::vector<std::string>& tried = {}) {
    try {
      (void)set_.acquire(key, tried);
      return 200;
    } catch (const ApiError& error) {
      message_ = error.what();
      return error.status();
    }
  }

  std::vector<std::string> log_;
  std::string message_;
  ReplicaAddress one_ = parse_replica("--replica", "http://one:1"), two_ = parse_replica("--replica", "http://two:1");
  ReplicaSet set_{8, "1", [this](std::string_view level, const Json& details) { log_.push_back(std::string(level) + to_text(details)); }};
};

TEST_F(ReplicaSetTest, ARequestGoesToAReplicaThatHasItsModel) {
  EXPECT_EQ(status_of({}), 503);
  make_ready(one_, {"a"});
  make_ready(two_, {"b"});
  EXPECT_EQ(set_.acquire({.model = "b"}, {})->address().name, two_.name);
  EXPECT_EQ(status_of({.model = "c"}), 404);
  EXPECT_THAT(message_, HasSubstr("they have a, b"));
  EXPECT_EQ(status_of({.model = "b"}, {two_.name}), 503);
  set_.is_not_ready(two_, ReplicaState::down, "Connection refused");
  EXPECT_EQ(status_of({.model = "b"}), 503);
  EXPECT_THAT(message_, HasSubstr("http://two:1: Connection refused"));
}

TEST_F(ReplicaSetTest, LoadIsWhatIsInFlightAndWhatOthersSent) {
  make_ready(one_, {"a"});
  make_ready(two_, {"a"});
  set_.has_load(one_, 5);
  std::vector<std::unique_ptr<ReplicaSet::Lease>> leases;
  for (int i = 0; i < 5; ++i) leases.push_back(set_.acquire({}, {}));
  EXPECT_EQ(set_.rows()[0].in_flight, 0);
  EXPECT_EQ(set_.rows()[1].in_flight, 5);
  set_.has_load(two_, 5);  // those that this router sent
  leases.push_back(set_.acquire({}, {}));
  leases.push_back(set_.acquire({}, {}));
  EXPECT_EQ(set_.rows()[0].in_flight, 1);
  leases.clear();
  EXPECT_EQ(set_.rows()[0].in_flight, 0);
  EXPECT_EQ(set_.rows()[1].counts.requests, 6);
}

TEST_F(ReplicaSetTest, OneThatFailsIsEjectedAndSaidOnce) {
  make_ready(one_, {"a"});
  std::string asked;
  set_.on_failure([&](const std::string& name) { asked = name; });
  log_.clear();
  set_.acquire({}, {})->fail("Connection reset by peer");
  EXPECT_EQ(asked, one_.name);
  EXPECT_EQ(set_.rows()[0].state, ReplicaState::down);
  EXPECT_EQ(set_.rows()[0].counts.ejections, 1);
  set_.is_not_ready(one_, ReplicaState::down, "Connection reset by peer");
  EXPECT_THAT(log_, ElementsAre(HasSubstr("warning{\"replica\":\"http://one:1\",\"state\":\"down\"")));
  make_ready(one_, {"a"});
  EXPECT_EQ(status_of({}), 200);
}

TEST_F(ReplicaSetTest, AnotherVersionIsNamedOnce) {
  log_.clear();
  make_ready(one_, {"a"}, "2");
  make_ready(one_, {"a"}, "2");
  make_ready(two_, {"a"}, "1");
  EXPECT_EQ(std::ranges::count_if(log_, [](const std::string& line) { return line.find("version 2") != std::string::npos; }), 1);
}

TEST_F(ReplicaSetTest, AReplicaThatIsLeftOutOfTheListGetsNothingMore) {
  make_ready(one_, {"a"});
  make_ready(two_, {"a"});
  const auto lease = set_.acquire({}, {});
  set_.assign({two_});
  EXPECT_THAT(set_.rows(), SizeIs(1));
  EXPECT_EQ(set_.acquire({}, {})->address().name, two_.name);
  set_.assign({one_, two_});
  EXPECT_EQ(set_.rows()[0].state, ReplicaState::waiting);
  EXPECT_EQ(set_.rows()[1].state, ReplicaState::ready);
}

TEST_F(ReplicaSetTest, MetricsHaveEachReplicaAndEscapedNames) {
  ReplicaAddress named = one_;
  named.name = "a \"b\\";
  set_.assign({named});
  const std::string text = route_metrics("wick:", set_.rows(), {.requests_in_flight = 3, .requests_refused = 2});
  EXPECT_THAT(text, HasSubstr("wick:route_replica_ready{replica=\"a \\\"b\\\\\"} 0\n"));
  EXPECT_THAT(text, AllOf(HasSubstr("wick:route_requests_in_flight 3\n"), HasSubstr("wick:route_requests_refused_total 2\n")));
}

}  // namespace
}  // namespace wick::server
