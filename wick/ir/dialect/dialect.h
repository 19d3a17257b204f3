// A Dialect says how a GPU language spells the nodes and statements of a kernel: a table, and one function for the kernel's head.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "wick/ir/kernel.h"
#include "wick/op/device_caps.h"

namespace wick::ir {

// Language features that a kernel uses beyond the basic ones.
enum class Feature : uint8_t {
  f16,
  storage_8bit,
  storage_16bit,
  int64,
  f64,
  subgroups,
  subgroup_reduce,
  subgroup_shuffle,
  dot4,
  unpack_half,
  pack_halves,
  fma_halves,
  tiles,
  lane_tiles,
  f32_atomics,
  buffer_barrier,
  unroll,
  copies,
};
inline constexpr int kFeatureCount = 18;

// Facts about a kernel that its header text depends on.
struct Usage {
  std::array<bool, kFeatureCount> features{};
  std::vector<TileShape> tile_shapes;          // per tile: of the product that it takes part in
  std::array<std::vector<uint8_t>, 2> widths;  // per space and array: lanes of the declared element; 1 but for wide declarations
  std::array<std::vector<bool>, 2> atomic;     // per space and array: some access is an atomic
  [[nodiscard]] bool has(Feature feature) const { return features[static_cast<std::size_t>(feature)]; }
};

// `text` is how an expression is spelled: $0 … $3 are its operands, $T its type, $U the unsigned integer as wide, $n its slot, $s the size
// of a subgroup. `type` is that of the result, for comparisons that of the operands; any() where it does not matter. The first row that
// fits counts, those of the language before those of its family. `precise` is for MathMode::precise, if it differs.
struct Spelling {
  Op op{};
  uint8_t types = 0;  // a bit for each Type
  std::string_view text;
  std::string_view precise = {};
};

template <class... Types>
[[nodiscard]] constexpr uint8_t types(Types... type) {
  return static_cast<uint8_t>((0U | ... | (1U << static_cast<unsigned>(type))));
}
[[nodiscard]] constexpr uint8_t any() { return 0xff; }
[[nodiscard]] constexpr uint8_t integers() { return types(Type::i32, Type::u32, Type::i64); }
[[nodiscard]] constexpr uint8_t floats() { return types(Type::f16, Type::f32, Type::f64); }

// A cast or bitcast that is not spelled as Dialect::cast.
struct Conversion {
  Op op{};
  uint8_t from = 0, to = 0;
  std::string_view text;
};

// Lines before the kernel, if it uses the feature.
struct Preamble {
  Feature feature{};
  std::string_view text;
};

struct Dialect {
  std::string_view name;
  std::string_view extension;     // of a file of this language
  std::string_view version = {};  // its first lines
  // Names of register types, of elements in memory, and of vectors ($n lanes); empty: the language has none.
  std::array<std::string_view, kTypeCount> types{};
  std::array<std::string_view, kElementCount> elements{};
  std::array<std::string_view, kTypeCount> vectors{};
  // Literals: $h is a hexadecimal float, $b its bits in decimal, $l and $u the lower and upper halves of 64 bits.
  std::string_view f32_literal = "$hf";
  std::string_view f64_literal = "$h";
  std::string_view i32_suffix{};
  std::string_view i64_suffix = "ll";
  // Statements: $T type, $n name, $x value; a loop's $b begin, $e end, $s step.
  std::string_view let = "const $T $n = $x;";
  std::string_view precise_let = {};  // of floats in MathMode::precise; empty: as let
  std::string_view variable = "$T $n = $x;";
  std::string_view declaration = "$T $n;";
  std::string_view loop = "for ($T $n = $b; $n < $e; $n += $su) {";
  std::string_view unroll = {};
  std::array<std::string_view, 2> barriers{};  // per BarrierScope
  std::string_view cast = "($T)($0)";
  std::string_view make_vector = "$V($0)";
  // Ids: $d is x, y or z, $i is 0, 1 or 2.
  std::string_view group_id, group_count, local_id, subgroup_lane, subgroup_id;
  std::array<std::string_view, 3> subgroup_reduce{};  // per Reduce
  // Memory: $m array, $i index, $x value, $V vector type, $S space's keyword, $A type of an atomic.
  std::string_view vector_load, vector_store;  // empty: arrays whose accesses allow it are declared as vectors
  std::string_view vector_load_once = {};      // of a buffer that is read once, where the language has a word for that
  // A late store of a vector of 16 bytes as a copy from $f[$j] that no lane waits for, and what every lane says before a barrier in a
  // kernel with such copies. Empty: as other stores.
  std::string_view copy = {}, copies_arrive = {};
  std::array<std::string_view, 2> spaces{};
  std::array<std::string_view, 6> atomics{};  // per AtomicOp
  std::string_view f32_atomic_add = {};
  std::array<std::string_view, kTypeCount> atomic_types{};
  std::string_view atomic_load = {}, atomic_store = {};  // of arrays that atomics touch, where the language wants them told apart
  // Matrix tiles: $n tile, $R its role (which may hold the others), $E its element, $r rows, $c columns, $M $N $K the product, $l and $p
  // left and right, $t row stride.
  std::string_view tile_type, tile_fill, tile_load, tile_multiply, tile_scale, tile_store;
  std::string_view tile_load_words = {};  // of f16 from an array of u32, two in each
  std::string_view tile_load_sums = {};   // of an accumulator
  std::array<std::string_view, 3> tile_roles{};
  // The same of tiles of kLaneTile; $x of a tile_set is the vector, $v the variable of a tile_get and $e the element: x, y, z or w.
  struct LaneTiles {
    std::array<std::string_view, 3> types{};
    std::string_view fill, set, get, load, load_words, multiply, scale, store;
  } lane_tiles{};
  std::span<const Spelling> spellings{}, family{};
  std::span<const Conversion> conversions{};
  std::span<const Preamble> preambles{};
  // All between the preamble and the first statement; and what closes the kernel.
  std::string (*head)(const Kernel& kernel, const Usage& usage, const Dialect& dialect) = nullptr;
};

[[nodiscard]] const Dialect& cuda_dialect();
[[nodiscard]] const Dialect& hip_dialect();
[[nodiscard]] const Dialect& opencl_dialect();
[[nodiscard]] const Dialect& opencl_intel_dialect();   // with the function that its compiler has for products of bytes
[[nodiscard]] const Dialect& opencl_nvidia_dialect();  // with instructions that NVIDIA's driver has no function for
[[nodiscard]] const Dialect& glsl_dialect();
[[nodiscard]] const Dialect& msl_dialect();
[[nodiscard]] const Dialect& wgsl_dialect();

// The kernel's text. Takes what prepare() gave for the device; equal kernels give equal texts, whatever compiler built this. What the
// language cannot say is Error{unsupported}.
[[nodiscard]] std::string print(const Kernel& prepared, const Dialect& dialect);

// Names in the text, which no language uses for itself.
[[nodiscard]] std::string entry_name(const Kernel& kernel);  // GLSL's entry is always main
[[nodiscard]] inline std::string argument_name(std::string_view name) { return std::string(name) + "_"; }
[[nodiscard]] inline std::string shared_name(std::size_t slot) { return "s" + std::to_string(slot); }
// `pattern` with "$x" replaced by the value whose key is x. "$" with another letter behind it stays.
struct Substitution {
  char key;
  std::string_view value;
};
[[nodiscard]] std::string expand(std::string_view pattern, std::initializer_list<Substitution> values);
// The declared element type of an array: its vector type where it is declared wide.
[[nodiscard]] std::string element_type(const Kernel& kernel, const Usage& usage, const Dialect& dialect, Space space, uint32_t slot);
// "struct Params { uint n_; float eps_; }" with each member written as `member` ($T, $n); empty without parameters.
[[nodiscard]] std::string members(const Kernel& kernel, const Dialect& dialect, std::string_view member);
// The buffers as arguments, each written as `argument` ($c "const " where it is read only, $E element, $n name, $i number) and `separator`
// between them.
[[nodiscard]] std::string buffer_arguments(const Kernel& kernel, const Usage& usage, const Dialect& dialect, std::string_view argument,
                                           std::string_view separator);
// How many of those element types a shared array has.
[[nodiscard]] uint32_t declared_count(const Kernel& kernel, const Usage& usage, uint32_t slot);
// The declarations of the shared arrays, each written as `declaration` ($E element, $n name, $c number of elements).
[[nodiscard]] std::string shared_arrays(const Kernel& kernel, const Usage& usage, const Dialect& dialect, std::string_view declaration);

}  // namespace wick::ir
