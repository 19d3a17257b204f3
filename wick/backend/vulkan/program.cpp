#include "wick/backend/vulkan/program.h"

#include <cstring>
#include <utility>

#include "wick/backend/vulkan/queue.h"
#include "wick/device/spirv_module.h"

namespace wick::vulkan {
namespace {

// The words of a SPIR-V module; none if the bytes are not one.
std::vector<uint32_t> words_of(std::span<const std::byte> binary) {
  std::vector<uint32_t> words(binary.size() / sizeof(uint32_t));
  std::memcpy(words.data(), binary.data(), words.size() * sizeof(uint32_t));
  const bool whole = binary.size() % sizeof(uint32_t) == 0 && words.size() >= 5;
  if (!whole || !is_spirv({reinterpret_cast<const char*>(binary.data()), binary.size()})) words.clear();
  return words;
}

}  // namespace

std::shared_ptr<const Program> Program::load(std::shared_ptr<Queue> queue, ir::Kernel kernel, std::span<const std::byte> binary) {
  auto program = std::make_shared<Program>(std::move(queue), std::move(kernel));
  return program->make_pipeline(binary) ? program : nullptr;
}

bool Program::make_pipeline(std::span<const std::byte> binary) {
  const std::vector<uint32_t> words = words_of(binary);
  if (words.empty()) return false;
  Device& device = queue_->device();
  set_layout_ = device.set_layout(kernel().buffers.size());
  const VkPushConstantRange parameters{VK_SHADER_STAGE_COMPUTE_BIT, 0,
                                       static_cast<uint32_t>(kernel().parameters.size() * sizeof(uint32_t))};
  auto layout = typed<VkPipelineLayoutCreateInfo>(VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO);
  layout.setLayoutCount = 1;
  layout.pSetLayouts = &set_layout_;
  layout.pushConstantRangeCount = parameters.size > 0 ? 1 : 0;
  layout.pPushConstantRanges = &parameters;
  check(vkCreatePipelineLayout(device.handle(), &layout, nullptr, &layout_), "vkCreatePipelineLayout");

  auto module = typed<VkShaderModuleCreateInfo>(VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO);
  module.codeSize = words.size() * sizeof(uint32_t);
  module.pCode = words.data();
  auto size = typed<VkPipelineShaderStageRequiredSubgroupSizeCreateInfo>(
      VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO);
  size.requiredSubgroupSize = kernel().subgroup_size;
  auto pipeline = typed<VkComputePipelineCreateInfo>(VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO);
  pipeline.layout = layout_;
  pipeline.stage = typed<VkPipelineShaderStageCreateInfo>(VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO);
  pipeline.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
  pipeline.stage.pName = kernel().entry.empty() ? "main" : kernel().entry.c_str();
  if (kernel().subgroup_size > 1) {
    pipeline.stage.pNext = &size;
    pipeline.stage.flags = VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT;
  }
  if (vkCreateShaderModule(device.handle(), &module, nullptr, &pipeline.stage.module) != VK_SUCCESS) return false;
  const VkResult result = vkCreateComputePipelines(device.handle(), VK_NULL_HANDLE, 1, &pipeline, nullptr, &pipeline_);
  vkDestroyShaderModule(device.handle(), pipeline.stage.module, nullptr);
  return result == VK_SUCCESS;
}

Program::~Program() {
  queue_->finish(last_use);
  vkDestroyPipeline(queue_->device().handle(), pipeline_, nullptr);
  vkDestroyPipelineLayout(queue_->device().handle(), layout_, nullptr);
}

}  // namespace wick::vulkan
