// The endpoints of llama.cpp's server that its users' tools call: /completion, /tokenize, /detokenize, /props, /slots.
#pragma once

#include "wick/server/router.h"
#include "wick/server/worker.h"

namespace wick::server {

void add_llama_routes(Router& router, Worker& worker);

}  // namespace wick::server
