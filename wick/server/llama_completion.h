// POST /completion and /infill of llama.cpp's server, and the slots that they leave their prompts in.
#pragma once

#include "wick/server/router.h"
#include "wick/server/worker.h"

namespace wick::server {

void add_llama_completion_routes(Router& router, Worker& worker);
// llama.cpp's generation_settings of a request that names none.
[[nodiscard]] Json default_settings(const Service& service);

}  // namespace wick::server
