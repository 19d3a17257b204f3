// Mamba: states whose numbers decay each by a rate of their own, so that positions are taken one by one (Gu & Dao 2023).
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "wick/model/mixers/mixer.h"
#include "wick/model/mixers/recurrent.h"
#include "wick/nn/activation.h"
#include "wick/tensor/ops/normalize.h"

namespace wick {
namespace {

// Positions whose decays are computed at once.
constexpr int64_t kScanChunk = 32;
// Decays at once, where one op takes them: 64 MiB of them.
constexpr int64_t kDecaysAtOnce = int64_t{16} << 20;

class SelectiveScanMixer final : public Mixer {
 public:
  SelectiveScanMixer(const SelectiveScanSpec& spec, WeightReader& weights, const MixerPlace& place, const std::string& prefix);

  [[nodiscard]] Tensor forward(const Tensor& normed, const MixerContext& context) const override;
  [[nodiscard]] std::vector<const ScaledMatrix*> matrices() const override { return {&in_, &mix_, &step_, &out_}; }
  [[nodiscard]] std::vector<ScaledMatrix*> adaptable() override { return {&in_, &mix_, &step_, &out_}; }

 private:
  // Rows of some sequences, which have equally many: [sequences, positions, …].
  struct Rows {
    Tensor x, steps;        // [.., inner]
    Tensor columns, reads;  // [.., state_size]: what goes into states, and what is read of them
  };
  // [sequences, positions, inner]. `state` [sequences, inner, state_size] is then the one after them.
  [[nodiscard]] Tensor scan(const Rows& rows, int64_t first, int64_t count, Tensor& state) const;
  // The same by recurrent_step, whose heads are the channels: in few launches, but number by number on a CPU.
  [[nodiscard]] Tensor changed(const Rows& rows, const SequenceRun& run, const MixerContext& context) const;
  [[nodiscard]] Tensor normalized(const Tensor& x, const std::optional<Tensor>& norm) const;

