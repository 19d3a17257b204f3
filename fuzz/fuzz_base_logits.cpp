// Reads any bytes as a file of log-probabilities (wick perplexity --kl-divergence-base); only wick::Error may come of it.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <vector>

#include "command_run.h"
#include "outcome.h"
#include "wick/base/error.h"
#include "wick/cli/measure/base_logits.h"

namespace {

volatile double sink = 0;

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::filesystem::path file = wick::fuzz::folder() / "base.logits";
  wick::fuzz::write(file, data, size);
  try {
    const wick::BaseLogits base = wick::BaseLogits::open(file);
    std::vector<float> row(static_cast<size_t>(base.header().vocabulary));
    const int64_t rows = base.header().chunks * base.header().rows_per_chunk();
    for (const int64_t index : {int64_t{0}, rows - 1}) {
      if (index < 0 || index >= rows) continue;
      base.read_row(index, row);
      for (const float number : row) sink = sink + number;
    }
    ++wick::fuzz::outcome.accepted;
  } catch (const wick::Error&) {
    ++wick::fuzz::outcome.refused;
  }
  return 0;
}
