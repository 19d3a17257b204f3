#include "wick/model/batch.h"

#include <algorithm>
#include <numeric>

#include "wick/base/fail.h"

namespace wick {

void Batch::add(SequenceHandle sequence, int64_t position, std::span<const int32_t> more, Results results,
                std::span<const AdapterUse> adapters) {
  const auto count = static_cast<int64_t>(more.size());
  sequences.push_back({rows(), count, sequence, adapters});
  tokens.insert(tokens.end(), more.begin(), more.end());
  for (int64_t index = 0; index < count; ++index) positions.push_back(static_cast<int32_t>(position + index));
  const int64_t wanted = results == Results::none ? 0 : results == Results::last ? std::min<int64_t>(count, 1) : count;
  for (int64_t row = rows() - wanted; row < rows(); ++row) logit_rows.push_back(static_cast<int32_t>(row));
}

namespace {

void check_no_sequence_twice(std::span<const SequenceSlice> slices) {
  std::vector<uint64_t> seen;
  for (const SequenceSlice& slice : slices) {
    if (!slice.sequence.empty()) seen.push_back(uint64_t{slice.sequence.pool} << 32 | slice.sequence.index);
  }
  std::sort(seen.begin(), seen.end());
  const auto twice = std::adjacent_find(seen.begin(), seen.end());
  if (twice == seen.end()) return;
  fail(ErrorCode::invalid_argument, "batch: sequence {} is in it twice; give all its tokens in one slice", *twice & 0xFFFFFFFFU);
}

}  // namespace

void Batch::check() const {
  if (sequences.empty()) fail(ErrorCode::invalid_argument, "batch: no sequence; give the tokens of at least one");
  if (positions.size() != tokens.size()) {
    fail(ErrorCode::invalid_argument, "batch: {} tokens and {} positions; give one position a token", tokens.size(), positions.size());
  }
  int64_t expected = 0;
  for (size_t index = 0; index < sequences.size(); ++index) {
    const SequenceSlice& slice = sequences[index];
    if (slice.first != expected || slice.count < 1 || slice.count > rows() - expected) {
      fail(ErrorCode::invalid_argument, "batch: slice {} has {} rows from row {} on, of {}; give at least one, from row {} on", index,
           slice.count, slice.first, rows(), expected);
    }
    expected += slice.count;
  }
  if (expected != rows()) fail(ErrorCode::invalid_argument, "batch: its slices have {} rows and it has {} tokens", expected, rows());
  for (const int32_t row : logit_rows) {
    if (row < 0 || row >= rows()) fail(ErrorCode::index_out_of_range, "batch: logit row {} of {} rows", row, rows());
  }
  if (sequences.size() > 1) check_no_sequence_twice(sequences);
}

}  // namespace wick
