#include "wick/backend/oneapi/compiler.h"

#include <fmt/format.h>

#include <array>
#include <string_view>

#include "wick/base/fail.h"
#include "wick/device/kernel_driver.h"

namespace wick::oneapi {
namespace {

const std::array<std::string, 2> kCompilerLibraries{"libocloc.so", "libocloc.so.1"};
constexpr const char* kSourceName = "kernel.cl";

// What ocloc wrote: files and its messages, each with a name.
struct Outputs {
  uint32_t count = 0;
  uint8_t** data = nullptr;
  uint64_t* bytes = nullptr;
  char** names = nullptr;

  // The first whose name ends so; empty if there is none.
  [[nodiscard]] std::string_view find(std::string_view ending) const {
    for (uint32_t i = 0; i < count; ++i) {
      if (std::string_view(names[i]).ends_with(ending)) return {reinterpret_cast<const char*>(data[i]), bytes[i]};
    }
    return {};
  }
};

}  // namespace

Compiler::Compiler()
    : library_(open_first(kCompilerLibraries, "ocloc, Intel's compiler of OpenCL C",
                          "install intel-ocloc, or in Debian 12 intel-opencl-icd, which has it")),
      invoke_(library_->function<Invoke>("oclocInvoke")),
      free_(library_->function<Free>("oclocFreeOutput")) {
  if (invoke_ == nullptr || free_ == nullptr)
    fail(ErrorCode::unsupported, "library {} has no oclocInvoke: it is not ocloc", library_->name());
}

std::vector<std::byte> Compiler::compile(const std::string& text, uint32_t device_id, const std::string& options) const {
  const std::string device = fmt::format("{:#06x}", device_id);
  std::array<const char*, 9> arguments{"ocloc",   "compile",      "-spv_only", "-file",        kSourceName,
                                       "-device", device.c_str(), "-options",  options.c_str()};
  const auto* source = reinterpret_cast<const uint8_t*>(text.c_str());
  const uint64_t source_bytes = text.size() + 1;
  const char* source_name = kSourceName;
  Outputs outputs;
  const int status = invoke_(static_cast<unsigned>(arguments.size()), arguments.data(), 1, &source, &source_bytes, &source_name, 0, nullptr,
                             nullptr, nullptr, &outputs.count, &outputs.data, &outputs.bytes, &outputs.names);
  const std::string_view module = outputs.find(".spv"), log = outputs.find("stdout.log");
  const auto* const first = reinterpret_cast<const std::byte*>(module.data());
  std::vector<std::byte> spirv(first, first + module.size());
  const std::string words(log);
  free_(&outputs.count, &outputs.data, &outputs.bytes, &outputs.names);
  if (status != 0 || spirv.empty()) throw CompilerError{fmt::format("ocloc -device {}: status {}: {}", device, status, words)};
  return spirv;
}

}  // namespace wick::oneapi
