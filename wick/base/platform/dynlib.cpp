#include "wick/base/dynlib.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <utility>

#include "wick/base/fail.h"

namespace wick {

namespace {

struct LibraryFolders {
  std::mutex mutex;
  std::vector<std::string> folders;
};
LibraryFolders& library_folders() {
  static LibraryFolders instance;
  return instance;
}

// A library that is in a folder and cannot be opened is not passed over: the reason is its own.
void* open_library(const std::string& name) {
  constexpr int kMode = RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE;
  LibraryFolders& known = library_folders();
  const std::lock_guard lock(known.mutex);
  for (const std::string& folder : known.folders) {
    const std::string path = fmt::format("{}/{}", folder, name);
    if (name.find('/') == std::string::npos && ::access(path.c_str(), F_OK) == 0) return ::dlopen(path.c_str(), kMode);
  }
  return ::dlopen(name.c_str(), kMode);
}

}  // namespace

void set_library_folders(std::vector<std::string> folders) {
  LibraryFolders& known = library_folders();
  const std::lock_guard lock(known.mutex);
  known.folders = std::move(folders);
}

DynamicLibrary::DynamicLibrary(std::string name) : name_(std::move(name)), handle_(open_library(name_)) {
  if (handle_ != nullptr) return;
  const char* const words = ::dlerror();
  std::string_view reason = words != nullptr ? words : "the system does not say why";
  // "libcuda.so.1: cannot open …": the name is said already.
  if (reason.starts_with(name_ + ": ")) reason.remove_prefix(name_.size() + 2);
  fail(ErrorCode::not_found, "library {} cannot be opened: {}", name_, reason);
}

DynamicLibrary::~DynamicLibrary() { ::dlclose(handle_); }

void* DynamicLibrary::find(const char* symbol) const noexcept { return ::dlsym(handle_, symbol); }

void* DynamicLibrary::require(const char* symbol, std::string_view remedy) const {
  if (void* const address = find(symbol)) return address;
  fail(ErrorCode::unsupported, "library {} has no {}{}{}", name_, symbol, remedy.empty() ? "" : ": ", remedy);
}

std::shared_ptr<const DynamicLibrary> open_first(std::span<const std::string> names, std::string_view purpose, std::string_view remedy) {
  std::string reason;
  for (const std::string& name : names) {
    try {
      return std::make_shared<const DynamicLibrary>(name);
    } catch (const Error& error) {
      if (reason.empty()) reason = error.what();
    }
  }
  const auto others = names.subspan(std::min<size_t>(1, names.size()));
  fail(ErrorCode::not_found, "{}; it is {}: {}{}{}", reason, purpose, remedy,
       others.empty() ? "" : "; also not there: ", fmt::join(others, ", "));
}

}  // namespace wick
