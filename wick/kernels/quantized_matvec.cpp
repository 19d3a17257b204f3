#include "wick/kernels/quantized_matvec.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "wick/base/fail.h"
#include "wick/kernels/group_options.h"
#include "wick/kernels/group_reduce.h"
#include "wick/kernels/math.h"
#include "wick/kernels/numbers.h"
#include "wick/kernels/quantized_formats.h"
#include "wick/kernels/row_ranges.h"
#include "wick/kernels/strided.h"

namespace wick::kernels {

using namespace ir;

namespace {

using Words = std::array<Value, 4>;

struct Activations {
  Memory bytes, scales;
  Value first_block;  // of 32

  // Sixteen bytes of a block.
  [[nodiscard]] Words words(const Value& block, const Value& half) const {
    const Vector four = bytes.load4((first_block + block) * 8U + half * 4U);
    return {four[0], four[1], four[2], four[3]};
  }
  [[nodiscard]] Value scale(const Value& block) const { return scales[first_block + block]; }
};

// Σ weight · x over a unit of a row, what one lane does at a time. `block` counts from the weight's first, `in_row` from the row's.
using Part = std::function<Value(const Memory& w, const Activations& x, const Value& block, const Value& in_row, const Value& unit)>;
struct ByteFormat {
  uint32_t units_per_block;
  Part part;
};

// Sixteen signed bytes against sixteen; or four times the same four.
Value dot16(const Words& a, const Words& b) {
  Value sum = a[0].builder()->constant(0);
  for (uint32_t i = 0; i < 4; ++i) sum = dot4(a[i], b[i], sum);
  return sum;
}
Value dot16(uint32_t four, const Words& b) {
  const Value a = b[0].builder()->constant(four);
  return dot16(Words{a, a, a, a}, b);
}

// Sixteen bytes from an even place on: a word of them may be two halves of words.
Words words_at(const Memory& w, const Value& byte) {
  const Value between = (byte & 2U) != 0, word = byte >> 2;
  std::array<Value, 5> words;
  for (uint32_t i = 0; i < 4; ++i) words[i] = w[word + i];
  words[4] = w.load_if(between, word + 4U, 0);
  Words result;
  for (uint32_t i = 0; i < 4; ++i) result[i] = select(between, (words[i] >> 16) | (words[i + 1] << 16), words[i]);
  return result;
}

Value half_at(const Memory& w, const Value& byte) { return unpack_half(w[byte >> 2] >> ((byte & 2U) * 8U)); }

// Blocks of 34 bytes: an f16 scale and 32 signed bytes.
Value part_of_q8_0(const Memory& w, const Activations& x, const Value& block, const Value& in_row, const Value& half) {
  const Value at = block * 34U;
  const Value dot = dot16(words_at(w, at + 2U + half * 16U), x.words(in_row, half));
  return as_f32(dot) * (half_at(w, at) * x.scale(in_row));
}

// Blocks of 144 bytes for 256 elements: f16 d and dmin, eight 6-bit scales and minima in 12 bytes, 128 bytes of nibbles. An element is
// d · scale · nibble - dmin · minimum; the nibbles of 32 bytes are two runs of 32 elements, low ones first. A unit is 16 bytes of nibbles:
// 16 elements of run 2j, and 16 of run 2j + 1.
Value part_of_q4_k(const Memory& w, const Activations& x, const Value& block, const Value& in_row, const Value& unit) {
  const Value j = unit / 2U, half = unit % 2U, base = block * 36U;
  const Vector header = w.load4(base), nibbles = w.load4(base + 4U + unit * 4U);
  const Value d = unpack_half(header[0]), d_minimum = unpack_half(header[0] >> 16);
  Value sum = base.builder()->constant(0.0F);
  for (uint32_t high = 0; high < 2; ++high) {
    const Value run = j * 2U + high;
    const auto [scale, minimum] = six_bit_scale({header[1], header[2], header[3]}, run);
    Words quants;
    for (uint32_t i = 0; i < 4; ++i) quants[i] = (high == 0 ? nibbles[i] : nibbles[i] >> 4) & 0x0f0f0f0fU;
    const Value x_block = in_row * 8U + run;
    const Words bytes = x.words(x_block, half);
    const Value products = d * as_f32(scale) * as_f32(dot16(quants, bytes)),
                minima = d_minimum * as_f32(minimum) * as_f32(dot16(0x01010101U, bytes));
    sum = sum + x.scale(x_block) * (products - minima);
  }
  return sum;
}

// Blocks of 210 bytes for 256 elements d · scale · (code - 32): 128 bytes of nibbles, 64 with two bits more for each code, 16 signed
// scales, an f16 d. A unit is 16 elements of each of the four runs of 32 of a half: their nibbles lie in two times 16 bytes, their other
// bits in 16.
Value part_of_q6_k(const Memory& w, const Activations& x, const Value& block, const Value& in_row, const Value& unit) {
  const Value half = unit / 2U, part = unit % 2U, base = block * 210U;
  const std::array<Words, 2> nibbles{words_at(w, base + half * 64U + part * 16U), words_at(w, base + half * 64U + part * 16U + 32U)};
  const Words high = words_at(w, base + 128U + half * 32U + part * 16U);
  const Words scales = words_at(w, base + 192U);
  Value sum = base.builder()->constant(0.0F);
  for (uint32_t run = 0; run < 4; ++run) {
    Words codes;
    for (uint32_t i = 0; i < 4; ++i) {
      codes[i] = ((nibbles[run % 2][i] >> (run / 2 * 4)) & 0x0f0f0f0fU) | (((high[i] >> (run * 2)) & 0x03030303U) << 4);
    }
    const Value x_block = in_row * 8U + half * 4U + run;
    const Words bytes = x.words(x_block, part);
    // 0xe0 is -32.
    const Value dot = dot16(codes, bytes) + dot16(0xe0e0e0e0U, bytes);
    // Scale 8 half + 2 run + part.
    const Value word = select(half == 0U, scales[run / 2], scales[2 + run / 2]);
    const Value scale = bitcast(Type::i32, word << (24U - run % 2 * 16U - part * 8U)) >> 24;
    sum = sum + x.scale(x_block) * as_f32(scale) * as_f32(dot);
  }
  return half_at(w, base + 208U) * sum;
}

// How a block is rounded whose largest magnitude has these bits: infinities and NaNs have the largest of all.
struct Rounding {
  Value scale, inverse;

