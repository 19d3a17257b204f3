// Registers the benchmarks of the thread pool.
#pragma once

namespace wick {

void register_thread_pool_benchmarks();

}  // namespace wick
