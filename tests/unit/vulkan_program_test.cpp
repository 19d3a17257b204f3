// Texts, binaries and devices that are refused, and why.
#include <gmock/gmock.h>

#include <cstring>
#include <map>
#include <set>
#include <vector>

#include "unit/vulkan_device.h"
#include "wick/base/error.h"
#include "wick/device/submissions/glsl_compiler.h"
#include "wick/ir/passes.h"
#include "wick/kernels/linear_tiles.h"

namespace wick::vulkan {
namespace {

using testing::HasSubstr;

std::string log_of(const std::string& text) {
  try {
    static_cast<void>(compile_glsl(text, true));
  } catch (const CompilerError& error) {
    return error.log;
  }
  return {};
}

TEST(VulkanCompiler, ARefusedTextGivesTheLineAndTheReason) {
  EXPECT_THAT(log_of("#version 460\nlayout(local_size_x = 1) in;\nvoid main() { nonsense = 1; }\n"),
              testing::AllOf(HasSubstr("0:3"), HasSubstr("nonsense")));
  EXPECT_THAT(log_of("#version 460\nlayout(local_size_x = 1) in;\nvoid other() {}\n"), HasSubstr("entry point"));
  EXPECT_EQ(log_of("#version 460\nlayout(local_size_x = 1) in;\nvoid main() {}\n"), "");
}

TEST(VulkanCompiler, EqualTextsGiveEqualBinaries) {
  const std::string text = ir::print(ir::prepare(multiply_add(), DeviceCaps{}), ir::glsl_dialect());
  EXPECT_EQ(compile_glsl(text, true), compile_glsl(text, true));
  EXPECT_NE(compile_glsl(text, true), compile_glsl(text, false));
}

// OpTypeCooperativeMatrixKHR names a type and constants that stand before it (SPV_KHR_cooperative_matrix), and Float16 is declared.
TEST(VulkanCompiler, TileTypesNameWhatIsDefinedBeforeThem) {
  DeviceCaps caps;
  caps.min_subgroup_size = caps.max_subgroup_size = 32;
  caps.max_group_size = 256;
  caps.max_shared_bytes = 49152;
  caps.f16_arithmetic = true;
  caps.tiles = {{16, 16, 16}};
  const kernels::LinearForm form{DType::q8_0, kernels::RowAccess::blocks};
  const auto tiles = kernels::linear_tiles_of(form, 128, 128, caps);
  ASSERT_TRUE(tiles.has_value());
  const std::vector<std::byte> bytes =
      compile_glsl(ir::print(ir::prepare(kernels::linear_tiles(form, *tiles), caps), ir::glsl_dialect()), false);
  std::vector<uint32_t> words(bytes.size() / sizeof(uint32_t));
  std::memcpy(words.data(), bytes.data(), bytes.size());
  std::map<uint32_t, uint32_t> floats, constants;
  std::set<std::vector<uint32_t>> types;  // bits, then scope, rows, columns, use
  bool halves = false;
  for (size_t at = 5; at < words.size(); at += words[at] >> 16) {
    const uint32_t opcode = words[at] & 0xffff;
    if (opcode == 17) halves = halves || words[at + 1] == 9;
    if (opcode == 22) floats[words[at + 1]] = words[at + 2];
    if (opcode == 43) constants[words[at + 2]] = words[at + 3];
    if (opcode != 4456) continue;
    std::vector<uint32_t> type{floats[words[at + 2]]};
    for (size_t i = 3; i < 7; ++i) type.push_back(constants.at(words[at + i]));
    types.insert(type);
    for (size_t i = 1; i < 7; ++i) EXPECT_LT(words[at + i], words[3]);
  }
  EXPECT_TRUE(halves);
  EXPECT_EQ(types, (std::set<std::vector<uint32_t>>{{16, 3, 16, 16, 0}, {16, 3, 16, 16, 1}, {32, 3, 16, 16, 2}}));
}

using VulkanProgram = OnVulkan;

TEST_P(VulkanProgram, BytesThatAreNoProgramAreNotLoaded) {
  KernelDriver& driver = runtime().driver();
  const ir::Kernel kernel = ir::prepare(multiply_add(), runtime().caps());
  std::vector<std::byte> binary = driver.compile(kernel, ir::print(kernel, *driver.dialect()));
  EXPECT_NE(driver.load(kernel, binary), nullptr);
  EXPECT_EQ(driver.load(kernel, {}), nullptr);
  EXPECT_EQ(driver.load(kernel, std::span(binary).first(binary.size() - 1)), nullptr);
  binary[0] ^= std::byte{0xff};
  EXPECT_EQ(driver.load(kernel, binary), nullptr);
}

TEST_P(VulkanProgram, AModuleOfSpirvRunsAsAKernelOfTheUsersOwn) {
  const std::string text = R"(#version 450
layout(local_size_x = 16) in;
layout(set = 0, binding = 0, std430) buffer Y { uint y[]; };
layout(push_constant) uniform Scalars { uint first; } s;
void main() { y[gl_GlobalInvocationID.x] = s.first + gl_GlobalInvocationID.x; })";
  const std::vector<std::byte> module = runtime().driver().compile({}, text);
  const KernelSource source{SourceLanguage::spirv, std::string(reinterpret_cast<const char*>(module.data()), module.size())};
  const KernelSignature signature{
      .group_size = 16, .buffers = {{"y", ir::Element::u32, ir::Access::read_write}}, .scalars = {{"first", ir::Type::u32}}};
  const std::shared_ptr<const wick::Program> program = runtime().compile_source("counted", source, "main", signature);
  std::vector<uint32_t> words(64);
  const std::unique_ptr<Buffer> buffer = runtime().import_host(reinterpret_cast<std::byte*>(words.data()), 256, nullptr);
  const std::array<BufferArgument, 1> buffers{{{buffer.get()}}};
  const std::array<uint32_t, 1> scalars{100};
  runtime().launch({program.get(), {4, 1, 1}, buffers, scalars});
  runtime().queue().download(*buffer, 0, reinterpret_cast<std::byte*>(words.data()), 256);
  for (uint32_t i = 0; i < 64; ++i) EXPECT_EQ(words[i], 100 + i);
}

TEST_P(VulkanProgram, ADeviceThatIsNotThereIsAnError) {
  EXPECT_THAT([] { static_cast<void>(Device::vulkan(99)); }, testing::ThrowsMessage<Error>(HasSubstr("vulkan:99")));
  EXPECT_THAT([] { static_cast<void>(Device::open({DeviceKind::vulkan, 0}, {.threads = 0, .variant = "fancy"})); },
              testing::ThrowsMessage<Error>(testing::AllOf(HasSubstr("fancy"), HasSubstr("plain"), HasSubstr("native"))));
}

INSTANTIATE_TEST_SUITE_P(, VulkanProgram, testing::Values("plain", "native"), variant_name);

}  // namespace
}  // namespace wick::vulkan
