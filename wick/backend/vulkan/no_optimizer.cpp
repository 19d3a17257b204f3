// glslang's SPIR-V generator calls SPIRV-Tools only to optimize, validate, strip or disassemble its output. The options here request none
// of these, so the functions below replace glslang's calls, and the linker leaves 4 MB of SPIRV-Tools out of the program. They are weak: a
// version of glslang that needs more of SPIRV-Tools links its own definitions instead.
#include "wick/backend/vulkan/no_optimizer.h"

#include <iosfwd>
#include <vector>

#include "wick/base/fail.h"

namespace spv {
class SpvBuildLogger;
}

namespace glslang {

class TIntermediate;
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

namespace wick::vulkan {

glslang_spv_options_t options_without_spirv_tools() {
  glslang_spv_options_t options{};
  options.disable_optimizer = true;
  return options;
}

}  // namespace wick::vulkan
