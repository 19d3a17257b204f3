// What the fake compilers put before a kernel's text: CUDA C++ or HIP C++ as C++ for the host, and how the fake drivers start it.
#pragma once

#include "cuda_on_host.h"

inline constexpr unsigned kFakeWarp = FAKE_WARP;

template <class... A>
std::function<void(const unsigned*, unsigned)>* fake_bind(void (*kernel)(A...), void** parameters) {
  std::size_t next = 0;
  std::tuple<std::remove_const_t<A>...> values{*static_cast<std::remove_const_t<A>*>(parameters[next++])...};
  return new std::function<void(const unsigned*, unsigned)>(
      [=](const unsigned* grid, unsigned lanes) { shim::run(grid, lanes, kFakeWarp, [=] { std::apply(kernel, values); }); });
}
