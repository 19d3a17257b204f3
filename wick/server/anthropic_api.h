// Anthropic's API: POST /v1/messages and /v1/messages/count_tokens.
#pragma once

#include "wick/server/router.h"
#include "wick/server/worker.h"

namespace wick::server {

void add_anthropic_routes(Router& router, Worker& worker);

}  // namespace wick::server
