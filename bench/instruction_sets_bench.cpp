// Times what the CPU backend compiles for each instruction set, on all sets that this machine runs: products with each weight format for
// one, a few and many rows, the loops over numbers of each type, and ops by index. Prints one line a case, "name microseconds", the best of
// several samples by one thread.
//   wick_instruction_sets_bench [PART OF A NAME] [--turns]
// --turns: prints the name of a case, then takes one sample for each line of input that is not empty; bench/compare_builds runs two builds
// so, in turns.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <iostream>
#include <random>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "wick/backend/cpu/simd/simd_kernels.h"
#include "wick/device/device.h"
#include "wick/tensor/ops/linear.h"
#include "wick/tensor/ops/normalize.h"
#include "wick/tensor/tensor.h"

namespace wick {
namespace {

using Clock = std::chrono::steady_clock;
using Action = std::function<void()>;

std::string_view wanted;
bool in_turns = false;

double microseconds_of(const Action& action, int calls) {
  const auto begin = Clock::now();
  for (int call = 0; call < calls; ++call) action();
  return std::chrono::duration<double, std::micro>(Clock::now() - begin).count() / calls;
}

// Samples of at least kSample microseconds.
void time(const std::string& name, const Action& action) {
  constexpr double kSample = 100;
  constexpr int kSamples = 5;
  if (name.find(wanted) == std::string::npos) return;
  double best = std::min(microseconds_of(action, 1), microseconds_of(action, 1));
  const int calls = std::clamp(static_cast<int>(kSample / std::max(best, 0.01)), 1, 2000);
  if (in_turns) {
    std::cout << name << std::endl;
    for (std::string line; std::getline(std::cin, line) && !line.empty();) std::cout << microseconds_of(action, calls) << std::endl;
    return;
  }
  for (int sample = 0; sample < kSamples; ++sample) best = std::min(best, microseconds_of(action, calls));
  std::cout << name << ' ' << best << std::endl;
}

Device device_of(cpu::InstructionSet set) {
  return Device::open({DeviceKind::cpu, 0}, {.threads = 1, .variant = std::string(to_string(set))});
}

// Blocks of any bits: kernels take as long for them as for others.
Tensor random_weight(const Shape& shape, DType dtype, const Device& device) {
  std::mt19937 random(1);
  std::vector<std::byte> bytes(static_cast<size_t>(tensor_bytes(dtype, shape.elements())));
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random() & 0x3f);
  return Tensor::from_bytes(bytes, shape, dtype, device);
}

void time_weights(cpu::InstructionSet set) {
  constexpr int64_t kOutputs = 128;  // so that weights of each format stay in the second-level cache
  constexpr int64_t kInputs = 2048;
  const Device device = device_of(set);
  for (int id = static_cast<int>(DType::bf16); id < kDTypeCount; ++id) {
    const auto dtype = static_cast<DType>(id);
    const bool none = dtype == DType::f64 || dtype == DType::f8e4m3 || dtype == DType::q8_1 || dtype == DType::q8_k;
    const std::string name = fmt::format("{}/linear/{}", to_string(set), to_string(dtype));
    if (none || (!wanted.empty() && wanted.find("linear") == std::string_view::npos && name.find(wanted) == std::string::npos)) continue;
    const Tensor weight = random_weight({kOutputs, kInputs}, dtype, device);
    prepare_weight(weight);
    device.runtime().finish_preparing();
    for (const int64_t rows : {1, 2, 4, 8, 12, 24, 32}) {
      const Tensor x = Tensor::full({rows, kInputs}, 0.5, DType::f32, device);
      time(fmt::format("{}/{}", name, rows), [&] { (void)linear(x, weight); });
    }
  }
}

template <class T>
std::vector<T> numbers(size_t count) {
  std::mt19937 random(2);
  std::vector<T> values(count);
  for (T& value : values) value = static_cast<T>(1 + random() % 5);
  return values;
}

template <class T>
void time_numbers(const std::string& set, const cpu::NumberLoops<T>& loops) {
  constexpr size_t kMax = 4096;
  const std::string type = fmt::format("{}{}", std::is_floating_point_v<T> ? "f" : std::is_signed_v<T> ? "i" : "u", 8 * sizeof(T));
  const std::vector<T> x = numbers<T>(kMax);
  const std::vector<T> y(x.rbegin(), x.rend());
  std::vector<T> out(kMax);
  std::vector<uint8_t> flags(kMax);
  std::vector<double> wide(kMax);
  std::vector<uint32_t> places(kMax);
  for (const size_t n : {kMax, size_t{100}}) {
    const auto name = [&](const char* loop, std::string_view kind) {
      return fmt::format("{}/loops/{}/{}/{}/{}", set, type, loop, kind, n);
    };
    for (size_t kind = 0; kind < loops.unary.size(); ++kind) {
      if (loops.unary[kind] != nullptr)
        time(name("unary", kUnaryKinds[kind].name), [&] { loops.unary[kind](x.data(), out.data(), n, 1, 3); });
    }
    for (size_t kind = 0; kind < loops.binary.size(); ++kind) {
      for (size_t splat = 0; splat < cpu::kSplats; ++splat) {
        const cpu::BinaryLoop<T> loop = loops.binary[kind][splat];
        if (loop == nullptr) continue;
        time(name("binary", fmt::format("{}{}", kBinaryKinds[kind].name, splat)), [&] { loop(x.data(), y.data(), out.data(), n); });
      }
    }
    for (size_t kind = 0; kind < loops.compare.size(); ++kind) {
      for (size_t splat = 0; splat < 2; ++splat) {
        time(name("compare", fmt::format("{}{}", kCompareKinds[kind].name, splat)),
             [&] { loops.compare[kind][splat](x.data(), y.data(), flags.data(), n); });
      }
    }
    for (size_t to = 0; to < loops.convert.size(); ++to) {
      time(name("convert", std::to_string(to)), [&] { loops.convert[to](x.data(), wide.data(), n); });
    }
    time(name("to_odd", ""), [&] { loops.to_odd(x.data(), reinterpret_cast<float*>(wide.data()), n); });
    [[maybe_unused]] volatile double sink = 0;
    time(name("sum", ""), [&] { sink = static_cast<double>(loops.sum(x.data(), n)); });
    time(name("smallest", ""), [&] { sink = static_cast<double>(loops.smallest(x.data(), n)); });
    time(name("largest", ""), [&] { sink = static_cast<double>(loops.largest(x.data(), n)); });
    time(name("add_row", ""), [&] { loops.add_row(x.data(), out.data(), n); });
    time(name("smallest_row", ""), [&] { loops.smallest_row(x.data(), out.data(), n); });
    time(name("largest_place", ""), [&] { loops.largest_place(x.data(), out.data(), places.data(), 1, n); });
  }
}

template <class T>
void time_rows(const std::string& set, const cpu::RowLoops<T>& loops) {
  const std::vector<T> x = numbers<T>(4096);
  std::vector<T> out(4096);
  for (const size_t n : {size_t{4096}, size_t{100}}) {
    const auto name = [&](const char* loop) { return fmt::format("{}/rows/f{}/{}/{}", set, 8 * sizeof(T), loop, n); };
    [[maybe_unused]] volatile double sink = 0;
    time(name("exp_and_sum"), [&] { sink = loops.exp_and_sum(x.data(), T{5}, out.data(), n); });
    time(name("scale"), [&] { loops.scale(x.data(), T{2}, out.data(), n); });
    time(name("sum_of_squares"), [&] { sink = loops.sum_of_squares(x.data(), T{2}, n); });
    time(name("normalize"), [&] { loops.normalize(x.data(), {T{2}, T{3}, x.data()}, out.data(), n); });
    time(name("rotate_neighbours"), [&] { loops.rotate_neighbours(x.data(), x.data(), x.data(), out.data(), n / 2); });
    time(name("rotate_halves"), [&] { loops.rotate_halves(x.data(), x.data(), x.data(), out.data(), n / 2); });
  }
}

template <class Condition>
void time_choices(const std::string& set, const cpu::ChooseLoops<Condition>& loops) {
  constexpr size_t kCount = 4096;
  std::vector<Condition> conditions(kCount);
  for (size_t i = 0; i < kCount; ++i) conditions[i] = static_cast<Condition>(i % 3 == 0);
  const std::vector<uint64_t> x = numbers<uint64_t>(kCount);
  std::vector<uint64_t> out(kCount);
  for (size_t size = 0; size < loops.size(); ++size) {
    for (size_t splats = 0; splats < 4; ++splats) {
      const cpu::ChoiceSteps steps{1, splats & 1, splats >> 1};
      time(fmt::format("{}/loops/choose/{}/{}/{}", set, sizeof(Condition), size, splats),
           [&] { loops[size](conditions.data(), x.data(), x.data(), out.data(), steps, kCount); });
    }
  }
}

void time_loops(cpu::InstructionSet set) {
  const cpu::SimdKernels& kernels = cpu::simd_kernels(set);
  const std::string name(to_string(set));
  std::apply([&](const auto&... loops) { (time_numbers(name, loops), ...); }, kernels.number_loops);
  std::apply([&](const auto&... loops) { (time_rows(name, loops), ...); }, kernels.row_loops);
  time_choices(name, kernels.choose_u8);
  time_choices(name, kernels.choose_u32);
  time_choices(name, kernels.choose_i64);
}

void time_index_ops(const std::string& name, const Tensor& x, const Device& device) {
  const int64_t rows = x.shape()[0];
  const int64_t columns = x.shape()[1];
  const Tensor ids = Tensor::rand(0, 250, {rows, columns}, DType::f64, device).to_dtype(DType::u32);
  const Tensor row_ids = Tensor::rand(0, static_cast<double>(rows), {rows}, DType::f64, device).to_dtype(DType::i64);
  for (const int dim : {0, 1}) {
    const auto label = [&](const char* op) { return fmt::format("{}/{}/dim{}", name, op, dim); };
    time(label("gather"), [&] { (void)x.gather(ids, dim); });
    time(label("index_select"), [&] { (void)x.index_select(row_ids, dim); });
    time(label("scatter"), [&] { (void)x.scatter(ids, x, dim); });
    time(label("scatter_add"), [&] { (void)x.scatter_add(ids, x, dim); });
    time(label("index_add"), [&] { (void)x.index_add(row_ids, x, dim); });
    time(label("cumsum"), [&] { (void)x.cumsum(dim); });
    time(label("sum"), [&] { (void)x.sum({dim}); });
    time(label("max"), [&] { (void)x.max({dim}); });
    time(label("argmax"), [&] { (void)x.argmax(dim); });
  }
  time(name + "/sort", [&] { (void)x.sort_last_dim(true); });
  time(name + "/topk", [&] { (void)x.topk(40); });
  const Tensor image = x.reshape({1, 1, rows, columns});
  time(name + "/max_pool", [&] { (void)image.max_pool2d({2, 2}); });
  if (is_float(x.dtype())) time(name + "/avg_pool", [&] { (void)image.avg_pool2d({2, 2}); });
}

// Of the best set, for few dtypes: one of each size, and one that passes through f32.
void time_ops(cpu::InstructionSet set) {
  const Device device = device_of(set);
  for (const DType dtype : {DType::u8, DType::i32, DType::i64, DType::bf16, DType::f32, DType::f64}) {
    const Tensor x = Tensor::rand(0, 100, {256, 256}, DType::f32, device).to_dtype(dtype);
    time_index_ops(fmt::format("{}/ops/{}", to_string(set), to_string(dtype)), x, device);
  }
  const Tensor x = Tensor::rand(0, 1, {256, 256}, DType::f32, device);
  time(fmt::format("{}/ops/f32/matmul", to_string(set)), [&] { (void)x.matmul(x); });
  time(fmt::format("{}/ops/f32/softmax", to_string(set)), [&] { (void)softmax(x, 1); });
}

}  // namespace
}  // namespace wick

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--turns") {
      wick::in_turns = true;
    } else {
      wick::wanted = argument;
    }
  }
  const std::vector<wick::cpu::InstructionSet> sets = wick::cpu::usable_instruction_sets();
  for (const wick::cpu::InstructionSet set : sets) {
    wick::time_weights(set);
    wick::time_loops(set);
  }
  wick::time_ops(sets.back());
  return 0;
}
