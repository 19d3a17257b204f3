// Sampling: how the next token is chosen from a model's logits.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

namespace [[gnu::visibility("default")]] wick {

struct SampleSettings;  // wick/op/sample.h

struct LogitBias {
  int32_t token = 0;
  float bias = 0;
};

// A step that sampling takes, in SamplingParams::order.
enum class SamplingStep { penalties, dry, top_n_sigma, top_k, typical_p, top_p, min_p, xtc, temperature };
// As llama.cpp calls it too: "penalties", "dry", "top_n_sigma", "top_k", "typ_p", "top_p", "min_p", "xtc", "temperature".
[[nodiscard]] std::string_view to_string(SamplingStep step) noexcept;
// None for a name that is not known; "typical_p", "temp" and the like are aliases.
[[nodiscard]] std::optional<SamplingStep> find_sampling_step(std::string_view name) noexcept;
// "penalties, dry, …, xtc and temperature".
[[nodiscard]] std::string sampling_step_names();

inline constexpr double kMaxTemperature = 100;
inline constexpr double kMaxLogitBias = 100;

// The steps are taken in llama.cpp's order. The filters thus see the model's own distribution, so a high temperature flattens what is left
// but lets nothing unlikely in. Where top_k, top_p, min_p and temperature alone are asked for, in this order, a token is drawn as
// op/sample.h defines it: the same one on the host and on any device, for the same logits and seed.
struct SamplingParams {
  // Logits are divided by it. 0: the token with the highest logit, the first of equals, whatever the filters say. 0 to kMaxTemperature.
  float temperature = 0.8F;
  // Only the k most likely tokens stay; 0: all.
  int64_t top_k = 40;
  // Top-p (Holtzman et al. 2019): the smallest set of most likely tokens with at least this total probability stays. 1: all. 0 to 1.
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
  // The same seed, model, prompt and parameters give the same text. None: the next of draw_seed() (random_stream.h).
  std::optional<uint64_t> seed = {};
  // Added to the logits of these tokens, in front of the penalties. -100 to 100.
  std::vector<LogitBias> logit_bias = {};

  // Locally typical sampling (Meister et al. 2022): the fewest tokens whose surprise is nearest to the entropy and whose probabilities sum
  // to at least this stay. 1: all. 0 to 1.
  float typical_p = 1;
  // Tokens whose logit is more than so many standard deviations of all logits below the highest go (Tang et al. 2024). 0: none. 0 to 100.
  float top_n_sigma = 0;
  // Exclude top choices: with this probability (0 to 1; 0: off), of the tokens with at least xtc_threshold (0 to 1; none above 0.5) only
  // the least likely stays, so that the text takes another way than the usual one.
  float xtc_probability = 0;
  float xtc_threshold = 0.1F;
  // Don't repeat yourself: a token that would continue a repetition of n tokens, n >= dry_allowed_length, loses
  // dry_multiplier · dry_base^(n - dry_allowed_length) of its logit. Multiplier 0 to 100, 0: off; base 1 to 100.
  float dry_multiplier = 0;
  float dry_base = 1.75F;
  int64_t dry_allowed_length = 2;
  // Repetitions are sought in the last so many tokens; -1: all.
  int64_t dry_window = -1;
  // Tokens that no repetition reaches beyond, such as those with a line break (tokens_with_any_of).
  std::vector<int32_t> dry_breakers = {};
  // Mirostat (Basu et al. 2020), version 1 or 2, holds the surprise of a token at mirostat_tau bits (0 to 20); 0: off. mirostat_eta (0 to
  // 1) is how fast. It takes the place of all filters: of the order, penalties, dry and temperature are used, in front of it.
  int64_t mirostat = 0;
  float mirostat_tau = 5;
  float mirostat_eta = 0.1F;
  // Steps that are not in it are not taken.
  std::vector<SamplingStep> order = {SamplingStep::penalties, SamplingStep::dry,       SamplingStep::top_n_sigma,
                                     SamplingStep::top_k,     SamplingStep::typical_p, SamplingStep::top_p,
                                     SamplingStep::min_p,     SamplingStep::xtc,       SamplingStep::temperature};
};

// A parameter that is a number. Its default is the member's.
struct SamplingParameter {
  static constexpr double kNoLimit = std::numeric_limits<double>::infinity();

  std::string_view name;  // as the member is called
  std::variant<float SamplingParams::*, int64_t SamplingParams::*> member;
  double low;
  double high;
  std::string_view key;           // "general.sampling.…" in a model's files; empty: none
  std::string_view request_name;  // as llama.cpp's requests call it; empty: `name`
  std::string_view alias;         // a further name of the flag; empty: none
  std::string_view help;
  std::string_view note = {};    // values with a meaning of their own: "0 = off"
  bool takes_minus_one = false;  // requests and files may write -1 for `low`

