#include "wick/kernels/weight_rows.h"

#include "wick/kernels/numbers.h"

namespace wick::kernels {

using namespace ir;

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

UnitReader::UnitReader(ir::KernelBuilder& k, DType dtype, RowAccess access, const std::string& name)
    : dtype_(dtype), access_(access), unit_(unit_of(dtype, access)) {
  if (access == RowAccess::blocks) {
    blocks_.emplace(k, dtype, name);
  } else {
    const bool words = access == RowAccess::vectors && dtype != DType::f32;
    plain_ = k.buffer(name, words ? Element::u32 : element_of(dtype));
  }
}

UnitReader::UnitReader(ir::KernelBuilder& k, const UnitReader& other, const std::string& name)
    : dtype_(other.dtype_), access_(other.access_), unit_(other.unit_) {
  if (access_ == RowAccess::blocks) {
    blocks_.emplace(k, *other.blocks_, name);
  } else {
    plain_ = k.buffer(name, k.kernel().buffers[other.plain_->slot()].element);
  }
}

WeightUnit UnitReader::read(const Value& place) const {
  WeightUnit result;
  if (access_ == RowAccess::blocks) {
    const Sixteen sixteen = blocks_->read(place / blocks_->sixteens_per_block(), place % blocks_->sixteens_per_block());
    for (uint32_t i = 0; i < 16; ++i) result.numbers.push_back(sixteen.number(i));
    result.scale = sixteen.scale;
    result.offset = sixteen.offset;
  } else if (access_ == RowAccess::elements) {
    result.numbers.push_back(cast(Type::f32, load_number(*plain_, dtype_, place)));
  } else if (dtype_ == DType::f32) {
    const ir::Vector four = plain_->load4(place);
    for (uint32_t i = 0; i < 4; ++i) result.numbers.push_back(four[i]);
  } else {
    const ir::Vector words = plain_->load4(place >> 1);
    for (uint32_t i = 0; i < 4; ++i) {
      result.numbers.push_back(lower(dtype_, words[i]));
      result.numbers.push_back(upper(dtype_, words[i]));
    }
  }
  return result;
}

Value UnitReader::read_one(const Value& place, const Value& column) const {
  if (access_ == RowAccess::blocks) {
    const Value sixteen = place + column / 16U, in_word = column % 4U * 8U;
    const Sixteen all = blocks_->read(sixteen / blocks_->sixteens_per_block(), sixteen % blocks_->sixteens_per_block());
    const Value low = select((column & 4U) == 0U, all.bytes[0], all.bytes[1]),
                high = select((column & 4U) == 0U, all.bytes[2], all.bytes[3]);
    const Value word = select((column & 8U) == 0U, low, high) << (24U - in_word);
    const Value number = cast(Type::f32, bitcast(Type::i32, word) >> 24);
    return all.offset ? fma(all.scale, number, *all.offset) : all.scale * number;
  }
  const Value at = place + column;
  if (access_ == RowAccess::elements || dtype_ == DType::f32) return cast(Type::f32, load_number(*plain_, dtype_, at));
  const Value word = plain_->load(at >> 1) >> ((at & 1U) * 16U);
  return lower(dtype_, word);
}

WeightRows::WeightRows(ir::KernelBuilder& k, DType dtype, RowAccess access, const std::string& name)
    : reader_(k, dtype, access, name),
      offset_(k.parameter("weight_offset", Type::u32)),
      row_stride_(k.parameter("row_stride", Type::u32)),
      column_stride_(k.parameter("column_stride", Type::u32)) {}

WeightRows::WeightRows(ir::KernelBuilder& k, const WeightRows& other, const std::string& name)
    : reader_(k, other.reader_, name), offset_(other.offset_), row_stride_(other.row_stride_), column_stride_(other.column_stride_) {}

WeightUnit WeightRows::read(const Value& row, const Value& at) const {
  const Value first = offset_ + row * row_stride_;
  return reader_.read(first + (unit() == 1 ? at * column_stride_ : at * reader_.step()));
}

}  // namespace wick::kernels
