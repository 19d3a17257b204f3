// The members of a request that say how tokens are chosen, under the names of OpenAI, vLLM and llama.cpp.
#pragma once

#include "wick/engine/sampling.h"
#include "wick/server/fields.h"
#include "wick/server/worker.h"

namespace wick::server {

// Unset fields get the service's defaults. Wrong ones are recorded in `fields`. The engine checks token ids against the
// vocabulary.
void read_sampling(Fields& fields, const Service& service, SamplingParams& sampling);

// The same for the parameters that are numbers, over those that are there. Each may have its own name and llama.cpp's; -1 is vLLM's and
// llama.cpp's word for the least value of some.
void read_sampling_numbers(Fields& fields, SamplingParams& sampling);

}  // namespace wick::server
