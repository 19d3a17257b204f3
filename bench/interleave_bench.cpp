// Times how fast the rows of a weight become tiles, with the rows read from memory: to a second place in memory, as weights are rearranged,
// and to a place in the cache, as a model just loaded is decoded. bytes_per_second counts each weight once.
#include "wick/quant/interleave.h"

#include <benchmark/benchmark.h>

#include <random>
#include <string>
#include <vector>

#include "wick/backend/cpu/simd/simd_kernels.h"

namespace wick {
namespace {

constexpr int64_t kColumns = 2048;
constexpr int64_t kMatrixBytes = 256 << 20;  // far more than any cache holds

std::vector<std::byte> random_bytes(size_t count) {
  std::vector<std::byte> bytes(count);
  std::mt19937 random(1);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

void interleave_matrix(benchmark::State& state, DType dtype, bool to_memory) {
  const GatherWords gather = cpu::simd_kernels(cpu::usable_instruction_sets().back()).gather_words;
  const int64_t tile_bytes = storage_bytes(dtype, kColumns * kInterleavedRows);
  const int64_t tiles = kMatrixBytes / tile_bytes;
  static const std::vector<std::byte> source = random_bytes(kMatrixBytes);
  static std::vector<std::byte> target(kMatrixBytes);
  for (auto _ : state) {
    for (int64_t tile = 0; tile < tiles; ++tile) {
      interleave_tile(dtype, source.data() + tile * tile_bytes, kColumns, target.data() + (to_memory ? tile * tile_bytes : 0), gather);
    }
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations()) * tiles * tile_bytes);
}

void register_all() {
  for (int id = 0; id < static_cast<int>(kFirstInterleaved); ++id) {
    const auto dtype = static_cast<DType>(id);
    if (interleaved_dtype(dtype) == dtype) continue;
    for (const bool to_memory : {true, false}) {
      const std::string name = "interleave/" + std::string(to_string(dtype)) + (to_memory ? "/memory" : "/cache");
      benchmark::RegisterBenchmark(name.c_str(), [=](benchmark::State& state) { interleave_matrix(state, dtype, to_memory); });
    }
  }
}

}  // namespace
}  // namespace wick

int main(int argc, char** argv) {
  wick::register_all();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
