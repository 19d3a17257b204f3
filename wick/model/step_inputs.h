// StepInputs are what the layers of a model read of a batch: the numbers of its tokens and of a KvPlan, on the device.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "wick/model/kv/kv_step.h"
#include "wick/model/lora/lora_stack.h"
#include "wick/model/recorded_steps.h"
#include "wick/tensor/ops/attention.h"
#include "wick/tensor/ops/recurrent_step.h"
#include "wick/tensor/ops/rope.h"
#include "wick/tensor/tensor.h"

namespace wick {

// Inputs of recurrent layers.
struct StateInputs {
  std::vector<int32_t> starts;    // [sequences + 1]: the first row of each, and behind the last
  std::vector<int32_t> state_to;  // [sequences]: the slabs that states are written to
  bool recorded = false;          // state_to is of one step among those that a recording is for: what is queued must not depend on it
  StateSlots slabs;               // those that they are read from, and these, on the device
  // Places in a row of each sequence's state with the step's rows after them: of the row before each row, i32 [rows], and of each
  // sequence's last row, i32 [sequences].
  Tensor before, last;
};

// Inputs of a decoder that writes from a source.
struct TargetInputs {
  Tensor source_lengths;  // i32 [sequences]
  Tensor positions;       // i32 [rows]: of each token in its target
};

struct StepInputs {
  Tensor tokens, positions;  // i32 [rows]
  struct Group {
    CachePlaces cache;
    AttentionPlan plan;
  };
  std::vector<Group> groups;                 // as the pool's
  int64_t longest = 0;                       // AttentionParams'
  std::optional<StateInputs> states = {};    // where layers keep states
  std::optional<AdapterRows> adapters = {};  // where some of the rows go through adapters
  std::optional<Tensor> types = {};          // i32 [rows], where some are of the second text of a pair
  // An addition to the scores of layers with a relative bias, or after a source: f32 [heads, rows, longest].
  std::optional<Tensor> score_bias = {};
  std::optional<TargetInputs> target = {};  // where the rows are of targets
};

// Which adapters the rows of a batch go through: `of_row` of each row, 0 where it has fewer; none where of_row is 0.
struct AdapterNumbers {
  int64_t of_row = 0;
  std::vector<int32_t> ids = {};   // [rows, of_row]
  std::vector<float> scales = {};  // the same
};

// The numbers of a batch in one vector, for one upload.
class StepNumbers {
 public:
  // As many as the plan has.
  StepNumbers(std::span<const int32_t> tokens, const KvPlan& plan, const AdapterNumbers& adapters);
  // With room up to `shape`: further rows belong to a further sequence, which writes to no slot and whose results mean nothing. A shape
  // with more rows than the plan has more sequences; where layers keep states, it has as many.
  StepNumbers(std::span<const int32_t> tokens, const KvPlan& plan, const AdapterNumbers& adapters, const StepShape& shape,
              int64_t block_size);

  [[nodiscard]] std::span<const int32_t> values() const noexcept { return values_; }
  // Views of a tensor with these values: i32 [values().size()].
  [[nodiscard]] StepInputs inputs(const Tensor& all) const;

 private:
  // Appends numbers, then `filler` up to `room`; the place of the first.
  int64_t add(std::span<const int32_t> numbers, int64_t room, int32_t filler);
  void add_groups(const KvPlan& plan, int64_t table_blocks);
  void add_adapters(const AdapterNumbers& adapters);
  void add_states(const KvPlan& plan);

  StepShape shape_;
  bool recorded_ = false;
  std::vector<int32_t> values_;
  int64_t positions_ = 0, starts_ = 0, lengths_ = 0;
  int64_t adapters_of_row_ = 0, adapters_ = 0, scales_ = 0;
  struct Group {
    int64_t slots = 0, table = 0, blocks = 0;
  };
  std::vector<Group> groups_;
  // Numbers for recurrent layers; state_to_ is empty without them.
  std::vector<int32_t> row_starts_, state_to_;
  int64_t slabs_from_ = 0, slabs_to_ = 0, before_ = 0, last_ = 0;
};

}  // namespace wick
