#include "wick/backend/webgpu/api.h"

#include <fmt/format.h>

#include <array>

#include "wick/base/fail.h"

namespace wick::webgpu {
namespace {

constexpr std::string_view kRemedy =
    "install wgpu-native 29 from github.com/gfx-rs/wgpu-native, or `pip install wgpu==0.32.0`, and put the folder of its library into "
    "WICK_LIBRARY_PATH";

// As its own releases name it, and as PyPI's package wgpu does.
const std::array<std::string, 2> kLibraries{"libwgpu_native.so", "libwgpu_native-release.so"};

std::string version_text(uint32_t version) {
  return fmt::format("{}.{}.{}.{}", version >> 24, version >> 16 & 0xff, version >> 8 & 0xff, version & 0xff);
}

}  // namespace

Library::Library() : library(open_first(kLibraries, "wgpu-native, an implementation of WebGPU", kRemedy)) {
  // Before anything else is called: of another version, structures would have another layout.
  const uint32_t number = reinterpret_cast<uint32_t (*)()>(find("GetVersion"))();
  version = version_text(number);
  if (number >> 24 != kAbiVersion) {
    fail(ErrorCode::unsupported, "library {} is wgpu-native {}, and this backend calls version {}; {}", library->name(), version,
         kAbiVersion, kRemedy);
  }
}

void* Library::find(std::string_view name) const {
  const std::string full = fmt::format("wgpu{}", name);
  if (void* const function = library->find(full.c_str())) return function;
  const std::string which = version.empty() ? "no wgpu-native" : fmt::format("wgpu-native {}", version);
  fail(ErrorCode::unsupported, "library {} has no {}: it is {}, and this backend calls version {}; {}", library->name(), full, which,
       kAbiVersion, kRemedy);
}

}  // namespace wick::webgpu
