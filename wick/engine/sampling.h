// Sampling: how the next token is chosen from a model's logits.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace [[gnu::visibility("default")]] wick {

struct LogitBias {
  int32_t token = 0;
  float bias = 0;
};

// The steps are taken in this order, llama.cpp's default: bias, penalties, top_k, top_p, min_p, temperature. The filters thus see the
// model's own distribution, so a high temperature flattens what is left but lets nothing unlikely in.
struct SamplingParams {
  // Logits are divided by it. 0: the token with the highest logit, the first of equals, whatever the filters say. 0 to 2.
  float temperature = 0.8F;
  // Only the k most likely tokens stay; 0: all.
  int64_t top_k = 40;
  // Nucleus (Holtzman et al. 2019): the fewest tokens whose probabilities sum to at least this stay. 1: all. 0 to 1.
  float top_p = 0.95F;
  // Tokens less likely than this share of the most likely one's probability go (Nguyen et al. 2024). 0: none. 0 to 1.
  float min_p = 0.05F;
  // Logits of tokens in the window are divided by it if positive and multiplied by it if negative (Keskar et al. 2019, CTRL).
  // 1 and 0: off. 0 to 2.
  float repetition_penalty = 1;
  // Subtracted from the logit of each token in the window, once and for each time that it stands there (OpenAI's definition). -2 to 2.
  float presence_penalty = 0;
  float frequency_penalty = 0;
  // The window of the penalties: the last so many tokens of prompt and generated text. -1: all of them; 0: none.
  int64_t penalty_window = 64;
  // The same seed, model, prompt and parameters give the same text. None: a random one.
  std::optional<uint64_t> seed = {};
  // Added to the logits of these tokens, in front of the penalties. -100 to 100.
  std::vector<LogitBias> logit_bias = {};
};

// A parameter that is outside its range.
struct ParameterViolation {
  std::string parameter;   // as the struct's member is called
  std::string constraint;  // "must be from 0 to 2"
  std::string value;
};

// All of them; empty if the parameters are good.
[[nodiscard]] std::vector<ParameterViolation> find_violations(const SamplingParams& params);

// A seed from the system's source of randomness, short enough to be typed.
[[nodiscard]] uint64_t random_seed();

// Chooses tokens one after another; holds the random numbers' state and the window of the penalties.
class Sampler {
 public:
  // Errors: invalid_argument for parameters outside their ranges.
  explicit Sampler(const SamplingParams& params);

  // Tells of a token that stands in the text: each of the prompt, then each that was chosen.
  void accept(int32_t token);
  // The next token: an index into `logits`, which must not be empty; -infinity means never.
  // With `allowed`, a token is chosen whose bit is set there: token i is bit i % 64 of word i / 64, and those beyond it are not allowed.
  // Errors: corrupt_file if a logit is not a number or +infinity, or all are -infinity.
  [[nodiscard]] int32_t sample(std::span<const float> logits, std::span<const uint64_t> allowed = {});
  // The seed in use.
  [[nodiscard]] uint64_t seed() const noexcept { return seed_; }

 private:
  struct Candidate {
    int32_t token;
    float logit;
  };

  [[nodiscard]] bool has_penalties() const noexcept;
  // Adds the bias too.
  void apply_penalties(std::span<float> logits) const;
  void filter();
  [[nodiscard]] int32_t draw();

  SamplingParams params_;
  uint64_t seed_;
  std::mt19937_64 random_;  // the standard fixes its numbers; its distributions it does not, so none is used
  std::deque<int32_t> window_;
  std::unordered_map<int32_t, int64_t> counts_;  // of the tokens in the window
  std::vector<float> adjusted_;                  // the logits with bias and penalties
  std::vector<Candidate> candidates_;            // by falling logit, then by token
  std::vector<double> weights_;
};

}  // namespace wick
