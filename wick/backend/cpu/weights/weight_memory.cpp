#include "wick/backend/cpu/weights/weight_memory.h"

#include "wick/backend/cpu/weights/interleave.h"
#include "wick/base/process.h"

namespace wick::cpu {
namespace {

int64_t bytes_of_tile(const TileBytes& tiles) { return storage_bytes(tiles.dtype, kInterleavedRows * tiles.columns); }

}  // namespace

std::byte* WeightMemory::host_data() noexcept {
  State state = state_.load(std::memory_order_acquire);
  if (state == State::untouched && state_.compare_exchange_strong(state, State::held, std::memory_order_acq_rel)) return data_;
  if (state != State::held) restore();
  return data_;
}

void WeightMemory::give_back(const TileBytes& tiles, size_t offset, size_t begin) {
  const std::lock_guard lock(mutex_);
  State state = State::untouched;
  if (!state_.compare_exchange_strong(state, State::given_back, std::memory_order_acq_rel) && state == State::held) return;
  tiles_ = tiles;
  offset_ = offset;
  release_pages(data_ + offset + begin, static_cast<size_t>(tiles.count * bytes_of_tile(tiles)) - begin);
}

void WeightMemory::restore() noexcept {
  const std::lock_guard lock(mutex_);
  if (state_.load(std::memory_order_relaxed) == State::held) return;
  const int64_t tile_bytes = bytes_of_tile(tiles_);
  for (int64_t tile = 0; tile < tiles_.count; ++tile) {
    deinterleave_tile(tiles_.dtype, tiles_.buffer->host_data() + tile * tile_bytes, tiles_.columns,
                      data_ + offset_ + static_cast<size_t>(tile * tile_bytes));
  }
  tiles_ = {};
  state_.store(State::held, std::memory_order_release);
}

}  // namespace wick::cpu
