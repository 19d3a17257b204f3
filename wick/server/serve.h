// serve() is the worker as a process: it listens, loads the model beside that, answers until a signal comes, and drains.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "wick/server/access.h"
#include "wick/server/api_error.h"
#include "wick/server/browser_access.h"
#include "wick/server/http_server.h"
#include "wick/server/model_pool.h"
#include "wick/server/router.h"
#include "wick/server/worker.h"

namespace wick::server {

enum class LogFormat { text, json };

// A part of the server that a program may leave out. It adds endpoints when it is made, and works beside the requests from start() to
// stop().
class ServerPart {
 public:
  ServerPart() = default;
  virtual ~ServerPart() = default;
  ServerPart(const ServerPart&) = delete;
  ServerPart& operator=(const ServerPart&) = delete;

  virtual void start() = 0;
  virtual void stop() = 0;
};

struct ServerPartOptions {
  Router& router;
  std::function<int64_t()> at_once = {};  // requests that the engine computes at once
  // An event for the log: its level, and what it says.
  std::function<void(std::string_view level, const Json& details)> log = {};
};

struct ServeOptions {
  HttpServerOptions http = {};
  AccessOptions access = {};
  bool insecure = false;                    // an address that others reach, without a key
  std::vector<std::string> origins, hosts;  // BrowserAccessOptions
  std::chrono::seconds drain{30};
  LogFormat log_format = LogFormat::text;
  bool is_quiet = false;
  bool has_page = true;  // the chat page at /
  std::string worker_id, model_ref, device, implementation, version, metrics_prefix;
  std::string slot_folder;                    // where /slots saves to and restores from; empty: it does not
  std::function<Json()> device_metrics = {};  // as in WorkerOptions
  // Files and batches of OpenAI's API (make_batch_part); empty: the server has none.
  std::function<std::unique_ptr<ServerPart>(const ServerPartOptions&)> batches = {};
  std::string queen_url, hive_url, callback_url;  // empty: none
};

// Errors: invalid_argument for an address that others reach without keys (insecure allows it).
void check_exposure(const ServeOptions& options);
[[nodiscard]] BrowserAccessOptions browser_options(const ServeOptions& options);
// The error of a request that could not be read as one, or not be handled.
[[nodiscard]] ApiError error_of_refusal(int status, const std::string& message);

// Loads with `load` on a thread of its own, and returns how the process is to end: 0 after a signal whose requests all ended, 1 where some
// were cut off, or the model could not be loaded by our fault; 2 where it could not be loaded by the user's. After a signal `load` ends by
// what its Progress throws; where it does not within a second, the process ends here.
// Errors: HttpServer's and check_exposure's.
[[nodiscard]] int serve(const ServeOptions& options, const std::function<std::shared_ptr<Service>(const Progress&)>& load,
                        const std::function<void(const std::string&)>& log);

// The same for several models, which are loaded when requests name them. One that cannot be loaded ends no more than its requests.
[[nodiscard]] int serve(const ServeOptions& options, PoolOptions models, const std::function<void(const std::string&)>& log);

}  // namespace wick::server
