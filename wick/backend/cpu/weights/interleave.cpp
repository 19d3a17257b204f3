#include "wick/backend/cpu/weights/interleave.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "wick/base/fail.h"
#include "wick/quant/block_format.h"

namespace wick::cpu {
namespace {

constexpr int kRows = static_cast<int>(kInterleavedRows);

// A run of `count` units of `unit` bytes, from byte `begin` of the plain block on. The units of `zip` sections of one size take turns.
struct Section {
  int begin;
  int unit;
  int count;
  int zip = 1;
};

// How one format is interleaved: its sections in the tile's order.
struct Interleaving {
  DType dtype;
  std::array<Section, 8> sections;
  uint8_t quant_flip = 0;  // exclusive-ored into each byte of a 4-byte unit
};

// Scales come first, then the bits in the order of their use; what is tested bit by bit, shifted or looked up stands in 4-byte units, so
// that it is in the same lane as the quants that it belongs to.
constexpr std::array<Interleaving, 27> kInterleavings = {{
    // Two columns a unit.
    {DType::f16, {{{0, 4, 16}}}},
    {DType::bf16, {{{0, 4, 16}}}},
    // d or the exponent, m where there is one, fifth bits, quants.
    {DType::q4_0, {{{0, 2, 1}, {2, 4, 4}}}},
    {DType::q4_1, {{{0, 2, 1}, {2, 2, 1}, {4, 4, 4}}}},
    {DType::q5_0, {{{0, 2, 1}, {2, 4, 1}, {6, 4, 4}}}},
    {DType::q5_1, {{{0, 2, 1}, {2, 2, 1}, {4, 4, 1}, {8, 4, 4}}}},
    {DType::q8_0, {{{0, 2, 1}, {2, 4, 8}}}, 0x80},
    {DType::iq4_nl, {{{0, 2, 1}, {2, 4, 4}}}},
    {DType::mxfp4, {{{0, 1, 1}, {1, 4, 4}}}},
    {DType::nvfp4, {{{0, 1, 4}, {4, 4, 8}}}},
    {DType::q1_0, {{{0, 2, 1}, {2, 4, 4}}}},
    {DType::q2_0, {{{0, 2, 1}, {2, 4, 4}}}},
    // d, dmin, 4-bit scales and minima, quants.
    {DType::q2_k, {{{80, 2, 1}, {82, 2, 1}, {0, 1, 16}, {16, 4, 16}}}},
    // d, 12 bytes of 6-bit scales, high bits, low bits.
    {DType::q3_k, {{{108, 2, 1}, {96, 1, 12}, {0, 4, 8}, {32, 4, 16}}}},
    // d, dmin, 12 bytes of 6-bit scales, quants; q5_k has its high bits before the quants. q6_k has d, the scales, and for each half of
    // its columns high bits and the low ones that they belong to in turns.
    {DType::q4_k, {{{0, 2, 1}, {2, 2, 1}, {4, 4, 3}, {16, 4, 32}}}},
    {DType::q5_k, {{{0, 2, 1}, {2, 2, 1}, {4, 4, 3}, {16, 4, 8}, {48, 4, 32}}}},
    {DType::q6_k, {{{208, 2, 1}, {192, 1, 16}, {128, 4, 8, 3}, {0, 4, 8, 3}, {32, 4, 8, 3}, {160, 4, 8, 3}, {64, 4, 8, 3}, {96, 4, 8, 3}}}},
    // d, the scales' high bits, their low ones, quants.
    {DType::iq4_xs, {{{0, 2, 1}, {2, 2, 1}, {4, 1, 4}, {8, 4, 32}}}},
    // d, digits of base 3.
    {DType::tq1_0, {{{52, 2, 1}, {0, 4, 12}, {48, 4, 1}}}},
    {DType::tq2_0, {{{64, 2, 1}, {0, 4, 16}}}},
    // d, scales where they are apart, high bits of the points, points, signs.
    {DType::iq1_s, {{{0, 2, 1}, {34, 4, 4}, {2, 4, 8}}}},
    {DType::iq1_m, {{{48, 2, 4}, {32, 4, 4}, {0, 4, 8}}}},
    {DType::iq2_xxs, {{{0, 2, 1}, {2, 4, 16}}}},
    {DType::iq2_xs, {{{0, 2, 1}, {66, 1, 8}, {2, 4, 16}}}},
    {DType::iq2_s, {{{0, 2, 1}, {74, 1, 8}, {66, 4, 2}, {2, 4, 8}, {34, 4, 8}}}},
    {DType::iq3_xxs, {{{0, 2, 1}, {2, 4, 16}, {66, 4, 8}}}},
    {DType::iq3_s, {{{0, 2, 1}, {106, 1, 4}, {66, 4, 2}, {2, 4, 16}, {74, 4, 8}}}},
}};

constexpr bool holds_every_byte_once(const Interleaving& format) {
  std::array<int, 256> times{};
  int bytes = 0;
  for (const Section& section : format.sections) {
    for (int at = 0; at < section.unit * section.count; ++at) ++times[static_cast<size_t>(section.begin + at)];
    bytes += section.unit * section.count;
  }
  for (int at = 0; at < bytes; ++at) {
    if (times[static_cast<size_t>(at)] != 1) return false;
  }
  return true;
}
static_assert(std::all_of(kInterleavings.begin(), kInterleavings.end(), holds_every_byte_once));

// Of a section whose units take turns with others', 16 rows.
constexpr int kMaxZipped = 8 * 4 * kRows;
constexpr bool fits_where_it_is_zipped(const Interleaving& format) {
  return std::all_of(format.sections.begin(), format.sections.end(),
                     [](const Section& section) { return section.zip == 1 || section.count * section.unit * kRows <= kMaxZipped; });
}
static_assert(std::all_of(kInterleavings.begin(), kInterleavings.end(), fits_where_it_is_zipped));

// By DType; -1 for those that stay as they are.
constexpr std::array<int, kDTypeCount> index_by_dtype() {
  std::array<int, kDTypeCount> indices{};
  indices.fill(-1);
  for (size_t at = 0; at < kInterleavings.size(); ++at) {
    indices[static_cast<size_t>(kInterleavings[at].dtype)] = static_cast<int>(at);
  }
  return indices;
}

const Interleaving* find_interleaving(DType dtype) {
  static constexpr std::array<int, kDTypeCount> kIndices = index_by_dtype();
  const int index = kIndices[static_cast<size_t>(dtype)];
  return index < 0 ? nullptr : &kInterleavings[static_cast<size_t>(index)];
}

const Interleaving& interleaving_of(DType dtype) {
  const Interleaving* format = find_interleaving(dtype);
  WICK_ASSERT(format != nullptr);
  return *format;
}

int64_t tile_block_bytes(DType dtype) { return storage_bytes(dtype, tile_block_columns(dtype)); }

// Four 32-bit words or sixteen bytes in a register of 16 bytes, which every 64-bit processor has.
using Words = uint32_t __attribute__((vector_size(16)));
using Bytes = uint8_t __attribute__((vector_size(16)));

template <class Vector>
Vector load(const std::byte* p) {
  Vector value;
  std::memcpy(&value, p, sizeof(value));
  return value;
}

template <class Vector>
void store(Vector value, std::byte* p) {
  std::memcpy(p, &value, sizeof(value));
}

// Words i of four rows of words.
struct Quad {
  Words rows[4];
};

Quad transpose(const Quad& source) {
  const Words low01 = __builtin_shufflevector(source.rows[0], source.rows[1], 0, 4, 1, 5);
  const Words high01 = __builtin_shufflevector(source.rows[0], source.rows[1], 2, 6, 3, 7);
  const Words low23 = __builtin_shufflevector(source.rows[2], source.rows[3], 0, 4, 1, 5);
  const Words high23 = __builtin_shufflevector(source.rows[2], source.rows[3], 2, 6, 3, 7);
  return {{__builtin_shufflevector(low01, low23, 0, 1, 4, 5), __builtin_shufflevector(low01, low23, 2, 3, 6, 7),
           __builtin_shufflevector(high01, high23, 0, 1, 4, 5), __builtin_shufflevector(high01, high23, 2, 3, 6, 7)}};
}

// Four bytes of each of 16 rows into four runs of 16 bytes: byte b of row r goes from 4 r + b to 16 b + r, a rotation of the bits of
// the position, which four interleavings of the first half with the second make.
void gather_byte_quads(const std::byte* rows, int64_t row_bytes, int count, std::byte* tile) {
  for (int index = 0; index < count; index += 4) {
    Bytes bytes[4];
    for (int row = 0; row < kRows; ++row) std::memcpy(reinterpret_cast<std::byte*>(bytes) + row * 4, rows + row * row_bytes + index, 4);
    for (int step = 0; step < 4; ++step) {
      Bytes next[4];
      for (int half = 0; half < 2; ++half) {
        const Bytes low = bytes[half];
        const Bytes high = bytes[half + 2];
        next[2 * half] = __builtin_shufflevector(low, high, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
        next[2 * half + 1] = __builtin_shufflevector(low, high, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
      }
      std::memcpy(bytes, next, sizeof(bytes));
    }
    std::memcpy(tile + index * kRows, bytes, sizeof(bytes));
  }
}

template <int kUnit>
void gather_units(const std::byte* rows, int64_t row_bytes, int count, std::byte* tile) {
  for (int index = 0; index < count; ++index) {
    for (int row = 0; row < kRows; ++row) {
      std::memcpy(tile + (index * kRows + row) * kUnit, rows + row * row_bytes + index * kUnit, kUnit);
    }
  }
}

// `step`: units of the tile from one of the section to its next.
template <int kUnit>
void scatter_units(const std::byte* tile, int step, int row, int count, std::byte* block) {
  for (int index = 0; index < count; ++index) std::memcpy(block + index * kUnit, tile + (index * step * kRows + row) * kUnit, kUnit);
}

void flip_bits(std::byte* bytes, int count, uint8_t mask) {
  for (int index = 0; index < count; ++index) bytes[index] ^= static_cast<std::byte>(mask);
}

// Whether a block is words and nothing else, so that those of a whole row are one run.
bool is_words(const Interleaving& format) { return format.sections[0].unit == 4 && format.sections[1].count == 0; }

void interleave_section(const Section& section, uint8_t flip, const std::byte* rows, int64_t row_bytes, std::byte* tile,
                        GatherWords gather) {
  const int quads = section.count / 4 * 4;
  const int rest = section.count - quads;
  const std::byte* behind = rows + quads * section.unit;
  std::byte* target = tile + quads * section.unit * kRows;
  if (section.unit == 1) {
    gather_byte_quads(rows, row_bytes, quads, tile);
    gather_units<1>(behind, row_bytes, rest, target);
  } else if (section.unit == 2) {
    gather_units<2>(rows, row_bytes, section.count, tile);
  } else {
    gather(rows, row_bytes, quads, flip * 0x01010101u, tile);
    gather_units<4>(behind, row_bytes, rest, target);
    if (flip != 0) flip_bits(target, rest * 4 * kRows, flip);
  }
}

// Calls body(section, its first unit in the tile) for each section.
template <class Body>
void for_each_section(const Interleaving& format, const Body& body) {
  int64_t first = 0;
  for (size_t index = 0; index < format.sections.size() && format.sections[index].count > 0;) {
    const Section& turn = format.sections[index];
    const int64_t unit_bytes = turn.unit * kRows;
    for (int member = 0; member < turn.zip; ++member, ++index) body(format.sections[index], first + member * unit_bytes);
    first += turn.zip * turn.count * unit_bytes;
  }
}

void interleave_block(const Interleaving& format, const std::byte* rows, int64_t row_bytes, std::byte* tile, GatherWords gather) {
  for_each_section(format, [&](const Section& section, int64_t first) {
    if (section.zip == 1) return interleave_section(section, format.quant_flip, rows + section.begin, row_bytes, tile + first, gather);
    std::array<std::byte, kMaxZipped> units;
    const auto unit_bytes = static_cast<size_t>(section.unit * kRows);
    interleave_section(section, format.quant_flip, rows + section.begin, row_bytes, units.data(), gather);
    for (size_t index = 0; index < static_cast<size_t>(section.count); ++index)
      std::memcpy(tile + first + index * static_cast<size_t>(section.zip) * unit_bytes, units.data() + index * unit_bytes, unit_bytes);
  });
}

void deinterleave_block(const Interleaving& format, const std::byte* tile, int row, std::byte* block) {
  for_each_section(format, [&](const Section& section, int64_t first) {
    std::byte* target = block + section.begin;
    if (section.unit == 1) scatter_units<1>(tile + first, section.zip, row, section.count, target);
    if (section.unit == 2) scatter_units<2>(tile + first, section.zip, row, section.count, target);
    if (section.unit == 4) {
      scatter_units<4>(tile + first, section.zip, row, section.count, target);
      if (format.quant_flip != 0) flip_bits(target, section.count * 4, format.quant_flip);
    }
  });
}

}  // namespace

bool has_tile_layout(DType dtype) noexcept { return find_interleaving(dtype) != nullptr; }

int64_t tile_block_columns(DType dtype) noexcept {
  constexpr int64_t kPlainColumns = 32;  // of formats without blocks
  return is_quantized(dtype) ? info(dtype).block_elements : kPlainColumns;
}

// Four rows at a time, so that a line of memory is not left before it is used up.
void gather_words(const std::byte* rows, int64_t row_bytes, int64_t count, uint32_t flips, std::byte* tile) {
  for (int row = 0; row < kRows; row += 4) {
    const std::byte* source = rows + row * row_bytes;
    for (int64_t index = 0; index < count; index += 4) {
      const std::byte* from = source + index * 4;
      const Quad words = transpose(
          {{load<Words>(from), load<Words>(from + row_bytes), load<Words>(from + 2 * row_bytes), load<Words>(from + 3 * row_bytes)}});
      for (int word = 0; word < 4; ++word) store(words.rows[word] ^ flips, tile + ((index + word) * kRows + row) * 4);
    }
  }
}

void interleave_tile(DType dtype, const std::byte* rows, int64_t columns, std::byte* tile, GatherWords gather) {
  const Interleaving& format = interleaving_of(dtype);
  const int64_t blocks = columns / tile_block_columns(dtype), block_bytes = tile_block_bytes(dtype);
  const int64_t row_bytes = blocks * block_bytes;
  if (is_words(format)) return gather(rows, row_bytes, row_bytes / 4, 0, tile);
  // Sixteen rows are more streams than processors follow on their own: ask for the next sixteen, from end to end, meanwhile.
  const std::byte* next = rows + kRows * row_bytes;
  for (int64_t index = 0; index < blocks; ++index) {
    const int64_t at = index * block_bytes;
    for (const std::byte* behind = next + kRows * block_bytes; next < behind; next += 64) __builtin_prefetch(next, 0, 2);
    interleave_block(format, rows + at, row_bytes, tile + at * kRows, gather);
  }
}

void deinterleave_tile(DType dtype, const std::byte* tile, int64_t columns, std::byte* rows) {
  const Interleaving& format = interleaving_of(dtype);
  const int64_t blocks = columns / tile_block_columns(dtype), block_bytes = tile_block_bytes(dtype);
  for (int64_t index = 0; index < blocks; ++index) {
    for (int row = 0; row < kRows; ++row)
      deinterleave_block(format, tile + index * block_bytes * kRows, row, rows + (row * blocks + index) * block_bytes);
  }
}

void unpack_tile_row(DType dtype, const std::byte* tile, int64_t row, std::span<float> values) {
  const Interleaving& interleaving = interleaving_of(dtype);
  const BlockFormat& format = *find_block_format(dtype);
  const int64_t columns = tile_block_columns(dtype), block_bytes = tile_block_bytes(dtype);
  std::array<std::byte, 256> block;
  for (int64_t index = 0; index < static_cast<int64_t>(values.size()) / columns; ++index) {
    deinterleave_block(interleaving, tile + index * block_bytes * kRows, static_cast<int>(row), block.data());
    format.unpack(block.data(), values.subspan(static_cast<size_t>(index * columns), static_cast<size_t>(columns)));
  }
}

}  // namespace wick::cpu
