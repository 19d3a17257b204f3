// POST /v1/completions of OpenAI's API: texts and token lists are continued as they are.
#pragma once

#include "wick/server/router.h"
#include "wick/server/worker.h"

namespace wick::server {

void add_completion_routes(Router& router, Worker& worker);

}  // namespace wick::server
