#include "wick/backend/vulkan/program.h"

#include <utility>
#include <vector>

#include "wick/backend/vulkan/queue.h"
#include "wick/device/submissions/spirv_module.h"

namespace wick::vulkan {

std::shared_ptr<const Program> Program::load(std::shared_ptr<Queue> queue, ir::Kernel kernel, std::span<const std::byte> binary) {
  auto program = std::make_shared<Program>(std::move(queue), std::move(kernel));
  return program->make_pipeline(binary) ? program : nullptr;
}

bool Program::make_pipeline(std::span<const std::byte> binary) {
  const std::vector<uint32_t> words = spirv_words(binary);
  if (words.empty()) return false;
  Device& device = queue_->device();
  set_layout_ = device.set_layout(kernel().buffers.size());
  const VkPushConstantRange parameters{VK_SHADER_STAGE_COMPUTE_BIT, 0,
                                       static_cast<uint32_t>(kernel().parameters.size() * sizeof(uint32_t))};
  const VkPipelineLayoutCreateInfo layout{.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                          .setLayoutCount = 1,
                                          .pSetLayouts = &set_layout_,
                                          .pushConstantRangeCount = parameters.size > 0 ? 1U : 0U,
                                          .pPushConstantRanges = &parameters};
  check(vkCreatePipelineLayout(device.handle(), &layout, nullptr, &layout_), "vkCreatePipelineLayout");

  const VkShaderModuleCreateInfo module{
      .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO, .codeSize = words.size() * sizeof(uint32_t), .pCode = words.data()};
  VkPipelineShaderStageRequiredSubgroupSizeCreateInfo size{
      .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO,
      .requiredSubgroupSize = static_cast<uint32_t>(kernel().subgroup_size)};
  VkComputePipelineCreateInfo pipeline{.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
                                       .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                                                 .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                                                 .pName = kernel().entry.empty() ? "main" : kernel().entry.c_str()},
                                       .layout = layout_};
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
