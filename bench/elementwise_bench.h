// Benchmarks of elementwise ops, reductions and rows, and of ops on a few elements.
#pragma once

namespace wick {

void register_elementwise_benchmarks();

}  // namespace wick
