// linear and gated_linear: every weight dtype, odd numbers of rows, several weights at once, prepared or not, activations exact and
// rounded.
#include "wick/tensor/ops/linear.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "conformance/case.h"
#include "conformance/cases/linear_bounds.h"
#include "wick/quant/block_format.h"

namespace wick::conformance {
namespace {

// Activations as a model has them: most are small, and each row has its own size.
Tensor activations(Trial& trial, const Shape& shape, View view = View::contiguous) { return trial.input(shape, DType::f32, view, {-2, 2}); }

// The bound above is what the worst signs would give; over many elements the error must also have the size of independent roundings.
void expect_usual_error(Trial& trial, const Tensor& x, const Tensor& weight, const Tensor& result) {
  constexpr size_t kEnough = 16;
  if (!trial.has_values() || static_cast<size_t>(result.elements()) < kEnough) return;
  const std::vector<ReferenceTensor> inputs = {trial.values_of(x), trial.values_of(weight)};
  std::vector<ReferenceTensor> expected = {{result.shape(), std::vector<double>(static_cast<size_t>(result.elements()))}};
  const LinearParams params;
  rule(OpId::linear).reference(&params, inputs, expected);
  const std::vector<double> deviation = activation_rounding_deviation(inputs[0], inputs[1], activation_block(weight.dtype()));
  const std::vector<double> exact = product_bound(OpId::linear, &params, 0x1p-24, inputs[0].shape.last(), inputs, expected[0].shape);
  const ReferenceTensor got = trial.values_of(result);
  double squares = 0;
  for (size_t i = 0; i < got.values.size(); ++i) {
    const double allowed = deviation[i] + exact[i];
    if (allowed > 0) squares += std::pow((got.values[i] - expected[0].values[i]) / allowed, 2);
  }
  const double usual = std::sqrt(squares / static_cast<double>(got.values.size()));
  // The weights' rows resemble each other where a format has offsets, so the errors of one row of x may all go one way: what is independent
  // is its rows.
  const double rows = static_cast<double>(x.elements()) / static_cast<double>(x.shape().last());
  trial.expect_true(usual < 2 + 2 / std::sqrt(rows),
                    fmt::format("errors are {:.3g} times as large as rounding activations to 8 bits explains", usual));
}

std::string name_of(const Shape& x, int64_t n, const LinearParams& params, const std::string& note) {
  return fmt::format("{}/n {}{}{}", x.to_string(), n, params.precise ? "/precise" : "", note);
}

void add_linear(CaseList& list, DType dtype, const Shape& shape, int64_t n, bool precise, View view = View::contiguous) {
  const LinearParams params{precise};
  const std::string note = view == View::contiguous ? "" : fmt::format("/x {}", to_string(view));
  list.add(OpId::linear, dtype, name_of(shape, n, params, note), [=](Trial& trial) {
    const Tensor x = activations(trial, shape, view);
    const Tensor weight = trial.weight(n, shape.last(), dtype);
    const Tensor result = linear(x, weight, params);
    trial.expect(OpId::linear, &params, {&x, &weight}, result, linear_bound(params, dtype));
    if (!precise) expect_usual_error(trial, x, weight, result);
  });
}

// A prepared weight means what it meant before, and so does everything that reads it.
void add_prepared(CaseList& list, DType dtype, const Shape& shape, int64_t n, const LinearParams& params = {}) {
  list.add(OpId::linear, dtype, name_of(shape, n, params, params.fast ? "/fast, prepared" : "/prepared"), [=](Trial& trial) {
    const Tensor x = activations(trial, shape);
    const Tensor plain = trial.weight(n, shape.last(), dtype);
    const Tensor before = linear(x, plain, params);
    const Tensor weight = trial.prepared(plain);
    const Tensor result = linear(x, weight, params);
    trial.expect(OpId::linear, nullptr, {&x, &weight}, result, linear_bound({}, dtype));
    expect_usual_error(trial, x, weight, result);
    if (trial.has_values()) {
      trial.expect_true(trial.values_of(result).values == trial.values_of(before).values, "a prepared weight gives other bits");
    }
  });
}

void add_weights(CaseList& list, const std::vector<DType>& dtypes, const std::vector<int64_t>& rows, int64_t tokens, bool precise,
                 bool prepare) {
  const LinearParams params{precise};
  std::string text;
  for (size_t i = 0; i < dtypes.size(); ++i) text += fmt::format("{}{} {}", i == 0 ? "" : " + ", to_string(dtypes[i]), rows[i]);
  const std::string name = fmt::format("[{}, 512]/{}{}{}", tokens, text, precise ? "/precise" : "", prepare ? "/prepared" : "");
  list.add(OpId::linear, dtypes[0], name, [=](Trial& trial) {
    const Tensor x = activations(trial, {tokens, 512});
    std::vector<Tensor> weights;
    std::vector<const Tensor*> pointers;
    for (size_t i = 0; i < dtypes.size(); ++i) {
      Tensor weight = trial.weight(rows[i], 512, dtypes[i]);
      weights.push_back(prepare ? trial.prepared(weight) : weight);
    }
    for (const Tensor& weight : weights) pointers.push_back(&weight);
    const std::vector<Tensor> results = linear(x, pointers, params);
    for (size_t i = 0; i < weights.size(); ++i)
      trial.expect(OpId::linear, &params, {&x, &weights[i]}, results[i], linear_bound(params, dtypes[i]));
  });
}

void add_weight_view(CaseList& list, DType dtype, View view) {
  list.add(OpId::linear, dtype, fmt::format("[3, 33]/n 7/weight {}", to_string(view)), [=](Trial& trial) {
    const LinearParams params{true};
    const Tensor x = activations(trial, {3, 33});
    const Tensor weight = trial.input({7, 33}, dtype, view, {-1, 1});
    trial.expect(OpId::linear, &params, {&x, &weight}, linear(x, weight, params), linear_bound(params, dtype));
  });
}

// One activation that is NaN must be seen in its row's results and in no other row's.
void add_bad_activation(CaseList& list, DType dtype, int64_t tokens, double bad) {
  list.add(OpId::linear, dtype, fmt::format("[{}, 256]/n 17/{} among the activations", tokens, bad), [=](Trial& trial) {
    std::vector<double> values(static_cast<size_t>(tokens) * 256);
    for (double& value : values) value = trial.random().uniform(-1, 1);
    values[256 + 100] = bad;
    const Tensor x = trial.input_of(values, {tokens, 256}, DType::f32);
    const Tensor weight = trial.weight(17, 256, dtype);
    const Tensor result = linear(x, weight);
    const ReferenceTensor got = trial.values_of(result);
    for (size_t i = 0; trial.has_values() && i < got.values.size(); ++i) {
      const bool touched = i / 17 == 1;
      // A weight of 0 hides an infinity but not a NaN; random weights are hardly ever all 0 there.
      if (std::isfinite(got.values[i]) == touched && (std::isnan(bad) || !touched))
        trial.expect_true(false, fmt::format("element {} is {}", i, got.values[i]));
    }
  });
}

// Any bytes may be in a file: scales that are zero, infinite or NaN are seen in the results of their row and in no other row's.
void add_any_bytes(CaseList& list, DType dtype, int64_t tokens) {
  list.add(OpId::linear, dtype, fmt::format("[{}, 512]/n 37/weights of any bytes, prepared", tokens), [=](Trial& trial) {
    if (!trial.has_values()) return;
    std::vector<std::byte> bytes(static_cast<size_t>(storage_bytes(dtype, 37 * 512)));
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(trial.random().uniform(0, 256));
    // The largest exponents of mxfp4 and q8_k make weights that f32 cannot hold.
    const auto block = static_cast<size_t>(info(dtype).block_bytes);
    for (size_t at = 0; dtype == DType::mxfp4 && at < bytes.size(); at += block) bytes[at] &= std::byte{0x7f};
    for (size_t at = 0; dtype == DType::q8_k && at < bytes.size(); at += block) bytes[at + 3] &= std::byte{0xbf};
    const Tensor weight = Tensor::from_bytes(bytes, {37, 512}, dtype, trial.device());
    const Tensor x = activations(trial, {tokens, 512});
    const std::vector<ReferenceTensor> inputs = {trial.values_of(x), trial.values_of(weight)};
    std::vector<ReferenceTensor> expected = {{{tokens, 37}, std::vector<double>(static_cast<size_t>(tokens * 37))}};
    rule(OpId::linear).reference(nullptr, inputs, expected);
    const ReferenceTensor got = trial.values_of(linear(x, trial.prepared(weight)));
    // Sums of numbers this large may leave the range of f32 on their way.
    constexpr double kLarge = 1e30;
    for (size_t i = 0; i < got.values.size(); ++i) {
      const double value = expected[0].values[i];
      const bool agrees = std::isfinite(value) ? std::isfinite(got.values[i]) || std::fabs(value) > kLarge : !std::isfinite(got.values[i]);
      trial.expect_true(agrees, fmt::format("element {} is {} where {} is due", i, got.values[i], value));
    }
  });
}

Bound gated_bound(const LinearParams& params, DType dtype) {
  return [params, dtype](Inputs inputs, const ReferenceTensor& expected) {
    const LinearParams plain;
    std::array<std::vector<double>, 2> values, errors;
    for (size_t which = 0; which < 2; ++which) {
      const std::vector<ReferenceTensor> operands = {inputs[0], inputs[1 + which]};
      std::vector<ReferenceTensor> sums = {expected};
      rule(OpId::linear).reference(&plain, operands, sums);
      values[which] = sums[0].values;
      errors[which] = linear_error(params, dtype, inputs[0], inputs[1 + which], expected.shape);
    }
    std::vector<double> bounds(expected.values.size());
    for (size_t i = 0; i < bounds.size(); ++i) {
      bounds[i] = gate_error(params.gate, {values[0][i], errors[0][i]}, {values[1][i], errors[1][i]}, expected.values[i]);
    }
    return bounds;
  };
}

void add_gated(CaseList& list, DType dtype, const Shape& shape, int64_t n, bool precise, bool prepare = false,
               GateKind gate = GateKind::silu) {
  const LinearParams params{.precise = precise, .gate = gate};
  const std::string note = gate == GateKind::silu ? "" : fmt::format("/{}", to_string(gate));
  list.add(OpId::gated_linear, dtype, name_of(shape, n, params, (prepare ? "/prepared" : "") + note), [=](Trial& trial) {
    const Tensor x = activations(trial, shape);
    Tensor gate_weight = trial.weight(n, shape.last(), dtype);
    Tensor up = trial.weight(n, shape.last(), dtype);
    if (prepare) gate_weight = trial.prepared(gate_weight);
    if (prepare) up = trial.prepared(up);
    trial.expect(OpId::gated_linear, &params, {&x, &gate_weight, &up}, gated_linear(x, gate_weight, up, params),
                 gated_bound(params, dtype));
  });
}

// Every activation, exact and rounded, of one token, a few and many.
void add_gates(CaseList& list, DType dtype, int64_t k) {
  for (const auto& gate : kGateKinds) {
    for (const int64_t tokens : {1, 3, 41}) {
      for (const bool precise : {false, true}) add_gated(list, dtype, {tokens, k}, 37, precise, false, gate.kind);
    }
  }
}

// A range of a weight's rows means what its rows mean.
void add_row_range(CaseList& list, DType dtype, int64_t tokens, int64_t first, int64_t n, bool precise) {
  const LinearParams params{precise};
  list.add(OpId::linear, dtype, name_of({tokens, 512}, n, params, fmt::format("/rows from {}", first)), [=](Trial& trial) {
    const Tensor x = activations(trial, {tokens, 512});
    const Tensor weight = trial.prepared(trial.weight(first + n + 5, 512, dtype));
    const Tensor rows = weight.narrow(0, first, n);
    trial.expect(OpId::linear, &params, {&x, &rows}, linear(x, rows, params), linear_bound(params, dtype));
  });
}

// Ranges of one weight, as a fused projection has them.
void add_row_ranges(CaseList& list, DType dtype, int64_t tokens, bool precise) {
  const LinearParams params{precise};
  list.add(OpId::linear, dtype, name_of({tokens, 512}, 45, params, "/three ranges of rows"), [=](Trial& trial) {
    const Tensor x = activations(trial, {tokens, 512});
    const Tensor weight = trial.weight(45, 512, dtype);
    const Tensor a = weight.narrow(0, 0, 9), b = weight.narrow(0, 9, 16), c = weight.narrow(0, 25, 20);
    const std::array<const Tensor*, 3> parts{&a, &b, &c};
    const std::vector<Tensor> results = linear(x, parts, params);
    for (size_t i = 0; i < 3; ++i) trial.expect(OpId::linear, &params, {&x, parts[i]}, results[i], linear_bound(params, dtype));
    const Tensor even = weight.narrow(0, 5, 16), odd = weight.narrow(0, 21, 16);
    LinearParams gated = params;
    trial.expect(OpId::gated_linear, &gated, {&x, &even, &odd}, gated_linear(x, even, odd, gated), gated_bound(gated, dtype));
  });
}

// x of 16 bits is what its numbers are.
void add_narrow_activations(CaseList& list, DType dtype, DType of_x) {
  const LinearParams params{true};
  list.add(OpId::linear, dtype, fmt::format("[3, 256]/n 18/precise/x {}", to_string(of_x)), [=](Trial& trial) {
    const Tensor x = trial.input({3, 256}, of_x, View::contiguous, {-2, 2});
    const Tensor weight = trial.weight(18, 256, dtype);
    trial.expect(OpId::linear, &params, {&x, &weight}, linear(x, weight, params), linear_bound(params, dtype));
    const Tensor up = trial.weight(18, 256, dtype);
    trial.expect(OpId::gated_linear, &params, {&x, &weight, &up}, gated_linear(x, weight, up, params), gated_bound(params, dtype));
  });
}

std::vector<DType> weight_dtypes() {
  std::vector<DType> dtypes = {DType::f64, DType::f8e4m3};
  for (const BlockFormat& format : block_formats()) dtypes.push_back(format.dtype);
  return dtypes;
}

// Formats of blocks, and the others that devices prepare.
void add_blocks(CaseList& list, DType dtype) {
  for (int64_t n = 1; n <= 40; ++n) {
    add_linear(list, dtype, {2, 256}, n, true);
    add_prepared(list, dtype, {n % 3 + 1, 256}, n);
  }
  for (const int64_t tokens : {1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 41}) {
    for (const int64_t n : {15, 16, 35}) add_prepared(list, dtype, {tokens, 512}, n);
    if (dtype == DType::f16) add_prepared(list, dtype, {tokens, 512}, 35, {.precise = false, .fast = true});
    add_linear(list, dtype, {tokens, 512}, 19, false);
    add_gated(list, dtype, {tokens, 256}, 35, false, true);
  }
  add_linear(list, dtype, {130, 256}, 21, false);  // enough for blocks of tokens that share the weight's rounding
  for (const int64_t n : {1, 5, 16, 40}) {
    add_gated(list, dtype, {2, 256}, n, true);
    add_gated(list, dtype, {2, 512}, n, false, true);
  }
  for (const int64_t n : {3, 16, 37}) add_linear(list, dtype, {3, 768}, n, false);
  add_gated(list, dtype, {3, 512}, 37, false);
  add_prepared(list, dtype, {2, 3, 2, 256}, 17);
  add_prepared(list, dtype, {1, 2048}, 50);
  add_prepared(list, dtype, {41, 4352}, 35);  // several chunks of columns and a rest, whose sums meet
  add_prepared(list, dtype, {47, 768}, 560);  // panels of unequal rows, and more tiles than any kernel takes at once
  for (const int64_t tokens : {3, 41}) add_bad_activation(list, dtype, tokens, std::nan(""));
  add_bad_activation(list, dtype, 3, HUGE_VAL);
  const int64_t block = info(dtype).block_elements;
  for (const int64_t tokens : {1, 3, 9, 41}) {
    for (const int64_t n : {16, 33}) add_prepared(list, dtype, {tokens, block}, n);
    add_any_bytes(list, dtype, tokens);
  }
}

void add_mixes(CaseList& list) {
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16, DType::q8_0, DType::q4_k, DType::q6_k}) {
    for (const int64_t tokens : {1, 5}) {
      add_weights(list, {dtype, dtype}, {16, 17}, tokens, false, true);
      add_weights(list, {dtype, dtype, dtype}, {33, 5, 1}, tokens, false, true);
      add_weights(list, {dtype, dtype, dtype}, {33, 5, 1}, tokens, true, false);
    }
  }
  add_weights(list, {DType::q4_k, DType::q4_k, DType::q6_k}, {32, 16, 16}, 3, false, true);
  add_weights(list, {DType::q4_k, DType::q6_k, DType::q4_k}, {32, 7, 9}, 1, false, true);
  add_weights(list, {DType::f32, DType::q8_0, DType::f16}, {3, 18, 5}, 2, false, true);
  add_weights(list, {DType::q4_0, DType::q5_k, DType::bf16}, {1, 1, 1}, 1, true, false);
  add_weights(list, {DType::q8_0, DType::q8_0, DType::q8_0}, {0, 16, 0}, 2, false, true);
}

}  // namespace

