// Which of the model's adapters a request goes through.
#pragma once

#include "wick/engine/engine.h"
#include "wick/server/fields.h"
#include "wick/server/json.h"

namespace wick::server {

// Reads `model`, where it is the name of an adapter, and llama.cpp's `lora`, a list of {"id", "scale"}. Wrong ones are recorded in
// `fields`.
void read_adapters(Fields& fields, const Engine& engine, GenerationParams& params);
// llama.cpp's list of adapters: [{"id": 0, "path": "name", "scale": 0}], as no request goes through one that it does not name.
[[nodiscard]] Json adapters_json(const Engine& engine);

}  // namespace wick::server
