// custom-kernel: a kernel of one's own, written once in C++ and compiled while the program runs for every device that it holds.
#include <wick/kernel.h>
#include <wick/wick.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <map>
#include <string>
#include <vector>

using namespace wick;

namespace {

constexpr float kEpsilon = 1e-5F;
constexpr double kTolerance = 1e-4;

// Between two layers of a transformer: sum = x + residual, y = sum / √(mean(sum²) + epsilon) · weight; a group of lanes for each row.
ir::Kernel add_rms_norm(const DeviceCaps& caps) {
  const ir::KernelOptions options = kernels::group_options(caps, 128);
  ir::KernelBuilder k("add_rms_norm", options);
  const ir::Memory x = k.buffer("x", ir::Element::f32), residual = k.buffer("residual", ir::Element::f32),
                   weight = k.buffer("weight", ir::Element::f32);
  const ir::Memory sum = k.output("sum", ir::Element::f32), y = k.output("y", ir::Element::f32);
  const ir::Value columns = k.parameter("columns", ir::Type::u32), epsilon = k.parameter("epsilon", ir::Type::f32);

  const ir::Value row = k.group_id() * columns;
  const auto each_column = [&](const std::function<void(ir::Value)>& body) { k.loop(k.local_id(), columns, options.group_size, body); };
  ir::Variable squares = k.variable(0.0F);
  each_column([&](const ir::Value& i) {
    const ir::Value added = x[row + i] + residual[row + i];
    sum[row + i] = added;
    squares = squares + added * added;
  });
  kernels::GroupReduce reduce(k);
  const ir::Value scale = 1.0 / kernels::sqrt(reduce(ir::Reduce::add, squares) / cast(ir::Type::f32, columns) + epsilon);
  each_column([&](const ir::Value& i) { y[row + i] = sum[row + i] * scale * weight[i]; });
  return k.finish();
}

double largest_difference(const Tensor& left, const Tensor& right) { return (left - right).abs().max_all().item(); }

// Milliseconds of a call, the median of several; the first one, which compiles, does not count.
double time_of(const Device& device, const std::function<void()>& call) {
  std::vector<double> times;
  for (int i = 0; i < 6; ++i) {
    device.synchronize();
    const auto start = std::chrono::steady_clock::now();
    call();
    device.synchronize();
    if (i > 0) times.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
  }
  std::nth_element(times.begin(), times.begin() + 2, times.end());
  return times[2];
}

// One line of the table. Gives the largest difference.
double run_on(const Device& device, int64_t rows, int64_t columns) {
  device.set_seed(1);
  const Tensor x = Tensor::randn({rows, columns}, DType::f32, device), residual = x.randn_like(0, 1);
  const Tensor weight = Tensor::rand(0.5, 1.5, {columns}, DType::f32, device);
  const Tensor sum = x.empty_like(), y = x.empty_like();

  const CompiledKernel kernel(add_rms_norm(device.caps()), device);
  const ir::Grid grid{static_cast<uint32_t>(rows), 1, 1};
  const auto fused = [&] { kernel.launch(grid, {x, residual, weight, sum, y}, {static_cast<uint32_t>(columns), kEpsilon}); };
  const auto parts = [&] { return rms_norm(x + residual, weight, kEpsilon); };

  const double fused_time = time_of(device, fused), parts_time = time_of(device, [&] { (void)parts(); });
  const double difference = std::max(largest_difference(sum, x + residual), largest_difference(y, parts()));
  std::printf("%-12s %18.1e %12.3f %12.3f  %s\n", device.location().to_string().c_str(), difference, fused_time, parts_time,
              device.caps().name.c_str());
  return difference;
}

}  // namespace

// Runs x + residual and its RMS norm as one kernel on every device of this program, beside the library's own functions. The CPU runs it in
// the interpreter: right, but slow.
int main(int argc, char** argv) try {
  std::map<std::string, int64_t> options = {{"--rows", 64}, {"--columns", 1024}};
  for (int i = 1; i < argc; i += 2) {
    const auto option = options.find(argv[i]);
    if (option == options.end() || i + 1 == argc) {
      std::fprintf(stderr, "usage: custom-kernel [--rows N] [--columns N]\n");
      return 2;
    }
    option->second = std::stoll(argv[i + 1]);
  }
  std::printf("%-12s %18s %12s %12s\n", "device", "largest difference", "kernel, ms", "library, ms");
  double largest = 0;
  for (const Backend* backend : linked_backends()) {
    for (const DeviceInfo& found : backend->probe()) {
      largest = std::max(largest, run_on(Device::open({backend->kind, found.index}), options["--rows"], options["--columns"]));
    }
  }
  return largest < kTolerance ? 0 : 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "error: %s\n", error.what());
  return 2;
}
