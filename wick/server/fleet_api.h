// The dialects of the fleet: jobs whose tokens are streamed from a second address, and /v1/infer.
#pragma once

#include "wick/server/router.h"

namespace wick::server {

class Jobs;

// Streams and cancels jobs, whatever model they are of. `jobs` must outlive the router.
void add_job_routes(Router& router, Jobs& jobs);

}  // namespace wick::server
