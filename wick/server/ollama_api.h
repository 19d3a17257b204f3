// Ollama's API: /api/generate, /api/chat, /api/tags, /api/show, /api/version.
#pragma once

#include "wick/server/router.h"
#include "wick/server/worker.h"

namespace wick::server {

void add_ollama_routes(Router& router, Worker& worker);

}  // namespace wick::server
