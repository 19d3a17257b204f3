// An IndexWalk goes over the places of an op with ids: for each one, where its id is, where its value is, and which elements of the
// indexed operand the id chooses among.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "wick/layout/layout.h"
#include "wick/op/op.h"

namespace wick::cpu {

// The operands of a walk, as its arrays number them.
enum WalkOperand : size_t { kIds, kValues, kIndexed };

struct WalkRow {
  std::array<int64_t, 3> offsets;
  std::array<int64_t, 3> strides;
  int64_t count;
};

class IndexWalk {
 public:
  // `ids` and `values` have one shape (ids of whole slices are broadcast to it). The element that an id chooses is at the indexed
  // operand's offset + id · step(), all in elements.
  IndexWalk(const Layout& ids, const Layout& values, const Layout& indexed, int dim);
  // Two operands of one shape and no ids: kIndexed stays where it is.
  IndexWalk(const Layout& first, const Layout& second);

  [[nodiscard]] int64_t elements() const noexcept { return elements_; }
  [[nodiscard]] int64_t step() const noexcept { return step_; }
  [[nodiscard]] int64_t row_length() const noexcept { return extents_[static_cast<size_t>(rank_ - 1)]; }

  // Calls body(row) for the rows that make up the places from `begin` to `end` in row-major order; the first and last may be parts.
  template <class Body>
  void for_each_row(int64_t begin, int64_t end, Body&& body) const {
    const auto last = static_cast<size_t>(rank_ - 1);
    std::array<int64_t, kMaxRank> index{};
    WalkRow row{offsets_, {strides_[0][last], strides_[1][last], strides_[2][last]}, 0};
    int64_t rest = begin;
    for (size_t d = last + 1; d-- > 0;) {
      index[d] = rest % extents_[d];
      rest /= extents_[d];
      for (size_t operand = 0; operand < 3; ++operand) row.offsets[operand] += index[d] * strides_[operand][d];
    }
    while (begin < end) {
      row.count = std::min(extents_[last] - index[last], end - begin);
      body(row);
      begin += row.count;
      for (size_t operand = 0; operand < 3; ++operand) row.offsets[operand] -= index[last] * strides_[operand][last];
      index[last] = 0;
      for (size_t d = last; d-- > 0;) {
        for (size_t operand = 0; operand < 3; ++operand) row.offsets[operand] += strides_[operand][d];
        if (++index[d] < extents_[d]) break;
        for (size_t operand = 0; operand < 3; ++operand) row.offsets[operand] -= strides_[operand][d] * extents_[d];
        index[d] = 0;
      }
    }
  }

 private:
  // Neighbouring dimensions that are one run in all three operands become one dimension.
  void merge();

  int rank_ = 0;
  int64_t elements_ = 1;
  int64_t step_ = 0;
  std::array<int64_t, kMaxRank> extents_{};
  std::array<std::array<int64_t, kMaxRank>, 3> strides_{};
  std::array<int64_t, 3> offsets_{};
};

}  // namespace wick::cpu
