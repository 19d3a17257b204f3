// repack: whole tiles of 16 rows are interleaved (quant/interleave.h), each by one thread.
#include <cstring>

#include "wick/backend/cpu/cpu_runtime.h"
#include "wick/backend/cpu/op_table.h"
#include "wick/quant/interleave.h"

namespace wick::cpu {

void repack(const OpCall& call) {
  const Operand& weight = call.inputs[0];
  // Experts' matrices of whole tiles are one matrix, one below the other.
  const int64_t columns = weight.layout->shape().last();
  const int64_t tiles = weight.layout->elements() / columns / kInterleavedRows;
  const int64_t tile_bytes = storage_bytes(weight.dtype, columns * kInterleavedRows);
  const std::byte* source = weight.buffer->host_data() + storage_bytes(weight.dtype, weight.layout->offset());
  std::byte* target = call.outputs[0].buffer->host_data();
  CpuRuntime& runtime = runtime_of(call);
  runtime.threads().run([&](int thread, int threads) {
    for (int64_t tile = tiles * thread / threads; tile < tiles * (thread + 1) / threads; ++tile) {
      interleave_tile(weight.dtype, source + tile * tile_bytes, columns, target + tile * tile_bytes, runtime.kernels().gather_words);
    }
  });
  // The rows behind the last whole tile stay plain.
  const int64_t tiled = tiles * tile_bytes;
  std::memcpy(target + tiled, source + tiled, static_cast<size_t>(storage_bytes(weight.dtype, weight.layout->elements()) - tiled));
}

}  // namespace wick::cpu
