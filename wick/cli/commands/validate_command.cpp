
#include <algorithm>
#include <optional>
#include <ostream>

#include "wick/base/fail.h"
#include "wick/base/json.h"
#include "wick/cli/commands/wick_command.h"
#include "wick/cli/flags/flags.h"
#include "wick/cli/hub/model_path.h"
#include "wick/cli/measure/model_statistics.h"
#include "wick/cli/progress_bar.h"
#include "wick/formats/printable.h"
#include "wick/formats/safetensors_dtype.h"

namespace wick {
namespace {

using Json = nlohmann::ordered_json;

struct CheckedTensor {
  TensorStatistics statistics;
  std::vector<std::string> violations;
};

Json describe(const CheckedTensor& checked) {
  const TensorStatistics& statistics = checked.statistics;
  return {{"name", statistics.name},
          {"kind", to_string(statistics.kind)},
          {"type", file_type_name(statistics.dtype)},
          {"elements", statistics.elements},
          {"rms", statistics.rms},
          {"mean", statistics.mean},
          {"min", statistics.minimum},
          {"max", statistics.maximum},
          {"zeros", statistics.zeros},
          {"nonfinite", statistics.nonfinite},
          {"violations", checked.violations}};
}

void print_table(const Console& console, const std::vector<CheckedTensor>& all, bool every_tensor) {
  console.out << fmt::format("{:<34} {:<10} {:<8} {:>11} {:>11} {:>10} {:>10} {:>7}\n", "tensor", "kind", "type", "rms", "mean", "min",
                             "max", "zeros");
  for (const auto& [statistics, violations] : all) {
    const bool shown =
        every_tensor || !violations.empty() || statistics.kind == TensorKind::norm || statistics.kind == TensorKind::projection;
    if (!shown) continue;
    const std::string name = printable(statistics.name);
    console.out << fmt::format("{:<34} {:<10} {:<8} {:>11.5g} {:>11.4g} {:>10.4g} {:>10.4g} {:>6.2f}%\n", name.substr(1, name.size() - 2),
                               to_string(statistics.kind), file_type_name(statistics.dtype), statistics.rms, statistics.mean,
                               statistics.minimum, statistics.maximum, 100 * statistics.zeros);
    for (const std::string& violation : violations) console.out << "  ! " << violation << '\n';
  }
}

// A rule that finds no tensor checks nothing, which the user should know. Errors: invalid_argument where none finds one.
void check_rules(const Console& console, const Policy& policy, const Checkpoint& file) {
  std::vector<size_t> found(policy.rules.size());
  for (const CheckpointTensor& tensor : file.tensors()) {
    if (const std::optional<size_t> number = rule_of(policy, tensor.name)) ++found[*number];
  }
  const std::string example = file.tensors().empty() ? "" : fmt::format(", such as {}", printable(file.tensors().front().name));
  if (std::all_of(found.begin(), found.end(), [](size_t count) { return count == 0; })) {
    fail(ErrorCode::invalid_argument, "{}: no rule matches the name of a tensor of {}{}; nothing would be checked", policy.name,
         file.name(), example);
  }
  for (size_t number = 0; number < found.size(); ++number) {
    if (found[number] > 0) continue;
    console.warn(fmt::format("{}: rule {} matches no tensor that an earlier rule does not match", policy.name,
                             printable(policy.rules[number].pattern)));
  }
}

}  // namespace

void validate_command(Console& console, const Arguments& arguments) {
  std::string model;
  std::string policy_file;
  bool all_tensors = false;
  bool json = false;
  Flags flags(
      "Checks the numbers in a model file: no NaN or infinity anywhere, and the root mean square of norms and projections within the "
      "bounds "
      "of a policy. A file with wrong scales or a damaged norm is found without running it.",
      console);
  flags.add_argument("MODEL", "a GGUF model, a folder with one, or a Hugging Face folder", model).required().path();
  flags.add_text("--policy", "FILE",
                 "JSON with rules, {\"rules\": [{\"tensors\": REGEX, \"rms\": [LOW, HIGH], \"mean\": [LOW, HIGH], \"zeros\": SHARE}]}; the "
                 "first rule whose REGEX matches a tensor's name applies (RMS of norms 0.001 to 100, of matrices 0.00001 to 10)",
                 policy_file);
  flags.add_switch("--all", "show embeddings and other tensors too", all_tensors);
  add_json(flags, json);
  add_verbosity(flags, console);
  flags.examples({"wick validate model.gguf", "wick validate model.gguf --policy bitnet.json --json"});
  if (!flags.parse(arguments)) return;
  const Policy policy = policy_file.empty() ? builtin_policy() : read_policy(policy_file);
  const Checkpoint file = Checkpoint::open(resolve_model(console, model));
  if (!policy_file.empty()) check_rules(console, policy, file);
  std::vector<CheckedTensor> all;
  size_t bad = 0;
  {
    ProgressBar bar(console, "validating");
    for (const CheckpointTensor& tensor : file.tensors()) {
      TensorStatistics statistics = statistics_of(tensor);
      std::vector<std::string> found = violations(policy, statistics);
      bad += found.empty() ? 0 : 1;
      all.push_back({std::move(statistics), std::move(found)});
      bar.update(all.size(), file.tensors().size());
    }
  }
  if (json) {
    Json result = {{"file", file.name()}, {"policy", policy.name}, {"valid", bad == 0}, {"tensors", Json::array()}};
    for (const CheckedTensor& checked : all) result["tensors"].push_back(describe(checked));
    console.out << json_text(result, 2) << '\n';
  } else {
    print_table(console, all, all_tensors);
    if (bad == 0) console.out << fmt::format("valid: {} tensors by the {} policy\n", all.size(), policy.name);
  }
  if (bad > 0) {
    fail(ErrorCode::corrupt_file, "{}: {} of {} tensors break the {} policy; get the file again, or judge it by another --policy",
         file.name(), bad, all.size(), policy.name);
  }
}

}  // namespace wick
