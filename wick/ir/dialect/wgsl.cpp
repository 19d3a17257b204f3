// WGSL, WebGPU's language.
#include <algorithm>

#include "wick/ir/dialect/spellings.h"

namespace wick::ir {
namespace {

// clang-format off
constexpr std::array kOwn{
    Spelling{Op::negate, types(Type::u32), "0u - $0"},
    Spelling{Op::select, any(), "select($2, $1, $0)"},
    // The language has no word against reassociation, and drivers make b of (a + b) - a: what this subtracts from is what it was, but no
    // compiler sees that.
    Spelling{Op::subtract, types(Type::f32), "$0 - $1", "bitcast<f32>(bitcast<u32>($0) ^ zero) - $1"},
    Spelling{Op::dot4, any(), "$2 + dot4I8Packed($0, $1)"},
    Spelling{Op::unpack_half, any(), "unpack2x16float($0).x"},
    Spelling{Op::pack_halves, any(), "pack2x16float(vec2<f32>($0, $1))"},
    Spelling{Op::subgroup_shuffle_xor, any(), "subgroupShuffleXor($0, $nu)"},
    Spelling{Op::subgroup_broadcast, any(), "subgroupBroadcast($0, $nu)"},
};

constexpr std::array kConversions{
    Conversion{Op::bitcast, any(), any(), "bitcast<$T>($0)"},
};

constexpr std::array kPreambles{
    Preamble{Feature::f16, "enable f16;\n"},
    Preamble{Feature::subgroups, "enable subgroups;\n"},
    Preamble{Feature::dot4, "requires packed_4x8_integer_dot_product;\n"},
};
// clang-format on

// An array that atomics touch holds atomics.
std::string element(const Kernel& kernel, const Usage& usage, const Dialect& dialect, Space space, uint32_t slot) {
  const std::string type = element_type(kernel, usage, dialect, space, slot);
  return usage.atomic[static_cast<std::size_t>(space)][slot] ? "atomic<" + type + ">" : type;
}

bool subtracts(const Kernel& kernel) {
  return std::any_of(kernel.nodes.begin(), kernel.nodes.end(),
                     [](const Node& node) { return node.op == Op::subtract && node.type == Type::f32; });
}

std::string head(const Kernel& kernel, const Usage& usage, const Dialect& dialect) {
  std::string text;
  uint32_t index = 0;
  for (; index < kernel.buffers.size(); ++index) {
    text += expand("@group(0) @binding($i) var<storage, $a> $n: array<$E>;\n",
                   {{'i', std::to_string(index)},
                    {'a', kernel.buffers[index].access == Access::read ? "read" : "read_write"},
                    {'n', argument_name(kernel.buffers[index].name)},
                    {'E', element(kernel, usage, dialect, Space::buffer, index)}});
  }
  if (!kernel.parameters.empty()) {
    text += "struct Params {" + members(kernel, dialect, " $n: $T,") + " }\n";
    text += "@group(0) @binding(" + std::to_string(index) + ") var<uniform> p: Params;\n";
  }
  for (uint32_t i = 0; i < kernel.shared.size(); ++i) {
    text += expand("var<workgroup> $n: array<$E, $c>;\n", {{'n', shared_name(i)},
                                                           {'E', element(kernel, usage, dialect, Space::shared, i)},
                                                           {'c', std::to_string(declared_count(kernel, usage, i))}});
  }
  text += "@compute @workgroup_size(" + std::to_string(kernel.group_size) + ")\nfn " + entry_name(kernel) +
          "(@builtin(workgroup_id) gid: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) lid: u32";
  if (usage.has(Feature::subgroups)) text += ", @builtin(subgroup_invocation_id) lane: u32";
  text += ") {\n";
  // Of four consecutive numbers two are even, and one of these a multiple of four.
  if (kernel.math == MathMode::precise && subtracts(kernel)) {
    text += "  let zero: u32 = (groups.x * (groups.x + 1u) * (groups.x + 2u) * (groups.x + 3u)) & 4u;\n";
  }
  return text;
}

Dialect make() {
  Dialect d;
  d.name = "WGSL";
  d.extension = "wgsl";
  d.types = {"bool", "i32", "u32", "", "f16", "f32", ""};
  d.elements = {"", "", "", "", "", "f16", "i32", "u32", "f32", "", ""};
  d.vectors = {"", "vec$n<i32>", "vec$n<u32>", "", "", "vec$n<f32>", ""};
  d.i32_suffix = "i";
  d.let = "let $n: $T = $x;";
  d.variable = "var $n: $T = $x;";
  d.declaration = "var $n: $T;";
  d.loop = "for (var $n: $T = $b; $n < $e; $n += $su) {";
  d.cast = "$T($0)";
  d.barriers = {"workgroupBarrier();", "storageBarrier(); workgroupBarrier();"};
  d.group_id = "gid.$d";
  d.group_count = "groups.$d";
  d.local_id = "lid";
  d.subgroup_lane = "lane";
  d.subgroup_id = "(lid / $su)";
  d.subgroup_reduce = {"subgroupAdd($0)", "subgroupMin($0)", "subgroupMax($0)"};
  d.atomics = {"atomicAdd(&$m[$i], $x)", "atomicMin(&$m[$i], $x)", "atomicMax(&$m[$i], $x)",
               "atomicAnd(&$m[$i], $x)", "atomicOr(&$m[$i], $x)",  "atomicExchange(&$m[$i], $x)"};
  d.atomic_load = "atomicLoad(&$m[$i])";
  d.atomic_store = "atomicStore(&$m[$i], $x);";
  d.spellings = kOwn;
  d.family = kCommonSpellings;
  d.conversions = kConversions;
  d.preambles = kPreambles;
  d.head = head;
  return d;
}

}  // namespace

const Dialect& wgsl_dialect() {
  static const Dialect dialect = make();
  return dialect;
}

}  // namespace wick::ir
