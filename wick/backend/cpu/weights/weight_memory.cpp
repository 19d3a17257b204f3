#include "wick/backend/cpu/weights/weight_memory.h"

#include <algorithm>

#include "wick/backend/cpu/weights/interleave.h"
#include "wick/base/process.h"

namespace wick::cpu {
namespace {

// The most that a page of memory has: release_pages leaves pages alone that a range only touches, so ranges overlap by one.
constexpr int64_t kPageBytes = 65536;

int64_t bytes_of_tile(const TileBytes& tiles) { return storage_bytes(tiles.dtype, kInterleavedRows * tiles.columns); }

}  // namespace

std::byte* WeightMemory::host_data() noexcept {
  State state = state_.load(std::memory_order_acquire);
  if (state == State::untouched && state_.compare_exchange_strong(state, State::held, std::memory_order_acq_rel)) return data_;
  if (state != State::held) restore();
  return data_;
}

void WeightMemory::give_back(const TileBytes& tiles, size_t offset, int64_t first_tile, int64_t tile_count) {
  const std::lock_guard lock(mutex_);
  State state = State::untouched;
  if (!state_.compare_exchange_strong(state, State::given_back, std::memory_order_acq_rel) && state == State::held) return;
  tiles_ = tiles;
  offset_ = offset;
  tile_count_ = tile_count;
  const int64_t tile_bytes = bytes_of_tile(tiles);
  const int64_t begin = std::max<int64_t>(0, first_tile * tile_bytes - kPageBytes);
  release_pages(data_ + offset + begin, static_cast<size_t>(tile_count * tile_bytes - begin));
}

void WeightMemory::restore() noexcept {
  const std::lock_guard lock(mutex_);
  if (state_.load(std::memory_order_relaxed) == State::held) return;
  const int64_t tile_bytes = bytes_of_tile(tiles_);
  for (int64_t tile = 0; tile < tile_count_; ++tile) {
    deinterleave_tile(tiles_.dtype, tiles_.buffer->host_data() + tile * tile_bytes, tiles_.columns,
                      data_ + offset_ + static_cast<size_t>(tile * tile_bytes));
  }
  tiles_ = {};
  state_.store(State::held, std::memory_order_release);
}

}  // namespace wick::cpu
