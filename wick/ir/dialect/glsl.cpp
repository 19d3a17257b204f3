// GLSL 4.60 for Vulkan 1.1 and later.
#include "wick/ir/dialect/spellings.h"

namespace wick::ir {
namespace {

// clang-format off
constexpr std::array kOwn{
    // The remainder of negative numbers is undefined.
    Spelling{Op::remainder, types(Type::i32, Type::i64), "$0 - $1 * ($0 / $1)"},
    Spelling{Op::shift_right, types(Type::i64), "$0 >> int64_t($1)"},
    Spelling{Op::shift_left, types(Type::i64), "$0 << int64_t($1)"},
    Spelling{Op::dot4, any(), "$2 + dot4(int($0), int($1), 0)"},
    Spelling{Op::unpack_half, any(), "unpackHalf2x16($0).x"},
    Spelling{Op::pack_halves, any(), "packHalf2x16(vec2($0, $1))"},
    Spelling{Op::subgroup_shuffle_xor, any(), "subgroupShuffleXor($0, $nu)"},
    Spelling{Op::subgroup_broadcast, any(), "subgroupBroadcast($0, $nu)"},
};

constexpr std::array kConversions{
    Conversion{Op::bitcast, types(Type::u32), types(Type::f32), "uintBitsToFloat($0)"},
    Conversion{Op::bitcast, types(Type::i32), types(Type::f32), "intBitsToFloat($0)"},
    Conversion{Op::bitcast, types(Type::f32), types(Type::u32), "floatBitsToUint($0)"},
    Conversion{Op::bitcast, types(Type::f32), types(Type::i32), "floatBitsToInt($0)"},
    Conversion{Op::bitcast, types(Type::i64), types(Type::f64), "int64BitsToDouble($0)"},
    Conversion{Op::bitcast, types(Type::f64), types(Type::i64), "doubleBitsToInt64($0)"},
};

constexpr std::array kPreambles{
    Preamble{Feature::f16, "#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require\n"},
    Preamble{Feature::storage_8bit, "#extension GL_EXT_shader_8bit_storage : require\n#extension GL_EXT_shader_explicit_arithmetic_types_int8 : require\n"},
    Preamble{Feature::storage_16bit, "#extension GL_EXT_shader_16bit_storage : require\n#extension GL_EXT_shader_explicit_arithmetic_types_int16 : require\n"},
    Preamble{Feature::int64, "#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require\n"},
    Preamble{Feature::subgroups, "#extension GL_KHR_shader_subgroup_basic : require\n"},
    Preamble{Feature::subgroup_reduce, "#extension GL_KHR_shader_subgroup_arithmetic : require\n"},
    Preamble{Feature::subgroup_shuffle, "#extension GL_KHR_shader_subgroup_shuffle : require\n#extension GL_KHR_shader_subgroup_ballot : require\n"},
    Preamble{Feature::f32_atomics, "#extension GL_EXT_shader_atomic_float : require\n"},
    Preamble{Feature::unroll, "#extension GL_EXT_control_flow_attributes : require\n"},
    Preamble{Feature::tiles, "#extension GL_EXT_spirv_intrinsics : require\n"},
    // OpSDot of words by its number, as compilers had no name for it until 2024; behind all extensions, since it is a declaration.
    Preamble{Feature::dot4, "#extension GL_EXT_spirv_intrinsics : require\nspirv_instruction(extensions = [\"SPV_KHR_integer_dot_product\"], capabilities = [6018, 6019], id = 4450) int dot4(int a, int b, spirv_literal int packed);\n"},
};
// clang-format on

// The types and instructions of SPV_KHR_cooperative_matrix by their numbers, as compilers had no names for them until 2023. A type's first
// literal, the bits of its floats, stands for the type of its elements.
std::string tile_declarations(const Kernel& kernel, const Usage& usage, const Dialect& dialect) {
  std::string text;
  const auto add = [&](std::string_view pattern, const Tile& tile) {
    const auto role = static_cast<std::size_t>(tile.role);
    const std::string line = expand(pattern, {{'R', dialect.tile_roles[role]},
                                              {'u', std::to_string(role)},
                                              {'b', std::to_string(8 * info(tile.element).bytes)},
                                              {'r', std::to_string(tile.rows)},
                                              {'c', std::to_string(tile.columns)}});
    if (text.find(line) == std::string::npos) text += line;
  };
  for (const Tile& tile : kernel.tiles) {
    add("#define Tile$R$rx$c spirv_type(extensions = [\"SPV_KHR_cooperative_matrix\"], capabilities = [6022], id = 4456, $b, 3, $r, $c, "
        "$u)\n",
        tile);
    if (tile.role == TileRole::accumulator) {
      add("spirv_instruction(id = 80) Tile$R$rx$c tile_fill_$rx$c(float x);\n", tile);
      add("spirv_instruction(id = 4458) void tile_store(spirv_by_reference float m, Tile$R$rx$c t, uint layout_, uint stride);\n", tile);
    } else {
      for (const char* element : {"uint", "uvec4", "float16_t"}) {
        if (!usage.has(Feature::f16) && element == std::string_view("float16_t")) continue;
        add(expand("spirv_instruction(id = 4457) Tile$R$rx$c tile_load_$R$rx$c(spirv_by_reference $e m, uint layout_, uint stride);\n",
                   {{'e', element}}),
            tile);
      }
    }
  }
  for (const Statement& s : kernel.body) {
    if (s.kind == StatementKind::tile_scale)
      add("spirv_instruction(id = 133) Tile$R$rx$c tile_scale(Tile$R$rx$c a, Tile$R$rx$c b);\n", kernel.tiles[s.slot]);
    if (s.kind == StatementKind::tile_load && kernel.tiles[s.slot].role == TileRole::accumulator) {
      const bool wide = usage.widths[static_cast<std::size_t>(s.space)][s.source] == 4;
      add(expand("spirv_instruction(id = 4457) Tile$R$rx$c tile_load_$R$rx$c(spirv_by_reference $e m, uint layout_, uint stride);\n",
                 {{'e', wide ? "vec4" : "float"}}),
          kernel.tiles[s.slot]);
    }
    if (s.kind != StatementKind::tile_multiply) continue;
    const Tile &a = kernel.tiles[s.left], &b = kernel.tiles[s.right], &c = kernel.tiles[s.slot];
    add(expand("spirv_instruction(id = 4459) Tile$R$rx$c tile_multiply(TileA$mx$k a, TileB$kx$n b, Tile$R$rx$c sum);\n",
               {{'m', std::to_string(a.rows)}, {'k', std::to_string(a.columns)}, {'n', std::to_string(b.columns)}}),
        c);
  }
  return text;
}

std::string head(const Kernel& kernel, const Usage& usage, const Dialect& dialect) {
  std::string text = tile_declarations(kernel, usage, dialect);
  text += "layout(local_size_x = " + std::to_string(kernel.group_size) + ", local_size_y = 1, local_size_z = 1) in;\n";
  for (uint32_t i = 0; i < kernel.buffers.size(); ++i) {
    const bool read = kernel.buffers[i].access == Access::read;
    text += expand("layout(set = 0, binding = $i, std430) restrict$c buffer Buffer$i { $E $n[]; };\n",
                   {{'i', std::to_string(i)},
                    {'c', read                                 ? " readonly"
                          : usage.has(Feature::buffer_barrier) ? " coherent"
                                                               : ""},
                    {'E', element_type(kernel, usage, dialect, Space::buffer, i)},
                    {'n', argument_name(kernel.buffers[i].name)}});
  }
  if (!kernel.parameters.empty()) text += "layout(push_constant) uniform Params {" + members(kernel, dialect, " $T $n;") + " } p;\n";
  return text + shared_arrays(kernel, usage, dialect, "shared $E $n[$c];\n") + "void main() {\n";
}

Dialect make() {
  Dialect d;
  d.name = "GLSL";
  d.extension = "comp";
  d.types = {"bool", "int", "uint", "int64_t", "float16_t", "float", "double"};
  d.elements = {"int8_t", "uint8_t", "int16_t", "uint16_t", "", "float16_t", "int", "uint", "float", "int64_t", "double"};
  d.vectors = {"", "ivec$n", "uvec$n", "", "", "vec$n", ""};
  // There are no hexadecimal floats, and decimal ones round.
  d.f32_literal = "uintBitsToFloat($bu)";
  d.f64_literal = "packDouble2x32(uvec2($lu, $uu))";
  d.i64_suffix = "l";
  d.precise_let = "precise const $T $n = $x;";  // precise: not contracted
  d.cast = "$T($0)";
  d.unroll = "[[unroll]]";
  d.barriers = {"barrier();", "groupMemoryBarrier(); barrier();"};
  d.group_id = "gl_WorkGroupID.$d";
  d.group_count = "gl_NumWorkGroups.$d";
  d.local_id = "gl_LocalInvocationIndex";
  d.subgroup_lane = "gl_SubgroupInvocationID";
  d.subgroup_id = "gl_SubgroupID";
  d.subgroup_reduce = {"subgroupAdd($0)", "subgroupMin($0)", "subgroupMax($0)"};
  d.atomics = {"atomicAdd($m[$i], $x)", "atomicMin($m[$i], $x)", "atomicMax($m[$i], $x)",
               "atomicAnd($m[$i], $x)", "atomicOr($m[$i], $x)",  "atomicExchange($m[$i], $x)"};
  d.f32_atomic_add = "atomicAdd($m[$i], $x)";
  d.tile_type = "Tile$R$rx$c";
  d.tile_roles = {"A", "B", "C"};
  d.tile_fill = "$n = tile_fill_$rx$c($x);";
  d.tile_load = "$n = tile_load_$R$rx$c($m[$i], 0u, $t);";
  d.tile_load_words = d.tile_load;  // index and stride count the array's elements, of whatever type
  d.tile_multiply = "$n = tile_multiply($l, $p, $n);";
  d.tile_load_sums = d.tile_load;
  d.tile_scale = "$n = tile_scale($n, $l);";
  d.tile_store = "tile_store($m[$i], $n, 0u, $t);";
  d.spellings = kOwn;
  d.family = kCommonSpellings;
  d.conversions = kConversions;
  d.preambles = kPreambles;
  d.version = "#version 460\n";
  d.head = head;
  return d;
}

}  // namespace

const Dialect& glsl_dialect() {
  static const Dialect dialect = make();
  return dialect;
}

}  // namespace wick::ir
