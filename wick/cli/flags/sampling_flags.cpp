#include "wick/cli/flags/sampling_flags.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "wick/base/fail.h"
#include "wick/engine/model_sampling.h"
#include "wick/engine/repetition.h"

namespace wick {
namespace {

constexpr const char* kSamplingGroup = "Sampling";

// "--penalty-window,--repeat-last-n"
std::string flag_names(const SamplingParameter& row) {
  std::string names;
  for (const std::string_view name : {row.name, row.request_name, row.alias}) {
    if (!name.empty()) names += fmt::format("{}--{}", names.empty() ? "" : ",", name);
  }
  std::replace(names.begin(), names.end(), '_', '-');
  return names;
}

std::string description_of(const SamplingParameter& row) {
  std::string text(row.help);
  if (row.high != SamplingParameter::kNoLimit) text += fmt::format(", {:g} to {:g}", row.low, row.high);
  if (!row.note.empty()) text += fmt::format("; {}", row.note);
  const SamplingParams defaults;
  row.visit(defaults, [&](auto value) {
    text += fmt::format(" ({}{:g})", row.key.empty() ? "" : "the model's own, else ", static_cast<double>(value));
  });
  return text;
}

// Adds a flag whose values are changes of parameters that are not known yet; `parse` makes the change of a text.
void add_change(Flags& flags, SamplingFlags& given, const std::string& names, const std::string& value_name, const std::string& description,
                std::function<SamplingChange(const std::string& text)> parse) {
  flags
      .add_value(names, value_name, description,
                 [&given, parse = std::move(parse)](const std::string& text) { given.changes.push_back(parse(text)); })
      .group(kSamplingGroup);
}

}  // namespace

SamplingChange parse_sampling_parameter(const SamplingParameter& row, std::string_view flag, std::string_view text) {
  if (!row.is_whole()) {
    return [&row, value = parse_decimal(flag, text, row.low, row.high)](SamplingParams& sampling) { row.set(sampling, value); };
  }
  const int64_t high = row.high == SamplingParameter::kNoLimit ? std::numeric_limits<int64_t>::max() : static_cast<int64_t>(row.high);
  return [&row, value = parse_integer(flag, text, static_cast<int64_t>(row.low), high)](SamplingParams& sampling) {
    row.set(sampling, value);
  };
}

void add_sampling(Flags& flags, SamplingFlags& given) {
  for (const SamplingParameter& row : kSamplingParameters) {
    const std::string names = flag_names(row);
    add_change(
        flags, given, names, row.is_whole() ? "N" : "X", description_of(row),
        [&row, flag = names.substr(0, names.find(','))](const std::string& text) { return parse_sampling_parameter(row, flag, text); });
  }
  flags
      .add_values("--dry-sequence-breaker", "TEXT",
                  "DRY: text that breaks a repetition; repeatable; none = no text does (line break, colon, quote, asterisk)",
                  given.dry_breakers)
      .group(kSamplingGroup);
  add_change(flags, given, "--samplers", "LIST", "sampling steps in order, separated by ; or ,; steps that are not listed are skipped",
             [](const std::string& text) {
               return [order = parse_sampling_order(text, "--samplers")](SamplingParams& sampling) { sampling.order = order; };
             });
  add_change(flags, given, "-l,--logit-bias", "BIAS",
             "add a bias of -100 to 100 to a token's logit, for example 15043+1.5 or 15043-100; comma-separated list",
             [](const std::string& text) {
               return [biases = parse_logit_biases(text, "--logit-bias")](SamplingParams& sampling) { sampling.logit_bias = biases; };
             });
  add_change(
      flags, given, "-s,--seed", "N", "random seed: the same one gives the same text on the same kind of processor (random, and printed)",
      [](const std::string& text) { return [seed = parse_seed("--seed", text)](SamplingParams& sampling) { sampling.seed = seed; }; });
}

std::vector<std::string> dry_breaker_texts(const SamplingFlags& given) {
  std::vector<std::string> breakers = given.dry_breakers;
  if (breakers.empty()) breakers = default_dry_breakers();
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
