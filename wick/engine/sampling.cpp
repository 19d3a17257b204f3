#include "wick/engine/sampling.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <random>
#include <utility>

#include "wick/base/fail.h"
#include "wick/base/fail_with.h"
#include "wick/device/random_stream.h"
#include "wick/engine/candidates.h"
#include "wick/engine/repetition.h"
#include "wick/engine/token_draw.h"
#include "wick/op/sample.h"

namespace wick {
namespace {

template <class T>
void check_range(std::vector<ParameterViolation>& violations, const SamplingParameter& row, T value) {
  if (static_cast<double>(value) >= row.low && static_cast<double>(value) <= row.high) return;  // false for NaN
  std::string range = row.high == SamplingParameter::kNoLimit ? fmt::format("must be {:g} or more", row.low)
                                                              : fmt::format("must be from {:g} to {:g}", row.low, row.high);
  if (!row.note.empty()) range += fmt::format(" ({})", row.note);
  violations.push_back({std::string(row.name), std::move(range), fmt::format("{:g}", static_cast<double>(value))});
}

SamplingParams checked(const SamplingParams& params) {
  const std::vector<ParameterViolation> violations = find_violations(params);
  if (!violations.empty()) {
    const ParameterViolation& first = violations.front();
    fail(ErrorCode::invalid_argument, "{} {}: {}", first.parameter, first.value, first.constraint);
  }
  return params;
}

// The highest of some logits, and whether all are numbers below infinity.
struct Highest {
  float logit;
  bool is_usable;
};
Highest highest_of(std::span<const float> logits) {
  // Lanes that do not wait for each other.
  constexpr size_t kLanes = 16;
  std::array<float, kLanes> highest;
  std::array<uint32_t, kLanes> unusable = {};
  highest.fill(-std::numeric_limits<float>::infinity());
  const auto take = [&](size_t lane, float logit) {
    highest[lane] = logit > highest[lane] ? logit : highest[lane];
    unusable[lane] |= logit <= std::numeric_limits<float>::max() ? 0U : 1U;
  };
  size_t index = 0;
  for (; index + kLanes <= logits.size(); index += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) take(lane, logits[index + lane]);
  }
  for (; index < logits.size(); ++index) take(0, logits[index]);
  return {*std::max_element(highest.begin(), highest.end()),
          std::all_of(unusable.begin(), unusable.end(), [](uint32_t any) { return any == 0; })};
}

// The index of the highest logit, the first of equals.
size_t check_and_find_highest(std::span<const float> logits) {
  // So many are looked at again, to find which one it was.
  constexpr size_t kChunk = 256;
  float best = -std::numeric_limits<float>::infinity();
  size_t chunk = 0;
  bool usable = true;
  for (size_t first = 0; first < logits.size(); first += kChunk) {
    const auto [logit, is_usable] = highest_of(logits.subspan(first, std::min(kChunk, logits.size() - first)));
    usable = usable && is_usable;
    if (logit > best) {
      best = logit;
      chunk = first;
    }
  }
  if (!usable || best == -std::numeric_limits<float>::infinity()) fail_without_distribution();
  return static_cast<size_t>(std::find(logits.begin() + static_cast<std::ptrdiff_t>(chunk), logits.end(), best) - logits.begin());
}

// By falling probability.
std::vector<TokenProbability> sorted(std::vector<TokenProbability> distribution) {
  std::stable_sort(distribution.begin(), distribution.end(),
                   [](const TokenProbability& left, const TokenProbability& right) { return left.probability > right.probability; });
  return distribution;
}

void find_order_violations(const SamplingParams& params, std::vector<ParameterViolation>& violations) {
  for (auto step = params.order.begin(); step != params.order.end(); ++step) {
    if (std::find(params.order.begin(), step, *step) == step) continue;
    violations.push_back({"order", "must name each step once at most", std::string(to_string(*step))});
  }
}

}  // namespace

void fail_without_distribution() {
  fail_with({{"try {}", Setting::precise}, {"take another file"}}, ErrorCode::corrupt_file,
            "the model's logits are not numbers: its weights are damaged or its activations overflow");
}

