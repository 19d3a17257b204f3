// Every kernel in every language, through that language's compiler or validator, and run where this machine can.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "ir/dialect_caps.h"
#include "ir/launch.h"
#include "ir/library_kernels.h"
#include "ir/tools.h"
#include "source_root.h"

namespace wick::ir {
namespace {

std::string all_of(const Dialect& dialect, const DeviceCaps& caps, std::vector<Text>& all) {
  return error_of([&] { all = texts(dialect, caps); });
}

struct Language {
  const Dialect& dialect;
  std::vector<DeviceCaps> devices;
};

std::vector<Language> languages() {
  return {{cuda_dialect(), {cuda_caps()}},
          {hip_dialect(), {hip_caps(32), hip_caps(64)}},
          {msl_dialect(), {msl_caps()}},
          {opencl_dialect(), {opencl_caps(), opencl_full_caps()}},
          {glsl_dialect(), {subgroup_caps(), bare_caps()}},
          {wgsl_dialect(), {wgsl_caps(1), wgsl_caps(8)}}};
}

// What the leg texts has time for. The rest of the library's kernels is reached by other seeds: WICK_TEXT_SEED=7.
TEST(Texts, OfALanguageAreThreeHundredAtMost) {
  constexpr std::size_t kMax = 300;
  for (const auto& [dialect, devices] : languages()) {
    std::set<std::string> distinct;
    for (const DeviceCaps& caps : devices) {
      for (const Text& text : texts(dialect, caps)) distinct.insert(text.text);
    }
    fmt::print("{}: {} distinct texts\n", dialect.name, distinct.size());
    EXPECT_LE(distinct.size(), kMax) << dialect.name;
  }
}

TEST(Texts, OtherSeedsChooseOtherKernelsAndTheSameSeedTheSame) {
  const auto names = [](uint64_t seed) {
    std::set<std::string> found;
    for (const Kernel& kernel : sampled_kernels(subgroup_caps(), seed, 2)) found.insert(kernel.name);
    return found;
  };
  EXPECT_EQ(names(1), names(1));
  EXPECT_NE(names(1), names(2));
  std::set<std::string> all;
  for (uint64_t seed = 0; seed < 50; ++seed) all.merge(names(seed));
  EXPECT_GT(all.size(), 300U);
}

// tests/ir/compare_compilers runs this in two builds of Wick and compares the files.
TEST(Texts, AreWrittenToAFile) {
  const char* path = std::getenv("WICK_TEXTS");
  if (path == nullptr) GTEST_SKIP() << "WICK_TEXTS names no file";
  std::ofstream file(path);
  for (const auto& [dialect, devices] : languages()) {
    for (const DeviceCaps& caps : devices) {
      for (const Text& text : texts(dialect, caps)) file << fmt::format("==== {} in {}\n{}", text.prepared.name, dialect.name, text.text);
    }
  }
  ASSERT_TRUE(file.flush()) << path;
}

TEST(Cuda, RunsOnTheHost) {
  std::vector<Text> all;
  ASSERT_EQ(all_of(cuda_dialect(), cuda_caps(), all), "");
  EXPECT_EQ(run_on_host("c++", host_program(all, "#include \"cuda_on_host.h\"\n"), all), "");
}

TEST(Hip, RunsOnTheHost) {
  for (const int subgroup : {32, 64}) {
    std::vector<Text> all;
    ASSERT_EQ(all_of(hip_dialect(), hip_caps(subgroup), all), "");
    EXPECT_EQ(run_on_host("c++", host_program(all, "#include \"cuda_on_host.h\"\n"), all), "");
  }
}

TEST(Msl, RunsOnTheHost) {
  std::vector<Text> all;
  ASSERT_EQ(all_of(msl_dialect(), msl_caps(), all), "");
  std::string program = host_program(all, "#include \"metal_on_host.h\"\n");
  program = replaced(program, "alignas(16) threadgroup", "alignas(16) static");
  EXPECT_EQ(run_on_host("c++", program, all), "");
}

TEST(OpenCl, IsAcceptedByClang) {
  if (!has_program("clang-19")) GTEST_SKIP() << "no clang-19";
  const ScratchFolder folder;
  for (const DeviceCaps& caps : {opencl_caps(), opencl_full_caps()}) {
    std::vector<Text> all;
    ASSERT_EQ(all_of(opencl_dialect(), caps, all), "");
    std::string files;
    for (const Text& text : all) files += " " + folder.write(text.source.name + ".cl", text.text);
    // The header declares subgroups from OpenCL C 2.0 on.
    const CommandResult result =
        run_command("clang-19 --target=spir64-unknown-unknown -Wno-ignored-attributes -Wno-unknown-attributes -fsyntax-only " +
                    std::string(caps.f16_arithmetic ? "-cl-std=CL2.0" : "-cl-std=CL1.2") +
                    " -Xclang -fdeclare-opencl-builtins -Xclang -finclude-default-header" + files);
    EXPECT_EQ(result.status, 0) << result.output.substr(0, 4000);
  }
}

TEST(OpenCl, ForIntelIsAcceptedByClang) {
  if (!has_program("clang-19")) GTEST_SKIP() << "no clang-19";
  const ScratchFolder folder;
  DeviceCaps caps = opencl_full_caps();
  caps.int8_dot = true;
  std::vector<Text> all;
  ASSERT_EQ(all_of(opencl_intel_dialect(), caps, all), "");
  std::string files;
  size_t with_dot = 0;
  for (const Text& text : all) {
    files += " " + folder.write(text.source.name + ".cl", text.text);
    with_dot += text.text.find("__builtin_IB_dp4a_ss") != std::string::npos ? 1 : 0;
  }
  EXPECT_GT(with_dot, 3U);
  const CommandResult result = run_command(
      "clang-19 --target=spir64-unknown-unknown -Wno-ignored-attributes -Wno-unknown-attributes -fsyntax-only -cl-std=CL3.0 "
      "-Xclang -fdeclare-opencl-builtins -Xclang -finclude-default-header" +
      files);
  EXPECT_EQ(result.status, 0) << result.output.substr(0, 4000);
}

TEST(OpenCl, WithPtxIsAcceptedByClang) {
  if (!has_program("clang-19")) GTEST_SKIP() << "no clang-19";
  const ScratchFolder folder;
  DeviceCaps caps = tile_caps();
  caps.f16_arithmetic = false;
  std::vector<Text> all;
  ASSERT_EQ(all_of(opencl_nvidia_dialect(), caps, all), "");
  std::string files;
  for (const Text& text : all) files += " " + folder.write(text.source.name + ".cl", text.text);
  const CommandResult result = run_command(
      "clang-19 --target=nvptx64-nvidia-nvcl -Wno-ignored-attributes -Wno-unknown-attributes -fsyntax-only -cl-std=CL1.2 "
      "-Xclang -fdeclare-opencl-builtins -Xclang -finclude-default-header" +
      files);
  EXPECT_EQ(result.status, 0) << result.output.substr(0, 4000);
}

TEST(Glsl, IsAcceptedByGlslangAndItsCodeByTheValidator) {
  if (!has_program("glslangValidator")) GTEST_SKIP() << "no glslangValidator";
  if (!has_program("spirv-val")) GTEST_SKIP() << "no spirv-val";
  const ScratchFolder folder;
  for (const DeviceCaps& caps : {subgroup_caps(), bare_caps()}) {
    std::vector<Text> all;
    ASSERT_EQ(all_of(glsl_dialect(), caps, all), "");
    // Lowered texts are plainer: a sample of them is enough.
    for (std::size_t i = 0; i < all.size(); i += caps.storage_8bit ? 1 : 6) {
      const Text& text = all[i];
      const std::string file = folder.write(text.source.name + ".comp", text.text), code = folder.path("kernel.spv");
      const CommandResult result = run_command(
          fmt::format("glslangValidator --target-env vulkan1.2 {0} -o {1} && spirv-val --target-env vulkan1.2 {1}", file, code));
      EXPECT_EQ(result.status, 0) << result.output.substr(0, 2000) << text.text.substr(0, 4000);
    }
  }
}

// Their types are finished by the Vulkan backend, so the validator does not see them.
TEST(Glsl, WithMatrixTilesIsAcceptedByGlslang) {
  if (!has_program("glslangValidator")) GTEST_SKIP() << "no glslangValidator";
  const ScratchFolder folder;
  std::vector<Text> all;
  ASSERT_EQ(all_of(glsl_dialect(), tile_caps(), all), "");
  int with_tiles = 0;
  for (const Text& text : all) {
    if (text.prepared.tiles.empty()) continue;
    ++with_tiles;
    const std::string file = folder.write(text.source.name + ".comp", text.text);
    const CommandResult result =
        run_command(fmt::format("glslangValidator --target-env vulkan1.2 {} -o {}", file, folder.path("kernel.spv")));
    EXPECT_EQ(result.status, 0) << result.output.substr(0, 2000) << text.text.substr(0, 4000);
  }
  EXPECT_GE(with_tiles, 2);
}

// run_wgsl.py with the Python that ./dev made for it, else the machine's.
CommandResult run_wgsl_script(const std::string& argument) {
  const std::filesystem::path own = source_root() / "build/python/bin/python3";
  const std::string python = std::filesystem::exists(own) ? own.string() : "python3";
  return run_command(fmt::format("{} {}/tests/ir/run_wgsl.py {}", python, source_root().string(), argument));
}

// Writes the cases for run_wgsl.py, runs it, and compares.
void run_wgsl(const std::vector<Text>& all, const ScratchFolder& folder) {
  for (std::size_t i = 0; i < all.size(); ++i) {
    const KernelCase& c = all[i].source;
    const nlohmann::json description{{"text", all[i].text},
                                     {"entry", entry_name(all[i].prepared)},
                                     {"buffers", c.buffers.size()},
                                     {"grid", {c.grid.x, c.grid.y, c.grid.z}},
                                     {"parameters", c.parameters}};
    (void)folder.write(fmt::format("{}.json", i), description.dump());
    for (std::size_t b = 0; b < c.buffers.size(); ++b) {
      const std::vector<std::byte>& bytes = c.buffers[b].bytes;
      (void)folder.write(fmt::format("{}.{}.in", i, b), std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
    }
  }
  const CommandResult result = run_wgsl_script(folder.path(""));
  EXPECT_EQ(result.status, 0) << result.output;
  for (std::size_t i = 0; i < all.size(); ++i) {
    std::vector<std::vector<std::byte>> outputs;
    for (std::size_t b = 0; b < all[i].source.buffers.size(); ++b) {
      std::ifstream file(folder.path(fmt::format("{}.{}.out", i, b)), std::ios::binary);
      const std::string bytes((std::istreambuf_iterator<char>(file)), {});
      outputs.emplace_back(reinterpret_cast<const std::byte*>(bytes.data()),
                           reinterpret_cast<const std::byte*>(bytes.data() + bytes.size()));
    }
    if (all[i].runs() && !outputs.front().empty()) {
      EXPECT_EQ(differences(all[i].source, outputs), "") << all[i].text.substr(0, 4000);
    }
  }
}

TEST(Wgsl, RunsInWgpu) {
  const CommandResult check = run_wgsl_script("--check");
  if (check.status != 0) GTEST_SKIP() << check.output;
  for (const DeviceCaps& caps : {wgsl_caps(1), wgsl_caps(8)}) {
    const ScratchFolder folder;
    std::vector<Text> all;
    ASSERT_EQ(all_of(wgsl_dialect(), caps, all), "");
    run_wgsl(all, folder);
  }
}

}  // namespace
}  // namespace wick::ir
