// POST /v1/embeddings of OpenAI's API.
#pragma once

#include "wick/server/router.h"
#include "wick/server/worker.h"

namespace wick::server {

void add_embedding_routes(Router& router, Worker& worker);

}  // namespace wick::server
