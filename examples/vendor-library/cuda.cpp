#include <wick/backend/cuda/cuda.h>

#include "vendor.h"

extern const Vendor k_cuda;
const Vendor k_cuda{
    .kind = wick::DeviceKind::cuda,
    .library = "cuBLAS",
    .files = {"libcublas.so.13", "/usr/local/cuda/lib64/libcublas.so.13", "libcublas.so.12", "/usr/local/cuda/lib64/libcublas.so.12"},
    .create = "cublasCreate_v2",
    .destroy = "cublasDestroy_v2",
    .set_stream = "cublasSetStream_v2",
    .multiply = "cublasSgemm_v2",
    .not_transposed = 0,
    .stream = [](const wick::Device& device) -> void* { return wick::cuda_stream(device); },
    .memory = [](const wick::Tensor& tensor) { return reinterpret_cast<float*>(wick::cuda_memory(tensor)); }};
