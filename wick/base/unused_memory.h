// Memory that this process has freed, and its allocator keeps for later.
#pragma once

namespace wick {

// Gives it back to the system, where the allocator can do so: after a large part of a process has ended, such as a model.
void release_unused_memory() noexcept;

}  // namespace wick
