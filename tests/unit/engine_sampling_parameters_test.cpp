// kSamplingParameters, and what derives from it: violations, flags, and what people read of the parameters.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <string>

#include "source_root.h"
#include "unit/message_of.h"
#include "wick/cli/flags/sampling_flags.h"
#include "wick/engine/model_sampling.h"
#include "wick/engine/sampling.h"

namespace wick {
namespace {

double value_of(const SamplingParameter& row, const SamplingParams& params) {
  double number = 0;
  row.visit(params, [&](auto value) { number = static_cast<double>(value); });
  return number;
}

bool is_bounded(const SamplingParameter& row) { return row.high != SamplingParameter::kNoLimit; }

std::string flag_of(const SamplingParameter& row) {
  std::string name = "--" + std::string(row.name);
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

std::string text_of(const char* path) {
  std::ifstream file(source_root() / path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The error, or the changes of the parameters.
struct ParsedSampling {
  SamplingParams params;
  std::string error;
};
ParsedSampling parse_sampling_flags(const Arguments& arguments) {
  std::istringstream in;
  std::ostringstream out, err;
  Console console{.name = "tool", .executable = {}, .in = in, .out = out, .err = err, .environment = {}};
  Flags flags("Does things.", console);
  SamplingFlags given;
  add_sampling(flags, given);
  ParsedSampling parsed;
  parsed.error = message_of([&] { (void)flags.parse(arguments); });
  for (const SamplingChange& change : given.changes) change(parsed.params);
  return parsed;
}

TEST(SamplingParameters, HaveNamesOfTheirOwnAndDefaultsInRange) {
  std::set<std::string_view> names, keys;
  const SamplingParams defaults;
  for (const SamplingParameter& row : kSamplingParameters) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_TRUE(row.request_name.empty() || names.insert(row.request_name).second) << row.request_name;
    EXPECT_TRUE(row.key.empty() || keys.insert(row.key).second) << row.key;
    EXPECT_FALSE(row.help.empty()) << row.name;
    EXPECT_LE(row.low, value_of(row, defaults)) << row.name;
    EXPECT_GE(row.high, value_of(row, defaults)) << row.name;
  }
  EXPECT_TRUE(find_violations(defaults).empty());
}

TEST(SamplingParameters, EachIsAViolationBeyondEitherEndOfItsRange) {
  for (const SamplingParameter& row : kSamplingParameters) {
    const auto violations = [&](double value) {
      SamplingParams params;
      row.set(params, value);
      return find_violations(params);
    };
    EXPECT_TRUE(violations(row.low).empty()) << row.name;
    ASSERT_EQ(violations(row.low - 1).size(), 1U) << row.name;
    EXPECT_EQ(violations(row.low - 1)[0].parameter, row.name);
    if (!is_bounded(row)) continue;
    EXPECT_TRUE(violations(row.high).empty()) << row.name;
    ASSERT_EQ(violations(row.high + 1).size(), 1U) << row.name;
    EXPECT_EQ(violations(row.high + 1)[0].parameter, row.name);
  }
}

TEST(SamplingParameters, EachIsAFlagWithItsRange) {
  for (const SamplingParameter& row : kSamplingParameters) {
    const std::string flag = flag_of(row);
    const auto parse = [&](double value) { return parse_sampling_flags({fmt::format("{}={:g}", flag, value)}); };
    EXPECT_EQ(parse(row.low).error, "nothing was thrown");
    EXPECT_EQ(value_of(row, parse(row.low).params), row.low);
    EXPECT_THAT(parse(row.low - 1).error, testing::StartsWith(flag + " "));
    if (!is_bounded(row)) continue;
    EXPECT_EQ(value_of(row, parse(row.high).params), row.high);
    EXPECT_THAT(parse(row.high + 1).error, testing::StartsWith(flag + " "));
  }
}

TEST(SamplingParameters, FlagsHaveLlamaCppsNamesToo) {
  const SamplingParams params =
      parse_sampling_flags({"--temp", "0.5", "--repeat-penalty", "1.5", "--repeat-last-n", "7", "--typical", "0.25", "--top-nsigma", "2",
                            "--dry-penalty-last-n", "9", "--mirostat-ent", "4", "--mirostat-lr", "0.75"})
          .params;
  EXPECT_EQ(params.temperature, 0.5F);
  EXPECT_EQ(params.repetition_penalty, 1.5F);
  EXPECT_EQ(params.penalty_window, 7);
  EXPECT_EQ(params.typical_p, 0.25F);
  EXPECT_EQ(params.top_n_sigma, 2.0F);
  EXPECT_EQ(params.dry_window, 9);
  EXPECT_EQ(params.mirostat_tau, 4.0F);
  EXPECT_EQ(params.mirostat_eta, 0.75F);
}

// The settings of the chat page are those of requests.
TEST(SamplingParameters, ChatPageHasAFieldForEach) {
  const std::string page = text_of("wick/server/chat_page/settings.js");
  for (const SamplingParameter& row : kSamplingParameters) {
    EXPECT_THAT(page, testing::HasSubstr(fmt::format("[\"{}\", ", row.name_in_requests())));
  }
}

// The row of the table in docs/sampling.md.
std::string documented(const SamplingParameter& row) {
  const auto code = [](std::string_view text) { return text.empty() ? std::string() : fmt::format("`{}`", text); };
  std::string flags;
  for (const std::string_view name : {row.name, row.request_name, row.alias}) {
    if (!name.empty()) flags += fmt::format("{}`--{}`", flags.empty() ? "" : " ", name);
  }
  std::replace(flags.begin(), flags.end(), '_', '-');
  const std::string range = is_bounded(row) ? fmt::format("{:g} to {:g}", row.low, row.high) : fmt::format("{:g} or more", row.low);
  return fmt::format("| `{}` | {} | {} | {} | {:g} | {} | {}{}{} |", row.name, flags, code(row.request_name), range,
                     value_of(row, SamplingParams{}), code(row.key), row.help, row.note.empty() ? "" : "; ", row.note);
}

TEST(SamplingParameters, PageHasTheRowOfEach) {
  const std::string page = text_of("docs/sampling.md");
  for (const SamplingParameter& row : kSamplingParameters) EXPECT_THAT(page, testing::HasSubstr("\n" + documented(row) + "\n"));
}

TEST(SamplingParameters, BiasesAreTokensAndNumbers) {
  const std::vector<LogitBias> biases = parse_logit_biases("15043+1.5,29871-100,7=-2,8=3", "bias");
  ASSERT_EQ(biases.size(), 4U);
  EXPECT_EQ(biases[0].token, 15043);
  EXPECT_EQ(biases[0].bias, 1.5F);
  EXPECT_EQ(biases[1].token, 29871);
  EXPECT_EQ(biases[1].bias, -100.0F);
  EXPECT_EQ(biases[2].bias, -2.0F);
  EXPECT_EQ(biases[3].bias, 3.0F);
  for (const char* wrong : {"1", "+1", "1+", "x+1", "1+x", "1+101", "99999999999+1", "-5+1", "1+nan", "1+2+3"}) {
    EXPECT_THAT(message_of([&] { (void)parse_logit_biases(wrong, "bias"); }), testing::StartsWith(fmt::format("bias '{}'", wrong)));
  }
}

TEST(SamplingSteps, AreFoundByTheirNamesAndAliases) {
  for (const SamplingStep step : SamplingParams{}.order) EXPECT_EQ(find_sampling_step(to_string(step)), step);
  EXPECT_EQ(find_sampling_step("top-n-sigma"), SamplingStep::top_n_sigma);
  EXPECT_EQ(find_sampling_step("typical"), SamplingStep::typical_p);
  EXPECT_EQ(find_sampling_step("nucleus"), SamplingStep::top_p);
  EXPECT_EQ(find_sampling_step("temp"), SamplingStep::temperature);
  EXPECT_EQ(find_sampling_step(""), std::nullopt);
  EXPECT_EQ(sampling_step_names(), "penalties, dry, top_n_sigma, top_k, typ_p, top_p, min_p, xtc and temperature");
}

}  // namespace
}  // namespace wick
