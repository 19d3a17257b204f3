// linear-regression: finds the numbers behind noisy measurements by gradient descent.
#include <fmt/format.h>

#include <ostream>
#include <vector>

#include "wick/base/fail.h"
#include "wick/cli/flags.h"
#include "wick/cli/load_model.h"
#include "wick/nn/linear.h"
#include "wick/nn/loss.h"
#include "wick/nn/optimizer.h"

namespace wick {
namespace {

struct Options {
  int64_t steps = 300;
  int64_t samples = 256;
  uint64_t seed = 1;
  float noise = 0.05F;
  float rate = 0.1F;
  float at_most = 1e6F;
  DeviceChoice device{.name = "cpu", .trace_file = {}};
  int threads = 0;
};

// What is to be found: y = weight · x + bias, for x of three numbers and y of two.
constexpr int64_t kInputs = 3;
constexpr int64_t kOutputs = 2;
const std::vector<float> kWeight = {2, -1, 0.5, 0, 3, -2};
const std::vector<float> kBias = {1, -0.25};

void run(const Console& console, const Options& options) {
  const Device device = open_device(console, options.device, options.threads);
  device.set_seed(options.seed);
  const Tensor weight = Tensor::from_vector(kWeight, {kOutputs, kInputs}, device);
  const Tensor bias = Tensor::from_vector(kBias, {kOutputs}, device);
  const Tensor x = Tensor::randn(0, 1, {options.samples, kInputs}, DType::f32, device);
  const Tensor y =
      x.matmul(weight.t()) + bias + Tensor::randn(0, 1, {options.samples, kOutputs}, DType::f32, device) * double{options.noise};

  const nn::VarMap vars;
  const nn::Linear model = nn::linear(kInputs, kOutputs, nn::VarBuilder::from_var_map(vars, DType::f32, device));
  nn::Sgd optimizer(vars.all_vars(), double{options.rate});
  double last = 0;
  for (int64_t step = 0; step < options.steps; ++step) {
    const Tensor loss = nn::mse(model.forward(x), y);
    optimizer.backward_step(loss);
    last = loss.item();
    if (step % std::max<int64_t>(options.steps / 10, 1) == 0) console.out << fmt::format("step {:4}: loss {:.6f}\n", step, last);
  }
  console.out << fmt::format("step {:4}: loss {:.6f}\n\n       true   found\n", options.steps, last);

  const std::vector<float> found = model.weight().to_vector<float>();
  const std::vector<float> found_bias = model.bias()->to_vector<float>();
  float largest = 0;
  const auto print = [&](const std::string& name, float wanted, float value) {
    console.out << fmt::format("{:5} {:6.2f} {:7.4f}\n", name, wanted, value);
    largest = std::max(largest, std::abs(wanted - value));
  };
  for (size_t i = 0; i < found.size(); ++i) print(fmt::format("W{}{}", i / kInputs, i % kInputs), kWeight[i], found[i]);
  for (size_t i = 0; i < found_bias.size(); ++i) print(fmt::format("b{}", i), kBias[i], found_bias[i]);
  console.out << fmt::format("largest difference: {:.4f}\n", largest);
  if (!(largest <= options.at_most))
    fail(ErrorCode::invalid_argument, "--at-most {:g}: a number is off by {:.4f}", options.at_most, largest);
}

}  // namespace
}  // namespace wick

int main(int argument_count, char** arguments) {
  wick::Console console = wick::standard_console("linear-regression");
  return wick::run_guarded(console, [&] {
    wick::Options options;
    wick::Flags flags("Fits y = W x + b to noisy measurements by stochastic gradient descent and prints what it found.", console);
    flags.add_integer("--steps", "steps of gradient descent (300)", options.steps, 1, 1000000);
    flags.add_integer("--samples", "measurements (256)", options.samples, 4, 1000000);
    flags.add_decimal("--noise", "the deviation of the measurements' noise (0.05)", options.noise, 0, 100);
    flags.add_decimal("--learning-rate", "of gradient descent (0.1)", options.rate, 0, 10);
    flags.add_decimal("--at-most", "fail where a number is off by more than X", options.at_most, 0, 1e6);
    flags.add_value("--seed", "N", "of the measurements and of the first guess (1)",
                    [&](const std::string& text) { options.seed = wick::parse_seed("--seed", text); });
    wick::add_device(flags, options.device);
    wick::add_threads(flags, options.threads);
    flags.footer(wick::examples({"linear-regression", "linear-regression --noise 0.5 --samples 10000"}));
    if (flags.parse({arguments + 1, arguments + argument_count})) wick::run(console, options);
  });
}
