// How the fake compiler hands its code to the fake driver.
#pragma once

#include <cstdint>
#include <functional>

namespace fake_cuda {

inline constexpr char kImageMagic[8] = {'W', 'I', 'C', 'K', 'F', 'A', 'K', 'E'};

// In front of a shared library for the host.
struct ImageHeader {
  char magic[8];
  std::uint64_t bytes;
  std::uint64_t target;  // 90 of sm_90a; 0 of compute_90, which runs on what is newer too
};

// The library's fake_bind_<entry>: keeps the arguments, and gives what runs the kernel on a grid in groups of so many lanes.
using Bind = std::function<void(const unsigned* grid, unsigned lanes)>* (*)(void** parameters);

}  // namespace fake_cuda
