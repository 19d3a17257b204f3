#include "kernels/weight_rows.h"

#include "kernels/numbers.h"

namespace wick::kernels {

using ir::Element;
using ir::Type;
using ir::Value;

namespace {

uint32_t unit_of(DType dtype, RowAccess access) {
  if (access == RowAccess::blocks) return 16;
  return access == RowAccess::vectors ? 16 / static_cast<uint32_t>(info(dtype).block_bytes) : 1;
}

// The two 16-bit floats of a word.
Value lower(DType dtype, const Value& word) { return dtype == DType::f16 ? unpack_half(word) : bitcast(Type::f32, word << 16); }
Value upper(DType dtype, const Value& word) {
  return dtype == DType::f16 ? unpack_half(word >> 16) : bitcast(Type::f32, word & 0xffff0000U);
}

}  // namespace

Value WeightUnit::element(uint32_t i) const {
  const Value scaled = scale ? numbers[i] * *scale : numbers[i];
  return offset ? scaled + *offset : scaled;
}

WeightRows::WeightRows(ir::KernelBuilder& k, DType dtype, RowAccess access, const std::string& name)
    : dtype_(dtype), access_(access), unit_(unit_of(dtype, access)) {
  if (access == RowAccess::blocks) {
    blocks_.emplace(k, dtype, name);
  } else {
    const bool words = access == RowAccess::vectors && dtype != DType::f32;
    plain_ = k.buffer(name, words ? Element::u32 : element_of(dtype));
  }
  offset_ = k.parameter("weight_offset", Type::u32);
  if (access == RowAccess::blocks) return;
  row_stride_ = k.parameter("row_stride", Type::u32);
  column_stride_ = k.parameter("column_stride", Type::u32);
}

WeightRows::WeightRows(ir::KernelBuilder& k, const WeightRows& other, const std::string& name) : WeightRows(other) {
  if (blocks_) {
    blocks_.emplace(k, *other.blocks_, name);
  } else {
    plain_ = k.buffer(name, k.kernel().buffers[0].element);
  }
}

Sixteen WeightRows::read_bytes(const Value& row, const Value& at, const Value& columns) const {
  const Value sixteen = offset_ + row * (columns / 16U) + at;
  return blocks_->read(sixteen / blocks_->sixteens_per_block(), sixteen % blocks_->sixteens_per_block());
}

WeightUnit WeightRows::read(const Value& row, const Value& at, const Value& columns) const {
  WeightUnit result;
  if (access_ == RowAccess::blocks) {
    const Sixteen sixteen = read_bytes(row, at, columns);
    for (uint32_t i = 0; i < 16; ++i) result.numbers.push_back(sixteen.number(i));
    result.scale = sixteen.scale;
    result.offset = sixteen.offset;
    return result;
  }
  if (access_ == RowAccess::elements) {
    result.numbers.push_back(cast(Type::f32, load_number(*plain_, dtype_, offset_ + row * row_stride_ + at * column_stride_)));
    return result;
  }
  const Value first = offset_ + row * row_stride_ + at * unit_;
  if (dtype_ == DType::f32) {
    const ir::Vector four = plain_->load4(first);
    for (uint32_t i = 0; i < 4; ++i) result.numbers.push_back(four[i]);
    return result;
  }
  const ir::Vector words = plain_->load4(first >> 1);
  for (uint32_t i = 0; i < 4; ++i) {
    result.numbers.push_back(lower(dtype_, words[i]));
    result.numbers.push_back(upper(dtype_, words[i]));
  }
  return result;
}

}  // namespace wick::kernels
