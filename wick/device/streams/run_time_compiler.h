// A RunTimeCompiler is a vendor's compiler of C++ for its GPUs that runs in this process. Vendors gave theirs the same functions, each
// under its own prefix.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wick/base/dynlib.h"
#include "wick/device/driver_error.h"

namespace wick {

struct RunTimeCompilerNames {
  std::string_view prefix;             // of its functions
  std::string_view needed;             // for errors: "… 11.2 or newer is needed"
  std::span<const char* const> codes;  // the kinds of code that it gives, as its functions name them
  void (*raise)(ErrorCode code, const std::string& message, DriverFailure failure);  // throws the vendor's own DriverError
};

class RunTimeCompiler {
 public:
  RunTimeCompiler(const RunTimeCompiler&) = delete;
  RunTimeCompiler& operator=(const RunTimeCompiler&) = delete;
  virtual ~RunTimeCompiler() = default;

  // Code for that processor, as the vendor's class names it. Errors: CompilerError (kernel_driver.h) with the compiler's log.
  [[nodiscard]] virtual std::vector<std::byte> compile(const std::string& text, const std::string& target,
                                                       std::span<const std::string> options = {}) const = 0;
  // The cache key of the output in addition to text and options.
  [[nodiscard]] virtual std::string key(const std::string& target) const = 0;
  [[nodiscard]] const std::string& library() const noexcept { return library_->name(); }

 protected:
  // Headers that texts include, as text: the compiler needs no files.
  struct Headers {
    std::span<const char* const> texts, names;
  };

  // Errors: unsupported for a library without some function.
  RunTimeCompiler(std::shared_ptr<const DynamicLibrary> library, const RunTimeCompilerNames& names);

  // Errors: unsupported for a library without it.
  template <class Function>
  [[nodiscard]] Function* find(std::string_view name) const {
    return reinterpret_cast<Function*>(find_any(name));
  }
  void check(int status, std::string_view name) const;
  [[nodiscard]] std::pair<int, int> release() const noexcept { return release_; }  // major and minor
  // `code`: one of RunTimeCompilerNames::codes.
  [[nodiscard]] std::vector<std::byte> run(const std::string& text, std::span<const std::string> options, std::string_view code,
                                           const Headers& headers = {}) const;

 private:
  struct Functions {
    int (*create)(void**, const char*, const char*, int, const char* const*, const char* const*);
    int (*destroy)(void**);
    int (*compile)(void*, int, const char* const*);
    int (*log_size)(void*, size_t*);
    int (*log)(void*, char*);
    const char* (*status_name)(int);
  };
  [[nodiscard]] void* find_any(std::string_view name) const;
  [[nodiscard]] std::string log_of(void* program) const;

  std::shared_ptr<const DynamicLibrary> library_;
  RunTimeCompilerNames names_;
  Functions functions_{};
  std::pair<int, int> release_;
};

}  // namespace wick
