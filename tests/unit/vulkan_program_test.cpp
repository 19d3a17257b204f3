// Texts, binaries and devices that are refused, and why.
#include <gmock/gmock.h>

#include "backend/vulkan/shader_compiler.h"
#include "base/error.h"
#include "ir/passes.h"
#include "unit/vulkan_device.h"

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

TEST_P(VulkanProgram, ADeviceThatIsNotThereIsAnError) {
  EXPECT_THAT([] { static_cast<void>(Device::vulkan(99)); }, testing::ThrowsMessage<Error>(HasSubstr("vulkan:99")));
  EXPECT_THAT([] { static_cast<void>(Device::open({DeviceKind::vulkan, 0}, {.threads = 0, .variant = "fancy"})); },
              testing::ThrowsMessage<Error>(testing::AllOf(HasSubstr("fancy"), HasSubstr("plain"), HasSubstr("native"))));
}

INSTANTIATE_TEST_SUITE_P(, VulkanProgram, testing::Values("plain", "native"), variant_name);

}  // namespace
}  // namespace wick::vulkan
