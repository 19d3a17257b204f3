#include <ostream>
#include <string>
#include <syncstream>
#include <utility>
#include <vector>

#include "wick/base/fail.h"
#include "wick/cli/build_info.h"
#include "wick/cli/commands/serving.h"
#include "wick/cli/commands/wick_command.h"
#include "wick/cli/flags/flags.h"
#include "wick/server/route/route_server.h"

namespace wick {
namespace {

constexpr int64_t kRouterPort = 8000;

struct ReplicaFlags {
  std::vector<std::string> replicas = {};
  std::string file = {};
  std::string application = {};
};

void add_replica_flags(Flags& flags, ReplicaFlags& given, server::RouteOptions& options) {
  flags.add_values("--replica", "URL", "a server that answers requests: http://HOST:PORT, https://HOST:PORT, or unix:PATH; repeatable",
                   given.replicas);
  flags.add_text("--replicas", "FILE", "further ones from a JSON file, which is read again when it changes", given.file).path();
  flags.add_text("--serve", "URL", "further ones that an application of Ray Serve lists, whose models are routed: http://HOST:PORT",
                 given.application);
  flags.add_text("--replica-key", "KEY",
                 "the API key that is sent to the servers (none: that of the client, unless the router has keys of its own)",
                 options.replica_key);
  flags
      .add_text("--ca", "FILE", "certificates in PEM that are trusted in place of the system's, for https:// of the servers",
                options.authorities)
      .path();
  flags.add_integer(
      "--balance-bound",
      "send a prompt to the server that knows its beginning while that has at most N requests more than the least busy one (8)",
      options.balance_bound, 0, 1'000'000);
  flags.add_integer("--retries", "further servers that a request is sent to when one leaves it without an answer (2)", options.retries, 0,
                    1000);
  flags.add_integer("--max-requests", "maximum number of requests in flight; further ones get status 429 (1024)", options.requests, 1,
                    1'000'000);
}

}  // namespace

void route_command(Console& console, const Arguments& arguments) {
  server::RouteOptions options;
  ServingOptions serving;
  ReplicaFlags given;
  int64_t poll_seconds = 1;
  Flags flags(
      "Passes HTTP requests on to several servers of Wick, the replicas. A request goes to the replica that was sent most of its prompt "
      "before, so that it finds the prompt in its cache, unless that replica is too busy. One that stops answering gets no requests until "
      "it answers again.",
      console);
  add_replica_flags(flags, given, options);
  flags.add_integer("--poll", "seconds between two questions to a replica for its state (1)", poll_seconds, 1, 3600);
  add_address_flags(flags, serving);
  flags.add_switch("--no-ui,--no-webui", "do not serve the chat page at /", serving.no_page).group("Serving");
  add_log_flags(flags, serving);
  add_verbosity(flags, console);
  flags.notes("Without --port the router listens on port 8000.");
  flags.examples({"wick route --replica http://127.0.0.1:8081 --replica http://127.0.0.1:8082",
                  "wick route --serve http://127.0.0.1:8000 --port 8100",
                  "wick route --replicas fleet.json --replica-key SECRET --api-key OTHER --host 0.0.0.0 --port 80"});
  if (!flags.parse(arguments)) return;
  if (!serving.is_asked_for()) serving.port = kRouterPort;
  for (const std::string& replica : given.replicas) options.replicas.push_back(server::parse_replica("--replica", replica));
  options.replica_file = given.file;
  if (!given.application.empty()) options.application = server::parse_application("--serve", given.application);
  options.poll = std::chrono::seconds(poll_seconds);
  settle_address(serving);
  options.serve = std::move(serving.serve);
  options.serve.has_page = !serving.no_page;
  options.serve.implementation = console.name;
  options.serve.version = build_info().version;
  options.serve.is_quiet = console.quiet;
  // From any thread. Where a line cannot be written, the router goes on.
  const auto log = [&console](const std::string& line) { std::osyncstream(console.err) << line << std::endl; };
  console.exit_code = server::route(options, log);
}

}  // namespace wick
