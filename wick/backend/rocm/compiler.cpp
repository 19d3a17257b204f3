#include "wick/backend/rocm/compiler.h"

#include <fmt/ranges.h>

#include <array>
#include <utility>

#include "wick/backend/rocm/api.h"
#include "wick/backend/rocm/architectures.h"
#include "wick/base/fail.h"

namespace wick::rocm {
namespace {

constexpr const char* kStandard = "--std=c++17";
constexpr std::array<const char*, 1> kCodes{"Code"};

}  // namespace

std::shared_ptr<const DynamicLibrary> Compiler::open_library(const std::shared_ptr<const DynamicLibrary>& hip, int hip_version) {
  const int major = hip_version / 10'000'000;
  const std::vector<std::string> names = libraries_of("hiprtc", major, major);
  try {
    return open_first(names, "HIP's run-time compiler", "install ROCm's package hiprtc or hip-runtime-amd");
  } catch (const Error&) {
    if (hip->find("hiprtcCompileProgram") == nullptr) throw;
    return hip;
  }
}

Compiler::Compiler(std::shared_ptr<const DynamicLibrary> library, int hip_version)
    : RunTimeCompiler(std::move(library), {"hiprtc", "that of HIP 5.2 or newer is needed", kCodes, raise_rocm_error}),
      hip_version_(hip_version) {}

std::string Compiler::refusal(std::string_view processor) const {
  const Architecture* const architecture = find_architecture(processor);
  if (architecture == nullptr) {
    std::vector<std::string_view> names;
    for (const Architecture& known : architectures()) names.push_back(known.name);
    return fmt::format("this version of Wick has no architecture {}; it has {}", processor, fmt::join(names, ", "));
  }
  if (architecture->since <= hip_version_) return {};
  return fmt::format("the compiler of HIP {} ({}) does not know {}: install ROCm {} or newer", version_text(hip_version_), library(),
                     processor, version_text(architecture->since));
}

std::vector<std::byte> Compiler::compile(const std::string& text, const std::string& target, std::span<const std::string> options) const {
  if (const std::string reason = refusal(target); !reason.empty()) fail(ErrorCode::unsupported, "{}", reason);
  std::vector<std::string> all{"--gpu-architecture=" + target, kStandard};
  for (std::string& option : instruction_options(*find_architecture(target))) all.push_back(std::move(option));
  all.insert(all.end(), options.begin(), options.end());
  return run(text, all, "Code");
}

std::string Compiler::key(const std::string& target) const {
  return fmt::format("hiprtc {}.{} of HIP {} {} {}\n{}", release().first, release().second, hip_version_, kStandard,
                     fmt::join(instruction_options(*find_architecture(target)), " "), target);
}

}  // namespace wick::rocm
