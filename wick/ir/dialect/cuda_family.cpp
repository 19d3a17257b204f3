#include "wick/ir/dialect/cuda_family.h"

namespace wick::ir {
namespace {

std::string head(const Kernel& kernel, const Usage& usage, const Dialect& dialect) {
  std::string text;
  if (!kernel.parameters.empty()) text += "struct Params {" + members(kernel, dialect, " $T $n;") + " };\n";
  text += expand("extern \"C\" __global__ void __launch_bounds__($g) $e(",
                 {{'g', std::to_string(kernel.group_size)}, {'e', entry_name(kernel)}});
  std::string arguments = buffer_arguments(kernel, usage, dialect, "$c$E* __restrict__ $n", ", ");
  if (!kernel.parameters.empty()) arguments += arguments.empty() ? "const Params p" : ", const Params p";
  text += arguments + ") {\n";
  return text + shared_arrays(kernel, usage, dialect, "  alignas(16) __shared__ $E $n[$c];\n");
}

}  // namespace

Dialect cuda_family() {
  Dialect d;
  d.types = {"bool", "int", "unsigned", "long long", "", "float", "double"};
  d.elements = {"signed char", "unsigned char", "short", "unsigned short", "", "", "int", "unsigned", "float", "long long", "double"};
  d.vectors = {"", "int$n", "uint$n", "", "", "float$n", ""};
  d.make_vector = "$V{$0}";
  d.unroll = "#pragma unroll";
  d.barriers = {"__syncthreads();", "__syncthreads();"};
  d.group_id = "blockIdx.$d";
  d.group_count = "gridDim.$d";
  d.local_id = "threadIdx.x";
  d.subgroup_lane = "(threadIdx.x % $su)";
  d.subgroup_id = "(threadIdx.x / $su)";
  d.subgroup_reduce = {"wick_subgroup_add($0)", "wick_subgroup_min($0)", "wick_subgroup_max($0)"};
  d.vector_load = "*reinterpret_cast<const $V*>(&$m[$i])";
  d.vector_store = "*reinterpret_cast<$V*>(&$m[$i]) = $x;";
  d.atomics = {"atomicAdd(&$m[$i], $x)", "atomicMin(&$m[$i], $x)", "atomicMax(&$m[$i], $x)",
               "atomicAnd(&$m[$i], $x)", "atomicOr(&$m[$i], $x)",  "atomicExch(&$m[$i], $x)"};
  d.family = kCudaFamilyCommon;
  d.head = head;
  return d;
}

}  // namespace wick::ir
