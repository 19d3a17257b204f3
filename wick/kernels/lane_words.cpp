#include "wick/kernels/lane_words.h"

#include "wick/base/fail.h"
#include "wick/kernels/numbers.h"
#include "wick/kernels/quantized_formats.h"

namespace wick::kernels {

using ir::Element;
using ir::KernelBuilder;
using ir::Memory;
using ir::Type;
using ir::Value;
using Values = std::vector<Value>;

namespace {

constexpr uint32_t kOne = 0x3c003c00U, kSixteenth = 0x2c002c00U;  // two f16 each
// The code in the last bits of 1024, of 1024 and 16 times the code, and of 1024 where the code is of a signed byte.
// What masks leave is joined with one of these, from a register: of two literals a compiler makes two instructions.
struct Magic {
  Value code, signed_code;  // 1024 and a code, and with a signed byte's sign turned, of two f16 each

  explicit Magic(const Value& one) : code(one * 0x64006400U), signed_code(one * 0x64806480U) {}
};
constexpr uint32_t kMinus1024 = 0xe400e400U, kMinus64 = 0xd400d400U, kMinus1056 = 0xe420e420U, kMinus1152 = 0xe480e480U;

// A number of a block, below in size what f16 can take; infinities and NaNs make NaNs.
Value clamped_finite(const Value& value, float limit) { return min(max(value, -limit), limit) + value * 0.0F; }
Value twice(const Value& value) { return pack_halves(value, value); }
Value lower_twice(const Value& word) { return (word & 0xffffU) | (word << 16); }
Value upper_twice(const Value& word) { return (word & 0xffff0000U) | (word >> 16); }

// Four codes in the bytes of a word as two words of f16: of bytes 0 and 2, and of 1 and 3. `exact` makes the codes of the numbers.
template <class Exact>
void append_bytes(Values& words, const Value& bytes, uint32_t mask, const Value& magic, const Exact& exact) {
  for (const Value& word : {bytes, bytes >> 8}) words.push_back(exact((word & mask) ^ magic));
}

// Runs of q4_k: sixteen bytes hold in their lower halves as many elements of a run, in the upper ones of the next. Four lanes have two
// times 16 bytes each. Limits: 15 · 63 · 33 and 63 · 523 are together below 65504.
Values unpack_q4_k(const Values& read, const Value& t, const Magic& magic) {
  const Value d = clamped_finite(unpack_half(read[0]), 33), least = clamped_finite(unpack_half(read[0] >> 16), 523);
  const Value scale = twice(d), minimum = twice(-least);
  const Value upper_scales = (read[3] & 0x0f0f0f0fU) | ((read[1] >> 2) & 0x30303030U),
              upper_minima = ((read[3] >> 4) & 0x0f0f0f0fU) | ((read[2] >> 2) & 0x30303030U);
  const std::array<Value, 2> scales{read[1] & 0x3f3f3f3fU, upper_scales}, minima{read[2] & 0x3f3f3f3fU, upper_minima};
  // Two bytes of the word, from the lane's own on, times a factor.
  const auto pair = [&](const Value& bytes, const Value& factor) {
    const Value two = (bytes >> (t / 2U * 16U)) & 0xffffU;
    const Value codes = ((two | (two << 8)) & 0x00ff00ffU) | magic.code;
    return fma_halves(fma_halves(codes, kOne, kMinus1024), factor, 0U);
  };
  Values words;
  for (uint32_t piece = 0; piece < 2; ++piece) {
    const Value run_scales = pair(scales[piece], scale), run_minima = pair(minima[piece], minimum);
    for (uint32_t run = 0; run < 2; ++run) {
      const Value s = run == 0 ? lower_twice(run_scales) : upper_twice(run_scales);
      const Value m = run == 0 ? lower_twice(run_minima) : upper_twice(run_minima);
      for (uint32_t i = 0; i < 4; ++i) {
        const Value& bytes = read[4 + piece * 4 + i];
        if (run == 0) {
          append_bytes(words, bytes, 0x000f000fU, magic.code,
                       [&](const Value& v) { return fma_halves(fma_halves(v, kOne, kMinus1024), s, m); });
        } else {
          append_bytes(words, bytes, 0x00f000f0U, magic.code,
                       [&](const Value& v) { return fma_halves(fma_halves(v, kSixteenth, kMinus64), s, m); });
        }
      }
    }
  }
  return words;
}

// 32 · 128 · 15.9 is below 65504.
Values unpack_q6_k(const Values& read, const Value& t, const Magic& magic) {
  const Value d = clamped_finite(bitcast(Type::f32, read[14]), 15.9F), part = t % 2U;
  Values words;
  for (uint32_t run = 0; run < 4; ++run) {
    const Value byte = read[12 + run / 2] >> (part * 8U + run % 2 * 16);
    const Value s = twice(d * cast(Type::f32, bitcast(Type::i32, byte << 24) >> 24));
    for (uint32_t i = 0; i < 4; ++i) {
      const Value low = (run < 2 ? read[run % 2 * 4 + i] : read[run % 2 * 4 + i] >> 4) & 0x0f0f0f0fU;
      const Value code = low | (((run == 0 ? read[8 + i] : read[8 + i] >> (2 * run)) & 0x03030303U) << 4);
      append_bytes(words, code, 0x00ff00ffU, magic.code,
                   [&](const Value& v) { return fma_halves(fma_halves(v, kOne, kMinus1056), s, 0U); });
    }
  }
  return words;
}

// Two blocks of 34 bytes, which begin t words after the first that was read.
Values unpack_q8_0(const Values& read, const Value& t, const Magic& magic) {
  Values odd, own;
  const Value by_one = (t & 1U) == 1U, by_two = t >= 2U;
  for (uint32_t i = 0; i < 19; ++i) odd.push_back(select(by_one, read[i + 1], read[i]));
  for (uint32_t i = 0; i < 17; ++i) own.push_back(select(by_two, odd[i + 2], odd[i]));
  Values words;
  const auto append = [&](const Value& bytes, const Value& scale) {
    append_bytes(words, bytes, 0x00ff00ffU, magic.signed_code,
                 [&](const Value& v) { return fma_halves(fma_halves(v, kOne, kMinus1152), scale, 0U); });
  };
  const Value first = twice(clamped_finite(unpack_half(own[0]), 255)), second = twice(clamped_finite(unpack_half(own[8] >> 16), 255));
  for (uint32_t i = 0; i < 8; ++i) append((own[i] >> 16) | (own[i + 1] << 16), first);
  for (uint32_t i = 0; i < 8; ++i) append(own[9 + i], second);
  return words;
}

}  // namespace

std::optional<LaneColumns> LaneColumns::of(DType dtype, RowAccess access) {
  if (dtype == DType::f16 && access == RowAccess::vectors) return LaneColumns(Order::halves);
  if (access != RowAccess::blocks || !reads_blocks_of(dtype)) return std::nullopt;
  switch (dtype) {
    case DType::q8_0: return LaneColumns(Order::q8_0);
    case DType::q4_k: return LaneColumns(Order::q4_k);
    case DType::q6_k: return LaneColumns(Order::q6_k);
    default: return LaneColumns(Order::sixteens);
  }
}

uint32_t LaneColumns::chunk() const noexcept {
  switch (order_) {
    case Order::halves:
    case Order::sixteens: return 64;
    case Order::q8_0:
    case Order::q4_k:
    case Order::q6_k: return 256;
  }
  WICK_ASSERT(false);
}

Value LaneColumns::first(const Value& t, const Value& quad) const {
  const Value odd = quad % 2U * 8U, sixteen = t % 2U * 16U;
  switch (order_) {
    case Order::halves: return quad * 32U + t * 8U;
    case Order::sixteens: return t * 16U + quad * 8U;
    case Order::q8_0: return t * 64U + quad * 8U;
    case Order::q4_k: return (t / 2U + quad / 4U * 2U) * 64U + quad / 2U % 2U * 32U + sixteen + odd;
    case Order::q6_k: return t / 2U * 128U + quad / 2U * 32U + sixteen + odd;
  }
  WICK_ASSERT(false);
}

LaneWeight::LaneWeight(KernelBuilder& k, DType dtype, RowAccess access, const std::string& name)
    : k_(k), dtype_(dtype), columns_(*LaneColumns::of(dtype, access)) {
  if (access == RowAccess::blocks) {
    blocks_.emplace(k, dtype, name);
  } else {
    plain_ = k.buffer(name, Element::u32);
  }
  k.reads_once(blocks_ ? blocks_->words() : *plain_);
  offset_ = k.parameter("weight_offset", Type::u32);
  row_stride_ = k.parameter("row_stride", Type::u32);
  one_ = k.parameter("column_stride", Type::u32);
}

LaneWeight::LaneWeight(KernelBuilder& k, const LaneWeight& other, const std::string& name)
    : k_(k), dtype_(other.dtype_), columns_(other.columns_), offset_(other.offset_), row_stride_(other.row_stride_), one_(other.one_) {
  if (other.blocks_) {
    blocks_.emplace(k, *other.blocks_, name);
  } else {
    plain_ = k.buffer(name, Element::u32);
  }
  k.reads_once(blocks_ ? blocks_->words() : *plain_);
}

Value LaneWeight::first_block(const Value& row) const { return (offset_ + row * row_stride_) / blocks_->sixteens_per_block(); }

Values LaneWeight::read(const Value& row, const Value& chunk, const Value& t) const {
  const auto append = [](Values& all, const ir::Vector& four) {
    for (uint32_t i = 0; i < 4; ++i) all.push_back(four[i]);
  };
  Values result;
  switch (columns_.order_) {
    case LaneColumns::Order::halves: {
      const Value first = (offset_ + row * row_stride_) / 2U + chunk * 32U + t * 4U;
      for (const uint32_t i : {0U, 16U}) append(result, plain_->load4(first + i));
      return result;
    }
    case LaneColumns::Order::sixteens: {
      const uint32_t per_block = blocks_->sixteens_per_block();
      const Value at = offset_ + row * row_stride_ + chunk * 4U + t;
      const Sixteen sixteen = blocks_->read(at / per_block, at % per_block);
      result.assign(sixteen.bytes.begin(), sixteen.bytes.end());
      // The largest of 255 · 128 and the offset are together below 65504.
      result.push_back(twice(clamped_finite(sixteen.scale, 255)));
      if (sixteen.offset) result.push_back(twice(clamped_finite(*sixteen.offset, 32000)));
      return result;
    }
    case LaneColumns::Order::q8_0: {
      // Eight blocks are 17 vectors of 16 bytes; a lane's two begin in one of them.
      const Value word = (first_block(row) + chunk * 8U) / 2U * 17U + t * 16U;
      for (uint32_t i = 0; i < 20; i += 4) append(result, blocks_->words().load4(word + i));
      return result;
    }
    case LaneColumns::Order::q4_k: {
      const Value word = (first_block(row) + chunk) * 36U;
      for (const Value& at : {word, word + 4U + t * 4U, word + 20U + t * 4U}) append(result, blocks_->words().load4(at));
      return result;
    }
    case LaneColumns::Order::q6_k: break;
  }
  return read_blocks(first_block(row) + chunk, t);
}

// Of q6_k, whose blocks begin at even bytes: 16 bytes of each of two runs' lower bits and 16 of four runs' upper bits, eight scales and d.
Values LaneWeight::read_blocks(const Value& block, const Value& t) const {
  const BlockBytes bytes{blocks_->words(), block * 210U, 210, nullptr};
  const Value half = t / 2U, part = t % 2U * 16U;
  Values result;
  for (const auto& [at, place] :
       {std::pair(0U, half * 64U + part), std::pair(32U, half * 64U + part), std::pair(128U, half * 32U + part)}) {
    for (const Value& word : bytes.words4(at, place, 16)) result.push_back(word);
  }
  for (const uint32_t at : {192U, 196U}) result.push_back(bytes.word(at, half * 8U, 8));
  result.push_back(bitcast(Type::u32, bytes.f16(208)));
  return result;
}

Values LaneWeight::unpack(const Values& read, const Value& t) const {
  const Magic magic(one_);
  switch (columns_.order_) {
    case LaneColumns::Order::halves: return read;
    case LaneColumns::Order::sixteens: {
      const Value none = k_.constant(0U), &offset = read.size() > 5 ? read[5] : none;
      Values words;
      for (uint32_t i = 0; i < 4; ++i) {
        append_bytes(words, read[i], 0x00ff00ffU, magic.signed_code,
                     [&](const Value& v) { return fma_halves(fma_halves(v, kOne, kMinus1152), read[4], offset); });
      }
      return words;
    }
    case LaneColumns::Order::q8_0: return unpack_q8_0(read, t, magic);
    case LaneColumns::Order::q4_k: return unpack_q4_k(read, t, magic);
    case LaneColumns::Order::q6_k: return unpack_q6_k(read, t, magic);
  }
  WICK_ASSERT(false);
}

}  // namespace wick::kernels
