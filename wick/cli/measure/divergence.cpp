#include "wick/cli/measure/divergence.h"

#include <fmt/format.h>

#include <algorithm>

#include "wick/base/json.h"

namespace wick {
namespace {

// Where the base file cuts a probability it is taken for zero.
constexpr float kCut = -16;

size_t most_likely(std::span<const float> values) {
  return static_cast<size_t>(std::max_element(values.begin(), values.end()) - values.begin());
}

}  // namespace

void Divergence::add(std::span<const float> base, std::span<const float> logits, TokenId target) {
  const double highest = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const float logit : logits) sum += std::exp(logit - highest);
  const double log_sum = highest + std::log(sum);
  double divergence = 0;
  for (size_t id = 0; id < logits.size(); ++id) {
    if (base[id] > kCut) divergence += std::exp(static_cast<double>(base[id])) * (base[id] - (logits[id] - log_sum));
  }
  const auto at = static_cast<size_t>(target);
  const double loss = log_sum - logits[at];
  const double base_loss = -static_cast<double>(base[at]);
  const double change = std::exp(-loss) - std::exp(-base_loss);
  base_loss_.add(base_loss);
  log_ratio_.add(loss - base_loss);
  divergence_.add(divergence);
  divergences_.push_back(divergence);
  same_top_.add(most_likely(base) == most_likely(logits) ? 1 : 0);
  squared_change_.add(change * change);
}

std::string Divergence::report() const {
  std::vector<double> sorted = divergences_;
  std::sort(sorted.begin(), sorted.end());
  const double base = std::exp(base_loss_.mean());
  std::string text;
  text += fmt::format("base perplexity        {:.6f} ± {:.6f}\n", base, base * base_loss_.error());
  text += fmt::format("ln(perplexity / base)  {:.6f} ± {:.6f}\n", log_ratio_.mean(), log_ratio_.error());
  text += fmt::format("mean KL divergence     {:.6f} ± {:.6f}\n", divergence_.mean(), divergence_.error());
  text += fmt::format(
      "maximum                {:.6f}\n99.9 %                 {:.6f}\n99 %                   {:.6f}\nmedian                 {:.6f}\n",
      sorted.back(), quantile(sorted, 0.999), quantile(sorted, 0.99), quantile(sorted, 0.5));
  text += fmt::format("RMS change of p        {:.3f} %\n", 100 * std::sqrt(squared_change_.mean()));
  return text + fmt::format("same top token         {:.3f} ± {:.3f} %\n", 100 * same_top_.mean(), 100 * same_top_.error());
}

nlohmann::ordered_json Divergence::to_json() const {
  std::vector<double> sorted = divergences_;
  std::sort(sorted.begin(), sorted.end());
  return {{"base_perplexity", std::exp(base_loss_.mean())},
          {"base_perplexity_error", std::exp(base_loss_.mean()) * base_loss_.error()},
          {"ln_perplexity_ratio", log_ratio_.mean()},
          {"ln_perplexity_ratio_error", log_ratio_.error()},
          {"mean", divergence_.mean()},
          {"error", divergence_.error()},
          {"maximum", sorted.back()},
          {"p999", quantile(sorted, 0.999)},
          {"p99", quantile(sorted, 0.99)},
          {"median", quantile(sorted, 0.5)},
          {"rms_change_of_probability", std::sqrt(squared_change_.mean())},
          {"same_top_token", same_top_.mean()}};
}

}  // namespace wick
