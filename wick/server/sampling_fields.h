// The members of a request that say how tokens are chosen, under the names of OpenAI, vLLM and llama.cpp.
#pragma once

#include "wick/engine/sampling.h"
#include "wick/server/fields.h"

namespace wick::server {

// Wrong ones are recorded in `fields`. The engine checks token ids against the vocabulary.
void read_sampling(Fields& fields, SamplingParams& sampling);

}  // namespace wick::server
