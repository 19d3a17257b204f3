// sample: filters alone and together, ties, many tokens, rows that have no distribution.
#include "wick/tensor/ops/sample.h"

#include <fmt/format.h>

#include <cmath>

#include "conformance/case.h"

namespace wick::conformance {
namespace {

constexpr int64_t kRows = 6;

// Rows with settings alike but for their draws.
void add_settings(CaseList& list, int64_t tokens, SampleSettings settings, double spread, const std::string& note = "") {
  const std::string name = fmt::format("{} tokens/1/temperature {}, top_k {}, top_p {}, min_p {}/spread {}{}", tokens,
                                       settings.inverse_temperature, settings.top_k, settings.top_p, settings.min_p, spread, note);
  list.add(OpId::sample, DType::f32, name, [=](Trial& trial) {
    const auto rough = [&](double value) { return note.empty() ? value : std::round(value); };
    std::vector<double> logits, numbers, draws;
    for (int64_t i = 0; i < kRows * tokens; ++i) logits.push_back(rough(trial.random().uniform(-spread, spread)));
    for (int64_t row = 0; row < kRows; ++row) {
      for (const double number : {static_cast<double>(settings.inverse_temperature), static_cast<double>(settings.top_k),
                                  static_cast<double>(settings.top_p), static_cast<double>(settings.min_p)}) {
        numbers.push_back(number);
      }
      for (const double word : {41.0, 7.0, static_cast<double>(row) * 1000, static_cast<double>(row)}) draws.push_back(word);
    }
    if (tokens > 4) logits[static_cast<size_t>(tokens) * 5 + 3] = -HUGE_VAL;
    const Tensor x = trial.input_of(logits, {kRows, tokens}, DType::f32), s = trial.input_of(numbers, {kRows, 4}, DType::f32),
                 d = trial.input_of(draws, {kRows, 4}, DType::u32);
    trial.expect(OpId::sample, nullptr, {&x, &s, &d}, sample(x, s, d));
  });
}

void add_bad_rows(CaseList& list, float inverse_temperature) {
  list.add(OpId::sample, DType::f32, fmt::format("rows without a distribution/1/temperature {}", inverse_temperature), [=](Trial& trial) {
    const std::vector<double> logits = {1, std::nan(""), 2, 0, HUGE_VAL, 2, -HUGE_VAL, -HUGE_VAL, -HUGE_VAL, -HUGE_VAL, 3, -HUGE_VAL};
    const Tensor x = trial.input_of(logits, {4, 3}, DType::f32), s = trial.input_of({inverse_temperature, 2, 0.5, 0.1}, {4, 4}, DType::f32),
                 d = trial.input_of({1, 2, 3, 4}, {4, 4}, DType::u32);
    trial.expect_values({{4}, {-1, -1, -1, 1}, DType::i32}, sample(x, s, d), {});
  });
}

}  // namespace

void add_sample_cases(CaseList& list) {
  for (const int64_t tokens : {1, 2, 5, 255, 1000, 32000}) {
    add_settings(list, tokens, {.inverse_temperature = 0}, 8);
    add_settings(list, tokens, {}, 8);
    add_settings(list, tokens, {.inverse_temperature = 1.25F, .top_k = 40, .top_p = 0.95F, .min_p = 0.05F}, 8);
    add_settings(list, tokens, {.inverse_temperature = 0.5F, .top_k = 3}, 4);
    add_settings(list, tokens, {.inverse_temperature = 1, .top_p = 0.5F}, 3);
    add_settings(list, tokens, {.inverse_temperature = 1, .top_p = 0}, 3);
    add_settings(list, tokens, {.inverse_temperature = 2, .min_p = 0.3F}, 2);
    add_settings(list, tokens, {.inverse_temperature = 0.7F, .top_k = 10, .top_p = 0.9F}, 3, "/ties");
    add_settings(list, tokens, {.inverse_temperature = 1e30F, .top_k = 7}, 3);
  }
  // Mesa's llvmpipe ends loops after 65,535 iterations in all, which twice as many tokens exceed.
  add_settings(list, 131072, {.inverse_temperature = 1.25F, .top_k = 40, .top_p = 0.95F}, 8);
  for (const float inverse_temperature : {0.0F, 1.0F}) add_bad_rows(list, inverse_temperature);
}

}  // namespace wick::conformance
