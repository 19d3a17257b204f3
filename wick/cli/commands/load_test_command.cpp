
#include <ostream>
#include <sstream>
#include <string>

#include "wick/base/fail.h"
#include "wick/base/json.h"
#include "wick/base/utf8.h"
#include "wick/cli/commands/wick_command.h"
#include "wick/cli/flags/flags.h"
#include "wick/cli/measure/http_load.h"
#include "wick/cli/text_input.h"

namespace wick {
namespace {

std::vector<std::string> read_prompts(const std::string& file) {
  if (file.empty()) return {"Once upon a time"};
  std::vector<std::string> prompts;
  std::istringstream lines(read_text_file(file));
  int64_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (!is_valid_utf8(line)) fail(ErrorCode::invalid_argument, "{}: line {} is not valid UTF-8", file, number);
    if (!line.empty()) prompts.push_back(std::move(line));
  }
  if (prompts.empty()) fail(ErrorCode::invalid_argument, "{}: no prompts; write one in each line", file);
  return prompts;
}

}  // namespace

void load_test_command(Console& console, const Arguments& arguments) {
  HttpLoad load;
  std::string url = "http://127.0.0.1:8080";
  std::string prompts;
  std::string api = "completions";
  int64_t concurrency = 0;
  int64_t limit = load.limit.count();
  bool json = false;
  Flags flags(
      "Sends requests to a server with OpenAI's API, such as wick serve, and reports how fast they are answered. The next request is sent "
      "when one has ended, or with --rate at random times, whether others have ended or not.",
      console);
  flags.add_text("-u,--url", "URL", "the server (http://127.0.0.1:8080)", url);
  flags.add_value("--api", "NAME", "completions or chat (completions)", [&](const std::string& text) { api = text; })
      .choices({"completions", "chat"});
  flags.add_text("--prompts", "FILE", "one prompt a line, taken in turns (\"Once upon a time\")", prompts).path();
  flags.add_integer("-r,--requests", "requests in all (64)", load.requests, 1, 10'000'000);
  flags.add_integer("-c,--concurrency", "requests in flight at most (8; with --rate 256)", concurrency, 1, 4096);
  flags.add_decimal("--rate", "requests a second that arrive at random times; 0 = the next when one has ended (0)", load.rate, 0, 1e6);
  flags.add_integer("-n,--max-tokens", "tokens of an answer at most (128)", load.max_tokens, 1);
  flags.add_switch("--ignore-eos", "answers have --max-tokens tokens, where the server knows ignore_eos", load.ignore_eos);
  flags.add_decimal("--temperature", "sampling temperature; 0 = greedy (0)", load.temperature, 0, 2);
  flags.add_integer("--seed", "of arrival times and of sampling (1)", load.seed, 0);
  flags.add_text("--model", "NAME", "the model that requests name (none)", load.model);
  flags.add_text("--api-key", "KEY", "the key to send (none)", load.api_key);
  flags.add_text("--ca", "FILE", "certificates in PEM that are trusted in place of the system's, for https://", load.authorities).path();
  flags.add_integer("--timeout", "seconds that a request may take (600)", limit, 1, 86400);
  add_json(flags, json);
  flags.examples({"wick load-test --url http://127.0.0.1:8080 --requests 200 --concurrency 32",
                  "wick load-test --rate 4 --requests 400 --prompts prompts.txt --json"});
  if (!flags.parse(arguments)) return;
  if (api != "completions" && api != "chat") fail(ErrorCode::invalid_argument, "--api '{}': must be completions or chat", api);
  load.is_chat = api == "chat";
  load.url = server::parse_http_url("--url", url);
  load.prompts = read_prompts(prompts);
  load.concurrency = concurrency > 0 ? concurrency : load.rate > 0 ? 256 : 8;
  load.limit = std::chrono::seconds(limit);
  const HttpLoadResult result = run_http_load(load);
  console.out << (json ? json_text(to_json(load, result), 2) + "\n" : render_report(result));
  if (result.succeeded == 0) {
    fail(ErrorCode::io, "none of {} requests was answered: {}", load.requests,
         result.failures.empty() ? std::string("no reason is known") : result.failures.begin()->first);
  }
}

}  // namespace wick
