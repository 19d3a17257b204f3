// The suite of `wick bench`: one synthetic model of each type, and how near to the machine's limits it runs.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "wick/cli/load_model.h"
#include "wick/cli/measure/speed.h"

namespace wick {

struct SuiteOptions {
  std::vector<std::string> types = {"q8_0", "q4_0", "q4_k_m", "bf16", "f16", "tq2_0"};
  std::string shape = "1b";
  std::filesystem::path folder;  // for the models, one at a time; empty: the system's for temporary files
  SpeedOptions speed = {.gen_tokens = 64};
  Precision precision;
  bool json = false;
};

// Bandwidth and arithmetic are measured right before and right after each model.
// Errors: invalid_argument for a type or shape that cannot be made up, before anything is measured; io where the folder is full.
void run_bench_suite(const Console& console, const SuiteOptions& options, const Device& device);

}  // namespace wick