  explicit Rounding(const Value& bits) {
    const Value largest = bitcast(Type::f32, bits);
    inverse = select(largest > 0.0F, 127.0F / max(largest, 0x1p-100F), 0.0F);
    // A number that is none makes its block one.
    scale = bitcast(Type::f32, select(bits < 0x7f800000U, bitcast(Type::u32, largest / 127.0F), 0x7fc00000U));
  }
  // Four numbers as bytes, ties away from zero.
  [[nodiscard]] Value word(const Words& numbers) const {
    Value packed = scale.builder()->constant(0U);
    for (uint32_t i = 0; i < 4; ++i) {
      const Value scaled = numbers[i] * inverse;
      const Value rounded = trunc(scaled + select(scaled < 0.0F, scale.builder()->constant(-0.5F), 0.5F));
      packed = packed | ((bitcast(Type::u32, cast(Type::i32, rounded)) & 0xffU) << (8 * i));
    }
    return packed;
  }
};

Value largest_bits(const Words& numbers, Value bits) {
  for (const Value& number : numbers) bits = max(bits, bitcast(Type::u32, number) & 0x7fffffffU);
  return bits;
}

// Reads x; where there is a norm x · norm, adding up Σ x² over what this lane reads: rounding to bytes commutes with the norm's divisor.
struct ColumnReader {
  Memory x;
  Value x_offset;
  std::optional<Memory> norm;
  std::optional<Variable> squares;

