// Functions of floats that the standard library computes, one element after the other: one loop for all instruction sets.
#pragma once

namespace wick::cpu {

struct SimdKernels;

// Fills the kinds that have no vector code.
void fill_library_loops(SimdKernels& kernels);

}  // namespace wick::cpu
