#include "wick/backend/webgpu/recording.h"

#include <cstring>

namespace wick::webgpu {

void Recording::open() {
  if (encoder_ != nullptr) return;
  const LabelDescriptor descriptor;
  encoder_ = {device_.api().create_command_encoder(device_.handle(), &descriptor), {device_.api().encoder_release}};
}

void Recording::end_pass() {
  if (pass_ == nullptr) return;
  device_.api().pass_end(pass_.get());
  pass_.reset();
  bound_ = nullptr;
}

CommandEncoder Recording::encoder() {
  open();
  end_pass();
  return encoder_.get();
}

void Recording::dispatch(const Step& step) {
  const Api& api = device_.api();
  open();
  if (pass_ == nullptr) {
    const ComputePassDescriptor descriptor;
    pass_ = {api.encoder_begin_compute_pass(encoder_.get(), &descriptor), {api.pass_release}};
  }
  if (bound_ != step.pipeline) api.pass_set_pipeline(pass_.get(), step.pipeline);
  bound_ = step.pipeline;
  const auto place = static_cast<uint32_t>(parameters_.size());
  if (!step.parameters.empty()) {
    parameters_.resize(place + device_.parameter_stride());
    std::memcpy(&parameters_[place], step.parameters.data(), step.parameters.size_bytes());
  }
  api.pass_set_bind_group(pass_.get(), 0, step.group, step.parameters.empty() ? 0 : 1, &place);
  api.pass_dispatch(pass_.get(), step.grid.x, step.grid.y, step.grid.z);
  ++launches_;
}

Owned<CommandBuffer> Recording::finish() {
  end_pass();
  const LabelDescriptor descriptor;
  Owned<CommandBuffer> commands(device_.api().encoder_finish(encoder_.get(), &descriptor), {device_.api().command_buffer_release});
  encoder_.reset();
  launches_ = 0;
  parameters_.clear();
  return commands;
}

}  // namespace wick::webgpu
