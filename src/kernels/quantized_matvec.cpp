#include "kernels/quantized_matvec.h"

#include <algorithm>
#include <array>
#include <functional>

#include "kernels/group_options.h"
#include "kernels/group_reduce.h"
#include "kernels/numbers.h"
#include "kernels/strided.h"

namespace wick::kernels {

using ir::Element;
using ir::Kernel;
using ir::KernelBuilder;
using ir::Memory;
using ir::Reduce;
using ir::Type;
using ir::Value;
using ir::Variable;
using ir::Vector;

namespace {

struct Activations {
  Memory bytes, scales;
  Value first_block;  // of 32
};

// y[row] = Σ over the units of the row, in f32. A unit is what one lane does at a time: part(w, x, first block of the row, unit).
using Part = std::function<Value(const Memory& w, const Activations& x, const Value& first_block, const Value& unit)>;

Kernel matvec(std::string_view name, uint32_t units_per_block, const DeviceCaps& caps, const Part& part) {
  const ir::KernelOptions options = group_options(caps, 128);
  const bool subgroups = options.subgroup_size > 0;
  KernelBuilder k(std::string(name) + subgroup_suffix(options), options);
  const Memory w = k.buffer("w", Element::u32);
  const Memory bytes = k.buffer("bytes", Element::u32), scales = k.buffer("scales", Element::f32), y = k.output("y", Element::f32);
  const Value blocks = k.parameter("blocks", Type::u32), rows = k.parameter("rows", Type::u32);
  const Activations x{bytes, scales, k.parameter("x_offset", Type::u32) / 32U};
  const Value y_offset = k.parameter("y_offset", Type::u32), group_number = k.group_id(1) * k.group_count(0) + k.group_id(0);
  const uint32_t lanes = subgroups ? options.subgroup_size : options.group_size;
  const Value lane = subgroups ? k.subgroup_lane() : k.local_id();
  const Value row = subgroups ? group_number * (options.group_size / lanes) + k.subgroup_id() : group_number;
  // Rows beyond the last do the last one's work: every lane reaches the reduction.
  const Value first_block = min(row, rows - 1U) * blocks;
  Variable sum = k.variable(0.0F);
  k.loop(lane, blocks * units_per_block, lanes, [&](const Value& unit) { sum = sum + part(w, x, first_block, unit); });
  GroupReduce group(k);
  const Value total = subgroups ? subgroup_reduce(Reduce::add, sum) : group(Reduce::add, sum);
  y.store_if((lane == 0) & (row < rows), y_offset + row, total);
  return k.finish();
}

// Sixteen signed bytes against sixteen.
Value dot16(const std::array<Value, 4>& a, const Vector& b) {
  Value sum = a[0].builder()->constant(0);
  for (uint32_t i = 0; i < 4; ++i) sum = dot4(a[i], b[i], sum);
  return sum;
}

}  // namespace

uint32_t rows_per_group(const Kernel& kernel) { return kernel.subgroup_size > 0 ? kernel.group_size / kernel.subgroup_size : 1; }

Kernel quantize_q8(const DeviceCaps& caps) {
  KernelBuilder k("quantize_q8", {.group_size = group_options(caps, 64).group_size});
  const Memory x = k.buffer("x", Element::f32), bytes = k.output("bytes", Element::u32), scales = k.output("scales", Element::f32);
  const Value x_offset = k.parameter("x_offset", Type::u32), count = k.parameter("count", Type::u32), block = global_lane(k);
  k.when(block < count / 32U, [&] {
    std::vector<Value> values;
    Value largest = k.constant(0.0F), bits = k.constant(0U);
    for (uint32_t i = 0; i < 32; i += 4) {
      const Vector four = x.load4(x_offset + block * 32U + i);
      for (uint32_t j = 0; j < 4; ++j) {
        values.push_back(four[j]);
        largest = max(largest, abs(four[j]));
        bits = max(bits, bitcast(Type::u32, four[j]) & 0x7fffffffU);
      }
    }
    const Value scale = largest / 127.0F, inverse = select(largest > 0.0F, 127.0F / max(largest, 0x1p-100F), 0.0F);
    // A number that is none makes its block one: infinities and NaNs have the largest bits.
    scales[block] = bitcast(Type::f32, select(bits < 0x7f800000U, bitcast(Type::u32, scale), 0x7fc00000U));
    for (uint32_t word = 0; word < 8; ++word) {
      Value packed = k.constant(0U);
      for (uint32_t j = 0; j < 4; ++j) {
        // Ties away from zero.
        const Value scaled = values[4 * word + j] * inverse;
        const Value rounded = trunc(scaled + select(scaled < 0.0F, k.constant(-0.5F), 0.5F));
        packed = packed | ((bitcast(Type::u32, cast(Type::i32, rounded)) & 0xffU) << (8 * j));
      }
      bytes[block * 8U + word] = packed;
    }
  });
  return k.finish();
}

Kernel matvec_q8_0(const DeviceCaps& caps) {
  return matvec("matvec_q8_0", 2, caps, [](const Memory& w, const Activations& x, const Value& first_block, const Value& unit) {
    const Value block = unit / 2U, half = unit % 2U;
    // Blocks begin at every second byte: a word of the quants may be two halves of words.
    const Value scale_at = (first_block + block) * 34U, at = scale_at + 2U + half * 16U;
    const Value between = (at & 2U) != 0, word = at >> 2;
    std::array<Value, 5> words;
    for (uint32_t i = 0; i < 4; ++i) words[i] = w[word + i];
    words[4] = w.load_if(between, word + 4U, 0);
    std::array<Value, 4> quants;
    for (uint32_t i = 0; i < 4; ++i) quants[i] = select(between, (words[i] >> 16) | (words[i + 1] << 16), words[i]);
    const Value dot = dot16(quants, x.bytes.load4((x.first_block + block) * 8U + half * 4U));
    const Value scale = unpack_half(w[scale_at >> 2] >> ((scale_at & 2U) * 8U));
    return as_f32(dot) * (scale * x.scales[x.first_block + block]);
  });
}

Kernel matvec_q4_k(const DeviceCaps& caps) {
  return matvec("matvec_q4_k", 8, caps, [](const Memory& w, const Activations& x, const Value& first_block, const Value& unit) {
    // A unit is 16 bytes of nibbles: 16 elements of run 2j, and 16 of run 2j + 1.
    const Value block = unit / 8U, part = unit % 8U, j = part / 2U, half = part % 2U;
    const Value base = (first_block + block) * 36U;
    const Vector header = w.load4(base), nibbles = w.load4(base + 4U + part * 4U);
    const Value d = unpack_half(header[0]), d_minimum = unpack_half(header[0] >> 16);
    Value sum = base.builder()->constant(0.0F);
    for (uint32_t high = 0; high < 2; ++high) {
      // Runs 0 to 3 have their six bits in bytes 0 to 3 (scale) and 4 to 7 (minimum); runs 4 to 7 have four bits in the nibbles of bytes 8
      // to 11, and two above those six.
      const Value run = j * 2U + high, shift = run % 4U * 8U;
      const Value s0 = header[1] >> shift, s1 = header[2] >> shift, s2 = header[3] >> shift;
      const Value low_run = run < 4U;
      const Value scale = select(low_run, s0 & 63U, (s2 & 15U) | (((s0 >> 6) & 3U) << 4));
      const Value minimum = select(low_run, s1 & 63U, ((s2 >> 4) & 15U) | (((s1 >> 6) & 3U) << 4));
      std::array<Value, 4> quants, ones;
      for (uint32_t i = 0; i < 4; ++i) {
        quants[i] = (high == 0 ? nibbles[i] : nibbles[i] >> 4) & 0x0f0f0f0fU;
        ones[i] = quants[i].builder()->constant(0x01010101U);
      }
      const Value x_block = x.first_block + block * 8U + run;
      const Vector bytes = x.bytes.load4(x_block * 8U + half * 4U);
      const Value products = d * as_f32(scale) * as_f32(dot16(quants, bytes)),
                  minima = d_minimum * as_f32(minimum) * as_f32(dot16(ones, bytes));
      sum = sum + x.scales[x_block] * (products - minima);
    }
    return sum;
  });
}

}  // namespace wick::kernels
