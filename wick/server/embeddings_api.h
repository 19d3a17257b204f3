// Vectors of texts, and scores and labels by encoders, as each API has them.
#pragma once

#include "wick/server/router.h"
#include "wick/server/worker.h"

namespace wick::server {

void add_openai_embedding_routes(Router& router, Worker& worker);
void add_ollama_embedding_routes(Router& router, Worker& worker);
// llama.cpp's, with the ranking and the classes that others have beside them.
void add_llama_embedding_routes(Router& router, Worker& worker);

}  // namespace wick::server
