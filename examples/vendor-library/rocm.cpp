#include <wick/backend/rocm/rocm.h>

#include "vendor.h"

extern const Vendor k_rocm;
const Vendor k_rocm{.kind = wick::DeviceKind::rocm,
                    .library = "hipBLAS",
                    .files = {"libhipblas.so.3", "/opt/rocm/lib/libhipblas.so.3", "libhipblas.so.2", "/opt/rocm/lib/libhipblas.so.2"},
                    .create = "hipblasCreate",
                    .destroy = "hipblasDestroy",
                    .set_stream = "hipblasSetStream",
                    .multiply = "hipblasSgemm",
                    .not_transposed = 111,
                    .stream = [](const wick::Device& device) -> void* { return wick::hip_stream(device); },
                    .memory = [](const wick::Tensor& tensor) { return static_cast<float*>(wick::hip_memory(tensor)); }};
