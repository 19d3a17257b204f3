#include "wick/cli/sampling_flags.h"

#include <algorithm>

#include "wick/base/fail.h"
#include "wick/engine/repetition.h"

namespace wick {
namespace {

constexpr const char* kGroup = "Sampling";

void add_usual_flags(Flags& flags, SamplingParams& sampling) {
  flags.add_decimal("--temperature,--temp", "sampling temperature, 0 to 2; 0 = greedy (0.8)", sampling.temperature, 0, 2).group(kGroup);
  flags.add_integer("--top-k", "sample from the K most likely tokens; 0 = all (40)", sampling.top_k, 0).value_name("K").group(kGroup);
  flags
      .add_decimal("--top-p", "sample from the fewest most likely tokens whose probabilities sum to at least X, 0 to 1; 1 = all (0.95)",
                   sampling.top_p, 0, 1)
      .group(kGroup);
  flags
      .add_decimal("--min-p", "discard tokens whose probability is below X times that of the most likely token, 0 to 1; 0 = off (0.05)",
                   sampling.min_p, 0, 1)
      .group(kGroup);
  flags
      .add_decimal("--repetition-penalty,--repeat-penalty", "penalize tokens already in the context, 0 to 2; 1 = off (1)",
                   sampling.repetition_penalty, 0, 2)
      .group(kGroup);
  flags
      .add_decimal("--presence-penalty", "subtracted from the logit of every token that has occurred, -2 to 2 (0)",
                   sampling.presence_penalty, -2, 2)
      .group(kGroup);
  flags
      .add_decimal("--frequency-penalty", "subtracted from a token's logit once per occurrence, -2 to 2 (0)", sampling.frequency_penalty,
                   -2, 2)
      .group(kGroup);
  flags
      .add_integer("--penalty-window,--repeat-last-n", "number of last tokens that penalties consider; -1 = all, 0 = none (64)",
                   sampling.penalty_window, -1)
      .group(kGroup);
  flags
      .add_value("-s,--seed", "N", "the same seed gives the same text on one kind of processor (random; it is printed)",
                 [&sampling](const std::string& text) { sampling.seed = parse_seed("--seed", text); })
      .group(kGroup);
}

// "top_k;top_p;temperature", with commas too.
std::vector<SamplingStep> parse_order(const std::string& text) {
  std::vector<SamplingStep> order;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find_first_of(";,", begin), text.size());
    const std::string name = text.substr(begin, end - begin);
    const std::optional<SamplingStep> step = find_sampling_step(name);
    if (!step) {
      fail(ErrorCode::invalid_argument,
           "--samplers: no step '{}'; there are penalties, dry, top_n_sigma, top_k, typ_p, top_p, min_p, xtc and temperature", name);
    }
    if (std::find(order.begin(), order.end(), *step) != order.end())
      fail(ErrorCode::invalid_argument, "--samplers: '{}' stands there twice", name);
    order.push_back(*step);
    begin = end + 1;
  }
  return order;
}

// "15043+1.5", "15043-100" or "15043=-1".
LogitBias parse_bias(const std::string& text) {
  const size_t sign = text.find_first_of("+-=", 1);
  if (sign == std::string::npos) fail(ErrorCode::invalid_argument, "--logit-bias '{}': must be like 15043+1.5 or 15043-100", text);
  const std::string number = text.substr(sign + (text[sign] == '-' ? 0 : 1));
  return {.token = static_cast<int32_t>(parse_integer("--logit-bias", text.substr(0, sign), 0, INT32_MAX)),
          .bias = static_cast<float>(parse_decimal("--logit-bias", number, -100, 100))};
}

