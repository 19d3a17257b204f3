// route() is a router as a process: one address in front of several replicas, until a signal comes.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "wick/server/route/replica_list.h"
#include "wick/server/serve.h"

namespace wick::server {

struct RouteOptions {
  ServeOptions serve = {};                                   // its address, keys, limits and log; nothing of a model
  std::vector<ReplicaAddress> replicas = {};                 // of flags
  std::filesystem::path replica_file = {};                   // further ones; empty: none
  std::optional<ReplicaAddress> application = std::nullopt;  // of Ray Serve, which lists further ones
  std::string replica_key = {};  // empty: the clients' keys go to the replicas, unless the router has keys of its own
  std::string authorities = {};  // a file of certificates to trust in place of the system's, for replicas with https
  int64_t balance_bound = 8;
  int64_t requests = 1024;  // in flight; further ones get status 429
  int64_t retries = 2;
  std::chrono::milliseconds poll{1'000};
};

// Returns 0 after a signal whose requests all ended, 1 where some were cut off. Errors: HttpServer's, read_replica_file's, check_replicas';
// invalid_argument for an address that others reach without keys.
[[nodiscard]] int route(const RouteOptions& options, const std::function<void(const std::string&)>& log);

}  // namespace wick::server