  // Four columns; zeros where they do not exist.
  [[nodiscard]] Words read(const std::optional<Value>& exists, const Value& column) {
    const auto four_of = [&](const Memory& memory, const Value& at) {
      return exists ? memory.load4_if(*exists, at, 0.0F) : memory.load4(at);
    };
    const Vector four = four_of(x, x_offset + column);
    Words numbers{four[0], four[1], four[2], four[3]};
    if (!norm) return numbers;
    const Vector factors = four_of(*norm, column);
    Value sum = *squares;
    for (uint32_t i = 0; i < 4; ++i) {
      sum = fma(numbers[i], numbers[i], sum);
      numbers[i] = numbers[i] * factors[i];
    }
    *squares = sum;
    return numbers;
  }
};

// A block of 32 numbers of x as bytes and a scale.
void round_block(KernelBuilder& k, ColumnReader& x, const Value& block, const Memory& bytes, const Memory& scales) {
  std::vector<Words> numbers;
  Value bits = k.constant(0U);
  for (uint32_t i = 0; i < 32; i += 4) {
    numbers.push_back(x.read({}, block * 32U + i));
    bits = largest_bits(numbers.back(), bits);
  }
  const Rounding rounding(bits);
  scales[block] = rounding.scale;
  for (uint32_t word = 0; word < 8; ++word) bytes[block * 8U + word] = rounding.word(numbers[word]);
}

// Each group rounds all columns of x for itself: with subgroups eight lanes take a block, four numbers each, without them one.
Activations rounded_activations(KernelBuilder& k, ColumnReader& x, uint32_t columns) {
  const Memory bytes = k.shared(Element::u32, columns / 4), scales = k.shared(Element::f32, columns / 32);
  const Value lane = k.local_id();
  const uint32_t lanes = k.kernel().group_size;
  if (k.kernel().subgroup_size < 8) {
    k.loop(lane, columns / 32, lanes, [&](const Value& block) { round_block(k, x, block, bytes, scales); });
  } else {
    // Every lane takes part in every step, as lanes exchange what they have.
    k.loop(0, (columns / 4 + lanes - 1) / lanes, 1, [&](const Value& step) {
      const Value word = step * lanes + lane, exists = word < columns / 4;
      const Words numbers = x.read(exists, word * 4U);
      Value bits = largest_bits(numbers, k.constant(0U));
      for (const uint32_t mask : {1U, 2U, 4U}) bits = max(bits, subgroup_shuffle_xor(bits, mask));
      const Rounding rounding(bits);
      bytes.store_if(exists, word, rounding.word(numbers));
      scales.store_if(exists & (lane % 8U == 0U), word / 8U, rounding.scale);
    });
  }
  k.barrier();
  return {bytes, scales, k.constant(0U)};
}

ByteFormat format_of(DType dtype) {
  switch (dtype) {
    case DType::q8_0: return {2, part_of_q8_0};
    case DType::q4_k: return {8, part_of_q4_k};
    case DType::q6_k: return {4, part_of_q6_k};
    default: break;
  }
  // Sixteen elements, scale · byte + offset each.
  const FormatReader read = find_format(dtype);
  const auto block_bytes = static_cast<uint32_t>(info(dtype).block_bytes),
             sixteens = static_cast<uint32_t>(info(dtype).block_elements) / 16;
  return {sixteens, [=](const Memory& w, const Activations& x, const Value& block, const Value& in_row, const Value& unit) {
            const Sixteen weight = read({w, block * block_bytes, block_bytes, nullptr}, unit);
            const Value place = in_row * sixteens + unit, x_block = place / 2U;
            const Words bytes = x.words(x_block, place % 2U);
            const Value sum = weight.scale * as_f32(dot16(weight.bytes, bytes));
            const Value total = weight.offset ? fma(*weight.offset, as_f32(dot16(0x01010101U, bytes)), sum) : sum;
            return x.scale(x_block) * total;
          }};
}

std::string name_of(const ByteProducts& products, const ir::KernelOptions& options) {
  std::string name = products.gate ? fmt::format("matvec_{}", to_string(*products.gate)) : "matvec_bytes";
  for (size_t i = 0; i < (products.gate ? 1 : products.weights.size()); ++i) name += fmt::format("_{}", to_string(products.weights[i]));
  if (products.rounds > 0) name += fmt::format("_rounds_{}", products.rounds);
  if (products.tokens > 1) name += fmt::format("_x{}", products.tokens);
  return name + products.extras.suffix() + subgroup_suffix(options);
}

// Groups that round activations share the work among many lanes, and the result among many rows.
ir::KernelOptions options_of(const ByteProducts& products, const DeviceCaps& caps) {
  return group_options(caps, products.rounds > 0 ? 512 : 128);
}

}  // namespace

bool multiplies_bytes_of(DType dtype) noexcept { return find_format(dtype) != nullptr && !has_codebook(dtype) && !has_tensor_scale(dtype); }

namespace {

// The kernel: what it declares, and what it makes of sums.
class ByteMatvec {
 public:
  ByteMatvec(const ByteProducts& products, const DeviceCaps& caps)
      : products_(products),
        options_(options_of(products, caps)),
        subgroups_(options_.subgroup_size > 0),
        k_(name_of(products, options_), options_) {
    WICK_ASSERT(products.rounds == 0 ? !products.extras.norm : products.tokens == 1);
  }

