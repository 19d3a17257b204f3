// The kernels of the library as ops build them, for every dtype and form: more than all compilers have time for, so they are sampled.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "wick/ir/kernel.h"
#include "wick/op/device_caps.h"

namespace wick::ir {

// Of each function in kernels/, and each of its operators, so many kernels for such a device, chosen by the seed.
[[nodiscard]] std::vector<Kernel> sampled_kernels(const DeviceCaps& caps, uint64_t seed, std::size_t each);

// WICK_TEXT_SEED, or 1.
[[nodiscard]] uint64_t text_seed();

}  // namespace wick::ir
