// The Compiler is NVRTC, NVIDIA's compiler of CUDA C++ at run time.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "wick/base/dynlib.h"

namespace wick::cuda {

// Where a library of CUDA ("nvrtc") may be, for a driver that knows this version of CUDA: one of the driver's age or older first, as the
// driver takes no code of a newer one.
[[nodiscard]] std::vector<std::string> libraries_of(std::string_view name, int driver_version);
// The first of these that is there. Errors: not_found, saying that it is `purpose` and that `package` has it.
[[nodiscard]] std::unique_ptr<const DynamicLibrary> open_first(std::span<const std::string> libraries, std::string_view purpose,
                                                               std::string_view package);

class Compiler {
 public:
  // The first of these libraries that is there. Errors: not_found, naming what to install; unsupported for one without some function.
  explicit Compiler(std::span<const std::string> libraries);
  [[nodiscard]] static std::vector<std::string> libraries_for(int driver_version);

  [[nodiscard]] int version() const noexcept { return version_; }  // as Api::version
  [[nodiscard]] const std::string& library() const noexcept { return library_->name(); }
  // Why it cannot compile for a processor of this compute capability (90 for 9.0); empty: it can.
  [[nodiscard]] std::string refusal(int capability) const;
  // The option that names the processor: "sm_90a", or "compute_120" where it does not know the processor itself, but an older one.
  [[nodiscard]] std::string target(int capability) const;
  // Code for that target. Errors: CompilerError (kernel_driver.h) with the compiler's log.
  [[nodiscard]] std::vector<std::byte> compile(const std::string& text, const std::string& target,
                                               std::span<const std::string> options = {}) const;
  // What its output depends on beside text and target.
  [[nodiscard]] std::string key() const;

 private:
  struct Functions {
    int (*version)(int*, int*) = nullptr;
    int (*target_count)(int*) = nullptr;
    int (*targets)(int*) = nullptr;
    int (*create)(void**, const char*, const char*, int, const char* const*, const char* const*) = nullptr;
    int (*destroy)(void**) = nullptr;
    int (*compile)(void*, int, const char* const*) = nullptr;
    int (*code_size)(void*, size_t*) = nullptr;
    int (*code)(void*, char*) = nullptr;
    int (*ptx_size)(void*, size_t*) = nullptr;
    int (*ptx)(void*, char*) = nullptr;
    int (*log_size)(void*, size_t*) = nullptr;
    int (*log)(void*, char*) = nullptr;
    const char* (*status_name)(int) = nullptr;
  };
  void bind_all();
  void check(int status, std::string_view call) const;
  [[nodiscard]] std::string log_of(void* program) const;

  std::unique_ptr<const DynamicLibrary> library_;
  Functions functions_;
  int version_ = 0;
  std::vector<int> targets_;  // compute capabilities, ascending
};

}  // namespace wick::cuda
