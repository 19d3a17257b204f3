#include "wick/base/dynlib.h"

#include <dlfcn.h>

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

}  // namespace wick
