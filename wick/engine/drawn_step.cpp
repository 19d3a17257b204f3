#include "wick/engine/drawn_step.h"

#include "wick/device/readback_queue.h"
#include "wick/tensor/ops/sample.h"

namespace wick {
namespace {

// The device finds the borders of top_k and top_p in as much time for one row as for many; the host, row by row, is sooner done with fewer.
constexpr int64_t kFewestFiltered = 4;

}  // namespace

std::optional<SampleSettings> DrawnStep::settings_of(const SequenceRows& one) {
  const Sequence& sequence = *one.sequence;
  const ActiveRequest& request = sequence.request();
  const GenerationParams& params = request.request.params;
  const bool wants_logits = params.logprobs || request.ranks() || params.constraint != nullptr || request.wants_prompt_logprobs();
  if (wants_logits || one.results != 1 || !one.proposed.empty() || sequence.slots() > 1 || params.max_tokens == 0) return std::nullopt;
  return sequence.device_sampling(one.earlier ? 1 : 0);
}

bool DrawnStep::can_draw(const std::vector<SequenceRows>& step) {
  int64_t filtered = 0, plain = 0;
  for (const SequenceRows& one : step) {
    if (one.results == 0) continue;
    const std::optional<SampleSettings> settings = settings_of(one);
    if (!settings) return false;
    const bool filters = settings->inverse_temperature != 0 && (settings->top_k > 0 || settings->top_p < 1);
    ++(filters ? filtered : plain);
  }
  return filtered == 0 ? plain > 0 : filtered >= kFewestFiltered;
}

DrawnStep::DrawnStep(const std::vector<SequenceRows>& step, const Tensor& logits, Queue& queue, EngineClock::time_point begin)
    : begin_(begin) {
  std::vector<SampleSettings> settings;
  for (const SequenceRows& one : step) {
    computed_ += one.rows();
    if (one.results == 0) continue;
    settings.push_back(*settings_of(one));
    rows_.push_back({one.sequence, one.sequence->computed + one.rows()});
  }
  tokens_ = sample(logits, settings);
  host_.resize(settings.size());
  const auto offset = static_cast<size_t>(tokens_.layout().offset()) * sizeof(int32_t);
  done_ = read_back(queue, tokens_.storage()->buffer(), offset, reinterpret_cast<std::byte*>(host_.data()), host_.size() * sizeof(int32_t));
  // What has no distribution is no token: its sequence fails when it is read.
  tokens_ = tokens_.maximum(0);
}

void DrawnStep::wait() {
  done_->wait();
  for (size_t row = 0; row < rows_.size(); ++row) rows_[row].token = host_[row];
}

bool DrawnStep::remove_ended() {
  bool any = false;
  for (Row& row : rows_) {
    if (row.sequence != nullptr && row.sequence->ended) row.sequence = nullptr;
    any = any || row.sequence != nullptr;
  }
  return any;
}

}  // namespace wick
