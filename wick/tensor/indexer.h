// An Index is an argument of Tensor::i: a number, a range, a step, ids, or a word that leaves dimensions as they are.
//
//   x.i(0)                      slice 0 of the first dimension, without that dimension; -1 is the last slice
//   x.i(range(1, 3))            slices 1 and 2; from(1): all but the first; to(-1): all but the last; range(2, 1): none
//   x.i(range(0, 10, 2))        every second of them
//   x.i(all(), ids)             the columns that a vector of ids (u8, u32, i64) names, in its order; vectors of several arguments
//                               choose independently of each other, unlike NumPy's
//   x.i(ellipsis, 0)            as many all() as there are dimensions without an argument
//   x.i(new_axis, 0)            a new dimension of extent 1
//
// Places below 0 count from the end. Nothing is clamped: a place outside its dimension is index_out_of_range.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <variant>

#include "wick/tensor/tensor.h"

namespace [[gnu::visibility("default")]] wick {

// [start, end) by `step`; a part that is left out reaches to that end of the dimension.
struct Range {
  std::optional<int64_t> start;
  std::optional<int64_t> end;
  int64_t step = 1;
};
[[nodiscard]] constexpr Range range(int64_t start, int64_t end, int64_t step = 1) { return {start, end, step}; }
[[nodiscard]] constexpr Range from(int64_t start) { return {start, std::nullopt}; }
[[nodiscard]] constexpr Range to(int64_t end) { return {std::nullopt, end}; }
[[nodiscard]] constexpr Range all() { return {}; }

struct Ellipsis {};
struct NewAxis {};
inline constexpr Ellipsis ellipsis;
inline constexpr NewAxis new_axis;

// One argument of Tensor::i.
class Index {
 public:
  template <std::integral Place>
  Index(Place place) : value_(static_cast<int64_t>(place)) {}  // NOLINT: arguments are written as what they are
  Index(const Range& range) : value_(range) {}                 // NOLINT
  Index(Ellipsis rest) : value_(rest) {}                       // NOLINT
  Index(NewAxis axis) : value_(axis) {}                        // NOLINT
  Index(Tensor ids) : value_(std::move(ids)) {}                // NOLINT

  [[nodiscard]] const std::variant<int64_t, Range, Ellipsis, NewAxis, Tensor>& value() const noexcept { return value_; }

 private:
  std::variant<int64_t, Range, Ellipsis, NewAxis, Tensor> value_;
};

template <class... Arguments>
Tensor Tensor::i(const Arguments&... arguments) const {
  const std::array<Index, sizeof...(Arguments)> list = {Index(arguments)...};
  return index(list);
}

}  // namespace wick