std::vector<ParameterViolation> find_violations(const SamplingParams& params) {
  std::vector<ParameterViolation> violations;
  for (const SamplingParameter& row : kSamplingParameters) {
    row.visit(params, [&](auto value) { check_range(violations, row, value); });
  }
  for (const LogitBias& entry : params.logit_bias) {
    if (entry.token < 0) violations.push_back({"logit_bias", "must name tokens by their ids", fmt::to_string(entry.token)});
    if (!(std::abs(static_cast<double>(entry.bias)) <= kMaxLogitBias)) {
      violations.push_back(
          {"logit_bias", fmt::format("must be from {:g} to {:g}", -kMaxLogitBias, kMaxLogitBias), fmt::format("{:g}", entry.bias)});
    }
  }
  find_order_violations(params, violations);
  return violations;
}

struct Sampler::State {
  explicit State(const SamplingParams& from)
      : params(checked(from)),
        seed(from.seed ? *from.seed : draw_seed()),
        random(seed),
        penalties(params),
        dry(params),
        mirostat_mu(2 * static_cast<double>(params.mirostat_tau)),
        plain(plain_settings()) {}

  // Those of op/sample.h, where its steps are all that there are.
  [[nodiscard]] std::optional<SampleSettings> plain_settings() const {
    constexpr std::array kPlain = {SamplingStep::top_k, SamplingStep::top_p, SamplingStep::min_p, SamplingStep::temperature};
    SampleSettings settings{.seed = seed};
    auto last = kPlain.begin();
    for (const SamplingStep step : params.order) {
      if (!Candidates::changes(step, params)) continue;
      const auto place = std::find(last, kPlain.end(), step);
      if (place == kPlain.end()) return std::nullopt;
      last = place;
      if (step == SamplingStep::top_k) settings.top_k = std::min(params.top_k, kMaxSampledTokens);
      if (step == SamplingStep::top_p) settings.top_p = params.top_p;
      if (step == SamplingStep::min_p) settings.min_p = params.min_p;
      if (step == SamplingStep::temperature) settings.inverse_temperature = params.temperature == 0 ? 0 : 1 / params.temperature;
    }
    if (params.temperature == 0) settings.inverse_temperature = 0;
    return params.mirostat == 0 || params.temperature == 0 ? std::optional(settings) : std::nullopt;
  }
  // 53 random bits are a double in [0, 1).
  double uniform() { return static_cast<double>(random() >> 11) * 0x1p-53; }
  [[nodiscard]] bool takes(SamplingStep step) const {
    return std::find(params.order.begin(), params.order.end(), step) != params.order.end();
  }

  [[nodiscard]] bool penalizes() const { return penalties.active() && takes(SamplingStep::penalties); }
  [[nodiscard]] bool uses_dry() const { return dry.active() && takes(SamplingStep::dry); }
  // Whether adjust() changes any.
  [[nodiscard]] bool adjusts() const { return penalizes() || uses_dry() || !params.logit_bias.empty(); }
  // The logits with bias and penalties, where there are any.
  std::span<const float> adjust(std::span<const float> logits) {
    const bool penalize = penalizes(), dry_active = uses_dry();
    if (!adjusts()) return logits;
    adjusted.assign(logits.begin(), logits.end());
    for (const LogitBias& entry : params.logit_bias) {
      if (static_cast<size_t>(entry.token) < logits.size()) adjusted[static_cast<size_t>(entry.token)] += entry.bias;
    }
    for (const SamplingStep step : params.order) {
      if (step == SamplingStep::penalties && penalize) penalties.apply(adjusted);
      if (step == SamplingStep::dry && dry_active) dry.apply(adjusted);
    }
    return adjusted;
  }

  // The token alone, with a probability of 1.
  int32_t take(int32_t token) {
    if (tells) distribution = {{token, 1}};
    return token;
  }

