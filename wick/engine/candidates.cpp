#include "wick/engine/candidates.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

namespace wick {

// The steps of sampling, one row each.
struct Candidates::Step {
  using Uniform = std::function<double()>;

  SamplingStep step;
  std::string_view name;
  std::array<std::string_view, 3> aliases;
  // Both null: a step that is taken before there are candidates.
  bool (*changes)(const SamplingParams& params);
  void (*take)(Candidates& candidates, const SamplingParams& params, const Uniform& uniform);

  static const std::array<Step, 9> kAll;
  static const Step& row(SamplingStep step) {
    return *std::find_if(kAll.begin(), kAll.end(), [&](const Step& each) { return each.step == step; });
  }
};

constexpr std::array<Candidates::Step, 9> Candidates::Step::kAll = {{
    {SamplingStep::penalties, "penalties", {}, nullptr, nullptr},
    {SamplingStep::dry, "dry", {}, nullptr, nullptr},
    {SamplingStep::top_n_sigma,
     "top_n_sigma",
     {},
     [](const SamplingParams& params) { return params.top_n_sigma > 0; },
     [](Candidates& candidates, const SamplingParams& params, const Uniform&) { candidates.top_n_sigma(params.top_n_sigma); }},
    {SamplingStep::top_k,
     "top_k",
     {},
     [](const SamplingParams& params) { return params.top_k > 0; },
     [](Candidates& candidates, const SamplingParams& params, const Uniform&) { candidates.top_k(params.top_k); }},
    {SamplingStep::typical_p,
     "typ_p",
     {"typical_p", "typical", "typ"},
     [](const SamplingParams& params) { return params.typical_p < 1; },
     [](Candidates& candidates, const SamplingParams& params, const Uniform&) { candidates.typical_p(params.typical_p); }},
    {SamplingStep::top_p,
     "top_p",
     {"nucleus"},
     [](const SamplingParams& params) { return params.top_p < 1; },
     [](Candidates& candidates, const SamplingParams& params, const Uniform&) { candidates.top_p(params.top_p); }},
    {SamplingStep::min_p,
     "min_p",
     {},
     [](const SamplingParams& params) { return params.min_p > 0; },
     [](Candidates& candidates, const SamplingParams& params, const Uniform&) { candidates.min_p(params.min_p); }},
    {SamplingStep::xtc,
     "xtc",
     {},
     [](const SamplingParams& params) { return params.xtc_probability > 0; },
     [](Candidates& candidates, const SamplingParams& params, const Uniform& uniform) {
       if (uniform() < static_cast<double>(params.xtc_probability)) candidates.exclude_top(params.xtc_threshold);
     }},
    {SamplingStep::temperature,
     "temperature",
     {"temp"},
     [](const SamplingParams&) { return true; },
     [](Candidates& candidates, const SamplingParams& params, const Uniform&) { candidates.divide_by(params.temperature); }},
}};

std::string_view to_string(SamplingStep step) noexcept { return Candidates::Step::row(step).name; }

std::optional<SamplingStep> find_sampling_step(std::string_view name) noexcept {
  std::string plain(name);
  std::replace(plain.begin(), plain.end(), '-', '_');
  for (const Candidates::Step& row : Candidates::Step::kAll) {
    if (row.name == plain) return row.step;
    for (const std::string_view alias : row.aliases) {
      if (!alias.empty() && alias == plain) return row.step;
    }
  }
  return std::nullopt;
}

std::string sampling_step_names() {
  std::string names;
  for (const Candidates::Step& row : Candidates::Step::kAll) {
    if (!names.empty()) names += &row == &Candidates::Step::kAll.back() ? " and " : ", ";
    names += row.name;
  }
  return names;
}

bool Candidates::changes(SamplingStep step, const SamplingParams& params) {
  const Step& row = Step::row(step);
  return row.changes != nullptr && row.changes(params);
}

void Candidates::take(SamplingStep step, const SamplingParams& params, const std::function<double()>& uniform) {
  if (changes(step, params)) Step::row(step).take(*this, params, uniform);
}

void Candidates::assign(std::span<const float> logits, std::span<const uint64_t> mask) {
  tokens_.clear();
  sorted_ = false;
  temperature_ = 1;
  const float never = -std::numeric_limits<float>::infinity();
  const auto add = [&](size_t index) {
    if (logits[index] != never) tokens_.push_back({static_cast<int32_t>(index), logits[index]});
  };
  if (mask.empty()) {
    for (size_t index = 0; index < logits.size(); ++index) add(index);
    return;
  }
  for (size_t word = 0; word < mask.size() && word * 64 < logits.size(); ++word) {
    for (uint64_t bits = mask[word]; bits != 0; bits &= bits - 1) {
      const size_t index = word * 64 + static_cast<size_t>(std::countr_zero(bits));
      if (index < logits.size()) add(index);
    }
  }
}

int32_t Candidates::best() const {
  return std::max_element(tokens_.begin(), tokens_.end(),
                          [](const Candidate& left, const Candidate& right) { return left.logit < right.logit; })
      ->token;
}

std::vector<int32_t> Candidates::tokens() const {
  std::vector<int32_t> result;
  for (const Candidate& candidate : tokens_) result.push_back(candidate.token);
  return result;
}

void Candidates::sort(size_t count) {
  if (sorted_) return;
  std::partial_sort(tokens_.begin(), tokens_.begin() + static_cast<std::ptrdiff_t>(count), tokens_.end(),
                    [](const Candidate& left, const Candidate& right) {
                      return left.logit != right.logit ? left.logit > right.logit : left.token < right.token;
                    });
  sorted_ = count == tokens_.size();
}

double Candidates::weigh() {
  sort(tokens_.size());
  const double highest = tokens_.front().logit;
  double sum = 0;
  weights_.clear();
  for (const Candidate& candidate : tokens_) {
    weights_.push_back(std::exp((candidate.logit - highest) / temperature_));
    sum += weights_.back();
  }
  return sum;
}

std::vector<TokenProbability> Candidates::distribution() {
  const double sum = weigh();
  std::vector<TokenProbability> result;
  for (size_t index = 0; index < tokens_.size() && weights_[index] > 0; ++index) {
    result.push_back({tokens_[index].token, weights_[index] / sum});
  }
  return result;
}

void Candidates::keep(size_t count) { tokens_.resize(std::max<size_t>(count, 1)); }

void Candidates::top_k(int64_t k) {
  const size_t count = std::min(tokens_.size(), static_cast<size_t>(k));
  sort(count);
  keep(count);
  sorted_ = true;
}

void Candidates::top_p(double p) {
  const double enough = p * weigh();
  double reached = 0;
  size_t count = 0;
  while (count < tokens_.size()) {
    reached += weights_[count++];
    if (reached >= enough) break;
  }
  keep(count);
}

void Candidates::min_p(double share) {
  static_cast<void>(weigh());
  // The most likely has weight 1 and always stays.
  size_t count = tokens_.size();
  while (count > 1 && weights_[count - 1] < share) --count;
  keep(count);
}

void Candidates::typical_p(double p) {
  const double sum = weigh();
  double entropy = 0;
  for (double& weight : weights_) {
    weight /= sum;
    if (weight > 0) entropy -= weight * std::log(weight);
  }
  std::vector<size_t> order(tokens_.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const auto distance = [&](size_t index) { return std::abs(-std::log(weights_[index]) - entropy); };
  std::stable_sort(order.begin(), order.end(), [&](size_t left, size_t right) { return distance(left) < distance(right); });
  double reached = 0;
  size_t count = 0;
  while (count < order.size()) {
    reached += weights_[order[count++]];
    if (reached >= p) break;
  }
  order.resize(count);
  std::sort(order.begin(), order.end());
  std::vector<Candidate> kept;
  for (const size_t index : order) kept.push_back(tokens_[index]);
  tokens_ = std::move(kept);
}

void Candidates::top_n_sigma(double n) {
  double highest = -std::numeric_limits<double>::infinity();
  double mean = 0;
  for (const Candidate& candidate : tokens_) {
    highest = std::max<double>(highest, candidate.logit);
    mean += candidate.logit;
  }
  mean /= static_cast<double>(tokens_.size());
  double variance = 0;
  for (const Candidate& candidate : tokens_) variance += (candidate.logit - mean) * (candidate.logit - mean);
  variance /= static_cast<double>(tokens_.size());
  const double lowest = highest - n * std::sqrt(variance);
  std::erase_if(tokens_, [&](const Candidate& candidate) { return candidate.logit < lowest; });
}

void Candidates::exclude_top(double threshold) {
  const double enough = threshold * weigh();
  size_t count = 0;
  while (count < weights_.size() && weights_[count] >= enough) ++count;
  if (count >= 2) tokens_.erase(tokens_.begin(), tokens_.begin() + static_cast<std::ptrdiff_t>(count - 1));
}

void Candidates::divide_by(double temperature) { temperature_ *= temperature; }

void Candidates::mirostat_top_k(double mu) {
  constexpr size_t kMeasured = 100;
  static_cast<void>(weigh());
  // Least squares of b = s t over t = ln((i + 1) / i), b = ln(p_i / p_(i + 1)).
  double products = 0;
  double squares = 0;
  for (size_t index = 0; index + 1 < std::min(kMeasured, weights_.size()); ++index) {
    if (weights_[index + 1] <= 0) break;
    const double t = std::log(static_cast<double>(index + 2) / static_cast<double>(index + 1));
    products += t * std::log(weights_[index] / weights_[index + 1]);
    squares += t * t;
  }
  if (squares == 0) return;
  const double s = products / squares;
  const double epsilon = s - 1;
  const auto size = static_cast<double>(tokens_.size());
  const double k = std::pow(epsilon * std::exp2(mu) / (1 - std::pow(size, -epsilon)), 1 / s);
  // No slope, or one of exactly 1: the law says nothing.
  if (!(k < size)) return;
  keep(static_cast<size_t>(std::max(1.0, std::round(k))));
}

void Candidates::mirostat_truncate(double mu) {
  const double sum = weigh();
  size_t count = 0;
  while (count < weights_.size() && -std::log2(weights_[count] / sum) <= mu) ++count;
  keep(count);
}

double Candidates::surprise(int32_t token) {
  const double sum = weigh();
  for (size_t index = 0; index < tokens_.size(); ++index) {
    if (tokens_[index].token == token) return -std::log2(weights_[index] / sum);
  }
  return std::numeric_limits<double>::infinity();
}

int32_t Candidates::draw(double uniform) {
  double left = uniform * weigh();
  for (size_t index = 0; index + 1 < tokens_.size(); ++index) {
    left -= weights_[index];
    if (left < 0) return tokens_[index].token;
  }
  return tokens_.back().token;
}

}  // namespace wick
