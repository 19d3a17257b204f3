// Batches in OpenAI's format: what is read, in which order it is answered, and what is left where a process ends in the middle.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "unit/message_of.h"
#include "unit/temporary_folder.h"
#include "wick/base/line_file.h"
#include "wick/server/api_error.h"
#include "wick/server/batch/batch_input.h"
#include "wick/server/batch/batch_results.h"
#include "wick/server/batch/batch_run.h"

namespace wick::server {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

void write_text(const std::filesystem::path& path, std::string_view text) { std::ofstream(path, std::ios::binary) << text; }

std::string read_text(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::string request_line(const std::string& id, const std::string& prompt) {
  return to_text({{"custom_id", id}, {"method", "POST"}, {"url", "/v1/completions"}, {"body", {{"prompt", prompt}}}}) + "\n";
}

class Batches : public testing::Test {
 protected:
  BatchInput input_of(const std::string& text, std::optional<std::string_view> url = {}) {
    write_text(folder / "input.jsonl", text);
    return BatchInput(folder / "input.jsonl", url);
  }
  // The line and the code of each problem.
  std::vector<std::string> problems_of(const std::string& text, std::optional<std::string_view> url = {}) {
    std::vector<std::string> all;
    const BatchInput input = input_of(text, url);
    for (const BatchProblem& problem : input.problems()) all.push_back(std::to_string(problem.line) + " " + problem.code);
    return all;
  }

  TemporaryFolder folder;
};

TEST_F(Batches, EachBadLineIsAProblemWithItsNumber) {
  const std::string good = request_line("a", "x");
  EXPECT_THAT(problems_of(good + "\n{\"custom_id\": \n" + good), ElementsAre("3 invalid_json_line", "4 duplicate_custom_id"));
  EXPECT_THAT(problems_of("[]\n{}\n"), ElementsAre("1 invalid_json_line", "2 missing_custom_id"));
  EXPECT_THAT(problems_of(R"({"custom_id": "a", "method": "GET", "url": "/v1/completions", "body": {}})"), ElementsAre("1 invalid_method"));
  EXPECT_THAT(problems_of(R"({"custom_id": "a", "method": "POST", "url": "/v1/images", "body": {}})"), ElementsAre("1 invalid_url"));
  EXPECT_THAT(problems_of(R"({"custom_id": "a", "method": "POST", "url": "/v1/completions"})"), ElementsAre("1 invalid_body"));
  EXPECT_THAT(problems_of(R"({"custom_id": "a", "method": "POST", "url": "/v1/completions", "body": {"stream": true}})"),
              ElementsAre("1 invalid_body"));
  EXPECT_THAT(problems_of(good, "/v1/embeddings"), ElementsAre("1 mismatched_url"));
  EXPECT_THAT(problems_of("\n\n"), ElementsAre("0 empty_file"));
  EXPECT_THAT(problems_of("{\"custom_id\": \"\xff\"}\n"), ElementsAre("1 invalid_json_line"));
  EXPECT_THAT(problems_of(good), ElementsAre());
}

TEST_F(Batches, AFileOfFaultsListsAHundredOfThem) {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += "no JSON\n";
  EXPECT_EQ(problems_of(text).size(), 100U);
}

TEST_F(Batches, PromptsThatShareABeginningComeOneAfterAnother) {
  const std::vector<std::string> beginnings = {std::string(300, 'a'), std::string(300, 'b'), std::string(64, 'a') + std::string(300, 'c')};
  std::string text;
  for (int i = 0; i < 30; ++i) {
    const std::string id = std::to_string(i);
    text += request_line(id, beginnings[static_cast<size_t>(i % 3)] + id);
  }
  const BatchInput input = input_of(text);
  std::vector<size_t> kinds;
  std::set<size_t> all;
  for (const size_t index : input.in_order_of_prompts()) {
    if (kinds.empty() || kinds.back() != index % 3) kinds.push_back(index % 3);
    all.insert(index);
  }
  EXPECT_EQ(all.size(), 30U);
  // Three runs, of which the two that share their first 64 bytes are neighbours.
  ASSERT_EQ(kinds.size(), 3U);
  EXPECT_NE(kinds[1], 1U);
}

TEST_F(Batches, ALineThatWasCutOffIsRemoved) {
  const std::filesystem::path path = folder / "lines";
  write_text(path, "whole\nhal");
  {
    LineFile file(path);
    file.append("next");
    EXPECT_EQ(file.size(), 11U);
  }
  EXPECT_EQ(read_text(path), "whole\nnext\n");
  // Also where it is longer than what is read at once.
  write_text(path, "whole\n" + std::string(200'000, 'x'));
  LineFile file(path);
  EXPECT_EQ(read_text(path), "whole\n");
}

TEST_F(Batches, OneProcessWritesAFile) {
  const LineFile first(folder / "lines");
  EXPECT_THAT(message_of(ErrorCode::invalid_argument, [&] { LineFile second(folder / "lines"); }), HasSubstr("another process is writing"));
}

TEST_F(Batches, ResultsGoOnWhereTheyEnded) {
  const BatchInput input = input_of(request_line("a", "x") + request_line("b", "y") + request_line("c", "z"));
  const std::filesystem::path output = folder / "out.jsonl";
  const std::filesystem::path errors = folder / "errors.jsonl";
  {
    BatchResults results(input, output, errors);
    results.add(1, 200, "r1", R"({"ok":1})");
    results.add(2, 400, "r2", R"({"error":{}})");
  }
  EXPECT_FALSE(std::filesystem::exists(output));
  // A process that is killed while it writes.
  std::ofstream(output.string() + ".partial", std::ios::app) << R"({"id":"batch_req_1","custom_id":"a","respo)";
  {
    BatchResults results(input, output, errors);
    EXPECT_FALSE(results.has(0));
    EXPECT_TRUE(results.has(1));
    EXPECT_TRUE(results.has(2));
    results.add(0, 200, "r0", R"({"ok":0})");
    EXPECT_TRUE(results.is_complete());
    results.commit();
  }
  std::istringstream lines(read_text(output));
  std::vector<std::string> ids;
  for (std::string line; std::getline(lines, line);) {
    const auto json = nlohmann::json::parse(line);
    ids.push_back(json["custom_id"]);
    EXPECT_EQ(json["response"]["status_code"], 200);
    EXPECT_EQ(json["response"]["body"]["ok"], json["custom_id"] == "a" ? 0 : 1);
    EXPECT_TRUE(json["error"].is_null());
  }
  EXPECT_THAT(ids, ElementsAre("b", "a"));
  EXPECT_EQ(nlohmann::json::parse(read_text(errors))["response"]["request_id"], "r2");
  EXPECT_FALSE(std::filesystem::exists(output.string() + ".partial"));
  EXPECT_FALSE(std::filesystem::exists(errors.string() + ".partial"));
}

TEST_F(Batches, AFileThatHasOtherThingsIsLeftAsItIs) {
  const BatchInput input = input_of(request_line("a", "x"));
  const auto refusal = [&](const std::string& text) {
    write_text(folder / "out", text);
    const std::string message = message_of(ErrorCode::invalid_argument, [&] { BatchResults(input, folder / "out", folder / "errors"); });
    EXPECT_EQ(read_text(folder / "out"), text);
    return message;
  };
  EXPECT_THAT(refusal("a letter"), HasSubstr("out:1: not a result of a batch"));
  EXPECT_THAT(refusal("{\"custom_id\":\"b\"}\n"), HasSubstr("out:1: custom_id \"b\" is not in the input"));
  EXPECT_THAT(refusal("{\"custom_id\":\"a\"}\n{\"custom_id\":\"a\"}\n"), HasSubstr("out:2: custom_id \"a\" has a result already"));
}

TEST_F(Batches, AFullDiskIsAnErrorAndLeavesWholeLines) {
  const BatchInput input = input_of(request_line("a", "x"));
  BatchResults results(input, "/dev/full", folder / "errors");
  EXPECT_THAT(message_of(ErrorCode::io, [&] { results.add(0, 200, "r", "{}"); }), HasSubstr("No space left on device"));
}

// --- Running, with a handler whose answers the test sets ---

class RunningBatches : public Batches {
 protected:
  void answer_by(Route::Handler handler) { router.add("POST", "/v1/completions", Dialect::openai, std::move(handler)); }
  static std::string prompt_of(const HttpRequest& request) { return request.json()["prompt"].get<std::string>(); }

  Access access{{}};
  Router router{access, BrowserAccess({})};
};

TEST_F(RunningBatches, EachRequestIsAnsweredOnceAlsoWhereTheQueueWasFull) {
  int refusals = 3;
  answer_by([&](HttpRequest& request, const Exchange& exchange) {
    if (prompt_of(request) != "0" && refusals-- > 0) throw ApiError(429, "QUEUE_FULL", "full");
    exchange->respond(json_response(prompt_of(request) == "4" ? 400 : 200, R"({"x":1})"));
  });
  std::string text;
  for (int i = 0; i < 9; ++i) text += request_line(std::to_string(i), std::to_string(i));
  const BatchInput input = input_of(text);
  BatchResults results(input, folder / "out", folder / "errors");
  EXPECT_TRUE(run_batch(router, input, results, {.at_once = 3, .is_shared = true}, [] { return true; }));
  EXPECT_EQ(results.succeeded(), 8);
  EXPECT_EQ(results.failed(), 1);
}

TEST_F(RunningBatches, ARequestThatTheQueueNeverTakesIsAnError) {
  answer_by([](HttpRequest&, const Exchange&) { throw ApiError(429, "QUEUE_FULL", "full"); });
  const BatchInput input = input_of(request_line("a", "x"));
  BatchResults results(input, folder / "out", folder / "errors");
  EXPECT_TRUE(run_batch(router, input, results, {}, [] { return true; }));
  EXPECT_EQ(results.failed(), 1);
}

TEST_F(RunningBatches, WhatIsStoppedHasNoResult) {
  std::vector<Exchange> held;
  int cancelled = 0;
  answer_by([&](HttpRequest&, const Exchange& exchange) {
    held.push_back(exchange);
    exchange->on_gone([&] { ++cancelled; });
  });
  const BatchInput input = input_of(request_line("a", "x") + request_line("b", "y") + request_line("c", "z"));
  BatchResults results(input, folder / "out", folder / "errors");
  EXPECT_FALSE(run_batch(router, input, results, {.at_once = 2}, [&] { return held.size() < 2; }));
  EXPECT_EQ(cancelled, 2);
  EXPECT_EQ(results.succeeded() + results.failed(), 0);
  // An answer that comes late goes nowhere.
  held.front()->respond(json_response(200, "{}"));
  results.fail_rest("batch_cancelled", "cancelled");
  EXPECT_EQ(results.failed(), 3);
}

TEST_F(RunningBatches, AModelThatCanAnswerNoMoreEndsTheRun) {
  answer_by([](HttpRequest&, const Exchange&) { throw ApiError(503, "NOT_READY", "the device was lost"); });
  const BatchInput input = input_of(request_line("a", "x"));
  BatchResults results(input, folder / "out", folder / "errors");
  EXPECT_THAT(message_of(ErrorCode::device_lost, [&] { std::ignore = run_batch(router, input, results, {}, [] { return true; }); }),
              HasSubstr("the device was lost"));
  EXPECT_EQ(results.failed(), 0);
}

}  // namespace
}  // namespace wick::server