  int32_t sample(std::span<const float> logits, std::span<const uint64_t> mask) {
    if (logits.empty()) fail(ErrorCode::invalid_argument, "sample: no logits; give one for each token of the vocabulary");
    size_t highest = check_and_find_highest(logits);
    if (const std::span<const float> with_penalties = adjust(logits); with_penalties.data() != logits.data()) {
      logits = with_penalties;
      highest = check_and_find_highest(logits);
    }
    const uint64_t number = draws++;
    const bool greedy = params.temperature == 0;
    if (greedy && mask.empty()) return take(static_cast<int32_t>(highest));
    if (plain && mask.empty()) {
      SampleSettings settings = *plain;
      settings.number = number;
      const int32_t token = draw(logits, highest, settings);
      if (tells) distribution = sorted(draw.distribution());
      return token;
    }
    candidates.assign(logits, mask);
    if (candidates.empty()) fail(ErrorCode::invalid_argument, "sample: the mask leaves no token with a logit");
    if (greedy) return take(candidates.best());
    if (params.mirostat != 0) return draw_by_mirostat();
    for (const SamplingStep step : params.order) candidates.take(step, params, [this] { return uniform(); });
    const int32_t token = candidates.draw(uniform());
    if (tells) distribution = candidates.distribution();
    return token;
  }

  // mu, the most surprise that is let in, follows what was drawn: mu -= eta (surprise - tau).
  int32_t draw_by_mirostat() {
    if (takes(SamplingStep::temperature)) candidates.divide_by(params.temperature);
    Candidates kept = candidates;
    if (params.mirostat == 1) {
      kept.mirostat_top_k(mirostat_mu);
    } else {
      kept.mirostat_truncate(mirostat_mu);
    }
    const int32_t token = kept.draw(uniform());
    if (tells) distribution = kept.distribution();
    mirostat_mu -= static_cast<double>(params.mirostat_eta) * (candidates.surprise(token) - static_cast<double>(params.mirostat_tau));
    return token;
  }

  SamplingParams params;
  uint64_t seed;
  std::mt19937_64 random;  // the standard fixes its numbers; its distributions it does not, so none is used
  RepetitionPenalties penalties;
  DryPenalty dry;
  double mirostat_mu;
  std::optional<SampleSettings> plain;  // none where the filters must be taken one by one
  uint64_t draws = 0;                   // tokens that were chosen
  bool tells = false;                   // whether `distribution` is wanted
  std::vector<TokenProbability> distribution = {};
  TokenDraw draw;
  std::vector<float> adjusted;
  Candidates candidates;
};

Sampler::Sampler(const SamplingParams& params) : state_(std::make_unique<State>(params)) {}
Sampler::~Sampler() = default;
Sampler::Sampler(const Sampler& other) : state_(std::make_unique<State>(*other.state_)) {}
Sampler& Sampler::operator=(const Sampler& other) {
  state_ = std::make_unique<State>(*other.state_);
  return *this;
}
Sampler::Sampler(Sampler&&) noexcept = default;
Sampler& Sampler::operator=(Sampler&&) noexcept = default;

uint64_t Sampler::seed() const noexcept { return state_->seed; }

std::optional<SampleSettings> Sampler::device_settings(uint64_t more) const {
  const SamplingParams& params = state_->params;
  // Also where they change nothing yet: the tokens under way may be what they look at.
  const bool penalizes = params.repetition_penalty != 1 || params.presence_penalty != 0 || params.frequency_penalty != 0;
  if (!state_->plain || penalizes || params.dry_multiplier > 0 || !params.logit_bias.empty()) return std::nullopt;
  SampleSettings settings = *state_->plain;
  settings.number = state_->draws + more;
  return settings;
}

void Sampler::note_draw() noexcept { ++state_->draws; }

void Sampler::accept(int32_t token) {
  state_->penalties.accept(token);
  state_->dry.accept(token);
}

int32_t Sampler::sample(std::span<const float> logits, std::span<const uint64_t> mask) {
  state_->tells = false;
  return state_->sample(logits, mask);
}

DrawnToken Sampler::sample_with_distribution(std::span<const float> logits, std::span<const uint64_t> mask) {
  state_->tells = true;
  DrawnToken drawn;
  drawn.token = state_->sample(logits, mask);
  drawn.distribution = std::exchange(state_->distribution, {});
  return drawn;
}

}  // namespace wick
