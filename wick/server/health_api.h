// GET /health, /v1/ready, /v1/loading/progress, /info, /metrics, /v1/models: what a fleet, a probe and a dashboard ask.
#pragma once

#include "wick/server/router.h"
#include "wick/server/worker.h"

namespace wick::server {

void add_health_routes(Router& router, Worker& worker);

}  // namespace wick::server
