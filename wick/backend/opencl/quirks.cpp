#include "wick/backend/opencl/quirks.h"

#include <array>
#include <string_view>

namespace wick::opencl {
namespace {

// A row applies where the driver's name and version begin so.
struct Quirk {
  std::string_view driver;
  std::string_view reason;
  std::string_view link;
  void (*apply)(FoundDevice& device);
};

constexpr std::array kQuirks{
    Quirk{"rusticl 22.", "CL_KERNEL_WORK_GROUP_SIZE is the size of a subgroup, while the kernel runs in groups of up to the device's limit",
          "https://gitlab.freedesktop.org/mesa/mesa/-/blob/22.3/src/gallium/frontends/rusticl/api/kernel.rs",
          [](FoundDevice& device) { device.knows_kernels_groups = false; }},
    Quirk{"rusticl ",
          "int v = 77; if (c) v = a[i]; of an array of char: v is 0 where c does not hold, as the constant becomes one of 16 bits",
          "https://gitlab.freedesktop.org/mesa/mesa/-/blob/main/src/compiler/nir/nir_opt_phi_precision.c",
          [](FoundDevice& device) { device.caps.storage_8bit = false; }},
    Quirk{"NVIDIA CUDA ",
          "CL_KERNEL_WORK_GROUP_SIZE is 256 for kernels whose reqd_work_group_size is 1024, the device's limit (seen with 580.159)",
          "https://registry.khronos.org/OpenCL/specs/3.0-unified/html/OpenCL_API.html#clGetKernelWorkGroupInfo",
          [](FoundDevice& device) { device.caps.max_group_size = 256; }},
};

}  // namespace

void apply_quirks(FoundDevice& device) {
  for (const Quirk& quirk : kQuirks) {
    if (device.caps.driver.starts_with(quirk.driver)) quirk.apply(device);
  }
}

}  // namespace wick::opencl
