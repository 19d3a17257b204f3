// A PreparedWeight is what a device keeps beside the bytes of a weight so that its ops read it faster: the same numbers in an order, or a
// dtype, of the device's own. It hangs on the weight's storage and comes to ops as Operand::prepared; a weight's dtype never tells of it.
#pragma once

#include <cstddef>
#include <functional>

#include "wick/op/op.h"

namespace [[gnu::visibility("default")]] wick {

// Only the device that made it knows what is in it. It must not outlive that device nor the bytes of the weight; when its destructor
// returns, the device reads them no longer.
class PreparedWeight {
 public:
  PreparedWeight() = default;
  virtual ~PreparedWeight() = default;
  PreparedWeight(const PreparedWeight&) = delete;
  PreparedWeight& operator=(const PreparedWeight&) = delete;
};

// The ways in which a weight will be used.
struct WeightUse {
  OpId op = OpId::linear;  // what will read it most: linear, gated_linear or one of the two for experts
  // Told which of the weight's bytes, counted from its first one, ops of this use read no longer, so that their memory may be given back.
  // They must stay readable, from the file that they came from, say. May be called on any thread, several times with overlapping
  // ranges. Empty: they stay in memory, and a device prepares the weight only where it has room for both.
  std::function<void(size_t offset, size_t bytes)> release = {};
};

}  // namespace wick
