// Every gradient of the library against finite differences in f64, first and second order; an op with a gradient and no check fails.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "unit/gradcheck.h"
#include "wick/op/op.h"
#include "wick/tensor/indexer.h"
#include "wick/tensor/ops/embedding.h"
#include "wick/tensor/ops/linear.h"
#include "wick/tensor/ops/normalize.h"
#include "wick/tensor/ops/op_rule.h"
#include "wick/tensor/ops/rope.h"
#include "wick/tensor/ops/unary.h"

namespace wick {
namespace {

using Inputs = std::vector<Tensor>;

struct Check {
  std::string name;
  Expression f;
  Inputs at;
};
using Checks = std::vector<Check>;

// Numbers spread over [low, high] without order and without equals: the rotation by the golden ratio.
Tensor spread(const Shape& shape, double low, double high, double seed = 0) {
  std::vector<double> values(static_cast<size_t>(shape.elements()));
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = low + (high - low) * std::fmod(0.5 + 0.6180339887498949 * static_cast<double>(i) + 0.29 * seed, 1.0);
  }
  return Tensor::from_vector(values, shape, Device::cpu());
}
Tensor x_of(const Shape& shape, double seed = 0) { return spread(shape, -1.93, 2.11, seed); }
Tensor ids_of(const std::vector<uint32_t>& values, const Shape& shape) { return Tensor::from_vector(values, shape, Device::cpu()); }

// Where the function and its slope are smooth, with kinks at least a step away.
std::pair<double, double> domain(UnaryKind kind) {
  switch (kind) {
    case UnaryKind::sqrt:
    case UnaryKind::rsqrt:
    case UnaryKind::recip:
    case UnaryKind::log:
    case UnaryKind::log2:
    case UnaryKind::log10:
    case UnaryKind::powf: return {0.4, 2.5};
    case UnaryKind::log1p: return {-0.6, 2.5};
    case UnaryKind::tan: return {-1.1, 1.2};
    case UnaryKind::asin:
    case UnaryKind::acos:
    case UnaryKind::atanh: return {-0.8, 0.77};
    case UnaryKind::acosh: return {1.3, 3.1};
    case UnaryKind::hard_sigmoid:
    case UnaryKind::hard_swish: return {-4.1, 4.3};
    default: return {-1.93, 2.11};
  }
}

UnaryParams parameters(UnaryKind kind) {
  switch (kind) {
    case UnaryKind::powf: return {.kind = kind, .a = 2.3};
    case UnaryKind::clamp: return {.kind = kind, .a = -0.7, .b = 1.4};
    default: return {.kind = kind, .a = 0.8, .b = 0.3};
  }
}

void add_unary(Checks& checks) {
  for (size_t i = 0; i < kUnaryKinds.size(); ++i) {
    const UnaryParams params = parameters(static_cast<UnaryKind>(i));
    const auto [low, high] = domain(params.kind);
    checks.push_back(
        {std::string(kUnaryKinds[i].name), [params](const Inputs& in) { return unary(params, in[0]); }, {spread({2, 7}, low, high)}});
  }
}

void add_binary(Checks& checks) {
  const Tensor positive = spread({2, 3, 4}, 0.4, 2.5);
  const Tensor row = spread({3, 1}, 0.45, 2.4, 1);
  checks.push_back({"add", [](const Inputs& in) { return in[0] + in[1]; }, {positive, row}});
  checks.push_back({"sub", [](const Inputs& in) { return in[0] - in[1]; }, {row, positive}});
  checks.push_back({"mul", [](const Inputs& in) { return in[0] * in[1]; }, {positive, row}});
  checks.push_back({"div", [](const Inputs& in) { return in[0] / in[1]; }, {positive, row}});
  checks.push_back({"div_by_larger", [](const Inputs& in) { return in[0] / in[1]; }, {row, positive}});
  checks.push_back({"pow", [](const Inputs& in) { return in[0].pow(in[1]); }, {positive, row}});
  checks.push_back({"minimum", [](const Inputs& in) { return in[0].minimum(in[1]).sqr(); }, {positive, row}});
  checks.push_back({"maximum", [](const Inputs& in) { return in[0].maximum(in[1]).sqr(); }, {positive, row}});
  checks.push_back({"fmod", [](const Inputs& in) { return in[0].fmod(in[1]).sqr(); }, {positive, row}});
  checks.push_back({"remainder", [](const Inputs& in) { return in[0].remainder(in[1]).sqr(); }, {row, positive.neg()}});
  checks.push_back({"floor_divide", [](const Inputs& in) { return in[0].floor_divide(in[1]) * in[0]; }, {positive, row}});
  checks.push_back({"atan2", [](const Inputs& in) { return in[0].atan2(in[1]); }, {x_of({2, 3, 4}), row}});
  checks.push_back({"mul_by_itself", [](const Inputs& in) { return in[0] * in[0] * in[0]; }, {positive}});
  checks.push_back({"where_cond",
                    [](const Inputs& in) { return in[0].gt(in[1]).where_cond(in[0].sqr(), in[1].exp()); },
                    {positive, row.broadcast_to({2, 3, 4})}});
}

void add_reductions(Checks& checks) {
  const Tensor x = x_of({2, 3, 4});
  checks.push_back({"sum", [](const Inputs& in) { return in[0].sqr().sum({0, 2}); }, {x}});
  checks.push_back({"sum_keepdim", [](const Inputs& in) { return in[0].sqr().sum_keepdim(1); }, {x}});
  checks.push_back({"mean", [](const Inputs& in) { return in[0].sqr().mean(-1); }, {x}});
  checks.push_back({"var", [](const Inputs& in) { return in[0].var(1); }, {x}});
  checks.push_back({"std", [](const Inputs& in) { return in[0].std({0, 1}); }, {x}});
  checks.push_back({"prod", [](const Inputs& in) { return in[0].prod({0, 2}); }, {x}});
  checks.push_back({"prod_keepdim", [](const Inputs& in) { return in[0].prod_keepdim(1); }, {x}});
  // Gradients of products do not divide by their factors.
  const Tensor with_zero = Tensor::of<double>({{1.5, 0, -0.7, 2}, {0, 0.4, 0, 1.1}}, Device::cpu());
  checks.push_back({"prod_with_zeros", [](const Inputs& in) { return in[0].prod(1); }, {with_zero}});
  checks.push_back({"cumprod", [](const Inputs& in) { return in[0].cumprod(1); }, {with_zero}});
  checks.push_back({"cumprod_of_first", [](const Inputs& in) { return in[0].cumprod(0); }, {x}});
  checks.push_back({"median", [](const Inputs& in) { return in[0].median(2).first.sqr(); }, {x}});
  checks.push_back({"sort", [](const Inputs& in) { return in[0].sort(0, true).first.sqr(); }, {x}});
  const Tensor mask = x.gt(0.1);
  checks.push_back({"masked_fill", [mask](const Inputs& in) { return in[0].masked_fill(mask, 3).sqr(); }, {x}});
  checks.push_back({"masked_select", [mask](const Inputs& in) { return in[0].masked_select(mask).sqr(); }, {x}});
  checks.push_back(
      {"boolean_mask", [](const Inputs& in) { return in[0].boolean_mask(Tensor::of<uint8_t>({0, 1}, Device::cpu())).sqr(); }, {x}});
  checks.push_back({"min", [](const Inputs& in) { return in[0].min(1).sqr(); }, {x}});
  checks.push_back({"max", [](const Inputs& in) { return in[0].max({0, 2}).sqr(); }, {x}});
  checks.push_back({"log_sum_exp", [](const Inputs& in) { return in[0].log_sum_exp({1, 2}); }, {x}});
  checks.push_back({"norm", [](const Inputs& in) { return in[0].norm(); }, {x}});
  checks.push_back({"softmax", [](const Inputs& in) { return softmax(in[0], 1); }, {x}});
  checks.push_back({"log_softmax", [](const Inputs& in) { return log_softmax(in[0], -1); }, {x}});
  checks.push_back({"rms_norm", [](const Inputs& in) { return rms_norm(in[0], in[1], 0.01F); }, {x, x_of({4}, 1)}});
  checks.push_back(
      {"layer_norm", [](const Inputs& in) { return layer_norm(in[0], in[1], in[2], 0.01F); }, {x, x_of({4}, 1), x_of({4}, 2)}});
}

void add_rotations(Checks& checks) {
  const Tensor table = x_of({3, 2, 2}, 5).to_dtype(DType::f32);
  for (const RopeStyle style : {RopeStyle::interleaved, RopeStyle::half_split}) {
    checks.push_back({"rope", [table, style](const Inputs& in) { return rope(in[0], table, style).sqr(); }, {x_of({3, 2, 5})}});
  }
}

void add_views(Checks& checks) {
  const Tensor x = x_of({2, 3, 4});
  const auto add = [&](const std::string& name, const std::function<Tensor(const Tensor&)>& view) {
    checks.push_back({name, [view](const Inputs& in) { return view(in[0]).sqr(); }, {x}});
  };
  add("narrow", [](const Tensor& t) { return t.narrow(2, 1, 2); });
  add("transpose", [](const Tensor& t) { return t.transpose(0, 2); });
  add("permute", [](const Tensor& t) { return t.permute({1, 2, 0}); });
  add("broadcast", [](const Tensor& t) { return t.broadcast_to({5, 2, 3, 4}); });
  add("squeeze", [](const Tensor& t) { return t.narrow(1, 1, 1).squeeze(1); });
  add("unsqueeze", [](const Tensor& t) { return t.unsqueeze(1); });
  add("flip", [](const Tensor& t) { return t.flip({0, 2}); });
  add("stride_slice", [](const Tensor& t) { return t.stride_slice(2, 1, 2, 2); });
  add("unfold", [](const Tensor& t) { return t.unfold(2, 3, 1); });
  add("reshape", [](const Tensor& t) { return t.reshape({4, 6}); });
  add("reshape_of_transposed", [](const Tensor& t) { return t.transpose(0, 1).reshape({6, 4}); });
  add("contiguous", [](const Tensor& t) { return t.transpose(0, 1).contiguous(); });
  add("copy", [](const Tensor& t) { return t.copy(); });
  add("repeat", [](const Tensor& t) { return t.repeat({2, 1, 2}); });
  add("roll", [](const Tensor& t) { return t.roll(3, 2); });
  add("pad_with_zeros", [](const Tensor& t) { return t.pad_with_zeros(1, 1, 2); });
  add("pad_with_same", [](const Tensor& t) { return t.pad_with_same(2, 2, 1); });
  add("tril", [](const Tensor& t) { return t.tril(0); });
  add("triu", [](const Tensor& t) { return t.triu(1); });
  add("chunk", [](const Tensor& t) { return t.chunk(2, 2)[1]; });
  add("cat", [](const Tensor& t) { return Tensor::cat({t, t.narrow(1, 0, 2)}, 1); });
  add("stack", [](const Tensor& t) { return Tensor::stack({t, t.exp()}, 1); });
  checks.push_back({"meshgrid",
                    [](const Inputs& in) {
                      const std::vector<Tensor> grids = Tensor::meshgrid(std::span(in), true);
                      return grids[0] * grids[1];
                    },
                    {x_of({3}), x_of({4}, 1)}});
  checks.push_back({"to_dtype", [](const Inputs& in) { return in[0].to_dtype(DType::f64).sqr(); }, {x}});
}

void add_parts(Checks& checks) {
  const Tensor x = x_of({2, 3, 4});
  const Tensor ids = ids_of({2, 0, 2}, {3});
  checks.push_back({"i", [ids](const Inputs& in) { return in[0].i(all(), ids, range(0, 4, 2)).sqr(); }, {x}});
  checks.push_back(
      {"slice_assign", [](const Inputs& in) { return in[0].slice_assign({1, range(0, 2), all()}, in[1]).sqr(); }, {x, x_of({2, 4}, 1)}});
}

void add_products(Checks& checks) {
  checks.push_back({"matmul", [](const Inputs& in) { return in[0].matmul(in[1]); }, {x_of({3, 4}), x_of({4, 2}, 1)}});
  checks.push_back({"matmul_of_batches", [](const Inputs& in) { return in[0].matmul(in[1]); }, {x_of({2, 1, 2, 3}), x_of({2, 3, 2}, 1)}});
  checks.push_back({"matmul_of_transposed", [](const Inputs& in) { return in[0].t().matmul(in[0]); }, {x_of({3, 2})}});
  checks.push_back({"dot", [](const Inputs& in) { return in[0].dot(in[1]); }, {x_of({5}), x_of({5}, 1)}});
  checks.push_back({"mv", [](const Inputs& in) { return in[0].mv(in[1]); }, {x_of({3, 4}), x_of({4}, 1)}});
}

void add_selections(Checks& checks) {
  const Tensor x = x_of({3, 4});
  const Tensor rows = ids_of({2, 0, 2, 1}, {4});
  checks.push_back({"index_select", [rows](const Inputs& in) { return in[0].index_select(rows, 0).sqr(); }, {x}});
  checks.push_back({"embedding", [rows](const Inputs& in) { return in[0].embedding(rows).sqr(); }, {x}});
  const Tensor places = ids_of({2, 0, 1, 1, 0, 2}, {2, 3});
  checks.push_back({"gather", [places](const Inputs& in) { return in[0].gather(places, 0).sqr(); }, {x_of({3, 4})}});
  checks.push_back({"scatter", [places](const Inputs& in) { return in[0].scatter(places, in[1], 0).sqr(); }, {x, x_of({2, 3}, 1)}});
  checks.push_back({"scatter_add", [places](const Inputs& in) { return in[0].scatter_add(places, in[1], 0).sqr(); }, {x, x_of({2, 3}, 1)}});
  checks.push_back({"slice_scatter", [](const Inputs& in) { return in[0].slice_scatter(in[1], 1, 1).sqr(); }, {x, x_of({3, 2}, 1)}});
  checks.push_back({"index_add", [rows](const Inputs& in) { return in[0].index_add(rows, in[1], 0).sqr(); }, {x, x_of({4, 4}, 1)}});
  checks.push_back({"cumsum", [](const Inputs& in) { return in[0].cumsum(0).sqr() + in[0].cumsum(1).exp(); }, {x}});
  checks.push_back({"sort", [](const Inputs& in) { return in[0].sort_last_dim(false).first.sqr() * in[0]; }, {x}});
  checks.push_back({"topk", [](const Inputs& in) { return in[0].topk(2, 0, false).first.sqr(); }, {x}});
}

void add_images(Checks& checks) {
  const auto add = [&](const std::string& name, const Shape& x, const std::vector<Shape>& kernels, const Expression& f) {
    Inputs at = {x_of(x)};
    for (const Shape& kernel : kernels) at.push_back(x_of(kernel, 1));
    checks.push_back({name, f, at});
  };
  add("conv1d", {2, 4, 5}, {{2, 2, 3}}, [](const Inputs& in) { return in[0].conv1d(in[1], 1, 2, 1, 2); });
  add("conv2d", {2, 2, 4, 3}, {{2, 2, 2, 3}}, [](const Inputs& in) { return in[0].conv2d(in[1], 1, 2, 1, 1); });
  add("conv2d_dilated", {1, 2, 5, 4}, {{2, 1, 2, 2}}, [](const Inputs& in) { return in[0].conv2d(in[1], 0, 1, 2, 2); });
  add("conv_transpose1d", {2, 2, 3}, {{2, 2, 2}}, [](const Inputs& in) { return in[0].conv_transpose1d(in[1], 1, 1, 2, 1, 1); });
  add("conv_transpose2d", {1, 2, 3, 2}, {{2, 1, 2, 3}}, [](const Inputs& in) { return in[0].conv_transpose2d(in[1], 0, 1, 2, 1, 2); });
  add("avg_pool2d", {1, 2, 4, 5}, {}, [](const Inputs& in) { return in[0].avg_pool2d({2, 2}, {{2, 1}}).sqr(); });
  add("max_pool2d", {1, 2, 4, 5}, {}, [](const Inputs& in) { return in[0].max_pool2d({2, 2}, {{2, 1}}).sqr(); });
  add("upsample_nearest1d", {2, 2, 3}, {}, [](const Inputs& in) { return in[0].upsample_nearest1d(7).sqr(); });
  add("upsample_nearest2d", {1, 2, 3, 2}, {}, [](const Inputs& in) { return in[0].upsample_nearest2d(4, 5).sqr(); });
  add("upsample_bilinear2d", {1, 2, 3, 2}, {}, [](const Inputs& in) { return in[0].upsample_bilinear2d(5, 4, false).sqr(); });
  add("upsample_bilinear2d_corners", {1, 1, 3, 2}, {}, [](const Inputs& in) { return in[0].upsample_bilinear2d(4, 5, true).sqr(); });
}

Checks all_checks() {
  Checks checks;
  add_unary(checks);
  add_binary(checks);
  add_reductions(checks);
  add_rotations(checks);
  add_views(checks);
  add_parts(checks);
  add_products(checks);
  add_selections(checks);
  add_images(checks);
  return checks;
}

TEST(Gradcheck, GradientsAgreeWithFiniteDifferences) {
  for (const Check& check : all_checks()) {
    try {
      EXPECT_EQ(gradcheck(check.f, check.at), "") << check.name;
    } catch (const std::exception& error) {
      ADD_FAILURE() << check.name << " threw: " << error.what();
    }
  }
}

// Ops whose results are f32 alone have too little precision for differences: their gradients are those of the same expression in f64.
void expect_gradients_of(const Expression& single, const Expression& twin, const Inputs& at) {
  std::vector<Var> narrow;
  std::vector<Var> wide;
  for (const Tensor& x : at) {
    narrow.push_back(Var::from_tensor(x.to_dtype(DType::f32)));
    wide.push_back(Var::from_tensor(x.to_dtype(DType::f32).to_dtype(DType::f64)));
  }
  const auto gradients = [](const Expression& f, const std::vector<Var>& variables) {
    Inputs inputs;
    for (const Var& variable : variables) inputs.push_back(variable.tensor());
    const Tensor result = f(inputs);
    const GradStore store = backward(result, {.gradient = check_weights(result.shape(), 0).to_dtype(result.dtype())});
    std::vector<double> flat;
    for (const Tensor& input : inputs) {
      const std::vector<double> part = store.get(input)->to_vector<double>();
      flat.insert(flat.end(), part.begin(), part.end());
    }
    return flat;
  };
  const std::vector<double> found = gradients(single, narrow);
  const std::vector<double> expected = gradients(twin, wide);
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-6 * (1 + std::fabs(expected[i])));
}

