#include "wick/backend/cuda/compiler.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "wick/backend/cuda/api.h"
#include "wick/backend/cuda/cuda.h"
#include "wick/backend/cuda/headers.h"
#include "wick/base/fail.h"
#include "wick/device/kernel_driver.h"

namespace wick::cuda {
namespace {

// The newest major version whose library's name we know, and the oldest that we take. Both grow with NVIDIA's releases.
constexpr int kNewestMajor = 14, kOldestMajor = 12;
// Where NVIDIA's own packages put it without telling the system.
constexpr std::string_view kToolkit = "/usr/local/cuda/lib64/";
// The first processor whose own instructions ask for a target of their own: "sm_90a".
constexpr int kFirstWithOwnInstructions = 90;
constexpr const char* kStandard = "--std=c++17";

// NVRTC's programs, destroyed when they go.
struct Program {
  void* handle = nullptr;
  int (*destroy)(void**) = nullptr;
  Program() = default;
  ~Program() {
    if (handle != nullptr) destroy(&handle);
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
};

}  // namespace

std::vector<std::string> libraries_of(std::string_view name, int driver_version) {
  std::vector<std::string> names;
  for (int major = std::min(driver_version / 1000, kNewestMajor); major >= kOldestMajor; --major) {
    names.push_back(fmt::format("lib{}.so.{}", name, major));
    names.push_back(fmt::format("{}lib{}.so.{}", kToolkit, name, major));
  }
  return names;
}

std::unique_ptr<const DynamicLibrary> open_first(std::span<const std::string> libraries, std::string_view purpose,
                                                 std::string_view package) {
  std::string reason;
  for (const std::string& name : libraries) {
    try {
      return std::make_unique<const DynamicLibrary>(name);
    } catch (const Error& error) {
      if (reason.empty()) reason = error.what();
    }
  }
  fail(ErrorCode::not_found,
       "{}; it is {}: install NVIDIA's package {}, or that of PyPI with its folder in LD_LIBRARY_PATH; also not there: {}", reason, purpose,
       package, fmt::join(libraries.subspan(1), ", "));
}

std::vector<std::string> Compiler::libraries_for(int driver_version) {
  std::vector<std::string> names = libraries_of("nvrtc", driver_version);
  names.emplace_back("libnvrtc.so.11.2");
  return names;
}

Compiler::Compiler(std::span<const std::string> libraries) : library_(open_first(libraries, "CUDA's run-time compiler", "cuda-nvrtc")) {
  bind_all();
  int major = 0, minor = 0, count = 0;
  check(functions_.version(&major, &minor), "nvrtcVersion");
  version_ = 1000 * major + 10 * minor;
  check(functions_.target_count(&count), "nvrtcGetNumSupportedArchs");
  targets_.resize(static_cast<size_t>(count));
  check(functions_.targets(targets_.data()), "nvrtcGetSupportedArchs");
  std::sort(targets_.begin(), targets_.end());
}

void Compiler::bind_all() {
  const auto bind = [this]<class Function>(const char* name, Function*& function) {
    function = library_->function<Function>(name);
    if (function == nullptr) fail(ErrorCode::unsupported, "library {} has no {}: NVRTC 11.2 or newer is needed", library_->name(), name);
  };
  bind("nvrtcVersion", functions_.version);
  bind("nvrtcGetNumSupportedArchs", functions_.target_count);
  bind("nvrtcGetSupportedArchs", functions_.targets);
  bind("nvrtcCreateProgram", functions_.create);
  bind("nvrtcDestroyProgram", functions_.destroy);
  bind("nvrtcCompileProgram", functions_.compile);
  bind("nvrtcGetCUBINSize", functions_.code_size);
  bind("nvrtcGetCUBIN", functions_.code);
  bind("nvrtcGetPTXSize", functions_.ptx_size);
  bind("nvrtcGetPTX", functions_.ptx);
  bind("nvrtcGetProgramLogSize", functions_.log_size);
  bind("nvrtcGetProgramLog", functions_.log);
  bind("nvrtcGetErrorString", functions_.status_name);
}

void Compiler::check(int status, std::string_view call) const {
  if (status == 0) return;
  const std::string name = functions_.status_name(status);
  throw CudaError(ErrorCode::unsupported, fmt::format("{}: {}: {}", library_->name(), call, name), {std::string(call), status, name});
}

std::string Compiler::refusal(int capability) const {
  if (!targets_.empty() && capability >= targets_.front()) return {};
  return fmt::format("NVRTC {} ({}) compiles for compute capability {} and newer, and this device has {}: install an older one",
                     version_text(version_), library_->name(), targets_.empty() ? 0 : targets_.front(), capability);
}

std::string Compiler::target(int capability) const {
  if (std::binary_search(targets_.begin(), targets_.end(), capability)) {
    return fmt::format("sm_{}{}", capability, capability >= kFirstWithOwnInstructions ? "a" : "");
  }
  // Newer than the compiler, or of a branch that it does not know: the driver translates what is compiled for the next older one.
  return fmt::format("compute_{}", *(std::upper_bound(targets_.begin(), targets_.end(), capability) - 1));
}

std::string Compiler::log_of(void* program) const {
  size_t bytes = 0;
  if (functions_.log_size(program, &bytes) != 0) return {};
  std::string log(bytes, '\0');
  if (functions_.log(program, log.data()) != 0) return {};
  log.resize(log.find_last_not_of(std::string_view("\0\n ", 3)) + 1);
  return log;
}

std::vector<std::byte> Compiler::compile(const std::string& text, const std::string& target, std::span<const std::string> options) const {
  const std::string architecture = "--gpu-architecture=" + target;
  std::vector<const char*> all{architecture.c_str(), kStandard};
  for (const std::string& option : options) all.push_back(option.c_str());
  Program program;
  program.destroy = functions_.destroy;
  check(functions_.create(&program.handle, text.c_str(), "kernel.cu", static_cast<int>(kHeaders.size()), header_texts().data(),
                          header_names().data()),
        "nvrtcCreateProgram");
  const int status = functions_.compile(program.handle, static_cast<int>(all.size()), all.data());
  if (status != 0) throw CompilerError{fmt::format("{}: {}", functions_.status_name(status), log_of(program.handle))};
  const bool is_code = target.starts_with("sm_");
  size_t bytes = 0;
  check((is_code ? functions_.code_size : functions_.ptx_size)(program.handle, &bytes), is_code ? "nvrtcGetCUBINSize" : "nvrtcGetPTXSize");
  std::vector<std::byte> code(bytes);
  check((is_code ? functions_.code : functions_.ptx)(program.handle, reinterpret_cast<char*>(code.data())),
        is_code ? "nvrtcGetCUBIN" : "nvrtcGetPTX");
  return code;
}

std::string Compiler::key() const { return fmt::format("NVRTC {} {} {}", version_text(version_), kStandard, headers_key()); }

}  // namespace wick::cuda
