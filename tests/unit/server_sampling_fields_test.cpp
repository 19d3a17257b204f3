// The fields of requests that say how tokens are chosen.
#include "wick/server/sampling_fields.h"

#include <gtest/gtest.h>

#include "wick/server/fields.h"
#include "wick/server/json.h"

namespace wick::server {
namespace {

struct ReadNumber {
  double value = 0;
  size_t violations = 0;
};
// What a request with this field alone makes of the parameter.
ReadNumber read_number(const SamplingParameter& row, std::string_view name, double value) {
  const Json json = {{std::string(name), value}};
  Fields fields(json);
  SamplingParams sampling;
  read_sampling_numbers(fields, sampling);
  ReadNumber read{.violations = fields.violations().size()};
  row.visit(sampling, [&](auto number) { read.value = static_cast<double>(number); });
  return read;
}

TEST(SamplingFields, EachParameterIsAFieldUnderBothItsNames) {
  for (const SamplingParameter& row : kSamplingParameters) {
    for (const std::string_view name : {row.name, row.name_in_requests()}) {
      const double least = row.takes_minus_one ? -1 : row.low;
      EXPECT_EQ(read_number(row, name, least).value, row.low) << name;
      EXPECT_EQ(read_number(row, name, least).violations, 0U) << name;
      EXPECT_EQ(read_number(row, name, least - 1).violations, 1U) << name;
      if (row.high == SamplingParameter::kNoLimit) continue;
      EXPECT_EQ(read_number(row, name, row.high).value, row.high) << name;
      EXPECT_EQ(read_number(row, name, row.high + 1).violations, 1U) << name;
    }
  }
}

TEST(SamplingFields, LlamaCppsNamesAreTaken) {
  const Json json = parse_body(R"({"repeat_penalty": 1.5, "repeat_last_n": 7, "dry_penalty_last_n": 9, "top_k": -1, "top_n_sigma": -1})");
  Fields fields(json);
  SamplingParams sampling{.top_n_sigma = 2};
  read_sampling_numbers(fields, sampling);
  EXPECT_TRUE(fields.violations().empty());
  EXPECT_EQ(sampling.repetition_penalty, 1.5F);
  EXPECT_EQ(sampling.penalty_window, 7);
  EXPECT_EQ(sampling.dry_window, 9);
  EXPECT_EQ(sampling.top_k, 0);
  EXPECT_EQ(sampling.top_n_sigma, 0.0F);
}

}  // namespace
}  // namespace wick::server
