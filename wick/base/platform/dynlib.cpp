#include "wick/base/dynlib.h"

#include <dlfcn.h>
#include <fmt/ranges.h>

#include <utility>

#include "wick/base/fail.h"

namespace wick {

DynamicLibrary::DynamicLibrary(std::string name)
    : name_(std::move(name)), handle_(::dlopen(name_.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE)) {
  if (handle_ != nullptr) return;
  const char* reason = ::dlerror();
  fail(ErrorCode::not_found, "library {} cannot be opened: {}", name_, reason != nullptr ? reason : "the system does not say why");
}

DynamicLibrary::~DynamicLibrary() { ::dlclose(handle_); }

void* DynamicLibrary::find(const char* symbol) const noexcept { return ::dlsym(handle_, symbol); }

std::shared_ptr<const DynamicLibrary> open_first(std::span<const std::string> names, std::string_view purpose, std::string_view remedy) {
  std::string reason;
  for (const std::string& name : names) {
    try {
      return std::make_shared<const DynamicLibrary>(name);
    } catch (const Error& error) {
      if (reason.empty()) reason = error.what();
    }
  }
  fail(ErrorCode::not_found, "{}; it is {}: {}; also not there: {}", reason, purpose, remedy, fmt::join(names.subspan(1), ", "));
}

}  // namespace wick
