#include "wick/nn/optimizer.h"

#include <cmath>

#include "wick/base/fail.h"

namespace wick::nn {
namespace {

void check_not_negative(const char* optimizer, const char* name, double value) {
  if (value >= 0) return;
  fail(ErrorCode::invalid_argument, "{}: {} is {}; allowed: 0 or more", optimizer, name, value);
}

void check_beta(const char* name, double value) {
  if (value >= 0 && value < 1) return;
  fail(ErrorCode::invalid_argument, "Adam: {} is {}; allowed: from 0 to below 1", name, value);
}

}  // namespace

Optimizer::Optimizer(std::vector<Var> vars, double learning_rate) : vars_(std::move(vars)) { set_learning_rate(learning_rate); }

void Optimizer::set_learning_rate(double learning_rate) {
  check_not_negative("optimizer", "learning rate", learning_rate);
  learning_rate_ = learning_rate;
}

void Optimizer::step(const GradStore& gradients) {
  for (size_t index = 0; index < vars_.size(); ++index) {
    if (const std::optional<Tensor> gradient = gradients.get(vars_[index].tensor())) move(index, gradient->detach());
  }
}

Sgd::Sgd(std::vector<Var> vars, const SgdConfig& config)
    : Optimizer(std::move(vars), config.learning_rate), config_(config), momenta_(this->vars().size()) {
  check_not_negative("Sgd", "momentum", config.momentum);
  check_not_negative("Sgd", "weight decay", config.weight_decay);
  if (config.nesterov && (config.momentum == 0 || config.dampening != 0)) {
    fail(ErrorCode::invalid_argument, "Sgd: Nesterov's momentum needs a momentum and no dampening, not {} and {}", config.momentum,
         config.dampening);
  }
}

void Sgd::move(size_t index, const Tensor& gradient) {
  const Var& var = vars()[index];
  const Tensor weights = var.as_detached_tensor();
  Tensor g = config_.weight_decay == 0 ? gradient : gradient + weights * config_.weight_decay;
  if (config_.momentum != 0) {
    std::optional<Tensor>& momentum = momenta_[index];
    momentum = momentum ? *momentum * config_.momentum + g * (1 - config_.dampening) : g.copy();
    g = config_.nesterov ? g + *momentum * config_.momentum : *momentum;
  }
  var.set(weights - g * learning_rate());
}

Adam::Adam(std::vector<Var> vars, const AdamConfig& config, bool decoupled)
    : Optimizer(std::move(vars), config.learning_rate), config_(config), decoupled_(decoupled), moments_(this->vars().size()) {
  check_beta("beta1", config.beta1);
  check_beta("beta2", config.beta2);
  check_not_negative("Adam", "epsilon", config.epsilon);
  check_not_negative("Adam", "weight decay", config.weight_decay);
}

void Adam::move(size_t index, const Tensor& gradient) {
  const Var& var = vars()[index];
  Tensor weights = var.as_detached_tensor();
  const bool decays = config_.weight_decay != 0;
  const Tensor g = decays && !decoupled_ ? gradient + weights * config_.weight_decay : gradient;
  if (decays && decoupled_) weights = weights * (1 - learning_rate() * config_.weight_decay);

  std::optional<Moments>& moments = moments_[index];
  if (!moments) moments = Moments{g.zeros_like(), g.zeros_like()};
  moments->mean = moments->mean * config_.beta1 + g * (1 - config_.beta1);
  moments->square = moments->square * config_.beta2 + g.sqr() * (1 - config_.beta2);
  const auto steps = static_cast<double>(++moments->steps);
  const double mean_correction = 1 - std::pow(config_.beta1, steps);
  const double square_correction = 1 - std::pow(config_.beta2, steps);
  const Tensor spread = moments->square.sqrt() * (1 / std::sqrt(square_correction)) + config_.epsilon;
  var.set(weights - moments->mean / spread * (learning_rate() / mean_correction));
}

}  // namespace wick::nn
