// Ids for kernels: checked on the device before anything is written, in the form that kernels read.
#pragma once

#include <memory>

#include "wick/device/op_call.h"
#include "wick/device/runtime.h"

namespace wick::launchers {

// The ids of a call as u32: kernels::kNoId for those that mean "nothing".
struct CheckedIds {
  std::unique_ptr<Buffer> buffer;
  Layout layout;  // of the shape of the ids

  [[nodiscard]] Operand operand() const noexcept { return {buffer.get(), DType::u32, &layout}; }
};

// Whether the host knows that the ids are all among the first `extent` elements, and are i32, so that kernels may read them as u32. Never
// of what is recorded, which runs again on other ids.
[[nodiscard]] bool host_has_checked(const OpCall& call, const Operand& ids, int64_t extent);

// Waits for the device. The ids come in `layout`, or in row-major order. Errors: index_out_of_range for an id that is neither among the
// `extent` elements of dimension `dim` nor means "nothing".
[[nodiscard]] CheckedIds check_ids(const OpCall& call, const Operand& ids, int dim, int64_t extent, const Layout& layout);
[[nodiscard]] inline CheckedIds check_ids(const OpCall& call, const Operand& ids, int dim, int64_t extent) {
  return check_ids(call, ids, dim, extent, Layout(ids.layout->shape()));
}

}  // namespace wick::launchers
