// Metal Shading Language 3.0.
#include "wick/ir/dialect/spellings.h"

namespace wick::ir {
namespace {

constexpr uint8_t kF32 = types(Type::f32);

// clang-format off
constexpr std::array kOwn{
    Spelling{Op::exp2, kF32, "fast::exp2($0)", "precise::exp2($0)"},
    Spelling{Op::log2, kF32, "fast::log2($0)", "precise::log2($0)"},
    Spelling{Op::sine, kF32, "fast::sin($0)", "precise::sin($0)"},
    Spelling{Op::divide, kF32, "fast::divide($0, $1)", "$0 / $1"},
    Spelling{Op::square_root, kF32, "fast::sqrt($0)", "precise::sqrt($0)"},
    Spelling{Op::dot4, any(), "wick_dot4($0, $1, $2)"},
    Spelling{Op::unpack_half, any(), "float(as_type<half>(ushort($0)))"},
    Spelling{Op::pack_halves, any(), "as_type<uint>(half2(half($0), half($1)))"},
    Spelling{Op::subgroup_shuffle_xor, any(), "simd_shuffle_xor($0, ushort($n))"},
    Spelling{Op::subgroup_broadcast, any(), "simd_broadcast($0, ushort($n))"},
};
constexpr auto kSpellings = join(kOwn, kWrappingSpellings);

constexpr std::array kConversions{
    Conversion{Op::bitcast, any(), any(), "as_type<$T>($0)"},
};

constexpr std::array kPreambles{
    Preamble{Feature::tiles, "#include <metal_simdgroup_matrix>\n"},
    Preamble{Feature::dot4, R"(inline int wick_dot4(uint a, uint b, int c) {
  for (uint i = 0; i < 32; i += 8) c += int(char(a >> i)) * int(char(b >> i));
  return c;
}
)"},
};
// clang-format on

std::string head(const Kernel& kernel, const Usage& usage, const Dialect& dialect) {
  // Metal contracts and reorders unless told otherwise.
  std::string text = kernel.math == MathMode::precise ? "#pragma METAL fp math_mode(safe)\n#pragma METAL fp contract(off)\n"
                                                      : "#pragma METAL fp math_mode(fast)\n";
  if (!kernel.parameters.empty()) text += "struct Params {" + members(kernel, dialect, " $T $n;") + " };\n";
  text += expand("kernel void $e(", {{'e', entry_name(kernel)}});
  text += buffer_arguments(kernel, usage, dialect, "device $c$E* $n [[buffer($i)]], ", "");
  if (!kernel.parameters.empty()) text += "constant Params& p [[buffer(" + std::to_string(kernel.buffers.size()) + ")]], ";
  text += "uint3 gid [[threadgroup_position_in_grid]], uint3 groups [[threadgroups_per_grid]], uint lid [[thread_index_in_threadgroup]]";
  if (usage.has(Feature::subgroups)) text += ", uint lane [[thread_index_in_simdgroup]], uint simdgroup [[simdgroup_index_in_threadgroup]]";
  text += ") {\n";
  return text + shared_arrays(kernel, usage, dialect, "  alignas(16) threadgroup $E $n[$c];\n");
}

Dialect make() {
  Dialect d;
  d.name = "MSL";
  d.extension = "metal";
  d.types = {"bool", "int", "uint", "long", "half", "float", ""};
  d.elements = {"char", "uchar", "short", "ushort", "", "half", "int", "uint", "float", "long", ""};
  d.vectors = {"", "int$n", "uint$n", "", "", "float$n", ""};
  d.i64_suffix = "l";
  d.cast = "$T($0)";
  d.make_vector = "$V($0)";
  d.unroll = "#pragma clang loop unroll(full)";
  d.barriers = {"threadgroup_barrier(mem_flags::mem_threadgroup);",
                "threadgroup_barrier(mem_flags::mem_threadgroup | mem_flags::mem_device);"};
  d.group_id = "gid.$d";
  d.group_count = "groups.$d";
  d.local_id = "lid";
  d.subgroup_lane = "lane";
  d.subgroup_id = "simdgroup";
  d.subgroup_reduce = {"simd_sum($0)", "simd_min($0)", "simd_max($0)"};
  d.vector_load = "*(const $S $V*)&$m[$i]";
  d.vector_store = "*($S $V*)&$m[$i] = $x;";
  d.spaces = {"device", "threadgroup"};
  d.atomics = {"atomic_fetch_add_explicit(($S $A*)&$m[$i], $x, memory_order_relaxed)",
               "atomic_fetch_min_explicit(($S $A*)&$m[$i], $x, memory_order_relaxed)",
               "atomic_fetch_max_explicit(($S $A*)&$m[$i], $x, memory_order_relaxed)",
               "atomic_fetch_and_explicit(($S $A*)&$m[$i], $x, memory_order_relaxed)",
               "atomic_fetch_or_explicit(($S $A*)&$m[$i], $x, memory_order_relaxed)",
               "atomic_exchange_explicit(($S $A*)&$m[$i], $x, memory_order_relaxed)"};
  d.f32_atomic_add = "atomic_fetch_add_explicit(($S $A*)&$m[$i], $x, memory_order_relaxed)";
  d.atomic_types = {"", "atomic_int", "atomic_uint", "", "", "atomic_float", ""};
  d.tile_type = "simdgroup_matrix<$E, $c, $r>";  // columns first
  d.tile_roles = {"", "", ""};
  d.tile_fill = "$n = make_filled_simdgroup_matrix<float, $c, $r>($x);";
  d.tile_load = "simdgroup_load($n, &$m[$i], $t);";
  d.tile_load_words = "simdgroup_load($n, (const $S half*)&$m[$i], 2u * $t);";
  d.tile_multiply = "simdgroup_multiply_accumulate($n, $l, $p, $n);";
  d.tile_load_sums = d.tile_load;
  d.tile_scale = "$n.thread_elements() *= $l.thread_elements();";
  d.tile_store = "simdgroup_store($n, &$m[$i], $t);";
  d.spellings = kSpellings;
  d.family = kCommonSpellings;
  d.conversions = kConversions;
  d.preambles = kPreambles;
  d.version = "#include <metal_stdlib>\nusing namespace metal;\n";
  d.head = head;
  return d;
}

}  // namespace

const Dialect& msl_dialect() {
  static const Dialect dialect = make();
  return dialect;
}

}  // namespace wick::ir
