// The dialects of the fleet: jobs whose tokens are streamed from a second address, and /v1/infer.
#pragma once

#include "wick/server/router.h"
#include "wick/server/worker.h"

namespace wick::server {

class Jobs;

// `jobs` must outlive the router.
void add_fleet_routes(Router& router, Worker& worker, Jobs& jobs);

}  // namespace wick::server
