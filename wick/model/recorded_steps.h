// RecordedSteps keeps the decode steps that a device has recorded: a step of the same shape is queued again by one call, with the numbers
// of its own batch.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "wick/device/graph.h"
#include "wick/tensor/tensor.h"

namespace wick {

// The sizes that launches depend on. A recorded step is larger than its batch needs, so that other batches can use it.
struct StepShape {
  int64_t rows = 0, sequences = 0;
  int64_t positions = 0;  // no sequence has more

  // The powers of two that hold a batch.
  [[nodiscard]] static StepShape with_room_for(int64_t rows, int64_t sequences, int64_t positions) noexcept;
  // As many rows as sequences, with room for positions alone.
  [[nodiscard]] static StepShape with_room_for_positions(int64_t sequences, int64_t positions) noexcept;
  friend bool operator==(const StepShape&, const StepShape&) = default;
};

// Recorded steps of one pool, on its memory. Not thread-safe.
class RecordedSteps {
 public:
  // The most that are kept; the one that was not used for longest goes first.
  static constexpr size_t kMax = 32;
  // The most rows of a step for which the host's work counts.
  static constexpr int64_t kMaxRows = 64;

  struct Key {
    uint64_t model = 0;  // which model, and which of its results
    StepShape shape;
    int64_t adapters = 0, adapters_of_row = 0;  // that the model has, where rows go through some, and the most of one row
    friend bool operator==(const Key&, const Key&) = default;
  };
  // Queues the step on numbers that are on the device; the result is a tensor of its own.
  using Body = std::function<Tensor(const Tensor& numbers)>;
  // Changes numbers on the device before the step, and is never recorded; may be empty.
  using Prepare = std::function<void(const Tensor& numbers)>;

  // Runs a step: `body` for the first time; the second time it is recorded on the way, as what a device prepares once has been prepared;
  // then replayed. The result is the caller's. `body` may run again where memory for recordings is short. Errors: those of `body`.
  [[nodiscard]] Tensor run(const Device& device, const Key& key, std::span<const int32_t> numbers, const Body& body,
                           const Prepare& prepare = {});

  [[nodiscard]] size_t size() const noexcept { return steps_.size(); }
  // How many steps have been run, and of these recorded, and replayed, so far.
  [[nodiscard]] int64_t runs() const noexcept { return runs_; }
  [[nodiscard]] int64_t recordings() const noexcept { return recordings_; }
  [[nodiscard]] int64_t replays() const noexcept { return replays_; }
  void clear() noexcept { steps_.clear(); }

 private:
  struct Step {
    Key key;
    Tensor numbers;
    Tensor result = {};
    std::optional<Graph> graph = {};
    int64_t used = 0;  // when, counted in steps
  };
  [[nodiscard]] Step* find(const Key& key);
  void make_room();
  [[nodiscard]] bool record(const Device& device, Step& step, const Body& body);

  std::vector<std::unique_ptr<Step>> steps_;
  int64_t runs_ = 0, recordings_ = 0, replays_ = 0;
};

}  // namespace wick
