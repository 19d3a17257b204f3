// ReclaimablePages is the WeightUse::release of a weight that no file has: it lies in memory of this process that Tensor::import_host was
// given and that nothing else reads.
#pragma once

#include <cstddef>

namespace wick {

// A device that finds it in a WeightUse may give back the pages of what it has prepared, and writes the bytes again when somebody asks for
// them (Buffer::host_data). Calling it does nothing: the bytes stay.
struct ReclaimablePages {
  void operator()(size_t /*offset*/, size_t /*bytes*/) const noexcept {}
};

}  // namespace wick
