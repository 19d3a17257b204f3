// A receipt says what was computed, with everything that the text depends on, by which build, from which model file, on which device, by
// which kernels and how fast; `wick verify-receipt` checks that it says so still.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "wick/cli/commands/generation_report.h"
#include "wick/cli/load_model.h"
#include "wick/text/grammar/token_constraint.h"

namespace wick {

struct ReceiptSubject {
  std::string program;           // "wick run"
  std::string requested_device;  // as it was given: "auto"
  const LoadedModel& loaded;
  const GenerationReport& report;
  const GenerationParams& params;
  const std::optional<OutputFormat>& format;  // that params.constraint was compiled from
  const std::vector<std::string>& adapters;   // values of --lora
  const Precision& precision;
  int64_t context;                    // in tokens
  const PlacementOptions& placement;  // of the model on the device and the CPU
  std::string prompt;
  std::map<std::string, uint64_t> kernels;  // launches by name
};

// Reads the whole model file for its checksum. Errors: io.
void write_receipt(const std::filesystem::path& path, const ReceiptSubject& subject);

// Errors: corrupt_file for one that was changed, that lacks a part or contradicts itself; not_found, or invalid_argument if the model file
// is another one. `model`: where the file is now; empty: where the receipt says.
nlohmann::ordered_json verify_receipt(const std::filesystem::path& path, const std::string& model);

}  // namespace wick
