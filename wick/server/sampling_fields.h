// The members of a request that say how tokens are chosen, under the names of OpenAI, vLLM and llama.cpp.
#pragma once

#include "wick/engine/sampling.h"
#include "wick/server/fields.h"
#include "wick/server/worker.h"

namespace wick::server {

// Unset fields get the service's defaults. Wrong ones are recorded in `fields`. The engine checks token ids against the
// vocabulary.
void read_sampling(Fields& fields, const Service& service, SamplingParams& sampling);

}  // namespace wick::server