  Kernel build() {
    declare_activations();
    declare_vectors();
    const uint32_t lanes = subgroups_ ? options_.subgroup_size : options_.group_size;
    lane_ = subgroups_ ? k_.subgroup_lane() : k_.local_id();
    RowRanges ranges(k_, options_.group_size / lanes, subgroups_ ? k_.subgroup_id() : k_.constant(0U));
    for (size_t i = 1; i < results(); ++i) ranges.add();
    if (products_.tokens > 1) given_ = k_.parameter("tokens", Type::u32);
    if (residual_) residual_offset_ = k_.parameter("residual_offset", Type::u32);
    for (uint32_t i = 0; i < products_.tokens * pair(); ++i) sums_.push_back(k_.variable(0.0F));
    std::vector<Activations> tokens;
    for (uint32_t token = 0; token < products_.tokens; ++token) tokens.push_back(token_at(token));
    ranges.each([&](uint32_t weight, const Value& row) { add_row(weight, row, lanes, tokens); });
    store(ranges);
    return k_.finish();
  }

 private:
  [[nodiscard]] uint32_t results() const noexcept { return products_.gate ? 1 : static_cast<uint32_t>(products_.weights.size()); }
  // Products of a row with a token.
  [[nodiscard]] uint32_t pair() const noexcept { return products_.gate ? 2 : 1; }
  static std::string name(const char* what, size_t i) { return i == 0 ? what : fmt::format("{}_{}", what, i + 1); }

  void declare_activations() {
    for (size_t i = 0; i < products_.weights.size(); ++i) w_.push_back(k_.buffer(name("w", i), Element::u32));
    columns_ = products_.rounds > 0 ? k_.constant(products_.rounds) : k_.parameter("columns", Type::u32);
    if (products_.rounds == 0) {
      const Memory bytes = k_.buffer("bytes", Element::u32), scales = k_.buffer("scales", Element::f32);
      x_ = Activations{bytes, scales, k_.parameter("x_offset", Type::u32) / 32U};
      return;
    }
    const Memory x = k_.buffer("x", Element::f32);
    std::optional<Memory> norm;
    if (products_.extras.norm) norm = k_.buffer("norm", Element::f32);
    ColumnReader reader{x, k_.parameter("x_offset", Type::u32), norm, {}};
    if (norm) {
      const Value epsilon = k_.parameter("epsilon", Type::f32);
      reader.squares.emplace(k_.variable(0.0F));
      x_ = rounded_activations(k_, reader, products_.rounds);
      const Value all = GroupReduce(k_)(Reduce::add, *reader.squares);
      divisor_ = sqrt(all / static_cast<float>(products_.rounds) + epsilon);
    } else {
      x_ = rounded_activations(k_, reader, products_.rounds);
    }
  }

  void declare_vectors() {
    for (size_t i = 0; products_.extras.bias && i < w_.size(); ++i) bias_.push_back(k_.buffer(name("bias", i), Element::f32));
    if (products_.extras.residual) residual_ = k_.buffer("residual", Element::f32);
    for (size_t i = 0; i < results(); ++i) y_.push_back(k_.output(name("y", i), Element::f32));
    for (size_t i = 0; i < w_.size(); ++i) first_blocks_.push_back(k_.parameter(name("first_block", i), Type::u32));
  }

