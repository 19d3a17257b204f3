// recurrent_step: heads are shared out to the threads.
#include <cstdint>

#include "wick/backend/cpu/attention/state_slots.h"
#include "wick/backend/cpu/cpu_runtime.h"
#include "wick/backend/cpu/op_table.h"

namespace wick::cpu {
namespace {

// States of so many numbers are not in the caches when the next step reads them: the weights of a model were read between.
constexpr int64_t kCachedNumbers = 64 * 1024;

class RecurrentStep {
 public:
  explicit RecurrentStep(const OpCall& call)
      : call_(call),
        kernels_(runtime_of(call).kernels().recurrent),
        params_(call.parameters<RecurrentStepParams>()),
        key_heads_(call.inputs[1].layout->shape()[1]),
        keys_(call.inputs[1].layout->shape()[2]),
        heads_(call.inputs[2].layout->shape()[1]),
        values_(call.inputs[2].layout->shape()[2]),
        decays_(call.inputs[3].layout->shape()[2]),
        sequences_(call.inputs[5].layout->shape()[0]),
        positions_(call.inputs[2].layout->shape()[0] / sequences_),
        from_(data_of<const int32_t>(call.inputs[5])),
        to_(data_of<const int32_t>(call.inputs[6])) {}

  // States: heads of all sequences.
  [[nodiscard]] int64_t states() const { return sequences_ * heads_; }
  // Of a state.
  [[nodiscard]] int64_t numbers() const { return keys_ * values_; }
  // All that is changed.
  [[nodiscard]] int64_t work() const { return states() * numbers() * positions_; }

  void run(int64_t index) const {
    const int64_t sequence = index / heads_, head = index % heads_;
    const int64_t key_head = params_.interleaved ? head % key_heads_ : head / (heads_ / key_heads_);
    const auto input = [&](size_t index, int64_t first) { return data_of<const float>(call_.inputs[index]) + first; };
    const auto state = [&](int64_t slot) {
      return data_of<float>(call_.outputs[0]) + slot * call_.outputs[0].layout->stride(0) + head * numbers();
    };
    for (int64_t position = 0; position < positions_; ++position) {
      const int64_t place = sequence * positions_ + position, row = place * heads_ + head;
      const int64_t key_row = (place * key_heads_ + key_head) * keys_;
      const RecurrentHead numbers_of{.query = input(0, key_row),
                                     .key = input(1, key_row),
                                     .value = input(2, row * values_),
                                     .decay = input(3, row * decays_),
                                     .decay_step = decays_ == 1 ? 0 : 1,
                                     .rate = *input(4, row),
                                     .before = state(position == 0 ? from_[sequence] : to_[sequence]),
                                     .after = state(to_[sequence]),
                                     .result = data_of<float>(call_.outputs[1]) + row * values_,
                                     .around_caches = positions_ == 1 && states() * numbers() >= kCachedNumbers};
      (params_.delta ? kernels_.delta_step : kernels_.step)(numbers_of, keys_, values_);
    }
  }

 private:
  const OpCall& call_;
  const RecurrentKernels& kernels_;
  RecurrentStepParams params_;
  int64_t key_heads_, keys_, heads_, values_, decays_, sequences_, positions_;
  const int32_t* from_;
  const int32_t* to_;
};

}  // namespace

void recurrent_step_f32(const OpCall& call) {
  const RecurrentStep job(call);
  check_slots(call, call.inputs[5], call.inputs[6], call.outputs[0]);
  const auto run_share = [&](Scratch& /*scratch*/, int64_t begin, int64_t end) {
    for (int64_t index = begin; index < end; ++index) job.run(index);
  };
  share_equally(runtime_of(call), job.states(), job.states() > 1 && job.work() >= 2 * kElementsPerThread, run_share);
}

}  // namespace wick::cpu
