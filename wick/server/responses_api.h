// OpenAI's POST /v1/responses, streamed and not. Nothing is kept: a response cannot be asked for later.
#pragma once

#include "wick/server/router.h"
#include "wick/server/worker.h"

namespace wick::server {

void add_responses_routes(Router& router, Worker& worker);

}  // namespace wick::server
