#include "wick/cli/flags/sampling_flags.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "wick/base/fail.h"
#include "wick/engine/model_sampling.h"
#include "wick/engine/repetition.h"

namespace wick {
namespace {

constexpr const char* kSamplingGroup = "Sampling";

// Adds flags whose values are changes of parameters that are not known yet.
class FlagAdder {
 public:
  FlagAdder(Flags& flags, SamplingFlags& given) : flags_(flags), given_(given) {}

  Flags::Added decimal(const std::string& names, const std::string& description, float SamplingParams::* member, double low, double high) {
    return change(names, "X", description, [flag = main_name(names), member, low, high](const std::string& text) {
      return [member, value = static_cast<float>(parse_decimal(flag, text, low, high))](SamplingParams& sampling) {
        sampling.*member = value;
      };
    });
  }

  Flags::Added integer(const std::string& names, const std::string& description, int64_t SamplingParams::* member, int64_t low,
                       int64_t high = std::numeric_limits<int64_t>::max()) {
    return change(names, "N", description, [flag = main_name(names), member, low, high](const std::string& text) {
      return [member, value = parse_integer(flag, text, low, high)](SamplingParams& sampling) { sampling.*member = value; };
    });
  }

  // `parse` makes the change of a text.
  template <class Parse>
  Flags::Added change(const std::string& names, const std::string& value_name, const std::string& description, Parse parse) {
    return flags_
        .add_value(names, value_name, description,
                   [given = &given_, parse = std::move(parse)](const std::string& text) { given->changes.emplace_back(parse(text)); })
        .group(kSamplingGroup);
  }

 private:
  static std::string main_name(const std::string& names) {
    const size_t begin = names.find("--");
    return names.substr(begin, names.find(',', begin) - begin);
  }

