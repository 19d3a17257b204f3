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
  int64_t count = 0;
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

  // Releases the whole pages of the rows of these tiles, which begin at byte `offset`, from byte `begin` of them on; those before were
  // released by an earlier call. Nothing is released once host_data() has given out the pointer. The memory is private to this process, and
  // its owner's alone.
  void give_back(const TileBytes& tiles, size_t offset, size_t begin);

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
};

}  // namespace wick::cpu
