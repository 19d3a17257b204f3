// Every kernel in HIP C++, through hiprtc as the backend calls it, and through clang for what hiprtc is too old for: each architecture by
// the compilers that the backend's table says have seen it.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "ir/dialect_caps.h"
#include "ir/tools.h"
#include "source_root.h"
#include "wick/backend/rocm/api.h"
#include "wick/backend/rocm/architectures.h"
#include "wick/backend/rocm/compiler.h"
#include "wick/base/error.h"
#include "wick/device/kernel_driver.h"

namespace wick::ir {
namespace {

// All texts for a processor with waves of so many lanes, and as it is with products of bytes and of tiles or without.
std::vector<Text> texts_for(const rocm::Architecture& architecture) {
  DeviceCaps caps = hip_caps(architecture.wave);
  caps.int8_dot = architecture.dot != rocm::ByteDot::none;
  caps.max_shared_bytes = 64 << 10;
  if (architecture.matrices != rocm::MatrixUnits::none) caps.tiles = {{16, 16, 16}};
  return texts(hip_dialect(), caps);
}

// hiprtc 5.2, Debian's, needs no GPU.
TEST(Hip, IsAcceptedByHiprtc) {
  std::shared_ptr<const rocm::Api> api;
  try {
    api = rocm::load_api(rocm::hip_libraries());
  } catch (const Error& error) {
    GTEST_SKIP() << error.what();
  }
  const rocm::Compiler compiler(rocm::Compiler::open_library(api->library, api->version), api->version);
  int seen = 0;
  for (const rocm::Architecture& architecture : rocm::architectures()) {
    if (!compiler.refusal(architecture.name).empty()) continue;
    ++seen;
    try {
      const std::vector<Text> all = texts_for(architecture);
      EXPECT_GT(compiler.compile(in_namespaces(all, ""), std::string(architecture.name)).size(), all.size() * 100) << architecture.name;
    } catch (const CompilerError& error) {
      ADD_FAILURE() << architecture.name << ": " << error.log.substr(0, 4000);
    }
  }
  EXPECT_GE(seen, 7);
}

TEST(Hip, IsAcceptedByClang) {
  if (!has_program("clang++-19")) GTEST_SKIP() << "no clang++-19";
  const ScratchFolder folder;
  for (const rocm::Architecture& architecture : rocm::architectures()) {
    if (architecture.seen_by.find("clang 19") == std::string_view::npos) continue;
    const std::string file = folder.write("kernels.hip", in_namespaces(texts_for(architecture), "#include \"hip_device.h\"\n"));
    // To assembly: an instruction that the processor lacks is refused there.
    const CommandResult result =
        run_command(fmt::format("clang++-19 -x hip -std=c++17 --offload-arch={} --offload-device-only -nogpuinc -nogpulib -w -O1 -S {} "
                                "-I{}/tests/ir/shim {} -o /dev/null",
                                architecture.name, fmt::join(rocm::instruction_options(architecture), " "), source_root().string(), file));
    EXPECT_EQ(result.status, 0) << architecture.name << ": " << result.output.substr(0, 4000);
  }
}

}  // namespace
}  // namespace wick::ir
