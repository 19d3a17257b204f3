// A DrawnStep is a step whose tokens the device draws: the next one can be queued before the host has read them, so that the host streams
// tokens and prepares batches while the device computes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "wick/device/queue.h"
#include "wick/engine/scheduler.h"
#include "wick/op/sample.h"
#include "wick/tensor/tensor.h"

namespace wick {

class DrawnStep {
 public:
  struct Row {
    Sequence* sequence;  // none once it has ended
    int64_t position;    // of the token
    TokenId token = -1;  // once wait() has returned; below 0: the logits had no distribution
  };

  // Whether the device can draw the tokens of a step, and is as fast as the host.
  [[nodiscard]] static bool can_draw(const std::vector<SequenceRows>& step);

  // Queues the drawing of tokens from the logits of a step that began then, and their way to the host.
  DrawnStep(const std::vector<SequenceRows>& step, const Tensor& logits, Queue& queue, EngineClock::time_point begin);

  // The rows that draw a token, in the order of tokens().
  [[nodiscard]] const std::vector<Row>& rows() const noexcept { return rows_; }
  [[nodiscard]] const Tensor& tokens() const noexcept { return tokens_; }
  // Rows of the whole step.
  [[nodiscard]] int64_t computed() const noexcept { return computed_; }
  [[nodiscard]] EngineClock::time_point begin() const noexcept { return begin_; }
  // Waits for the tokens. Errors: the device's.
  void wait();
  // Forgets sequences that have ended. Whether any is left.
  bool remove_ended();

 private:
  // How the device draws the token of rows with one result; none where the host must.
  [[nodiscard]] static std::optional<SampleSettings> settings_of(const SequenceRows& one);

  std::vector<Row> rows_;
  Tensor tokens_;  // i32 [rows]
  std::vector<TokenId> host_;
  std::unique_ptr<Event> done_;  // they are in `host_`
  int64_t computed_ = 0;
  EngineClock::time_point begin_;
};

}  // namespace wick
