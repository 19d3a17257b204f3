#include "wick/layout/dtype.h"

namespace wick {

std::optional<DType> parse_dtype(std::string_view name) noexcept {
  for (const DTypeInfo& row : kDTypeRows) {
    if (row.name == name) return row.dtype;
  }
  return std::nullopt;
}

}  // namespace wick
