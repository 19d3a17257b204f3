// POST /v1/chat/completions of OpenAI's API.
#pragma once

#include "wick/server/router.h"
#include "wick/server/worker.h"

namespace wick::server {

void add_openai_chat_routes(Router& router, Worker& worker);

}  // namespace wick::server
