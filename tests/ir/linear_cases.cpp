// Products with norms, biases, residuals and experts, and sampling: the kernels that linear and its kin fuse.
#include <algorithm>
#include <cmath>
#include <random>

#include "ir/kernel_cases.h"
#include "wick/kernels/linear.h"
#include "wick/kernels/quantized_matvec.h"
#include "wick/kernels/sample.h"
#include "wick/op/sample.h"
#include "wick/quant/block_format.h"

namespace wick::ir {
namespace {

using Numbers = std::vector<double>;

// Multiples of 1/8, which f32 and f16 hold.
Numbers numbers(std::size_t count, uint32_t seed) {
  std::mt19937 random(seed);
  Numbers values(count);
  for (double& value : values) value = static_cast<double>(static_cast<int>(random() % 33) - 16) / 8;
  return values;
}

// x [rows, columns] · wᵀ [outputs, columns], row by row.
Numbers products(const Numbers& x, const Numbers& w, std::size_t columns) {
  const std::size_t outputs = w.size() / columns;
  Numbers y(x.size() / columns * outputs);
  for (std::size_t i = 0; i < y.size() * columns; ++i) {
    y[i / columns] += x[i / columns / outputs * columns + i % columns] * w[i / columns % outputs * columns + i % columns];
  }
  return y;
}

Numbers normalized(Numbers x, const Numbers& weight, double epsilon) {
  const std::size_t columns = weight.size();
  for (std::size_t first = 0; first < x.size(); first += columns) {
    double squares = 0;
    for (std::size_t i = 0; i < columns; ++i) squares += x[first + i] * x[first + i];
    for (std::size_t i = 0; i < columns; ++i) x[first + i] *= weight[i] / std::sqrt(squares / static_cast<double>(columns) + epsilon);
  }
  return x;
}

double gate_of(GateKind kind, double g, double u) {
  switch (kind) {
    case GateKind::silu: return g / (1 + std::exp(-g)) * u;
    case GateKind::gelu: return g / 2 * (1 + std::tanh(0.7978845608028654 * (g + 0.044715 * g * g * g))) * u;
    case GateKind::gelu_erf: return g / 2 * std::erfc(-g / std::sqrt(2.0)) * u;
    case GateKind::relu_sqr: return g > 0 ? g * g * u : 0;
    case GateKind::swiglu_oai: {
      const double bounded = std::min(g, 7.0);
      return bounded / (1 + std::exp(-1.702 * bounded)) * (std::clamp(u, -7.0, 7.0) + 1);
    }
  }
  return 0;
}

constexpr std::size_t kRows = 5, kColumns = 64;
constexpr uint32_t kEpsilon = 0x3a83126f;  // 0.001 in f32

void add(Numbers& y, const Numbers& bias) {
  for (std::size_t i = 0; i < y.size(); ++i) y[i] += bias[i % bias.size()];
}

// A norm, a bias and a residual about f32 weights, for three tokens where there is room for four, or one.
KernelCase fused_case(uint32_t tokens, kernels::RowAccess access, const DeviceCaps& caps, uint32_t split = 1) {
  const std::size_t count = tokens == 1 ? 1 : tokens - 1;
  const Numbers w = numbers(kRows * kColumns, 1), x = numbers(count * kColumns, 2), norm = numbers(kColumns, 3), bias = numbers(kRows, 4),
                residual = numbers(count * kRows, 5);
  Numbers y = products(normalized(x, norm, 0.001), w, kColumns);
  add(y, bias);
  add(y, residual);
  KernelCase result;
  const kernels::LinearForm form{.dtype = DType::f32, .access = access, .extras = {true, true, true}, .split = split};
  result.kernel = kernels::matvec(form, tokens, caps);
  result.name = result.kernel.name;
  const uint32_t per_group = kernels::matvec_rows_per_group(form, caps);
  result.grid = {(static_cast<uint32_t>(kRows) + per_group - 1) / per_group, 1, 1};
  for (const Numbers* values : {&w, &x, &norm, &bias, &residual}) result.buffers.push_back(input(Element::f32, *values));
  result.buffers.push_back(output(Element::f32, y, 1e-4));
  result.parameters = {0, kColumns, 1, 0, kColumns, kEpsilon, kRows, 0, static_cast<uint32_t>(count), 0};
  return result;
}

KernelCase gated_case(GateKind kind, const DeviceCaps& caps) {
  const Numbers gate = numbers(kRows * kColumns, 1), up = numbers(kRows * kColumns, 6), x = numbers(kColumns, 2), bias = numbers(kRows, 4),
                up_bias = numbers(kRows, 7);
  // Small sums, where the activations bend.
  Numbers small = x;
  for (double& value : small) value /= 16;
  Numbers g = products(small, gate, kColumns), u = products(small, up, kColumns);
  add(g, bias);
  add(u, up_bias);
  for (std::size_t i = 0; i < g.size(); ++i) g[i] = gate_of(kind, g[i], u[i]);
  KernelCase result;
  const kernels::LinearForm form{.dtype = DType::f32, .access = kernels::RowAccess::vectors, .gate = kind, .extras = {.bias = true}};
  result.kernel = kernels::matvec(form, 1, caps);
  result.name = result.kernel.name;
  const uint32_t per_group = kernels::matvec_rows_per_group(form, caps);
  result.grid = {(static_cast<uint32_t>(kRows) + per_group - 1) / per_group, 1, 1};
  for (const Numbers* values : std::initializer_list<const Numbers*>{&gate, &up, &small, &bias, &up_bias})
    result.buffers.push_back(input(Element::f32, *values));
  result.buffers.push_back(output(Element::f32, g, 1e-4, 1e-5));
  result.parameters = {0, kColumns, 1, 0, kColumns, kRows, 0, 1};
  return result;
}

// Two of three experts for each of three tokens; one id that names none.
struct Experts {
  static constexpr std::size_t count = 3, used = 2, tokens = 3;
  Numbers w = numbers(count * kRows * kColumns, 1), x = numbers(tokens * kColumns, 2), bias = numbers(count * kRows, 4),
          ids = {2, 0, 1, 3, 0, 2}, y;

