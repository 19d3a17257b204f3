// Turns a model file into another type: each tensor is read as numbers and packed into blocks, some rows at a time.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "wick/convert/quantize_plan.h"
#include "wick/formats/gguf.h"
#include "wick/formats/importance_matrix.h"

namespace wick {

struct QuantizeOptions {
  const MixInfo* mix = nullptr;
  std::vector<KeepRule> keep = {};
  const ImportanceMatrix* importance = nullptr;  // none
  std::string importance_file = {};              // its name, for the metadata
  int threads = 1;
  // Blocks are packed anew from the numbers of other blocks, which loses more than packing once.
  bool allow_requantize = false;
  // Told how many elements are done; may be empty.
  std::function<void(uint64_t done, uint64_t total, const std::string& tensor)> progress = {};
  // Told what differs from the request: a type that had to be replaced, a table or head without importance. May be empty.
  std::function<void(const std::string& remark)> notice = {};
  // Told which other weights `importance` does not have, so that they lose more accuracy. May be empty.
  std::function<void(const std::string& remark)> warning = {};
};

// The types of the file's tensors, in their order. Errors: plan_quantization's; invalid_argument where a tensor is in blocks already and
// would be packed into others, unless options.allow_requantize.
[[nodiscard]] std::vector<PlannedType> check_plan(const GgufFile& source, const QuantizeOptions& options);

// Writes the file; on an error the target is as it was. The bytes do not depend on the number of threads.
// Errors: check_plan's; not_found, io; invalid_argument: a weight that is NaN or infinite where blocks are wanted, an importance of another
// size than its weight, no importance where the type needs it; unsupported: a type that cannot be read, rows that no block divides.
void quantize_file(const GgufFile& source, const std::filesystem::path& target, const QuantizeOptions& options);

}  // namespace wick
