// --draft-model: a small model proposes tokens, and the large one checks several in one step (speculative decoding).
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "wick/cli/flags/flags.h"
#include "wick/cli/load_model.h"
#include "wick/engine/engine_options.h"

namespace wick {

struct DraftChoice {
  std::string model;  // as --model takes it; empty: none
  int64_t tokens = SpeculationOptions{}.most;
};

// --draft-model and --draft-tokens.
void add_draft(Flags& flags, DraftChoice& draft, const std::string& group = "Flags");

// The draft model, on the device of the model that checks it; nullptr without --draft-model.
// Errors: load_model's; invalid_argument for a model with other tokens.
[[nodiscard]] std::shared_ptr<LanguageModel> load_draft(const Console& console, const DraftChoice& draft, const LoadedModel& target,
                                                        const Precision& precision);

}  // namespace wick
