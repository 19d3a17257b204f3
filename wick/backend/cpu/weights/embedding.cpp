// Rows of a table by number, dequantized one by one.
#include <cstring>
#include <utility>

#include "wick/backend/cpu/cpu_runtime.h"
#include "wick/backend/cpu/op_table.h"
#include "wick/backend/cpu/weights/prepared_tiles.h"
#include "wick/backend/cpu/weights/unpack.h"

namespace wick::cpu {
namespace {

int64_t read_id(const Operand& ids, int64_t offset) {
  const std::byte* base = ids.buffer->host_data();
  if (ids.dtype == DType::i64) return reinterpret_cast<const int64_t*>(base)[offset];
  if (ids.dtype == DType::i32) return reinterpret_cast<const int32_t*>(base)[offset];
  return reinterpret_cast<const uint32_t*>(base)[offset];
}

}  // namespace

void embedding_any(const OpCall& call) {
  const Operand& table = call.inputs[0];
  const int64_t width = table.layout->shape()[1];
  auto* out = data_of<float>(call.outputs[0]);
  const SimdKernels& kernels = runtime_of(call).kernels();
  const WeightPreparer::Op op(runtime_of(call).preparer());
  // The plain bytes of rows that are in tiles may have left memory.
  const ReadyTiles tiles = table.layout->is_contiguous() ? ready_tiles(table) : ReadyTiles();
  const std::byte* plain = table.layout->is_contiguous() ? plain_data(table) : std::as_const(*table.buffer).host_data();
  for_each_offset(*call.inputs[1].layout, [&](int64_t offset) {
    const int64_t id = read_id(call.inputs[1], offset);
    const std::span<float> row(out, static_cast<size_t>(width));
    out += width;
    const int64_t first = table.layout->offset() + id * table.layout->stride(0);
    if (id < tiles.count * kInterleavedRows) {
      const std::byte* tile = tiles.data + id / kInterleavedRows * storage_bytes(table.dtype, kInterleavedRows * width);
      unpack_tile_row(table.dtype, tile, id % kInterleavedRows, row);
    } else if (is_quantized(table.dtype)) {
      unpack_rows(kernels, table.dtype, plain + storage_bytes(table.dtype, first), row);
    } else {
      const int64_t element = info(table.dtype).block_bytes;
      if (table.layout->stride(1) == 1) {
        unpack_rows(kernels, table.dtype, plain + first * element, row);
      } else {
        for (int64_t i = 0; i < width; ++i) {
          const std::byte* source = plain + (first + i * table.layout->stride(1)) * element;
          unpack_rows(kernels, table.dtype, source, row.subspan(static_cast<size_t>(i), 1));
        }
      }
    }
  });
}

}  // namespace wick::cpu