  // Tokens that are not there are the last one again.
  [[nodiscard]] Activations token_at(uint32_t token) {
    if (products_.tokens == 1) return *x_;
    const Value place = min(k_.constant(token), given_ - 1U);
    return {x_->bytes, x_->scales, x_->first_block + place * (columns_ / 32U)};
  }

  void add_row(uint32_t weight, const Value& row, uint32_t lanes, const std::vector<Activations>& tokens) {
    const ByteFormat format = format_of(products_.weights[weight]);
    const Value blocks = columns_ / static_cast<uint32_t>(info(products_.weights[weight]).block_elements);
    k_.loop(lane_, blocks * format.units_per_block, lanes, [&](const Value& place) {
      const Value in_row = place / format.units_per_block, unit = place % format.units_per_block;
      // Reads are shared by all tokens: none of what is assigned here is what they read.
      for (uint32_t token = 0; token < products_.tokens; ++token) {
        for (uint32_t i = 0; i < pair(); ++i) {
          Variable& sum = sums_[token * pair() + i];
          const Value block = first_blocks_[weight + i] + row * blocks + in_row;
          sum = sum + format.part(w_[weight + i], tokens[token], block, in_row, unit);
        }
      }
    });
  }

  [[nodiscard]] Value result(std::span<const Value> totals, const RowRanges& ranges, uint32_t weight, const Value& token,
                             const Value& exists) {
    std::vector<Value> products(totals.begin(), totals.end());
    const Value row = ranges.row_of(weight);
    for (uint32_t i = 0; i < pair(); ++i) {
      if (divisor_) products[i] = products[i] / *divisor_;
      if (!bias_.empty()) products[i] = products[i] + bias_[weight + i].load(row);
    }
    const Value result = products_.gate ? gate_of(*products_.gate, products[0], products[1]) : products[0];
    if (!residual_) return result;
    return result + residual_->load_if(exists & ranges.has_row(0), residual_offset_ + token * ranges.rows(0) + row, 0.0F);
  }

  void store(const RowRanges& ranges) {
    GroupReduce group(k_);
    std::vector<Value> totals;
    for (const Variable& sum : sums_) totals.push_back(subgroups_ ? subgroup_reduce(Reduce::add, sum) : group(Reduce::add, sum));
    for (uint32_t token = 0; token < products_.tokens; ++token) {
      const Value number = k_.constant(token), first = lane_ == 0U;
      const Value exists = products_.tokens == 1 ? first : first & (number < given_);
      for (uint32_t i = 0; i < results(); ++i) {
        ranges.store(i, y_[i], exists, number, result(std::span(totals).subspan(token * pair(), pair()), ranges, i, number, exists));
      }
    }
  }

  const ByteProducts& products_;
  ir::KernelOptions options_;
  bool subgroups_;
  KernelBuilder k_;
  std::vector<Memory> w_, bias_, y_;
  std::optional<Memory> residual_;
  std::optional<Activations> x_;
  std::optional<Value> divisor_;  // of the norm
  Value columns_, lane_, given_, residual_offset_;
  std::vector<Value> first_blocks_;
  std::vector<Variable> sums_;
};

}  // namespace

Kernel matvec_bytes(const ByteProducts& products, const DeviceCaps& caps) { return ByteMatvec(products, caps).build(); }

uint32_t rows_per_group(const ByteProducts& products, const DeviceCaps& caps) {
  const ir::KernelOptions options = options_of(products, caps);
  return options.subgroup_size > 0 ? options.group_size / options.subgroup_size : 1;
}

uint32_t rows_per_group(const Kernel& kernel) { return kernel.subgroup_size > 0 ? kernel.group_size / kernel.subgroup_size : 1; }

Kernel quantize_q8(const DeviceCaps& caps) {
  KernelBuilder k("quantize_q8", {.group_size = group_options(caps, 64).group_size});
  const Memory x = k.buffer("x", Element::f32), bytes = k.output("bytes", Element::u32), scales = k.output("scales", Element::f32);
  const Value x_offset = k.parameter("x_offset", Type::u32), count = k.parameter("count", Type::u32), block = global_lane(k);
  ColumnReader reader{x, x_offset, {}, {}};
  k.when(block < count / 32U, [&] { round_block(k, reader, block, bytes, scales); });
  return k.finish();
}

}  // namespace wick::kernels
