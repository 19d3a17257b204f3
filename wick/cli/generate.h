// What `wick run` and the workers share: the flags of a generation, and running it on the terminal or through a pipe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "wick/cli/console.h"
#include "wick/cli/flags.h"
#include "wick/cli/load_model.h"
#include "wick/device/device.h"
#include "wick/engine/generator.h"

namespace wick {

struct GenerateOptions {
  std::string model;
  std::optional<std::string> prompt;
  GenerationParams params;
  int64_t context = 0;  // 0: the model's
  int threads = 0;
  Precision precision;
};

void add_generate_flags(Flags& flags, GenerateOptions& options, Console& console);

// Errors: invalid_argument naming the flag, for parameters that parsing lets through.
void check_generate_options(const GenerateOptions& options);

// Loads the model and continues the prompt: the continuation alone goes to the output, as it is written; everything else to the
// errors. Without a prompt it is the standard input, and on a terminal a prompt loop.
void generate(Console& console, const GenerateOptions& options, const Device& device);

}  // namespace wick