void add_linear_cases(CaseList& list) {
  for (const DType dtype : weight_dtypes()) {
    if (is_quantized(dtype) || dtype == DType::f16 || dtype == DType::bf16) add_blocks(list, dtype);
    if (is_quantized(dtype)) continue;
    for (int64_t n = 1; n <= 40; ++n) add_linear(list, dtype, {n % 4 + 1, 33}, n, n % 2 == 0);
    for (const int64_t tokens : {1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 41}) add_linear(list, dtype, {tokens, 70}, 11, true);
    for (const int64_t k : {1, 2, 7, 8, 15, 16, 17, 31, 65, 255, 257, 1023, 1025}) {
      add_linear(list, dtype, {3, k}, 6, true);
      add_gated(list, dtype, {2, k}, 5, true);
    }
    for (const View view : views_of({7, 33})) add_weight_view(list, dtype, view);
    add_gated(list, dtype, {0, 8}, 5, true);
    add_gated(list, dtype, {2, 0}, 5, true);
    add_linear(list, dtype, {2, 0}, 5, true);
    add_linear(list, dtype, {0, 8}, 5, true);
    add_linear(list, dtype, {2, 8}, 0, true);
    add_linear(list, dtype, {40}, 3, true);
  }
  for (const View view : views_of({3, 2, 64})) {
    add_linear(list, DType::f32, {3, 2, 64}, 5, true, view);
    add_linear(list, DType::q8_0, {3, 2, 64}, 5, true, view);
    add_linear(list, DType::q8_0, {3, 2, 64}, 18, false, view);
  }
  for (const int64_t n : {1, 5, 17}) {
    add_linear(list, DType::i2_s, {3, 384}, n, true);
    add_gated(list, DType::i2_s, {2, 256}, n, true);
  }
  add_mixes(list);
  for (const DType dtype :
       {DType::f32, DType::f16, DType::bf16, DType::q8_0, DType::q4_0, DType::q4_k, DType::q6_k, DType::iq4_xs, DType::mxfp4}) {
    for (const int64_t tokens : {1, 3, 9, 41}) {
      for (const bool precise : {false, true}) {
        for (const auto& [first, n] : {std::pair<int64_t, int64_t>{3, 37}, {16, 32}, {16, 21}})
          add_row_range(list, dtype, tokens, first, n, precise);
        add_row_ranges(list, dtype, tokens, precise);
      }
    }
    add_gates(list, dtype, 256);
    for (const DType of_x : {DType::f16, DType::bf16}) add_narrow_activations(list, dtype, of_x);
  }
}

}  // namespace wick::conformance