void add_repetition_flags(Flags& flags, SamplingParams& sampling, SamplingWords& words) {
  flags
      .add_decimal("--dry-multiplier", "DRY: how much a token loses that would continue a repetition, 0 to 100; 0 = off (0)",
                   sampling.dry_multiplier, 0, 100)
      .group(kGroup);
  flags
      .add_decimal("--dry-base", "DRY: by which factor that grows with each repeated token more, 1 to 100 (1.75)", sampling.dry_base, 1,
                   100)
      .group(kGroup);
  flags.add_integer("--dry-allowed-length", "DRY: repetitions shorter than this are free (2)", sampling.dry_allowed_length, 1)
      .group(kGroup);
  flags
      .add_integer("--dry-window,--dry-penalty-last-n", "DRY: number of last tokens in which repetitions are sought; -1 = all (-1)",
                   sampling.dry_window, -1)
      .group(kGroup);
  flags
      .add_values(
          "--dry-sequence-breaker", "TEXT",
          "DRY: no repetition reaches beyond a token with this text; repeatable; none = nothing (line break, colon, quote, asterisk)",
          words.dry_breakers)
      .group(kGroup);
}

void add_filter_flags(Flags& flags, SamplingParams& sampling) {
  flags
      .add_decimal("--typical-p,--typical",
                   "sample from the tokens whose surprise is nearest to the expected one, up to a sum of X, 0 to 1; 1 = off (1)",
                   sampling.typical_p, 0, 1)
      .group(kGroup);
  flags
      .add_decimal("--top-n-sigma,--top-nsigma",
                   "discard tokens whose logit is more than X standard deviations below the highest; 0 = off (0)", sampling.top_n_sigma, 0,
                   100)
      .group(kGroup);
  flags
      .add_decimal("--xtc-probability", "XTC: how often all but the least likely of the likely tokens are left out, 0 to 1; 0 = off (0)",
                   sampling.xtc_probability, 0, 1)
      .group(kGroup);
  flags.add_decimal("--xtc-threshold", "XTC: tokens of at least this probability are likely, 0 to 1 (0.1)", sampling.xtc_threshold, 0, 1)
      .group(kGroup);
  flags
      .add_integer("--mirostat", "hold the surprise of the text at a target, by Mirostat 1 or 2, instead of filters; 0 = off (0)",
                   sampling.mirostat, 0, 2)
      .group(kGroup);
  flags.add_decimal("--mirostat-tau,--mirostat-ent", "Mirostat: the target in bits, 0 to 20 (5)", sampling.mirostat_tau, 0, 20)
      .group(kGroup);
  flags.add_decimal("--mirostat-eta,--mirostat-lr", "Mirostat: how fast it learns, 0 to 1 (0.1)", sampling.mirostat_eta, 0, 1)
      .group(kGroup);
  flags
      .add_value("--samplers", "LIST", "the steps of sampling in their order, with ; or , between them; those not named are not taken",
                 [&sampling](const std::string& text) { sampling.order = parse_order(text); })
      .group(kGroup);
  flags
      .add_value("-l,--logit-bias", "BIAS", "add to the logit of a token, like 15043+1.5 or 15043-100, -100 to 100; several with commas",
                 [&sampling](const std::string& text) {
                   for (size_t begin = 0; begin < text.size();) {
                     const size_t end = std::min(text.find(',', begin), text.size());
                     sampling.logit_bias.push_back(parse_bias(text.substr(begin, end - begin)));
                     begin = end + 1;
                   }
                 })
      .group(kGroup);
}

}  // namespace

void add_sampling(Flags& flags, SamplingParams& sampling, SamplingWords& words) {
  add_usual_flags(flags, sampling);
  add_filter_flags(flags, sampling);
  add_repetition_flags(flags, sampling, words);
}

std::vector<std::string> dry_breaker_texts(const SamplingWords& words) {
  std::vector<std::string> breakers = words.dry_breakers;
  if (breakers.empty()) breakers = {"\n", ":", "\"", "*"};
  if (breakers == std::vector<std::string>{"none"}) return {};
  std::replace(breakers.begin(), breakers.end(), std::string("\\n"), std::string("\n"));
  return breakers;
}

void resolve_words(SamplingParams& sampling, const SamplingWords& words, const Tokenizer& tokenizer) {
  for (const LogitBias& entry : sampling.logit_bias) {
    if (entry.token < tokenizer.vocab_size()) continue;
    fail(ErrorCode::invalid_argument, "--logit-bias: token {} is not in the vocabulary of {}", entry.token, tokenizer.vocab_size());
  }
  if (sampling.dry_multiplier > 0) sampling.dry_breakers = tokens_with_any_of(tokenizer, dry_breaker_texts(words));
}

}  // namespace wick
