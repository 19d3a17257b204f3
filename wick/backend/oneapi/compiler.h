// Compiler is ocloc, Intel's offline compiler, as the library that comes with their driver: OpenCL C becomes SPIR-V in this process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "wick/base/dynlib.h"

namespace wick::oneapi {

class Compiler {
 public:
  // Errors: not_found, saying what to install; unsupported for a library that is not ocloc.
  Compiler();

  // SPIR-V from a text, for the device of that number of its vendor's. Errors: CompilerError (kernel_driver.h) with the compiler's log.
  [[nodiscard]] std::vector<std::byte> compile(const std::string& text, uint32_t device_id, const std::string& options) const;

 private:
  using Invoke = int(unsigned, const char**, uint32_t, const uint8_t**, const uint64_t*, const char**, uint32_t, const uint8_t**,
                     const uint64_t*, const char**, uint32_t*, uint8_t***, uint64_t**, char***);
  using Free = int(uint32_t*, uint8_t***, uint64_t**, char***);

  std::shared_ptr<const DynamicLibrary> library_;
  Invoke* invoke_;
  Free* free_;
};

}  // namespace wick::oneapi
