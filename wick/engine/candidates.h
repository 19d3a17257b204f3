// Candidates are the tokens that may come next, with their logits; each function is one step of sampling and leaves at least one of them.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "wick/engine/sampling.h"

namespace wick {

// Probabilities p below are the softmax of the logits of the candidates that are left, divided by the temperature if that step was taken.
class Candidates {
 public:
  // All tokens with a logit above -infinity whose bit is set; all of them, if the mask is empty. Tokens beyond the mask are out.
  void assign(std::span<const float> logits, std::span<const uint64_t> mask);
  [[nodiscard]] bool empty() const noexcept { return tokens_.empty(); }
  [[nodiscard]] size_t size() const noexcept { return tokens_.size(); }
  // The one with the highest logit, the first of equals.
  [[nodiscard]] int32_t best() const;
  // By falling probability, once a step has sorted them; equals by their number.
  [[nodiscard]] std::vector<int32_t> tokens() const;

  // Whether take() does anything. Penalties and DRY need the logits of all tokens, and are taken before there are candidates.
  [[nodiscard]] static bool changes(SamplingStep step, const SamplingParams& params);
  // Takes a step with its parameters. `uniform` draws a number from 0 to below 1.
  void take(SamplingStep step, const SamplingParams& params, const std::function<double()>& uniform);
  struct Step;  // its row

  // The k most likely.
  void top_k(int64_t k);
  // Top-p: the smallest set of most likely tokens with total probability >= p (Holtzman et al. 2019).
  void top_p(double p);
  // Those at least as likely as this share of the most likely (Nguyen et al. 2024).
  void min_p(double share);
  // The fewest whose surprise -ln p is nearest to the entropy and whose probabilities sum to at least p (Meister et al. 2022).
  void typical_p(double p);
  // Those whose logit is at most n standard deviations of all logits below the highest (Tang et al. 2024).
  void top_n_sigma(double n);
  // XTC: of the tokens with at least this probability only the least likely stays, and all below (p-e-w, text-generation-webui #6335).
  void exclude_top(double threshold);
  void divide_by(double temperature);

  // Mirostat (Basu et al. 2020): the k that gives the surprise `mu` in bits by Zipf's law, estimated on the most likely 100 tokens;
  void mirostat_top_k(double mu);
  // and its second version: those whose surprise in bits is at most `mu`.
  void mirostat_truncate(double mu);
  // -log2 p of a token.
  [[nodiscard]] double surprise(int32_t token);

  // The probabilities of all, by falling probability.
  [[nodiscard]] std::vector<TokenProbability> distribution();
  // The token at `uniform`, from 0 to below 1, in the cumulative distribution.
  [[nodiscard]] int32_t draw(double uniform);

 private:
  struct Candidate {
    int32_t token;
    float logit;
  };

  void sort(size_t count);
  // exp((logit - highest) / temperature) of each, sorted, and their sum.
  double weigh();
  void keep(size_t count);

  std::vector<Candidate> tokens_;
  std::vector<double> weights_;
  bool sorted_ = false;
  double temperature_ = 1;
};

}  // namespace wick
