// wick_golden_tests: every golden case on every linked device that has values; one test for each op.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <exception>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "goldens/golden.h"
#include "goldens/ops.h"
#include "goldens/tolerance.h"
#include "wick/device/registry.h"
#include "wick/tensor/backward.h"
#include "wick/tensor/variable.h"

namespace wick::goldens {

const Run* find_op(std::string_view name) {
  static const OpTable table = [] {
    OpTable ops;
    add_elementwise_ops(ops);
    add_reduce_ops(ops);
    add_index_ops(ops);
    add_move_ops(ops);
    add_product_ops(ops);
    add_network_ops(ops);
    return ops;
  }();
  const auto found = table.find(name);
  return found == table.end() ? nullptr : &found->second;
}

namespace {

// Failures of an op beyond these are only counted.
constexpr int kMaxMessages = 12;

std::vector<Device> devices_with_values() {
  std::vector<Device> devices;
  for (const Backend* backend : linked_backends()) {
    if (backend->kind == DeviceKind::null) continue;
    for (const DeviceInfo& info : backend->probe()) devices.push_back(Device::open({backend->kind, info.index}));
  }
  return devices;
}

// Throws what the library throws; returns what is wrong.
class Trial {
 public:
  Trial(const Case& entry, const Device& device) : case_(entry), device_(device), run_(*find_op(entry.op)) {}

  std::string check() {
    for (size_t i = 0; i < case_.inputs.size(); ++i) {
      const InputSpec& spec = case_.inputs[i];
      leaves_.push_back(drawn(fmt::format("{}", i), spec.values, spec.dtype, spec.shape));
    }
    check_results(run_(case_.parameters, views(leaves_)), "result");
    if (!case_.gradients.empty()) check_gradients();
    return wrong_;
  }

 private:
  Tensor drawn(const std::string& label, const nlohmann::json& values, DType dtype, const Shape& shape) const {
    return Tensor::from_bytes(draw(case_.name, label, values, dtype, shape.elements()), shape, dtype, device_);
  }

  Tensors views(const Tensors& leaves) const {
    Tensors result;
    for (size_t i = 0; i < leaves.size(); ++i) result.push_back(apply_view(leaves[i], case_.inputs[i].view));
    return result;
  }

  void check_results(const Tensors& results, const char* what) {
    if (results.size() != case_.outputs.size()) {
      wrong_ += fmt::format("{} results, expected {}; ", results.size(), case_.outputs.size());
      return;
    }
    for (size_t i = 0; i < results.size(); ++i) {
      compare(Quantity::result, case_.outputs[i], results[i], fmt::format("{} {}", what, i));
    }
  }

  void compare(Quantity quantity, const Expected& expected, const Tensor& actual, const std::string& what) {
    if (const std::optional<std::string> text = difference(case_, quantity, expected, actual)) wrong_ += what + " " + *text + "; ";
  }

  // Σ seed · tensor, the seeds being drawn for `<label><number>`.
  static void add_to(std::optional<Tensor>& loss, const Tensor& tensor, const Tensor& seed) {
    const Tensor part = (tensor * seed).sum_all();
    loss = loss ? *loss + part : part;
  }

  void check_gradients() {
    std::vector<Var> variables;
    Tensors tracked;
    for (size_t i = 0; i < leaves_.size(); ++i) {
      tracked.push_back(leaves_[i]);
      if (!case_.gradients[i]) continue;
      variables.push_back(Var::from_tensor(leaves_[i]));
      tracked[i] = variables.back().tensor();
    }
    const Tensors results = run_(case_.parameters, views(tracked));
    check_results(results, "tracked result");
    std::optional<Tensor> loss;
    for (size_t i = 0; i < results.size(); ++i) {
      if (!is_float(results[i].dtype())) continue;
      add_to(loss, results[i], drawn(fmt::format("up{}", i), upstream_values(results[i].dtype()), results[i].dtype(), results[i].shape()));
    }
    const bool second = !case_.second_gradients.empty();
    const GradStore gradients = backward(*loss, {.create_graph = second});
    Tensors firsts = compare_gradients(gradients, tracked, case_.gradients, Quantity::gradient, "gradient");
    if (second && wrong_.empty()) check_second_gradients(firsts, tracked);
  }

  // The gradients that are expected; zeros where nothing flowed.
  Tensors compare_gradients(const GradStore& store, const Tensors& tracked, const std::vector<std::optional<Expected>>& expected,
                            Quantity quantity, const char* what) {
    Tensors found;
    for (size_t i = 0; i < expected.size(); ++i) {
      if (!expected[i]) continue;
      found.push_back(store.get(tracked[i]).value_or(leaves_[i].zeros_like()));
      compare(quantity, *expected[i], found.back(), fmt::format("{} {}", what, i));
    }
    return found;
  }

  void check_second_gradients(const Tensors& firsts, const Tensors& tracked) {
    std::optional<Tensor> loss;
    size_t at = 0;
    for (size_t i = 0; i < tracked.size(); ++i) {
      if (!case_.gradients[i]) continue;
      const Tensor& first = firsts[at++];
      add_to(loss, first, drawn(fmt::format("second{}", i), upstream_values(first.dtype()), first.dtype(), first.shape()));
    }
    // A gradient that depends on no variable (of a sum) is not tracked; its own gradients are zeros.
    const GradStore store = loss->is_tracked() ? backward(*loss) : GradStore();
    compare_gradients(store, tracked, case_.second_gradients, Quantity::second_gradient, "second gradient");
  }

  const Case& case_;
  const Device& device_;
  const Run& run_;
  Tensors leaves_;
  std::string wrong_;
};

std::string outcome(const Case& entry, const Device& device) {
  try {
    return Trial(entry, device).check();
  } catch (const std::exception& error) {
    return fmt::format("threw: {}", error.what());
  }
}

std::vector<std::string> op_names() {
  std::set<std::string> names;
  for (const Case& entry : all_cases()) names.insert(entry.op);
  return {names.begin(), names.end()};
}

class Goldens : public testing::TestWithParam<std::string> {};

TEST_P(Goldens, Agree) {
  ASSERT_NE(find_op(GetParam()), nullptr) << "the files have this op, the tables in ops_*.cpp have not";
  int failures = 0;
  int runs = 0;
  for (const Device& device : devices_with_values()) {
    for (const Case& entry : all_cases()) {
      if (entry.op != GetParam()) continue;
      ++runs;
      const std::string wrong = outcome(entry, device);
      if (wrong.empty()) continue;
      if (++failures <= kMaxMessages) ADD_FAILURE() << entry.name << " on " << device.location().to_string() << ": " << wrong;
    }
  }
  EXPECT_EQ(failures, 0) << "of " << runs << " cases";
  EXPECT_GT(runs, 0);
}

INSTANTIATE_TEST_SUITE_P(Ops, Goldens, testing::ValuesIn(op_names()), [](const auto& info) { return info.param; });

}  // namespace
}  // namespace wick::goldens
