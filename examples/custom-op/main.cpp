// custom-op: an op of one's own in a plain loop, one pass over memory where the library's functions take two; with its gradient.
#include <wick/wick.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

using namespace wick;

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
      throw Error(ErrorCode::shape_mismatch,
                  "gated_silu: " + a.shape().to_string() + " and " + b.shape().to_string() + " must be one shape");
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

// Whether the gradient is right.
bool run(int64_t elements) {
  constexpr double kTolerance = 1e-8;
  const Device device = Device::cpu();
  device.set_seed(1);
  const double wrong = check_gradient(device);
  std::printf("gradient against finite differences: %.1e\n", wrong);

  const Var a = Var::randn(0, 1, {elements}), b = Var::randn(0, 1, {elements});
  const Tensor fused = a.tensor().apply_op2(b, GatedSilu());
  const Tensor parts = composed(a, b);
  std::printf("result against silu(a) * b:          %.1e\n", largest_difference(fused.detach(), parts.detach()));
  const GradStore ours = backward(fused.sum()), theirs = backward(parts.sum());
  std::printf("gradients against its gradients:     %.1e\n",
              std::max(largest_difference(ours[a], theirs[a]), largest_difference(ours[b], theirs[b])));

  const Tensor x = a.as_detached_tensor(), y = b.as_detached_tensor();
  std::printf("%ld elements: one plain loop %.2f ms; the library's two functions, vectorised and threaded, %.2f ms\n",
              static_cast<long>(elements), time_of([&] { (void)x.apply_op2(y, GatedSilu()); }), time_of([&] { (void)composed(x, y); }));
  return wrong < kTolerance;
}

}  // namespace

int main(int argc, char** argv) try {
  int64_t elements = 1 << 20;
  if (argc == 3 && std::string(argv[1]) == "--elements") {
    elements = std::stoll(argv[2]);
  } else if (argc != 1) {
    std::fprintf(stderr, "usage: custom-op [--elements N]\n");
    return 2;
  }
  return run(elements) ? 0 : 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "error: %s\n", error.what());
  return 2;
}
