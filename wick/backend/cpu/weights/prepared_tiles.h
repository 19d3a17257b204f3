// Weights that the CPU has taken into tiles of interleaved rows (interleave.h) beside the plain bytes, and the preparer that does it: a
// slice at a time, between ops and while no op runs, so that a model answers at once from its mapped file.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "wick/backend/cpu/cpu_memory.h"
#include "wick/backend/cpu/simd/simd_kernels.h"
#include "wick/backend/cpu/weights/interleave.h"
#include "wick/backend/cpu/weights/weight_memory.h"
#include "wick/base/thread_pool.h"
#include "wick/device/op_call.h"
#include "wick/device/prepared_weight.h"

namespace wick::cpu {

class WeightPreparer;

// The whole tiles of a weight [n, k], or of experts' matrices of whole tiles, one below the other. They become ready from the first on.
class PreparedTiles final : public PreparedWeight {
 public:
  PreparedTiles(WeightPreparer& preparer, const Operand& weight, WeightUse use);
  ~PreparedTiles() override;

  // How many tiles are ready; never fewer than before.
  [[nodiscard]] int64_t ready() const noexcept { return ready_.load(std::memory_order_seq_cst); }
  // The first tile; of a weight some of whose tiles are ready.
  [[nodiscard]] const std::byte* data() const noexcept { return buffer_->host_data(); }
  // Where the buffer of the weight begins; the rows of tiles that are ready may be gone from there.
  [[nodiscard]] const std::byte* plain_data() const noexcept { return plain_data_; }
  // Whether an op has read the weight before this one, which reads it now.
  [[nodiscard]] bool note_read() const noexcept { return was_read_.exchange(true, std::memory_order_relaxed); }
  [[nodiscard]] DType dtype() const noexcept { return dtype_; }
  [[nodiscard]] int64_t first_element() const noexcept { return first_element_; }
  [[nodiscard]] int64_t columns() const noexcept { return columns_; }
  [[nodiscard]] int64_t tiles() const noexcept { return tiles_; }
  [[nodiscard]] int64_t tile_bytes() const noexcept { return storage_bytes(dtype_, kInterleavedRows * columns_); }

 private:
  friend class WeightPreparer;

  // Whether the plain bytes can leave memory.
  [[nodiscard]] bool is_releasable() const noexcept;
  // Releases the plain bytes of all ready tiles.
  void release_plain_bytes();

  WeightPreparer& preparer_;
  WeightUse use_;
  DType dtype_;
  int64_t first_element_;  // of the operand, in its buffer
  int64_t columns_;
  int64_t tiles_;
  WeightMemory* memory_;  // whose pages may be given back; nullptr: they may not, or a file has the bytes
  const std::byte* plain_data_;
  const std::byte* rows_;           // the plain bytes of the first row
  std::shared_ptr<Buffer> buffer_;  // none before the first slice
  std::atomic<int64_t> ready_{0};
  mutable std::atomic<bool> was_read_{false};
  int64_t released_ = 0;  // tiles whose plain bytes were given back
};

// The tiles of an operand that are ready, from its first row on. Read once by each op.
struct ReadyTiles {
  const std::byte* data = nullptr;
  int64_t count = 0;  // may go on behind the operand's last row
};
[[nodiscard]] ReadyTiles ready_tiles(const Operand& weight) noexcept;
// Where the buffer of an operand begins, for ops that read ready tiles where there are some: plain rows of others alone.
[[nodiscard]] const std::byte* plain_data(const Operand& weight) noexcept;

// Whether an op has read the operand's weight before this one, which reads it now. False of weights that are not prepared.
[[nodiscard]] bool was_read(const Operand& weight) noexcept;

// Any thread may call.
class WeightPreparer {
 public:
  using Clock = std::chrono::steady_clock;

  WeightPreparer(MemoryPool& memory, ThreadPool& threads, const SimdKernels& kernels)
      : memory_(memory), threads_(threads), kernels_(kernels) {}
  WeightPreparer(const WeightPreparer&) = delete;
  WeightPreparer& operator=(const WeightPreparer&) = delete;
  ~WeightPreparer();

  // nullptr where there are no tiles for such a weight.
  [[nodiscard]] std::shared_ptr<const PreparedWeight> add(const Operand& weight, const WeightUse& use);
  // Prepares one slice, or all that is left. False where there is nothing left.
  bool prepare_some();
  void finish();

  // An op that reads weights, from before it looks for tiles to after it has read the last. Behind an op of few rows, whose time goes into
  // reading weights, the next slice is prepared if that keeps within a third of the time; but not before an op reads its weights for the
  // second time, so that nothing delays a model's first token.
  class Op {
   public:
    explicit Op(WeightPreparer& preparer) : preparer_(preparer.begin_op() ? &preparer : nullptr) {}
    Op(const Op&) = delete;
    Op& operator=(const Op&) = delete;
    ~Op() {
      if (preparer_ != nullptr) preparer_->end_op(few_rows_);
    }
    // Records an op of few rows that uses this weight.
    void set_few_rows(const Operand& weight) noexcept { few_rows_ = preparer_ != nullptr && was_read(weight); }

   private:
    WeightPreparer* preparer_;  // nullptr: nothing is left to prepare
    bool few_rows_ = false;
  };

  static constexpr int64_t kSliceBytes = int64_t{4} << 20;

 private:
  friend class PreparedTiles;

  [[nodiscard]] bool begin_op() noexcept {
    if (!pending_.load(std::memory_order_relaxed)) return false;
    running_.fetch_add(1, std::memory_order_seq_cst);
    return true;
  }
  void end_op(bool few_rows);
  void remove(PreparedTiles& weight) noexcept;

  // These with mutex_ held.
  void start_thread();
  // Memory for the front of the queue. False where there is none: then nothing more is prepared.
  bool make_room();
  bool prepare_slice();
  // Releases the file pages behind ready tiles, unless an op that began before they were ready may still read them.
  void release_plain_bytes();
  void run_while_idle();

  MemoryPool& memory_;
  ThreadPool& threads_;
  const SimdKernels& kernels_;
  std::atomic<bool> pending_{false};  // the queue or partly_released_ is not empty
  std::atomic<int> running_{0};       // ops under way that began while something was pending
  std::atomic<int64_t> last_op_{0};   // when the last of them ended, in ticks of Clock; behind a load a little later

  std::mutex mutex_;
  std::deque<PreparedTiles*> queue_;             // the front one is worked on
  std::vector<PreparedTiles*> partly_released_;  // ready in part or whole, with plain bytes still to be given back
  double credit_ = 0;                            // seconds that may be spent between ops
  double seconds_per_byte_ = 0.5e-9;             // of the last slices
  Clock::time_point charged_until_ = Clock::now();
  bool stopping_ = false;
  bool thread_failed_ = false;
  std::condition_variable wake_;
  std::thread thread_;
};

}  // namespace wick::cpu
