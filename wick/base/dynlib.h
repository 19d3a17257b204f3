// A DynamicLibrary is opened while the program runs, as drivers are: the program starts where there is none.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace wick {

// The folders in which libraries are looked for before the system's own places: those of drivers and compilers that are installed nowhere
// else. For the whole process, and for libraries that are opened from then on.
void set_library_folders(std::vector<std::string> folders);

class DynamicLibrary {
 public:
  // By a name that is looked up ("libOpenCL.so.1") in set_library_folders() and by the system, or a path. Its code stays in memory until
  // the process ends, since drivers leave threads behind. Errors: not_found, with the system's reason.
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
  // The address of a symbol. Errors: unsupported where the library has none of that name, with the remedy if one is given.
  [[nodiscard]] void* require(const char* symbol, std::string_view remedy = {}) const;
  // Sets `function` to the one of that name. Errors: require's.
  template <class Function>
    requires std::is_function_v<Function>
  void bind(const char* symbol, Function*& function, std::string_view remedy = {}) const {
    function = reinterpret_cast<Function*>(require(symbol, remedy));
  }

 private:
  std::string name_;
  void* handle_;
};

// The first of these libraries that is there. Errors: not_found, saying that it is `purpose`, and `remedy`.
[[nodiscard]] std::shared_ptr<const DynamicLibrary> open_first(std::span<const std::string> names, std::string_view purpose,
                                                               std::string_view remedy);

}  // namespace wick
