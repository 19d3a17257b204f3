#include "wick/tensor/ops/index_ids.h"

#include <array>
#include <limits>

#include "wick/base/fail.h"
#include "wick/op/index_range.h"
#include "wick/tensor/ops/reference.h"

namespace wick {
namespace {

double largest_id(DType dtype) {
  switch (dtype) {
    case DType::u8: return std::numeric_limits<uint8_t>::max();
    case DType::u32: return std::numeric_limits<uint32_t>::max();
    case DType::i32: return std::numeric_limits<int32_t>::max();
    default: return static_cast<double>(std::numeric_limits<int64_t>::max());
  }
}

}  // namespace

void check_id_dtype(std::string_view op, const Tensor& ids) {
  switch (ids.dtype()) {
    case DType::u8:
    case DType::u32:
    case DType::i32:
    case DType::i64: return;
    default: fail(ErrorCode::dtype_mismatch, "{}: ids {} must be u8, u32, i32 or i64", op, ids.describe());
  }
}

Shape with_extent(const Shape& shape, int dim, int64_t extent) {
  std::vector<int64_t> dims(shape.dims().begin(), shape.dims().end());
  dims[static_cast<size_t>(dim)] = extent;
  return Shape(std::span<const int64_t>(dims));
}

std::vector<size_t> checked_ids(OpId op, const ReferenceTensor& ids, int dim, int64_t extent) {
  std::vector<size_t> numbers(ids.values.size());
  for (size_t at = 0; at < numbers.size(); ++at) {
    const double id = ids.values[at];
    if (id >= static_cast<double>(extent) && id == largest_id(ids.dtype)) {
      numbers[at] = kNothing;
      continue;
    }
    if (id < 0 || id >= static_cast<double>(extent)) {
      fail_index(op, static_cast<int64_t>(id), ids.shape, static_cast<int64_t>(at), dim, extent);
    }
    numbers[at] = static_cast<size_t>(id);
  }
  return numbers;
}

std::vector<size_t> chosen_places(const std::vector<size_t>& ids, const Shape& ids_shape, const Shape& target, int dim) {
  const Layout rows(target);
  std::vector<size_t> places(ids.size());
  for (size_t at = 0; at < ids.size(); ++at) {
    if (ids[at] == kNothing) {
      places[at] = kNothing;
      continue;
    }
    auto rest = static_cast<int64_t>(at);
    int64_t place = 0;
    for (int d = ids_shape.rank() - 1; d >= 0; --d) {
      const int64_t index = d == dim ? static_cast<int64_t>(ids[at]) : rest % ids_shape[d];
      rest /= ids_shape[d];
      place += index * rows.stride(d);
    }
    places[at] = static_cast<size_t>(place);
  }
  return places;
}

double added(DType dtype, double sum, double value) {
  if (!is_integer(dtype)) return sum + value;
  const auto wide = static_cast<uint64_t>(as_integer(sum)) + static_cast<uint64_t>(as_integer(value));
  return wrap_integer(dtype, static_cast<int64_t>(wide));
}

}  // namespace wick
