#include "wick/device/submissions/glsl_compiler.h"

#include <fmt/format.h>
#include <glslang/Include/glslang_c_interface.h>
#include <glslang/Public/ShaderLang.h>
#include <glslang/Public/resource_limits_c.h>

#include <iosfwd>
#include <memory>
#include <span>

#include "wick/base/fail.h"
#include "wick/device/kernel_driver.h"
#include "wick/device/submissions/spirv_module.h"

// glslang's SPIR-V generator calls SPIRV-Tools only to optimize, validate, strip or disassemble its output. The options below request none
// of these (drivers optimize what they load, and the tests validate every text), so these functions replace glslang's calls, and the linker
// leaves 4 MB of SPIRV-Tools out of the program. They are weak: a version of glslang that needs more of SPIRV-Tools links its own
// definitions instead.
namespace spv {
class SpvBuildLogger;
}

namespace glslang {

struct SpvOptions;
using Words = std::vector<unsigned int>;

[[gnu::weak]] void SpirvToolsDisassemble(std::ostream& out, const Words& spirv);
[[gnu::weak]] void SpirvToolsStripDebugInfo(const TIntermediate& intermediate, Words& spirv, spv::SpvBuildLogger* logger);
[[gnu::weak]] void SpirvToolsTransform(const TIntermediate& intermediate, Words& spirv, spv::SpvBuildLogger* logger,
                                       const SpvOptions* options);
[[gnu::weak]] void SpirvToolsValidate(const TIntermediate& intermediate, Words& spirv, spv::SpvBuildLogger* logger, bool prelegalization);

namespace {
constexpr bool kOptionsAskForSpirvTools = false;
}

void SpirvToolsDisassemble(std::ostream& /*out*/, const Words& /*spirv*/) { WICK_ASSERT(kOptionsAskForSpirvTools); }

void SpirvToolsStripDebugInfo(const TIntermediate& /*intermediate*/, Words& /*spirv*/, spv::SpvBuildLogger* /*logger*/) {
  WICK_ASSERT(kOptionsAskForSpirvTools);
}

void SpirvToolsTransform(const TIntermediate& /*intermediate*/, Words& /*spirv*/, spv::SpvBuildLogger* /*logger*/,
                         const SpvOptions* /*options*/) {
  WICK_ASSERT(kOptionsAskForSpirvTools);
}

void SpirvToolsValidate(const TIntermediate& /*intermediate*/, Words& /*spirv*/, spv::SpvBuildLogger* /*logger*/,
                        bool /*prelegalization*/) {
  WICK_ASSERT(kOptionsAskForSpirvTools);
}

}  // namespace glslang

namespace wick {
namespace {

constexpr auto kMessages = static_cast<glslang_messages_t>(GLSLANG_MSG_SPV_RULES_BIT | GLSLANG_MSG_VULKAN_RULES_BIT);

glslang_input_t input_of(const std::string& text) {
  glslang_input_t input{};
  input.language = GLSLANG_SOURCE_GLSL;
  input.stage = GLSLANG_STAGE_COMPUTE;
  input.client = GLSLANG_CLIENT_VULKAN;
  input.client_version = GLSLANG_TARGET_VULKAN_1_2;
  input.target_language = GLSLANG_TARGET_SPV;
  input.target_language_version = GLSLANG_TARGET_SPV_1_5;
  input.code = text.c_str();
  input.default_version = 460;
  input.default_profile = GLSLANG_NO_PROFILE;
  input.messages = kMessages;
  input.resource = glslang_default_resource();
  return input;
}

}  // namespace

std::vector<std::byte> compile_glsl(const std::string& text, bool keep_subnormals) {
  static const bool initialized = glslang_initialize_process() != 0;
  if (!initialized) throw CompilerError{"glslang does not start"};
  const glslang_input_t input = input_of(text);
  const std::unique_ptr<glslang_shader_t, decltype(&glslang_shader_delete)> shader(glslang_shader_create(&input), glslang_shader_delete);
  if (glslang_shader_preprocess(shader.get(), &input) == 0 || glslang_shader_parse(shader.get(), &input) == 0) {
    throw CompilerError{glslang_shader_get_info_log(shader.get())};
  }
  const std::unique_ptr<glslang_program_t, decltype(&glslang_program_delete)> program(glslang_program_create(), glslang_program_delete);
  glslang_program_add_shader(program.get(), shader.get());
  if (glslang_program_link(program.get(), kMessages) == 0) throw CompilerError{glslang_program_get_info_log(program.get())};
  glslang_spv_options_t options{};
  options.disable_optimizer = true;
  glslang_program_SPIRV_generate_with_options(program.get(), input.stage, &options);
  const uint32_t* words = glslang_program_SPIRV_get_ptr(program.get());
  std::vector<uint32_t> module(words, words + glslang_program_SPIRV_get_size(program.get()));
  define_tile_types(module);
  if (keep_subnormals) ask_for_subnormals(module);
  const auto bytes = std::as_bytes(std::span(module));
  return {bytes.begin(), bytes.end()};
}

std::string glsl_compiler_version() {
  const glslang::Version version = glslang::GetVersion();
  return fmt::format("glslang {}.{}.{}, not optimized, SPIR-V 1.5", version.major, version.minor, version.patch);
}

}  // namespace wick
