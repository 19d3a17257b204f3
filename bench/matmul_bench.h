// The benchmarks of matrix products.
#pragma once

namespace wick {

void register_matmul_benchmarks();

}  // namespace wick