  Experts() {
    for (std::size_t pair = 0; pair < ids.size(); ++pair) {
      const auto expert = static_cast<std::size_t>(ids[pair]);
      for (std::size_t row = 0; row < kRows; ++row) {
        double sum = expert < count ? bias[expert * kRows + row] : std::nan("");
        for (std::size_t c = 0; expert < count && c < kColumns; ++c)
          sum += x[pair / used * kColumns + c] * w[(expert * kRows + row) * kColumns + c];
        y.push_back(sum);
      }
    }
  }
};

KernelCase expert_case(const DeviceCaps& caps) {
  const Experts e;
  KernelCase result;
  const kernels::LinearForm form{.dtype = DType::f32, .access = kernels::RowAccess::vectors, .extras = {.bias = true}, .experts = true};
  result.kernel = kernels::matvec(form, 1, caps);
  result.name = result.kernel.name;
  const uint32_t per_group = kernels::matvec_rows_per_group(form, caps);
  result.grid = {(static_cast<uint32_t>(kRows) + per_group - 1) / per_group, 1, static_cast<uint32_t>(e.ids.size())};
  result.buffers = {input(Element::f32, e.w), input(Element::f32, e.x), input(Element::i32, e.ids), input(Element::f32, e.bias),
                    output(Element::f32, e.y, 1e-4)};
  result.parameters = {0, kColumns, 1, 0, kColumns, kRows, 0, 1, 0, Experts::count, Experts::used};
  return result;
}

KernelCase expert_blocks_case(const DeviceCaps& caps) {
  const Experts e;
  KernelCase result;
  const kernels::LinearForm form{.dtype = DType::f32, .access = kernels::RowAccess::vectors, .extras = {.bias = true}, .experts = true};
  result.kernel = kernels::linear_blocks(form, caps);
  result.name = result.kernel.name;
  // Tiles of experts 0, 1, 2 and of none; one that is not used; then the pairs.
  const Numbers plan = {0, 0, 2, 1, 2, 1, 2, 3, 2, 3, 5, 1, 0, 0, 0, 1, 4, 2, 0, 5, 3};
  result.grid = {1, 5, 1};
  result.buffers = {input(Element::f32, e.w), input(Element::f32, e.x), input(Element::u32, plan), input(Element::f32, e.bias),
                    output(Element::f32, e.y, 1e-4)};
  result.parameters = {0, kColumns, 1, 0, kColumns, kRows, 0, 6, Experts::count, Experts::used, 15};
  return result;
}

// Groups that round the norm's products to bytes by themselves.
KernelCase norm_case(const DeviceCaps& caps) {
  constexpr std::size_t columns = 512;
  const Numbers x = numbers(columns, 2), norm = numbers(columns, 3), bias = numbers(kRows, 4);
  const BlockFormat* format = find_block_format(DType::q8_0);
  std::vector<float> w;
  for (const double v : numbers(kRows * columns, 1)) w.push_back(static_cast<float>(v));
  std::vector<std::byte> blocks(static_cast<std::size_t>(storage_bytes(DType::q8_0, static_cast<int64_t>(w.size()))));
  format->pack(w, blocks.data());
  format->unpack(blocks.data(), w);
  Numbers y = products(normalized(x, norm, 0.001), Numbers(w.begin(), w.end()), columns);
  add(y, bias);
  KernelCase result;
  const kernels::ByteProducts products{{DType::q8_0}, {}, columns, 1, {.norm = true, .bias = true}};
  result.kernel = kernels::matvec_bytes(products, caps);
  result.name = result.kernel.name;
  const uint32_t per_group = kernels::rows_per_group(products, caps);
  result.grid = {(static_cast<uint32_t>(kRows) + per_group - 1) / per_group, 1, 1};
  // Bytes err by half a step of their block: of 2 · 2 / 127 at most, times 512 weights of 1 or so, which mostly cancel.
  result.buffers = {raw_input(Element::u32, std::move(blocks)), input(Element::f32, x), input(Element::f32, norm),
                    input(Element::f32, bias), output(Element::f32, y, 1.0)};
  result.parameters = {0, kEpsilon, 0, kRows, 0};
  return result;
}

KernelCase sample_case(const DeviceCaps& caps) {
  const std::size_t tokens = 300;
  const std::vector<SampleSettings> settings = {
      {0, 0, 1, 0, 5, 1},    {1, 0, 1, 0, 5, 2},    {1.25F, 40, 0.95F, 0.05F, uint64_t{7} << 33, uint64_t{3} << 32},
      {0.5F, 3, 1, 0, 9, 4}, {1, 0, 0.3F, 0, 9, 5}, {2, 0, 1, 0.5F, 9, 6},
      {1, 5, 0.5F, 0, 9, 7}};
  Numbers logits = numbers(tokens * settings.size(), 8), rows, draws, chosen;
  logits[tokens * 6 + 4] = std::nan("");
  for (std::size_t row = 0; row < settings.size(); ++row) {
    const SampleSettings& s = settings[row];
    for (const double value : {static_cast<double>(s.inverse_temperature), static_cast<double>(s.top_k), static_cast<double>(s.top_p),
                               static_cast<double>(s.min_p)})
      rows.push_back(value);
    for (const uint64_t word : {s.seed, s.number}) {
      draws.push_back(static_cast<double>(word & 0xffffffff));
      draws.push_back(static_cast<double>(word >> 32));
    }
    const auto from = logits.begin() + static_cast<std::ptrdiff_t>(row * tokens);
    const std::vector<float> own(from, from + static_cast<std::ptrdiff_t>(tokens));
    chosen.push_back(sample_token(own, s));
  }
  KernelCase result;
  result.kernel = kernels::sample(caps);
  result.name = result.kernel.name;
  result.grid = {static_cast<uint32_t>(settings.size()), 1, 1};
  result.buffers = {input(Element::f32, logits), input(Element::f32, rows), input(Element::u32, draws), output(Element::i32, chosen)};
  result.parameters = {static_cast<uint32_t>(tokens), 0, 0, 0, 0};
  return result;
}

}  // namespace

std::vector<KernelCase> linear_cases(const DeviceCaps& caps) {
  std::vector<KernelCase> cases;
  for (const kernels::RowAccess access : {kernels::RowAccess::vectors, kernels::RowAccess::elements}) {
    for (const uint32_t tokens : {1U, 4U}) cases.push_back(fused_case(tokens, access, caps));
    for (const uint32_t split : {2U, 4U}) cases.push_back(fused_case(4, access, caps, split));
  }
  for (const auto& row : kGateKinds) cases.push_back(gated_case(row.kind, caps));
  cases.push_back(expert_case(caps));
  cases.push_back(expert_blocks_case(caps));
  cases.push_back(norm_case(caps));
  cases.push_back(sample_case(caps));
  return cases;
}

}  // namespace wick::ir
