// OpenCL C for NVIDIA's driver: it names no subgroups, products of bytes or matrix tiles, but takes instructions of PTX (NVIDIA, PTX ISA
// 8.5, 9.7.14 for the tiles) as assembler.
#include "wick/ir/dialect/dialect.h"
#include "wick/ir/dialect/spellings.h"

namespace wick::ir {
namespace {

// clang-format off
constexpr std::array kOwn{
    Spelling{Op::dot4, any(), "wick_dot4($0, $1, $2)"},
    Spelling{Op::unpack_half, any(), "wick_unpack_half($0)"},
    Spelling{Op::pack_halves, any(), "wick_pack_halves($0, $1)"},
    Spelling{Op::subgroup_shuffle_xor, any(), "as_$T(wick_shuffle_xor(as_uint($0), $nu))"},
    Spelling{Op::subgroup_broadcast, any(), "as_$T(wick_broadcast(as_uint($0), $nu))"},
};

constexpr std::array kPreambles{
    Preamble{Feature::f64, "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n"},
    Preamble{Feature::subgroups, R"(uint wick_shuffle_xor(uint x, uint mask) {
  uint y;
  __asm__ volatile("shfl.sync.bfly.b32 %0, %1, %2, 0x1f, 0xffffffff;" : "=r"(y) : "r"(x), "r"(mask));
  return y;
}
uint wick_broadcast(uint x, uint lane) {
  uint y;
  __asm__ volatile("shfl.sync.idx.b32 %0, %1, %2, 0x1f, 0xffffffff;" : "=r"(y) : "r"(x), "r"(lane));
  return y;
}
#define WICK_REDUCE(T, name, expression) \
  T __attribute__((overloadable)) name(T x) { \
    for (uint m = 16u; m > 0u; m /= 2u) { const T y = as_##T(wick_shuffle_xor(as_uint(x), m)); x = expression; } \
    return x; \
  }
#define WICK_REDUCTIONS(T) \
  WICK_REDUCE(T, wick_subgroup_add, x + y) \
  WICK_REDUCE(T, wick_subgroup_min, y < x ? y : x) \
  WICK_REDUCE(T, wick_subgroup_max, x < y ? y : x)
WICK_REDUCTIONS(int)
WICK_REDUCTIONS(uint)
WICK_REDUCTIONS(float)
)"},
    Preamble{Feature::dot4, R"(int wick_dot4(uint a, uint b, int c) {
  int sum;
  __asm__("dp4a.s32.s32 %0, %1, %2, %3;" : "=r"(sum) : "r"(a), "r"(b), "r"(c));
  return sum;
}
)"},
    Preamble{Feature::unpack_half, R"(float wick_unpack_half(uint bits) {
  float x;
  __asm__("{ .reg .b16 h; cvt.u16.u32 h, %1; cvt.f32.f16 %0, h; }" : "=f"(x) : "r"(bits));
  return x;
}
)"},
    Preamble{Feature::pack_halves, R"(uint wick_pack_halves(float a, float b) {
  uint halves;
  __asm__("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(halves) : "f"(b), "f"(a));
  return halves;
}
)"},
    Preamble{Feature::tiles, R"(typedef struct { uint x0, x1, x2, x3, x4, x5, x6, x7; } wick_tile_a, wick_tile_b;
typedef struct { float x0, x1, x2, x3, x4, x5, x6, x7; } wick_tile_c;
#define WICK_TILE_LOAD(role) \
  wick_tile_##role wick_tile_##role##_load(const __local uint* p, uint stride) { \
    wick_tile_##role t; \
    __asm__ volatile("wmma.load." #role ".sync.aligned.row.m16n16k16.shared.f16 {%0, %1, %2, %3, %4, %5, %6, %7}, [%8], %9;" \
                 : "=r"(t.x0), "=r"(t.x1), "=r"(t.x2), "=r"(t.x3), "=r"(t.x4), "=r"(t.x5), "=r"(t.x6), "=r"(t.x7) \
                 : "l"(p), "r"(2u * stride) : "memory"); \
    return t; \
  }
WICK_TILE_LOAD(a)
WICK_TILE_LOAD(b)
wick_tile_c wick_tile_multiply(wick_tile_a a, wick_tile_b b, wick_tile_c c) {
  __asm__("wmma.mma.sync.aligned.row.row.m16n16k16.f32.f32 {%0, %1, %2, %3, %4, %5, %6, %7}, {%8, %9, %10, %11, %12, %13, %14, %15}, "
      "{%16, %17, %18, %19, %20, %21, %22, %23}, {%0, %1, %2, %3, %4, %5, %6, %7};"
      : "+f"(c.x0), "+f"(c.x1), "+f"(c.x2), "+f"(c.x3), "+f"(c.x4), "+f"(c.x5), "+f"(c.x6), "+f"(c.x7)
      : "r"(a.x0), "r"(a.x1), "r"(a.x2), "r"(a.x3), "r"(a.x4), "r"(a.x5), "r"(a.x6), "r"(a.x7),
        "r"(b.x0), "r"(b.x1), "r"(b.x2), "r"(b.x3), "r"(b.x4), "r"(b.x5), "r"(b.x6), "r"(b.x7));
  return c;
}
wick_tile_c wick_tile_fill(float x) {
  const wick_tile_c t = {x, x, x, x, x, x, x, x};
  return t;
}
wick_tile_c wick_tile_c_load(const __local float* p, uint stride) {
  wick_tile_c t;
  __asm__ volatile("wmma.load.c.sync.aligned.row.m16n16k16.shared.f32 {%0, %1, %2, %3, %4, %5, %6, %7}, [%8], %9;"
               : "=f"(t.x0), "=f"(t.x1), "=f"(t.x2), "=f"(t.x3), "=f"(t.x4), "=f"(t.x5), "=f"(t.x6), "=f"(t.x7)
               : "l"(p), "r"(stride) : "memory");
  return t;
}
wick_tile_c wick_tile_scale(wick_tile_c t, wick_tile_c f) {
  const wick_tile_c scaled = {t.x0 * f.x0, t.x1 * f.x1, t.x2 * f.x2, t.x3 * f.x3, t.x4 * f.x4, t.x5 * f.x5, t.x6 * f.x6, t.x7 * f.x7};
  return scaled;
}
void wick_tile_store(__local float* p, wick_tile_c t, uint stride) {
  __asm__ volatile("wmma.store.d.sync.aligned.row.m16n16k16.shared.f32 [%0], {%1, %2, %3, %4, %5, %6, %7, %8}, %9;"
               : : "l"(p), "f"(t.x0), "f"(t.x1), "f"(t.x2), "f"(t.x3), "f"(t.x4), "f"(t.x5), "f"(t.x6), "f"(t.x7), "r"(stride) : "memory");
}
)"},
};
// clang-format on

