// Prints the kernels of inference for a device that this machine need not have: wick_kernel_texts DEVICE FOLDER. Writes each text to
// FOLDER/<kernel>.<extension> and how to launch them to FOLDER/kernels.json, for bench/kernel_texts.py to run on such a device.
#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "wick/base/fail.h"
#include "wick/ir/dialect/dialect.h"
#include "wick/ir/passes.h"
#include "wick/kernels/attention.h"
#include "wick/kernels/linear.h"
#include "wick/kernels/matmul.h"
#include "wick/kernels/quantized_matvec.h"

namespace wick {
namespace {

struct Target {
  DeviceCaps caps;
  const ir::Dialect& dialect;
};

// NVIDIA H100 SXM: CUDA C++ Programming Guide, tables of compute capability 9.0. 48 KiB of shared memory need no opting in.
DeviceCaps h100() {
  DeviceCaps caps;
  caps.name = "NVIDIA H100";
  caps.compute_units = 132;
  caps.max_subgroup_size = caps.min_subgroup_size = 32;
  caps.max_shared_bytes = 48 << 10;
  caps.max_group_size = 1024;
  caps.max_storage_buffers = 64;
  caps.max_parameter_bytes = 4096;
  caps.max_group_count = {2147483647, 65535, 65535};
  caps.f16_arithmetic = caps.int8_dot = caps.storage_8bit = caps.storage_16bit = true;
  caps.int64 = caps.f64_arithmetic = caps.f32_atomic_add = true;
  caps.tiles = {{16, 16, 16}};
  return caps;
}

Target target(std::string_view device) {
  if (device == "h100") return {h100(), ir::cuda_dialect()};
  fail(ErrorCode::not_found, "kernel_texts: no device \"{}\"; there is h100", device);
}

std::vector<ir::Kernel> kernels_for(const DeviceCaps& caps) {
  std::vector<ir::Kernel> all;
  all.push_back(kernels::quantize_q8(caps));
  for (const DType dtype : {DType::q8_0, DType::q4_k, DType::q6_k}) all.push_back(kernels::matvec_bytes({{dtype}}, caps));
  for (const DType dtype : {DType::q8_0, DType::q4_k, DType::q6_k})
    all.push_back(kernels::matvec({dtype, kernels::RowAccess::blocks}, 1, caps));
  for (const uint32_t rows : {1U, 4U})
    all.push_back(kernels::attention({.access = kernels::RowAccess::vectors, .rows = rows, .splits = true}, caps));
  all.push_back(kernels::attention_join(DType::f32, false, false, caps));
  all.push_back(kernels::matmul_blocks(DType::f32, caps));
  for (const TileShape& shape : caps.tiles) all.push_back(kernels::matmul_tiles(shape, static_cast<uint32_t>(caps.max_subgroup_size)));
  return all;
}

void write(const std::filesystem::path& path, std::string_view text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  if (!file.flush()) fail(ErrorCode::io, "kernel_texts: cannot write {}", path.string());
}

void write_texts(std::string_view device, const std::filesystem::path& folder) {
  const Target to = target(device);
  std::filesystem::create_directories(folder);
  nlohmann::json list;
  for (const ir::Kernel& kernel : kernels_for(to.caps)) {
    const ir::Kernel prepared = ir::prepare(kernel, to.caps);
    const std::string file = fmt::format("{}.{}", kernel.name, to.dialect.extension);
    write(folder / file, ir::print(prepared, to.dialect));
    list.push_back({{"name", kernel.name},
                    {"file", file},
                    {"entry", ir::entry_name(prepared)},
                    {"lanes", prepared.group_size},
                    {"rows_per_group", kernels::rows_per_group(prepared)}});
  }
  write(folder / "kernels.json", list.dump(1) + "\n");
}

}  // namespace
}  // namespace wick

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs("usage: wick_kernel_texts DEVICE FOLDER\n", stderr);
    return 2;
  }
  try {
    wick::write_texts(argv[1], argv[2]);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 2;
  }
  return 0;
}
