// The Compiler is NVRTC, NVIDIA's compiler of CUDA C++ at run time.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "wick/device/streams/run_time_compiler.h"

namespace wick::cuda {

// Where a library of CUDA ("nvrtc") may be, for a driver that knows this version of CUDA: one of the driver's age or older first, as the
// driver takes no code of a newer one.
[[nodiscard]] std::vector<std::string> libraries_of(std::string_view name, int driver_version);
// The remedy if no such library is found: the package that contains it.
[[nodiscard]] std::string remedy_for(std::string_view package);

class Compiler final : public RunTimeCompiler {
 public:
  // The first of these libraries that is there. Errors: not_found, naming what to install; unsupported for one without some function.
  Compiler(std::span<const std::string> libraries, int driver_version);
  [[nodiscard]] static std::vector<std::string> libraries_for(int driver_version);

  [[nodiscard]] int version() const noexcept { return 1000 * release().first + 10 * release().second; }  // as Api::version
  // Why it cannot compile for a processor of this compute capability (90 for 9.0); empty: it can.
  [[nodiscard]] std::string refusal(int capability) const;
  // The option that names the processor: "sm_90a", or "compute_120" where it does not know the processor itself, but an older one.
  [[nodiscard]] std::string target(int capability) const;
  [[nodiscard]] std::vector<std::byte> compile(const std::string& text, const std::string& target,
                                               std::span<const std::string> options = {}) const override;
  [[nodiscard]] std::string key(const std::string& target) const override;

 private:
  int driver_version_;
  std::vector<int> targets_;  // compute capabilities, ascending
};

}  // namespace wick::cuda