// That of OpenCL C, which requests a subgroup size by an attribute that this driver does not know.
std::string head(const Kernel& kernel, const Usage& usage, const Dialect& dialect) {
  Usage plain = usage;
  plain.features[static_cast<std::size_t>(Feature::subgroups)] = false;
  return opencl_dialect().head(kernel, plain, dialect);
}

Dialect make() {
  Dialect d = opencl_dialect();
  d.name = "OpenCL C with PTX";
  d.subgroup_lane = "((uint)get_local_id(0) % $su)";
  d.subgroup_id = "((uint)get_local_id(0) / $su)";
  d.subgroup_reduce = {"wick_subgroup_add($0)", "wick_subgroup_min($0)", "wick_subgroup_max($0)"};
  d.tile_type = "$R";
  d.tile_roles = {"wick_tile_a", "wick_tile_b", "wick_tile_c"};
  d.tile_fill = "$n = wick_tile_fill($x);";
  d.tile_load_words = "$n = $R_load(&$m[$i], $t);";
  d.tile_multiply = "$n = wick_tile_multiply($l, $p, $n);";
  d.tile_load_sums = "$n = wick_tile_c_load(&$m[$i], $t);";
  d.tile_scale = "$n = wick_tile_scale($n, $l);";
  d.tile_store = "wick_tile_store(&$m[$i], $n, $t);";
  static const std::vector<Spelling> spellings = own_before(kOwn, opencl_dialect().spellings);
  d.spellings = spellings;
  d.preambles = kPreambles;
  d.head = head;
  return d;
}

}  // namespace

const Dialect& opencl_nvidia_dialect() {
  static const Dialect dialect = make();
  return dialect;
}

}  // namespace wick::ir
