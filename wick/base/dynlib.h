// A DynamicLibrary is opened while the program runs, as drivers are: the program starts where there is none.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

namespace wick {

class DynamicLibrary {
 public:
  // By a name that the system looks up ("libOpenCL.so.1") or a path. Its code stays in memory until the process ends, since drivers leave
  // threads behind. Errors: not_found, with the system's reason.
  explicit DynamicLibrary(std::string name);
  ~DynamicLibrary();
  DynamicLibrary(const DynamicLibrary&) = delete;
  DynamicLibrary& operator=(const DynamicLibrary&) = delete;

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  // The address of a symbol; nullptr if the library has none of that name.
  [[nodiscard]] void* find(const char* symbol) const noexcept;
  // The function of that name; nullptr if the library has none: library.function<int(int)>("abs").
  template <class Function>
    requires std::is_function_v<Function>
  [[nodiscard]] Function* function(const char* symbol) const noexcept {
    return reinterpret_cast<Function*>(find(symbol));
  }

 private:
  std::string name_;
  void* handle_;
};

// The first of these libraries that is there. Errors: not_found, saying that it is `purpose`, and `remedy`.
[[nodiscard]] std::shared_ptr<const DynamicLibrary> open_first(std::span<const std::string> names, std::string_view purpose,
                                                               std::string_view remedy);

}  // namespace wick
