// Times of ops at the shapes of models.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "conformance/runner.h"
#include "wick/device/registry.h"
#include "wick/tensor/ops/attention.h"
#include "wick/tensor/ops/copy.h"
#include "wick/tensor/ops/coverage.h"
#include "wick/tensor/ops/embedding.h"
#include "wick/tensor/ops/linear.h"
#include "wick/tensor/ops/matmul.h"
#include "wick/tensor/ops/normalize.h"
#include "wick/tensor/ops/rope.h"
#include "wick/tensor/ops/unary.h"

namespace wick::conformance {
namespace {

// One thing to time: the bytes that it must move at least and the floating-point operations of its definition.
struct Measure {
  std::string name;
  double bytes;
  double operations;
  std::function<void()> run;
};

// The least time of at least three runs and 0.2 s.
double seconds_of(const Device& device, const std::function<void()>& run) {
  using Clock = std::chrono::steady_clock;
  double best = HUGE_VAL;
  double total = 0;
  for (int count = 0; count < 3 || total < 0.2; ++count) {
    const auto begin = Clock::now();
    run();
    device.synchronize();
    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    best = std::min(best, seconds);
    total += seconds;
  }
  return best;
}

void add_linears(std::vector<Measure>& measures, Trial& trial) {
  constexpr int64_t kIn = 2048;
  constexpr int64_t kOut = 8192;
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16, DType::q8_0, DType::q4_0, DType::q4_k, DType::q5_k, DType::q6_k}) {
    const Tensor weight = trial.prepared(trial.weight(kOut, kIn, dtype));
    for (const int64_t tokens : {1, 8, 128}) {
      const Tensor x = trial.input({tokens, kIn}, DType::f32);
      measures.push_back({fmt::format("linear/{}/[{}, {}]/n {}", to_string(weight.dtype()), tokens, kIn, kOut),
                          static_cast<double>(storage_bytes(dtype, kIn * kOut)), 2.0 * static_cast<double>(tokens * kIn * kOut),
                          [=] { (void)linear(x, weight); }});
    }
  }
}

void add_attentions(std::vector<Measure>& measures, Trial& trial) {
  for (const auto& [tokens, past] : std::vector<std::pair<int64_t, int64_t>>{{1, 1023}, {512, 0}}) {
    const int64_t positions = past + tokens;
    const Tensor query = trial.input({tokens, 32, 64}, DType::f32);
    const Tensor key = trial.input({8, positions, 64}, DType::f16);
    const Tensor value = trial.input({8, positions, 64}, DType::f16);
    const double pairs = static_cast<double>(tokens) * static_cast<double>(past + (tokens + 1) / 2);
    measures.push_back({fmt::format("attention/f16/tokens {} past {}/heads 32 of 8/width 64", tokens, past),
                        static_cast<double>(positions) * 8 * 64 * 4, pairs * 32 * 64 * 4,
                        [=] { (void)attention(query, key, value, {0.125F, past}); }});
  }
}

std::vector<Measure> measures_of(Trial& trial) {
  std::vector<Measure> measures;
  add_linears(measures, trial);
  add_attentions(measures, trial);
  const Tensor left = trial.input({256, 1024}, DType::f32);
  const Tensor right = trial.input({1024, 512}, DType::f32);
  measures.push_back({"matmul/f32/[256, 1024] [1024, 512]", 4.0 * (256 * 1024 + 1024 * 512 + 256 * 512), 2.0 * 256 * 1024 * 512,
                      [=] { (void)matmul(left, right); }});
  const Tensor rows = trial.input({512, 4096}, DType::f32);
  const Tensor scale = trial.input({4096}, DType::f32);
  const double row_bytes = 512 * 4096 * 8.0;
  measures.push_back({"rms_norm/f32/[512, 4096]", row_bytes, 512 * 4096 * 4.0, [=] { (void)rms_norm(rows, scale, 1e-5F); }});
  measures.push_back({"softmax/f32/[512, 4096]", row_bytes, 512 * 4096 * 4.0, [=] { (void)softmax_last_dim(rows); }});
  measures.push_back({"silu/f32/[512, 4096]", row_bytes, 512 * 4096 * 4.0, [=] { (void)rows.silu(); }});
  measures.push_back({"copy/f32 to f16/[512, 4096]", 512 * 4096 * 6.0, 0, [=] { (void)rows.to_dtype(DType::f16); }});
  const Tensor logits = trial.input({1, 128256}, DType::f32);
  measures.push_back({"argmax/f32/[1, 128256]", 128256 * 4.0, 0, [=] { (void)logits.argmax(-1); }});
  const Tensor heads = trial.input({512, 32, 64}, DType::f32);
  const Tensor table = trial.input({512, 32, 2}, DType::f32);
  measures.push_back(
      {"rope/f32/[512, 32, 64]", 512 * 32 * 64 * 8.0, 512 * 32 * 64 * 3.0, [=] { (void)rope(heads, table, RopeStyle::interleaved); }});
  return measures;
}

}  // namespace

int run_perf(const Options& options) {
  const std::function<bool(const std::string&)> wanted = name_filter(options);
  for (const Target& target : open_targets(options, false)) {
    if (!target.values) continue;
    fmt::print("{}\n", target.name);
    Answers answers;
    Trial trial(target.device, options.seed, true, answers);
    for (const Measure& measure : measures_of(trial)) {
      if (!wanted(measure.name)) continue;
      const double seconds = seconds_of(target.device, measure.run);
      fmt::print("  {:<58} {:>10.1f} µs {:>8.2f} GB/s {:>8.2f} GFLOP/s\n", measure.name, seconds * 1e6, measure.bytes / seconds * 1e-9,
                 measure.operations / seconds * 1e-9);
    }
  }
  return 0;
}

int print_support(const Options& options) {
  std::vector<Device> devices;
  for (const Target& target : open_targets(options, false)) {
    const bool known = std::any_of(devices.begin(), devices.end(), [&](const Device& device) { return device.same_device(target.device); });
    if (target.values && !known) devices.push_back(target.device);
  }
  const std::vector<CoverageEntry> entries = coverage(devices);
  fmt::print("{}", options.markdown ? render_markdown(entries) : render_text(entries));
  return 0;
}

}  // namespace wick::conformance
