// Errors for a model or cache that exceeds a device's memory: what is needed, what is available, and what would fit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>

#include "wick/model/checkpoint/checkpoint.h"
#include "wick/model/kv/kv_pool.h"
#include "wick/model/placement.h"

namespace wick {

// Bytes that a device has left, where its driver says so; asked before anything is taken, it is what an error can name.
[[nodiscard]] std::optional<size_t> free_memory(const Device& device);

// Throws out_of_memory: the weights that `device` was to have, `free` being what it had before. Of a placement with one device, also how
// many of the layers would fit, and as which type all of them would.
[[noreturn]] void fail_weights_too_large(const Checkpoint& checkpoint, const Device& device, const PlacementOptions& placement,
                                         std::optional<size_t> free);
// Throws out_of_memory: a cache of `options` for `layout`; also how many positions would fit.
[[noreturn]] void fail_cache_too_large(const KvLayout& layout, const KvPoolOptions& options, const Device& device,
                                       std::optional<size_t> free);

}  // namespace wick
