// A FoundDevice is one device of one platform, as its driver describes it.
#pragma once

#include <string>
#include <vector>

#include "wick/backend/opencl/api.h"
#include "wick/ir/dialect/dialect.h"
#include "wick/op/device_caps.h"

namespace wick::opencl {

struct FoundDevice {
  cl_device_id id = nullptr;
  DeviceCaps caps;
  int score = 0;
  const ir::Dialect* dialect = &ir::opencl_dialect();
  std::string build_options;         // of its compiler
  bool knows_kernels_groups = true;  // it tells how large a kernel's groups may be
};

// Every device that is there and has a compiler, of every platform. A platform that fails, or has no device, gives none.
[[nodiscard]] std::vector<FoundDevice> find_devices(const Api& api);

}  // namespace wick::opencl
