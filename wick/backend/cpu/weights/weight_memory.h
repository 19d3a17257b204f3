// A WeightMemory is a buffer over imported memory whose pages can be given back once its rows are in tiles: whoever asks for the bytes
// later finds them written again.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>

#include "wick/device/buffer.h"
#include "wick/layout/dtype.h"

namespace wick::cpu {

// The tiles that rows were interleaved into.
struct TileBytes {
  std::shared_ptr<Buffer> buffer = {};
  DType dtype = DType::f32;
  int64_t columns = 0;
};

// Any thread may call.
class WeightMemory final : public Buffer {
 public:
  WeightMemory(std::byte* data, size_t bytes, std::shared_ptr<const void> owner) : data_(data), bytes_(bytes), owner_(std::move(owner)) {}

  [[nodiscard]] size_t bytes() const noexcept override { return bytes_; }
  // The bytes stay where they are from now on: the caller may keep the pointer.
  [[nodiscard]] std::byte* host_data() noexcept override;
  // For whoever reads only rows that were not given back, and knows which.
  [[nodiscard]] std::byte* data() const noexcept { return data_; }

  // Gives back the whole pages of the first `tiles` tiles of rows, which begin at byte `offset`, unless somebody holds the bytes. No more
  // than `first_tile` of them were given back before. The memory is private to this process, and its owner's alone.
  void give_back(const TileBytes& tiles, size_t offset, int64_t first_tile, int64_t tile_count);

 private:
  enum class State : uint8_t { untouched, given_back, held };

  void restore() noexcept;

  std::byte* data_;
  size_t bytes_;
  std::shared_ptr<const void> owner_;
  std::atomic<State> state_{State::untouched};
  std::mutex mutex_;
  TileBytes tiles_;  // of the rows that were given back
  size_t offset_ = 0;
  int64_t tile_count_ = 0;
};

}  // namespace wick::cpu