  SelectiveScanSpec spec_;
  bool deterministic_;
  ScaledMatrix in_, mix_, step_, out_;
  ShortConvolution convolution_;
  StateRange state_;
  Tensor decay_, skip_, step_bias_;
  std::optional<Tensor> step_norm_, column_norm_, read_norm_;
};

SelectiveScanMixer::SelectiveScanMixer(const SelectiveScanSpec& spec, WeightReader& weights, const MixerPlace& place,
                                       const std::string& prefix)
    : spec_(spec),
      deterministic_(weights.deterministic()),
      in_(weights.matrix(prefix + "ssm_in", 2 * spec.inner, place.hidden_size)),
      mix_(weights.matrix(prefix + "ssm_x", spec.rank + 2 * spec.state_size, spec.inner)),
      step_(weights.matrix(prefix + "ssm_dt", spec.inner, spec.rank)),
      out_(weights.matrix(prefix + "ssm_out", place.hidden_size, spec.inner)),
      convolution_(weights, prefix + "ssm_conv1d", place.recurrent, spec.inner, spec.kernel),
      state_(place.recurrent, (spec.kernel - 1) * spec.inner, spec.inner * spec.state_size),
      decay_(weights.vectors(prefix + "ssm_a", spec.inner, spec.state_size)),
      skip_(weights.vector(prefix + "ssm_d", spec.inner)),
      step_bias_(weights.vector(prefix + "ssm_dt.bias", spec.inner)) {
  const auto norm = [&](const char* name, int64_t length) -> std::optional<Tensor> {
    if (spec.bare_norms) return Tensor::ones({length}, DType::f32, weights.device());
    return weights.find_vector(prefix + name + ".weight", length);
  };
  step_norm_ = norm("ssm_dt_norm", spec.rank);
  column_norm_ = norm("ssm_b_norm", spec.state_size);
  read_norm_ = norm("ssm_c_norm", spec.state_size);
}

Tensor SelectiveScanMixer::normalized(const Tensor& x, const std::optional<Tensor>& norm) const {
  return norm ? rms_norm(x.contiguous(), *norm, RmsNormParams{spec_.norm_epsilon, deterministic_}) : x;
}

Tensor SelectiveScanMixer::scan(const Rows& rows, int64_t first, int64_t count, Tensor& state) const {
  const auto part = [&](const Tensor& whole) { return whole.narrow(1, first, count); };
  const Tensor steps = part(rows.steps).unsqueeze(-1);
  const Tensor left = (steps * decay_).exp();  // [sequences, positions, inner, state_size]
  const Tensor added = steps * part(rows.x).unsqueeze(-1) * part(rows.columns).unsqueeze(2);
  std::vector<Tensor> states;
  for (int64_t position = 0; position < count; ++position) {
    const auto at = [&](const Tensor& all) { return all.narrow(1, position, 1).reshape(state.shape()); };
    state = state * at(left) + at(added);
    states.push_back(state);
  }
  return Tensor::stack(states, 1).matmul(part(rows.reads).unsqueeze(-1)).squeeze(-1);
}

Tensor SelectiveScanMixer::changed(const Rows& rows, const SequenceRun& run, const MixerContext& context) const {
  const int64_t chunk = std::max<int64_t>(kDecaysAtOnce / (run.sequences * spec_.inner * spec_.state_size), 1);
  const Tensor y = in_chunks(run.positions, chunk, [&](int64_t first, int64_t count) {
    const auto part = [&](const Tensor& whole) { return whole.narrow(1, first, count); };
    const Tensor steps = part(rows.steps);
    const RecurrentRows changes{.query = part(rows.reads).unsqueeze(2),
                                .key = part(rows.columns).unsqueeze(2),
                                .value = part(rows.x).unsqueeze(-1),
                                .decay = (steps.unsqueeze(-1) * decay_).exp(),
                                .rate = steps};
    return state_.change(context.pool, context.places.step.states.value(), run, changes, {}, first > 0);
  });
  return y.squeeze(-1);
}

Tensor SelectiveScanMixer::forward(const Tensor& normed, const MixerContext& context) const {
  const auto product = [&](const ScaledMatrix& matrix, const Tensor& x) {
    context.show_input({matrix.name}, x);
    return context.product(matrix, x);
  };
  const StateInputs& step = context.places.step.states.value();
  const int64_t inner = spec_.inner, size = spec_.state_size;
  const Tensor both = product(in_, normed);
  const Tensor x = convolution_.forward(both.narrow(1, 0, inner), context.pool, step, {.silu = true});
  const Tensor mixed = product(mix_, x);
  const Tensor columns = normalized(mixed.narrow(1, spec_.rank, size), column_norm_);
  const Tensor reads = normalized(mixed.narrow(1, spec_.rank + size, size), read_norm_);
  const Tensor steps = nn::softplus(product(step_, normalized(mixed.narrow(1, 0, spec_.rank), step_norm_).contiguous()) + step_bias_);
  std::vector<Tensor> parts;
  for (const SequenceRun& run : runs_of(step, deterministic_)) {
    const Rows rows{.x = run.rows_of(x, 0, {inner}),
                    .steps = run.rows_of(steps, 0, {inner}),
                    .columns = run.rows_of(columns, 0, {size}),
                    .reads = run.rows_of(reads, 0, {size})};
    Tensor y;
    if (x.device().is_cpu()) {
      Tensor state = state_.read(context.pool, step, run.first, run.sequences).reshape({run.sequences, inner, size});
      y = in_chunks(run.positions, kScanChunk, [&](int64_t first, int64_t count) { return scan(rows, first, count, state); });
      state_.write(context.pool, step, run.first, state.reshape({run.sequences, inner * size}));
    } else {
      y = changed(rows, run, context);
    }
    parts.push_back(y.reshape({run.sequences * run.positions, inner}));
  }
  return product(out_, (joined(parts, 0) + x * skip_) * both.narrow(1, inner, inner).silu());
}

}  // namespace

std::unique_ptr<Mixer> build_selective_scan(const SelectiveScanSpec& spec, WeightReader& weights, const MixerPlace& place) {
  return std::make_unique<SelectiveScanMixer>(spec, weights, place, fmt::format("blk.{}.", place.layer));
}

}  // namespace wick
