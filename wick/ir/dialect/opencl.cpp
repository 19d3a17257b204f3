// OpenCL C 1.2, with its extensions where the device has them.
#include "wick/ir/dialect/spellings.h"

namespace wick::ir {
namespace {

constexpr uint8_t kF32 = types(Type::f32);

// clang-format off
constexpr std::array kOwn{
    Spelling{Op::minimum, floats(), "fmin($0, $1)"},
    Spelling{Op::maximum, floats(), "fmax($0, $1)"},
    Spelling{Op::absolute, floats(), "fabs($0)"},
    Spelling{Op::exp2, kF32, "native_exp2($0)", "exp2($0)"},
    Spelling{Op::log2, kF32, "native_log2($0)", "log2($0)"},
    Spelling{Op::sine, kF32, "native_sin($0)", "sin($0)"},
    Spelling{Op::square_root, kF32, "native_sqrt($0)", "sqrt($0)"},
    Spelling{Op::divide, kF32, "native_divide($0, $1)", "$0 / $1"},
    Spelling{Op::dot4, any(), "$2 + dot_4x8packed_ss_int($0, $1)"},
    Spelling{Op::unpack_half, any(), "wick_unpack_half($0)"},
    Spelling{Op::pack_halves, any(), "wick_pack_halves($0, $1)"},
    Spelling{Op::subgroup_shuffle_xor, any(), "sub_group_shuffle_xor($0, $nu)"},
    Spelling{Op::subgroup_broadcast, any(), "sub_group_broadcast($0, $nu)"},
};
constexpr auto kSpellings = join(kOwn, kWrappingSpellings);

constexpr std::array kConversions{
    Conversion{Op::bitcast, any(), any(), "as_$T($0)"},
    Conversion{Op::cast, types(Type::f32), types(Type::f16), "convert_half_rte($0)"},
};

constexpr std::array kPreambles{
    Preamble{Feature::f16, "#pragma OPENCL EXTENSION cl_khr_fp16 : enable\n"},
    Preamble{Feature::f64, "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n"},
    Preamble{Feature::subgroups, "#pragma OPENCL EXTENSION cl_khr_subgroups : enable\n"},
    Preamble{Feature::subgroup_shuffle, "#pragma OPENCL EXTENSION cl_khr_subgroup_shuffle : enable\n"},
    Preamble{Feature::dot4, "#pragma OPENCL EXTENSION cl_khr_integer_dot_product : enable\n"},
    // vload_half is there without cl_khr_fp16.
    Preamble{Feature::unpack_half, R"(float wick_unpack_half(uint bits) {
  const ushort half_bits = (ushort)bits;
  return vload_half(0, (const __private half*)&half_bits);
}
)"},
    Preamble{Feature::pack_halves, R"(uint wick_pack_halves(float a, float b) {
  uint halves;
  vstore_half2_rte((float2)(a, b), 0, (__private half*)&halves);
  return halves;
}
)"},
};
// clang-format on

std::string head(const Kernel& kernel, const Usage& usage, const Dialect& dialect) {
  std::string text = kernel.math == MathMode::precise ? "#pragma OPENCL FP_CONTRACT OFF\n" : "#pragma OPENCL FP_CONTRACT ON\n";
  if (!kernel.parameters.empty()) text += "typedef struct {" + members(kernel, dialect, " $T $n;") + " } Params;\n";
  text += "__kernel __attribute__((reqd_work_group_size(" + std::to_string(kernel.group_size) + ", 1, 1)))\n";
  if (usage.has(Feature::subgroups)) text += "__attribute__((intel_reqd_sub_group_size(" + std::to_string(kernel.subgroup_size) + ")))\n";
  text += "void " + entry_name(kernel) + "(";
  std::string arguments = buffer_arguments(kernel, usage, dialect, "__global $c$E* restrict $n", ", ");
  if (!kernel.parameters.empty()) arguments += arguments.empty() ? "const Params p" : ", const Params p";
  text += arguments + ") {\n";
  return text + shared_arrays(kernel, usage, dialect, "  __local $E $n[$c] __attribute__((aligned(16)));\n");
}

Dialect make() {
  Dialect d;
  d.name = "OpenCL C";
  d.extension = "cl";
  d.types = {"bool", "int", "uint", "long", "half", "float", "double"};
  d.elements = {"char", "uchar", "short", "ushort", "", "half", "int", "uint", "float", "long", "double"};
  d.vectors = {"", "int$n", "uint$n", "", "", "float$n", ""};
  d.i64_suffix = "l";
  d.make_vector = "($V)($0)";
  d.unroll = "#pragma unroll";
  d.barriers = {"barrier(CLK_LOCAL_MEM_FENCE);", "barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);"};
  d.group_id = "(uint)get_group_id($i)";
  d.group_count = "(uint)get_num_groups($i)";
  d.local_id = "(uint)get_local_id(0)";
  d.subgroup_lane = "get_sub_group_local_id()";
  d.subgroup_id = "get_sub_group_id()";
  d.subgroup_reduce = {"sub_group_reduce_add($0)", "sub_group_reduce_min($0)", "sub_group_reduce_max($0)"};
  d.vector_load = "*(const $S $V*)&$m[$i]";
  d.vector_store = "*($S $V*)&$m[$i] = $x;";
  d.spaces = {"__global", "__local"};
  d.atomics = {"atomic_add(&$m[$i], $x)", "atomic_min(&$m[$i], $x)", "atomic_max(&$m[$i], $x)",
               "atomic_and(&$m[$i], $x)", "atomic_or(&$m[$i], $x)",  "atomic_xchg(&$m[$i], $x)"};
  d.spellings = kSpellings;
  d.family = kCommonSpellings;
  d.conversions = kConversions;
  d.preambles = kPreambles;
  d.head = head;
  return d;
}

}  // namespace

const Dialect& opencl_dialect() {
  static const Dialect dialect = make();
  return dialect;
}

}  // namespace wick::ir
