// How the fake compilers hand their code to the fake drivers.
#pragma once

#include <cstdint>
#include <functional>

namespace fake_gpu {

inline constexpr char kImageMagic[8] = {'W', 'I', 'C', 'K', 'F', 'A', 'K', 'E'};

// In front of a shared library for the host.
struct ImageHeader {
  char magic[8];
  std::uint64_t bytes;
  char target[48];  // "90" of sm_90a, "gfx942"; empty for compute_90, which runs on what is newer too
};

// The library's fake_bind_<entry>: keeps the arguments, and gives what runs the kernel on a grid in groups of so many lanes.
using Bind = std::function<void(const unsigned* grid, unsigned lanes)>* (*)(void** parameters);

}  // namespace fake_gpu
