// --lora: low-rank adapters that a program gives its model.
#pragma once

#include <string>
#include <vector>

#include "wick/cli/flags/flags.h"
#include "wick/engine/generation.h"
#include "wick/model/language_model.h"

namespace wick {

// --lora FILE[=SCALE], repeatable: adapters that every text goes through.
void add_adapter_files(Flags& flags, std::vector<std::string>& values);
// The same for a program that may serve, and then takes --lora NAME=FILE.
void add_adapters_of_worker(Flags& flags, std::vector<std::string>& values);

// "FILE", or "FILE=SCALE" where what follows the last = is a number.
struct AdapterFile {
  std::string path;
  float scale = 1;
};
[[nodiscard]] AdapterFile parse_adapter_file(const std::string& value);

// Gives it to the model under a name. Errors: those of LoraAdapter::open and LanguageModel::add_adapter.
void load_adapter(const AdapterFile& file, const std::string& name, LanguageModel& model);
// Gives all to the model, each under its file's path, and has a generation go through them. Errors: those of load_adapter.
void load_adapters(const std::vector<std::string>& values, LanguageModel& model, GenerationParams& params);

}  // namespace wick
