// A Residency keeps the blocks of a device resident, so that the system need not look at each of them for each command buffer.
#pragma once

#import <Metal/Metal.h>

#include <mutex>

#include "wick/backend/metal/owned.h"

namespace wick::metal {

// A residency set, which macOS 15 brought; on older systems each encoder names what it uses, and this does nothing.
class Residency {
 public:
  Residency(id<MTLDevice> device, id<MTLCommandQueue> queue);

  [[nodiscard]] bool is_there() const noexcept { return static_cast<bool>(set_); }
  void add(id<MTLBuffer> buffer);
  void remove(id<MTLBuffer> buffer);
  // Applies additions and removals, from the next command buffer on.
  void commit();

 private:
  Owned<id> set_;  // of MTLResidencySet, a name that older systems do not have
  std::mutex mutex_;
  bool has_changed_ = false;
};

}  // namespace wick::metal
