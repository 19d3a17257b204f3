// How far a model's predictions are from those of another model, whose log-probabilities a file holds.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <span>
#include <string>
#include <vector>

#include "wick/cli/measure/statistics.h"
#include "wick/text/tokenizer/vocabulary.h"

namespace wick {

class Divergence {
 public:
  // One predicted token: the base model's ln p of every token, this model's logits, and the token that followed.
  void add(std::span<const float> base_log_probabilities, std::span<const float> logits, TokenId target);

  [[nodiscard]] std::string report() const;
  [[nodiscard]] nlohmann::ordered_json to_json() const;

 private:
  RunningMean base_loss_;
  RunningMean log_ratio_;       // of the perplexities, ln
  RunningMean divergence_;      // KL(base || model) in nats
  RunningMean same_top_;        // 1 where both models' most likely tokens agree
  RunningMean squared_change_;  // of the probability of the token that followed
  std::vector<double> divergences_;
};

}  // namespace wick
