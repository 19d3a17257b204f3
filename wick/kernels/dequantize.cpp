#include "wick/kernels/dequantize.h"

#include <fmt/format.h>

#include "wick/kernels/conversions.h"
#include "wick/kernels/group_options.h"
#include "wick/kernels/numbers.h"
#include "wick/kernels/quantized_blocks.h"
#include "wick/kernels/strided.h"

namespace wick::kernels {

using namespace ir;

namespace {

ir::KernelOptions dequantize_options(const DeviceCaps& caps) { return {.group_size = group_options(caps, 128).group_size}; }

Value id_at(const Memory& ids, DType dtype, const Value& place) { return ids[dtype == DType::i64 ? place * 2U : place]; }

}  // namespace

ir::Kernel dequantize(DType from, DType to, uint32_t rank, const DeviceCaps& caps) {
  KernelBuilder k(fmt::format("dequantize_{}_{}_r{}", to_string(from), to_string(to), rank), dequantize_options(caps));
  const QuantizedBlocks blocks(k, from);
  const Memory y = k.output("y", element_of(to));
  StridedGrid grid(k, rank);
  const StridedGrid::View w_view = grid.view("w"), y_view = grid.view("y");
  const Value y_step = k.parameter("y_step", Type::u32);
  grid.run([&](const StridedGrid::Place& place) {
    const Value sixteen = place(w_view), first = place(y_view);
    const Sixteen numbers = blocks.read(sixteen / blocks.sixteens_per_block(), sixteen % blocks.sixteens_per_block());
    for (uint32_t i = 0; i < 16; ++i) {
      store_number(y, to, first + y_step * i, convert(numbers.element(i), DType::f32, to));
    }
  });
  return k.finish();
}

ir::Kernel embedding_of_blocks(DType table, DType ids, uint32_t rank, const DeviceCaps& caps) {
  KernelBuilder k(fmt::format("embedding_blocks_{}_{}_r{}", to_string(table), to_string(ids), rank), dequantize_options(caps));
  const QuantizedBlocks blocks(k, table);
  const Memory id = k.buffer("ids", Element::u32), y = k.output("y", Element::f32);
  StridedGrid grid(k, rank);
  const StridedGrid::View id_view = grid.view("ids"), y_view = grid.view("y");
  const Value width = k.parameter("width", Type::u32), first = k.parameter("first", Type::u32);
  grid.run([&](const StridedGrid::Place& place) {
    const Value target = place(y_view);
    const Value sixteen = first + id_at(id, ids, place(id_view)) * (width / 16U) + grid.element() % (width / 16U);
    const Sixteen numbers = blocks.read(sixteen / blocks.sixteens_per_block(), sixteen % blocks.sixteens_per_block());
    for (uint32_t i = 0; i < 16; i += 4) {
      y.store(target + i, {numbers.element(i), numbers.element(i + 1), numbers.element(i + 2), numbers.element(i + 3)});
    }
  });
  return k.finish();
}

ir::Kernel embedding_of_numbers(DType table, DType ids, uint32_t rank, const DeviceCaps& caps) {
  KernelBuilder k(fmt::format("embedding_{}_{}_r{}", to_string(table), to_string(ids), rank), dequantize_options(caps));
  const Memory w = k.buffer("w", element_of(table)), id = k.buffer("ids", Element::u32), y = k.output("y", Element::f32);
  StridedGrid grid(k, rank);
  const StridedGrid::View id_view = grid.view("ids"), y_view = grid.view("y");
  const Value width = k.parameter("width", Type::u32), offset = k.parameter("offset", Type::u32);
  const Value row_stride = k.parameter("row_stride", Type::u32), column_stride = k.parameter("column_stride", Type::u32);
  grid.run([&](const StridedGrid::Place& place) {
    const Value at = offset + id_at(id, ids, place(id_view)) * row_stride + grid.element() % width * column_stride;
    y[place(y_view)] = cast(Type::f32, load_number(w, table, at));
  });
  return k.finish();
}

}  // namespace wick::kernels
