// The Compiler is hiprtc, AMD's compiler of HIP C++ at run time.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "wick/device/streams/run_time_compiler.h"

namespace wick::rocm {

class Compiler final : public RunTimeCompiler {
 public:
  // `hip_version`: that of HIP (Api::version), which the compiler is part of. Errors: not_found, naming what to install; unsupported for a
  // library without some function.
  Compiler(std::shared_ptr<const DynamicLibrary> library, int hip_version);
  // A library of its own of the same major version, or `hip`, HIP's own, where that holds it (before ROCm 6).
  [[nodiscard]] static std::shared_ptr<const DynamicLibrary> open_library(const std::shared_ptr<const DynamicLibrary>& hip,
                                                                          int hip_version);

  // Why it cannot compile for a processor ("gfx90a"); empty: it can. Whatever it is asked about others, an older one ends the process.
  [[nodiscard]] std::string refusal(std::string_view processor) const;
  [[nodiscard]] std::vector<std::byte> compile(const std::string& text, const std::string& target,
                                               std::span<const std::string> options = {}) const override;
  [[nodiscard]] std::string key(const std::string& target) const override;

 private:
  int hip_version_;
};

}  // namespace wick::rocm
