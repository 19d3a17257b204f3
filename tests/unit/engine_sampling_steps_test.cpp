#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "source_root.h"
#include "unit/sampling_draws.h"
#include "wick/base/error.h"
#include "wick/engine/candidates.h"
#include "wick/engine/repetition.h"
#include "wick/engine/sampling.h"

namespace wick {
namespace {

// Every step off.
SamplingParams every_step_off() { return {.temperature = 1, .top_k = 0, .top_p = 1, .min_p = 0, .penalty_window = -1, .seed = 1}; }

// A line of tests/data/engine/sampling.txt.
struct Expected {
  std::string step;
  double parameter = 0;
  std::vector<float> text, logits, left;
};

std::vector<Expected> expected_steps() {
  std::ifstream file(source_root() / "tests/data/engine/sampling.txt");
  std::vector<Expected> result;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    Expected entry;
    words >> entry.step >> entry.parameter;
    std::vector<float>* target = &entry.logits;
    for (std::string word; words >> word;) {
      if (word == "|") {
        entry.text = std::move(entry.logits);
        entry.logits = {};
      } else if (word == "=") {
        target = &entry.left;
      } else {
        target->push_back(std::stof(word));
      }
    }
    result.push_back(std::move(entry));
  }
  return result;
}

void apply(Candidates& candidates, const Expected& entry) {
  if (entry.step == "typical_p") candidates.typical_p(entry.parameter);
  if (entry.step == "top_n_sigma") candidates.top_n_sigma(entry.parameter);
  if (entry.step == "xtc") candidates.exclude_top(entry.parameter);
  if (entry.step == "mirostat1") candidates.mirostat_top_k(entry.parameter);
  if (entry.step == "mirostat2") candidates.mirostat_truncate(entry.parameter);
}

TEST(SamplingSteps, EachLeavesWhatItsFormulaLeaves) {
  const std::vector<Expected> all = expected_steps();
  ASSERT_GT(all.size(), 60U);
  for (const Expected& entry : all) {
    if (entry.step == "dry") {
      SamplingParams params = every_step_off();
      params.dry_multiplier = 0.8F;
      params.dry_allowed_length = static_cast<int64_t>(entry.parameter);
      params.dry_breakers = {3};
      DryPenalty dry(params);
      for (const float token : entry.text) dry.accept(static_cast<int32_t>(token));
      std::vector<float> logits = entry.logits;
      dry.apply(logits);
      for (size_t token = 0; token < logits.size(); ++token) EXPECT_NEAR(logits[token], entry.left[token], 1e-4) << "dry, token " << token;
      continue;
    }
    Candidates candidates;
    candidates.assign(entry.logits, {});
    apply(candidates, entry);
    std::vector<int32_t> left = candidates.tokens();
    std::sort(left.begin(), left.end());
    EXPECT_EQ(left, std::vector<int32_t>(entry.left.begin(), entry.left.end())) << entry.step << ' ' << entry.parameter;
  }
}

TEST(SamplingSteps, OrderDecidesWhetherFiltersSeeTheTemperature) {
  SamplingParams params = every_step_off();
  params.temperature = 2;
  params.min_p = 0.5F;  // at temperature 2 the third is at 0.63 of the first
  params.order = {SamplingStep::temperature, SamplingStep::min_p};
  EXPECT_EQ(draw(params, logits_of({0.2, 0.5, 0.3})).size(), 3U);
  params.order = {SamplingStep::min_p, SamplingStep::temperature};
  EXPECT_EQ(draw(params, logits_of({0.2, 0.5, 0.3})).size(), 2U);
}

TEST(SamplingSteps, AStepThatIsNotInTheOrderIsNotTaken) {
  SamplingParams params = every_step_off();
  params.top_k = 1;
  params.order = {SamplingStep::temperature};
  EXPECT_EQ(draw(params, logits_of({0.2, 0.5, 0.3})).size(), 3U);
}

TEST(SamplingSteps, XtcActsAsOftenAsItsProbabilitySays) {
  SamplingParams params = every_step_off();
  params.xtc_probability = 0.25F;
  params.xtc_threshold = 0.2F;
  // Without it 0 has 0.6; with it 0 goes, and 1 (0.3) and 2 (0.1) are 0.75 and 0.25.
  auto counts = draw(params, logits_of({0.6, 0.3, 0.1}), 20000);
  EXPECT_NEAR(counts[0] / 20000.0, 0.75 * 0.6, 0.02);
  EXPECT_NEAR(counts[1] / 20000.0, 0.75 * 0.3 + 0.25 * 0.75, 0.02);
}

TEST(SamplingSteps, MirostatHoldsTheSurpriseAtItsTarget) {
  // Zipf's law, as texts have it.
  std::vector<double> probabilities;
  for (int rank = 1; rank <= 1000; ++rank) probabilities.push_back(std::pow(rank, -1.1));
  double sum = 0;
  for (const double probability : probabilities) sum += probability;
  for (double& probability : probabilities) probability /= sum;
  const std::vector<float> logits = logits_of(probabilities);
  for (const int64_t version : {1, 2}) {
    for (const double target : {3.5, 5.0}) {
      SamplingParams params = every_step_off();
      params.mirostat = version;
      params.mirostat_tau = static_cast<float>(target);
      Sampler sampler(params);
      double surprise = 0;
      for (int index = 0; index < 1500; ++index) {
        surprise -= std::log2(probabilities[static_cast<size_t>(sampler.sample(logits))]);
      }
      EXPECT_NEAR(surprise / 1500, target, 0.2) << "version " << version;
    }
  }
}

TEST(SamplingSteps, AMaskLeavesOnlyItsTokens) {
  SamplingParams params = every_step_off();
  std::vector<float> logits(130, 0.0F);
  logits[0] = 50;
  logits[129] = 60;  // beyond the mask's words
  const std::vector<uint64_t> mask = {uint64_t{1} << 5, uint64_t{1} << 63};
  Sampler sampler(params);
  std::map<int32_t, int> counts;
  for (int index = 0; index < 200; ++index) ++counts[sampler.sample(logits, mask)];
  EXPECT_THAT(counts, testing::ElementsAre(testing::Key(5), testing::Key(127)));
  params.temperature = 0;
  EXPECT_EQ(Sampler(params).sample(logits, mask), 5);
  EXPECT_THROW((void)Sampler(params).sample(logits, std::vector<uint64_t>{0, 0}), Error);
}

TEST(SamplingSteps, StepsHaveLlamaCppsNames) {
  for (const SamplingStep step : every_step_off().order) EXPECT_EQ(find_sampling_step(to_string(step)), step);
  EXPECT_EQ(find_sampling_step("top-k"), SamplingStep::top_k);
  EXPECT_EQ(find_sampling_step("temp"), SamplingStep::temperature);
  EXPECT_FALSE(find_sampling_step("magic"));
}

TEST(SamplingSteps, EachParameterOutsideItsRangeIsAViolation) {
  SamplingParams params;
  params.typical_p = 1.5F;
  params.top_n_sigma = -1;
  params.xtc_probability = 2;
  params.xtc_threshold = -1;
  params.dry_multiplier = -1;
  params.dry_base = 0;
  params.dry_allowed_length = 0;
  params.dry_window = -2;
  params.mirostat = 3;
  params.mirostat_tau = -1;
  params.mirostat_eta = 2;
  params.order = {SamplingStep::top_k, SamplingStep::top_k};
  std::vector<std::string> names;
  for (const ParameterViolation& violation : find_violations(params)) names.push_back(violation.parameter);
  EXPECT_THAT(names, testing::ElementsAre("typical_p", "top_n_sigma", "xtc_probability", "xtc_threshold", "dry_multiplier", "dry_base",
                                          "dry_allowed_length", "dry_window", "mirostat", "mirostat_tau", "mirostat_eta", "order"));
}

TEST(SamplingSteps, ACopyOfASamplerGoesOnAsItsOriginalDoes) {
  SamplingParams params = every_step_off();
  params.presence_penalty = 1;
  params.mirostat = 2;
  Sampler sampler(params);
  const std::vector<float> logits = logits_of({0.3, 0.3, 0.2, 0.1, 0.1});
  for (int index = 0; index < 5; ++index) sampler.accept(sampler.sample(logits));
  Sampler copy = sampler;
  for (int index = 0; index < 20; ++index) EXPECT_EQ(sampler.sample(logits), copy.sample(logits));
}

}  // namespace
}  // namespace wick
