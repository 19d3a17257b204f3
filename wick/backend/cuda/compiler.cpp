#include "wick/backend/cuda/compiler.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "wick/backend/cuda/api.h"
#include "wick/backend/cuda/cuda.h"
#include "wick/backend/cuda/headers.h"

namespace wick::cuda {
namespace {

// The newest major version whose library's name we know, and the oldest that we take. Both grow with NVIDIA's releases.
constexpr int kNewestMajor = 14, kOldestMajor = 12;
// Where NVIDIA's own packages put it without telling the system.
constexpr std::string_view kToolkit = "/usr/local/cuda/lib64/";
// The first processor whose own instructions ask for a target of their own: "sm_90a".
constexpr int kFirstWithOwnInstructions = 90;
constexpr const char* kStandard = "--std=c++17";
constexpr std::array<const char*, 2> kCodes{"CUBIN", "PTX"};

}  // namespace

std::vector<std::string> libraries_of(std::string_view name, int driver_version) {
  std::vector<std::string> names;
  for (int major = std::min(driver_version / 1000, kNewestMajor); major >= kOldestMajor; --major) {
    names.push_back(fmt::format("lib{}.so.{}", name, major));
    names.push_back(fmt::format("{}lib{}.so.{}", kToolkit, name, major));
  }
  return names;
}

std::string remedy_for(std::string_view package) {
  return fmt::format("install NVIDIA's package {}, or that of PyPI with its folder in LD_LIBRARY_PATH", package);
}

std::vector<std::string> Compiler::libraries_for(int driver_version) {
  std::vector<std::string> names = libraries_of("nvrtc", driver_version);
  names.emplace_back("libnvrtc.so.11.2");
  return names;
}

Compiler::Compiler(std::span<const std::string> libraries, int driver_version)
    : RunTimeCompiler(open_first(libraries, "CUDA's run-time compiler", remedy_for("cuda-nvrtc")),
                      {"nvrtc", "NVRTC 11.2 or newer is needed", kCodes, raise_cuda_error}),
      driver_version_(driver_version) {
  int count = 0;
  check(find<int(int*)>("GetNumSupportedArchs")(&count), "GetNumSupportedArchs");
  targets_.resize(static_cast<size_t>(count));
  check(find<int(int*)>("GetSupportedArchs")(targets_.data()), "GetSupportedArchs");
  std::sort(targets_.begin(), targets_.end());
}

std::string Compiler::refusal(int capability) const {
  if (!targets_.empty() && capability >= targets_.front()) return {};
  return fmt::format("NVRTC {} ({}) compiles for compute capability {} and newer, and this device has {}: install an older one",
                     version_text(version()), library(), targets_.empty() ? 0 : targets_.front(), capability);
}

std::string Compiler::target(int capability) const {
  if (std::binary_search(targets_.begin(), targets_.end(), capability)) {
    return fmt::format("sm_{}{}", capability, capability >= kFirstWithOwnInstructions ? "a" : "");
  }
  // Newer than the compiler, or of a branch that it does not know: the driver translates what is compiled for the next older one.
  return fmt::format("compute_{}", *(std::upper_bound(targets_.begin(), targets_.end(), capability) - 1));
}

std::vector<std::byte> Compiler::compile(const std::string& text, const std::string& target, std::span<const std::string> options) const {
  std::vector<std::string> all{"--gpu-architecture=" + target, kStandard};
  all.insert(all.end(), options.begin(), options.end());
  return run(text, all, target.starts_with("sm_") ? "CUBIN" : "PTX", {header_texts(), header_names()});
}

std::string Compiler::key(const std::string& target) const {
  // Code for a processor is the driver's concern only where it compiles it.
  return fmt::format("NVRTC {} {} {}\n{}\n{}", version_text(version()), kStandard, headers_key(), target,
                     target.starts_with("sm_") ? "" : version_text(driver_version_));
}

}  // namespace wick::cuda
