// Common parts of `wick run` and the workers: flags of a generation, and running it on the terminal or through a pipe.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "wick/cli/console.h"
#include "wick/cli/flags/draft_flags.h"
#include "wick/cli/flags/flags.h"
#include "wick/cli/flags/sampling_flags.h"
#include "wick/cli/load_model.h"
#include "wick/device/device.h"
#include "wick/engine/generator.h"
#include "wick/text/grammar/token_constraint.h"

namespace wick {

struct GenerateOptions {
  std::string model;
  std::optional<std::string> prompt;
  std::string file;  // that holds the prompt; "-": standard input; empty: none
  GenerationParams params;
  bool limits_tokens = false;         // --max-tokens was given
  std::vector<std::string> adapters;  // of --lora
  DraftChoice draft;
  SamplingFlags sampling;
  std::optional<OutputFormat> format;
  int64_t context = 0;  // 0: the model's
  int threads = 0;
  bool mlock = false;
  Precision precision;
  bool json = false;
  int64_t top_logprobs = 0;
  bool no_timings = false;
  std::string receipt;           // the file to write; empty: none
  std::string requested_device;  // as it was given, for the receipt
};

void add_generate_flags(Flags& flags, GenerateOptions& options, Console& console);

// Completes options that need the model: its own sampling parameters for unset flags, and tokens: the output format, DRY's breakers.
// Errors: resolve_sampling's; invalid_argument and unsupported, naming the flag or the part of the format.
void resolve_with_model(const Console& console, GenerateOptions& options, const LoadedModel& loaded);

// Reads the prompt, opens device and model, and continues the prompt: the continuation alone goes to the output, as it is written, or all
// that is known of it as JSON; everything else to the errors. Without --prompt and --file the prompt is the standard input; on a terminal
// there is a prompt loop. Errors: also invalid_argument for an empty standard input; an empty --prompt or file begins at the model's BOS.
void generate(Console& console, const GenerateOptions& options, const std::function<ModelDevice()>& open_device);

}  // namespace wick