  [[nodiscard]] bool is_whole() const noexcept { return std::holds_alternative<int64_t SamplingParams::*>(member); }
  [[nodiscard]] std::string_view name_in_requests() const noexcept { return request_name.empty() ? name : request_name; }
  // Calls `use` with the parameter's value, which may be assigned to.
  template <class Params, class Use>
  void visit(Params& params, const Use& use) const {
    std::visit([&](auto which) { use(params.*which); }, member);
  }
  template <class T>
  void set(SamplingParams& params, T value) const {
    visit(params, [&](auto& target) { target = static_cast<std::remove_reference_t<decltype(target)>>(value); });
  }
};

// The parameters that are numbers, one row each. Everything that lists them derives from these rows: find_violations, the keys of models'
// files, flags, fields of requests, options of C, keywords of Python, receipts, and the table in docs/sampling.md.
// clang-format off
#define ROW(member, ...) SamplingParameter{#member, &SamplingParams::member, __VA_ARGS__}
inline constexpr auto kSamplingParameters = std::to_array<SamplingParameter>({
  ROW(temperature, 0, kMaxTemperature, "temp", "", "temp", "sampling temperature", "0 = greedy"),
  ROW(top_k, 0, SamplingParameter::kNoLimit, "top_k", "", "", "sample from the N most likely tokens", "0 = all", true),
  ROW(top_p, 0, 1, "top_p", "", "",
      "top-p: sample from the smallest set of most likely tokens with total probability of at least X", "1 = all"),
  ROW(min_p, 0, 1, "min_p", "", "", "discard tokens whose probability is below X times that of the most likely token", "0 = off"),
  ROW(repetition_penalty, 0, 2, "penalty_repeat", "repeat_penalty", "", "penalize tokens already in the context", "1 = off"),
  ROW(presence_penalty, -2, 2, "", "", "", "subtracted from the logit of every token that has occurred"),
  ROW(frequency_penalty, -2, 2, "", "", "", "subtracted from a token's logit once per occurrence"),
  ROW(penalty_window, -1, SamplingParameter::kNoLimit, "penalty_last_n", "repeat_last_n", "",
      "number of last tokens that penalties consider", "-1 = all, 0 = none"),
  ROW(typical_p, 0, 1, "", "", "typical",
      "locally typical sampling: keep the tokens whose surprise is closest to the entropy, up to a total probability of X", "1 = off"),
  ROW(top_n_sigma, 0, 100, "", "", "top-nsigma",
      "discard tokens whose logit is more than X standard deviations below the highest", "0 = off", true),
  ROW(xtc_probability, 0, 1, "xtc_probability", "", "",
      "XTC: probability of removing all tokens above the threshold but the least likely of them", "0 = off"),
  ROW(xtc_threshold, 0, 1, "xtc_threshold", "", "", "XTC: probability threshold"),
  ROW(dry_multiplier, 0, 100, "", "", "", "DRY: penalty multiplier of a token that would extend a repetition", "0 = off"),
  ROW(dry_base, 1, 100, "", "", "", "DRY: base of the penalty's exponential growth with the length of the repetition"),
  ROW(dry_allowed_length, 1, SamplingParameter::kNoLimit, "", "", "", "DRY: shortest repetition that is penalized"),
  ROW(dry_window, -1, SamplingParameter::kNoLimit, "", "dry_penalty_last_n", "",
      "DRY: number of last tokens that are searched for repetitions", "-1 = all, 0 = none"),
  ROW(mirostat, 0, 2, "mirostat", "", "",
      "control the text's entropy by Mirostat 1 or 2, instead of top-k, top-p and the like", "0 = off"),
  ROW(mirostat_tau, 0, 20, "mirostat_tau", "", "mirostat-ent", "Mirostat: target entropy in bits"),
  ROW(mirostat_eta, 0, 1, "mirostat_eta", "", "mirostat-lr", "Mirostat: learning rate"),
});
#undef ROW
// clang-format on

// A parameter that is outside its range.
struct ParameterViolation {
  std::string parameter;   // as the struct's member is called
  std::string constraint;  // "must be from 0 to 2"
  std::string value;
};

// All of them; empty if the parameters are good.
[[nodiscard]] std::vector<ParameterViolation> find_violations(const SamplingParams& params);

// The probability, above 0, of a token in the distribution that one is drawn from.
struct TokenProbability {
  int32_t token = 0;
  double probability = 0;
};

// A token, and the distribution that it was drawn from: by falling probability, equals by their number.
struct DrawnToken {
  int32_t token = 0;
  std::vector<TokenProbability> distribution;
};

// Chooses tokens one after another; holds the random numbers' state and the text that penalties look at.
class Sampler {
 public:
  // Errors: invalid_argument for parameters outside their ranges.
  explicit Sampler(const SamplingParams& params);
  ~Sampler();
  Sampler(const Sampler& other);
  Sampler& operator=(const Sampler& other);
  Sampler(Sampler&&) noexcept;
  Sampler& operator=(Sampler&&) noexcept;

  // Tells of a token that stands in the text: each of the prompt, then each that was chosen.
  void accept(int32_t token);
  // The next token: an index into `logits`, which must not be empty; -infinity means never.
  // With `allowed`, a token is chosen whose bit is set there: token i is bit i % 64 of word i / 64, and those beyond it are not allowed.
  // Errors: corrupt_file if a logit is not a number or +infinity, or all are -infinity; invalid_argument if none is allowed.
  [[nodiscard]] int32_t sample(std::span<const float> logits, std::span<const uint64_t> allowed = {});
  // The same, with the distribution after penalties, filters and temperature. Greedy, it is the token alone.
  [[nodiscard]] DrawnToken sample_with_distribution(std::span<const float> logits, std::span<const uint64_t> allowed = {});
  // Settings for a device to draw the token that sample() would choose without a mask (tensor/ops/sample.h), after `more` further draws;
  // none where only sample() can.
  [[nodiscard]] std::optional<SampleSettings> device_settings(uint64_t more = 0) const;
  // Tells that a device has drawn one.
  void note_draw() noexcept;
  // The seed in use.
  [[nodiscard]] uint64_t seed() const noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Throws what sample() throws for logits that are not numbers.
[[noreturn]] void fail_without_distribution();

}  // namespace wick
