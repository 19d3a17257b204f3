// Every kernel in CUDA C++, through NVRTC as the backend calls it, with the headers that it gives it: those of the toolkit are not needed.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "ir/dialect_caps.h"
#include "ir/tools.h"
#include "source_root.h"
#include "wick/backend/cuda/compiler.h"
#include "wick/base/error.h"
#include "wick/device/kernel_driver.h"

namespace wick::ir {
namespace {

// That of PyPI, which ./dev installs for the leg texts; else the machine's.
std::optional<cuda::Compiler> nvrtc() {
  std::vector<std::string> libraries;
  const std::filesystem::path packages = source_root() / "build/python/lib";
  if (std::filesystem::exists(packages)) {
    for (const auto& entry : std::filesystem::directory_iterator(packages)) {
      const std::filesystem::path library = entry.path() / "site-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12";
      if (std::filesystem::exists(library)) libraries.push_back(library);
    }
  }
  for (std::string& name : cuda::Compiler::libraries_for(99000)) libraries.push_back(std::move(name));
  try {
    return std::optional<cuda::Compiler>(std::in_place, libraries, 99000);
  } catch (const Error&) {
    return std::nullopt;
  }
}

TEST(Cuda, IsAcceptedByNvrtc) {
  const std::optional<cuda::Compiler> compiler = nvrtc();
  if (!compiler) GTEST_SKIP() << "no libnvrtc.so";
  const std::vector<Text> all = texts(cuda_dialect(), cuda_caps());
  const std::string program = in_namespaces(all, "#include <cuda_fp16.h>\n#include <mma.h>\n");
  for (const auto& [capability, target] :
       {std::pair(80, "sm_80"), std::pair(90, "sm_90a"), std::pair(100, "sm_100a"), std::pair(120, "sm_120a")}) {
    ASSERT_EQ(compiler->refusal(capability), "");
    EXPECT_EQ(compiler->target(capability), target);
    try {
      EXPECT_GT(compiler->compile(program, target).size(), all.size() * 100) << target;
    } catch (const CompilerError& error) {
      ADD_FAILURE() << target << ": " << error.log.substr(0, 4000);
    }
  }
}

}  // namespace
}  // namespace wick::ir
