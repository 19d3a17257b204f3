#include "conformance/runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <iterator>
#include <memory>

#include "conformance/guarded_runtime.h"
#include "pattern.h"
#include "wick/base/error.h"
#include "wick/device/registry.h"
#include "wick/tensor/ops/dispatch.h"

namespace wick::conformance {
namespace {

// A device that runs nothing but only plans has no memory to read from.
bool computes(DeviceKind kind) { return kind != DeviceKind::null; }

// Whether the kinds, which have commas between them, hold that one.
bool names_kind(const std::string& kinds, std::string_view kind) {
  return fmt::format(",{},", kinds).find(fmt::format(",{},", kind)) != std::string::npos;
}

// `lacks_all`: the CPU runs each op.
Target open_target(DeviceLocation location, const DeviceOptions& options, bool guarded, bool lacks_all, bool sample) {
  const std::string name =
      fmt::format("{}{}{} threads={}", location.to_string(), options.variant.empty() ? "" : " ", options.variant, options.threads);
  const bool values = computes(location.kind);
  if (lacks_all) {
    return {name, open_lacking(location, options, [](OpId, DType) { return true; }, true), values, sample};
  }
  std::shared_ptr<Runtime> runtime = open_runtime(location.kind, location.index, options);
  if (values && guarded) runtime = std::make_shared<GuardedRuntime>(std::move(runtime));
  return {name, Device::adopt(location, std::move(runtime)), values, sample};
}

// A case's part in [0, 1) of its own, the same for every device.
double part_of(const Case& entry, uint64_t seed) { return Random(seed ^ hash_of(entry.name)).uniform(); }

// The exit code that CMakeLists.txt tells ctest about.
constexpr int kSkipped = 77;

struct Counts {
  int passed = 0;
  int failed = 0;
  int skipped = 0;
  int without_subnormals = 0;  // of those that passed
};

// Whether an op refused numbers other than those of its defining operand, as it may where the device cannot compute with them.
bool is_lack_of_ability(const Device& device, const Error& error) {
  if (error.code() != ErrorCode::unsupported) return false;
  for (const DType dtype : {DType::f64, DType::i64}) {
    const std::string_view missing = missing_ability(device.caps(), dtype);
    if (!missing.empty() && std::string_view(error.what()).find(missing) != std::string_view::npos) return true;
  }
  return false;
}

void run_case(const Case& entry, const Target& target, const Options& options, Answers& answers, Counts& counts) {
  const auto skip = [&] {
    ++counts.skipped;
    if (options.each) fmt::print("skipped {} on {}\n", entry.name, target.name);
  };
  if (support(target.device, entry.op, entry.dtype) == Support::none) return skip();
  Trial trial(target.device, options.seed + hash_of(entry.name), target.values, answers);
  std::string failure;
  try {
    entry.run(trial);
    failure = trial.failure();
  } catch (const Error& error) {
    if (is_lack_of_ability(target.device, error)) return skip();
    failure = fmt::format("threw: {}", error.what());
  } catch (const std::exception& error) {
    failure = fmt::format("threw: {}", error.what());
  }
  if (failure.empty()) {
    ++counts.passed;
    if (trial.counted_subnormals_as_zero()) ++counts.without_subnormals;
    if (options.each) fmt::print("passed {} on {}: {:.3g} of the error allowed\n", entry.name, target.name, trial.largest_error());
    return;
  }
  ++counts.failed;
  fmt::print("FAILED {} on {}: {}\n", entry.name, target.name, failure);
}

}  // namespace

std::vector<Target> open_targets(const Options& options, bool guarded) {
  std::vector<Target> targets;
  for (const Backend* backend : linked_backends()) {
    if (!options.device.empty() && !names_kind(options.device, to_string(backend->kind))) continue;
    std::vector<int> indices;
    for (const DeviceInfo& device : backend->probe()) indices.push_back(device.index);
    if (!computes(backend->kind)) indices = {0};
    for (const int index : indices) {
      const DeviceLocation location{backend->kind, index};
      std::vector<std::string> variants;
      for (const VariantInfo& variant : backend->variants != nullptr ? backend->variants() : std::vector<VariantInfo>{{"", true}}) {
        if (variant.usable && (options.variant.empty() || options.variant == variant.name)) variants.push_back(variant.name);
      }
      const auto with = [&](int threads, const std::string& variant) {
        return DeviceOptions{.threads = threads, .variant = variant, .validate = options.validate};
      };
      const auto add = [&](const DeviceOptions& device_options, bool sample) {
        targets.push_back(open_target(location, device_options, guarded, options.fallback, sample));
      };
      for (const std::string& variant : variants) add(with(1, variant), false);
      // Work split over host threads, three being none of a power of two; the best code path has most of it.
      const bool threads = !targets.empty() && targets.back().device.caps().host_memory;
      if (!variants.empty() && threads) add(with(2, variants.back()), false);
      if (!variants.empty() && threads) add(with(3, variants.front()), true);
    }
  }
  return targets;
}

std::function<bool(const std::string&)> name_filter(const Options& options) {
  return [filter = Pattern(options.filter)](const std::string& name) { return filter.found_in(name); };
}

std::vector<Case> select_cases(const Options& options) {
  CaseList list;
  add_attention_cases(list);
  add_binary_cases(list);
  add_causal_conv_cases(list);
  add_copy_cases(list);
  add_embedding_cases(list);
  add_image_cases(list);
  add_indexing_cases(list);
  add_linear_cases(list);
  add_fused_linear_cases(list);
  add_expert_cases(list);
  add_matmul_cases(list);
  add_order_cases(list);
  add_random_cases(list);
  add_recurrent_step_cases(list);
  add_reduce_cases(list);
  add_rope_cases(list);
  add_row_cases(list);
  add_sample_cases(list);
  add_unary_cases(list);
  const std::function<bool(const std::string&)> wanted = name_filter(options);
  std::vector<Case> selected;
  std::copy_if(list.cases().begin(), list.cases().end(), std::back_inserter(selected),
               [&](const Case& entry) { return wanted(entry.name); });
  // At least one case of an op that has any, so that a small part of a few cases is not none.
  size_t count = static_cast<size_t>(std::ceil(options.fraction * static_cast<double>(selected.size())));
  if (options.cases > 0) count = std::min(count, static_cast<size_t>(options.cases));
  if (count < selected.size()) {
    std::sort(selected.begin(), selected.end(),
              [&](const Case& a, const Case& b) { return part_of(a, options.seed) < part_of(b, options.seed); });
    selected.erase(selected.begin() + static_cast<std::ptrdiff_t>(count), selected.end());
  }
  return selected;
}

int run_cases(const Options& options) {
  const std::vector<Target> targets = open_targets(options, true);
  const std::vector<Case> cases = select_cases(options);
  Counts counts;
  for (const Case& entry : cases) {
    Answers answers;
    for (const Target& target : targets) {
      if (target.sample && part_of(entry, options.seed + 1) > 0.2) continue;
      run_case(entry, target, options, answers, counts);
    }
  }
  fmt::print("{} passed, {} failed, {} skipped\n", counts.passed, counts.failed, counts.skipped);
  if (counts.without_subnormals > 0) {
    fmt::print("{} of those that passed took f32 numbers below 2^-126 for zero, as their devices may\n", counts.without_subnormals);
  }
  if (counts.passed + counts.failed > 0) return counts.failed == 0 ? 0 : 1;
  const bool refused = targets.empty() && options.variant.empty() && !options.device.empty();
  if (refused) fmt::print("no {} device is here\n", options.device);
  if (!cases.empty() && (refused || counts.skipped > 0)) return kSkipped;
  fmt::print("no case ran: look at the filter, the device and the variant (`list` names the cases)\n");
  return 1;
}

}  // namespace wick::conformance
