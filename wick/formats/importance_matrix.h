// Importance matrices: for each weight the mean squares of its inputs, column by column, which tell a quantizer what errors cost.
// Definition: llama.cpp's tools/imatrix, in both its forms, GGUF and the older .dat.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace wick {

struct ImportanceEntry {
  std::vector<float> sums;    // Σ x² of each column; of models with experts, those of one expert after another
  std::vector<float> counts;  // inputs that were added: one number, or one for each expert

  // Σ x² / count; 1 where nothing was counted.
  [[nodiscard]] std::vector<float> means() const;
};

struct ImportanceMatrix {
  std::map<std::string, ImportanceEntry, std::less<>> entries;  // by the weight's name
  std::vector<std::string> datasets;
  uint32_t chunks = 0;
  uint32_t chunk_tokens = 0;  // 0: not known

  [[nodiscard]] const ImportanceEntry* find(std::string_view weight) const;

  // Reads either form. Errors: not_found, io, corrupt_file (a number that is not finite too), naming file and entry.
  [[nodiscard]] static ImportanceMatrix read(const std::filesystem::path& path);
  // Writes the GGUF form, or the older one if the path ends in ".dat". Errors: not_found, io.
  void write(const std::filesystem::path& path) const;
};

}  // namespace wick
