// The endpoints of a server of several models that are not one model's: their list, loading and unloading them, probes and metrics.
#pragma once

#include "wick/server/model_pool.h"

namespace wick::server {

// `worker` tells who the process is; both must outlive the router.
void add_pool_routes(Router& router, ModelPool& pool, const Worker& worker);

}  // namespace wick::server
