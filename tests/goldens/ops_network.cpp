#include <memory>
#include <string>

#include "goldens/ops.h"
#include "wick/base/fail.h"
#include "wick/nn/activation.h"
#include "wick/nn/attention.h"
#include "wick/nn/batch_norm.h"
#include "wick/nn/gradient_clipping.h"
#include "wick/nn/linear.h"
#include "wick/nn/loss.h"
#include "wick/nn/normalization.h"
#include "wick/nn/optimizer.h"
#include "wick/nn/pixels.h"
#include "wick/nn/prelu.h"
#include "wick/nn/recurrent.h"
#include "wick/nn/rotary.h"
#include "wick/nn/schedule.h"

namespace wick::goldens {
namespace {

using nlohmann::json;

Tensors group_norm(const json& p, const Tensors& in) { return {nn::GroupNorm(in[1], in[2], p["groups"], p["epsilon"]).forward(in[0])}; }

Tensors batch_norm(const json& p, const Tensors& in) {
  const Var mean = Var::from_tensor(in[3]);
  const Var variance = Var::from_tensor(in[4]);
  return {nn::BatchNorm(mean, variance, in[1], in[2], {.epsilon = p["epsilon"]}).forward(in[0])};
}

Tensors batch_norm_train(const json& p, const Tensors& in) {
  const Var mean = Var::from_tensor(in[3]);
  const Var variance = Var::from_tensor(in[4]);
  const nn::BatchNorm norm(mean, variance, in[1], in[2], {.epsilon = p["epsilon"], .momentum = p["momentum"]});
  const Tensor result = norm.forward_t(in[0], nn::Mode::train);
  return {result, mean.as_detached_tensor(), variance.as_detached_tensor()};
}

Tensors attention(const json& p, const Tensors& in) {
  nn::AttentionOptions options{
      .scale = p["scale"], .causal = p.value("causal", false), .window = p.value("window", int64_t{0}), .softcap = p.value("softcap", 0.0)};
  size_t next = 3;
  if (p.value("alibi", false)) options.alibi_slopes = in[next++];
  if (p.value("sinks", false)) options.sinks = in[next++];
  if (p.value("mask", false)) options.mask = in[next++];
  return {nn::scaled_dot_product_attention(in[0], in[1], in[2], options)};
}

std::unique_ptr<nn::Optimizer> sgd(const json& p, const Var& var) {
  return std::make_unique<nn::Sgd>(std::vector<Var>{var}, nn::SgdConfig{.learning_rate = p["lr"],
                                                                        .momentum = p.value("momentum", 0.0),
                                                                        .dampening = p.value("dampening", 0.0),
                                                                        .weight_decay = p.value("weight_decay", 0.0),
                                                                        .nesterov = p.value("nesterov", false)});
}

template <class Kind>
std::unique_ptr<nn::Optimizer> adam(const json& p, const Var& var) {
  const json betas = p.value("betas", json::array({0.9, 0.999}));
  return std::make_unique<Kind>(std::vector<Var>{var}, nn::AdamConfig{.learning_rate = p["lr"],
                                                                      .beta1 = betas[0],
                                                                      .beta2 = betas[1],
                                                                      .epsilon = p.value("eps", 1e-8),
                                                                      .weight_decay = p.value("weight_decay", 0.0)});
}

// Steps on mean((x w - y)²), as the generator makes them.
Run training(std::unique_ptr<nn::Optimizer> (*make)(const json&, const Var&)) {
  return [make](const json& p, const Tensors& in) {
    const Var weights = Var::from_tensor(in[0]);
    const auto optimizer = make(p, weights);
    for (int step = 0; step < p["steps"].get<int>(); ++step) optimizer->backward_step(nn::mse(in[1].matmul(weights.tensor()), in[2]));
    return Tensors{weights.as_detached_tensor()};
  };
}

// The gradients of Σ a² / 2 + Σ 3 b.
Tensors clip_by_norm(const json& p, const Tensors& in) {
  const std::vector<Var> vars = {Var::from_tensor(in[0]), Var::from_tensor(in[1])};
  GradStore gradients = backward(vars[0].tensor().sqr().sum_all() * 0.5 + vars[1].tensor().sum_all() * 3);
  nn::clip_gradients_by_norm(gradients, vars, p["largest"]);
  return {*gradients.get(vars[0]), *gradients.get(vars[1])};
}

nn::Schedule schedule_of(const json& p) {
  const std::string name = p["name"];
  const double rate = p["rate"];
  if (name == "constant") return nn::schedule::constant(rate);
  if (name == "step") return nn::schedule::step(rate, p["every"], p["factor"]);
  if (name == "exponential") return nn::schedule::exponential(rate, p["factor"]);
  if (name == "cosine") return nn::schedule::cosine(rate, p["steps"], p["lowest"]);
  if (name == "one_cycle") return nn::schedule::one_cycle(rate, p["steps"]);
  fail(ErrorCode::not_found, "no schedule '{}'", name);
}

Tensors schedule(const json& p, const Tensors& in) {
  const nn::Schedule rate = schedule_of(p);
  std::vector<double> rates;
  for (int64_t step = 0; step < p["count"].get<int64_t>(); ++step) rates.push_back(rate(step));
  return {Tensor::from_vector(rates, {static_cast<int64_t>(rates.size())}, in[0].device())};
}

template <class Layer>
Run recurrent() {
  return [](const json& /*p*/, const Tensors& in) {
    const Layer layer({in[1], in[2], in[3], in[4]});
    return Tensors{layer.states_to_tensor(layer.seq(in[0]))};
  };
}

}  // namespace

void add_network_ops(OpTable& table) {
  table["selu"] = [](const json& /*p*/, const Tensors& in) { return Tensors{nn::selu(in[0])}; };
  table["swiglu"] = [](const json& /*p*/, const Tensors& in) { return Tensors{nn::swiglu(in[0])}; };
  table["prelu"] = [](const json& /*p*/, const Tensors& in) { return Tensors{nn::PReLU(in[1]).forward(in[0])}; };
  table["linear_layer"] = [](const json& /*p*/, const Tensors& in) { return Tensors{nn::Linear(in[1], in[2]).forward(in[0])}; };
  table["pixel_shuffle"] = [](const json& p, const Tensors& in) { return Tensors{nn::pixel_shuffle(in[0], p["factor"])}; };
  table["pixel_unshuffle"] = [](const json& p, const Tensors& in) { return Tensors{nn::pixel_unshuffle(in[0], p["factor"])}; };
  table["replication_pad2d"] = [](const json& p, const Tensors& in) { return Tensors{nn::replication_pad2d(in[0], p["padding"])}; };
  table["group_norm"] = group_norm;
  table["batch_norm"] = batch_norm;
  table["batch_norm_train"] = batch_norm_train;
  table["rope"] = [](const json& /*p*/, const Tensors& in) { return Tensors{nn::rope(in[0], in[1], in[2])}; };
  table["rope_i"] = [](const json& /*p*/, const Tensors& in) { return Tensors{nn::rope_i(in[0], in[1], in[2])}; };
  table["rope_thd"] = [](const json& /*p*/, const Tensors& in) { return Tensors{nn::rope_thd(in[0], in[1], in[2])}; };
  table["attention"] = attention;
  table["nll"] = [](const json& /*p*/, const Tensors& in) { return Tensors{nn::nll(in[0], in[1])}; };
  table["cross_entropy"] = [](const json& /*p*/, const Tensors& in) { return Tensors{nn::cross_entropy(in[0], in[1])}; };
  table["mse"] = [](const json& /*p*/, const Tensors& in) { return Tensors{nn::mse(in[0], in[1])}; };
  table["binary_cross_entropy_with_logits"] = [](const json& /*p*/, const Tensors& in) {
    return Tensors{nn::binary_cross_entropy_with_logits(in[0], in[1])};
  };
  table["huber"] = [](const json& p, const Tensors& in) { return Tensors{nn::huber(in[0], in[1], p["delta"])}; };
  table["sgd"] = training(sgd);
  table["adam"] = training(adam<nn::Adam>);
  table["adamw"] = training(adam<nn::AdamW>);
  table["clip_by_norm"] = clip_by_norm;
  table["schedule"] = schedule;
  table["lstm"] = recurrent<nn::Lstm>();
  table["gru"] = recurrent<nn::Gru>();
}

}  // namespace wick::goldens
