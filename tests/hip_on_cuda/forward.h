// A function of one library that is a function of another under its own name.
#pragma once

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

namespace forward {

inline void* must_have(void* address, const char* what) {
  if (address != nullptr) return address;
  std::fprintf(stderr, "HIP on CUDA: %s: %s\n", what, dlerror());
  std::abort();
}

}  // namespace forward

#define EXPORT extern "C" __attribute__((visibility("default")))
// FORWARD(hipMalloc, "cuMemAlloc_v2", (void** address, size_t bytes), (address, bytes)): `library()` has the second.
#define FORWARD(name, other, parameters, arguments)                                                               \
  EXPORT int name parameters {                                                                                    \
    using Function = int(*) parameters;                                                                           \
    static const auto forwarded = reinterpret_cast<Function>(forward::must_have(dlsym(library(), other), other)); \
    return forwarded arguments;                                                                                   \
  }
