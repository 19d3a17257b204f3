#include "wick/backend/metal/residency.h"

namespace wick::metal {

Residency::Residency(id<MTLDevice> device, id<MTLCommandQueue> queue) {
  if (@available(macOS 15.0, *)) {
    // Devices of virtual machines may be older than their system.
    if (queue == nil || ![device respondsToSelector:@selector(newResidencySetWithDescriptor:error:)]) return;
    const Owned<MTLResidencySetDescriptor*> descriptor([[MTLResidencySetDescriptor alloc] init]);
    [descriptor.get() setLabel:@"wick"];
    Owned<id<MTLResidencySet>> set([device newResidencySetWithDescriptor:descriptor.get() error:nullptr]);
    if (!set) return;
    [queue addResidencySet:set.get()];
    set_ = Owned<id>::retained(set.get());
  }
}

void Residency::add(id<MTLBuffer> buffer) {
  if (!set_) return;
  const std::lock_guard lock(mutex_);
  if (@available(macOS 15.0, *)) [static_cast<id<MTLResidencySet>>(set_.get()) addAllocation:buffer];
  has_changed_ = true;
}

void Residency::remove(id<MTLBuffer> buffer) {
  if (!set_) return;
  const std::lock_guard lock(mutex_);
  if (@available(macOS 15.0, *)) [static_cast<id<MTLResidencySet>>(set_.get()) removeAllocation:buffer];
  has_changed_ = true;
}

void Residency::commit() {
  if (!set_) return;
  const std::lock_guard lock(mutex_);
  if (!has_changed_) return;
  has_changed_ = false;
  if (@available(macOS 15.0, *)) {
    id<MTLResidencySet> const set = set_.get();
    [set commit];
    [set requestResidency];
  }
}

}  // namespace wick::metal
