#include "wick/model/recorded_steps.h"

#include <algorithm>
#include <bit>

#include "wick/base/fail.h"
#include "wick/device/linked_kernels.h"

namespace wick {
namespace {

// Fewer positions are not worth a recording of their own.
constexpr int64_t kFewestPositions = 256;

int64_t power_of_two(int64_t least) { return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(least))); }

void upload(std::span<const int32_t> numbers, const Tensor& target) {
  const std::span<const std::byte> bytes = std::as_bytes(numbers);
  target.device().runtime().queue().upload(bytes.data(), target.storage()->buffer(), 0, bytes.size());
  target.storage()->bump_version();
}

}  // namespace

StepShape StepShape::with_room_for(int64_t rows, int64_t sequences, int64_t positions) noexcept {
  const int64_t room = power_of_two(rows);
  return {room, power_of_two(sequences + (room > rows ? 1 : 0)), power_of_two(std::max(positions, kFewestPositions))};
}

StepShape StepShape::with_room_for_positions(int64_t sequences, int64_t positions) noexcept {
  return {sequences, sequences, power_of_two(std::max(positions, kFewestPositions))};
}

RecordedSteps::Step* RecordedSteps::find(const Key& key) {
  const auto found = std::find_if(steps_.begin(), steps_.end(), [&](const std::unique_ptr<Step>& step) { return step->key == key; });
  return found == steps_.end() ? nullptr : found->get();
}

void RecordedSteps::make_room() {
  if (steps_.size() < kMax) return;
  const auto oldest = std::min_element(steps_.begin(), steps_.end(), [](const auto& a, const auto& b) { return a->used < b->used; });
  steps_.erase(oldest);
}

bool RecordedSteps::record(const Device& device, Step& step, const Body& body) {
  try {
    // Only devices that run kernels are asked to record, and a program that has one has the recorder.
    step.graph = linked_graph_recorder()->record(device, [&] { step.result = body(step.numbers); });
  } catch (const Error& error) {
    step.graph.reset();
    if (error.code() != ErrorCode::out_of_memory) throw;
    return false;
  }
  ++recordings_;
  return true;
}

Tensor RecordedSteps::run(const Device& device, const Key& key, std::span<const int32_t> numbers, const Body& body,
                          const Prepare& prepare) {
  Step* step = find(key);
  if (step == nullptr) {
    make_room();
    const Tensor room = Tensor::from_span(numbers, {std::ssize(numbers)}, device);
    step = steps_.emplace_back(std::make_unique<Step>(Step{.key = key, .numbers = room})).get();
    step->used = ++runs_;
    if (prepare) prepare(room);
    return body(room);
  }
  step->used = ++runs_;
  upload(numbers, step->numbers);
  if (prepare) prepare(step->numbers);
  if (step->graph) {
    linked_graph_recorder()->replay(*step->graph);
    ++replays_;
  } else if (!record(device, *step, body)) {
    // A recording keeps what it touches.
    const Tensor room = step->numbers;
    clear();
    return body(room);
  }
  return step->result.copy();
}

}  // namespace wick