constexpr std::string_view kCheckedAgainstTwins[] = {"embedding", "linear"};

TEST(Gradcheck, GradientsInSinglePrecisionAgreeWithThoseOfTheirTwins) {
  const Tensor rows = ids_of({2, 0, 2, 1}, {4});
  expect_gradients_of([&](const Inputs& in) { return embedding(in[0], rows); },
                      [&](const Inputs& in) { return in[0].index_select(rows, 0); }, {x_of({3, 4})});
  expect_gradients_of([](const Inputs& in) { return linear(in[0], in[1], {.precise = true}); },
                      [](const Inputs& in) { return in[0].matmul(in[1].t()); }, {x_of({3, 4}), x_of({2, 4}, 1)});
}

TEST(Gradcheck, EveryOpWithAGradientIsChecked) {
  std::set<std::string> seen(std::begin(kCheckedAgainstTwins), std::end(kCheckedAgainstTwins));
  for (const Check& check : all_checks()) {
    Inputs inputs;
    for (const Tensor& x : check.at) inputs.push_back(Var::from_tensor(x).tensor());
    for (const auto& node : sorted_nodes(check.f(inputs))) seen.insert(std::string(node->op()));
  }
  for (int i = 0; i < kOpCount; ++i) {
    const auto op = static_cast<OpId>(i);
    if (rule(op).gradient_kind != GradientKind::function) continue;
    EXPECT_TRUE(seen.contains(std::string(to_string(op)))) << to_string(op) << " has a gradient and no check here";
  }
}

}  // namespace
}  // namespace wick