  Flags& flags_;
  SamplingFlags& given_;
};

void add_usual_flags(FlagAdder& add) {
  add.decimal("--temperature,--temp", "sampling temperature, 0 to 100; 0 = greedy (the model's own, else 0.8)",
              &SamplingParams::temperature, 0, 2);
  add.integer("--top-k", "sample from the K most likely tokens; 0 = all (the model's own, else 40)", &SamplingParams::top_k, 0)
      .value_name("K");
  add.decimal("--top-p",
              "top-p: sample from the smallest set of most likely tokens with total probability of at least X, 0 to 1; 1 = all (the "
              "model's own, else "
              "0.95)",
              &SamplingParams::top_p, 0, 1);
  add.decimal("--min-p",
              "discard tokens whose probability is below X times that of the most likely token, 0 to 1; 0 = off (the model's own, else "
              "0.05)",
              &SamplingParams::min_p, 0, 1);
  add.decimal("--repetition-penalty,--repeat-penalty", "penalize tokens already in the context, 0 to 2; 1 = off (the model's own, else 1)",
              &SamplingParams::repetition_penalty, 0, 2);
  add.decimal("--presence-penalty", "subtracted from the logit of every token that has occurred, -2 to 2 (0)",
              &SamplingParams::presence_penalty, -2, 2);
  add.decimal("--frequency-penalty", "subtracted from a token's logit once per occurrence, -2 to 2 (0)", &SamplingParams::frequency_penalty,
              -2, 2);
  add.integer("--penalty-window,--repeat-last-n",
              "number of last tokens that penalties consider; -1 = all, 0 = none (the model's own, else 64)",
              &SamplingParams::penalty_window, -1);
  add.change(
      "-s,--seed", "N", "random seed: the same one gives the same text on the same kind of processor (random, and printed)",
      [](const std::string& text) { return [seed = parse_seed("--seed", text)](SamplingParams& sampling) { sampling.seed = seed; }; });
}

// "15043+1.5", "15043-100" or "15043=-1".
LogitBias parse_bias(const std::string& text) {
  const size_t sign = text.find_first_of("+-=", 1);
  if (sign == std::string::npos) fail(ErrorCode::invalid_argument, "--logit-bias '{}': must be like 15043+1.5 or 15043-100", text);
  const std::string number = text.substr(sign + (text[sign] == '-' ? 0 : 1));
  return {.token = static_cast<int32_t>(parse_integer("--logit-bias", text.substr(0, sign), 0, INT32_MAX)),
          .bias = static_cast<float>(parse_decimal("--logit-bias", number, -100, 100))};
}

// Several, with commas.
std::vector<LogitBias> parse_biases(const std::string& text) {
  std::vector<LogitBias> biases;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    biases.push_back(parse_bias(text.substr(begin, end - begin)));
    begin = end + 1;
  }
  return biases;
}

void add_repetition_flags(FlagAdder& add, Flags& flags, SamplingFlags& given) {
  add.decimal("--dry-multiplier", "DRY: penalty multiplier of a token that would extend a repetition, 0 to 100; 0 = off (0)",
              &SamplingParams::dry_multiplier, 0, 100);
  add.decimal("--dry-base", "DRY: base of the penalty's exponential growth with the length of the repetition, 1 to 100 (1.75)",
              &SamplingParams::dry_base, 1, 100);
  add.integer("--dry-allowed-length", "DRY: shortest repetition that is penalized (2)", &SamplingParams::dry_allowed_length, 1);
  add.integer("--dry-window,--dry-penalty-last-n", "DRY: number of last tokens that are searched for repetitions; -1 = all (-1)",
              &SamplingParams::dry_window, -1);
  flags
      .add_values("--dry-sequence-breaker", "TEXT",
                  "DRY: text that breaks a repetition; repeatable; none = no text does (line break, colon, quote, asterisk)",
                  given.dry_breakers)
      .group(kSamplingGroup);
}

void add_filter_flags(FlagAdder& add) {
  add.decimal("--typical-p,--typical",
              "locally typical sampling: keep the tokens whose surprise is closest to the entropy, up to a total probability of X, 0 to 1; "
              "1 = off (1)",
              &SamplingParams::typical_p, 0, 1);
  add.decimal("--top-n-sigma,--top-nsigma", "discard tokens whose logit is more than X standard deviations below the highest; 0 = off (0)",
              &SamplingParams::top_n_sigma, 0, 100);
  add.decimal("--xtc-probability",
              "XTC: probability of removing all tokens above the threshold but the least likely of them, 0 to 1; 0 = off (0)",
              &SamplingParams::xtc_probability, 0, 1);
  add.decimal("--xtc-threshold", "XTC: probability threshold, 0 to 1 (0.1)", &SamplingParams::xtc_threshold, 0, 1);
  add.integer("--mirostat", "control the text's entropy by Mirostat 1 or 2, instead of top-k, top-p and the like; 0 = off (0)",
              &SamplingParams::mirostat, 0, 2);
  add.decimal("--mirostat-tau,--mirostat-ent", "Mirostat: target entropy in bits, 0 to 20 (5)", &SamplingParams::mirostat_tau, 0, 20);
  add.decimal("--mirostat-eta,--mirostat-lr", "Mirostat: learning rate, 0 to 1 (0.1)", &SamplingParams::mirostat_eta, 0, 1);
  add.change("--samplers", "LIST", "sampling steps in order, separated by ; or ,; steps that are not listed are skipped",
             [](const std::string& text) {
               return [order = parse_sampling_order(text, "--samplers")](SamplingParams& sampling) { sampling.order = order; };
             });
  add.change(
      "-l,--logit-bias", "BIAS", "add a bias of -100 to 100 to a token's logit, for example 15043+1.5 or 15043-100; comma-separated list",
      [](const std::string& text) { return [biases = parse_biases(text)](SamplingParams& sampling) { sampling.logit_bias = biases; }; });
}

}  // namespace

void add_sampling(Flags& flags, SamplingFlags& given) {
  FlagAdder add(flags, given);
  add_usual_flags(add);
  add_filter_flags(add);
  add_repetition_flags(add, flags, given);
}

std::vector<std::string> dry_breaker_texts(const SamplingFlags& given) {
  std::vector<std::string> breakers = given.dry_breakers;
  if (breakers.empty()) breakers = {"\n", ":", "\"", "*"};
  if (breakers == std::vector<std::string>{"none"}) return {};
  std::replace(breakers.begin(), breakers.end(), std::string("\\n"), std::string("\n"));
  return breakers;
}

SamplingParams resolve_sampling(const SamplingFlags& given, const Checkpoint& file, const Tokenizer& tokenizer, const Console& console) {
  ModelSampling model = read_model_sampling(file);
  if (!model.said.empty()) console.note("sampling by the model's files, where flags say nothing else: " + model.said);
  SamplingParams sampling = std::move(model.params);
  for (const auto& change : given.changes) change(sampling);
  for (const LogitBias& entry : sampling.logit_bias) {
    if (entry.token < tokenizer.vocab_size()) continue;
    fail(ErrorCode::invalid_argument, "--logit-bias: token {} is not in the vocabulary of {}", entry.token, tokenizer.vocab_size());
  }
  if (sampling.dry_multiplier > 0) sampling.dry_breakers = tokens_with_any_of(tokenizer, dry_breaker_texts(given));
  return sampling;
}

}  // namespace wick
