// Programs where the interpreter is the device: on the CPU, for kernels of users (through linked_kernels.h), and in the reference backend.
#pragma once

#include <memory>

#include "wick/device/program.h"
#include "wick/op/device_caps.h"

namespace wick {

// Errors: what ir::prepare() refuses.
[[nodiscard]] std::shared_ptr<const Program> interpreted_program(const ir::Kernel& kernel, const DeviceCaps& caps);

// Runs the launch on buffers in host memory; keeps_subnormals: DeviceCaps::f32_subnormals. Errors: what the interpreter finds, naming
// kernel, element, lane and group.
void interpret(const Launch& launch, bool keeps_subnormals = true);

}  // namespace wick
