// linear-regression: finds the numbers behind noisy measurements by gradient descent.
#include <wick/wick.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

using namespace wick;

namespace {

using Options = std::map<std::string, double>;

// What is to be found: y = weight · x + bias, for x of three numbers and y of two.
constexpr int64_t kInputs = 3;
constexpr int64_t kOutputs = 2;
const std::vector<float> kWeight = {2, -1, 0.5, 0, 3, -2};
const std::vector<float> kBias = {1, -0.25};

// The largest difference between the numbers that were found and those that are true.
double run(Options options) {
  const Device device = Device::cpu();
  device.set_seed(static_cast<uint64_t>(options["--seed"]));
  const auto samples = static_cast<int64_t>(options["--samples"]);
  const Tensor weight = Tensor::from_vector(kWeight, {kOutputs, kInputs});
  const Tensor bias = Tensor::from_vector(kBias, {kOutputs});
  const Tensor x = Tensor::randn({samples, kInputs});
  const Tensor y = x.matmul(weight.t()) + bias + Tensor::randn({samples, kOutputs}) * options["--noise"];

  const nn::Linear model(kInputs, kOutputs);
  nn::Sgd optimizer(model.parameters(), options["--learning-rate"]);
  const auto steps = static_cast<int64_t>(options["--steps"]);
  for (int64_t step = 0; step < steps; ++step) {
    const Tensor loss = nn::mse(model.forward(x), y);
    optimizer.backward_step(loss);
    if (step % std::max<int64_t>(steps / 10, 1) == 0) std::printf("step %4ld: loss %.6f\n", static_cast<long>(step), loss.item());
  }

  std::printf("\n         true   found\n");
  double largest = 0;
  const auto compare = [&](const char* name, const std::vector<float>& wanted, const Tensor& tensor) {
    const std::vector<float> found = tensor.to_vector<float>();
    for (size_t i = 0; i < wanted.size(); ++i) {
      std::printf("%s[%zu] %6.2f %7.4f\n", name, i, static_cast<double>(wanted[i]), static_cast<double>(found[i]));
      largest = std::max(largest, std::abs(static_cast<double>(wanted[i]) - static_cast<double>(found[i])));
    }
  };
  compare("weight", kWeight, model.weight());
  compare("bias  ", kBias, *model.bias());
  std::printf("largest difference: %.4f\n", largest);
  return largest;
}

}  // namespace

int main(int argc, char** argv) try {
  Options options = {{"--steps", 300}, {"--samples", 256}, {"--noise", 0.05}, {"--learning-rate", 0.1}, {"--seed", 1}, {"--at-most", 1e6}};
  for (int i = 1; i < argc; i += 2) {
    const auto option = options.find(argv[i]);
    if (option == options.end() || i + 1 == argc) {
      std::fprintf(stderr, "usage: linear-regression [--steps N] [--samples N] [--noise X] [--learning-rate X] [--seed N] [--at-most X]\n");
      return 2;
    }
    option->second = std::stod(argv[i + 1]);
  }
  return run(options) <= options["--at-most"] ? 0 : 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "error: %s\n", error.what());
  return 2;
}
