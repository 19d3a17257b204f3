// custom-op: an op of one's own in a plain loop, one pass over memory where the library's functions take two; with its gradient.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <ostream>
#include <vector>

#include "wick/base/fail.h"
#include "wick/cli/flags.h"
#include "wick/cli/load_model.h"
#include "wick/tensor/backward.h"
#include "wick/tensor/custom_op.h"
#include "wick/tensor/variable.h"

namespace wick {
namespace {

// a · sigmoid(a) · b: the gate of a feed-forward layer.
template <class T>
T gated(T a, T b) {
  return a / (T{1} + std::exp(-a)) * b;
}

template <class T>
Tensor forward_of(const CustomOperand& a, const CustomOperand& b) {
  const std::span<const T> x = a.elements<const T>();
  const std::span<const T> y = b.elements<const T>();
  std::vector<T> result(x.size());
  for (size_t i = 0; i < x.size(); ++i) result[i] = gated(x[i], y[i]);
  return Tensor::from_owned(std::move(result), a.shape(), a.device());
}

class GatedSilu final : public CustomOp2 {
 public:
  [[nodiscard]] std::string_view name() const override { return "gated_silu"; }

  Tensor cpu_forward(const CustomOperand& a, const CustomOperand& b) const override {
    if (a.shape() != b.shape()) {
      fail(ErrorCode::shape_mismatch, "gated_silu: {} and {} must be one shape", a.shape().to_string(), b.shape().to_string());
    }
    if (a.dtype() == DType::f32) return forward_of<float>(a, b);
    return forward_of<double>(a, b);  // of another dtype: dtype_mismatch
  }

  // With s = sigmoid(a): da = s (1 + a (1 - s)) b, db = a s.
  [[nodiscard]] Gradients backward(const Tensor& a, const Tensor& b, const Tensor& /*result*/, const Tensor& gradient) const override {
    const Tensor s = a.sigmoid();
    return {gradient * b * s * (1.0 + a * (1.0 - s)), gradient * a * s};
  }
};

Tensor composed(const Tensor& a, const Tensor& b) { return a.silu() * b; }

// The largest difference between the gradient and (f(x + h) - f(x - h)) / 2h, over all elements of both operands.
double check_gradient(const Device& device) {
  constexpr double kStep = 1e-5;
  const Shape shape{4, 5};
  const Var a = Var::randn(0, 1.5, shape, DType::f64, device);
  const Var b = Var::randn(0, 1.5, shape, DType::f64, device);
  const Tensor weights = Tensor::randn(0, 1, shape, DType::f64, device);
  const auto loss = [&] { return (a.tensor().apply_op2(b, GatedSilu()) * weights).sum_all(); };
  const GradStore gradients = backward(loss());
  double largest = 0;
  for (const Var* var : {&a, &b}) {
    const std::vector<double> found = gradients.get(var->tensor())->to_vector<double>();
    const std::vector<double> start = var->tensor().to_vector<double>();
    for (size_t i = 0; i < start.size(); ++i) {
      const auto moved = [&](double step) {
        std::vector<double> values = start;
        values[i] += step;
        var->set(Tensor::from_vector(values, shape, device));
        return loss().item();
      };
      largest = std::max(largest, std::abs((moved(kStep) - moved(-kStep)) / (2 * kStep) - found[i]));
    }
    var->set(Tensor::from_vector(start, shape, device));
  }
  return largest;
}

double largest_difference(const Tensor& left, const Tensor& right) { return (left - right).abs().max_all().item(); }

// Milliseconds of a call, the median of several.
double time_of(const std::function<void()>& call) {
  std::vector<double> times;
  for (int i = 0; i < 11; ++i) {
    const auto start = std::chrono::steady_clock::now();
    call();
    times.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
  }
  std::nth_element(times.begin(), times.begin() + 5, times.end());
  return times[5];
}

struct Options {
  int64_t elements = 1 << 20;
  DeviceChoice device{.name = "cpu", .trace_file = {}};
  int threads = 0;
};

void run(const Console& console, const Options& options) {
  constexpr double kTolerance = 1e-8;
  const Device device = open_device(console, options.device, options.threads);
  device.set_seed(1);
  const double wrong = check_gradient(device);
  console.out << fmt::format("gradient against finite differences: {:.1e}\n", wrong);

  const Var a = Var::randn(0, 1, {options.elements}, DType::f32, device);
  const Var b = Var::randn(0, 1, {options.elements}, DType::f32, device);
  const Tensor fused = a.tensor().apply_op2(b, GatedSilu());
  const Tensor parts = composed(a, b);
  console.out << fmt::format("result against silu(a) * b:          {:.1e}\n", largest_difference(fused.detach(), parts.detach()));
  const GradStore ours = backward(fused.sum_all());
  const GradStore theirs = backward(parts.sum_all());
  console.out << fmt::format("gradients against its gradients:     {:.1e}\n",
                             std::max(largest_difference(*ours.get(a), *theirs.get(a)), largest_difference(*ours.get(b), *theirs.get(b))));

  const Tensor x = a.as_detached_tensor();
  const Tensor y = b.as_detached_tensor();
  console.out << fmt::format("{} elements: one plain loop {:.2f} ms; the library's two functions, vectorised and threaded, {:.2f} ms\n",
                             options.elements, time_of([&] { (void)x.apply_op2(y, GatedSilu()); }), time_of([&] { (void)composed(x, y); }));
  if (!(wrong < kTolerance)) fail(ErrorCode::invalid_argument, "the gradient is off by {:.1e}", wrong);
}

}  // namespace
}  // namespace wick

int main(int argument_count, char** arguments) {
  wick::Console console = wick::standard_console("custom-op");
  return wick::run_guarded(console, [&] {
    wick::Options options;
    wick::Flags flags("Defines silu(a) * b as an op of its own, checks its gradient, and compares it with the library's two functions.",
                      console);
    flags.add_integer("--elements", "how many to time it on (1048576)", options.elements, 1, int64_t{1} << 30);
    wick::add_device(flags, options.device);
    wick::add_threads(flags, options.threads);
    flags.footer(wick::examples({"custom-op", "custom-op --elements 10000000"}));
    if (flags.parse({arguments + 1, arguments + argument_count})) wick::run(console, options);
  });
}
